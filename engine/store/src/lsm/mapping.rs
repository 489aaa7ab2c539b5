//! Where does memory come from that is used piece by piece and goes as a whole? From one anonymous mapping, whose pages become resident when they are first written, or ahead of that by a range.

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap};
use std::ops::Range;
use std::ptr::NonNull;

/// From this size on huge pages are asked for: fewer faults, and fewer walks through tables of pages. Smaller ones would become resident by more than they hold.
const LARGE: usize = 16 << 20;

/// Bytes that one system call returns. Other threads of the process wait for it where they map memory: for 80 MiB it was 5 ms.
const RETURNED_AT_ONCE: usize = 4 << 20;

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

    /// Moves it out of a place that is borrowed; what stays there is empty, and must not be touched.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self { base: NonNull::dangling(), len: 0 })
    }

    /// Whether its pages become resident one by one, each when it is first written.
    pub(super) fn is_in_small_pages(&self) -> bool {
        self.len < LARGE
    }

    /// Lets the pages of a range, which begins with one, become resident all at once, which takes less time than a fault for each. Where the system does not know how, they do so
    /// one by one.
    pub(super) fn make_resident(&self, range: Range<usize>) {
        let range = range.start.min(self.len)..range.end.min(self.len);
        // SAFETY: the range lies in the mapping; its pages keep what they hold.
        let _ =
            unsafe { madvise(self.at(range.start).as_ptr().cast(), range.len(), Advice::LinuxPopulateWrite) };
    }

    /// Makes it longer, perhaps at another address, without copying what it holds. False where the system
    /// has no addresses for that; then it is as it was.
    pub(super) fn grow(&mut self, len: usize) -> bool {
        // SAFETY: the mapping is this one's, and the exclusive reference says that there is none into it.
        let raw = unsafe { mremap(self.base.as_ptr().cast(), self.len, len, MremapFlags::MAYMOVE) };
        let Some(base) = raw.ok().and_then(|raw| NonNull::new(raw.cast::<u8>())) else { return false };
        (self.base, self.len) = (base, len);
        true
    }

    /// All of it, for an owner that hands out no addresses.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes are mapped, zeroed or written; who holds `&self` keeps them from being written.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }

    /// All of it, to be written, for such an owner.
    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the reference is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
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
        if self.len == 0 {
            return;
        }
        for start in (0..self.len).step_by(RETURNED_AT_ONCE) {
            let len = RETURNED_AT_ONCE.min(self.len - start);
            // SAFETY: the range is inside this mapping, and no reference into it outlives its owner.
            let _ = unsafe { madvise(self.at(start).as_ptr().cast(), len, Advice::LinuxDontNeed) };
        }
        // SAFETY: as above.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Lets the allocator of the system give freed memory back. glibc does so by itself only at the end of
/// its heaps.
pub(super) fn return_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: may be called at any time from any thread, and changes no setting of the allocator.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_resident_keeps_what_it_holds_and_ends_with_the_mapping() {
        let mapping = Mapping::new(10_000).unwrap();
        assert!(mapping.is_in_small_pages() && !Mapping::new(LARGE).unwrap().is_in_small_pages());
        // SAFETY: within the mapping, which nobody else has.
        unsafe { mapping.at(4_095).write(7) };
        mapping.make_resident(0..8_192);
        mapping.make_resident(8_192..1 << 30);
        mapping.make_resident(1 << 30..2 << 30);
        // SAFETY: as above.
        let found = [4_095, 4_096, 9_999].map(|at| unsafe { mapping.at(at).read() });
        assert_eq!(found, [7, 0, 0]);
    }
}
