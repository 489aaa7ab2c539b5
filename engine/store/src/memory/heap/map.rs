//! How does memory come from the kernel, and how does it go back? In whole pages, so that what is counted is what is resident.

use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap};

use super::high_water::settle_high_water;

/// Bytes of a page. Where pages are larger, the kernel rounds up, and the count below is too low: checked at start (`page_size`).
pub(in crate::memory) const PAGE: usize = 4096;

/// Anonymous memory, zeroed, unmapped on drop.
pub(in crate::memory) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is an address and a length; nothing in it belongs to a thread.
unsafe impl Send for Mapping {}
// SAFETY: as above; what lies in it is guarded by whoever hands out pieces of it.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `len` bytes, rounded up to pages, at a multiple of `align` (a power of two). `None` when the kernel refuses.
    pub(in crate::memory) fn new(len: usize, align: usize) -> Option<Self> {
        let len = len.checked_next_multiple_of(PAGE)?;
        let slack = if align > PAGE { align } else { 0 };
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: an anonymous mapping at an address that the kernel chooses overlaps nothing.
        let raw = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                len.checked_add(slack)?,
                ProtFlags::READ | ProtFlags::WRITE,
                flags,
            )
        };
        let raw = NonNull::new(raw.ok()?.cast::<u8>())?;
        let head = if slack == 0 { 0 } else { raw.as_ptr().align_offset(align) };
        // SAFETY: `head` is at most `slack`, so the address lies in the mapping.
        let start = unsafe { raw.add(head) };
        if slack > 0 {
            // SAFETY: both ends belong to this mapping alone and nothing has been handed out of it yet.
            unsafe {
                unmap(raw, head);
                unmap(start.add(len), slack - head);
            }
        }
        // One byte written must not make 2 MiB resident, nor wait for them to be filled with zeros.
        // SAFETY: the range is this mapping's; the advice changes no contents. A kernel without huge pages refuses it.
        let _ = unsafe { madvise(start.as_ptr().cast(), len, Advice::LinuxNoHugepage) };
        Some(Self { start, len })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Gives its pages back and takes as many again, all of them resident. What was in them is gone.
    pub(super) fn renew(&mut self) {
        let start = self.start.as_ptr();
        // SAFETY: the mapping is this one's, and nobody refers to what is in it while it is borrowed mutably.
        let _ = unsafe { madvise(start.cast(), self.len, Advice::LinuxDontNeed) };
        // SAFETY: as above. A kernel before 5.14 does not know this advice.
        if unsafe { madvise(start.cast(), self.len, Advice::LinuxPopulateWrite) }.is_ok() {
            return;
        }
        for offset in (0..self.len).step_by(PAGE) {
            // SAFETY: inside the mapping.
            unsafe { self.start.add(offset).write_volatile(1) };
        }
    }

    /// Gives it up without unmapping it.
    pub(in crate::memory) fn leak(self) -> NonNull<u8> {
        std::mem::ManuallyDrop::new(self).start
    }

    /// Takes back what [`leak`](Self::leak) gave up.
    ///
    /// # Safety
    /// `start` and `len` are a leaked mapping's, and nobody takes it twice or refers to what is in it.
    pub(in crate::memory) unsafe fn from_leaked(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned, so nothing else refers to it.
        unsafe { unmap(self.start, self.len) };
    }
}

/// Gives the pages of a range back and keeps the addresses: what was there reads as zero.
///
/// # Safety
/// The range is whole pages of a mapping of the caller, and nobody refers to what is in it.
pub(super) unsafe fn give_back(start: NonNull<u8>, len: usize) {
    // SAFETY: the caller's promise. An error would mean a range that is not mapped.
    let _ = unsafe { madvise(start.as_ptr().cast(), len, Advice::LinuxDontNeed) };
    settle_high_water();
}

/// Makes a leaked mapping longer or shorter, at another address where need be; what it held is still in it, as far as it goes.
///
/// # Safety
/// The mapping is the caller's, so long, and nobody else refers to what is in it. Both lengths are whole pages.
pub(super) unsafe fn resize(start: NonNull<u8>, before: usize, after: usize) -> Option<NonNull<u8>> {
    // SAFETY: the caller's promise.
    let moved = unsafe { mremap(start.as_ptr().cast(), before, after, MremapFlags::MAYMOVE) };
    if after < before {
        settle_high_water();
    }
    NonNull::new(moved.ok()?.cast())
}

/// # Safety
/// The range belongs to a mapping of the caller and nothing in it is in use.
unsafe fn unmap(start: NonNull<u8>, len: usize) {
    if len > 0 {
        // SAFETY: the caller's promise. An error would mean a range that is not mapped; then there is nothing to free.
        let _ = unsafe { munmap(start.as_ptr().cast(), len) };
        settle_high_water();
    }
}
