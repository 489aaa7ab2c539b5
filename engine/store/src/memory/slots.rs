//! What is a table made of? Words of 8 bytes, in memory from the pool (`slot_pool.rs`).
//!
//! ```text
//! 63         45   44       43                                    0
//! | tag        | volatile | address of the entry, divided by 8    |
//!   19 bits      1 bit      44 bits: all that user space has on x86-64 and arm64 (47 bits)
//! ```

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::entry::{Entry, UNIT};

const ADDRESS_BITS: u32 = 44;
const VOLATILE: u64 = 1 << ADDRESS_BITS;
pub(super) const TAG_BITS: u32 = 64 - ADDRESS_BITS - 1;

/// One place in the table; 0 where there is no entry.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Slot(u64);

/// What every entry costs besides its block, not counting the empty slots.
pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

impl Slot {
    pub(super) fn new(tag: u32, entry: Entry, is_volatile: bool) -> Self {
        let address = entry.address().expose_provenance().get() as u64 / UNIT as u64;
        debug_assert!(address >> ADDRESS_BITS == 0 && u64::from(tag) >> TAG_BITS == 0);
        Self(u64::from(tag) << (ADDRESS_BITS + 1) | if is_volatile { VOLATILE } else { 0 } | address)
    }

    #[cfg(test)]
    pub(super) fn of_number(number: u64) -> Self {
        Self(number)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn tag(self) -> u32 {
        (self.0 >> (ADDRESS_BITS + 1)) as u32
    }

    pub(super) fn is_volatile(self) -> bool {
        self.0 & VOLATILE != 0
    }

    pub(super) fn with_volatile(self, is_volatile: bool) -> Self {
        Self(self.0 & !VOLATILE | if is_volatile { VOLATILE } else { 0 })
    }

    pub(super) fn entry(self) -> Option<Entry> {
        let address =
            NonNull::new(std::ptr::with_exposed_provenance_mut((self.0 & (VOLATILE - 1)) as usize * UNIT))?;
        // SAFETY: only `new` makes slots that are not empty, from an entry; whether it is still there is for the table to know.
        Some(unsafe { Entry::at(address) })
    }
}

/// An array of slots. Who has it gives it back to the pool it is from: dropping it only forgets it, until the pool is dropped.
pub(super) struct Slots {
    start: NonNull<Slot>,
    len: usize,
}

// SAFETY: owned memory; what the slots point to is guarded by the lock that guards the table.
unsafe impl Send for Slots {}

impl Default for Slots {
    fn default() -> Self {
        Self { start: NonNull::dangling(), len: 0 }
    }
}

impl Slots {
    /// # Safety
    /// So many slots are there, zeroed or written, for this array alone, as long as the pool is.
    pub(super) unsafe fn at(start: NonNull<Slot>, len: usize) -> Self {
        Self { start, len }
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start.cast()
    }
}

impl Deref for Slots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        // SAFETY: so many initialised slots are there, and this owns them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Slots {
    fn deref_mut(&mut self) -> &mut [Slot] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}
