//! How is a value read? Under the shard's lock, in place, and noted as an access.

use std::sync::Arc;

use super::frequency;
use super::shard::Shard;
use super::store::{Location, Locked, Store};
use super::table::Table;
use super::value::{Fetched, Value};

/// Keys that one call of [`Store::prefetch`] looks at.
pub const PREFETCHED_KEYS: usize = 16;

/// Keys of one call that are asked for before the first of them is looked at.
const AT_ONCE: usize = 64;

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

    pub(crate) fn multi_get(self: &Arc<Self>, keys: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let copy = |found: Fetched<'_>| match found {
            Fetched::Bytes(bytes) => bytes.to_vec(),
            Fetched::Value(value) => value.into_vec(),
        };
        self.fetch_many(keys, |values| values.map(|value| value.map(copy)).collect())
    }

    /// The values of `keys`, all as of one moment, for `f` to go through once. Locks are held meanwhile.
    pub(crate) fn fetch_many<R>(
        self: &Arc<Self>,
        keys: &[&[u8]],
        f: impl FnOnce(&mut dyn Iterator<Item = Option<Fetched<'_>>>) -> R,
    ) -> R {
        let locations: Vec<Location> = keys.iter().map(|key| self.locate(key)).collect();
        let mut locked = self.lock_several(locations.iter().map(|location| location.shard));
        let found: Vec<Option<usize>> = self.find_many(&mut locked, keys, &locations);
        // Nothing below changes a table, so that places stay valid.
        let locked = &locked;
        let mut values = locations.iter().zip(found).map(|(location, at)| {
            let (shard, at) = (locked.get(location.shard)?, at?);
            let held = shard.table.held(at)?;
            match held.is_mapped() {
                true => Value::of(self, shard, at).map(Fetched::Value),
                false => Some(Fetched::Bytes(held.value())),
            }
        });
        f(&mut values)
    }

    /// Asks for what calls with these keys will look at, so that it is there when they come: first for the shards and the places in
    /// their tables, then for the entries, which waits for what was asked for before, for all keys at once.
    pub(crate) fn prefetch(&self, keys: &[&[u8]]) {
        let mut locations = [Location { shard: 0, tag: 0 }; PREFETCHED_KEYS];
        let locations = &mut locations[..keys.len().min(PREFETCHED_KEYS)];
        for (location, key) in locations.iter_mut().zip(keys) {
            *location = self.locate(key);
            self.prefetch_shard(location.shard);
            self.hints.prefetch(location.shard, location.tag);
        }
        for location in &*locations {
            // One that is locked is in another thread's hands, and what it holds in its caches.
            if let Some(shard) = self.try_lock(location.shard) {
                shard.table.prefetch_entry(location.tag);
                self.hints.note(location.shard, shard.table.slots());
            }
        }
    }

    /// How many of `keys` are there, all as of one moment; each mention counts.
    pub(crate) fn count_many(&self, keys: &[&[u8]]) -> usize {
        let mut found = 0;
        self.visit_many(keys, |shard, location, key| {
            found += usize::from(self.find_and_touch(shard, location, key).is_some());
        });
        found
    }

    /// Calls `f` with each of `keys` and its shard; all shards are locked until the last. Takes no memory for each key: a million of them
    /// would wait for that longer than for their entries.
    pub(super) fn visit_many(&self, keys: &[&[u8]], mut f: impl FnMut(&mut Shard, Location, &[u8])) {
        let mut locked = self.lock_several(keys.iter().map(|key| self.locate(key).shard));
        let mut locations = [Location { shard: 0, tag: 0 }; AT_ONCE];
        for keys in keys.chunks(AT_ONCE) {
            let locations = &mut locations[..keys.len()];
            for (location, key) in locations.iter_mut().zip(keys) {
                *location = self.locate(key);
            }
            prefetch_locked(&locked, locations);
            for (key, location) in keys.iter().zip(&*locations) {
                if let Some(shard) = locked.shard(location.shard) {
                    f(shard, *location, key);
                }
            }
        }
    }

    /// Where the keys are. Expired entries go first: a removal moves others.
    fn find_many(
        &self,
        locked: &mut Locked<'_>,
        keys: &[&[u8]],
        locations: &[Location],
    ) -> Vec<Option<usize>> {
        for (keys, locations) in keys.chunks(AT_ONCE).zip(locations.chunks(AT_ONCE)) {
            prefetch_locked(locked, locations);
            for (key, location) in keys.iter().zip(locations) {
                if let Some(shard) = locked.shard(location.shard) {
                    self.find_and_touch(shard, *location, key);
                }
            }
        }
        let place = |(key, location): (&&[u8], &Location)| {
            locked.get(location.shard)?.table.find(location.tag, key).ok()
        };
        keys.iter().zip(locations).map(place).collect()
    }

    pub(crate) fn memory_usage(&self, key: &[u8]) -> Option<u64> {
        let location = self.locate(key);
        let mut shard = self.lock(location.shard);
        let at = shard.find_live(&self.common, || self.now_ms(), location.tag, key)?;
        Some(shard.entry_cost(&self.common, at))
    }

    pub(crate) fn frequency(&self, key: &[u8]) -> Option<u8> {
        let location = self.locate(key);
        let mut shard = self.lock(location.shard);
        let at = shard.find_live(&self.common, || self.now_ms(), location.tag, key)?;
        let stamp = shard.table.held(at)?.stamp();
        Some(frequency::counter(stamp, self.now_ms()))
    }
}

/// Asks for what a look at these places reads: first the places in the tables, then the entries, all of them before one is waited for.
fn prefetch_locked(locked: &Locked<'_>, locations: &[Location]) {
    for fetch in [Table::prefetch, Table::prefetch_entry] {
        for location in locations {
            if let Some(shard) = locked.get(location.shard) {
                fetch(&shard.table, location.tag);
            }
        }
    }
}
