//! How does a table go by in order? Block after block, each out of a piece of the file that was read ahead: the further a cursor has come in one direction, the longer the next piece.
//!
//! A long block is memory that a merge of many tables does not have: a cursor can be parked, which keeps key
//! and stamp of the place and gives the block back. It is read again when the cursor is needed.
//!
//! Blocks that are in the cache are taken from there; those that are not are not put there, for a scan would push out what is read again.

use super::block::{BlockCursor, Damage, Space};
use super::reader::Table;
use crate::error::Result;
use crate::lsm::buffer::Buffer;
use crate::lsm::record::{Record, Stamp};
use std::sync::Arc;

/// Bytes that are read for the second block in a row, and at most.
const FIRST_AHEAD: usize = 4 << 10;
pub(crate) const MOST_AHEAD: usize = 128 << 10;

/// A piece of the file, from a block's beginning on.
#[derive(Default)]
struct Piece {
    framed: Buffer,
    begin: u64,
    /// Bytes to be read where the next block is a neighbour of this one; 0 for the block alone.
    ahead: usize,
}

impl Piece {
    /// Gives the memory back where it is that of a long block.
    fn drop_long(&mut self, most: usize) {
        if self.framed.capacity() > most {
            *self = Self { ahead: self.ahead, ..Self::default() };
        }
    }

    /// What it has from one place of the file to another, if it has it.
    fn part(&self, begin: u64, end: u64) -> Option<&[u8]> {
        let from = usize::try_from(begin.checked_sub(self.begin)?).ok()?;
        self.framed.get(from..from + (end - begin) as usize)
    }
}

/// A place in a table, or past its ends.
pub(crate) struct TableCursor {
    table: Arc<Table>,
    number: usize,
    block: Option<BlockCursor<Buffer>>,
    piece: Piece,
    /// Space of a block that is no longer needed.
    spare: Buffer,
    /// The place, where its block was given back.
    parked: Option<Parked>,
    /// Bytes that are read ahead at most. Blocks above it are long.
    most_ahead: usize,
}

/// A place whose block is not in memory.
struct Parked {
    key: Vec<u8>,
    stamp: Stamp,
}

impl TableCursor {
    /// A cursor without a position, which reads at most so many bytes ahead.
    pub(crate) fn new(table: Arc<Table>, most_ahead: usize) -> Self {
        let (piece, spare) = (Piece::default(), Buffer::new());
        let most_ahead = most_ahead.clamp(FIRST_AHEAD, MOST_AHEAD);
        Self { table, number: 0, block: None, piece, spare, parked: None, most_ahead }
    }

    /// Blocks above it are long. Most blocks of tests are.
    #[inline]
    fn long(&self) -> usize {
        if cfg!(test) { 100 } else { self.most_ahead }
    }

    /// Whether it is at a version, parked or not.
    #[inline]
    pub(crate) fn is_somewhere(&self) -> bool {
        match &self.block {
            Some(block) => block.is_somewhere(),
            None => self.parked.is_some(),
        }
    }

