//! How does one entry lie in memory? A header, the key, the value, and the expiry at the very end; a multiple of 8 bytes.
//!
//! ```text
//! short: key up to 255 bytes, value up to 65,535, no room to grow
//! 0       1         2           4       8       8+k       8+k+v       len-8      len
//! | flags | key_len | value_len | stamp | key … | value … | padding | expiry_ms |
//!   u8      u8        u16 LE      u32     bytes   bytes     0 to 7    u64 LE, only where flags say that there is room for it
//!
//! long: everything else
//! 0       1         4       8           12      16
//! | flags | key_len | stamp | value_len | units | key … | value … | spare … | expiry_ms |
//!   u8      u24 LE    u32     u32 LE      u32 LE: length of the block in 8-byte units
//! ```
//!
//! `flags`: bit 0 long, 1 room for an expiry, 2 has a mapping of its own, 3 dead (in no table any more), 4 free for later; bits 5 to 7 are
//! the type of the value, of which there is one so far, the string. Whether the expiry holds is said by the table's slot. `stamp`
//! belongs to the eviction policy.
//!
//! The length of a block never changes while it lies where it lies, and its key never changes at all, so a segment can be walked from
//! entry to entry by somebody who holds no lock (`heap/clean.rs`). That walk reads the first four bytes, which a writer under the shard's lock
//! may change meanwhile to others of the same length: they are one atomic.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Entries begin at multiples of this, and are multiples of it long.
pub(super) const UNIT: usize = 8;
const SHORT_HEADER: usize = 8;
const LONG_HEADER: usize = 16;
const EXPIRY_BYTES: usize = 8;
const SHORT_KEY: usize = u8::MAX as usize;
const SHORT_VALUE: usize = u16::MAX as usize;

const LONG: u32 = 1;
const ROOM: u32 = 1 << 1;
const MAPPED: u32 = 1 << 2;
const DEAD: u32 = 1 << 3;

/// What decides where the parts of an entry lie, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    key_len: usize,
    value_len: usize,
    has_room: bool,
    /// Length in bytes of a long block.
    long: Option<usize>,
}

impl Shape {
    /// The smallest block for such an entry, and `spare` bytes for its value to grow into. Lengths are checked at the front door:
    /// all of this fits in 32 bits.
    pub(super) fn new(key_len: usize, value_len: usize, has_room: bool, spare: usize) -> Self {
        let is_short = key_len <= SHORT_KEY && value_len <= SHORT_VALUE && spare == 0;
        let long = (!is_short).then(|| {
            (LONG_HEADER + key_len + value_len + spare + expiry_bytes(has_room)).next_multiple_of(UNIT)
        });
        Self { key_len, value_len, has_room, long }
    }

    /// As this one, in a block of `len` bytes, which is more than it needs: what a mapping of its own rounds to pages.
    pub(super) fn stretched(self, len: usize) -> Self {
        debug_assert!(self.long.is_some_and(|needed| len >= needed));
        Self { long: Some(len), ..self }
    }

    /// Bytes of the block.
    pub(super) fn len(self) -> usize {
        self.long.unwrap_or_else(|| {
            (SHORT_HEADER + self.key_len + self.value_len + expiry_bytes(self.has_room))
                .next_multiple_of(UNIT)
        })
    }

    fn key_start(self) -> usize {
        if self.long.is_some() { LONG_HEADER } else { SHORT_HEADER }
    }

    fn value_start(self) -> usize {
        self.key_start() + self.key_len
    }

    /// How an entry of this length with this key would hold another value in place; `None` where it would not fit or be of another
    /// length.
    pub(super) fn with_value(self, value_len: usize, with_expiry: bool) -> Option<Self> {
        if self.long.is_some() {
            // The room for an expiry, once there, is kept: it costs nothing more.
            let has_room = self.has_room || with_expiry;
            let end = LONG_HEADER + self.key_len + value_len + expiry_bytes(has_room);
            return (end <= self.len()).then_some(Self { value_len, has_room, ..self });
        }
        if value_len > SHORT_VALUE {
            return None;
        }
        let rooms: &[bool] = if with_expiry { &[true] } else { &[false, true] };
        let as_short = |has_room: &bool| Self { value_len, has_room: *has_room, ..self };
        rooms.iter().map(as_short).find(|shape| shape.len() == self.len())
    }

    /// Whether the block is long and less than half of it is used.
    pub(super) fn is_wasteful(self) -> bool {
        self.long.is_some_and(|len| self.needed() < len / 2)
    }

    /// Bytes that a long block needs at least.
    pub(super) fn needed(self) -> usize {
        LONG_HEADER + self.key_len + self.value_len + expiry_bytes(self.has_room)
    }

