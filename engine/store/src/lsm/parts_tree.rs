//! A tree of any shape, however small, for tests that compare it with others: few writes make many files.

use super::iter::Visible;
use super::table::Compression;
use super::tree::{Batch, Events, SyncMode, Tree as Inner, TreeOptions, TreeSnapshot};
use super::vfs::Disk;
use crate::clock::SystemClock;
use crate::error::Result;
use std::path::Path;
use std::sync::Arc;

/// How a tree is shaped.
#[derive(Debug, Clone, Copy)]
pub struct TreeShape {
    /// A memtable is flushed when it has grown to this.
    pub memtable_bytes: usize,
    /// A block of a table ends when it has grown to this.
    pub block_bytes: usize,
    /// A table ends when it has grown to this.
    pub table_bytes: u64,
    /// 0 for no cache.
    pub cache_bytes: u64,
    /// Whether blocks are compressed with lz4.
    pub is_compressed: bool,
    /// 0 for no filters.
    pub filter_bits_per_key: u32,
    /// Tables of level 0 at which they are merged.
    pub level0_tables: usize,
    /// Bytes that the first level below it may have.
    pub base_bytes: u64,
    /// Whether threads flush and merge; without, only calls do.
    pub has_workers: bool,
}

impl TreeShape {
    fn options(&self) -> TreeOptions {
        let mut options = TreeOptions { sync: SyncMode::OnCall, ..TreeOptions::default() };
        options.memtable_bytes = self.memtable_bytes;
        options.shape.block_bytes = self.block_bytes;
        options.shape.compression = if self.is_compressed { Compression::Lz4 } else { Compression::None };
        options.shape.filter_bits_per_key = self.filter_bits_per_key;
        options.table_bytes = self.table_bytes;
        options.cache_bytes = self.cache_bytes;
        options.targets.level0_tables = self.level0_tables;
        options.targets.base_bytes = self.base_bytes;
        options.targets.multiplier = 3;
        options.manifest_bytes = 1_000;
        options.has_workers = self.has_workers;
        options
    }
}

/// A tree in a directory.
pub struct Tree(Inner);

impl Tree {
    /// Opens it, or makes one.
    ///
    /// # Errors
    /// As [`Database::open`](crate::Database::open).
    pub fn open(path: &Path, shape: &TreeShape) -> Result<Self> {
        Inner::open_with(Arc::new(Disk), path, shape.options(), Arc::new(SystemClock), Events::default())
            .map(Self)
    }

    /// Carries out all of these writes or none; a key without a value is removed.
    ///
    /// # Errors
    /// As [`Database::write`](crate::Database::write).
    pub fn write(&self, writes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<()> {
        let mut batch = Batch::default();
        for (key, value) in writes {
            match value {
                Some(value) => batch.set(key, value),
                None => batch.delete(key),
            }
        }
        self.0.write(&batch)
    }

    /// A copy of a value.
    ///
    /// # Errors
    /// As [`Database::get`](crate::Database::get).
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.0.get(key, |live| live.value.to_vec())
    }

    /// The tree as it is now.
    #[must_use]
    pub fn look(&self) -> Look {
        Look(self.0.snapshot())
    }

    /// Makes a table of what is in memory.
    ///
    /// # Errors
    /// As [`Database::flush`](crate::Database::flush).
    pub fn flush(&self) -> Result<()> {
        self.0.flush()
    }

    /// Merges until nothing is left to be merged.
    ///
    /// # Errors
    /// As [`Database::compact`](crate::Database::compact).
    pub fn settle(&self) -> Result<()> {
        self.0.settle()
    }

    /// Syncs and closes it.
    ///
    /// # Errors
    /// As [`Database::close`](crate::Database::close).
    pub fn close(self) -> Result<()> {
        self.0.close()
    }
}

/// A tree at one moment.
pub struct Look(TreeSnapshot);

impl Look {
    /// A copy of a value.
    ///
    /// # Errors
    /// As [`Snapshot::get`](crate::Snapshot::get).
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.0.get(key, |live| live.value.to_vec())
    }

    /// A walk through it, which stands nowhere yet.
    #[must_use]
    pub fn walk(&self) -> Walk {
        Walk(self.0.walk())
    }
}

/// A place among the keys, or past their ends.
pub struct Walk(Visible);

/// Where a walk goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// To the first key.
    First,
    /// To the last key.
    Last,
    /// To the first key that is not below this one.
    Seek(Vec<u8>),
    /// To the last key below this one.
    SeekBefore(Vec<u8>),
    /// One on.
    Next,
    /// One back.
    Previous,
}

impl Walk {
    /// Goes there.
    ///
    /// # Errors
    /// As [`Range::next_pair`](crate::Range::next_pair).
    pub fn go(&mut self, to: &Move) -> Result<()> {
        match to {
            Move::First => self.0.first(),
            Move::Last => self.0.last(),
            Move::Seek(key) => self.0.seek(key),
            Move::SeekBefore(key) => self.0.seek_before(key),
            Move::Next => self.0.next(),
            Move::Previous => self.0.previous(),
        }
    }

    /// The pair at the place.
    #[must_use]
    pub fn pair(&self) -> Option<(&[u8], &[u8])> {
        self.0.pair()
    }
}
