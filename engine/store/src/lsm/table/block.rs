//! How is a version found in a block? On its raw bytes: a binary search among the restarts, then along the entries, without putting any key together.
//!
//! Along the entries it is enough to know how much of the wanted key the entry before had. Where the next one shares more than that with it, it stands before the
//! wanted key for the same reason; where it shares less, it stands behind; only where it shares just as much is there something to compare.

use crate::lsm::coding::{take, take_varint};
use crate::lsm::record::{Record, Stamp, is_before, shared_len};
use std::cmp::Ordering;

/// What is wrong with a block.
pub(crate) type Damage = &'static str;

const ENDS: Damage = "a block ends within an entry";

/// The bytes of a block, whose frame has been looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a> {
    entries: &'a [u8],
    /// But the first, which is the first entry.
    restarts: &'a [[u8; 4]],
}

/// An entry as it stands in the block.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    shared: usize,
    rest: &'a [u8],
    stamp: Stamp,
    value: &'a [u8],
    /// Where the next one begins.
    end: usize,
}

impl<'a> Block<'a> {
    /// Looks at the frame: the restarts are within the block.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Damage> {
        let (rest, count) = bytes.split_last_chunk::<4>().ok_or("a block is shorter than its frame")?;
        let count = u32::from_le_bytes(*count) as usize;
        let len = count
            .checked_mul(4)
            .filter(|len| *len <= rest.len())
            .ok_or("a block is shorter than its restarts")?;
        let (entries, restarts) = rest.split_at(rest.len() - len);
        let (restarts, _) = restarts.as_chunks::<4>();
        Ok(Self { entries, restarts })
    }

    #[inline]
    fn entry(&self, at: usize) -> Result<Entry<'a>, Damage> {
        let mut rest = self.entries.get(at..).ok_or(ENDS)?;
        let shared = take_varint(&mut rest).ok_or(ENDS)?;
        let key = take_varint(&mut rest).ok_or(ENDS)?;
        let value = take_varint(&mut rest).ok_or(ENDS)?;
        let stamp = take_varint(&mut rest).ok_or(ENDS)?;
        let stamp = Stamp::from_raw(stamp).ok_or("an entry is of unknown kind")?;
        let key = take(&mut rest, key).ok_or(ENDS)?;
        let value = take(&mut rest, value).ok_or(ENDS)?;
        let shared = usize::try_from(shared).map_err(|_| ENDS)?;
        Ok(Entry { shared, rest: key, stamp, value, end: self.entries.len() - rest.len() })
    }

    /// Where a restart begins, or the entries end behind the last.
    #[inline]
    fn restart(&self, index: usize) -> usize {
        let at = |restart: &[u8; 4]| u32::from_le_bytes(*restart) as usize;
        index.checked_sub(1).map_or(0, |index| self.restarts.get(index).map_or(self.entries.len(), at))
    }

    /// The last restart whose entry stands before `(key, stamp)`, or the first.
    fn restart_before(&self, key: &[u8], stamp: Stamp) -> Result<usize, Damage> {
        let (mut low, mut high) = (0, self.restarts.len() + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let entry = self.entry(self.restart(middle))?;
            if entry.shared != 0 {
                return Err("an entry shares a key with none before it");
            }
            if is_before(entry.rest, entry.stamp, key, stamp) { low = middle } else { high = middle }
        }
        Ok(low)
    }

    /// The newest version of `key` that is not newer than `stamp`.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], stamp: Stamp) -> Result<Option<(Stamp, &'a [u8])>, Damage> {
        let restart = self.restart_before(key, stamp)?;
        let (mut at, end) = (self.restart(restart), self.restart(restart + 1));
        // How much of the wanted key the entry before had; all entries passed stand before it.
        let mut matched = 0;
        while at < end {
            let entry = self.entry(at)?;
            at = entry.end;
            match entry.shared.cmp(&matched) {
                // As the one before: it was smaller in a byte that this one shares with it. Where the keys were equal up to the
                // wanted one's end, it is an older or newer version, or longer.
                Ordering::Greater => continue,
                Ordering::Less => return Ok(None),
                Ordering::Equal => {}
            }
            let wanted = &key[matched..];
            let same = shared_len(wanted, entry.rest);
            matched += same;
            match (wanted.get(same), entry.rest.get(same)) {
                (None, None) if entry.stamp <= stamp => return Ok(Some((entry.stamp, entry.value))),
                // The same key, newer; or a key that the wanted one goes on from.
                (None, None) | (Some(_), None) => {}
                (None, Some(_)) => return Ok(None),
                (Some(wanted), Some(found)) if found > wanted => return Ok(None),
                (Some(_), Some(_)) => {}
            }
        }
        if end >= self.entries.len() {
            return Ok(None);
        }
        // The next restart does not stand before what is wanted: if anything is it, this is.
        let entry = self.entry(end)?;
        Ok((entry.rest == key && entry.stamp <= stamp).then_some((entry.stamp, entry.value)))
    }
}

