//! From collected blocks to the verdicts of a gate, and from those to the one word for the whole change.

use super::rule::PROMISING;
use super::series::{Collected, FOREIGN_CORES};
use crate::model::{Direction, GateClass, GateEvidence, GateOutcome, GateStage, GateVerdict, metric};
use crate::stats::median;

/// Judges all series of a gate.
#[must_use]
pub fn verdicts(all: &[Collected], blocks_max: usize) -> Vec<GateVerdict> {
    all.iter().map(|one| verdict(one, blocks_max)).collect()
}

fn verdict(one: &Collected, blocks_max: usize) -> GateVerdict {
    let judged = one.evidence.judged();
    let blocks = one.evidence.blocks();
    let higher = one.direction() == Direction::Higher;
    // Judged is what lies above one as worse; shown is head over base.
    let shown = |worse: f64| if higher { 1.0 / worse } else { worse };
    let (outcome, reason) = match (judged.outcome, one.failing()) {
        (GateOutcome::Regression, _) => (judged.outcome, judged.reason),
        // A server that does not answer is no noise.
        (_, Some(why)) => (GateOutcome::NotMeasured, Some(why)),
        (GateOutcome::Inconclusive, _) if blocks.len() < blocks_max && one.disturbed.len() > blocks.len() => {
            (judged.outcome, Some(disturbed(one)))
        }
        _ => (judged.outcome, judged.reason),
    };
    GateVerdict {
        scenario: one.series.scenario.clone(),
        label: one.series.label.clone(),
        metric: one.series.metric.to_owned(),
        unit: metric::describe(one.series.metric).0.to_owned(),
        direction: one.direction(),
        outcome,
        reason,
        stage: GateStage::Sequential,
        class: judged.class,
        ratio: judged.ratio.map(shown),
        interval: judged.interval.map(|[low, high]| match (shown(low), shown(high)) {
            (low, high) if low <= high => [low, high],
            (low, high) => [high, low],
        }),
        p: None,
        p_adjusted: None,
        evidence: Some(GateEvidence {
            worse: judged.worse,
            better: judged.better,
            within: judged.within,
            lag_1: judged.lag_1,
            blocks_max: u32::try_from(blocks_max).unwrap_or(u32::MAX),
            given_up: judged.given_up,
        }),
        limit: judged.called_from,
        detectable: judged.detectable,
        block_sd: judged.block_sd,
        block_sd_is_stored: false,
        base: median(&one.base),
        head: median(&one.head),
        blocks: blocks.iter().map(|figure| if higher { -figure } else { *figure }).collect(),
        disturbed: u32::try_from(one.disturbed.len()).unwrap_or(u32::MAX),
    }
}

/// What is said of blocks that go with those before them more than chance does.
#[must_use]
pub fn dependent(verdicts: &[GateVerdict]) -> Option<String> {
    // Three standard errors of a correlation of independent values.
    let is_dependent = |one: &&GateVerdict| {
        let lag = one.evidence.and_then(|evidence| evidence.lag_1);
        lag.is_some_and(|lag| lag.abs() * (one.blocks.len() as f64).sqrt() > 3.0)
    };
    let found: Vec<String> =
        verdicts.iter().filter(is_dependent).map(|one| format!("{}, {}", one.label, one.metric)).collect();
    (!found.is_empty()).then(|| {
        format!(
            "Blocks go with those before them in {}: the machine changed meanwhile. It makes no false alarm likelier, for a coin \
             draws which side is measured first in each block; an interval may be too narrow.",
            found.join("; ")
        )
    })
}

fn disturbed(one: &Collected) -> String {
    let worst = one.disturbed.iter().copied().fold(0.0, f64::max);
    let (left_out, kept) = (one.disturbed.len(), one.evidence.blocks().len());
    format!(
        "others used up to {worst:.1} cores in {left_out} of {} blocks, more than {FOREIGN_CORES}",
        left_out + kept
    )
}

