//! What becomes of large entries that are freed? They go back to the kernel in pieces, when there is time.
//!
//! To unmap 512 MiB takes some 20 ms, during which nobody would be served. Until a piece is unmapped it is counted in the budget; who needs
//! room has it unmapped first (`room.rs`).

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use super::map::Mapping;
use crate::memory::budget::Budget;

/// Unmapped at once: about 50 µs.
const PIECE: usize = 1024 * 1024;

#[derive(Default)]
pub(super) struct Graves {
    mappings: Mutex<Vec<Grave>>,
    /// Bytes that are dead and counted.
    bytes: AtomicU64,
}

/// What is left of a mapping: its start, and so many bytes.
struct Grave(NonNull<u8>, usize);

// SAFETY: an address; the memory there is nobody's but whoever takes it from the list.
unsafe impl Send for Grave {}

impl Graves {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Notes bytes that are dead from now on and freed later by others, who `forget` them.
    pub(super) fn expect(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn forget(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Takes in a mapping that nobody refers to any more.
    pub(super) fn add(&self, mapping: Mapping) {
        let len = mapping.len();
        self.bytes.fetch_add(len as u64, Relaxed);
        self.mappings.lock().push(Grave(mapping.leak(), len));
    }

    pub(super) fn bury(&self, budget: &Budget) -> bool {
        let Some(Grave(start, len)) = self.mappings.lock().pop() else { return false };
        let piece = len.min(PIECE);
        // SAFETY: `add` took the mapping for good, and its end is unmapped once: what is left of it is shorter.
        drop(unsafe { Mapping::from_leaked(start.add(len - piece), piece) });
        if len > piece {
            self.mappings.lock().push(Grave(start, len - piece));
        }
        self.bytes.fetch_sub(piece as u64, Relaxed);
        budget.release(piece as u64);
        true
    }
}

impl Drop for Graves {
    fn drop(&mut self) {
        for Grave(start, len) in self.mappings.get_mut().drain(..) {
            // SAFETY: as above.
            drop(unsafe { Mapping::from_leaked(start, len) });
        }
    }
}
