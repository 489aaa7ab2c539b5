//! What is there? Looked up in a moment of the tree; nobody waits for anybody.

use super::Durable;
use crate::error::Result;
use crate::lsm::Live;
use crate::memory::{Fetched, Lifetime, Value};
use std::sync::atomic::Ordering;

impl Durable {
    pub(crate) fn read<R>(&self, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
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
        let found = self.look_up_end(key)?;
        Ok(found.map_or(Lifetime::Missing, |until| until.map_or(Lifetime::Forever, Lifetime::Until)))
    }

    pub(crate) fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let snapshot = self.tree.snapshot();
        let found: Result<Vec<_>> =
            keys.iter().map(|key| snapshot.get(key, |live| live.value.to_vec())).collect();
        let found = found?;
        let hits = found.iter().filter(|value| value.is_some()).count();
        self.count(hits as u64, (keys.len() - hits) as u64);
        Ok(found)
    }

    /// One value after the other, so that no more than one of them is in memory unless `f` keeps it.
    pub(crate) fn fetch_many<R>(
        &self,
        keys: &[&[u8]],
        f: impl FnOnce(&mut dyn Iterator<Item = Option<Fetched<'_>>>) -> R,
    ) -> Result<R> {
        let snapshot = self.tree.snapshot();
        let mut failure = None;
        let (mut hits, mut misses) = (0, 0);
        let mut values = keys.iter().map_while(|key| {
            let found = snapshot.get(key, |live| live.value.to_vec());
            let found = found.map_err(|error| failure = Some(error)).ok()?;
            *if found.is_some() { &mut hits } else { &mut misses } += 1;
            Some(found.map(|bytes| Fetched::Value(Value::copied(bytes))))
        });
        let done = f(&mut values);
        drop(values);
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.count(hits, misses);
        Ok(done)
    }

    pub(crate) fn count_many(&self, keys: &[&[u8]]) -> Result<usize> {
        let snapshot = self.tree.snapshot();
        let mut count = 0;
        for key in keys {
            count += usize::from(snapshot.get(key, |_| ())?.is_some());
        }
        self.count(count as u64, (keys.len() - count) as u64);
        Ok(count)
    }

    /// Counts what many keys have found, once all of them are read: a call that would have to wait is made again.
    fn count(&self, hits: u64, misses: u64) {
        self.hits.fetch_add(hits, Ordering::Relaxed);
        self.misses.fetch_add(misses, Ordering::Relaxed);
    }

    pub(super) fn counted<T>(&self, found: Option<T>) -> Result<Option<T>> {
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    }

    pub(crate) fn memory_usage(&self, key: &[u8]) -> Result<Option<u64>> {
        self.tree.get(key, |live| (key.len() + live.value.len()) as u64)
    }
}
