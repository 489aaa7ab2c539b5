//! How is a value read? Under the shard's lock, in place, and noted as an access.

use std::sync::Arc;

use super::shard::Shard;
use super::store::{Location, Store};
use super::table::Table;
use super::value::{Fetched, Value};

impl Store {
    pub(crate) fn read<R>(&self, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let location = self.locate(key);
        self.read_locked(&mut self.lock(location.shard), location, key, f)
    }

    /// As `read`, but a long value is handed over as one to keep.
    pub(crate) fn fetch<R>(self: &Arc<Self>, key: &[u8], f: impl FnOnce(Fetched<'_>) -> R) -> Option<R> {
        let location = self.locate(key);
        let mut shard = self.lock(location.shard);
        let at = self.find_and_touch(&mut shard, location, key)?;
        if shard.table.held(at)?.is_mapped() {
            let value = Value::of(self, &shard, at)?;
            drop(shard);
            return Some(f(Fetched::Value(value)));
        }
        shard.table.held(at).map(|held| f(Fetched::Bytes(held.value())))
    }

    fn find_and_touch(&self, shard: &mut Shard, location: Location, key: &[u8]) -> Option<usize> {
        let Some(at) = shard.find_live(&self.common, || self.now_ms(), location.tag, key) else {
            shard.counters.misses += 1;
            return None;
        };
        shard.counters.hits += 1;
        shard.touch(&self.common, at);
        Some(at)
    }

    fn read_locked<R>(
        &self,
        shard: &mut Shard,
        location: Location,
        key: &[u8],
        f: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let at = self.find_and_touch(shard, location, key)?;
        shard.table.held(at).map(|held| f(held.value()))
    }

    pub(crate) fn multi_get(&self, keys: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let locations: Vec<Location> = keys.iter().map(|key| self.locate(key)).collect();
        let mut locked = self.lock_several(locations.iter().map(|location| location.shard).collect());
        // The lines of all keys are on their way before the first is waited for.
        for fetch in [Table::prefetch, Table::prefetch_entry] {
            for location in &locations {
                if let Some(shard) = locked.shard(location.shard) {
                    fetch(&shard.table, location.tag);
                }
            }
        }
        let one = |(key, location): (&&[u8], &Location)| {
            let shard = locked.shard(location.shard)?;
            self.read_locked(shard, *location, key, <[u8]>::to_vec)
        };
        keys.iter().zip(&locations).map(one).collect()
    }

    pub(crate) fn memory_usage(&self, key: &[u8]) -> Option<u64> {
        let location = self.locate(key);
        let mut shard = self.lock(location.shard);
        let at = shard.find_live(&self.common, || self.now_ms(), location.tag, key)?;
        Some(shard.entry_cost(&self.common, at))
    }
}
