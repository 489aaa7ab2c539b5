//! How does a program keep bytes of its own under the cap? In pages of the store, which are counted as long as they are its.
//!
//! A server's unfinished requests and unsent replies are such bytes. Taken from a general allocator they would leave holes behind that are
//! resident and that nobody counts.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::heap::PAGE;
use super::store::Store;
use crate::error::{Error, Result};

/// Bytes in pages that are counted under the cap of a [`Database`](crate::Database), until it is dropped.
pub struct Buffer {
    store: Arc<Store>,
    start: NonNull<u8>,
    /// Bytes before what it holds: forgotten, and not yet overwritten.
    head: usize,
    /// Bytes that hold something.
    len: usize,
    /// Whole pages, at least one.
    capacity: usize,
}

// SAFETY: the pages are this buffer's alone.
unsafe impl Send for Buffer {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub(crate) fn new(store: &Arc<Store>, bytes: usize) -> Result<Self> {
        let capacity = whole_pages(bytes)?;
        store.reserve(capacity as u64)?;
        let Some(start) = store.common.heap.take_pages(capacity) else {
            store.release(capacity as u64);
            return Err(Error::OutOfMemory);
        };
        Ok(Self { store: Arc::clone(store), start, head: 0, len: 0, capacity })
    }

    /// Bytes it can hold, and bytes that are counted for it.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The part behind the bytes it holds. What is in it says nothing.
    pub fn spare(&mut self) -> &mut [u8] {
        self.move_to_start();
        // SAFETY: the pages are this buffer's; memory from the kernel holds some bytes always.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(self.len).as_ptr(), self.capacity - self.len) }
    }

    /// Says that the first `count` bytes of [`spare`](Self::spare) hold something now; no more than there are.
    pub fn advance(&mut self, count: usize) {
        self.len = self.capacity.min(self.len + count);
    }

    /// Adds as much of `bytes` as there is room for, and returns how much that was.
    pub fn fill(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.capacity - self.len);
        self.spare()[..count].copy_from_slice(&bytes[..count]);
        self.len += count;
        count
    }

    /// Forgets the first `count` bytes. The others stay where they are until there is something to be added.
    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.len);
        self.head += count;
        self.len -= count;
    }

    fn move_to_start(&mut self) {
        if self.head > 0 {
            // SAFETY: both ranges lie in the pages.
            unsafe {
                std::ptr::copy(self.start.add(self.head).as_ptr(), self.start.as_ptr(), self.len);
            }
            self.head = 0;
        }
    }

    /// Makes room for `capacity` bytes in all, where it has less. While it is copied both places are counted.
    ///
    /// # Errors
    /// As [`Database::buffer`](crate::Database::buffer); it stays as it was.
    pub fn grow(&mut self, capacity: usize) -> Result<()> {
        let after = whole_pages(capacity)?;
        if after <= self.capacity {
            return Ok(());
        }
        let more = (after - self.capacity) as u64;
        self.store.reserve(more)?;
        // SAFETY: the pages are this buffer's.
        if let Some(start) = unsafe { self.store.common.heap.resize_pages(self.start, self.capacity, after) }
        {
            (self.start, self.capacity) = (start, after);
            return Ok(());
        }
        self.store.release(more);
        let mut larger = Self::new(&self.store, after)?;
        larger.fill(self);
        *self = larger;
        Ok(())
    }
}

fn whole_pages(bytes: usize) -> Result<usize> {
    bytes
        .max(1)
        .checked_next_multiple_of(PAGE)
        .filter(|&len| len <= isize::MAX as usize)
        .ok_or(Error::OutOfMemory)
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes were written.
        unsafe { std::slice::from_raw_parts(self.start.add(self.head).as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let common = &self.store.common;
        common.reserved.fetch_sub(self.capacity as u64, Relaxed);
        // SAFETY: the pages are this buffer's, and nobody has them after it.
        unsafe { common.heap.put_pages(&common.budget, self.start, self.capacity) };
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Buffer({} of {} bytes)", self.len, self.capacity)
    }
}
