//! Base against head: pass, improvement, regression, inconclusive, not measured?
//!
//! Five blocks can prove nothing, so they only route: a scenario whose median moved by less than the screen lets pass
//! is done. The others are measured anew, and a change is called only where its size, its directions and its interval all
//! say so, the directions corrected for the number of scenarios that got that far.

use super::noise::Noise;
use crate::model::{GateClass, GateOutcome};
use crate::stats::{Centre, Method, Resampling, bootstrap, holm, median, sign_test};

/// What the gate goes by. The defaults are the rule; a calibration says how it errs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// A screened median within this ratio of one, either way, passes.
    pub screen: f64,
    /// The least change that is ever called, as a ratio above one.
    pub floor: f64,
    /// A change must be so many times the deviation of the median where nothing was changed.
    pub noise_multiple: f64,
    /// One-sided sign test of one scenario.
    pub sign_alpha: f64,
    /// Holm's over all that were confirmed.
    pub family_alpha: f64,
    /// Of the bootstrap interval.
    pub level: f64,
    /// Draws of it.
    pub resamples: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            screen: 1.02,
            floor: 1.03,
            noise_multiple: 3.0,
            sign_alpha: 0.0107,
            family_alpha: 0.05,
            level: 0.95,
            resamples: 2_000,
        }
    }
}

/// A scenario's fresh blocks.
#[derive(Debug, Clone, Copy)]
pub struct Confirmed<'a> {
    /// Log ratios of the blocks, above zero worse.
    pub blocks: &'a [f64],
    /// Standard deviation of a block where nothing was changed.
    pub block_sd: f64,
    /// Of the bootstrap's draws.
    pub seed: u64,
}

/// A verdict with what it rests on. Ratios are above one where head is worse.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// What was found.
    pub outcome: GateOutcome,
    /// Why nothing could be said, or why a change that large was not called.
    pub reason: Option<String>,
    /// Median of the blocks.
    pub ratio: f64,
    /// Lower end of its bootstrap interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Sign test in the direction of the median, one-sided.
    pub p: f64,
    /// The same by Holm over the family.
    pub p_adjusted: f64,
    /// The least change that is called here.
    pub limit: f64,
    /// Deviation of the median where nothing was changed, in log space.
    pub aa_sd: f64,
    /// The smallest change found four times in five.
    pub detectable: Option<f64>,
    /// What the verdict is good for.
    pub class: GateClass,
    /// Blocks judged.
    pub n: usize,
}

/// Whether screened blocks ask for fresh ones; none where there is nothing to look at.
#[must_use]
pub fn goes_on(screened: &[f64], rules: &Rules) -> Option<bool> {
    median(screened).map(|middle| middle.abs() >= rules.screen.ln())
}

