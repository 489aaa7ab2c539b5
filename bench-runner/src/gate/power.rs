//! How often does the rule find a change, and how often does it cry wolf? The code that judges, given blocks of which the truth
//! is known.

use super::rule::{Evidence, Limits, Rules};
use crate::model::GateOutcome;
use std::f64::consts::TAU;

/// How the figures of a trial are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Normal.
    Normal,
    /// Student's t with three degrees of freedom: heavy tails.
    HeavyTails,
    /// Normal, and one trial in twelve scatters four times as much.
    Bursts,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Normal, Self::HeavyTails, Self::Bursts];

    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::HeavyTails => "t3",
            Self::Bursts => "bursts",
        }
    }

    /// A value of mean 0 and standard deviation 1.
    fn draw(self, random: &mut fastrand::Rng) -> f64 {
        const BURST: f64 = 4.0;
        const SHARE: f64 = 1.0 / 12.0;
        match self {
            Self::Normal => normal(random),
            Self::HeavyTails => {
                let chi: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
                // The variance of t with three degrees of freedom is 3.
                normal(random) / (chi / 3.0).sqrt() / 3.0_f64.sqrt()
            }
            Self::Bursts => {
                let factor = if random.f64() < SHARE { BURST } else { 1.0 };
                factor * normal(random) / (1.0 - SHARE + SHARE * BURST * BURST).sqrt()
            }
        }
    }
}

/// What is simulated: a pull request that changes one of several series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Standard deviation of a block's log ratio, layout and mood in it.
    pub block_sd: f64,
    /// Standard deviation of the logarithm of what a layout does to a program; each block has two new ones. What is left of
    /// `block_sd` beside it scatters.
    pub layout_sd: f64,
    /// Correlation of the machine's mood from one trial to the next; all series share it. It makes half of the variance
    /// that layouts leave, and none where it is 0.
    pub mood: f64,
    /// Of the rest.
    pub shape: Shape,
    /// How much worse head is in the changed series, as a ratio: 1.05. One: nothing was changed.
    pub effect: f64,
    /// Series that are measured.
    pub series: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Power {
    /// Gates simulated.
    pub gates: u32,
    /// Gates that called the changed series a regression.
    pub caught: u32,
    /// Gates that called an unchanged series a regression.
    pub false_red: u32,
    /// Gates in which the changed series was neither called nor passed.
    pub inconclusive: u32,
    /// Blocks that the changed series took, in all gates.
    pub blocks: u64,
}

/// Judges simulated gates.
#[must_use]
pub fn simulate(case: &Case, gates: u32, rules: &Rules, seed: u64) -> Power {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut power = Power { gates, ..Power::default() };
    for _ in 0..gates {
        let outcomes = gate(case, rules, &mut random);
        let is_changed = case.effect > 1.0;
        let unchanged = &outcomes[usize::from(is_changed)..];
        power.false_red += u32::from(unchanged.iter().any(|(found, _)| *found == GateOutcome::Regression));
        if let Some((found, blocks)) = outcomes.first() {
            power.blocks += *blocks as u64;
            power.caught += u32::from(is_changed && *found == GateOutcome::Regression);
            power.inconclusive += u32::from(*found == GateOutcome::Inconclusive);
        }
    }
    power
}

/// What is said of each series of one gate, and after how many blocks.
fn gate(case: &Case, rules: &Rules, random: &mut fastrand::Rng) -> Vec<(GateOutcome, usize)> {
    let new = || Evidence::new(Limits::TIME, case.series, rules);
    let mut all: Vec<Evidence> = (0..case.series).map(|_| new()).collect();
    let left = (case.block_sd.powi(2) - 2.0 * case.layout_sd.powi(2)).max(0.0);
    let (mood_sd, own_sd) =
        if case.mood > 0.0 { ((left / 2.0).sqrt(), (left / 2.0).sqrt()) } else { (0.0, left.sqrt()) };
    let mut mood = Mood::new(case.mood, random);
    while !all.iter().all(Evidence::is_done) {
        let turn = if random.bool() { 1.0 } else { -1.0 };
        let shared = turn * mood_sd * mood.block(random);
        for (place, one) in all.iter_mut().enumerate().filter(|(_, one)| !one.is_done()) {
            let layouts = case.layout_sd * (normal(random) - normal(random));
            let changed = if place == 0 { case.effect.ln() } else { 0.0 };
            one.take(changed + shared + layouts + own_sd * case.shape.draw(random));
        }
    }
    all.iter().map(|one| (one.outcome(), one.blocks().len())).collect()
}

