//! In which order were entries accessed? A counter of operations per shard, kept close to a common one.
//!
//! Within a shard the counter goes up by one or more with every access, so the order there is exact. Counters of
//! different shards would not compare: one hot key makes its shard's counter race and its neighbours look old.
//! Therefore all shards count in operations of the whole store: an access takes over the common count where that is
//! ahead, and every so often the shard adds its own operations to it. It does so each time it has served a
//! sixty-fourth of its own population (every time, where it holds fewer than 128 entries). So the common count is
//! behind by what the shards have not reported, at most a sixty-fourth of the entries held, and it is not a cache line
//! that every read writes to.
//!
//! The age of an entry in operations is then `(common − shard) + (shard − stamp)`. Slots hold the lower 32 bits of
//! the stamp; a sweep whenever the shard's count enters another 2^30 pulls older stamps along, so that ages
//! saturate at 2^31 operations instead of wrapping round to young.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The common count, on a cache line of its own.
#[repr(align(128))]
pub(super) struct CommonOrder(AtomicU64);

impl CommonOrder {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }

    #[cfg(test)]
    pub(super) fn jump(&self, by: u64) {
        self.0.fetch_add(by, Relaxed);
    }
}

/// A shard's count.
#[derive(Default)]
pub(super) struct ShardOrder {
    now: u64,
    unreported: u32,
}

const ERA_BITS: u32 = 30;
const OLDEST: u32 = 1 << 31;

impl ShardOrder {
    /// Counts one access; `Some(passed)` asks for [`rebase`] of all the shard's stamps first.
    pub(super) fn tick(&mut self, common: &CommonOrder, population: usize) -> (u32, Option<u64>) {
        let before = self.now;
        self.now = (self.now + 1).max(common.now());
        self.unreported += 1;
        if self.unreported as usize >= population / 64 {
            let own = u64::from(self.unreported);
            self.unreported = 0;
            self.now = self.now.max(common.0.fetch_add(own, Relaxed) + own);
        }
        let passed = (before >> ERA_BITS != self.now >> ERA_BITS).then(|| self.now - before);
        (self.now as u32, passed)
    }

    /// Age of a stamp in operations of the whole store.
    pub(super) fn age(&self, stamp: u32, common_now: u64) -> u64 {
        u64::from((self.now as u32).wrapping_sub(stamp)) + common_now.saturating_sub(self.now)
    }

    /// What a stamp becomes when the count has just moved on by `passed`.
    pub(super) fn rebase(&self, stamp: u32, passed: u64) -> u32 {
        let before = (self.now - passed) as u32;
        let age = u64::from(before.wrapping_sub(stamp)) + passed;
        (self.now as u32).wrapping_sub(age.min(u64::from(OLDEST)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_different_shards_compare() {
        let common = CommonOrder::new();
        let (mut hot, mut cold) = (ShardOrder::default(), ShardOrder::default());
        let (first_in_hot, _) = hot.tick(&common, 1);
        let (in_cold, _) = cold.tick(&common, 1);
        for _ in 0..1000 {
            hot.tick(&common, 1);
        }
        let now = common.now();
        assert_eq!(hot.age(first_in_hot, now), 1001);
        assert_eq!(cold.age(in_cold, now), 1000);
    }

    #[test]
    fn a_shard_reports_once_per_sixty_fourth_of_its_population() {
        let common = CommonOrder::new();
        let mut shard = ShardOrder::default();
        let reports = (0..6400).filter(|_| {
            let before = common.now();
            shard.tick(&common, 640);
            common.now() != before
        });
        assert_eq!(reports.count(), 640);
    }

    #[test]
    fn a_shard_that_slept_wakes_up_with_the_common_time() {
        let common = CommonOrder::new();
        let mut shard = ShardOrder::default();
        shard.tick(&common, 1_000_000);
        common.jump(5000);
        let (stamp, _) = shard.tick(&common, 1_000_000);
        assert_eq!(shard.age(stamp, common.now()), 0);
    }

    #[test]
    fn an_old_stamp_never_looks_young() {
        let common = CommonOrder::new();
        let mut shard = ShardOrder::default();
        let (mut stamp, _) = shard.tick(&common, 1);
        let mut true_age = 0u64;
        // Steps of all sizes up to far beyond 2^32, several rounds of the 32-bit stamp in all.
        for step in [1u64, 1 << 20, 1 << 29, 1 << 30, 3 << 30, 1 << 33, 7, 1 << 31, 1 << 30].repeat(4) {
            common.jump(step);
            let (_, passed) = shard.tick(&common, 1);
            if let Some(passed) = passed {
                stamp = shard.rebase(stamp, passed);
            }
            true_age += step + 1;
            let age = shard.age(stamp, common.now());
            assert!(age <= true_age && age >= true_age.min(u64::from(OLDEST)), "{age} for {true_age}");
        }
    }
}
