//! What does a merge merge? Runs: sequences of versions in order, each from a memtable, a table, or the tables of a level one after the other.

use super::stamped::StampedCursor;
use crate::error::Result;
use crate::lsm::manifest::TableHandle;
use crate::lsm::memtable::MemtableCursor;
use crate::lsm::range_deletions::Piece;
use crate::lsm::record::{MAX_SEQUENCE, Record, Stamp};
use crate::lsm::table::MOST_AHEAD;
use std::sync::Arc;

const NEWEST: Stamp = Stamp::newest_at(MAX_SEQUENCE);

/// Tables of a level whose keys do not overlap, in order.
pub(crate) type LevelTables = Arc<[TableHandle]>;

/// A place in a run, or past its ends.
pub(crate) enum Run {
    Memtable(MemtableCursor),
    Table(StampedCursor),
    Level(LevelCursor),
}

impl Run {
    /// One table as a run.
    pub(crate) fn table(table: &TableHandle) -> Self {
        Self::table_reading(table, MOST_AHEAD)
    }

    /// The same, which reads so many bytes ahead at most.
    pub(crate) fn table_reading(table: &TableHandle, most_ahead: usize) -> Self {
        Self::Table(StampedCursor::new(table, most_ahead))
    }

    /// The tables of a level as one run.
    pub(crate) fn level(tables: LevelTables) -> Self {
        Self::level_reading(tables, MOST_AHEAD)
    }

