//! Which blocks stay in memory, as they are before compression? Those that are read again, up to a weight in bytes that is exact.
//!
//! A block comes in when it is missed for the second time in a while. Where reads are spread over far more than the cache holds, almost none is; to put each in, only to push out
//! another that is not asked for either, costs more than a read.

use crate::lsm::counter::Counter;
use foldhash::fast::FixedState;
use quick_cache::sync::DefaultLifecycle;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A block of a file, by the number of either.
pub(crate) type BlockKey = (u64, u32);

/// What an entry costs besides its bytes: the key, the counts of the pointer, the slots of the cache.
const ENTRY: u64 = 64;

/// No seed: the store gives out the numbers that are hashed, nobody can choose them to collide.
const HASH: FixedState = FixedState::with_seed(0);

/// Blocks of all tables of a store.
pub(crate) struct BlockCache {
    blocks: quick_cache::sync::Cache<u64, Arc<[u8]>, Weighter, FixedState>,
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

impl BlockCache {
    /// A cache for so many bytes, in blocks of about so many.
    pub(crate) fn new(bytes: u64, block_bytes: usize) -> Self {
        let blocks = (bytes / (block_bytes as u64 + ENTRY)).max(16) as usize;
        Self {
            blocks: quick_cache::sync::Cache::with(
                blocks,
                bytes,
                Weighter,
                HASH,
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

    /// Counts a look: by whoever looked, once what was found is read. What is stored between the locked instructions of a look is waited for.
    #[inline]
    pub(crate) fn count(&self, found: bool) {
        if found { self.hits.count() } else { self.misses.count() }
    }

    /// Whether a block that was missed is to be put in.
    pub(crate) fn wants(&self, key: BlockKey) -> bool {
        packed(key).map(|key| HASH.hash_one(key)).is_some_and(|hash| {
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
        let wanted = || (0..100).filter(|block| cache.wants((7, *block))).count();
        assert_eq!(wanted(), 0);
        // But for those whose place another has taken meanwhile.
        let again = wanted();
        assert!(again > 70, "{again}");
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
