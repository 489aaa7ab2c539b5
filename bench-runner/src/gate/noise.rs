//! How small a change can the gate find where blocks scatter so much, and how many blocks does it take?

use super::rule::Rules;
use crate::model::GateClass;
use crate::stats::minimal_detectable_ratio;
use statrs::distribution::{ContinuousCDF, Normal};

/// The deviation of the median of n normal values is this over √n of one value's: √(π/2).
const MEDIAN_SPREAD: f64 = 1.253_314_137_315_500_3;
/// Found this often: what the smallest detectable change stands for.
const POWER: f64 = 0.8;
/// A confirmation of the least length.
const BLOCKS: u32 = 16;
/// Where blocks scatter widely, or many scenarios share the error.
const MORE_BLOCKS: u32 = 30;
/// Where they scatter more widely still.
const MOST_BLOCKS: u32 = 40;
/// From this block deviation on it takes more blocks.
const WIDE: f64 = 0.05;
/// From this one on it takes the most.
const WIDER: f64 = 0.065;
/// With more scenarios in the confirm stage, sixteen blocks cannot pass Holm's correction at one adverse block.
const MANY: usize = 23;

/// How the blocks of a scenario scatter where nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of a block's log ratio.
    pub block_sd: f64,
    /// Blocks that are judged.
    pub blocks: u32,
}

impl Noise {
    /// With as many blocks as a confirmation takes where `reached` scenarios get that far.
    #[must_use]
    pub fn new(block_sd: f64, reached: usize) -> Self {
        let blocks = match block_sd {
            sd if sd >= WIDER => MOST_BLOCKS,
            sd if sd >= WIDE || reached > MANY => MORE_BLOCKS,
            _ => BLOCKS,
        };
        Self { block_sd, blocks }
    }

    /// Standard deviation of the median of the blocks, in log space.
    #[must_use]
    pub fn median_sd(&self) -> f64 {
        MEDIAN_SPREAD * self.block_sd / f64::from(self.blocks.max(1)).sqrt()
    }

    /// The least change that is called, as a ratio above one.
    #[must_use]
    pub fn limit(&self, rules: &Rules) -> f64 {
        rules.floor.max((rules.noise_multiple * self.median_sd()).exp())
    }

    /// The smallest change that is found four times in five, as a ratio above one: large enough for the limit and
    /// for the sign test. None where the sign test can never call anything.
    #[must_use]
    pub fn detectable(&self, rules: &Rules) -> Option<f64> {
        let by_sign = minimal_detectable_ratio(self.block_sd, self.blocks, rules.sign_alpha, POWER)?;
        let margin = Normal::standard().inverse_cdf(POWER) * self.median_sd();
        Some(by_sign.max(self.limit(rules) * margin.exp()))
    }

    /// What a verdict at this noise is good for.
    #[must_use]
    pub fn class(&self, rules: &Rules) -> GateClass {
        match self.detectable(rules) {
            Some(ratio) if ratio <= 1.05 => GateClass::Gated,
            Some(ratio) if ratio <= 1.08 => GateClass::GatedAt8,
            _ => GateClass::Advisory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_is_as_long_as_the_noise_asks_for() {
        for (block_sd, reached, blocks) in
            [(0.01, 6, 16), (0.049, 23, 16), (0.02, 24, 30), (0.05, 1, 30), (0.065, 1, 40), (0.2, 40, 40)]
        {
            assert_eq!(Noise::new(block_sd, reached).blocks, blocks, "{block_sd} {reached}");
        }
    }

    #[test]
    fn the_median_of_sixteen_scatters_by_a_third_of_a_block() {
        let sd = Noise::new(0.01, 1).median_sd() / 0.01;
        assert!((sd - 0.3133).abs() < 1e-4, "{sd}");
    }

    #[test]
    fn the_limit_is_the_floor_until_the_noise_is_larger() {
        let rules = Rules::default();
        assert_eq!(Noise::new(0.02, 1).limit(&rules), 1.03);
        let wide = Noise { block_sd: 0.08, blocks: 16 }.limit(&rules);
        assert!((wide.ln() - 3.0 * 0.3133 * 0.08).abs() < 1e-4, "{wide}");
    }

    #[test]
    fn quiet_scenarios_are_gated_and_noisy_ones_advise() {
        let class = |block_sd| Noise::new(block_sd, 6).class(&Rules::default());
        assert_eq!(class(0.0), GateClass::Gated);
        assert_eq!(class(0.03), GateClass::Gated);
        assert_eq!(class(0.049), GateClass::GatedAt8);
        assert_eq!(class(0.2), GateClass::Advisory);
    }
}
