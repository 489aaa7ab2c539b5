//! What does a table know of the entry at a place, and how is it changed where it is?

use std::marker::PhantomData;

use super::Table;
use crate::memory::budget::Budget;
use crate::memory::entry::{Contents, Entry, Shape};
use crate::memory::heap::{Heap, NoRoom, is_shared};
use crate::memory::slots::Slot;

/// An entry as it stands in a table, for as long as the table is not changed.
#[derive(Clone, Copy)]
pub(in crate::memory) struct Held<'a> {
    slot: Slot,
    pub(super) entry: Entry,
    table: PhantomData<&'a Table>,
}

// SAFETY of what follows: an entry that a table points to is there; it is freed after it was taken out, which needs the table mutably, as does every
// change of its value.
impl<'a> Held<'a> {
    pub(super) fn new(slot: Slot) -> Option<Self> {
        Some(Self { slot, entry: slot.entry()?, table: PhantomData })
    }

    pub(in crate::memory) fn tag(self) -> u32 {
        self.slot.tag()
    }

    pub(in crate::memory) fn is_volatile(self) -> bool {
        self.slot.is_volatile()
    }

    pub(in crate::memory) fn shape(self) -> Shape {
        // SAFETY: see above.
        unsafe { self.entry.shape() }
    }

    pub(in crate::memory) fn key(self) -> &'a [u8] {
        // SAFETY: see above.
        unsafe { self.entry.key() }
    }

    pub(in crate::memory) fn value(self) -> &'a [u8] {
        // SAFETY: see above.
        unsafe { self.entry.value() }
    }

    pub(in crate::memory) fn stamp(self) -> u32 {
        // SAFETY: see above.
        unsafe { self.entry.stamp() }
    }

    /// Whether the entry has a mapping of its own.
    pub(in crate::memory) fn is_mapped(self) -> bool {
        // SAFETY: see above.
        unsafe { self.entry.is_mapped() }
    }

    /// Whether the entry has a mapping of its own that nobody else holds.
    pub(in crate::memory) fn is_mapped_alone(self) -> bool {
        // SAFETY: see above.
        unsafe { self.entry.is_mapped() && !is_shared(self.entry) }
    }

    /// Whether somebody is sending the value, so that it must stay as it is.
    pub(in crate::memory) fn is_shared(self) -> bool {
        // SAFETY: see above.
        unsafe { is_shared(self.entry) }
    }

    pub(in crate::memory) fn expiry(self) -> Option<u64> {
        // SAFETY: see above; the slot says that there is one.
        self.is_volatile().then(|| unsafe { self.entry.expiry() })
    }

    pub(in crate::memory) fn is_expired(self, now_ms: impl FnOnce() -> u64) -> bool {
        self.expiry().is_some_and(|at| at <= now_ms())
    }
}

impl Table {
    /// Counts a holder of the entry at `at` beside the table, where it has pages of its own.
    pub(in crate::memory) fn hold(&self, at: usize, heap: &Heap) -> Option<Entry> {
        let entry = self.slots[at].entry()?;
        // SAFETY: entries that a table points to are there, and the table is under its shard's lock.
        unsafe { heap.hold(entry) }.then_some(entry)
    }

    pub(in crate::memory) fn set_stamp(&mut self, at: usize, stamp: u32) {
        if let Some(entry) = self.slots[at].entry() {
            // SAFETY: the table has the entry, and is borrowed mutably.
            unsafe { entry.set_stamp(stamp) };
        }
    }

    /// Changes every stamp.
    pub(in crate::memory) fn map_stamps(&mut self, change: impl Fn(u32) -> u32) {
        for entry in self.slots.iter().filter_map(|slot| slot.entry()) {
            // SAFETY: as above.
            unsafe { entry.set_stamp(change(entry.stamp())) };
        }
    }

    /// Puts another entry with pages of its own in place of the one at `at`, which has such and which nobody else holds. `contents` come from
    /// elsewhere.
    pub(in crate::memory) fn exchange_large(
        &mut self,
        at: usize,
        heap: &Heap,
        budget: &Budget,
        contents: &Contents<'_>,
    ) -> Result<(), NoRoom> {
        let slot = self.slots[at];
        let Some(held) = Held::new(slot).filter(|held| held.is_mapped_alone()) else { return Ok(()) };
        // SAFETY: the table has the entry, is borrowed mutably (so nothing of the contents lies in it), and lets go of the old address.
        let entry = unsafe { heap.exchange_large(budget, held.entry, contents)? };
        self.slots[at] = Slot::new(slot.tag(), entry, slot.is_volatile());
        self.mark_expiry(at, contents.expiry.is_some());
        Ok(())
    }

    /// Gives the entry at `at` a block of at least `len` bytes, where `Heap::can_stretch` says that it can. The caller writes its expiry again.
    pub(in crate::memory) fn stretch(
        &mut self,
        at: usize,
        heap: &Heap,
        budget: &Budget,
        len: usize,
    ) -> Result<(), NoRoom> {
        let slot = self.slots[at];
        let Some(held) = Held::new(slot).filter(|held| held.is_mapped_alone()) else { return Ok(()) };
        if heap.can_stretch(held.shape().len(), len) {
            // SAFETY: as above.
            let entry = unsafe { heap.stretch(budget, held.entry, len)? };
            self.slots[at] = Slot::new(slot.tag(), entry, slot.is_volatile());
        }
        Ok(())
    }

    /// Gives the entry at `at` another value, in place; `shape` comes from [`Shape::with_value`].
    pub(in crate::memory) fn set_value(
        &mut self,
        at: usize,
        shape: Shape,
        value: &[u8],
        expiry: Option<u64>,
    ) {
        if let Some(entry) = self.slots[at].entry() {
            // SAFETY: the table has the entry, and is borrowed mutably, so nobody reads the value.
            unsafe { entry.set_value(shape, value, expiry) };
        }
        self.mark_expiry(at, expiry.is_some());
    }

    /// Adds to the value of the entry at `at`, in place; `shape` comes from [`Shape::with_value`].
    pub(in crate::memory) fn extend_value(
        &mut self,
        at: usize,
        shape: Shape,
        suffix: &[u8],
        expiry: Option<u64>,
    ) {
        if let Some(entry) = self.slots[at].entry() {
            // SAFETY: as above.
            unsafe { entry.extend_value(shape, suffix, expiry) };
        }
    }

    /// Gives the entry at `at` an expiry, in place; `shape` comes from [`Shape::with_value`].
    pub(in crate::memory) fn set_expiry(&mut self, at: usize, shape: Shape, unix_ms: u64) {
        if let Some(entry) = self.slots[at].entry() {
            // SAFETY: as above.
            unsafe { entry.extend_value(shape, &[], Some(unix_ms)) };
        }
        self.mark_expiry(at, true);
    }

    pub(in crate::memory) fn mark_expiry(&mut self, at: usize, is_volatile: bool) {
        let slot = self.slots[at];
        self.volatile = self.volatile + u32::from(is_volatile) - u32::from(slot.is_volatile());
        self.slots[at] = slot.with_volatile(is_volatile);
    }
}
