//! How are all keys listed, a few at a time, while the tables change? By the tag of the hash.
//!
//! The table is sorted by tag, and a key's tag and shard never change. A cursor is the place to go on from,
//! `shard << 32 | tag`: growth, shrinking, inserts and deletes move entries about in the array, but none past
//! the cursor. So a key that is there throughout is returned exactly once; Redis promises at least once. Keys with
//! the same tag are returned by the same call.

use super::slots::TAG_BITS;
use super::store::Store;

const CURSOR_BITS: u32 = 32;

/// Keys from which a random one is drawn: of two with the same tag a place alone would always find the same one.
const CANDIDATES: usize = 8;

/// Shards without a key to return that one call passes before it hands back a cursor.
const PATIENCE: usize = 256;

impl Store {
    pub(crate) fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8])) -> u64 {
        let count = count.max(1);
        let shards = self.shard_count();
        let mut index = usize::try_from(cursor >> CURSOR_BITS).unwrap_or(usize::MAX);
        let mut from = cursor as u32;
        let mut returned = 0;
        let mut passed = 0;
        while index < shards {
            let shard = self.lock(index);
            let mut last = None;
            for (_, held) in shard.table.walk_from(from) {
                if returned >= count && last != Some(held.tag()) {
                    return (index as u64) << CURSOR_BITS | u64::from(held.tag());
                }
                if !held.is_expired(|| self.now_ms()) {
                    f(held.key());
                    returned += 1;
                    last = Some(held.tag());
                }
            }
            passed += 1;
            (index, from) = (index + 1, 0);
            if returned >= count || passed >= PATIENCE {
                break;
            }
        }
        if index < shards { (index as u64) << CURSOR_BITS } else { 0 }
    }

    /// One of the first keys from a random place on.
    pub(crate) fn random_key(&self) -> Option<Vec<u8>> {
        let mut rng = self.rng();
        let tag = rng.u32(..) >> (u32::BITS - TAG_BITS);
        let mut cursor = (rng.usize(..self.shard_count()) as u64) << CURSOR_BITS | u64::from(tag);
        let mut is_second_round = false;
        loop {
            let (mut drawn, mut seen) = (None, 0);
            cursor = self.scan(cursor, CANDIDATES, &mut |key| {
                if rng.usize(..=seen) == 0 {
                    drawn = Some(key.to_vec());
                }
                seen += 1;
            });
            if drawn.is_some() || cursor == 0 && is_second_round {
                return drawn;
            }
            is_second_round |= cursor == 0;
        }
    }

    pub(crate) fn for_each_key(&self, f: &mut dyn FnMut(&[u8])) {
        for index in 0..self.shard_count() {
            for held in self.lock(index).table.iter() {
                if !held.is_expired(|| self.now_ms()) {
                    f(held.key());
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "scan_test.rs"]
mod tests;