/// The one word for the whole change, and why. What scatters too much for any word holds nothing up, unless there is nothing
/// else; what is red is red. `left_out`: loads that were not measured for want of time.
#[must_use]
pub fn overall(verdicts: &[GateVerdict], left_out: &[String]) -> (GateOutcome, String) {
    // Fewer instructions alone are no better time.
    let is_news =
        |one: &&GateVerdict| one.stage != GateStage::Counted || one.outcome != GateOutcome::Improvement;
    let binding: Vec<&GateVerdict> =
        verdicts.iter().filter(|one| !is_too_noisy(one)).filter(is_news).collect();
    let of = |wanted: GateOutcome| binding.iter().filter(|one| one.outcome == wanted).count();
    let first = |wanted: GateOutcome| {
        let one = binding.iter().find(|one| one.outcome == wanted);
        one.map_or_else(String::new, |one| {
            let ratio = one.ratio.map_or_else(String::new, |ratio| format!(" × {ratio:.3}"));
            let why = one.reason.as_deref().map_or_else(String::new, |reason| format!(" ({reason})"));
            format!("{}, {}{ratio}{why}", one.label, one.metric)
        })
    };
    let said = |outcome: GateOutcome, words: &str| {
        let sentence = format!("{} of {} {words}: {}", of(outcome), verdicts.len(), first(outcome));
        (of(outcome) > 0).then_some((outcome, sentence))
    };
    let worst = said(GateOutcome::Regression, "worse")
        .or_else(|| said(GateOutcome::NotMeasured, "without a figure"))
        .or_else(|| said(GateOutcome::Inconclusive, "undecided"));
    if let Some(worst) = worst {
        return worst;
    }
    if let Some(first) = left_out.first() {
        let more = match left_out.len() {
            1 => String::new(),
            all => format!(", and {} more", all - 1),
        };
        return (GateOutcome::Inconclusive, format!("not all loads were measured: {first}{more}"));
    }
    if let Some(better) = said(GateOutcome::Improvement, "better") {
        return better;
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

/// Whether a series had all blocks that could say anything, they scatter too much for a word either way, and none is likely.
fn is_too_noisy(one: &GateVerdict) -> bool {
    one.class == GateClass::Advisory
        && one.outcome == GateOutcome::Inconclusive
        && one
            .evidence
            .is_some_and(|evidence| evidence.is_finished(one.blocks.len()) && !is_suspicious(one, &evidence))
}

/// Whether it looks worse by a size that counts, though not so surely that it is called.
fn is_suspicious(one: &GateVerdict, evidence: &GateEvidence) -> bool {
    let worse = one.ratio.map(|ratio| if one.direction == Direction::Higher { 1.0 / ratio } else { ratio });
    evidence.worse >= PROMISING && worse.is_some_and(|worse| worse >= one.limit)
}

#[cfg(test)]
mod tests {
    use super::super::rule::Rules;
    use super::super::series::{Figures, Series};
    use super::*;

    const BLOCKS_MAX: usize = 80;

    /// A series whose blocks are spread around a change, with a spread, as far as they are asked for.
    fn series(metric: &'static str, worse: f64, spread: f64, blocks: usize) -> Collected {
        let series = Series { scenario: "get".to_owned(), label: "GET".to_owned(), metric };
        let mut one = Collected::of(series, 12, &Rules::default());
        let is_higher_better = one.direction() == Direction::Higher;
        for place in 0..blocks {
            if one.is_done() {
                break;
            }
            let figure = worse + spread * ((place * 7 % 16) as f64 - 7.5) / 7.5;
            let head = 100.0 * if is_higher_better { -figure } else { figure }.exp();
            one.take(Figures::of([100.0; 2], [head; 2]).ok_or_else(String::new), 0.0);
        }
        one
    }

    fn judged(one: &Collected) -> GateVerdict {
        verdicts(std::slice::from_ref(one), BLOCKS_MAX).remove(0)
    }

    fn passed(metric: &'static str) -> GateVerdict {
        judged(&series(metric, 0.0, 0.02, BLOCKS_MAX))
    }

    #[test]
    fn a_series_that_did_not_move_passes() {
        let found = passed("server_cpu_ns_per_op");
        assert_eq!((found.outcome, found.stage), (GateOutcome::Pass, GateStage::Sequential));
        assert!(found.evidence.unwrap().within >= 40.0 && found.class == GateClass::Gated);
        assert!(found.blocks.len() < 20 && found.reason.is_none());
    }

    #[test]
    fn ratios_are_shown_in_the_metrics_own_direction() {
        let cpu = judged(&series("server_cpu_ns_per_op", 0.1, 0.01, BLOCKS_MAX));
        assert_eq!(cpu.outcome, GateOutcome::Regression);
        assert!(cpu.ratio.unwrap() > 1.09 && cpu.blocks.iter().all(|block| *block > 0.0));
        let rate = judged(&series("ops_per_second", 0.1, 0.01, BLOCKS_MAX));
        let [low, high] = rate.interval.unwrap();
        assert_eq!(rate.outcome, GateOutcome::Regression);
        assert!(low <= rate.ratio.unwrap() && rate.ratio.unwrap() <= high && high < 0.95);
        let better = judged(&series("ops_per_second", -0.1, 0.01, BLOCKS_MAX));
        assert_eq!(better.outcome, GateOutcome::Improvement);
    }

    #[test]
    fn what_others_disturbed_is_never_called() {
        let mut neighbour = series("server_cpu_ns_per_op", 0.1, 0.01, 4);
        (0..12)
            .for_each(|_| neighbour.take(Figures::of([100.0; 2], [111.0; 2]).ok_or_else(String::new), 0.9));
        let found = judged(&neighbour);
        assert_eq!((found.outcome, found.disturbed), (GateOutcome::Inconclusive, 12));
        assert!(found.reason.unwrap().contains("0.9 cores in 12 of 16 blocks"));
    }

    #[test]
    fn a_gate_of_which_every_block_was_disturbed_says_so() {
        let all_disturbed = |metric| {
            let mut one = series(metric, 0.0, 0.0, 0);
            (0..24).for_each(|_| one.take(Figures::of([100.0; 2], [146.0; 2]).ok_or_else(String::new), 0.9));
            judged(&one)
        };
        let all = [all_disturbed("ops_per_second"), all_disturbed("server_cpu_ns_per_op")];
        let (outcome, reason) = overall(&all, &[]);
        assert_eq!(outcome, GateOutcome::Inconclusive);
        assert!(reason.contains("others used up to 0.9 cores in 24 of 24 blocks"), "{reason}");
    }

    #[test]
    fn a_side_that_fails_is_not_measured_also_after_blocks_that_pass() {
        for blocks in [0, 30] {
            let mut failed = series("ops_per_second", 0.0, 0.02, blocks);
            (0..3).for_each(|_| failed.take(Err("head: it ended".to_owned()), 0.0));
            let found = judged(&failed);
            assert_eq!(found.outcome, GateOutcome::NotMeasured, "{blocks}");
            let reason = found.reason.unwrap();
            assert!(reason.starts_with("3 of ") && reason.ends_with("the last: head: it ended"), "{reason}");
        }
    }

    /// A change by half of which a few blocks were measured, beside a series that passes.
    #[test]
    fn a_series_that_moved_and_was_not_finished_holds_the_gate_up() {
        for blocks in 0..12 {
            let found = judged(&series("server_cpu_ns_per_op", 0.46, 0.3, blocks));
            assert_eq!(found.outcome, GateOutcome::Inconclusive, "{blocks}");
            let (outcome, reason) = overall(&[passed("ops_per_second"), found], &[]);
            assert_eq!(outcome, GateOutcome::Inconclusive, "{blocks}: {reason}");
            assert!(reason.contains(&format!("after {blocks} blocks")), "{reason}");
        }
    }

    #[test]
    fn what_scatters_too_much_holds_nothing_up_once_it_has_the_blocks_that_show_it() {
        let wild = |blocks| judged(&series("latency_ns_p50", 0.0, 1.5, blocks));
        let (finished, unfinished) = (wild(BLOCKS_MAX), wild(23));
        assert!(finished.blocks.len() == 24 && finished.evidence.unwrap().given_up);
        assert_eq!((finished.class, finished.outcome), (GateClass::Advisory, GateOutcome::Inconclusive));
        let with = |one: GateVerdict| overall(&[passed("ops_per_second"), one], &[]).0;
        assert_eq!(with(finished.clone()), GateOutcome::Pass);
        assert_eq!(with(unfinished), GateOutcome::Inconclusive);
        let (outcome, reason) = overall(&[finished], &[]);
        assert!(outcome == GateOutcome::Inconclusive && reason.contains("too noisy"), "{reason}");
    }

    #[test]
    fn blocks_that_depend_on_those_before_them_are_said() {
        let fine = passed("ops_per_second");
        assert_eq!(dependent(std::slice::from_ref(&fine)), None);
        let lagging = GateVerdict {
            evidence: fine.evidence.map(|evidence| GateEvidence { lag_1: Some(0.95), ..evidence }),
            ..fine
        };
        assert!(dependent(&[lagging]).unwrap().contains("GET, ops_per_second"));
    }

    /// Ten percent more where blocks scatter by twenty: too noisy to be called, and too likely to be left out.
    #[test]
    fn a_noisy_series_that_moved_holds_the_gate_up() {
        let mut one = series("latency_ns_p50", 0.0, 1.5, 0);
        for place in 0..BLOCKS_MAX {
            let figure: f64 =
                if place * 5 % 16 < 11 { 0.6 } else { -0.5 } * (1.0 + (place % 7) as f64 / 10.0);
            one.take(Figures::of([100.0; 2], [100.0 * figure.exp(); 2]).ok_or_else(String::new), 0.0);
        }
        let found = judged(&one);
        assert_eq!((found.class, found.outcome), (GateClass::Advisory, GateOutcome::Inconclusive));
        assert!(is_suspicious(&found, &found.evidence.unwrap()), "{:?}", found.evidence);
        assert_eq!(overall(&[passed("ops_per_second"), found], &[]).0, GateOutcome::Inconclusive);
    }

    #[test]
    fn loads_that_were_left_out_are_no_pass() {
        let left_out = ["SET 64 B: the budget has no room for it".to_owned(), "another".to_owned()];
        let (outcome, reason) = overall(&[passed("ops_per_second")], &left_out);
        assert_eq!(outcome, GateOutcome::Inconclusive);
        assert!(reason.contains("SET 64 B") && reason.ends_with("and 1 more"), "{reason}");
        let red = judged(&series("server_cpu_ns_per_op", 0.1, 0.01, BLOCKS_MAX));
        assert_eq!(overall(&[red], &left_out).0, GateOutcome::Regression);
    }

    #[test]
    fn the_worst_word_of_those_that_bind_is_the_gates() {
        let with = |outcome, class| GateVerdict { outcome, class, ..passed("ops_per_second") };
        let of = |list: &[GateVerdict]| overall(list, &[]).0;
        let pass = with(GateOutcome::Pass, GateClass::Gated);
        let better = with(GateOutcome::Improvement, GateClass::GatedAt8);
        let undecided = with(GateOutcome::Inconclusive, GateClass::Gated);
        let red = with(GateOutcome::Regression, GateClass::Gated);
        let wild_and_red = with(GateOutcome::Regression, GateClass::Advisory);
        let silent = with(GateOutcome::NotMeasured, GateClass::Advisory);
        assert_eq!(of(&[pass.clone(), wild_and_red]), GateOutcome::Regression, "red is red");
        assert_eq!(of(&[pass.clone(), better.clone()]), GateOutcome::Improvement);
        assert_eq!(of(&[better.clone(), undecided]), GateOutcome::Inconclusive);
        assert_eq!(of(&[better, red]), GateOutcome::Regression);
        assert_eq!(of(&[pass.clone(), silent]), GateOutcome::NotMeasured);
        assert_eq!(of(&[]), GateOutcome::Inconclusive);
        assert_eq!(overall(&[], &[]).1, "nothing was timed");
        let counted = |outcome| GateVerdict { stage: GateStage::Counted, ..with(outcome, GateClass::Gated) };
        assert_eq!(of(&[counted(GateOutcome::Pass)]), GateOutcome::Inconclusive, "nothing was timed");
        assert_eq!(of(&[pass.clone(), counted(GateOutcome::Improvement)]), GateOutcome::Pass);
        assert_eq!(of(&[pass.clone(), counted(GateOutcome::Regression)]), GateOutcome::Regression);
        assert!(overall(&[pass], &[]).1.contains("1 series"));
    }
}