    /// The version at the place; of a cursor that is parked without its value.
    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        match &self.block {
            Some(block) => block.record(),
            None => {
                self.parked.as_ref().map(|Parked { key, stamp }| Record { key, stamp: *stamp, value: &[] })
            }
        }
    }

    /// Gives a long block back. Until the cursor is moved or [`unpark`](Self::unpark)ed, it shows no value.
    #[inline]
    pub(crate) fn park(&mut self) {
        if self.block.as_ref().is_some_and(|block| block.bytes().len() > self.long()) {
            self.give_back();
        }
    }

    #[cold]
    fn give_back(&mut self) {
        self.parked = self.record().map(|record| Parked { key: record.key.to_vec(), stamp: record.stamp });
        self.block = None;
        self.piece.drop_long(self.long());
    }

    /// Reads the block again that was given back.
    #[inline]
    pub(crate) fn unpark(&mut self) -> Result<()> {
        match self.parked.take() {
            Some(parked) => self.take_back(&parked),
            None => Ok(()),
        }
    }

    #[cold]
    fn take_back(&mut self, Parked { key, stamp }: &Parked) -> Result<()> {
        self.within(Some(self.number), |block| block.seek(key, *stamp))
    }

    /// Bytes of blocks that it holds.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.bytes().len()) + self.piece.framed.len()
    }

    /// Moves within a block; none, where there is none with this number.
    fn within(
        &mut self,
        number: Option<usize>,
        go: impl FnOnce(&mut BlockCursor<Buffer>) -> std::result::Result<(), Damage>,
    ) -> Result<()> {
        self.parked = None;
        let Some(number) = number.filter(|number| *number < self.table.index().blocks()) else {
            self.block = None;
            return Ok(());
        };
        if self.number != number || self.block.is_none() {
            self.enter(number)?;
        }
        let Some(block) = &mut self.block else { return Ok(()) };
        let done = go(block);
        if done.is_err() {
            self.block = None;
        }
        done.map_err(|reason| self.table.damaged(number, reason))
    }

    /// Has another block, and stands nowhere in it.
    fn enter(&mut self, number: usize) -> Result<()> {
        let from = self.block.as_ref().map(|_| self.number);
        let space = match self.block.take().map(BlockCursor::into_parts) {
            Some((bytes, space)) => {
                self.spare = if bytes.capacity() > self.long() { Buffer::new() } else { bytes };
                space
            }
            None => Space::default(),
        };
        let bytes = self.fetch(number, from)?;
        let block =
            BlockCursor::with_space(bytes, space).map_err(|reason| self.table.damaged(number, reason))?;
        self.block = Some(block);
        self.number = number;
        Ok(())
    }

    fn fetch(&mut self, number: usize, from: Option<usize>) -> Result<Buffer> {
        let index = self.table.index();
        let (begin, end) = index.range(number);
        let is_next = from.is_some_and(|from| from + 1 == number);
        let mut raw = std::mem::take(&mut self.spare);
        if self.piece.part(begin, end).is_none() {
            if self.table.copy_cached(number, &mut raw) {
                return Ok(raw);
            }
            let is_neighbour = is_next || from == Some(number + 1);
            self.piece.ahead =
                if is_neighbour { (self.piece.ahead * 2).clamp(FIRST_AHEAD, self.most_ahead) } else { 0 };
            let (mut first, mut last) = (number, number);
            let is_short = |first, last| index.range(last).1 - index.range(first).0 < self.piece.ahead as u64;
            if is_next {
                while last + 1 < index.blocks() && is_short(first, last + 1) {
                    last += 1;
                }
            } else {
                while first > 0 && is_short(first - 1, last) {
                    first -= 1;
                }
            }
            let (from, to) = (index.range(first).0, index.range(last).1);
            if to - from > self.long() as u64 && first == last {
                // Read into the memory that it stays in, and not kept twice.
                self.piece = Piece { ahead: self.piece.ahead, ..Piece::default() };
                let mut framed = Buffer::new();
                self.table.read_framed(from, to, &mut framed)?;
                return self.table.unframe_long(framed, begin);
            }
            self.piece.begin = from;
            self.table.read_framed(from, to, &mut self.piece.framed)?;
        }
        let framed = self.piece.part(begin, end).unwrap_or_default();
        self.table.unframe(framed, begin, &mut raw)?;
        Ok(raw)
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        let number = self.table.index().find(key);
        self.within(Some(number), |block| block.seek(key, stamp))?;
        self.go_on()
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        let last = self.table.index().blocks() - 1;
        let number = self.table.index().find(key).min(last);
        self.within(Some(number), |block| block.seek_before(key, stamp))?;
        self.go_back()
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.within(Some(0), BlockCursor::first)
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        let last = self.table.index().blocks() - 1;
        self.within(Some(last), BlockCursor::last)
    }

    /// Goes past the end.
    pub(crate) fn end(&mut self) {
        self.block = None;
        self.parked = None;
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        self.unpark()?;
        let Some(block) = &mut self.block else { return Ok(()) };
        if let Err(reason) = block.next() {
            self.block = None;
            return Err(self.table.damaged(self.number, reason));
        }
        self.go_on()
    }

    pub(crate) fn previous(&mut self) -> Result<()> {
        self.unpark()?;
        if self.block.is_none() {
            return Ok(());
        }
        self.within(Some(self.number), BlockCursor::previous)?;
        self.go_back()
    }

    /// At the end of a block, the first version of the next one.
    #[inline]
    fn go_on(&mut self) -> Result<()> {
        if self.block.as_ref().is_some_and(|block| !block.is_somewhere()) {
            return self.within(Some(self.number + 1), BlockCursor::first);
        }
        Ok(())
    }

    /// Before the beginning of a block, the last version of the one before.
    fn go_back(&mut self) -> Result<()> {
        if self.block.as_ref().is_some_and(|block| !block.is_somewhere()) {
            return self.within(self.number.checked_sub(1), BlockCursor::last);
        }
        Ok(())
    }
}
