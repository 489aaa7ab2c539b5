//! How often does the rule find a change, and how often does it cry wolf? The code that judges, given blocks of which the truth is
//! known.

use super::noise::Noise;
use super::rule::{Confirmed, Rules, goes_on, judge};
use crate::model::GateOutcome;
use std::f64::consts::TAU;

/// Blocks of the screen.
const SCREEN: usize = 5;

/// What is simulated: a pull request that changes one of several scenarios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Standard deviation of a block's log ratio.
    pub block_sd: f64,
    /// How much worse head is in that scenario, as a ratio: 1.05. One: nothing was changed.
    pub effect: f64,
    /// Scenarios that are measured.
    pub scenarios: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Power {
    /// Gates simulated.
    pub gates: u32,
    /// Gates that called the changed scenario a regression.
    pub caught: u32,
    /// Gates that called an unchanged scenario a regression.
    pub false_red: u32,
    /// Gates in which the changed scenario was neither called nor passed.
    pub inconclusive: u32,
}

/// Judges simulated gates: blocks are normal, screens and confirmations drawn apart, as they are measured.
#[must_use]
pub fn simulate(case: &Case, gates: u32, rules: &Rules, seed: u64) -> Power {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut power = Power { gates, ..Power::default() };
    let changed = case.effect.ln();
    for _ in 0..gates {
        let reached: Vec<usize> = (0..case.scenarios)
            .filter(|scenario| {
                let middle = if *scenario == 0 { changed } else { 0.0 };
                goes_on(&blocks(&mut random, SCREEN, middle, case.block_sd), rules) == Some(true)
            })
            .collect();
        let count = Noise::new(case.block_sd, reached.len()).blocks as usize;
        let measured: Vec<Vec<f64>> = reached
            .iter()
            .map(|scenario| {
                let middle = if *scenario == 0 { changed } else { 0.0 };
                blocks(&mut random, count, middle, case.block_sd)
            })
            .collect();
        let family: Vec<Confirmed<'_>> = measured
            .iter()
            .map(|blocks| Confirmed { blocks, block_sd: case.block_sd, seed: random.u64(..) })
            .collect();
        let judged = judge(&family, rules);
        let outcomes = || reached.iter().zip(&judged).map(|(scenario, judged)| (*scenario, judged.outcome));
        let is_changed = |scenario: usize| scenario == 0 && changed > 0.0;
        power.caught += u32::from(
            outcomes().any(|(scenario, found)| is_changed(scenario) && found == GateOutcome::Regression),
        );
        power.false_red += u32::from(
            outcomes().any(|(scenario, found)| !is_changed(scenario) && found == GateOutcome::Regression),
        );
        power.inconclusive += u32::from(
            outcomes().any(|(scenario, found)| is_changed(scenario) && found == GateOutcome::Inconclusive),
        );
    }
    power
}

fn blocks(random: &mut fastrand::Rng, count: usize, middle: f64, sd: f64) -> Vec<f64> {
    (0..count).map(|_| middle + sd * normal(random)).collect()
}

/// A standard normal value: G. E. P. Box, M. E. Muller 1958, *A note on the generation of random normal deviates*,
/// <https://doi.org/10.1214/aoms/1177706645>.
fn normal(random: &mut fastrand::Rng) -> f64 {
    // 1 − u lies in (0, 1]: its logarithm is finite.
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(block_sd: f64, effect: f64, scenarios: usize, gates: u32) -> Power {
        simulate(&Case { block_sd, effect, scenarios }, gates, &Rules::default(), 7)
    }

    #[test]
    fn normal_values_are_normal() {
        let mut random = fastrand::Rng::with_seed(3);
        let values = blocks(&mut random, 40_000, 0.0, 1.0);
        let mean = values.iter().sum::<f64>() / 40_000.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 40_000.0;
        let beyond = values.iter().filter(|value| value.abs() > 1.959_96).count() as f64 / 40_000.0;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        assert!((beyond - 0.05).abs() < 0.005, "{beyond}");
    }

    #[test]
    fn the_same_seed_gives_the_same_answer() {
        assert_eq!(of(0.05, 1.05, 6, 20), of(0.05, 1.05, 6, 20));
    }

    #[test]
    fn five_percent_is_found_where_blocks_are_quiet_and_hidden_where_they_are_not() {
        assert!(of(0.02, 1.05, 6, 100).caught >= 95);
        assert!(of(0.08, 1.05, 6, 100).caught <= 50);
        assert!(of(0.03, 1.10, 6, 100).caught >= 98);
    }

    #[test]
    fn what_was_not_changed_is_hardly_ever_called() {
        for block_sd in [0.01, 0.03, 0.08] {
            let power = of(block_sd, 1.0, 6, 200);
            assert!(power.false_red <= 3 && power.caught == 0, "{block_sd}: {power:?}");
        }
    }
}
