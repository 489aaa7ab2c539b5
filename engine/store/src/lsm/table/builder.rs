//! How is a table written? Blocks, filter, index and footer, one after the other, once; nobody reads it before it is synced.

use super::block_builder::{self, BlockBuilder};
use super::filter::{self, FilterBuilder};
use super::footer::Footer;
use super::frame::{self, Compression};
use super::index::IndexBuilder;
use crate::lsm::record::{Record, Sequence};
use crate::lsm::vfs::{WriteFile, write_all_at};
use std::io;

/// Buffers that a long block made larger than this are given back after it.
const KEPT: usize = 1 << 20;

/// How a table is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// A block ends with the first key at which it is at least so long, uncompressed.
    pub(crate) block_bytes: usize,
    pub(crate) compression: Compression,
    /// 0 for no filter.
    pub(crate) filter_bits_per_key: u32,
    /// Bytes that are collected before they are written. What is written at once, the system keeps in large folios, in which a read finds its bytes sooner.
    pub(crate) piece_bytes: usize,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) bytes: u64,
    pub(crate) first_key: Vec<u8>,
    pub(crate) last_key: Vec<u8>,
    pub(crate) versions: u64,
    pub(crate) last_sequence: Sequence,
}

/// Writes a table, whose versions come in their order.
pub(crate) struct TableBuilder {
    file: Box<dyn WriteFile>,
    number: u64,
    shape: Shape,
    block: BlockBuilder,
    index: IndexBuilder,
    filter: FilterBuilder,
    raw: Vec<u8>,
    /// Not yet handed to the system; it belongs at `written`.
    out: Vec<u8>,
    written: u64,
    /// Last key of a block whose place in the index waits for the next key.
    ended: Option<Vec<u8>>,
    first_key: Option<Vec<u8>>,
    versions: u64,
    last_sequence: Sequence,
}

impl TableBuilder {
    pub(crate) fn new(file: Box<dyn WriteFile>, number: u64, shape: Shape) -> Self {
        Self {
            file,
            number,
            shape,
            block: BlockBuilder::new(shape.block_bytes),
            index: IndexBuilder::new(),
            filter: FilterBuilder::default(),
            raw: Vec::new(),
            // A piece is written when a block has made it full; what grows by itself would take twice that.
            out: Vec::with_capacity(shape.piece_bytes + 2 * shape.block_bytes),
            written: 0,
            ended: None,
            first_key: None,
            versions: 0,
            last_sequence: 0,
        }
    }

    /// Adds a version that stands behind all that are there.
    pub(crate) fn add(&mut self, record: &Record) -> io::Result<()> {
        let is_new_key = self.first_key.is_none() || self.last_key() != record.key;
        // The versions of a key stay in one block: a read looks into one.
        if is_new_key && !self.block.is_empty() && self.block.len() >= self.shape.block_bytes {
            self.end_block()?;
        }
        self.begin(record.key, is_new_key);
        self.block.add(record);
        self.count(record);
        Ok(())
    }

    /// Adds a long version as a block of its own, which goes to the file at once. Its key has no other
    /// version in the table.
    pub(crate) fn add_alone(&mut self, record: &Record) -> io::Result<()> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.begin(record.key, true);
        let block = block_builder::alone(record, frame::TRAILER);
        let block = frame::whole(block, self.shape.compression, self.number);
        self.write(self.out.len())?;
        write_all_at(&mut *self.file, &block, self.written)?;
        self.written += block.len() as u64;
        self.ended = Some(record.key.to_vec());
        self.count(record);
        Ok(())
    }

    /// Notes a key before its first version is added, and its place where it begins a block.
    fn begin(&mut self, key: &[u8], is_new_key: bool) {
        if let Some(last) = self.ended.take() {
            self.index.add(&last, Some(key), self.len());
        }
        if self.first_key.is_none() {
            self.first_key = Some(key.to_vec());
        }
        if is_new_key && self.shape.filter_bits_per_key > 0 {
            self.filter.add(filter::hash(key));
        }
    }

    fn count(&mut self, record: &Record) {
        self.versions += 1;
        self.last_sequence = self.last_sequence.max(record.stamp.sequence());
    }

    fn last_key(&self) -> &[u8] {
        self.ended.as_deref().unwrap_or_else(|| self.block.last_key())
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.ended = Some(self.block.last_key().to_vec());
        self.raw.clear();
        self.block.finish(&mut self.raw);
        frame::put(&mut self.out, &self.raw, self.shape.compression, self.number);
        if self.raw.capacity() > KEPT {
            self.raw = Vec::new();
        }
        // Whole pieces, so that each begins where a folio may.
        let piece = self.shape.piece_bytes as u64;
        let whole = (self.len() / piece * piece).saturating_sub(self.written);
        self.write(whole as usize)?;
        let ordinary = self.shape.piece_bytes + 2 * self.shape.block_bytes;
        if self.out.capacity() > ordinary + KEPT {
            self.out.shrink_to(ordinary);
        }
        Ok(())
    }

    /// Hands so many of the collected bytes to the system.
    fn write(&mut self, len: usize) -> io::Result<()> {
        if len > 0 {
            write_all_at(&mut *self.file, &self.out[..len], self.written)?;
            self.written += len as u64;
            self.out.drain(..len);
        }
        Ok(())
    }

    /// Bytes of the blocks that have ended.
    fn len(&self) -> u64 {
        self.written + self.out.len() as u64
    }

    /// Bytes of the file if it ended here, about.
    pub(crate) fn expected_bytes(&self) -> u64 {
        let filter = self.filter.len() as u64 * u64::from(self.shape.filter_bits_per_key) / 8;
        self.len() + (self.block.len() + self.index.len()) as u64 + filter
    }

    /// Ends the table and syncs it; its name lasts when its directory is synced, too. `None`, where there was no version.
    pub(crate) fn finish(mut self) -> io::Result<Option<Finished>> {
        let Some(first_key) = self.first_key.take() else { return Ok(None) };
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let last_key = self.ended.take().unwrap_or_default();
        let blocks_len = self.len();
        self.index.add(&last_key, None, blocks_len);
        let bits = self.shape.filter_bits_per_key;
        if bits > 0 {
            let filter = self.filter.finish(bits);
            frame::put(&mut self.out, &filter, Compression::None, self.number);
        }
        let filter_len = self.len() - blocks_len;
        self.raw.clear();
        self.index.finish(&mut self.raw);
        frame::put(&mut self.out, &self.raw, self.shape.compression, self.number);
        let index_len = self.len() - blocks_len - filter_len;
        let (versions, last_sequence) = (self.versions, self.last_sequence);
        let footer = Footer { blocks_len, filter_len, index_len, versions, last_sequence };
        self.out.extend_from_slice(&footer.to_bytes(self.number));
        self.write(self.out.len())?;
        self.file.sync()?;
        Ok(Some(Finished { bytes: self.written, first_key, last_key, versions, last_sequence }))
    }
}
