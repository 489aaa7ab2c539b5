//! How does a store become empty without a look at each entry? Its segments are declared free, and what takes time is done in pieces.
//!
//! Freeing ten million entries one by one would take a second, during which nobody is served. Here it takes as long as it takes to lock the shards:
//! no entry in a segment is touched. Tables, and pages that are free, go back to the system by and by (`maintain`), or at once when
//! their bytes are needed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::others::Others;
use super::store::Store;
use super::table::Table;
use crate::keyspace::Keyspace;

/// Segments that are given back between two looks at the watch: about 100 µs.
const SEGMENTS_AT_ONCE: usize = 16;
/// Slots of a dead table that are looked through for large entries, each of which may be freed for some 10 µs.
const SLOTS_AT_ONCE: usize = 64;

/// A table that is no more, with large entries that are still to be freed from `next` on.
pub(super) struct DeadTable {
    table: Table,
    next: usize,
}

impl Store {
    pub(crate) fn clear(&self) {
        self.clear_if(|_| true);
    }

    /// Removes all keys if `may` says so, while all shards are locked and no keyspace can come into use.
    fn clear_if(&self, may: impl FnOnce(&Self) -> bool) -> bool {
        let stopped = self.common.heap.stop_cleaning();
        let mut shards = self.lock_all();
        if !may(self) {
            return false;
        }
        let mut dead = self.dead_tables.lock();
        let tables = shards.shards.iter_mut().map(|shard| shard.clear()).filter(|table| !table.is_unused());
        dead.extend(tables.map(|table| DeadTable { table, next: 0 }));
        // SAFETY: all shards are locked and their tables empty, and who has an entry that is in no table holds the lock of a shard.
        unsafe { self.common.heap.clear(&stopped) };
        true
    }

    /// Removes the keys of some keyspaces, all at one moment. Where others have keys, each of their entries is freed by itself.
    pub(crate) fn clear_in(&self, keyspaces: &[Keyspace]) {
        let is_first = keyspaces.contains(&Keyspace::default());
        // Another thread may bring a keyspace into use meanwhile: what it writes there must stay.
        if !self.uses_others() && (!is_first || self.clear_if(|store| !store.uses_others())) {
            return;
        }
        let _stays = self.others.as_ref().map(Others::stay);
        let numbers: BTreeSet<usize> =
            keyspaces.iter().flat_map(|keyspace| self.numbers_in(*keyspace)).collect();
        let mut shards: Vec<_> = numbers.into_iter().map(|number| self.lock(number)).collect();
        for shard in &mut shards {
            shard.drain(&self.common);
        }
    }

    /// Gives memory back that is not needed, for as long as `time`; true if there is more to do.
    pub(crate) fn maintain(&self, time: Duration) -> bool {
        let start = Instant::now();
        let heap = &self.common.heap;
        while start.elapsed() < time {
            // What comes and goes needs some, and a larger store more.
            let keep = 4 + heap.segments() / 16;
            if !self.bury() && heap.give_back(&self.common.budget, keep, SEGMENTS_AT_ONCE) == 0 {
                return false;
            }
        }
        true
    }

    /// Frees a little of what is dead and counted still: a piece of a large entry, or of a table. False if there is none.
    pub(super) fn bury(&self) -> bool {
        let common = &self.common;
        if common.heap.bury(&common.budget) {
            return true;
        }
        let Some(DeadTable { mut table, next }) = self.dead_tables.lock().pop() else { return false };
        let (large, next) = table.take_mapped(&common.heap, next, SLOTS_AT_ONCE);
        for entry in large {
            common.heap.free_cleared(&common.budget, entry);
        }
        match next {
            Some(next) => self.dead_tables.lock().push(DeadTable { table, next }),
            None => common.slots.put(&common.budget, table.into_slots()),
        }
        true
    }
}
