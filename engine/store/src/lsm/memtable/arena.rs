//! Where do the versions and pages of a memtable lie? One after the other in one mapping of a fixed size, addressed by their distance from its beginning, and all of them go at once.
//!
//! One thread at a time takes memory ([`Arena::take`]); any number read what was published to them. What lies here is written before it is published, by atomics, and neither changed nor
//! moved nor given back afterwards, so a reference lasts as long as the arena. Then the memory goes to the next one, if there is a [`Recycler`].

use super::recycler::{Recycled, Recycler};
use crate::lsm::mapping::Mapping;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All begins at multiples of it.
pub(super) const ALIGN: usize = 8;

/// So many bytes become resident together, where pages are small.
const STEP: usize = 256 << 10;

pub(super) struct Arena {
    mapping: Mapping,
    used: AtomicUsize,
    /// Up to here pages are resident, or become so by themselves.
    resident: AtomicUsize,
    /// Up to here an earlier arena may have written: it is zeroed when it is taken.
    dirty: usize,
    /// Where the mapping goes in the end.
    recycler: Option<Arc<Recycler>>,
}

impl Arena {
    /// Room for so many bytes, in the memory that an earlier arena of the recycler had, where it has one of this length. `None` where the system has no addresses for them.
    pub(super) fn new(capacity: usize, recycler: Option<&Arc<Recycler>>) -> Option<Self> {
        let recycled = recycler.and_then(|recycler| recycler.take(capacity));
        let Recycled { mapping, resident, dirty } = match recycled {
            Some(recycled) => recycled,
            None => {
                let mapping = Mapping::new(capacity)?;
                let resident = if mapping.is_in_small_pages() { 0 } else { usize::MAX };
                Recycled { mapping, resident, dirty: 0 }
            }
        };
        // Offset 0 stands for "none".
        let (used, resident) = (AtomicUsize::new(ALIGN), AtomicUsize::new(resident));
        Some(Self { mapping, used, resident, dirty, recycler: recycler.map(Arc::clone) })
    }

    /// Bytes taken.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The offset of `len` bytes, zeroed, that nobody else has, at a multiple of `align`, a power of two. Only one thread at a time may be in here. `None` where they are not left.
    pub(super) fn take(&self, len: usize, align: usize) -> Option<usize> {
        let at = self.used().checked_next_multiple_of(align)?;
        let end = at.checked_add(len)?.checked_next_multiple_of(ALIGN)?;
        if end > self.mapping.len() {
            return None;
        }
        if end > self.resident.load(Ordering::Relaxed) {
            self.make_resident(end);
        }
        if at < self.dirty {
            // SAFETY: the range is inside the mapping, and was not handed out before.
            unsafe { self.at(at).write_bytes(0, end.min(self.dirty) - at) };
        }
        self.used.store(end, Ordering::Relaxed);
        Some(at)
    }

    #[cold]
    fn make_resident(&self, end: usize) {
        let upto = end.next_multiple_of(STEP);
        self.mapping.make_resident(self.resident.load(Ordering::Relaxed)..upto);
        self.resident.store(upto, Ordering::Relaxed);
    }

    /// The address of an offset.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> NonNull<u8> {
        self.mapping.at(offset)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(recycler) = self.recycler.take() {
            let (used, resident) = (*self.used.get_mut(), *self.resident.get_mut());
            recycler.put(Recycled { mapping: self.mapping.take(), resident, dirty: used.max(self.dirty) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recycled_arena_gives_zeroed_bytes_at_the_same_addresses() {
        let recycler = Arc::new(Recycler::default());
        let first = Arena::new(100_000, Some(&recycler)).unwrap();
        let at = first.take(50_000, ALIGN).unwrap();
        let address = first.at(at);
        // SAFETY: the bytes were taken above.
        unsafe { address.write_bytes(7, 50_000) };
        drop(first);
        let second = Arena::new(100_000, Some(&recycler)).unwrap();
        for len in [1, 7, 4_096, 70_000] {
            let at = second.take(len, ALIGN).unwrap();
            // SAFETY: the bytes were taken above, and are written nowhere else.
            let bytes = unsafe { std::slice::from_raw_parts(second.at(at).as_ptr(), len) };
            assert!(bytes.iter().all(|byte| *byte == 0), "{len} bytes");
        }
        assert_eq!(second.at(at), address, "the memory is the same");
        let third = Arena::new(100_000, Some(&recycler)).unwrap();
        assert_ne!(third.at(at), address, "the second one has it still");
    }

    #[test]
    fn what_a_shorter_arena_left_untouched_stays_dirty() {
        let recycler = Arc::new(Recycler::default());
        for len in [90_000, 16, 90_000] {
            let arena = Arena::new(100_000, Some(&recycler)).unwrap();
            let at = arena.take(len, ALIGN).unwrap();
            // SAFETY: the bytes were taken above, and are written nowhere else.
            let bytes = unsafe { std::slice::from_raw_parts_mut(arena.at(at).as_ptr(), len) };
            assert!(bytes.iter().all(|byte| *byte == 0), "{len} bytes");
            bytes.fill(7);
        }
    }
}
