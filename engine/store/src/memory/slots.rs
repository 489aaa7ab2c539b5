//! What is a table made of? Words of 8 bytes, in memory whose size is known exactly: whole pages from the kernel, or less than one from the
//! allocator.
//!
//! ```text
//! 63         45   44       43                                    0
//! | tag        | volatile | address of the entry, divided by 8    |
//!   19 bits      1 bit      44 bits: all that user space has on x86-64 and arm64 (47 bits)
//! ```

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::entry::{Entry, UNIT};
use super::heap::{Mapping, NoRoom, PAGE};
use super::size_class;

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

/// An array of slots.
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

/// Bytes of memory that so many slots occupy.
pub(super) fn cost(len: usize) -> u64 {
    let bytes = len * SLOT_BYTES;
    if bytes < PAGE { size_class::cost(bytes) } else { bytes.next_multiple_of(PAGE) as u64 }
}

/// At least `len`, and as many as cost the same.
pub(super) fn rounded(len: usize) -> usize {
    let bytes = len * SLOT_BYTES;
    if bytes < PAGE {
        size_class::usable(bytes).min(PAGE - SLOT_BYTES) / SLOT_BYTES
    } else {
        bytes.next_multiple_of(PAGE) / SLOT_BYTES
    }
}

impl Slots {
    pub(super) fn new(len: usize) -> Result<Self, NoRoom> {
        if len == 0 {
            return Ok(Self::default());
        }
        let start = match layout(len) {
            // SAFETY: the layout is not empty.
            Some(layout) => NonNull::new(unsafe { alloc_zeroed(layout) }),
            None => Mapping::new(len * SLOT_BYTES, PAGE, false).map(Mapping::leak),
        };
        // Zeroed memory is empty slots.
        Ok(Self { start: start.ok_or(NoRoom::System)?.cast(), len })
    }
}

/// How an array is allocated; `None` for one that is mapped.
fn layout(len: usize) -> Option<Layout> {
    Layout::array::<Slot>(len).ok().filter(|layout| layout.size() < PAGE)
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

impl Drop for Slots {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        let start = self.start.cast();
        // SAFETY: this is how it was allocated, or what was leaked, page for page; nobody refers to it any more.
        unsafe {
            match layout(self.len) {
                Some(layout) => dealloc(start.as_ptr(), layout),
                None => drop(Mapping::from_leaked(start, (self.len * SLOT_BYTES).next_multiple_of(PAGE))),
            }
        }
    }
}
