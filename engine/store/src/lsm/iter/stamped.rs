//! By which number does a version of a table count? By its own; in a table that was ingested by the one that the manifest says, for when the table was written nobody knew yet which
//! it would be. Such a table has one version of each key.

use crate::error::Result;
use crate::lsm::manifest::TableHandle;
use crate::lsm::record::{MAX_SEQUENCE, Record, Sequence, Stamp, is_before};
use crate::lsm::table::TableCursor;
use std::sync::Arc;

const NEWEST: Stamp = Stamp::newest_at(MAX_SEQUENCE);

/// A place in a table, or past its ends.
pub(crate) struct StampedCursor {
    cursor: TableCursor,
    ingested_at: Option<Sequence>,
    last_sequence: Sequence,
}

impl StampedCursor {
    /// A cursor without a position, which reads at most so many bytes ahead.
    pub(crate) fn new(handle: &TableHandle, most_ahead: usize) -> Self {
        let ingested_at = handle.facts.is_ingested.then_some(handle.facts.last_sequence);
        let last_sequence = handle.facts.last_sequence;
        let cursor = TableCursor::new(Arc::clone(&handle.table), most_ahead);
        Self { cursor, ingested_at, last_sequence }
    }

    /// No version in the table is newer.
    pub(crate) fn last_sequence(&self) -> Sequence {
        self.last_sequence
    }

    /// Gives a long block back, and shows no value until [`unpark`](Self::unpark).
    #[inline]
    pub(super) fn park(&mut self) {
        self.cursor.park();
    }

    #[inline]
    pub(super) fn unpark(&mut self) -> Result<()> {
        self.cursor.unpark()
    }

    /// Bytes of blocks that it holds.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.cursor.held_bytes()
    }

    /// Goes past the end.
    pub(crate) fn end(&mut self) {
        self.cursor.end();
    }

    /// Whether it is at a version.
    #[inline]
    pub(crate) fn is_somewhere(&self) -> bool {
        self.cursor.is_somewhere()
    }

    /// The version at the place.
    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        let record = self.cursor.record()?;
        Some(match self.ingested_at {
            None => record,
            Some(sequence) => Record { stamp: Stamp::new(sequence, record.stamp.kind()), ..record },
        })
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        if self.ingested_at.is_none() {
            return self.cursor.seek(key, stamp);
        }
        self.cursor.seek(key, NEWEST)?;
        if self.is_before(key, stamp) { self.cursor.next() } else { Ok(()) }
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        if self.ingested_at.is_none() {
            return self.cursor.seek_before(key, stamp);
        }
        self.cursor.seek(key, NEWEST)?;
        if self.is_before(key, stamp) { Ok(()) } else { self.cursor.seek_before(key, NEWEST) }
    }

    fn is_before(&self, key: &[u8], stamp: Stamp) -> bool {
        self.record().is_some_and(|record| is_before(record.key, record.stamp, key, stamp))
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.cursor.first()
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.cursor.last()
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        self.cursor.next()
    }

    pub(crate) fn previous(&mut self) -> Result<()> {
        self.cursor.previous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::manifest::TableFacts;
    use crate::lsm::record::Kind;
    use crate::lsm::table::{Compression, MOST_AHEAD, Shape, Table, TableBuilder};
    use crate::lsm::vfs::{SimDisk, Vfs};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    fn handle(disk: &SimDisk, keys: &BTreeSet<Vec<u8>>, in_file: Sequence, ingested: bool) -> TableHandle {
        let path = PathBuf::from(format!("/d/{in_file}"));
        let shape = Shape {
            block_bytes: 20,
            compression: Compression::None,
            filter_bits_per_key: 0,
            piece_bytes: 100,
        };
        let mut builder = TableBuilder::new(disk.create(&path).unwrap(), 1, shape);
        for key in keys {
            builder.add(&Record { key, stamp: Stamp::new(in_file, Kind::Set), value: b"v" }).unwrap();
        }
        builder.finish().unwrap();
        let facts = TableFacts { last_sequence: 7, is_ingested: ingested, ..TableFacts::default() };
        let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
        TableHandle { facts: Arc::new(facts), table: Arc::new(Table::open(&vfs, &path, 1, None).unwrap()) }
    }

    proptest! {
        #[test]
        fn an_ingested_table_is_walked_as_one_that_was_written_with_its_number(
            keys in prop::collection::btree_set(prop::collection::vec(0_u8..3, 0..4), 1..30),
            moves in prop::collection::vec((0_u8..6, prop::collection::vec(0_u8..3, 0..4), 5_u64..10), 1..30),
        ) {
            let disk = SimDisk::new();
            disk.make_dir(std::path::Path::new("/d"));
            let (ingested, written) = (handle(&disk, &keys, 0, true), handle(&disk, &keys, 7, false));
            let (mut one, mut other) = (StampedCursor::new(&ingested, MOST_AHEAD), StampedCursor::new(&written, MOST_AHEAD));
            for (step, key, sequence) in moves {
                for cursor in [&mut one, &mut other] {
                    match step {
                        0 => cursor.seek(&key, Stamp::newest_at(sequence)),
                        1 => cursor.seek_before(&key, Stamp::newest_at(sequence)),
                        2 => cursor.next(),
                        3 => cursor.previous(),
                        4 => cursor.first(),
                        _ => cursor.last(),
                    }.unwrap();
                }
                prop_assert_eq!(one.record(), other.record(), "{} {:?} {}", step, key, sequence);
            }
        }
    }
}
