//! How is a tree to be kept?

use crate::lsm::compaction::Targets;
use crate::lsm::table::{Compression, Shape};
use std::time::Duration;

/// When is a write on the disk?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncMode {
    /// Before it is acknowledged.
    Always,
    /// At intervals, and when [`sync`](super::Tree::sync) is called.
    Interval(Duration),
    /// When [`sync`](super::Tree::sync) is called, or the system gets round to it.
    OnCall,
}

/// What a tree is opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeOptions {
    pub(crate) sync: SyncMode,
    /// A memtable is flushed when it has grown to this.
    pub(crate) memtable_bytes: usize,
    /// Memtables that wait to be flushed; one more, and writes wait.
    pub(crate) frozen_memtables: usize,
    /// 0 for no cache.
    pub(crate) cache_bytes: u64,
    /// Bytes that snapshots may pin; above it no more are taken to be held.
    pub(crate) pinned_bytes: u64,
    /// Indexes and filters of tables are kept out of what the cache may have.
    pub(crate) is_cache_shared: bool,
    pub(crate) shape: Shape,
    pub(crate) table_bytes: u64,
    pub(crate) targets: Targets,
    /// Tables of level 0 at which writes wait.
    pub(crate) level0_stop: usize,
    /// Bytes of keys and values that merges behind the writes read in a second at most.
    pub(crate) merge_bytes_per_second: Option<u64>,
    /// Bytes of batches that are copied to wait for another; what is longer waits where it is.
    pub(crate) queue_bytes: usize,
    /// Bytes that a merge reads ahead of all its tables at most.
    pub(crate) merge_ahead_bytes: u64,
    /// Bytes of indexes and filters that a merge replaces from which on the allocator is asked to give freed
    /// memory back.
    pub(crate) trim_bytes: u64,
    /// Bytes of indexes and filters above which tables of the lowest level are kept without their filters.
    pub(crate) filters_until: u64,
    /// Threads that share a large merge.
    pub(crate) merge_threads: usize,
    /// Bytes that wait to be merged above which they share it although no caller waits.
    pub(crate) debt_share: u64,
    /// Bytes that wait to be merged from which on writes are held back, the more of them the more.
    pub(crate) debt_slow: u64,
    /// Bytes at which they are held back as long as they may be.
    pub(crate) debt_stop: u64,
    /// Files of tables that are open at once at most; others are opened when they are read.
    pub(crate) open_tables: usize,
    /// A manifest that has grown to this is begun anew.
    pub(crate) manifest_bytes: u64,
    /// What logs hold is kept in so many bytes of memtables at most, where no tables can be made of it.
    pub(crate) replay_bytes: u64,
    /// Nothing is written, not even when it is opened.
    pub(crate) is_read_only: bool,
    /// Without, nothing is flushed or merged but on call: for tests that need to know what happens when.
    pub(crate) has_workers: bool,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            sync: SyncMode::OnCall,
            memtable_bytes: 64 << 20,
            frozen_memtables: 2,
            cache_bytes: 64 << 20,
            pinned_bytes: u64::MAX,
            is_cache_shared: false,
            shape: Shape {
                block_bytes: 4 << 10,
                compression: Compression::Lz4,
                filter_bits_per_key: 10,
                piece_bytes: 2 << 20,
            },
            table_bytes: 64 << 20,
            targets: Targets { level0_tables: 4, base_bytes: 256 << 20, multiplier: 10 },
            level0_stop: 20,
            merge_bytes_per_second: None,
            queue_bytes: 16 << 20,
            trim_bytes: 4 << 20,
            filters_until: u64::MAX,
            merge_ahead_bytes: 16 << 20,
            merge_threads: 1,
            debt_share: 0,
            debt_slow: 512 << 20,
            debt_stop: 1 << 30,
            open_tables: 1024,
            manifest_bytes: 4 << 20,
            replay_bytes: u64::MAX,
            is_read_only: false,
            has_workers: true,
        }
    }
}
