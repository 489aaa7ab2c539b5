//! Where did the slots of each shard lie when somebody last looked? Known beside the shards' locks, so that memory can be asked for without
//! waiting for the shard's own. A hint that is out of date asks in vain, and nothing else.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::slots::Slot;
use super::table::home;
use crate::prefetch;

/// A word for each shard of the first keyspace: the upper 42 bits of an address of 48, slots being aligned to 64 bytes at least, and 22 bits of a number of slots; 0
/// where nothing is known.
pub(super) struct Hints(Box<[AtomicU64]>);

const ALIGN: usize = 64;
const MOST_SLOTS: u64 = (1 << 22) - 1;
const ADDRESS_SHIFT: u32 = 64 - 48;

impl Hints {
    pub(super) fn new(shards: usize) -> Self {
        Self((0..shards).map(|_| AtomicU64::new(0)).collect())
    }

    /// Bytes that the hints for so many shards take.
    pub(super) fn bytes(shards: usize) -> usize {
        shards * size_of::<AtomicU64>()
    }

    /// Asks for the line in which a search for `tag` begins.
    pub(super) fn prefetch(&self, shard: usize, tag: u32) {
        if let Some(hint) = self.0.get(shard) {
            prefetch::read(place(hint.load(Relaxed), tag));
        }
    }

    /// Notes where a shard's slots are.
    pub(super) fn note(&self, shard: usize, slots: &[Slot]) {
        let Some(word) = self.0.get(shard) else { return };
        let hint = hint(slots.as_ptr(), slots.len());
        // Written only when it changes: the line is other shards' too.
        if word.load(Relaxed) != hint {
            word.store(hint, Relaxed);
        }
    }
}

fn hint(start: *const Slot, len: usize) -> u64 {
    let len = len as u64;
    if len == 0 || len > MOST_SLOTS { 0 } else { (start.addr() as u64) << ADDRESS_SHIFT | len }
}

fn place(hint: u64, tag: u32) -> *const Slot {
    let start = (hint >> ADDRESS_SHIFT) as usize & !(ALIGN - 1);
    std::ptr::without_provenance::<Slot>(start).wrapping_add(home(tag, (hint & MOST_SLOTS) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::slots::TAG_BITS;

    #[test]
    fn a_hint_leads_to_where_the_search_begins() {
        for (start, len) in [(64, 8), (0x7fff_ffff_ffc0, 1), (0x7f12_3456_7000, MOST_SLOTS as usize)] {
            let start = std::ptr::without_provenance::<Slot>(start);
            for tag in [0, 1, 77_777, (1 << TAG_BITS) - 1] {
                assert_eq!(
                    place(hint(start, len), tag),
                    start.wrapping_add(home(tag, len)),
                    "{start:?} {len}"
                );
            }
        }
    }

    #[test]
    fn what_no_hint_can_say_is_not_said() {
        let start = std::ptr::without_provenance::<Slot>(4096);
        assert_eq!(hint(start, 0), 0);
        assert_eq!(hint(start, MOST_SLOTS as usize + 1), 0);
        let hints = Hints::new(2);
        hints.prefetch(1, 5);
        hints.note(1, &[]);
        assert_eq!(hints.0[1].load(Relaxed), 0);
    }
}
