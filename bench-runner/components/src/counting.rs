//! How often does an operation ask for memory? The system's allocator, which counts the calls of each thread.
//!
//! A count per thread, so that it costs next to nothing where a rival allocates, and a part's own threads are not taken for the operation.

#![allow(unsafe_code, reason = "a counting allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The allocator of the benchmarks.
pub struct Counting;

thread_local! {
    // Neither allocates nor is dropped, so it may be used in an allocator.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Allocations of this thread so far.
pub(crate) fn calls() -> u64 {
    CALLS.get()
}

fn count() {
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn every_way_to_ask_for_memory_counts_and_giving_back_does_not() {
        let before = calls();
        let mut some: Vec<u8> = Vec::with_capacity(10);
        assert_eq!(calls() - before, 1);
        some.reserve(10_000);
        assert_eq!(calls() - before, 2);
        drop(some);
        assert_eq!(calls() - before, 2);
        drop(vec![0_u8; 4_096]);
        assert_eq!(calls() - before, 3);
    }
}
