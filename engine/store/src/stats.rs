//! What has the database done, and what does it hold?

use crate::memory::Policy;

/// Counters and sizes at one moment. Counters start at zero with the database and never fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys held, those included whose time is over but which nothing has removed yet.
    pub keys: u64,
    /// Keys held that carry an expiry.
    pub keys_with_expiry: u64,
    /// Bytes of memory accounted for: the heap's segments and mappings, tables, shards.
    pub accounted_bytes: u64,
    /// Bytes of them that entries take, headers and rounding included.
    pub entry_bytes: u64,
    /// Bytes of them that the embedding program holds ([`Database::reserve`](crate::Database::reserve)).
    pub reserved_bytes: u64,
    /// The memory cap in bytes; `u64::MAX` means none.
    pub cap_bytes: u64,
    /// Keys removed to make room.
    pub evicted: u64,
    /// Keys removed because their time was over.
    pub expired: u64,
    /// Writes refused for want of room.
    pub refused: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Number of shards, a power of two.
    pub shards: usize,
    /// The eviction policy in force.
    pub policy: Policy,
}