    fn first_word(self, flags: u32) -> u32 {
        let flags = flags | if self.has_room { ROOM } else { 0 };
        match self.long {
            Some(_) => flags | LONG | (self.key_len as u32) << 8,
            None => flags | (self.key_len as u32) << 8 | (self.value_len as u32) << 16,
        }
    }
}

fn expiry_bytes(has_room: bool) -> usize {
    if has_room { EXPIRY_BYTES } else { 0 }
}

/// What is to be written.
#[derive(Clone, Copy)]
pub(super) struct Contents<'a> {
    pub(super) key: &'a [u8],
    /// The value, in two pieces for the sake of appending.
    pub(super) value: [&'a [u8]; 2],
    pub(super) expiry: Option<u64>,
    pub(super) stamp: u32,
}

impl Contents<'_> {
    pub(super) fn shape(&self, spare: usize) -> Shape {
        Shape::new(self.key.len(), self.value[0].len() + self.value[1].len(), self.expiry.is_some(), spare)
    }
}

/// The address of an entry. It says nothing of how long the entry lives: whoever dereferences it holds the lock of its shard, or owns the entry
/// because no table has it, or reads only what never changes in a segment that is kept from being used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry(NonNull<u8>);

// SAFETY: an address; what may be done with it from which thread is said above.
unsafe impl Send for Entry {}

/// An entry that is in no table: who has this has it alone, until it goes into a table or back to the heap.
#[must_use = "an entry that is neither kept nor freed is lost memory"]
pub(super) struct Owned(Entry);

impl Owned {
    /// # Safety
    /// The entry is there, no table has it, and nobody else makes one of these of it.
    pub(super) unsafe fn new(entry: Entry) -> Self {
        Self(entry)
    }

    pub(super) fn into_entry(self) -> Entry {
        self.0
    }

    pub(super) fn is_mapped(&self) -> bool {
        // SAFETY: as below.
        unsafe { self.0.is_mapped() }
    }

    pub(super) fn value(&self) -> &[u8] {
        // SAFETY: the entry is this one's alone, and there until it is given away.
        unsafe { self.0.value() }
    }
}

impl Entry {
    /// Writes an entry of `shape`.
    ///
    /// # Safety
    /// `at` is a multiple of 8, and the `shape.len()` bytes from there belong to the caller alone.
    pub(super) unsafe fn write(
        at: NonNull<u8>,
        shape: Shape,
        contents: &Contents<'_>,
        is_mapped: bool,
    ) -> Self {
        let entry = Self(at);
        // SAFETY: all offsets below are within `shape.len()`, which is the caller's.
        unsafe {
            entry.put(shape.key_start(), contents.key);
            entry.put(shape.value_start(), contents.value[0]);
            entry.put(shape.value_start() + contents.value[0].len(), contents.value[1]);
            if let Some(unix_ms) = contents.expiry {
                entry.put(shape.len() - EXPIRY_BYTES, &unix_ms.to_le_bytes());
            }
            if let Some(len) = shape.long {
                entry.word(3).store((len / UNIT) as u32, Relaxed);
                entry.word(2).store(shape.value_len as u32, Relaxed);
            }
            entry.word(1).store(contents.stamp, Relaxed);
            entry.word(0).store(shape.first_word(if is_mapped { MAPPED } else { 0 }), Relaxed);
        }
        entry
    }

    /// # Safety
    /// The entry at `at` was written by [`write`](Self::write) and is there still.
    pub(super) unsafe fn at(at: NonNull<u8>) -> Self {
        Self(at)
    }

    pub(super) fn address(self) -> NonNull<u8> {
        self.0
    }

    /// # Safety
    /// The entry is there, and `index` is below 2, or below 4 in a long one.
    unsafe fn word<'a>(self, index: usize) -> &'a AtomicU32 {
        // SAFETY: entries are aligned to 8 and begin with that many words, which are accessed as atomics only.
        unsafe { AtomicU32::from_ptr(self.0.as_ptr().cast::<u32>().add(index)) }
    }

    /// # Safety
    /// The bytes lie in the entry and nobody else looks at them.
    unsafe fn put(self, offset: usize, bytes: &[u8]) {
        // SAFETY: the caller's promise; `bytes` are somebody's shared bytes, so they are not in here.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.as_ptr().add(offset), bytes.len()) };
    }

    /// # Safety
    /// The entry is there.
    pub(super) unsafe fn shape(self) -> Shape {
        // SAFETY: the caller's promise; words 2 and 3 are read of a long entry only.
        unsafe {
            let first = self.word(0).load(Relaxed);
            let has_room = first & ROOM != 0;
            if first & LONG == 0 {
                let (key_len, value_len) = (first as usize >> 8 & SHORT_KEY, first as usize >> 16);
                Shape { key_len, value_len, has_room, long: None }
            } else {
                let value_len = self.word(2).load(Relaxed) as usize;
                let long = Some(self.word(3).load(Relaxed) as usize * UNIT);
                Shape { key_len: first as usize >> 8, value_len, has_room, long }
            }
        }
    }

