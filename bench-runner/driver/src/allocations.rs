//! Counting allocator: the system's allocator, with the calls and bytes that each thread has requested so far.
//!
//! The counts are per thread, so that counting costs two additions on memory that no other thread touches, and
//! background threads of an engine are not counted as work of the operation.

#![allow(unsafe_code, reason = "a counting allocator")]

use crate::protocol::Allocated;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

/// The system's allocator with a count. A driver whose engine allocates through Rust declares it as
/// `#[global_allocator]`; allocations of C and C++ are not seen.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    // Neither allocates nor is dropped, so it may be used in an allocator.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// What this thread has requested so far.
#[must_use]
pub fn allocated() -> Allocated {
    Allocated { calls: CALLS.get(), bytes: BYTES.get() }
}

/// Whether this program counts its allocations: whether [`Counting`] is its allocator.
pub(crate) fn is_counting() -> bool {
    let before = allocated();
    drop(black_box(Box::new(0_u64)));
    allocated() != before
}

fn count(bytes: usize) {
    CALLS.set(CALLS.get() + 1);
    BYTES.set(BYTES.get() + bytes as u64);
}

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
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
    fn every_request_counts_and_a_free_does_not() {
        let before = allocated();
        let since = || allocated().since(before);
        let mut some: Vec<u8> = Vec::with_capacity(10);
        assert_eq!(since(), Allocated { calls: 1, bytes: 10 });
        some.reserve_exact(10_000);
        assert_eq!(since(), Allocated { calls: 2, bytes: 10_000 });
        drop(some);
        drop(vec![0_u8; 4_096]);
        assert_eq!(since(), Allocated { calls: 3, bytes: 14_096 });
        assert!(is_counting());
    }

    #[test]
    fn a_thread_counts_its_own() {
        let before = allocated();
        let theirs = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let before = allocated();
                drop(black_box(vec![0_u8; 50_000]));
                allocated().since(before)
            });
            thread.join().unwrap()
        });
        assert_eq!(theirs, Allocated { calls: 1, bytes: 50_000 });
        assert!(allocated().since(before).bytes < 50_000);
    }
}
