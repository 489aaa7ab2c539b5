//! How do the blocks of a series scatter, and how small a change can be found there?

use super::rule::{Limits, Rules};
use crate::stats::{mean_found, median};

/// Found this often: what the smallest detectable change stands for.
const POWER: f64 = 0.8;
/// Median absolute deviation to standard deviation, for normal values.
const MAD_TO_SD: f64 = 1.482_602_218_505_602;
/// No machine is taken to be quieter than this.
const QUIETEST: f64 = 0.005;

/// How blocks scatter around their own middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of a block's log ratio.
    pub block_sd: f64,
}

impl Noise {
    /// Of blocks: robust, so that one burst does not hide a change. One below three blocks, which say nothing.
    #[must_use]
    pub fn of(blocks: &[f64]) -> Self {
        let n = blocks.len() as f64;
        let residuals = median(blocks)
            .filter(|_| blocks.len() > 2)
            .map(|middle| blocks.iter().map(|block| (block - middle).abs()).collect::<Vec<_>>());
        // The median of few residuals is too close to zero.
        let sd = residuals.and_then(|all| median(&all)).map(|mad| mad * MAD_TO_SD * (n / (n - 1.0)).sqrt());
        Self { block_sd: sd.map_or(1.0, |sd| sd.max(QUIETEST)) }
    }

    /// The smallest change that is found four times in five with the blocks of the plan, in standard deviations of a block. None
    /// where none is.
    #[must_use]
    pub fn reach(series: usize, rules: &Rules) -> Option<f64> {
        mean_found(rules.blocks_max, rules.log_called(series), POWER)
    }

    /// The same as a ratio above one.
    #[must_use]
    pub fn detectable(&self, limits: &Limits, reach: Option<f64>) -> Option<f64> {
        Some((reach? * self.block_sd).exp().max(limits.called))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_burst_does_not_raise_the_noise_much() {
        let quiet = [0.01, -0.01, 0.0, 0.012, -0.008, 0.004, -0.004, 0.009];
        let with_burst = [&quiet[..], &[0.5]].concat();
        let (one, other) = (Noise::of(&quiet).block_sd, Noise::of(&with_burst).block_sd);
        assert!((0.006..0.02).contains(&one) && other < one * 1.7, "{one} {other}");
        assert_eq!(Noise::of(&[0.0; 20]).block_sd, QUIETEST);
        assert_eq!(Noise::of(&[0.1, 0.2]).block_sd, 1.0);
    }

    #[test]
    fn quiet_series_find_less_and_wild_ones_nothing_useful() {
        let reach = Noise::reach(12, &Rules::default());
        let found = |block_sd| Noise { block_sd }.detectable(&Limits::TIME, reach).unwrap();
        assert_eq!(found(0.005), 1.02);
        assert!(found(0.045) < 1.05, "{}", found(0.045));
        assert!(found(0.045) < found(0.1) && found(0.3) > 1.15);
    }
}