    /// # Safety
    /// The entry is a long one and the caller's, and its block is so long.
    pub(super) unsafe fn set_block_len(self, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.word(3).store((len / UNIT) as u32, Relaxed) };
    }

    /// # Safety
    /// The entry is there.
    pub(super) unsafe fn is_mapped(self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.word(0).load(Relaxed) & MAPPED != 0 }
    }

    /// # Safety
    /// The entry is there.
    pub(super) unsafe fn is_dead(self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.word(0).load(Relaxed) & DEAD != 0 }
    }

    /// # Safety
    /// The entry is there and in no table any more.
    pub(super) unsafe fn mark_dead(self) {
        // SAFETY: the caller's promise. Only the owner writes this word, so a load and a store are enough.
        unsafe { self.word(0).store(self.word(0).load(Relaxed) | DEAD, Relaxed) };
    }

    /// # Safety
    /// The entry is there for as long as `'a`.
    pub(super) unsafe fn key<'a>(self) -> &'a [u8] {
        // SAFETY: keys are written once, before anybody knows the address.
        unsafe {
            let shape = self.shape();
            std::slice::from_raw_parts(self.0.as_ptr().add(shape.key_start()), shape.key_len)
        }
    }

    /// # Safety
    /// The entry is there for as long as `'a`, and its value does not change meanwhile.
    pub(super) unsafe fn value<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's promise.
        unsafe {
            let shape = self.shape();
            std::slice::from_raw_parts(self.0.as_ptr().add(shape.value_start()), shape.value_len)
        }
    }

    /// # Safety
    /// The entry is there.
    pub(super) unsafe fn stamp(self) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { self.word(1).load(Relaxed) }
    }

    /// # Safety
    /// The entry is there, and the caller holds the lock of its shard.
    pub(super) unsafe fn set_stamp(self, stamp: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.word(1).store(stamp, Relaxed) };
    }

    /// # Safety
    /// The entry is there and its slot says that it has an expiry.
    pub(super) unsafe fn expiry(self) -> u64 {
        // SAFETY: with the slot's bit comes the room at the end; entries are multiples of 8, so this is aligned.
        unsafe { u64::from_le(self.0.as_ptr().add(self.shape().len() - EXPIRY_BYTES).cast::<u64>().read()) }
    }

    /// # Safety
    /// The caller holds the lock of the entry's shard and nobody reads the value; the entry has room for an expiry.
    pub(super) unsafe fn set_expiry(self, unix_ms: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.put(self.shape().len() - EXPIRY_BYTES, &unix_ms.to_le_bytes()) };
    }

    /// Gives the entry another value in place. `shape` comes from [`Shape::with_value`].
    ///
    /// # Safety
    /// The caller holds the lock of the entry's shard and nobody reads the value.
    pub(super) unsafe fn set_value(self, shape: Shape, value: &[u8], expiry: Option<u64>) {
        // SAFETY: a shape from `with_value` is as long as the block.
        unsafe {
            debug_assert_eq!(shape.len(), self.shape().len());
            self.put(shape.value_start(), value);
            self.set_shape(shape, expiry);
        }
    }

    /// Adds to the value in place. `shape` comes from [`Shape::with_value`].
    ///
    /// # Safety
    /// As [`set_value`](Self::set_value).
    pub(super) unsafe fn extend_value(self, shape: Shape, suffix: &[u8], expiry: Option<u64>) {
        // SAFETY: as above.
        unsafe {
            self.put(shape.value_start() + shape.value_len - suffix.len(), suffix);
            self.set_shape(shape, expiry);
        }
    }

    /// # Safety
    /// As [`set_value`](Self::set_value).
    unsafe fn set_shape(self, shape: Shape, expiry: Option<u64>) {
        // SAFETY: the caller's promise; a reader without a lock sees the old word or the new one, of the same length.
        unsafe {
            let kept = self.word(0).load(Relaxed) & MAPPED;
            if shape.long.is_some() {
                self.word(2).store(shape.value_len as u32, Relaxed);
            }
            self.word(0).store(shape.first_word(kept), Relaxed);
            if let Some(unix_ms) = expiry {
                self.set_expiry(unix_ms);
            }
        }
    }

    /// Copies the whole entry to `to`.
    ///
    /// # Safety
    /// The caller holds the lock of the entry's shard; the bytes at `to` are as in [`write`](Self::write).
    pub(super) unsafe fn copy_to(self, to: NonNull<u8>) -> Self {
        // SAFETY: both ends are as long as the shape says, and one of them is the caller's alone.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), to.as_ptr(), self.shape().len()) };
        Self(to)
    }
}

#[cfg(test)]
#[path = "entry_test.rs"]
mod tests;
