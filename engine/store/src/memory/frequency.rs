//! How often was an entry accessed, with old accesses counting less? Eight bits of logarithm, as Redis keeps them.
//!
//! ```text
//! stamp: | 8 bits 0 | minutes, 16 bits | counter, 8 bits |
//! ```
//!
//! An access raises the counter with the chance 1 / (10 · (counter − 5) + 1), so that 255 stands for about a million accesses; each minute without
//! one takes 1 off. A new entry begins with 5, so that it has time to be accessed before it is compared. The constants are
//! [Redis's defaults](https://redis.io/docs/latest/develop/reference/eviction/#lfu-eviction).

const BEGINNING: u8 = 5;
const FACTOR: f64 = 10.0;

fn minutes(now_ms: u64) -> u16 {
    (now_ms / 60_000) as u16
}

pub(super) fn fresh(now_ms: u64) -> u32 {
    u32::from(minutes(now_ms)) << 8 | u32::from(BEGINNING)
}

/// The counter as of now.
pub(super) fn counter(stamp: u32, now_ms: u64) -> u8 {
    let passed = minutes(now_ms).wrapping_sub((stamp >> 8) as u16);
    (stamp as u8).saturating_sub(u8::try_from(passed).unwrap_or(u8::MAX))
}

/// The stamp after an access; `chance` is random in 0..1.
pub(super) fn accessed(stamp: u32, now_ms: u64, chance: f64) -> u32 {
    let counter = counter(stamp, now_ms);
    let above = f64::from(counter.saturating_sub(BEGINNING));
    let raised = counter.saturating_add(u8::from(chance * (above * FACTOR + 1.0) < 1.0));
    u32::from(minutes(now_ms)) << 8 | u32::from(raised)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_accesses_saturate_and_a_hundred_do_not() {
        let mut rng = fastrand::Rng::with_seed(1);
        let after = |accesses: u32, rng: &mut fastrand::Rng| {
            (0..accesses).fold(fresh(0), |stamp, _| accessed(stamp, 0, rng.f64()))
        };
        // Redis's own table for a factor of 10: 10 after 100, 18 after 1,000, 142 after 100,000, 255 after a million.
        for (accesses, low, high) in
            [(100, 8, 13), (1_000, 14, 23), (100_000, 130, 155), (1_000_000, 255, 255)]
        {
            let counter = counter(after(accesses, &mut rng), 0);
            assert!((low..=high).contains(&counter), "{counter} after {accesses} accesses");
        }
    }

    #[test]
    fn minutes_take_it_down() {
        let stamp = fresh(0) + 20;
        assert_eq!(counter(stamp, 0), 25);
        assert_eq!(counter(stamp, 10 * 60_000), 15);
        assert_eq!(counter(stamp, 300 * 60_000), 0);
        // The minutes wrap round after 45 days; an entry that old has a counter of 0 or is taken for younger than it is.
        assert_eq!(counter(stamp, 65_536 * 60_000), 25);
    }
}
