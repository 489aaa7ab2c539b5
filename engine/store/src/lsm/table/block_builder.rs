//! How are versions put into a block? One after the other, each without what its key shares with the one before.
//!
//! ```text
//! entries    each: shared, rest, value length, stamp (varints); rest of the key, value
//! restarts   offsets of the entries that share nothing but the first, 4 bytes each
//! count      of restarts, 4 bytes
//! ```

use crate::lsm::buffer::Buffer;
use crate::lsm::coding::{MAX_VARINT, put_varint};
use crate::lsm::record::{Record, shared_len};

/// Entries from one that shares nothing to the next, at least.
const RESTART_INTERVAL: usize = 16;

/// A block of one version.
pub(super) fn alone(record: &Record, room_behind: usize) -> Buffer {
    let needed = 4 * MAX_VARINT + record.key.len() + record.value.len() + 4;
    let mut block = Buffer::with_capacity(needed + room_behind);
    for number in [0, record.key.len() as u64, record.value.len() as u64, record.stamp.raw()] {
        put_varint(&mut block, number);
    }
    for bytes in [record.key, record.value, &0_u32.to_le_bytes()] {
        block.extend_from_slice(bytes);
    }
    block
}

/// Collects the versions of one block, which are added in their order.
pub(crate) struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    /// Behind it no entry shares nothing: there are few to come.
    restarts_until: usize,
    /// Since the last entry that shares nothing.
    run: usize,
    last_key: Vec<u8>,
    entries: usize,
}

impl BlockBuilder {
    /// For blocks of about so many bytes.
    pub(crate) fn new(block_bytes: usize) -> Self {
        let restarts_until = block_bytes - block_bytes / 4;
        Self {
            bytes: Vec::new(),
            restarts: Vec::new(),
            restarts_until,
            run: 0,
            last_key: Vec::new(),
            entries: 0,
        }
    }

    /// For a block that is read from its beginning to its end only.
    pub(crate) fn without_restarts() -> Self {
        Self::new(0)
    }

    /// Adds a version that stands behind all that are there.
    pub(crate) fn add(&mut self, record: &Record) {
        let is_due = self.run >= RESTART_INTERVAL && self.bytes.len() < self.restarts_until;
        let shared = if self.is_empty() {
            self.run = 0;
            0
        } else if is_due {
            self.restarts.push(self.bytes.len() as u32);
            self.run = 0;
            0
        } else {
            shared_len(&self.last_key, record.key)
        };
        let rest = &record.key[shared..];
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, rest.len() as u64);
        put_varint(&mut self.bytes, record.value.len() as u64);
        put_varint(&mut self.bytes, record.stamp.raw());
        self.bytes.extend_from_slice(rest);
        self.bytes.extend_from_slice(record.value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(rest);
        self.entries += 1;
        self.run += 1;
    }

    /// Bytes of the block if it ended here.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + 4 * self.restarts.len() + 4
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The key that was added last.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// The block. What follows begins the next one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if out.is_empty() {
            // A long block is not copied.
            std::mem::swap(out, &mut self.bytes);
        } else {
            out.extend_from_slice(&self.bytes);
        }
        for restart in &self.restarts {
            out.extend_from_slice(&restart.to_le_bytes());
        }
        out.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        self.bytes.clear();
        self.restarts.clear();
        self.last_key.clear();
        self.entries = 0;
    }
}
