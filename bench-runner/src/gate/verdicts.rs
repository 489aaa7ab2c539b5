//! From collected blocks to the verdicts of a gate, and from those to the one word for the whole change.

use super::noise::Noise;
use super::rule::{Confirmed, Judged, Rules, judge};
use super::series::{Collected, FOREIGN_CORES};
use crate::model::{Direction, GateClass, GateOutcome, GateStage, GateVerdict, metric};
use crate::stats::median;
use std::collections::BTreeMap;

/// Blocks of the screen: with fewer that nothing disturbed it says nothing.
pub const SCREEN_BLOCKS: usize = 5;

/// Standard deviations of blocks that a calibration measured, by scenario and metric.
pub type Stored = BTreeMap<(String, String), f64>;

/// How a series' blocks scatter, and whether that is known from a calibration. Its own blocks may show that today is
/// worse, never that it is better.
#[must_use]
pub fn block_sd(one: &Collected, stored: &Stored) -> (f64, bool) {
    let own = one.own_sd();
    match stored.get(&(one.series.scenario.clone(), one.series.metric.to_owned())) {
        Some(stored) => (stored.max(own.min(stored * 2.0)), true),
        None => (own, false),
    }
}

/// Judges all series of a gate.
#[must_use]
pub fn verdicts(all: &[Collected], stored: &Stored, rules: &Rules, seed: u64) -> Vec<GateVerdict> {
    let quiet: Vec<Vec<f64>> = all.iter().map(|one| Collected::quiet(&one.confirm)).collect();
    let reached: Vec<usize> = (0..all.len()).filter(|place| all[*place].wanted > 0).collect();
    let family: Vec<Confirmed<'_>> = reached
        .iter()
        .map(|place| Confirmed {
            blocks: &quiet[*place],
            block_sd: block_sd(&all[*place], stored).0,
            seed: seed.wrapping_add(*place as u64),
        })
        .collect();
    let judged: BTreeMap<usize, Judged> = reached.iter().copied().zip(judge(&family, rules)).collect();
    all.iter().enumerate().map(|(place, one)| verdict(one, judged.get(&place), stored, rules)).collect()
}

fn verdict(one: &Collected, judged: Option<&Judged>, stored: &Stored, rules: &Rules) -> GateVerdict {
    let (sd, is_stored) = block_sd(one, stored);
    let stage = if judged.is_some() { &one.confirm } else { &one.screen };
    let blocks = Collected::quiet(stage);
    let higher = one.direction() == Direction::Higher;
    // Judged is what lies above one as worse; shown is head over base.
    let shown = |worse: f64| if higher { 1.0 / worse } else { worse };
    // What a series is good for was decided by its plan: a confirmation that ends early makes none that moved less binding.
    let noise = judged.map_or_else(
        || Noise::new(sd, 1),
        |judged| Noise { block_sd: sd, blocks: u32::try_from(one.wanted.max(judged.n)).unwrap_or(u32::MAX) },
    );
    let mut verdict = GateVerdict {
        scenario: one.series.scenario.clone(),
        label: one.series.label.clone(),
        metric: one.series.metric.to_owned(),
        unit: metric::describe(one.series.metric).0.to_owned(),
        direction: one.direction(),
        outcome: GateOutcome::Pass,
        reason: None,
        stage: if judged.is_some() { GateStage::Confirm } else { GateStage::Screen },
        class: noise.class(rules),
        ratio: median(&blocks).map(|middle| shown(middle.exp())),
        interval: None,
        p: None,
        p_adjusted: None,
        limit: noise.limit(rules),
        detectable: noise.detectable(rules),
        block_sd: sd,
        block_sd_is_stored: is_stored,
        base: median(&one.base),
        head: median(&one.head),
        blocks: blocks.iter().map(|figure| if higher { -figure } else { *figure }).collect(),
        disturbed: u32::try_from(stage.len() - blocks.len()).unwrap_or(u32::MAX),
    };
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let disturbed = || {
        let worst = stage.iter().map(|point| point.foreign).fold(0.0, f64::max);
        format!(
            "others used up to {worst:.1} cores in {} of {} blocks, more than {FOREIGN_CORES}",
            verdict.disturbed,
            stage.len()
        )
    };
    let unsaid = if one.null_moved(sd, rules) {
        verdict.stage = GateStage::NullControl;
        let middle = median(&Collected::quiet(&one.null)).map_or(0.0, f64::exp);
        let moved = percent(shown(middle));
        Some(format!("two layouts of base lie {moved:+.1} % apart: the machine is too unsteady"))
    } else if one.screen.is_empty() {
        verdict.outcome = GateOutcome::NotMeasured;
        Some(one.failed.clone().unwrap_or_else(|| "no block was measured".to_owned()))
    } else if judged.is_none() && blocks.len() < SCREEN_BLOCKS {
        Some(match verdict.disturbed {
            0 => one.failed.clone().unwrap_or_else(|| {
                format!("the budget ended after {} of {SCREEN_BLOCKS} blocks of the screen", blocks.len())
            }),
            _ => disturbed(),
        })
    } else if judged.is_some() && blocks.len() < one.wanted {
        Some(match verdict.disturbed {
            0 => one.failed.clone().unwrap_or_else(|| {
                format!("the budget ended after {} of {} blocks", blocks.len(), one.wanted)
            }),
            _ => disturbed(),
        })
    } else {
        None
    };
    if unsaid.is_some() {
        if verdict.outcome == GateOutcome::Pass {
            verdict.outcome = GateOutcome::Inconclusive;
        }
        verdict.reason = unsaid;
        return verdict;
    }
    match judged {
        Some(judged) => {
            verdict.outcome = judged.outcome;
            verdict.reason.clone_from(&judged.reason);
            verdict.interval = Some(match (shown(judged.low), shown(judged.high)) {
                (low, high) if low <= high => [low, high],
                (low, high) => [high, low],
            });
            (verdict.p, verdict.p_adjusted) = (Some(judged.p), Some(judged.p_adjusted));
        }
        None if verdict.class == GateClass::Advisory => {
            let least =
                verdict.detectable.map_or("none".to_owned(), |ratio| format!("{:.0} %", percent(ratio)));
            verdict.outcome = GateOutcome::Inconclusive;
            verdict.reason = Some(format!("too noisy: the smallest change found here is {least}"));
        }
        None => {}
    }
    verdict
}

