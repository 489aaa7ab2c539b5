//! How does a store become empty without a look at each entry? Its segments are declared free, and what takes time is done in pieces.
//!
//! Freeing ten million entries one by one would take a second, during which nobody is served. Here it takes as long as it takes to lock the shards:
//! no entry in a segment is touched. Tables, and pages that are free, go back to the system by and by (`maintain`), or at once when
//! their bytes are needed.

use std::time::{Duration, Instant};

use super::slots;
use super::store::Store;

/// Segments that are given back between two looks at the watch: about 100 µs.
const SEGMENTS_AT_ONCE: usize = 64;

impl Store {
    pub(crate) fn clear(&self) {
        let stopped = self.common.heap.stop_cleaning();
        let mut shards = self.lock_all();
        let mut dead = self.dead_tables.lock();
        dead.extend(
            shards.iter_mut().map(|shard| shard.clear(&self.common)).filter(|slots| !slots.is_empty()),
        );
        // SAFETY: all shards are locked and their tables empty, and who has an entry that is in no table holds the lock of a shard.
        unsafe { self.common.heap.clear(&stopped) };
    }

    /// Gives memory back that is not needed, for as long as `time`; true if there is more to do.
    pub(crate) fn maintain(&self, time: Duration) -> bool {
        let start = Instant::now();
        let heap = &self.common.heap;
        while start.elapsed() < time {
            // What comes and goes needs some, and a larger store more.
            let keep = 4 + heap.segments() / 16;
            if !self.free_a_table() && heap.give_back(&self.common.budget, keep, SEGMENTS_AT_ONCE) == 0 {
                return false;
            }
        }
        true
    }

    /// Frees the memory of a table that is no more, if there is one.
    pub(super) fn free_a_table(&self) -> bool {
        let Some(dead) = self.dead_tables.lock().pop() else { return false };
        let bytes = slots::cost(dead.len());
        drop(dead);
        self.common.budget.release(bytes);
        true
    }
}
