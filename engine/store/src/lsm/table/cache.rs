//! Which blocks stay in memory, as they are before compression? Those that are read again, up to a weight in bytes that is exact.
//!
//! A block comes in when it is missed for the second time in a while. Where reads are spread over far more than the cache holds, almost none is; to put each in, only to push out
//! another that is not asked for either, costs more than a read.

use crate::lsm::counter::Counter;
use quick_cache::sync::DefaultLifecycle;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A block of a file, by the number of either.
pub(crate) type BlockKey = (u64, u32);

/// What an entry costs besides its bytes: the key, the counts of the pointer, the slots of the cache.
const ENTRY: u64 = 64;

/// Blocks of all tables of a store.
pub(crate) struct BlockCache {
    blocks: quick_cache::sync::Cache<u64, Arc<[u8]>, Weighter, BuildHasherDefault<KeyHasher>>,
    /// Which blocks were missed lately: of each that falls in a place the last one, by a part of its hash.
    missed: Box<[AtomicU32]>,
    hits: Counter,
    misses: Counter,
    /// Misses of readers who could not wait: they or others look again.
    given_up: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
struct Weighter;

impl quick_cache::Weighter<u64, Arc<[u8]>> for Weighter {
    fn weight(&self, _: &u64, block: &Arc<[u8]>) -> u64 {
        block.len() as u64 + ENTRY
    }
}

/// A [`BlockKey`] in one word. What has a number that no store comes to, beyond four thousand million tables, is not kept.
fn packed((file, block): BlockKey) -> Option<u64> {
    u32::try_from(file).ok().map(|file| u64::from(file) << 32 | u64::from(block))
}

/// Fibonacci hashing (Knuth, TAOCP 6.4) spreads upwards only; the upper half of the product, folded in, spreads downwards.
fn spread(packed: u64) -> u64 {
    let product = u128::from(packed) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

/// Hashes a packed key in one multiplication: the store gives out these numbers, nobody can choose them to collide.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(8) ^ number;
    }

    fn finish(&self) -> u64 {
        spread(self.0)
    }
}

impl BlockCache {
    /// A cache for so many bytes, in blocks of about so many.
    pub(crate) fn new(bytes: u64, block_bytes: usize) -> Self {
        let blocks = (bytes / (block_bytes as u64 + ENTRY)).max(16) as usize;
        Self {
            blocks: quick_cache::sync::Cache::with(
                blocks,
                bytes,
                Weighter,
                BuildHasherDefault::default(),
                DefaultLifecycle::default(),
            ),
            missed: (0..blocks.next_power_of_two()).map(|_| AtomicU32::new(0)).collect(),
            hits: Counter::new(),
            misses: Counter::new(),
            given_up: AtomicU64::new(0),
        }
    }

    /// Changes how many bytes it may have.
    pub(crate) fn set_capacity(&self, bytes: u64) {
        self.blocks.set_capacity(bytes);
    }

    #[inline]
    pub(crate) fn get(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        packed(key).and_then(|key| self.blocks.get(&key))
    }

    /// Counts a look that has found something: by whoever looked, once it was read. What is stored between the locked instructions of a look is waited for.
    #[inline]
    pub(crate) fn count_hit(&self) {
        self.hits.count();
    }

    /// The same of one that has not.
    #[inline]
    pub(crate) fn count_miss(&self) {
        self.misses.count();
    }

    /// Whether a block that was missed is to be put in.
    pub(crate) fn wants(&self, key: BlockKey) -> bool {
        packed(key).map(spread).is_some_and(|hash| {
            let (place, tag) = ((hash >> 32) as usize & (self.missed.len() - 1), hash as u32 | 1);
            self.missed[place].swap(tag, Ordering::Relaxed) == tag
        })
    }

    #[inline]
    pub(crate) fn insert(&self, key: BlockKey, block: Arc<[u8]>) {
        if let Some(key) = packed(key) {
            self.blocks.insert(key, block);
        }
    }

    /// Bytes in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks.weight()
    }

    pub(crate) fn hits(&self) -> u64 {
        self.hits.sum()
    }

    /// A miss that was not followed by a read, and will be by another look.
    pub(crate) fn asked_again(&self) {
        self.given_up.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn misses(&self) -> u64 {
        self.misses.sum().saturating_sub(self.given_up.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_wanted_when_it_is_missed_again_and_the_weight_is_kept() {
        let cache = BlockCache::new(1 << 20, 2 << 10);
        for round in 0..2 {
            for block in 0..100 {
                assert_eq!(cache.wants((7, block)), round == 1, "{block}");
            }
        }
        for block in 0..2_000 {
            cache.insert((7, block), vec![0; 2 << 10].into());
            assert!(cache.bytes() <= 1 << 20);
        }
        assert!(cache.bytes() > 1 << 19);
    }

    #[test]
    fn blocks_beyond_what_it_holds_are_seldom_wanted() {
        let cache = BlockCache::new(1 << 20, 2 << 10);
        let mut random = fastrand::Rng::with_seed(1);
        let wanted = (0..100_000).filter(|_| cache.wants((random.u64(0..10), random.u32(0..1_000)))).count();
        assert!(wanted < 10_000, "{wanted}");
    }
}