/// Entries that stand before a place, from a restart on: the key of one is put together from those before it, so going back by one would mean to walk there again from the restart.
#[derive(Default)]
struct Passed {
    /// One after the other.
    keys: Vec<u8>,
    /// With where in `keys` its own begins.
    entries: Vec<(At, usize)>,
}

/// A place in a block, or past its ends. It owns the block, in whatever way: it may outlive whoever made it.
pub(crate) struct BlockCursor<B> {
    bytes: B,
    key: Vec<u8>,
    at: Option<At>,
    passed: Passed,
}

#[derive(Clone, Copy)]
struct At {
    begin: usize,
    end: usize,
    stamp: Stamp,
    value_len: usize,
}

impl<B: AsRef<[u8]>> BlockCursor<B> {
    /// A cursor that stands nowhere yet. Looks at the block's frame.
    pub(crate) fn new(bytes: B) -> Result<Self, Damage> {
        Self::with_space(bytes, Vec::new())
    }

    /// The same, with space for keys that another one had.
    pub(super) fn with_space(bytes: B, mut key: Vec<u8>) -> Result<Self, Damage> {
        Block::new(bytes.as_ref())?;
        key.clear();
        Ok(Self { bytes, key, at: None, passed: Passed::default() })
    }

    /// The block.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The block, and the space for keys.
    pub(super) fn into_parts(self) -> (B, Vec<u8>) {
        (self.bytes, self.key)
    }

    fn block(&self) -> Result<Block<'_>, Damage> {
        Block::new(self.bytes.as_ref())
    }

    /// The version at the place.
    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        self.at.map(|at| Record {
            key: &self.key,
            stamp: at.stamp,
            value: &self.bytes.as_ref()[at.end - at.value_len..at.end],
        })
    }

    fn go(&mut self, begin: usize) -> Result<(), Damage> {
        self.at = None;
        let block = Block::new(self.bytes.as_ref())?;
        if begin < block.entries.len() {
            let entry = block.entry(begin)?;
            if entry.shared > self.key.len() {
                return Err("an entry shares more than there is");
            }
            self.key.truncate(entry.shared);
            self.key.extend_from_slice(entry.rest);
            let (end, stamp, value_len) = (entry.end, entry.stamp, entry.value.len());
            self.at = Some(At { begin, end, stamp, value_len });
        }
        Ok(())
    }

    fn go_to_restart(&mut self, index: usize) -> Result<(), Damage> {
        self.key.clear();
        self.at = None;
        let begin = self.block()?.restart(index);
        self.go(begin)
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) -> Result<(), Damage> {
        self.go_to_restart(self.block()?.restart_before(key, stamp)?)?;
        while let Some(record) = self.record()
            && is_before(record.key, record.stamp, key, stamp)
        {
            self.next()?;
        }
        Ok(())
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) -> Result<(), Damage> {
        let restart = self.block()?.restart_before(key, stamp)?;
        self.go_up_to(restart, |record, _| is_before(record.key, record.stamp, key, stamp))
    }

    pub(crate) fn first(&mut self) -> Result<(), Damage> {
        self.go_to_restart(0)
    }

    pub(crate) fn last(&mut self) -> Result<(), Damage> {
        let restart = self.block()?.restarts.len();
        self.go_up_to(restart, |_, _| true)
    }

    pub(crate) fn next(&mut self) -> Result<(), Damage> {
        match self.at {
            Some(at) => self.go(at.end),
            None => Ok(()),
        }
    }

    pub(crate) fn previous(&mut self) -> Result<(), Damage> {
        let Some(At { begin, .. }) = self.at else { return Ok(()) };
        if self.passed.entries.last().is_some_and(|(last, _)| last.end == begin) {
            self.go_back();
            return Ok(());
        }
        let restarts = self.block()?.restarts;
        let restart = restarts.partition_point(|restart| (u32::from_le_bytes(*restart) as usize) < begin);
        self.go_up_to(restart, |_, at| at < begin)
    }

    /// From a restart on to the last entry for which `goes` is true, or nowhere. Those before it are kept for whoever goes back further.
    fn go_up_to(&mut self, restart: usize, goes: impl Fn(Record, usize) -> bool) -> Result<(), Damage> {
        self.passed.keys.clear();
        self.passed.entries.clear();
        self.go_to_restart(restart)?;
        while let (Some(at), Some(record)) = (self.at, self.record())
            && goes(record, at.begin)
        {
            self.passed.entries.push((at, self.passed.keys.len()));
            self.passed.keys.extend_from_slice(&self.key);
            self.next()?;
        }
        self.go_back();
        Ok(())
    }

    /// To the last of the entries that were passed, or nowhere.
    fn go_back(&mut self) {
        self.at = self.passed.entries.pop().map(|(at, key)| {
            self.key.clear();
            self.key.extend(self.passed.keys.drain(key..));
            at
        });
    }
}
