//! Which blocks stay in memory, as they are before compression? Those that are read again, up to a weight in bytes that is exact.
//!
//! A block comes in when it is missed for the second time in a while. Where reads are spread over far more than the cache holds, almost none is; to put each in, only to push out
//! another that is not asked for either, costs more than a read.
//!
//! A block is read where it lies, under a lock of its shard that readers share: a reference of one's own would be counted up and down, a third of what a look costs. Whoever reads may
//! call the store again and may take long, so nobody waits to change a shard: a block that cannot be put in at once is not put in, and will be missed again.

use super::recent::{BlockKey, HASH, Recent, hashed, packed};
use super::shard::{ENTRY, Shard};
use super::slab::Slab;
use crate::lsm::counter::Counter;
use crate::lsm::mapping::return_freed;
use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shards there are at most, and blocks in each at least.
const MOST_SHARDS: usize = 64;
const LEAST_BLOCKS: usize = 64;

/// One part in so many of what the cache may have it may take beyond that, of pages that were of use before.
const SLACK: u64 = 16;

/// So much has to leave the cache before the allocator is asked to give it back to the system.
const FREED: u64 = 1 << 20;

/// Alone in its line of the processor's cache: threads that read different shards do not disturb each other.
#[repr(align(64))]
struct Guarded(RwLock<Shard>);

/// Blocks of all tables of a store.
pub(crate) struct BlockCache {
    /// A power of two.
    shards: Box<[Guarded]>,
    /// Bytes that each shard may have.
    capacity: AtomicU64,
    /// Where blocks lie; none where the system has no addresses for them.
    slab: Mutex<Option<Arc<Slab>>>,
    /// What the cache was made for: bytes at most, and of a block.
    shape: (u64, usize),
    missed: Recent,
    /// Blocks that came in: one that comes again had to go too soon.
    came: Recent,
    hits: Counter,
    misses: Counter,
    /// Misses of readers who could not wait: they or others look again.
    given_up: AtomicU64,
}

impl BlockCache {
    /// A cache for so many bytes, in blocks of about so many.
    pub(crate) fn new(bytes: u64, block_bytes: usize) -> Self {
        let blocks = (bytes / (block_bytes as u64 + ENTRY)).max(16) as usize;
        let shards = (blocks / LEAST_BLOCKS).clamp(1, MOST_SHARDS).next_power_of_two();
        let slab = Slab::new(bytes, block_bytes);
        Self {
            shards: (0..shards).map(|_| Guarded(RwLock::new(Shard::new(slab.clone())))).collect(),
            capacity: AtomicU64::new(bytes / shards as u64),
            slab: Mutex::new(slab),
            shape: (bytes, block_bytes),
            missed: Recent::new(blocks),
            came: Recent::new(blocks),
            hits: Counter::new(),
            misses: Counter::new(),
            given_up: AtomicU64::new(0),
        }
    }

    /// Changes how many bytes it may have. A shard that is being read gives back what is too much when the next block comes into it.
    ///
    /// Where far more than that was resident before, the cache begins anew: pieces that are free are in the same pages as others, and the system would not get one back.
    pub(crate) fn set_capacity(&self, bytes: u64) {
        let capacity = bytes / self.shards.len() as u64;
        self.capacity.store(capacity, Ordering::Relaxed);
        let mut slab = self.slab.lock();
        if slab.as_ref().is_some_and(|slab| slab.taken_bytes() > bytes.saturating_add(bytes / SLACK)) {
            *slab = Slab::new(self.shape.0, self.shape.1);
        }
        let mut freed = 0;
        for shard in &self.shards {
            let Some(mut shard) = shard.0.try_write() else { continue };
            let before = shard.bytes();
            if shard.is_of(slab.as_ref()) {
                shard.shrink(capacity, capacity);
            } else {
                *shard = Shard::new(slab.clone());
            }
            freed += before.saturating_sub(shard.bytes());
        }
        drop(slab);
        if freed >= FREED && freed > self.shape.0 / SLACK {
            // Blocks that were allocated, because they are longer than a piece.
            return_freed();
        }
    }

