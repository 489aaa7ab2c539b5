//! Where do the versions and pages of a memtable lie? One after the other in one mapping of a fixed size, addressed by their distance from its beginning, and all of them go at once.
//!
//! One thread at a time takes memory ([`Arena::take`]); any number read what was published to them. What lies here is written before it is published, by atomics, and neither changed nor
//! moved nor given back afterwards, so a reference lasts as long as the arena.

use crate::lsm::mapping::Mapping;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All begins at multiples of it.
pub(super) const ALIGN: usize = 8;

/// So many bytes become resident together, where pages are small.
const STEP: usize = 256 << 10;

pub(super) struct Arena {
    mapping: Mapping,
    used: AtomicUsize,
    /// Up to here pages are resident, or become so by themselves.
    resident: AtomicUsize,
}

impl Arena {
    /// Room for so many bytes. `None` where the system has no addresses for them.
    pub(super) fn new(capacity: usize) -> Option<Self> {
        // Offset 0 stands for "none".
        let mapping = Mapping::new(capacity)?;
        let resident = if mapping.is_in_small_pages() { 0 } else { usize::MAX };
        Some(Self { mapping, used: AtomicUsize::new(ALIGN), resident: AtomicUsize::new(resident) })
    }

    /// Bytes taken.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The offset of `len` bytes, zeroed, that nobody else has, at a multiple of `align`, a power of two. Only one thread at a time may be in here. `None` where they are not left.
    pub(super) fn take(&self, len: usize, align: usize) -> Option<usize> {
        let at = self.used().checked_next_multiple_of(align)?;
        let end = at.checked_add(len)?.checked_next_multiple_of(ALIGN)?;
        if end > self.mapping.len() {
            return None;
        }
        if end > self.resident.load(Ordering::Relaxed) {
            self.make_resident(end);
        }
        self.used.store(end, Ordering::Relaxed);
        Some(at)
    }

    #[cold]
    fn make_resident(&self, end: usize) {
        let upto = end.next_multiple_of(STEP);
        self.mapping.make_resident(self.resident.load(Ordering::Relaxed)..upto);
        self.resident.store(upto, Ordering::Relaxed);
    }

    /// The address of an offset.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> NonNull<u8> {
        self.mapping.at(offset)
    }
}
