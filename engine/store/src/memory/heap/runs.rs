//! Where do entries lie that are too long for a segment and too many for mappings of their own? In runs of pages.
//!
//! A process may have 65,530 mappings (`vm.max_map_count`), and a hole in a mapping makes two of it. So runs are pieces of a few large mappings,
//! which are never unmapped: the pages of a run that is free go back to the kernel and its addresses wait for the next run of
//! the same length. Addresses are plenty: with 256 lengths, each at its own time filling a cap of 64 GiB, they are an eighth of what there is.

use std::ptr::NonNull;

use parking_lot::Mutex;

use super::map::{self, Mapping, PAGE};

/// The longest run, in pages: 1 MiB.
pub(in crate::memory) const MOST_PAGES: usize = 256;

/// Addresses that are asked of the kernel at once.
const CHUNK: usize = 32 * 1024 * 1024;

#[derive(Default)]
pub(in crate::memory) struct Runs(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    chunks: Vec<Mapping>,
    /// Bytes of the last chunk that were handed out.
    end: usize,
    /// By their length in pages, less one.
    free: Vec<Vec<Address>>,
}

struct Address(NonNull<u8>);

// SAFETY: an address; the pages there are nobody's as long as it is in the list.
unsafe impl Send for Address {}

impl Runs {
    /// A run of so many pages, zeroed and not resident, for the caller alone.
    pub(in crate::memory) fn take(&self, pages: usize) -> Option<NonNull<u8>> {
        debug_assert!((1..=MOST_PAGES).contains(&pages));
        let mut inner = self.0.lock();
        if let Some(Address(start)) = inner.free.get_mut(pages - 1).and_then(Vec::pop) {
            return Some(start);
        }
        let len = pages * PAGE;
        if inner.chunks.is_empty() || inner.end + len > CHUNK {
            inner.chunks.push(Mapping::new(CHUNK, PAGE)?);
            inner.end = 0;
        }
        // SAFETY: the chunk is longer than that, as was checked.
        let start = unsafe { inner.chunks.last()?.start().add(inner.end) };
        inner.end += len;
        Some(start)
    }

    /// Takes a run back.
    ///
    /// # Safety
    /// It was taken with so many pages, and nobody refers to what is in it.
    pub(in crate::memory) unsafe fn put(&self, start: NonNull<u8>, pages: usize) {
        // SAFETY: the caller's promise.
        unsafe { map::give_back(start, pages * PAGE) };
        let mut inner = self.0.lock();
        if inner.free.len() < pages {
            inner.free.resize_with(pages, Vec::new);
        }
        inner.free[pages - 1].push(Address(start));
    }
}
