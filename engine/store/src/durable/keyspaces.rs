//! One keyspace of a durable store: a span of its keys, or what is before and behind those of all others.

use super::Durable;
use super::count::{BESIDE, Counting, KeyCount};
use super::random::{CANDIDATES, between};
use crate::error::{Error, Result};
use crate::keyspace::Keyspace;
use crate::lsm::Visible;
use crate::nonblocking::NonBlocking;

/// A walk over all keys, or one that passes the keys of other keyspaces.
pub(super) struct Walk {
    all: Visible,
    /// `None`: all keys.
    keyspace: Option<Keyspace>,
    spans: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Walk {
    pub(super) fn first(&mut self) -> Result<()> {
        self.seek(&[])
    }

    /// To the first key that is not before `stored`.
    pub(super) fn seek(&mut self, stored: &[u8]) -> Result<()> {
        let start = &self.spans[0].0;
        self.all.seek(if stored < start.as_slice() { start } else { stored })?;
        self.pass_others()
    }

    pub(super) fn next(&mut self) -> Result<()> {
        self.all.next()?;
        self.pass_others()
    }

    fn pass_others(&mut self) -> Result<()> {
        // There is one gap at most.
        if let Some(stored) = self.all.key()
            && !self.has(stored)
            && let Some((start, _)) = self.spans.iter().find(|(start, _)| start.as_slice() > stored)
        {
            let start = start.clone();
            self.all.seek(&start)?;
        }
        Ok(())
    }

    /// The stored key at the current position.
    pub(super) fn stored(&self) -> Option<&[u8]> {
        self.all.key().filter(|stored| self.has(stored))
    }

    fn has(&self, stored: &[u8]) -> bool {
        self.keyspace.is_none_or(|keyspace| Keyspace::of(stored) == keyspace)
    }

    /// The last key, as the store has it.
    fn last(&mut self) -> Result<Option<Vec<u8>>> {
        for (start, end) in self.spans.iter().rev() {
            match end {
                Some(end) => self.all.seek_before(end)?,
                None => self.all.last()?,
            }
            if let Some(stored) = self.all.key().filter(|stored| *stored >= start.as_slice()) {
                return Ok(Some(stored.to_vec()));
            }
        }
        Ok(None)
    }
}

impl Durable {
    /// Of one keyspace, or over all keys.
    pub(super) fn walk(&self, keyspace: Option<Keyspace>) -> Result<Walk> {
        self.commit_written()?;
        let spans = keyspace.map_or_else(|| vec![(Vec::new(), None)], Keyspace::spans);
        Ok(Walk { all: self.tree.snapshot().walk(), keyspace, spans })
    }

    pub(crate) fn random_key_in(&self, keyspace: Keyspace) -> Result<Option<Vec<u8>>> {
        let mut walk = self.walk(Some(keyspace))?;
        let Some(last) = walk.last()? else { return Ok(None) };
        walk.first()?;
        let Some(first) = walk.stored().map(<[u8]>::to_vec) else { return Ok(None) };
        if fastrand::usize(..CANDIDATES) > 0 {
            walk.seek(&between(&first, &last))?;
        }
        let mut drawn = last;
        for seen in 0..CANDIDATES {
            let Some(stored) = walk.stored() else { break };
            if fastrand::usize(..=seen) == 0 {
                stored.clone_into(&mut drawn);
            }
            walk.next()?;
        }
        Ok(Some(Keyspace::split(&drawn).1.to_vec()))
    }

    pub(crate) fn count_keys_in(&self, keyspace: Keyspace, most: u64) -> Result<KeyCount> {
        if !self.has_other_keyspaces()? {
            return if keyspace == Keyspace::default() { self.count_keys(most) } else { Ok(KeyCount::NONE) };
        }
        let Some(about) = self.about_as_many(most) else { return self.count_walking(keyspace, u64::MAX) };
        let first = self.count_walking(keyspace, BESIDE)?;
        if first.keys < BESIDE {
            return Ok(first);
        }
        let limit = if NonBlocking::is_on() { BESIDE } else { most.max(BESIDE) };
        let mut keys = about.keys;
        for other in Keyspace::all().filter(|other| *other != keyspace) {
            keys = keys.saturating_sub(self.count_walking(other, limit)?.keys);
        }
        Ok(KeyCount { keys: keys.max(first.keys), ..about })
    }

    /// Counts keys of a keyspace, up to `most` of them.
    fn count_walking(&self, keyspace: Keyspace, most: u64) -> Result<KeyCount> {
        let mut walk = self.walk(Some(keyspace))?;
        let mut counting = Counting::new(self.now_ms());
        walk.first()?;
        while walk.stored().is_some() && counting.keys() < most {
            if counting.keys() >= BESIDE && NonBlocking::is_on() {
                return Err(Error::WouldBlock);
            }
            counting.add(walk.all.until_ms());
            walk.next()?;
        }
        Ok(counting.finish())
    }

    /// Whether a keyspace behind the first has keys.
    fn has_other_keyspaces(&self) -> Result<bool> {
        let mut walk = self.walk(None)?;
        let (_, end) = Keyspace::default().spans().swap_remove(0);
        walk.seek(&end.unwrap_or_default())?;
        Ok(walk.stored().is_some_and(|stored| Keyspace::of(stored) != Keyspace::default()))
    }

    pub(crate) fn clear_in(&self, keyspaces: &[Keyspace]) -> Result<()> {
        NonBlocking::refuse()?;
        self.commit_written()?;
        // Before the look at what there is: another thread may be about to write the first key of a keyspace.
        let _locks = self.locks.all_alone();
        if !self.has_other_keyspaces()? {
            return if keyspaces.contains(&Keyspace::default()) { self.tree.clear() } else { Ok(()) };
        }
        self.write_batch(0, |batch| {
            for (start, end) in keyspaces.iter().flat_map(|keyspace| keyspace.spans()) {
                batch.delete_range(&start, end.as_deref());
            }
        })
    }
}
