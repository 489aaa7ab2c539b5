//! Where do writes go until they are a table? Here: sorted, in memory, behind the log that can bring them back.
//!
//! Readers share it and take no lock; whoever holds the [`Inserter`] writes. A read at a sequence number sees the versions up to it, so one that is under way
//! while a write goes on sees it whole or not at all once the number is published.

mod arena;
#[cfg(test)]
mod memtable_test;
mod node;
mod page;
mod recycler;
mod tree;

use crate::lsm::common::Common;
use crate::lsm::range_deletions::{Ranges, take_end};
use crate::lsm::record::{Kind, Record, Sequence, Stamp};
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tree::{Place, Tree};

pub(crate) use recycler::Recycler;
pub(crate) use tree::Inserter;

/// Pieces of deleted ranges from which on a memtable takes no more: each further one copies them.
const MOST_RANGES: usize = 1_000;

/// Deletions that are worth a table.
const MANY: u64 = 1_000;

/// A sorted table of versions that only grows.
pub(crate) struct Memtable {
    tree: Tree,
    versions: AtomicU64,
    deletions: AtomicU64,
    /// Ranges that were deleted. Each deletion makes another list, before its number is published.
    ranges: ArcSwap<Ranges>,
    has_ranges: AtomicBool,
}

impl Memtable {
    /// An empty one with room for so many bytes, headers of versions included, and the right to insert. `None` where there is no memory.
    ///
    /// `common` is what most keys are expected to begin with. Any key may be inserted; the better the guess, the fewer keys a search has to look at.
    #[cfg(any(test, feature = "parts"))]
    pub(crate) fn new(capacity: usize, common: impl Into<Common>) -> Option<(Self, Inserter)> {
        Self::recycling(capacity, common, None)
    }

    /// The same, in memory of the recycler where it has some, which returns there in the end.
    pub(crate) fn recycling(
        capacity: usize,
        common: impl Into<Common>,
        recycler: Option<&Arc<Recycler>>,
    ) -> Option<(Self, Inserter)> {
        let (tree, inserter) = Tree::new(capacity, common.into(), recycler)?;
        let (versions, deletions, ranges) = (AtomicU64::new(0), AtomicU64::new(0), ArcSwap::default());
        Some((Self { tree, versions, deletions, ranges, has_ranges: AtomicBool::new(false) }, inserter))
    }

    /// Bytes a version takes at most.
    pub(crate) fn bytes_of(key: usize, value: usize) -> usize {
        Tree::bytes(key, value)
    }

    /// Whether a version of these lengths is sure to fit.
    pub(crate) fn fits(&self, key: usize, value: usize) -> bool {
        self.tree.fits(key, value) && (!self.has_ranges() || self.ranges.load().len() < MOST_RANGES)
    }

    /// Adds a version; false where it does not fit. No two versions have one stamp.
    pub(crate) fn insert(&self, inserter: &mut Inserter, record: &Record) -> bool {
        let fits = match record.stamp.kind() {
            Kind::DeleteRange => {
                let one = Ranges::one(record.key, take_end(record.value), record.stamp.sequence());
                self.ranges.store(Arc::new(self.ranges.load().with(&one)));
                self.has_ranges.store(true, Ordering::Release);
                true
            }
            _ => self.tree.insert(inserter, record),
        };
        if fits {
            self.versions.fetch_add(1, Ordering::Relaxed);
            let is_deletion = record.stamp.kind() == Kind::Delete;
            self.deletions.fetch_add(u64::from(is_deletion), Ordering::Relaxed);
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

    /// Whether a range was deleted. A reader that has loaded a published number sees all deletions up to it.
    #[inline]
    pub(crate) fn has_ranges(&self) -> bool {
        self.has_ranges.load(Ordering::Acquire)
    }

    /// The newest deletion of a range that covers a key and that a reader at this number sees; 0, where there is none.
    #[inline]
    pub(crate) fn deleted_at(&self, key: &[u8], at: Sequence) -> Sequence {
        if self.has_ranges() { self.ranges.load().newest_at(key, at) } else { 0 }
    }

    /// The ranges that were deleted.
    pub(crate) fn ranges(&self) -> Arc<Ranges> {
        self.ranges.load_full()
    }

    /// What its keys begin with, for a memtable of keys like these.
    pub(crate) fn common(&self) -> Common {
        self.tree.common()
    }

    /// Versions.
    pub(crate) fn versions(&self) -> u64 {
        self.versions.load(Ordering::Relaxed)
    }

    /// Those of them that say that a key is gone; without deletions of ranges.
    pub(crate) fn deletions(&self) -> u64 {
        self.deletions.load(Ordering::Relaxed)
    }

    /// Whether it says above all what is gone: to flush it makes room where the tables are.
    pub(crate) fn is_mostly_deleted(&self) -> bool {
        let deletions = self.deletions();
        self.has_ranges() || (deletions >= MANY && deletions >= self.versions() / 3)
    }

    /// Bytes that it has room for.
    pub(crate) fn capacity(&self) -> usize {
        self.tree.capacity()
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

    /// Whether it is at a version.
    #[inline]
    pub(crate) fn is_somewhere(&self) -> bool {
        self.at.is_some()
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