/// The one word for the whole change, and why. Advisory series turn nothing red and hold nothing up, unless there is
/// nothing else.
#[must_use]
pub fn overall(verdicts: &[GateVerdict]) -> (GateOutcome, String) {
    // A server that does not answer is no noise, and neither is a series that was not finished.
    let binds = |one: &&GateVerdict| {
        one.class != GateClass::Advisory || one.outcome == GateOutcome::NotMeasured || is_unfinished(one)
    };
    // Fewer instructions alone are no better time.
    let is_news =
        |one: &&GateVerdict| one.stage != GateStage::Counted || one.outcome != GateOutcome::Improvement;
    let binding: Vec<&GateVerdict> = verdicts.iter().filter(binds).filter(is_news).collect();
    let of = |wanted: GateOutcome| binding.iter().filter(|one| one.outcome == wanted).count();
    let first = |wanted: GateOutcome| {
        let one = binding.iter().find(|one| one.outcome == wanted);
        one.map_or_else(String::new, |one| {
            let ratio = one.ratio.map_or_else(String::new, |ratio| format!(" × {ratio:.3}"));
            let why = one.reason.as_deref().map_or_else(String::new, |reason| format!(" ({reason})"));
            format!("{}, {}{ratio}{why}", one.label, one.metric)
        })
    };
    for (outcome, words) in [
        (GateOutcome::Regression, "worse"),
        (GateOutcome::NotMeasured, "without a figure"),
        (GateOutcome::Inconclusive, "undecided"),
        (GateOutcome::Improvement, "better"),
    ] {
        if of(outcome) > 0 {
            return (outcome, format!("{} of {} {words}: {}", of(outcome), verdicts.len(), first(outcome)));
        }
    }
    if binding.iter().all(|one| one.stage == GateStage::Counted) {
        let timed = verdicts.iter().find(|one| one.stage != GateStage::Counted);
        let why = timed.map_or_else(
            || "nothing was timed".to_owned(),
            |one| {
                let why = one.reason.as_deref().unwrap_or("it is too noisy here");
                format!("no series can be judged, for example {}, {}: {why}", one.label, one.metric)
            },
        );
        return (GateOutcome::Inconclusive, why);
    }
    (GateOutcome::Pass, format!("no change of the size that is found in {} series", binding.len()))
}

