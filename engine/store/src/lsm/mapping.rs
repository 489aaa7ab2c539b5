//! Where does memory come from that is used piece by piece and goes as a whole? From one anonymous mapping, whose pages become resident when they are first written.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// From this size on huge pages are asked for: fewer faults, and fewer walks through tables of pages. Smaller ones would become resident by more than they hold.
const LARGE: usize = 16 << 20;

/// Zeroed bytes at an address that stays. Who may write where is for its owner to say.
pub(super) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to no thread; nothing in it is touched here.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// So many bytes. `None` where the system has no addresses for them.
    pub(super) fn new(len: usize) -> Option<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: an anonymous mapping at an address that the kernel chooses overlaps nothing.
        let raw = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, flags) };
        let base = NonNull::new(raw.ok()?.cast::<u8>())?;
        if len >= LARGE {
            // SAFETY: the mapping was made above, and this changes nothing that lies in it.
            let _ = unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxHugepage) };
        }
        Some(Self { base, len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The address of an offset, which must not lie behind the end.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset <= self.len);
        // SAFETY: owners give out offsets that lie in the mapping, or just behind it.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and references into it cannot outlive its owner.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
