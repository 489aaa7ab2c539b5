//! Which record is next? Shuffled without a table, uniform, or by Zipf's law: all from a seed.
//!
//! No list of indices is kept, since its memory would be counted as the engine's.

use crate::protocol::Distribution;

/// Exponent of the Zipf distribution, as in YCSB.
const ZIPF_EXPONENT: f64 = 0.99;
const ROUNDS: u64 = 4;

/// A shuffle of `0..count` that is computed, not stored: a Feistel network over the next power of four, walked until
/// it lands inside (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
#[derive(Debug, Clone, Copy)]
pub struct Shuffle {
    count: u64,
    half_bits: u32,
    seed: u64,
}

impl Shuffle {
    /// A shuffle of `0..count`, up to 2^62.
    #[must_use]
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self { count, half_bits: bits.div_ceil(2).max(1), seed }
    }

    /// Where `index` (below `count`) goes.
    #[must_use]
    pub fn at(&self, index: u64) -> u64 {
        let mut place = self.round_trip(index);
        while place >= self.count {
            place = self.round_trip(place);
        }
        place
    }

    fn round_trip(&self, index: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (index >> self.half_bits, index & mask);
        for round in 0..ROUNDS {
            let mixed = mix(right ^ self.seed.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            (left, right) = (right, left ^ (mixed & mask));
        }
        (left << self.half_bits) | right
    }
}

/// The finaliser of splitmix64.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Draws indices below a count.
#[derive(Debug, Clone)]
pub struct Draw {
    random: fastrand::Rng,
    count: u64,
    zipf: Option<(Zipf, Shuffle)>,
}

impl Draw {
    /// Draws below `count`, at least 1; `seed` tells threads apart, `scatter` says where Zipf's ranks lie and is the
    /// same for all threads.
    #[must_use]
    pub fn new(distribution: Distribution, count: u64, seed: u64, scatter: u64) -> Self {
        let zipf = match distribution {
            Distribution::Uniform => None,
            Distribution::Zipf => Some((Zipf::new(count, ZIPF_EXPONENT), Shuffle::new(count, scatter))),
        };
        Self { random: fastrand::Rng::with_seed(seed), count, zipf }
    }

    /// The next index.
    pub fn index(&mut self) -> u64 {
        match &self.zipf {
            None => self.random.u64(..self.count),
            Some((zipf, shuffle)) => shuffle.at(zipf.rank(&mut self.random) - 1),
        }
    }

    /// A rank, from 1: 1 is drawn most often. Of a uniform draw any with the same chance.
    pub fn rank(&mut self) -> u64 {
        match &self.zipf {
            None => 1 + self.random.u64(..self.count),
            Some((zipf, _)) => zipf.rank(&mut self.random),
        }
    }

    /// Any number below `limit`, at least 1, with the same chance.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.random.u64(..limit)
    }

    /// True in `percent` of 100 calls.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.random.u32(..100) < percent
    }
}

/// Zipf's law over ranks from 1, by rejection-inversion: constant time and memory for any count
/// (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", 1996).
#[derive(Debug, Clone, Copy)]
struct Zipf {
    count: f64,
    exponent: f64,
    area_low: f64,
    area_high: f64,
    sure: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Self { count: count as f64, exponent, area_low: 0.0, area_high: 0.0, sure: 0.0 };
        zipf.area_low = zipf.area(1.5) - 1.0;
        zipf.area_high = zipf.area(zipf.count + 0.5);
        zipf.sure = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    fn height(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// Integral of the height, up to a constant.
    fn area(&self, x: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        (rest * x.ln()).exp_m1() / rest
    }

    fn area_inverse(&self, area: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        ((area * rest).ln_1p() / rest).exp()
    }

    fn rank(&self, random: &mut fastrand::Rng) -> u64 {
        loop {
            let area = self.area_high + random.f64() * (self.area_low - self.area_high);
            let x = self.area_inverse(area);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.sure || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shuffle_visits_every_index_once(count in 1u64..3_000, seed: u64) {
            let shuffle = Shuffle::new(count, seed);
            let mut seen: Vec<u64> = (0..count).map(|index| shuffle.at(index)).collect();
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..count));
        }
    }

    #[test]
    fn a_shuffle_is_no_run_of_neighbours() {
        let shuffle = Shuffle::new(100_000, 7);
        let neighbours = (1..100_000).filter(|i| shuffle.at(*i) == shuffle.at(*i - 1) + 1).count();
        assert!(neighbours < 20, "{neighbours}");
    }

    #[test]
    fn zipf_draws_each_rank_as_often_as_its_law_says() {
        let (count, draws) = (1_000u64, 400_000);
        let zipf = Zipf::new(count, ZIPF_EXPONENT);
        let mut random = fastrand::Rng::with_seed(11);
        let mut seen = vec![0u32; count as usize + 1];
        for _ in 0..draws {
            seen[zipf.rank(&mut random) as usize] += 1;
        }
        let whole: f64 = (1..=count).map(|rank| (rank as f64).powf(-ZIPF_EXPONENT)).sum();
        for rank in [1, 2, 3, 10, 100, 500] {
            let expected = f64::from(draws) * (rank as f64).powf(-ZIPF_EXPONENT) / whole;
            let off = (f64::from(seen[rank]) - expected).abs() / expected.sqrt();
            assert!(off < 5.0, "rank {rank}: {} for {expected:.0}", seen[rank]);
        }
    }

    #[test]
    fn zipf_of_one_record_is_that_record() {
        let mut draw = Draw::new(Distribution::Zipf, 1, 3, 4);
        assert!((0..100).all(|_| draw.index() == 0));
    }
}