/// Whether blocks are missing that were planned.
fn is_unfinished(one: &GateVerdict) -> bool {
    one.outcome == GateOutcome::Inconclusive
        && match one.stage {
            GateStage::Screen => one.blocks.len() < SCREEN_BLOCKS,
            // What has all of its blocks has a p-value.
            GateStage::Confirm => one.p.is_none(),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::super::series::{Point, Series};
    use super::*;

    fn points(middle: f64, count: usize, foreign: f64) -> Vec<Point> {
        let spread = |place: usize| middle + 0.01 * (place as f64 / (count - 1) as f64 - 0.5);
        (0..count).map(|place| Point { figure: spread(place), foreign }).collect()
    }

    fn one(metric: &'static str) -> Collected {
        Collected {
            null: points(0.0, 3, 0.0),
            screen: points(0.0, 5, 0.0),
            base: vec![100.0],
            head: vec![100.0],
            ..Collected::of(Series { scenario: "get".to_owned(), label: "GET".to_owned(), metric })
        }
    }

    fn confirmed(metric: &'static str, middle: f64) -> Collected {
        Collected { confirm: points(middle, 16, 0.0), wanted: 16, ..one(metric) }
    }

    fn judged(one: &Collected) -> GateVerdict {
        verdicts(std::slice::from_ref(one), &Stored::new(), &Rules::default(), 1).remove(0)
    }

    #[test]
    fn a_screen_that_did_not_move_passes() {
        let found = judged(&one("server_cpu_ns_per_op"));
        assert_eq!((found.outcome, found.stage), (GateOutcome::Pass, GateStage::Screen));
        assert!(found.interval.is_none() && found.class == GateClass::Gated);
    }

    #[test]
    fn ratios_are_shown_in_the_metrics_own_direction() {
        let cpu = judged(&confirmed("server_cpu_ns_per_op", 0.1));
        assert_eq!(cpu.outcome, GateOutcome::Regression);
        assert!(cpu.ratio.unwrap() > 1.09 && cpu.blocks.iter().all(|block| *block > 0.0));
        let rate = judged(&confirmed("ops_per_second", 0.1));
        let [low, high] = rate.interval.unwrap();
        assert_eq!(rate.outcome, GateOutcome::Regression);
        assert!(low <= rate.ratio.unwrap() && rate.ratio.unwrap() <= high && high < 0.95);
        assert_eq!(judged(&confirmed("ops_per_second", -0.1)).outcome, GateOutcome::Improvement);
    }

    #[test]
    fn what_others_disturbed_is_never_called() {
        let mut neighbour = confirmed("server_cpu_ns_per_op", 0.1);
        neighbour.confirm.iter_mut().skip(4).for_each(|point| point.foreign = 0.9);
        let found = judged(&neighbour);
        assert_eq!((found.outcome, found.disturbed), (GateOutcome::Inconclusive, 12));
        assert!(found.reason.unwrap().contains("0.9 cores in 12 of 16 blocks"));
        let mut screened = one("server_cpu_ns_per_op");
        screened.screen.iter_mut().for_each(|point| point.foreign = 0.9);
        assert_eq!(judged(&screened).outcome, GateOutcome::Inconclusive);
    }

    #[test]
    fn a_null_that_moved_a_failure_and_a_short_budget_have_their_words() {
        let mut moved = confirmed("server_cpu_ns_per_op", 0.1);
        moved.null = points(0.06, 16, 0.0);
        let found = judged(&moved);
        assert_eq!((found.outcome, found.stage), (GateOutcome::Inconclusive, GateStage::NullControl));
        let mut failed = one("server_cpu_ns_per_op");
        failed.screen.clear();
        failed.failed = Some("head: it ended".to_owned());
        let found = judged(&failed);
        assert_eq!(found.outcome, GateOutcome::NotMeasured);
        assert_eq!(found.reason.as_deref(), Some("head: it ended"));
        let mut short = confirmed("server_cpu_ns_per_op", 0.1);
        short.confirm.truncate(9);
        assert!(judged(&short).reason.unwrap().contains("9 of 16"));
    }

    /// A change by half of which three of sixteen blocks were measured, beside a series that passes.
    #[test]
    fn a_series_that_moved_and_was_not_finished_holds_the_gate_up() {
        for blocks in 1..16 {
            let mut short = confirmed("server_cpu_ns_per_op", 0.46);
            short.confirm.truncate(blocks);
            let found = judged(&short);
            assert_eq!(
                (found.class, found.outcome),
                (GateClass::Gated, GateOutcome::Inconclusive),
                "{blocks}"
            );
            let passed = judged(&one("ops_per_second"));
            assert_eq!(passed.outcome, GateOutcome::Pass);
            let (outcome, reason) = overall(&[passed, found]);
            assert_eq!(outcome, GateOutcome::Inconclusive, "{blocks}: {reason}");
            assert!(reason.contains(&format!("{blocks} of 16 blocks")), "{reason}");
        }
    }

    #[test]
    fn an_advisory_series_that_was_not_finished_holds_it_up_too() {
        let stored = Stored::from([(("get".to_owned(), "latency_ns_p99".to_owned()), 0.5)]);
        let judged_there =
            |one: &Collected| verdicts(std::slice::from_ref(one), &stored, &Rules::default(), 1).remove(0);
        let passed = judged(&one("ops_per_second"));
        let mut wild = Collected { wanted: 40, confirm: points(0.9, 40, 0.0), ..one("latency_ns_p99") };
        let finished = judged_there(&wild);
        assert_eq!(finished.class, GateClass::Advisory);
        assert_eq!(overall(&[passed.clone(), finished]).0, GateOutcome::Pass);
        wild.confirm.truncate(7);
        let unfinished = judged_there(&wild);
        assert_eq!(unfinished.class, GateClass::Advisory);
        assert_eq!(overall(&[passed, unfinished]).0, GateOutcome::Inconclusive);
    }

    #[test]
    fn a_screen_of_fewer_than_five_quiet_blocks_never_passes() {
        for blocks in 1..=SCREEN_BLOCKS {
            let mut short = one("server_cpu_ns_per_op");
            short.screen.truncate(blocks);
            let found = judged(&short);
            let (outcome, reason) = overall(std::slice::from_ref(&found));
            let expected = if blocks < SCREEN_BLOCKS { GateOutcome::Inconclusive } else { GateOutcome::Pass };
            assert_eq!((found.outcome, outcome), (expected, expected), "{blocks}: {reason}");
            assert_eq!(
                reason.contains(&format!("{blocks} of 5 blocks of the screen")),
                blocks < SCREEN_BLOCKS
            );
        }
    }

    #[test]
    fn a_gate_without_a_series_to_judge_says_why() {
        let mut neighbour = one("server_cpu_ns_per_op");
        neighbour.screen.iter_mut().for_each(|point| point.foreign = 0.9);
        let (outcome, reason) = overall(&[judged(&neighbour)]);
        assert!(
            outcome == GateOutcome::Inconclusive && reason.contains("others used up to 0.9 cores"),
            "{reason}"
        );
        let noisy = GateVerdict {
            outcome: GateOutcome::Inconclusive,
            class: GateClass::Advisory,
            reason: Some("too noisy: the smallest change found here is 40 %".to_owned()),
            ..judged(&one("ops_per_second"))
        };
        assert!(overall(&[noisy]).1.contains("too noisy"), "the reason of the row is that of the gate");
        assert_eq!(overall(&[]).1, "nothing was timed");
    }

    #[test]
    fn a_stored_noise_is_taken_unless_today_is_worse() {
        let quiet = one("server_cpu_ns_per_op");
        let key = ("get".to_owned(), "server_cpu_ns_per_op".to_owned());
        let stored = Stored::from([(key, 0.04)]);
        assert_eq!(block_sd(&quiet, &stored), (0.04, true));
        let mut wild = quiet;
        wild.screen =
            points(0.0, 5, 0.0).into_iter().map(|p| Point { figure: p.figure * 40.0, ..p }).collect();
        wild.null.clone_from(&wild.screen);
        assert_eq!(block_sd(&wild, &stored), (0.08, true));
    }

    #[test]
    fn the_worst_word_of_those_that_bind_is_the_gates() {
        let with = |outcome, class| GateVerdict { outcome, class, ..judged(&one("ops_per_second")) };
        let of = |list: &[GateVerdict]| overall(list).0;
        let pass = with(GateOutcome::Pass, GateClass::Gated);
        let better = with(GateOutcome::Improvement, GateClass::GatedAt8);
        let undecided = with(GateOutcome::Inconclusive, GateClass::Gated);
        let noisy = with(GateOutcome::Inconclusive, GateClass::Advisory);
        let red = with(GateOutcome::Regression, GateClass::Gated);
        let advised = with(GateOutcome::Regression, GateClass::Advisory);
        let silent = with(GateOutcome::NotMeasured, GateClass::Advisory);
        assert_eq!(of(&[pass.clone(), noisy.clone(), advised]), GateOutcome::Pass);
        assert_eq!(of(&[pass.clone(), better.clone()]), GateOutcome::Improvement);
        assert_eq!(of(&[better.clone(), undecided]), GateOutcome::Inconclusive);
        assert_eq!(of(&[better, red]), GateOutcome::Regression);
        assert_eq!(of(&[pass.clone(), silent]), GateOutcome::NotMeasured);
        assert_eq!(of(&[noisy]), GateOutcome::Inconclusive);
        assert_eq!(of(&[]), GateOutcome::Inconclusive);
        let counted = |outcome| GateVerdict { stage: GateStage::Counted, ..with(outcome, GateClass::Gated) };
        assert_eq!(of(&[counted(GateOutcome::Pass)]), GateOutcome::Inconclusive, "nothing was timed");
        assert_eq!(of(&[pass.clone(), counted(GateOutcome::Improvement)]), GateOutcome::Pass);
        assert_eq!(of(&[pass.clone(), counted(GateOutcome::Regression)]), GateOutcome::Regression);
        assert!(overall(&[pass]).1.contains("1 series"));
    }
}
