//! Where do writes go until they are a table? Here: sorted, in memory, behind the log that can bring them back.
//!
//! Readers share it and take no lock; whoever holds the [`Inserter`] writes. A read at a sequence number sees the versions up to it, so one that is under way
//! while a write goes on sees it whole or not at all once the number is published.

mod arena;
mod common;
#[cfg(test)]
mod memtable_test;
mod node;
mod page;
mod tree;

use crate::lsm::record::{Record, Sequence, Stamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tree::{Place, Tree};

pub(crate) use common::Common;
pub(crate) use tree::Inserter;

/// A sorted table of versions that only grows.
pub(crate) struct Memtable {
    tree: Tree,
    versions: AtomicU64,
}

impl Memtable {
    /// An empty one with room for so many bytes, headers of versions included, and the right to insert. `None` where there is no memory.
    ///
    /// `common` is what most keys are expected to begin with. Any key may be inserted; the better the guess, the fewer keys a search has to look at.
    pub(crate) fn new(capacity: usize, common: impl Into<Common>) -> Option<(Self, Inserter)> {
        let (tree, inserter) = Tree::new(capacity, common.into())?;
        Some((Self { tree, versions: AtomicU64::new(0) }, inserter))
    }

    /// Bytes a version takes at most.
    pub(crate) fn bytes_of(key: usize, value: usize) -> usize {
        Tree::bytes(key, value)
    }

    /// Whether a version of these lengths is sure to fit.
    pub(crate) fn fits(&self, key: usize, value: usize) -> bool {
        self.tree.fits(key, value)
    }

    /// Adds a version; false where it does not fit. No two versions have one stamp.
    pub(crate) fn insert(&self, inserter: &mut Inserter, record: &Record) -> bool {
        let fits = self.tree.insert(inserter, record);
        if fits {
            self.versions.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    /// The newest version of a key that a reader at this sequence number sees.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], at: Sequence) -> Option<Record<'_>> {
        let place = self.tree.at_or_after(key, Stamp::newest_at(at))?;
        let record = self.tree.record(place);
        (record.key == key).then_some(record)
    }

    /// What its keys begin with, for a memtable of keys like these.
    pub(crate) fn common(&self) -> Common {
        self.tree.common()
    }

    /// Versions.
    pub(crate) fn versions(&self) -> u64 {
        self.versions.load(Ordering::Relaxed)
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.tree.used()
    }
}

/// A place in a memtable, or past its ends.
pub(crate) struct MemtableCursor {
    table: Arc<Memtable>,
    at: Option<Place>,
}

impl MemtableCursor {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(table: Arc<Memtable>) -> Self {
        Self { table, at: None }
    }

    /// The version at the place.
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        self.at.map(|place| self.table.tree.record(place))
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) {
        self.at = self.table.tree.at_or_after(key, stamp);
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) {
        self.at = self.table.tree.before(key, stamp);
    }

    pub(crate) fn first(&mut self) {
        self.at = self.table.tree.first();
    }

    pub(crate) fn last(&mut self) {
        self.at = self.table.tree.last();
    }

    pub(crate) fn next(&mut self) {
        self.at = self.at.and_then(|place| self.table.tree.after(place));
    }

    /// One back; a search from the top.
    pub(crate) fn previous(&mut self) {
        self.at = self.record().and_then(|record| self.table.tree.before(record.key, record.stamp));
    }
}