    /// The same, which reads so many bytes ahead at most.
    pub(crate) fn level_reading(tables: LevelTables, most_ahead: usize) -> Self {
        Self::Level(LevelCursor { tables, number: 0, table: None, most_ahead })
    }

    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        match self {
            Self::Memtable(cursor) => cursor.record(),
            Self::Table(cursor) => cursor.record(),
            Self::Level(cursor) => cursor.table.as_ref().and_then(StampedCursor::record),
        }
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        match self {
            Self::Memtable(cursor) => cursor.seek(key, stamp),
            Self::Table(cursor) => cursor.seek(key, stamp)?,
            Self::Level(cursor) => {
                cursor.within(Some(cursor.number_of(key)), |table| table.seek(key, stamp))?;
                cursor.go_on()?;
            }
        }
        Ok(())
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        match self {
            Self::Memtable(cursor) => cursor.seek_before(key, stamp),
            Self::Table(cursor) => cursor.seek_before(key, stamp)?,
            Self::Level(cursor) => {
                let number = cursor.number_of(key).min(cursor.tables.len().saturating_sub(1));
                cursor.within(Some(number), |table| table.seek_before(key, stamp))?;
                cursor.go_back()?;
            }
        }
        Ok(())
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        match self {
            Self::Memtable(cursor) => cursor.first(),
            Self::Table(cursor) => cursor.first()?,
            Self::Level(cursor) => cursor.within(Some(0), StampedCursor::first)?,
        }
        Ok(())
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        match self {
            Self::Memtable(cursor) => cursor.last(),
            Self::Table(cursor) => cursor.last()?,
            Self::Level(cursor) => cursor.within(cursor.tables.len().checked_sub(1), StampedCursor::last)?,
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self {
            Self::Memtable(cursor) => cursor.next(),
            Self::Table(cursor) => cursor.next()?,
            Self::Level(cursor) => {
                if let Some(table) = &mut cursor.table {
                    table.next()?;
                }
                cursor.go_on()?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn previous(&mut self) -> Result<()> {
        match self {
            Self::Memtable(cursor) => cursor.previous(),
            Self::Table(cursor) => cursor.previous()?,
            Self::Level(cursor) => {
                if let Some(table) = &mut cursor.table {
                    table.previous()?;
                }
                cursor.go_back()?;
            }
        }
        Ok(())
    }
}

impl Run {
    fn table_cursor(&mut self) -> Option<&mut StampedCursor> {
        match self {
            Self::Memtable(_) => None,
            Self::Table(cursor) => Some(cursor),
            Self::Level(cursor) => cursor.table.as_mut(),
        }
    }

    /// Gives a long block back: key and stamp are shown as before, the value is not until [`unpark`](Self::unpark).
    #[inline]
    pub(super) fn park(&mut self) {
        if let Some(cursor) = self.table_cursor() {
            cursor.park();
        }
    }

    #[inline]
    pub(super) fn unpark(&mut self) -> Result<()> {
        self.table_cursor().map_or(Ok(()), StampedCursor::unpark)
    }

    /// Bytes of blocks that it holds.
    #[cfg(test)]
    pub(super) fn held_bytes(&mut self) -> usize {
        self.table_cursor().map_or(0, |cursor| cursor.held_bytes())
    }

    /// Whether it is at a version.
    #[inline(always)]
    pub(super) fn is_somewhere(&self) -> bool {
        match self {
            Self::Memtable(cursor) => cursor.is_somewhere(),
            Self::Table(cursor) => cursor.is_somewhere(),
            Self::Level(cursor) => cursor.table.as_ref().is_some_and(StampedCursor::is_somewhere),
        }
    }

    /// Goes on from a version that a deleted range hides, past all that is in the range where nothing newer than the deletion is there.
    #[inline(never)]
    pub(crate) fn pass(&mut self, piece: &Piece) -> Result<()> {
        match self {
            Self::Table(cursor) if cursor.last_sequence() < piece.newest() => match &piece.end {
                Some(end) => cursor.seek(end, NEWEST),
                None => {
                    cursor.end();
                    Ok(())
                }
            },
            Self::Level(cursor) => cursor.pass(piece),
            Self::Memtable(_) | Self::Table(_) => self.next(),
        }
    }

    /// The same on the way back.
    #[inline(never)]
    pub(crate) fn pass_back(&mut self, piece: &Piece) -> Result<()> {
        match self {
            Self::Table(cursor) if cursor.last_sequence() < piece.newest() => {
                cursor.seek_before(&piece.start, NEWEST)
            }
            Self::Level(cursor) => cursor.pass_back(piece),
            Self::Memtable(_) | Self::Table(_) => self.previous(),
        }
    }
}

/// A place among tables that follow each other.
pub(crate) struct LevelCursor {
    tables: LevelTables,
    number: usize,
    table: Option<StampedCursor>,
    most_ahead: usize,
}

impl LevelCursor {
    /// The only table that may hold a key, or the number of tables.
    fn number_of(&self, key: &[u8]) -> usize {
        self.tables.partition_point(|table| &table.facts.last_key[..] < key)
    }

    fn within(
        &mut self,
        number: Option<usize>,
        go: impl FnOnce(&mut StampedCursor) -> Result<()>,
    ) -> Result<()> {
        let Some(table) = number.and_then(|number| self.tables.get(number)) else {
            self.table = None;
            return Ok(());
        };
        let number = number.unwrap_or_default();
        if self.number != number || self.table.is_none() {
            self.table = Some(StampedCursor::new(table, self.most_ahead));
            self.number = number;
        }
        self.table.as_mut().map_or(Ok(()), go)
    }

    fn is_older(&self, number: usize, piece: &Piece) -> bool {
        self.tables.get(number).is_some_and(|table| table.facts.last_sequence < piece.newest())
    }

    /// Tables inside the range that hold nothing newer are not opened.
    fn pass(&mut self, piece: &Piece) -> Result<()> {
        let mut number = self.number;
        let is_within = |number: usize| {
            self.tables
                .get(number)
                .is_some_and(|table| piece.end.as_ref().is_none_or(|end| table.facts.last_key[..] < end[..]))
        };
        while self.is_older(number, piece) && is_within(number) {
            number += 1;
        }
        match &piece.end {
            Some(end) if self.is_older(number, piece) => {
                self.within(Some(number), |table| table.seek(end, NEWEST))?;
            }
            _ if number > self.number => self.within(Some(number), StampedCursor::first)?,
            _ => self.within(Some(number), StampedCursor::next)?,
        }
        self.go_on()
    }

    fn pass_back(&mut self, piece: &Piece) -> Result<()> {
        let here = self.number;
        let mut number = Some(here);
        let is_within = |number: usize| {
            self.tables.get(number).is_some_and(|table| table.facts.first_key[..] >= piece.start[..])
        };
        while let Some(at) = number.filter(|number| self.is_older(*number, piece) && is_within(*number)) {
            number = at.checked_sub(1);
        }
        if number.is_some_and(|number| self.is_older(number, piece)) {
            self.within(number, |table| table.seek_before(&piece.start, NEWEST))?;
        } else if number == Some(here) {
            self.within(number, StampedCursor::previous)?;
        } else {
            self.within(number, StampedCursor::last)?;
        }
        self.go_back()
    }

    #[inline]
    fn go_on(&mut self) -> Result<()> {
        if self.table.as_ref().is_some_and(|table| !table.is_somewhere()) {
            return self.within(Some(self.number + 1), StampedCursor::first);
        }
        Ok(())
    }

    fn go_back(&mut self) -> Result<()> {
        if self.table.as_ref().is_some_and(|table| !table.is_somewhere()) {
            return self.within(self.number.checked_sub(1), StampedCursor::last);
        }
        Ok(())
    }
}
