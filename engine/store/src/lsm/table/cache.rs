//! Which blocks stay in memory, as they are before compression? Those that are read again, up to a weight in bytes that is exact.

use std::sync::Arc;

/// A block of a file, by the number of either.
pub(crate) type BlockKey = (u64, u32);

/// What an entry costs besides its bytes: the key, the counts of the pointer, the slots of the cache.
const ENTRY: u64 = 64;

/// Blocks of all tables of a store.
pub(crate) struct BlockCache(quick_cache::sync::Cache<BlockKey, Arc<[u8]>, Weighter>);

#[derive(Debug, Clone, Copy)]
struct Weighter;

impl quick_cache::Weighter<BlockKey, Arc<[u8]>> for Weighter {
    fn weight(&self, _: &BlockKey, block: &Arc<[u8]>) -> u64 {
        block.len() as u64 + ENTRY
    }
}

impl BlockCache {
    /// A cache for so many bytes, in blocks of about so many.
    pub(crate) fn new(bytes: u64, block_bytes: usize) -> Self {
        let blocks = (bytes / (block_bytes as u64 + ENTRY)).max(16) as usize;
        Self(quick_cache::sync::Cache::with_weighter(blocks, bytes, Weighter))
    }

    /// Changes how many bytes it may have.
    pub(crate) fn set_capacity(&self, bytes: u64) {
        self.0.set_capacity(bytes);
    }

    pub(crate) fn get(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        self.0.get(&key)
    }

    pub(crate) fn insert(&self, key: BlockKey, block: Arc<[u8]>) {
        self.0.insert(key, block);
    }

    /// Bytes in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.weight()
    }

    pub(crate) fn hits(&self) -> u64 {
        self.0.hits()
    }

    pub(crate) fn misses(&self) -> u64 {
        self.0.misses()
    }
}
