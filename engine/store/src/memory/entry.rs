//! How does one entry lie in memory? One block: lengths, key, value, room to spare, expiry.
//!
//! ```text
//! 0        4          8            8+k              8+k+v            len-8      len
//! | key_len | value_len | key bytes … | value bytes … | spare … | expiry_unix_ms |
//!   u32 LE    u32 LE                                              u64 LE, only where the slot says so
//! ```
//!
//! The block is as long as its size class allows, so a value can change length within the class without moving.
//! The expiry stands at the very end: an entry can get one without moving its value if there are 8 bytes to
//! spare. Whether there is one is a bit of the table's slot, so that looking for entries that expire touches no
//! block.

use super::size_class;

const KEY_LEN: usize = 0;
const VALUE_LEN: usize = KEY_LEN + size_of::<u32>();
const KEY: usize = VALUE_LEN + size_of::<u32>();
const EXPIRY_BYTES: usize = size_of::<u64>();

/// The allocator had nothing left.
#[derive(Debug)]
pub(super) struct AllocationFailed;

pub(super) struct Block(Box<[u8]>);

/// Bytes an entry needs in its block, before rounding to the size class.
pub(super) fn needed_len(key_len: usize, value_len: usize, with_expiry: bool) -> usize {
    KEY + key_len + value_len + if with_expiry { EXPIRY_BYTES } else { 0 }
}

impl Block {
    /// A block with room for at least `len` bytes, see [`needed_len`].
    pub(super) fn new(
        len: usize,
        key: &[u8],
        value: [&[u8]; 2],
        expiry: Option<u64>,
    ) -> Result<Self, AllocationFailed> {
        let value_len = value[0].len() + value[1].len();
        let len = size_class::usable(len.max(needed_len(key.len(), value_len, expiry.is_some())));
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| AllocationFailed)?;
        // Lengths are checked at the front door and fit in 32 bits.
        bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(value_len as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value[0]);
        bytes.extend_from_slice(value[1]);
        bytes.resize(len, 0);
        let mut block = Self(bytes.into_boxed_slice());
        if let Some(unix_ms) = expiry {
            block.set_expiry(unix_ms);
        }
        Ok(block)
    }

    fn u32_at(&self, at: usize) -> usize {
        let b = &self.0[at..at + size_of::<u32>()];
        u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.0[KEY..KEY + self.u32_at(KEY_LEN)]
    }

    pub(super) fn value(&self) -> &[u8] {
        let start = KEY + self.u32_at(KEY_LEN);
        &self.0[start..start + self.u32_at(VALUE_LEN)]
    }

    /// Bytes of memory the block occupies.
    pub(super) fn cost(&self) -> u64 {
        size_class::cost(self.0.len())
    }

    /// Whether a value of `value_len` bytes fits in this block.
    pub(super) fn fits(&self, value_len: usize, with_expiry: bool) -> bool {
        needed_len(self.u32_at(KEY_LEN), value_len, with_expiry) <= self.0.len()
    }

    /// Whether a new block for such a value would be of this block's size class.
    pub(super) fn same_class(&self, value_len: usize, with_expiry: bool) -> bool {
        size_class::usable(needed_len(self.u32_at(KEY_LEN), value_len, with_expiry)) == self.0.len()
    }

    /// Replaces the value in place; the caller has asked [`fits`](Self::fits).
    pub(super) fn set_value(&mut self, value: &[u8]) {
        let start = KEY + self.u32_at(KEY_LEN);
        self.0[start..start + value.len()].copy_from_slice(value);
        self.set_value_len(value.len());
    }

    /// Adds to the value in place; the caller has asked [`fits`](Self::fits).
    pub(super) fn extend_value(&mut self, suffix: &[u8]) {
        let len = self.u32_at(VALUE_LEN);
        let end = KEY + self.u32_at(KEY_LEN) + len;
        self.0[end..end + suffix.len()].copy_from_slice(suffix);
        self.set_value_len(len + suffix.len());
    }

    fn set_value_len(&mut self, len: usize) {
        self.0[VALUE_LEN..KEY].copy_from_slice(&(len as u32).to_le_bytes());
    }

    /// The expiry in Unix milliseconds; means something only where the slot says that there is one.
    pub(super) fn expiry(&self) -> u64 {
        let mut last = [0; EXPIRY_BYTES];
        last.copy_from_slice(&self.0[self.0.len() - EXPIRY_BYTES..]);
        u64::from_le_bytes(last)
    }

    /// Writes the expiry; the caller has asked [`fits`](Self::fits).
    pub(super) fn set_expiry(&mut self, unix_ms: u64) {
        let start = self.0.len() - EXPIRY_BYTES;
        self.0[start..].copy_from_slice(&unix_ms.to_le_bytes());
    }
}
