//! Which blocks were asked for lately? What comes a second time in a while is worth room that what comes once would waste.

use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};

/// A block of a file, by the number of either.
pub(crate) type BlockKey = (u64, u32);

/// No seed: the store gives out the numbers that are hashed, nobody can choose them to collide.
pub(super) const HASH: FixedState = FixedState::with_seed(0);

/// The hash of a block. None for a file with a number that no store comes to.
pub(super) fn hashed(key: BlockKey) -> Option<u64> {
    packed(key).map(|key| HASH.hash_one(key))
}

/// A [`BlockKey`] in one word. What has a number that no store comes to, beyond four thousand million tables, has none.
pub(super) fn packed((file, block): BlockKey) -> Option<u64> {
    u32::try_from(file).ok().map(|file| u64::from(file) << 32 | u64::from(block))
}

/// Places there are at most, whatever cache it is for: 64 MiB.
const MOST: usize = 1 << 24;

/// Of each block that falls in a place the last one, by a part of its hash.
pub(super) struct Recent(Box<[AtomicU32]>);

impl Recent {
    /// Remembers about so many, in 4 to 8 bytes each; [`MOST`] at most.
    pub(super) fn new(blocks: usize) -> Self {
        Self((0..blocks.clamp(1, MOST).next_power_of_two()).map(|_| AtomicU32::new(0)).collect())
    }

    /// Whether a block with this hash was asked for not long ago. Now it was.
    pub(super) fn again(&self, hash: u64) -> bool {
        let (place, tag) = ((hash >> 32) as usize & (self.0.len() - 1), hash as u32 | 1);
        self.0[place].swap(tag, Ordering::Relaxed) == tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_again_is_known_unless_another_has_its_place() {
        let recent = Recent::new(500);
        let known = || (0..100).filter(|block| recent.again(hashed((7, *block)).unwrap())).count();
        assert_eq!(known(), 0);
        let again = known();
        assert!(again > 70, "{again}");
    }

    #[test]
    fn of_far_more_than_it_remembers_few_are_known() {
        let recent = Recent::new(500);
        let mut random = fastrand::Rng::with_seed(1);
        let known = (0..100_000)
            .filter(|_| recent.again(hashed((random.u64(0..10), random.u32(0..1_000))).unwrap()))
            .count();
        assert!(known < 10_000, "{known}");
    }
}
