//! Where do writes go until they are a table? Here: sorted, in memory, behind the log that can bring them back.
//!
//! Readers share it and take no lock; whoever holds the [`Inserter`] writes. A read at a sequence number sees the versions up to it, so one that is under way
//! while a write goes on sees it whole or not at all once the number is published.

mod arena;
mod list;
#[cfg(test)]
mod memtable_test;
mod node;

use crate::lsm::record::{Record, Sequence, Stamp};
use list::List;
use node::Node;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use list::Inserter;

/// A sorted table of versions that only grows.
pub(crate) struct Memtable {
    list: List,
    versions: AtomicU64,
}

impl Memtable {
    /// An empty one with room for so many bytes, headers of versions included, and the right to insert. `None` where there is no memory.
    ///
    /// `common` is what most keys are expected to begin with. Any key may be inserted; the better the guess, the fewer keys a search has to look at.
    pub(crate) fn new(capacity: usize, common: &[u8]) -> Option<(Self, Inserter)> {
        let (list, inserter) = List::new(capacity, common)?;
        Some((Self { list, versions: AtomicU64::new(0) }, inserter))
    }

    /// Bytes a version takes at most.
    pub(crate) fn bytes_of(key: usize, value: usize) -> usize {
        Node::bytes(key, value)
    }

    /// Whether a version of these lengths is sure to fit.
    pub(crate) fn fits(&self, key: usize, value: usize) -> bool {
        self.list.fits(key, value)
    }

    /// Adds a version; false where it does not fit. No two versions have one stamp.
    pub(crate) fn insert(&self, inserter: &mut Inserter, record: &Record) -> bool {
        let fits = self.list.insert(inserter, record);
        if fits {
            self.versions.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    /// The newest version of a key that a reader at this sequence number sees.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], at: Sequence) -> Option<Record<'_>> {
        let node = self.list.at_or_after(key, Stamp::newest_at(at))?;
        let record = self.list.record(node);
        (record.key == key).then_some(record)
    }

    /// What all keys begin with.
    pub(crate) fn common(&self) -> &[u8] {
        let key = |node| self.list.record(node).key;
        match (self.list.first().map(key), self.list.last().map(key)) {
            (Some(first), Some(last)) => &first[..first.iter().zip(last).take_while(|(a, b)| a == b).count()],
            _ => &[],
        }
    }

    /// Versions.
    pub(crate) fn versions(&self) -> u64 {
        self.versions.load(Ordering::Relaxed)
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.list.used()
    }
}

/// A place in a memtable, or past its ends.
pub(crate) struct MemtableCursor {
    table: Arc<Memtable>,
    at: Option<Node>,
}

impl MemtableCursor {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(table: Arc<Memtable>) -> Self {
        Self { table, at: None }
    }

    /// The version at the place.
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        self.at.map(|node| self.table.list.record(node))
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) {
        self.at = self.table.list.at_or_after(key, stamp);
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) {
        self.at = self.table.list.before(key, stamp);
    }

    pub(crate) fn first(&mut self) {
        self.at = self.table.list.first();
    }

    pub(crate) fn last(&mut self) {
        self.at = self.table.list.last();
    }

    pub(crate) fn next(&mut self) {
        self.at = self.at.and_then(|node| self.table.list.after(node));
    }

    /// One back; a search from the top, for links lead forward only.
    pub(crate) fn previous(&mut self) {
        self.at = self.record().and_then(|record| self.table.list.before(record.key, record.stamp));
    }
}
