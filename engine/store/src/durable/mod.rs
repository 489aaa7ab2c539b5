//! How does a database keep what it holds on disk? The front door's calls on a tree: a read as it is, a write that depends on what is there under the lock of its key.

mod admin;
mod change;
mod combine;
#[cfg(all(test, not(shuttle)))]
mod combine_test;
mod count;
mod entries;
mod group;
mod ingest;
mod keys;
mod keyspaces;
mod options;
mod random;
mod read;
mod repair;
mod scan;
mod snapshot;
mod stats;
mod write;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::event::OnEvent;
use crate::lsm::sync::Mutex;
use crate::lsm::{Batch as TreeBatch, Events, SyncMode as TreeSyncMode, Tree, TreeOptions, Vfs, disk};
use crate::nonblocking::NonBlocking;
use combine::Combining;
use keys::Locks;
use scan::Positions;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use admin::CompactProgress;
pub use count::KeyCount;
pub use ingest::Ingest;
pub(crate) use options::DurableOptions;
pub use options::{Compression, Profile, SyncMode};
pub use repair::LaidAside;
pub use snapshot::{Direction, Entry, Range, Snapshot};
pub use stats::{LevelStats, StorageStats};
pub use write::Batch;

/// A database in a directory.
pub(crate) struct Durable {
    tree: Tree,
    locks: Locks,
    /// Read-modify-writes that wait for each other's sync.
    combining: Combining,
    limits: Limits,
    /// A write is synced before it is acknowledged.
    syncs_always: bool,
    hits: AtomicU64,
    misses: AtomicU64,
    positions: Mutex<Positions>,
    /// Held while a long batch is written. Locked after keys, and before anything of the tree.
    long_writes: Mutex<()>,
}

/// The largest entry is this part of the memory budget: while it is written, flushed and merged there are
/// up to eight copies of it, and the allocator of the system keeps some more for a while.
const ENTRY_PART: u64 = 12;

/// The largest batch, as a memtable holds it, is this part of the memory budget: two memtables, one that is
/// written to and one that waits to be flushed, may be as long.
const BATCH_PART: u64 = 4;

/// Writes above this part of the largest entry wait for each other.
const LONG_PART: u64 = 8;

/// Limits that keep writes within the memory budget, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) budget: u64,
    pub(crate) entry: u64,
    pub(crate) batch: u64,
}

impl Limits {
    fn of(budget: u64) -> Self {
        Self { budget, entry: budget / ENTRY_PART, batch: budget / BATCH_PART }
    }
}

thread_local! {
    static BATCH: RefCell<TreeBatch> = RefCell::default();
}

/// Batches above it are given back after use.
const KEPT: usize = 1 << 20;

impl Durable {
    pub(crate) fn open(
        path: &Path,
        options: &DurableOptions,
        clock: Arc<dyn Clock>,
        on_event: Option<OnEvent>,
    ) -> Result<Self> {
        let (tree_options, limits) = (options.tree_options()?, Limits::of(options.budget()));
        Self::open_with(disk(), path, tree_options, limits, clock, Events::new(on_event))
    }

    /// Opens a database whose tree has any options: simulations have much smaller ones than
    /// [`DurableOptions`] allows.
    #[cfg(test)]
    pub(crate) fn open_as(
        vfs: Arc<dyn Vfs>,
        path: &Path,
        tree_options: TreeOptions,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Self::open_with(vfs, path, tree_options, limits, clock, Events::default())
    }

    fn open_with(
        vfs: Arc<dyn Vfs>,
        path: &Path,
        tree_options: TreeOptions,
        limits: Limits,
        clock: Arc<dyn Clock>,
        events: Events,
    ) -> Result<Self> {
        Ok(Self {
            tree: Tree::open_with(vfs, path, tree_options, clock, events)?,
            locks: Locks::new(),
            combining: Combining::new(),
            limits,
            syncs_always: tree_options.sync == TreeSyncMode::Always,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            positions: Mutex::default(),
            long_writes: Mutex::default(),
        })
    }

    /// The time that expiries are compared with: the clock's, but it never goes back.
    pub(crate) fn now_ms(&self) -> u64 {
        self.tree.now_ms()
    }

    /// Hands an empty batch to `fill` and carries it out. Keys and values are so many bytes: a long batch
    /// is only made when none of another thread is under way, because each is a copy.
    fn write_batch(&self, bytes: usize, fill: impl FnOnce(&mut TreeBatch)) -> Result<()> {
        let is_long = bytes as u64 > self.limits.entry / LONG_PART;
        let _alone = match is_long {
            true if NonBlocking::is_on() => Some(self.long_writes.try_lock().ok_or(Error::WouldBlock)?),
            true => Some(self.long_writes.lock()),
            false => None,
        };
        let mut batch = BATCH.take();
        fill(&mut batch);
        let done = self.check_batch(&batch).and_then(|()| self.tree.write(&batch));
        if batch.bytes() <= KEPT {
            batch.clear();
            BATCH.set(batch);
        }
        done
    }

    /// Whether an entry may be so long.
    fn check_entry(&self, key: usize, value: usize) -> Result<()> {
        let needed = (key + value) as u64;
        let Limits { budget, entry: limit, .. } = self.limits;
        if needed > limit {
            return Err(Error::TooLargeForBudget { needed, limit, budget });
        }
        Ok(())
    }

    /// Whether a batch may be so large. Two of the longest entries fit.
    fn check_batch(&self, batch: &TreeBatch) -> Result<()> {
        let (len, max) = (batch.memory_bytes(), self.limits.batch);
        if len > max {
            return Err(Error::BatchTooLong { len, max, unit: "bytes of memory, a quarter of the budget" });
        }
        Ok(())
    }
}
