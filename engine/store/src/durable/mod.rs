//! How does a database keep what it holds on disk? The front door's calls on a tree: a read as it is, a write that depends on what is there under the lock of its key.

mod admin;
mod change;
mod combine;
#[cfg(all(test, not(shuttle)))]
mod combine_test;
mod entries;
mod ingest;
mod keys;
mod options;
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
use combine::Combining;
use keys::Locks;
use scan::Positions;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use admin::CompactProgress;
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
    clock: Arc<dyn Clock>,
    locks: Locks,
    /// Read-modify-writes that wait for each other's sync.
    combining: Combining,
    /// The longest entry.
    entry_limit: u64,
    budget: u64,
    /// A write is synced before it is acknowledged.
    syncs_always: bool,
    hits: AtomicU64,
    misses: AtomicU64,
    positions: Mutex<Positions>,
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
        let (tree_options, budget) = (options.tree_options()?, options.budget());
        Self::open_with(disk(), path, tree_options, budget, clock, Events::new(on_event))
    }

    /// Opens a database whose tree has any options: simulations have much smaller ones than
    /// [`DurableOptions`] allows.
    #[cfg(test)]
    pub(crate) fn open_as(
        vfs: Arc<dyn Vfs>,
        path: &Path,
        tree_options: TreeOptions,
        budget: u64,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Self::open_with(vfs, path, tree_options, budget, clock, Events::default())
    }

    fn open_with(
        vfs: Arc<dyn Vfs>,
        path: &Path,
        tree_options: TreeOptions,
        budget: u64,
        clock: Arc<dyn Clock>,
        events: Events,
    ) -> Result<Self> {
        Ok(Self {
            tree: Tree::open_with(vfs, path, tree_options, Arc::clone(&clock), events)?,
            clock,
            locks: Locks::new(),
            combining: Combining::new(),
            entry_limit: budget / 4,
            budget,
            syncs_always: tree_options.sync == TreeSyncMode::Always,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            positions: Mutex::default(),
        })
    }

    /// Hands an empty batch to `fill` and carries it out.
    fn write_batch(&self, fill: impl FnOnce(&mut TreeBatch)) -> Result<()> {
        let mut batch = BATCH.take();
        fill(&mut batch);
        let done = self.tree.write(&batch);
        if batch.bytes() <= KEPT {
            batch.clear();
            BATCH.set(batch);
        }
        done
    }

    /// Whether an entry may be so long.
    fn check_entry(&self, key: usize, value: usize) -> Result<()> {
        let needed = (key + value) as u64;
        if needed > self.entry_limit {
            return Err(Error::TooLargeForBudget { needed, limit: self.entry_limit, budget: self.budget });
        }
        Ok(())
    }
}
