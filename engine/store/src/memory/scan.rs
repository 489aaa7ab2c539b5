//! How are all keys listed, a few at a time, while the tables change? By the tag of the hash.
//!
//! The table is sorted by tag, and a key's tag and shard never change. A cursor is the place to go on from,
//! `shard << 32 | tag`: growth, shrinking, inserts and deletes move entries about in the array, but none past
//! the cursor. So a key that is there throughout is returned exactly once; Redis promises at least once. Keys with
//! the same tag are returned by the same call.

use std::ops::{ControlFlow, Range};

use super::slots::TAG_BITS;
use super::store::Store;
use crate::keyspace::Keyspace;

const CURSOR_BITS: u32 = 32;

/// Keys from which a random one is drawn: of two with the same tag a place alone would always find the same one.
const CANDIDATES: usize = 8;

/// Shards without a key to return that one call passes before it hands back a cursor.
const PATIENCE: usize = 256;

impl Store {
    pub(crate) fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8])) -> u64 {
        self.scan_numbers(0..self.end(), cursor, count, f)
    }

    /// As [`scan`](Self::scan), of one keyspace; `f` gets its keys as they are there.
    pub(crate) fn scan_in(
        &self,
        keyspace: Keyspace,
        cursor: u64,
        count: usize,
        f: &mut dyn FnMut(&[u8]),
    ) -> u64 {
        self.scan_numbers(
            self.numbers_in(keyspace),
            cursor,
            count,
            &mut |stored| f(Keyspace::split(stored).1),
        )
    }

    fn scan_numbers(
        &self,
        numbers: Range<usize>,
        cursor: u64,
        count: usize,
        f: &mut dyn FnMut(&[u8]),
    ) -> u64 {
        let count = count.max(1);
        let next = |number: usize| self.others.as_ref().map_or(number, |others| others.next(number));
        let mut index = usize::try_from(cursor >> CURSOR_BITS).unwrap_or(usize::MAX);
        let mut from = cursor as u32;
        if index < numbers.start {
            (index, from) = (numbers.start, 0);
        }
        let mut returned = 0;
        let mut passed = 0;
        while index < numbers.end {
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
            (index, from) = (next(index + 1), 0);
            if returned >= count || passed >= PATIENCE {
                break;
            }
        }
        if index < numbers.end { (index as u64) << CURSOR_BITS } else { 0 }
    }

    /// One of the first keys from a random place on.
    pub(crate) fn random_key(&self) -> Option<Vec<u8>> {
        self.random_of(0..self.end())
    }

    /// As [`random_key`](Self::random_key), of one keyspace, as it is there.
    pub(crate) fn random_key_in(&self, keyspace: Keyspace) -> Option<Vec<u8>> {
        Some(Keyspace::split(&self.random_of(self.numbers_in(keyspace))?).1.to_vec())
    }

    fn random_of(&self, numbers: Range<usize>) -> Option<Vec<u8>> {
        if numbers.is_empty() {
            return None;
        }
        let mut rng = self.rng();
        let mut first = rng.usize(numbers.clone());
        if !self.has_shard(first) {
            first = numbers.start;
        }
        let tag = rng.u32(..) >> (u32::BITS - TAG_BITS);
        let mut cursor = (first as u64) << CURSOR_BITS | u64::from(tag);
        let mut is_second_round = false;
        loop {
            let (mut drawn, mut seen) = (None, 0);
            cursor = self.scan_numbers(numbers.clone(), cursor, CANDIDATES, &mut |key| {
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
        self.for_each_of(self.numbers(), &mut |key| {
            f(key);
            ControlFlow::Continue(())
        });
    }

    /// As [`for_each_key`](Self::for_each_key), of one keyspace; `f` gets its keys as they are there.
    pub(crate) fn for_each_key_in(&self, keyspace: Keyspace, f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        self.for_each_of(self.numbers_in(keyspace), &mut |stored| f(Keyspace::split(stored).1));
    }

    /// Keys of a keyspace, and how many of them have an expiry.
    pub(crate) fn count_in(&self, keyspace: Keyspace) -> (u64, u64) {
        self.numbers_in(keyspace).fold((0, 0), |(keys, volatile), number| {
            let shard = self.lock(number);
            (keys + shard.table.len() as u64, volatile + shard.table.volatile() as u64)
        })
    }

    fn for_each_of(&self, numbers: impl Iterator<Item = usize>, f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        for index in numbers {
            for held in self.lock(index).table.iter() {
                if !held.is_expired(|| self.now_ms()) && f(held.key()).is_break() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "scan_test.rs"]
mod tests;
