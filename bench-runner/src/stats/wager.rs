//! How strong is the evidence that blocks are above zero, at whatever moment one looks?
//!
//! Under "no difference" the sign of a block is a fair coin, given its size and all blocks before it: which side plays
//! which part in a block is drawn, so neither a drift of the machine nor heavy tails can make one sign likelier. A player who
//! bets the share b < 1 of what they have on the sign "+" then multiplies it by 1 + b or 1 − b, and on average keeps what
//! they have. By Ville's inequality they ever reach 1/α times their stake with probability α at most, however often one
//! looks and whenever one stops. See G. Shafer 2021, *Testing by betting*, <https://doi.org/10.1111/rssa.12647>, and
//! S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon 2021, <https://doi.org/10.1214/20-AOS1991>.
//!
//! The share may depend on the size of this block and of those before it, but on no later one: a large block is worth a
//! larger bet. It is tanh(r·|x|/s), the share that is best for normal blocks whose mean is r·σ²/s; s is 1.4826 times the
//! median size so far. Three players bet with three rates r. A fourth bets half of
//! its stake on each block, because with many bursts a large block says less than a small one, and a player who bets
//! everything on large blocks is soon ruined. The evidence is the mean of the four stakes. No single block more than
//! doubles it, so no burst decides alone.

use statrs::distribution::{ContinuousCDF, Normal};
use std::f64::consts::PI;

/// Rates of the players that look at sizes: for changes of about 0.7, 1.1 and 2 deviations of a block.
const RATES: [f64; 3] = [1.0, 2.0, 5.0];
/// What the player that looks at signs only bets: for changes that three blocks of four show.
const SIGN_SHARE: f64 = 0.5;
const PLAYERS: usize = RATES.len() + 1;
/// Median absolute value to standard deviation, for normal values around zero.
const TO_SD: f64 = 1.482_602_218_505_602;

/// The largest share: a player who bets all they have is out with the first adverse block.
const MOST: f64 = 0.999;

/// A bet that blocks are above zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wager {
    /// Sizes of the blocks so far, rising.
    sizes: Vec<f64>,
    /// Logarithm of what each player has.
    logs: [f64; PLAYERS],
}

impl Wager {
    /// One more block. What is no number says nothing.
    pub fn take(&mut self, block: f64) {
        if !block.is_finite() {
            return;
        }
        let size = block.abs();
        let place = self.sizes.partition_point(|one| *one < size);
        self.sizes.insert(place, size);
        let scale = self.middle() * TO_SD;
        if size == 0.0 {
            return;
        }
        // With a scale of zero the size is infinitely many of it.
        let by_size = |rate: f64| if scale > 0.0 { (rate * size / scale).tanh().min(MOST) } else { MOST };
        let shares = RATES.into_iter().map(by_size).chain([SIGN_SHARE]);
        for (share, log) in shares.zip(&mut self.logs) {
            *log += if block > 0.0 { share.ln_1p() } else { (-share).ln_1p() };
        }
    }

    /// How many times the stake the players have, in logarithm. Zero before the first block.
    #[must_use]
    pub fn log_evidence(&self) -> f64 {
        let most = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = self.logs.iter().map(|log| (log - most).exp()).sum::<f64>() / PLAYERS as f64;
        most + mean.ln()
    }

    fn middle(&self) -> f64 {
        let n = self.sizes.len();
        if n % 2 == 1 { self.sizes[n / 2] } else { f64::midpoint(self.sizes[n / 2 - 1], self.sizes[n / 2]) }
    }
}

/// An interval of the median of blocks that is `sure` to hold it whenever one stops: what it leaves out is what a bet has
/// disproved. None where there are too few blocks for that.
#[must_use]
pub fn interval(blocks: &[f64], sure: f64) -> Option<[f64; 2]> {
    let log_needed = (2.0 / (1.0 - sure)).ln();
    let low = lowest(blocks, log_needed)?;
    let turned: Vec<f64> = blocks.iter().map(|block| -block).collect();
    Some([low, -lowest(&turned, log_needed)?])
}