    /// Bytes that it may have now.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed) * self.shards.len() as u64
    }

    #[inline]
    fn shard(&self, hash: u64) -> &RwLock<Shard> {
        // Other bits than those by which the shard and `missed` go.
        &self.shards[(hash >> 44) as usize & (self.shards.len() - 1)].0
    }

    /// A block that is here. While it is held nothing comes into its shard.
    #[inline]
    pub(crate) fn get(&self, key: BlockKey) -> Option<MappedRwLockReadGuard<'_, [u8]>> {
        let key = packed(key)?;
        let hash = HASH.hash_one(key);
        RwLockReadGuard::try_map(self.shard(hash).read(), |shard| shard.get(hash, key)).ok()
    }

    /// Counts a look: by whoever looked, once what was found is read. What is stored between the locked instructions of a look is waited for.
    #[inline]
    pub(crate) fn count(&self, found: bool) {
        if found { self.hits.count() } else { self.misses.count() }
    }

    /// Whether a block that was missed is to be put in.
    pub(crate) fn wants(&self, key: BlockKey) -> bool {
        hashed(key).is_some_and(|hash| self.missed.again(hash))
    }

    #[inline]
    pub(crate) fn insert(&self, key: BlockKey, block: &[u8]) {
        let Some(key) = packed(key) else { return };
        let hash = HASH.hash_one(key);
        if let Some(mut shard) = self.shard(hash).try_write() {
            let is_back = self.came.again(hash);
            shard.insert(hash, key, block, is_back, self.capacity.load(Ordering::Relaxed));
        }
    }

    /// Bytes in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.0.read().bytes()).sum()
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

    const BLOCK: usize = 2 << 10;

    fn holds(cache: &BlockCache, block: u32) -> bool {
        cache.get((7, block)).is_some_and(|block| block.len() == BLOCK)
    }

    #[test]
    fn the_weight_is_kept() {
        let cache = BlockCache::new(1 << 20, BLOCK);
        for block in 0..2_000 {
            cache.insert((7, block), &[0; BLOCK]);
            assert!(cache.bytes() <= 1 << 20);
        }
        assert!(cache.bytes() > 1 << 19);
        cache.set_capacity(1 << 18);
        assert!(cache.bytes() <= 1 << 18);
        cache.insert((7, 2_000), &[0; BLOCK]);
        assert!(cache.bytes() <= 1 << 18);
    }

    #[test]
    fn a_cache_of_any_size_takes_memory_as_it_is_used() {
        for bytes in [1 << 44, 1 << 60, u64::MAX] {
            let cache = BlockCache::new(bytes, BLOCK);
            cache.insert((7, 1), &[0; BLOCK]);
            cache.set_capacity(bytes);
            assert!(holds(&cache, 1) && cache.bytes() < 1 << 20);
        }
    }

    #[test]
    fn what_was_resident_leaves_when_the_cache_becomes_much_smaller() {
        let cache = BlockCache::new(1 << 20, BLOCK);
        let resident = || cache.slab.lock().as_ref().unwrap().taken_bytes();
        (0..2_000).for_each(|block| cache.insert((7, block), &[0; BLOCK]));
        assert!(resident() > 9 << 16, "{}", resident());
        cache.set_capacity(resident());
        let before = cache.bytes();
        assert!(before > 1 << 19, "nothing has to go");
        cache.set_capacity(1 << 19);
        assert_eq!((cache.bytes(), resident()), (0, 0));
        (0..2_000).for_each(|block| cache.insert((7, block), &[0; BLOCK]));
        assert!((1 << 18..=1 << 19).contains(&resident()), "{}", resident());
    }

    #[test]
    fn whoever_reads_a_block_may_change_the_cache_and_waits_for_nobody() {
        let cache = BlockCache::new(1 << 14, BLOCK);
        assert_eq!(cache.shards.len(), 1);
        cache.insert((7, 1), &[0; BLOCK]);
        let held = cache.get((7, 1)).unwrap();
        cache.insert((7, 2), &[0; BLOCK]);
        assert!(!holds(&cache, 2) && holds(&cache, 1));
        cache.set_capacity(0);
        assert!(cache.bytes() > 0);
        drop(held);
        cache.insert((7, 2), &[0; BLOCK]);
        assert!(holds(&cache, 1), "nothing comes in, so nothing goes");
        cache.set_capacity(0);
        assert_eq!(cache.bytes(), 0);
    }
}
