//! Where do the versions and pages of a memtable lie? One after the other in one mapping of a fixed size, addressed by their distance from its beginning. Pages become
//! resident when they are first written, and all of them go at once.
//!
//! One thread at a time takes memory ([`Arena::take`]); any number read what was published to them. Nothing is ever given back or moved, so a reference
//! lasts as long as the arena.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All begins at multiples of it.
pub(super) const ALIGN: usize = 8;

/// From this size on huge pages are asked for: fewer faults, and fewer walks through tables of pages. Smaller ones would become resident by more than they hold.
const LARGE: usize = 16 << 20;

pub(super) struct Arena {
    base: NonNull<u8>,
    capacity: usize,
    used: AtomicUsize,
}

// SAFETY: the mapping belongs to no thread, and what lies in it is written before it is published, by atomics, and never changed afterwards.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Room for so many bytes. `None` where the system has no addresses for them.
    pub(super) fn new(capacity: usize) -> Option<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: an anonymous mapping at an address that the kernel chooses overlaps nothing.
        let raw = unsafe { mmap_anonymous(std::ptr::null_mut(), capacity, protection, flags) };
        let base = NonNull::new(raw.ok()?.cast::<u8>())?;
        if capacity >= LARGE {
            // SAFETY: the mapping was made above, and this changes nothing that lies in it.
            let _ = unsafe {
                rustix::mm::madvise(base.as_ptr().cast(), capacity, rustix::mm::Advice::LinuxHugepage)
            };
        }
        // Offset 0 stands for "none".
        Some(Self { base, capacity, used: AtomicUsize::new(ALIGN) })
    }

    /// Bytes taken.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The offset of `len` bytes, zeroed, that nobody else has, at a multiple of `align`, a power of two. Only one thread at a time may be in here. `None` where they are not left.
    pub(super) fn take(&self, len: usize, align: usize) -> Option<usize> {
        let at = self.used().checked_next_multiple_of(align)?;
        let end = at.checked_add(len)?.checked_next_multiple_of(ALIGN)?;
        if end > self.capacity {
            return None;
        }
        self.used.store(end, Ordering::Relaxed);
        Some(at)
    }

    /// The address of an offset.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset <= self.capacity);
        // SAFETY: offsets come from `take` and lie in the mapping.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is this arena's, and references into it cannot outlive it.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.capacity) };
    }
}
