//! What is there? Looked up in a moment of the tree; nobody waits for anybody.

use super::Durable;
use super::entries::Entries;
use crate::error::Result;
use crate::lsm::{Live, TreeSnapshot};
use crate::memory::{Fetched, Lifetime, Value};
use std::sync::atomic::Ordering;

/// Keys that are looked up together, and the longest value that is kept meanwhile.
const TOGETHER: usize = 128;
const SHORT: usize = 4 << 10;

enum Found {
    Nothing,
    Short(Vec<u8>),
    Long,
}

/// What is there of a few keys.
fn look_up_piece<'k>(snapshot: &TreeSnapshot, keys: &[&'k [u8]]) -> Result<Vec<(&'k [u8], Found)>> {
    let mut found: Vec<_> = keys.iter().map(|key| (*key, Found::Nothing)).collect();
    snapshot.get_many(keys, |place, live| {
        let is_short = live.value.len() <= SHORT;
        found[place].1 = if is_short { Found::Short(live.value.to_vec()) } else { Found::Long };
    })?;
    Ok(found)
}

impl Durable {
    pub(crate) fn read<R>(&self, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        if self.is_grouped() {
            let found = self.grouped(|entries| entries.look_up(key))?;
            return self.counted(found.map(|(value, _)| f(&value)));
        }
        self.counted(self.tree.get(key, |live| f(live.value))?)
    }

    /// A value and the end of its time.
    pub(super) fn look_up(&self, key: &[u8]) -> Result<Option<(Vec<u8>, Option<u64>)>> {
        self.tree.get(key, |Live { value, until_ms }| (value.to_vec(), until_ms))
    }

    /// When the key's time ends; `None` where there is no key.
    pub(super) fn look_up_end(&self, key: &[u8]) -> Result<Option<Option<u64>>> {
        self.tree.get(key, |live| live.until_ms)
    }

    pub(crate) fn lifetime(&self, key: &[u8]) -> Result<Lifetime> {
        let found = if self.is_grouped() {
            self.grouped(|entries| entries.look_up_end(key))?
        } else {
            self.look_up_end(key)?
        };
        Ok(found.map_or(Lifetime::Missing, |until| until.map_or(Lifetime::Forever, Lifetime::Until)))
    }

    pub(crate) fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        if self.is_grouped() {
            return self.grouped_values(keys);
        }
        let mut values = vec![None; keys.len()];
        self.tree.snapshot().get_many(keys, |place, live| values[place] = Some(live.value.to_vec()))?;
        self.count(values.iter().flatten().count(), keys.len());
        Ok(values)
    }

    /// Short values are looked up many at a time, a long one when its turn comes: so that no more than a few are in memory unless `f` keeps them.
    pub(crate) fn fetch_many<R>(
        &self,
        keys: &[&[u8]],
        f: impl FnOnce(&mut dyn Iterator<Item = Option<Fetched<'_>>>) -> R,
    ) -> Result<R> {
        if self.is_grouped() {
            let values = self.grouped_values(keys)?;
            let values =
                values.into_iter().map(|value| value.map(|bytes| Fetched::Value(Value::copied(bytes))));
            return Ok(f(&mut { values }));
        }
        let snapshot = self.tree.snapshot();
        let mut failure = None;
        let mut hits = 0;
        let mut pieces = keys.chunks(TOGETHER);
        let mut piece = Vec::new().into_iter();
        let mut values = std::iter::from_fn(|| {
            if piece.len() == 0 {
                let found = look_up_piece(&snapshot, pieces.next()?);
                piece = found.map_err(|error| failure = Some(error)).ok()?.into_iter();
            }
            let found = match piece.next()? {
                (_, Found::Nothing) => None,
                (_, Found::Short(bytes)) => Some(bytes),
                (key, Found::Long) => {
                    let found = snapshot.get(key, |live| live.value.to_vec());
                    found.map_err(|error| failure = Some(error)).ok()?
                }
            };
            hits += usize::from(found.is_some());
            Some(found.map(|bytes| Fetched::Value(Value::copied(bytes))))
        });
        let done = f(&mut values);
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.count(hits, keys.len());
        Ok(done)
    }

    pub(crate) fn count_many(&self, keys: &[&[u8]]) -> Result<usize> {
        if self.is_grouped() {
            return Ok(self.grouped_values(keys)?.iter().flatten().count());
        }
        let mut count = 0;
        self.tree.snapshot().get_many(keys, |_, _| count += 1)?;
        self.count(count, keys.len());
        Ok(count)
    }

    /// Values as the group of this thread sees them.
    fn grouped_values(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let values: Vec<_> = self.grouped(|entries| {
            let found = keys.iter().map(|key| Ok(entries.look_up(key)?.map(|(value, _)| value)));
            found.collect::<Result<_>>()
        })?;
        self.count(values.iter().flatten().count(), keys.len());
        Ok(values)
    }

    /// Counts what many keys have found, once all of them are read: a call that would have to wait is made again.
    fn count(&self, hits: usize, keys: usize) {
        self.hits.fetch_add(hits as u64, Ordering::Relaxed);
        self.misses.fetch_add((keys - hits) as u64, Ordering::Relaxed);
    }

    pub(super) fn counted<T>(&self, found: Option<T>) -> Result<Option<T>> {
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    }

    pub(crate) fn memory_usage(&self, key: &[u8]) -> Result<Option<u64>> {
        if self.is_grouped() {
            let found = self.grouped(|entries| entries.look_up(key))?;
            return Ok(found.map(|(value, _)| (key.len() + value.len()) as u64));
        }
        self.tree.get(key, |live| (key.len() + live.value.len()) as u64)
    }
}
