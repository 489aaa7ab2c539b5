//! Where do cached blocks lie? In pieces of one length in one mapping, in huge pages where it is large.
//!
//! A general allocator takes pages one by one: every second block that came into a cache that is not full waited for the kernel to find a page, which in a virtual machine may be ten
//! microseconds, and every look at a block for the processor to find its page again. A block that is longer than a piece is allocated as ever.

use crate::lsm::mapping::Mapping;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Pieces begin at multiples of a line of the processor's cache.
const ALIGN: usize = 64;

/// Memory of a cache, for so many pieces.
pub(super) struct Slab {
    mapping: Mapping,
    piece_bytes: usize,
    pieces: u32,
    /// Those from here on were never given out.
    next: AtomicU32,
}

impl Slab {
    /// For `bytes` in blocks of about `block_bytes`, which may be longer by a small record. `None` where the system has no addresses for it.
    pub(super) fn new(bytes: u64, block_bytes: usize) -> Option<Arc<Self>> {
        let piece_bytes = (block_bytes + block_bytes / 16).checked_next_multiple_of(ALIGN)?.max(ALIGN);
        let pieces = u32::try_from(bytes / piece_bytes as u64).ok()?.max(1);
        let mapping = Mapping::new(piece_bytes.checked_mul(pieces as usize)?)?;
        Some(Arc::new(Self { mapping, piece_bytes, pieces, next: AtomicU32::new(0) }))
    }

    /// Bytes that were given out, if only once: they are resident.
    pub(super) fn taken_bytes(&self) -> u64 {
        self.piece_bytes as u64 * u64::from(self.next.load(Ordering::Relaxed))
    }

    fn take(&self) -> Option<u32> {
        let more = |next| (next < self.pieces).then_some(next + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()
    }

    #[inline]
    fn at(&self, number: u32) -> *mut u8 {
        self.mapping.at(number as usize * self.piece_bytes).as_ptr()
    }
}

/// Pieces of a slab that one owner has: some hold blocks, the others are free.
pub(super) struct Pieces {
    slab: Arc<Slab>,
    free: Vec<u32>,
}

/// A block in one of them: whoever has it is the only one. To be shown only to pieces of the slab that it came from, of which a cache has one.
pub(super) struct Piece {
    number: u32,
    len: u32,
}

impl Pieces {
    /// None yet.
    pub(super) fn of(slab: Arc<Slab>) -> Self {
        Self { slab, free: Vec::new() }
    }

    /// Whether they are of this slab.
    pub(super) fn are_of(&self, slab: &Arc<Slab>) -> bool {
        Arc::ptr_eq(&self.slab, slab)
    }

    /// Bytes that a block has for itself, however short it is.
    pub(super) fn room(&self) -> usize {
        self.slab.piece_bytes
    }

    /// A copy of a block. `None` where it is too long, or no piece is left.
    pub(super) fn copy(&mut self, block: &[u8]) -> Option<Piece> {
        if block.len() > self.room() {
            return None;
        }
        let number = self.free.pop().or_else(|| self.slab.take())?;
        // SAFETY: the piece lies in the mapping, is long enough, and is neither free nor a `Piece` any more or yet: it is this call's.
        unsafe { self.slab.at(number).copy_from_nonoverlapping(block.as_ptr(), block.len()) };
        Some(Piece { number, len: block.len() as u32 })
    }

    /// What was copied.
    #[inline]
    pub(super) fn block(&self, piece: &Piece) -> &[u8] {
        debug_assert!(piece.number < self.slab.pieces);
        // SAFETY: so many bytes were copied there before the piece was made, and nobody writes there until it is given back.
        unsafe { std::slice::from_raw_parts(self.slab.at(piece.number), piece.len as usize) }
    }

    /// Makes it free.
    pub(super) fn give_back(&mut self, piece: Piece) {
        self.free.push(piece.number);
    }
}