/// Judges all that were confirmed, in the order given: a family, corrected for its size.
#[must_use]
pub fn judge(family: &[Confirmed<'_>], rules: &Rules) -> Vec<Judged> {
    let tests: Vec<_> = family.iter().map(|one| sign_test(one.blocks)).collect();
    let side = |p: fn(&crate::stats::SignTest) -> f64| {
        holm(&tests.iter().map(|test| test.as_ref().map_or(1.0, p)).collect::<Vec<_>>())
    };
    let (worse, better) = (side(|test| test.p_greater), side(|test| test.p_less));
    let each = family.iter().zip(&tests).zip(worse.iter().zip(&better));
    each.map(|((one, test), (worse, better))| {
        let Some((test, middle)) = test.as_ref().zip(median(one.blocks)) else {
            return unmeasured(one, rules, "no block has a figure");
        };
        let (p, p_adjusted) = if middle >= 0.0 { (test.p_greater, *worse) } else { (test.p_less, *better) };
        let how = Resampling {
            centre: Centre::Median,
            method: Method::Percentile,
            level: rules.level,
            resamples: rules.resamples,
            seed: one.seed,
        };
        match bootstrap(one.blocks, &how) {
            Ok(interval) => {
                let found = Judged {
                    ratio: interval.ratio,
                    low: interval.low,
                    high: interval.high,
                    p,
                    p_adjusted,
                    ..blank(one, rules)
                };
                decide(found, rules)
            }
            Err(error) => unmeasured(one, rules, &error.to_string()),
        }
    })
    .collect()
}

fn decide(found: Judged, rules: &Rules) -> Judged {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let large = found.ratio.ln().abs() >= found.limit.ln();
    let pointing = found.p <= rules.sign_alpha && found.p_adjusted <= rules.family_alpha;
    let apart = found.low > 1.0 || found.high < 1.0;
    let (outcome, reason) = match (large, pointing && apart) {
        (true, true) if found.ratio > 1.0 => (GateOutcome::Regression, None),
        (true, true) => (GateOutcome::Improvement, None),
        (true, false) => {
            let why = if pointing {
                "its interval holds no change"
            } else {
                "its blocks do not agree on the direction"
            };
            (
                GateOutcome::Inconclusive,
                Some(format!("it moved by {:+.1} %, but {why}", percent(found.ratio))),
            )
        }
        (false, _) if found.class == GateClass::Advisory => {
            let least =
                found.detectable.map_or("nothing".to_owned(), |ratio| format!("{:.0} %", percent(ratio)));
            (GateOutcome::Inconclusive, Some(format!("too noisy: the smallest change found here is {least}")))
        }
        (false, _) => (GateOutcome::Pass, None),
    };
    Judged { outcome, reason, ..found }
}

fn unmeasured(one: &Confirmed<'_>, rules: &Rules, why: &str) -> Judged {
    Judged { outcome: GateOutcome::NotMeasured, reason: Some(why.to_owned()), ..blank(one, rules) }
}

fn blank(one: &Confirmed<'_>, rules: &Rules) -> Judged {
    let n = one.blocks.len();
    let noise = Noise { block_sd: one.block_sd, blocks: u32::try_from(n).unwrap_or(u32::MAX) };
    Judged {
        outcome: GateOutcome::NotMeasured,
        reason: None,
        ratio: f64::NAN,
        low: f64::NAN,
        high: f64::NAN,
        p: 1.0,
        p_adjusted: 1.0,
        limit: noise.limit(rules),
        aa_sd: noise.median_sd(),
        detectable: noise.detectable(rules),
        class: noise.class(rules),
        n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Blocks around a change, evenly spread.
    fn around(middle: f64, spread: f64) -> Vec<f64> {
        (0..16).map(|place| middle + spread * (f64::from(place) - 7.5) / 7.5).collect()
    }

    fn alone(blocks: &[f64], block_sd: f64) -> Judged {
        judge(&[Confirmed { blocks, block_sd, seed: 1 }], &Rules::default()).remove(0)
    }

    #[test]
    fn the_screen_routes_by_magnitude_only() {
        let rules = Rules::default();
        assert_eq!(goes_on(&[0.03, -0.05, 0.01, 0.015, 0.04], &rules), Some(false));
        assert_eq!(goes_on(&[0.03, -0.05, 0.02, 0.025, 0.04], &rules), Some(true));
        assert_eq!(goes_on(&[-0.03, 0.05, -0.02, -0.025, -0.04], &rules), Some(true));
        assert_eq!(goes_on(&[], &rules), None);
    }

    #[test]
    fn each_outcome_is_reached() {
        assert_eq!(alone(&around(0.05, 0.04), 0.02).outcome, GateOutcome::Regression);
        assert_eq!(alone(&around(-0.05, 0.04), 0.02).outcome, GateOutcome::Improvement);
        assert_eq!(alone(&around(0.01, 0.005), 0.02).outcome, GateOutcome::Pass);
        let torn = alone(&around(0.05, 0.3), 0.02);
        assert_eq!(torn.outcome, GateOutcome::Inconclusive);
        assert!(torn.reason.unwrap().contains("+5.1 %, but its blocks do not agree"));
        let noisy = alone(&around(0.01, 0.005), 0.2);
        assert_eq!(noisy.outcome, GateOutcome::Inconclusive);
        assert!(noisy.reason.unwrap().contains("too noisy"));
        for none in [&[][..], &[f64::NAN; 16], &[0.05; 15]] {
            let judged = alone(none, 0.02);
            assert!(judged.outcome == GateOutcome::NotMeasured && judged.reason.is_some(), "{judged:?}");
        }
    }

    #[test]
    fn a_change_below_the_floor_is_never_called_however_sure_it_is() {
        let sure = alone(&[0.025; 16], 0.001);
        assert!(sure.p < 1e-4 && sure.outcome == GateOutcome::Pass, "{sure:?}");
    }

    #[test]
    fn a_large_family_asks_for_more_than_one_alone() {
        // 13 of 16.
        let mut blocks = vec![0.06; 13];
        blocks.extend([-0.01; 3]);
        let one = Confirmed { blocks: &blocks, block_sd: 0.02, seed: 1 };
        let still = vec![0.0001; 8].into_iter().chain(vec![-0.0001; 8]).collect::<Vec<_>>();
        let other = Confirmed { blocks: &still, block_sd: 0.02, seed: 2 };
        assert_eq!(judge(&[one], &Rules::default())[0].outcome, GateOutcome::Regression);
        let mut family = vec![one];
        family.extend([other; 5]);
        let judged = judge(&family, &Rules::default());
        assert_eq!(judged[0].outcome, GateOutcome::Inconclusive);
        assert!((judged[0].p_adjusted - 6.0 * judged[0].p).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn what_is_worse_one_way_round_is_better_the_other(
            blocks in prop::collection::vec(-0.2_f64..0.2, 16..41), block_sd in 0.0_f64..0.1
        ) {
            let mirrored: Vec<f64> = blocks.iter().map(|block| -block).collect();
            let (one, other) = (alone(&blocks, block_sd), alone(&mirrored, block_sd));
            let mirror = match one.outcome {
                GateOutcome::Regression => GateOutcome::Improvement,
                GateOutcome::Improvement => GateOutcome::Regression,
                same => same,
            };
            prop_assert!((one.p - other.p).abs() < 1e-12);
            prop_assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
            // The draws are others, so an interval that barely leaves out one may differ.
            if (one.low - 1.0).abs() > 0.02 && (one.high - 1.0).abs() > 0.02 {
                prop_assert_eq!(other.outcome, mirror);
            }
        }
    }
}
