//! Which blocks stay in memory, as they are before compression? Those that are read again, up to a weight in bytes that is exact.
//!
//! A block comes in when it is missed for the second time in a while. Where reads are spread over far more than the cache holds, almost none is; to put each in, only to push out
//! another that is not asked for either, costs more than a read.

use super::recent::{BlockKey, HASH, Recent, packed};
use crate::lsm::counter::Counter;
use foldhash::fast::FixedState;
use quick_cache::sync::DefaultLifecycle;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an entry costs besides its bytes: the key, the counts of the pointer, the slots of the cache.
const ENTRY: u64 = 64;

/// Blocks of all tables of a store.
pub(crate) struct BlockCache {
    blocks: quick_cache::sync::Cache<u64, Arc<[u8]>, Weighter, FixedState>,
    missed: Recent,
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
            missed: Recent::new(blocks),
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
        self.missed.again(key)
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
    fn the_weight_is_kept() {
        let cache = BlockCache::new(1 << 20, 2 << 10);
        for block in 0..2_000 {
            cache.insert((7, block), vec![0; 2 << 10].into());
            assert!(cache.bytes() <= 1 << 20);
        }
        assert!(cache.bytes() > 1 << 19);
    }
}
