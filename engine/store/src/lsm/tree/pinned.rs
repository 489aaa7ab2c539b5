//! Memory that snapshots pin: flushed memtables, and indexes and filters of tables that were merged away,
//! which live as long as a snapshot or a walk of their time is held.
//!
//! A snapshot cannot read the tables that the flush and merges have made instead: they hold the newest
//! version of a key only. So what is pinned counts against the memory budget: the cache yields, and above a
//! limit no further snapshot is taken.

use crate::lsm::memtable::Memtable;
use crate::lsm::sync::Mutex;
use crate::lsm::table::Table;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// What may be pinned, and its bytes.
type Part = (Weak<dyn Any + Send + Sync>, u64);

/// Parts of earlier views that are not needed any more but by their readers.
#[derive(Default)]
pub(super) struct Pinned {
    parts: Mutex<Vec<Part>>,
    is_any: AtomicBool,
}

impl Pinned {
    /// A memtable that was flushed.
    pub(super) fn add_memtable(&self, memtable: &Arc<Memtable>) {
        let bytes = memtable.bytes() as u64;
        let part: Weak<Memtable> = Arc::downgrade(memtable);
        self.add([(part as _, bytes)]);
    }

    /// Tables that were merged.
    pub(super) fn add_tables<'a>(&self, tables: impl Iterator<Item = &'a Arc<Table>>) {
        self.add(tables.map(|table| {
            let part: Weak<Table> = Arc::downgrade(table);
            (part as _, table.resident_bytes() as u64)
        }));
    }

    fn add(&self, added: impl IntoIterator<Item = Part>) {
        let mut parts = self.parts.lock();
        parts.retain(|(part, _)| part.strong_count() > 0);
        parts.extend(added);
        self.is_any.store(true, Ordering::Relaxed);
    }

    /// Bytes that are pinned now.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        if self.is_any.load(Ordering::Relaxed) { self.count() } else { 0 }
    }

    #[cold]
    fn count(&self) -> u64 {
        let mut parts = self.parts.lock();
        parts.retain(|(part, _)| part.strong_count() > 0);
        self.is_any.store(!parts.is_empty(), Ordering::Relaxed);
        parts.iter().map(|(_, bytes)| bytes).sum()
    }
}