/// The lowest median that is not disproved.
fn lowest(blocks: &[f64], log_needed: f64) -> Option<f64> {
    /// Places that are tried.
    const PLACES: u32 = 256;
    let least = blocks.iter().copied().min_by(f64::total_cmp)?;
    let most = blocks.iter().copied().max_by(f64::total_cmp)?;
    let middle = super::median(blocks)?;
    let begin = least - (most - least) - 1e-6;
    let is_disproved = |median: f64| {
        let mut wager = Wager::default();
        blocks.iter().for_each(|block| wager.take(block - median));
        wager.log_evidence() >= log_needed
    };
    let place = |number: u32| begin + (middle - begin) * f64::from(number) / f64::from(PLACES);
    let first = (0..=PLACES).find(|number| !is_disproved(place(*number)))?;
    (first > 0).then(|| place(first - 1))
}

/// How values go with those before them: their correlation at a distance of one. None below eight values, or where all are
/// the same.
#[must_use]
pub fn lag_1(values: &[f64]) -> Option<f64> {
    const LEAST: usize = 8;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    // What rounding leaves of values that are all the same is nothing.
    (values.len() >= LEAST && squares > (mean * 1e-9).powi(2)).then(|| products / squares)
}

/// The mean of normal blocks, in standard deviations of one, at which `blocks` of them bring the evidence to
/// exp(`log_needed`) with probability `power`. None where no mean up to ten does. The evidence at the end is taken to be
/// normal, and that of the best player; it can only be reached sooner.
#[must_use]
pub fn mean_found(blocks: usize, log_needed: f64, power: f64) -> Option<f64> {
    let wanted = Normal::standard().inverse_cdf(power);
    let needed = log_needed + (PLAYERS as f64).ln();
    let n = blocks as f64;
    let is_found = |mean: f64| {
        RATES.iter().any(|rate| {
            let (growth, deviation) = growth(mean, *rate);
            n * growth - wanted * n.sqrt() * deviation >= needed
        })
    };
    let (mut low, mut high) = (0.0, 10.0);
    if !is_found(high) {
        return None;
    }
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if is_found(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Mean and standard deviation of what one block adds to the logarithm, where blocks are normal with the deviation one.
fn growth(mean: f64, rate: f64) -> (f64, f64) {
    const STEP: f64 = 0.05;
    let scale = TO_SD * middle_size(mean);
    let (mut first, mut second) = (0.0, 0.0);
    for place in -160..=160 {
        let z = f64::from(place) * STEP;
        let weight = (-z * z / 2.0).exp() / (2.0 * PI).sqrt() * STEP;
        let block = mean + z;
        let share = (rate * block.abs() / scale).tanh().min(MOST);
        let added = if block > 0.0 { share.ln_1p() } else { (-share).ln_1p() };
        first += weight * added;
        second += weight * added * added;
    }
    (first, (second - first * first).max(0.0).sqrt())
}

/// Median of |x|, x normal with the deviation one.
fn middle_size(mean: f64) -> f64 {
    let normal = Normal::standard();
    let (mut low, mut high) = (0.0, mean.abs() + 10.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if normal.cdf(middle - mean) - normal.cdf(-middle - mean) < 0.5 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(blocks: &[f64]) -> f64 {
        let mut wager = Wager::default();
        blocks.iter().for_each(|block| wager.take(*block));
        wager.log_evidence()
    }

    #[test]
    fn nothing_is_known_before_the_first_block_and_no_block_more_than_doubles_it() {
        assert_eq!(Wager::default().log_evidence(), 0.0);
        assert_eq!(after(&[0.0, f64::NAN, f64::INFINITY]), 0.0);
        let mut wager = Wager::default();
        for block in [0.01, 5.0, 0.02, 100.0] {
            let before = wager.log_evidence();
            wager.take(block);
            assert!(wager.log_evidence() - before <= 2.0_f64.ln(), "{block}");
        }
    }

    #[test]
    fn blocks_of_one_mind_are_worth_almost_a_doubling_each() {
        let log = after(&[0.05; 14]);
        assert!(log > 1_200.0_f64.ln() && log < 14.0 * 2.0_f64.ln(), "{log}");
        assert!(after(&[-0.05; 14]) < -10.0);
        // One adverse block does not end it.
        assert!(after(&[&[0.05; 10][..], &[-0.05], &[0.05; 10]].concat()) > 4.0);
    }

    /// Slow requests: most blocks say "less", and one of five is a burst that says "more", eight times as large.
    #[test]
    fn bursts_against_it_do_not_use_up_what_most_blocks_say() {
        let blocks: Vec<f64> = (0..80)
            .map(|place| if place % 5 == 4 { -5.0 } else { 0.6 + 0.02 * f64::from(place % 7) })
            .collect();
        assert!(after(&blocks) > 40.0_f64.ln(), "{}", after(&blocks));
    }

    /// However often one looks: the interval must hold the truth after every block.
    #[test]
    fn the_interval_holds_the_median_at_every_moment() {
        let (mut random, normal) = (fastrand::Rng::with_seed(8), Normal::standard());
        let walks = 200;
        let missed = (0..walks)
            .filter(|_| {
                let blocks: Vec<f64> =
                    (0..60).map(|_| 0.03 + 0.02 * normal.inverse_cdf(random.f64().max(1e-12))).collect();
                (8..=60).step_by(4).any(|count| {
                    interval(&blocks[..count], 0.95).is_some_and(|[low, high]| !(low..=high).contains(&0.03))
                })
            })
            .count();
        // One in twenty, and three standard errors of it.
        assert!(missed <= 20, "{missed} of {walks}");
        assert_eq!(interval(&[0.1; 4], 0.95), None);
        assert_eq!(interval(&[], 0.95), None);
        let [low, high] = interval(&[0.1; 20], 0.95).unwrap();
        assert!((low - 0.1).abs() < 1e-5 && (high - 0.1).abs() < 1e-5, "{low} {high}");
    }

    #[test]
    fn values_that_follow_each_other_are_told_from_those_that_do_not() {
        let slow: Vec<f64> = (0..40).map(|place| (f64::from(place) / 5.0).sin()).collect();
        let turns: Vec<f64> = (0..40).map(|place| if place % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let mut random = fastrand::Rng::with_seed(9);
        let drawn: Vec<f64> = (0..400).map(|_| random.f64()).collect();
        assert!(lag_1(&slow).unwrap() > 0.8 && lag_1(&turns).unwrap() < -0.8);
        assert!(lag_1(&drawn).unwrap().abs() < 0.15);
        assert_eq!((lag_1(&[0.1; 20]), lag_1(&[1.0, 2.0])), (None, None));
    }

    #[test]
    fn the_units_do_not_matter() {
        let blocks = [0.01, -0.02, 0.05, 0.03, 0.04, -0.01, 0.02];
        let scaled: Vec<f64> = blocks.iter().map(|one| one * 1_000.0).collect();
        assert!((after(&blocks) - after(&scaled)).abs() < 1e-9);
    }

    /// The promise: of walks without a direction one in twenty ever reaches twenty, whatever their sizes do.
    #[test]
    fn a_fair_coin_seldom_looks_like_evidence_however_often_one_looks() {
        type Size = fn(&mut fastrand::Rng, usize) -> f64;
        let sizes: [(&str, Size); 4] = [
            ("even", |random, _| 0.5 + random.f64()),
            ("heavy tails", |random, _| 1.0 / (1.0 - random.f64())),
            ("rising", |_, place| 1.5_f64.powi(i32::try_from(place % 40).unwrap())),
            ("bursts", |random, place| if place % 10 < 3 { 30.0 } else { random.f64() }),
        ];
        let mut random = fastrand::Rng::with_seed(5);
        for (name, size) in sizes {
            let walks = 4_000;
            let reached = (0..walks)
                .filter(|_| {
                    let mut wager = Wager::default();
                    (0..120).any(|place| {
                        let size = size(&mut random, place);
                        wager.take(if random.bool() { size } else { -size });
                        wager.log_evidence() >= 20.0_f64.ln()
                    })
                })
                .count();
            // 5 %, and four standard errors of it.
            assert!(reached as f64 / f64::from(walks) <= 0.05 + 0.014, "{name}: {reached} of {walks}");
        }
    }

    #[test]
    fn the_mean_that_is_found_is_found_as_often_as_it_says() {
        let mean = mean_found(40, 1_200.0_f64.ln(), 0.8).unwrap();
        assert!((0.7..1.2).contains(&mean), "{mean}");
        assert!(mean_found(80, 1_200.0_f64.ln(), 0.8).unwrap() < mean);
        assert_eq!(mean_found(8, 1_200.0_f64.ln(), 0.8), None);
        let mut random = fastrand::Rng::with_seed(6);
        let normal = Normal::standard();
        let found = (0..1_000)
            .filter(|_| {
                let mut wager = Wager::default();
                (0..40).any(|_| {
                    wager.take(mean + normal.inverse_cdf(random.f64().max(1e-12)));
                    wager.log_evidence() >= 1_200.0_f64.ln()
                })
            })
            .count();
        assert!(found >= 780, "{found} of 1000");
    }
}