/// A machine that is faster and slower by turns: an autoregressive walk over trials.
struct Mood {
    correlation: f64,
    now: f64,
    /// Deviation of a block of such trials.
    scale: f64,
}

impl Mood {
    fn new(correlation: f64, random: &mut fastrand::Rng) -> Self {
        // Variance of (x₂ + x₃ − x₁ − x₄) / 2 where neighbours correlate with r.
        let r = correlation;
        let variance = (4.0 + 2.0 * (r - 2.0 * r - 2.0 * r * r + r.powi(3))) / 4.0;
        Self { correlation, now: normal(random), scale: variance.max(1e-6).sqrt() }
    }

    /// What a block shows of it, with the deviation 1.
    fn block(&mut self, random: &mut fastrand::Rng) -> f64 {
        let [one, two, three, four] = [(); 4].map(|()| {
            let fresh = (1.0 - self.correlation * self.correlation).sqrt() * normal(random);
            self.now = self.correlation * self.now + fresh;
            self.now
        });
        (two + three - one - four) / 2.0 / self.scale
    }
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

    const QUIET: Case =
        Case { block_sd: 0.02, layout_sd: 0.0, mood: 0.0, shape: Shape::Normal, effect: 1.0, series: 12 };

    fn of(case: &Case, gates: u32) -> Power {
        simulate(case, gates, &Rules::default(), 7)
    }

    #[test]
    fn every_shape_has_mean_nought_and_deviation_one() {
        let mut random = fastrand::Rng::with_seed(3);
        for shape in Shape::ALL {
            let values: Vec<f64> = (0..200_000).map(|_| shape.draw(&mut random)).collect();
            let mean = values.iter().sum::<f64>() / 200_000.0;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 200_000.0;
            // The variance of heavy tails is itself a wild figure.
            let room = if shape == Shape::HeavyTails { 0.5 } else { 0.03 };
            assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < room, "{shape:?} {mean} {variance}");
        }
        for correlation in [0.0, 0.5, 0.8] {
            let mut mood = Mood::new(correlation, &mut random);
            let squares: f64 = (0..50_000).map(|_| mood.block(&mut random).powi(2)).sum();
            assert!((squares / 50_000.0 - 1.0).abs() < 0.05, "{correlation}: {}", squares / 50_000.0);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_answer() {
        let case = Case { effect: 1.05, ..QUIET };
        assert_eq!(of(&case, 20), of(&case, 20));
    }

    #[test]
    fn five_percent_is_found_where_blocks_are_quiet_and_hidden_where_they_are_not() {
        let caught = |block_sd, effect| of(&Case { block_sd, effect, ..QUIET }, 200).caught;
        assert!(caught(0.02, 1.05) >= 190, "{}", caught(0.02, 1.05));
        assert!(caught(0.045, 1.05) >= 180, "{}", caught(0.045, 1.05));
        assert!(caught(0.2, 1.05) <= 100, "{}", caught(0.2, 1.05));
        assert!(caught(0.045, 1.10) >= 198, "{}", caught(0.045, 1.10));
    }

    #[test]
    fn what_was_not_changed_is_hardly_ever_called() {
        for (layout_sd, mood, shape) in [
            (0.0, 0.0, Shape::Normal),
            (0.01, 0.5, Shape::HeavyTails),
            (0.03, 0.8, Shape::Bursts),
            (0.02, 0.8, Shape::HeavyTails),
        ] {
            let case = Case { block_sd: 0.045, layout_sd, mood, shape, ..QUIET };
            let power = of(&case, 300);
            // One in a hundred, and more than three standard errors of it.
            assert!(power.false_red <= 8 && power.caught == 0, "{case:?}: {power:?}");
        }
    }
}
