//! Was a key evicted a short while ago? Fingerprints of the last evictions, a few bytes each.
//!
//! ```text
//! slot: | fingerprint, 16 bits | generation, 16 bits |
//! ```
//!
//! The place of a key is given by its hash; a later eviction takes the place of an earlier one that fell on it. A generation is a 256th of as many
//! evictions as there are slots, so what is older than all of them is known to be old. One key in 65,536 that was not evicted is
//! taken for one that was, which lets it stay a little longer than it should.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::shard::Location;
use super::size_class;

pub(super) struct Ghosts {
    slots: Box<[AtomicU32]>,
    evictions: AtomicU64,
}

const GENERATIONS: u64 = 256;
const FEWEST: usize = 256;
const MOST: usize = 1 << 24;

impl Ghosts {
    /// As many slots as suit a cap: with entries of 512 bytes there are as many as entries. They take less than a hundredth of it.
    fn slots_for(cap_bytes: u64) -> usize {
        usize::try_from(cap_bytes / 512).unwrap_or(MOST).clamp(FEWEST, MOST)
    }

    /// Bytes of memory that the fingerprints for a cap occupy.
    pub(super) fn cost_for(cap_bytes: u64) -> u64 {
        size_class::cost(Self::slots_for(cap_bytes) * size_of::<AtomicU32>())
    }

    pub(super) fn new(cap_bytes: u64) -> Self {
        let slots = (0..Self::slots_for(cap_bytes)).map(|_| AtomicU32::new(0)).collect();
        Self { slots, evictions: AtomicU64::new(GENERATIONS) }
    }

    pub(super) fn cost(&self) -> u64 {
        size_class::cost(self.slots.len() * size_of::<AtomicU32>())
    }

    fn generation(&self) -> u16 {
        (self.evictions.load(Relaxed) * GENERATIONS / self.slots.len() as u64) as u16
    }

    /// Where a key belongs, and its fingerprint.
    fn place(&self, location: Location) -> (usize, u16) {
        // Tags and shards are parts of a hash, but each alone is too short: the multiplication spreads them (Knuth, TAOCP vol. 3, §6.4).
        let mixed =
            (u64::from(location.tag) << 20 ^ location.shard as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (((mixed >> 32) as usize * self.slots.len()) >> 32, mixed as u16 ^ (mixed >> 16) as u16)
    }

    /// Notes an eviction.
    pub(super) fn add(&self, location: Location) {
        self.evictions.fetch_add(1, Relaxed);
        let (at, fingerprint) = self.place(location);
        self.slots[at].store(u32::from(fingerprint) << 16 | u32::from(self.generation()), Relaxed);
    }

    /// Whether the key was evicted, as far as is known.
    pub(super) fn has(&self, location: Location) -> bool {
        let (at, fingerprint) = self.place(location);
        let slot = self.slots[at].load(Relaxed);
        let age = self.generation().wrapping_sub(slot as u16);
        slot >> 16 == u32::from(fingerprint) && u64::from(age) <= GENERATIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(number: u32) -> Location {
        let hash = u64::from(number).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(29);
        Location { shard: hash as usize & 63, tag: (hash >> 45) as u32 }
    }

    #[test]
    fn the_last_evictions_are_known_and_old_ones_are_forgotten() {
        let ghosts = Ghosts::new(512 * 4096);
        assert!(
            (0..10_000).filter(|&number| ghosts.has(location(number))).count() < 10,
            "nothing was evicted yet"
        );
        for number in 0..40_000 {
            ghosts.add(location(number));
        }
        let known =
            |range: std::ops::Range<u32>| range.filter(|&number| ghosts.has(location(number))).count();
        // Of the last 1,000 of 4,096 slots an eighth has been overwritten on average.
        assert!(known(39_000..40_000) > 800, "{}", known(39_000..40_000));
        assert!(known(0..30_000) < 30, "{}", known(0..30_000));
        assert!(known(40_000..80_000) < 30, "{}", known(40_000..80_000));
    }
}
