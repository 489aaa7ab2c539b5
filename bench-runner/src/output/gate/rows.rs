//! Which verdict stands where, and what stands in its row?

use super::figure;
use crate::model::{Gate, GateClass, GateFunction, GateOutcome, GateStage, GateVerdict};
use crate::output::escape;

/// Heads of the columns.
pub(super) const HEAD: [&str; 10] =
    ["scenario", "metric", "base", "head", "head / base", "limit", "finds", "class", "verdict", "why"];
/// Columns of numbers.
pub(super) const RIGHT: [usize; 5] = [2, 3, 4, 5, 6];

/// A gate's verdicts, parted by whether there is anything to look at.
pub(super) struct Ordered<'a> {
    /// What is no plain pass, the most important first: what is left out for want of room stands last.
    pub(super) remarkable: Vec<&'a GateVerdict>,
    /// Passes of which nothing else is to be said, in the order of the gate's file.
    pub(super) plain: Vec<&'a GateVerdict>,
}

impl<'a> Ordered<'a> {
    pub(super) fn of(gate: &'a Gate) -> Self {
        // A reason beside a pass limits it.
        let (plain, mut remarkable): (Vec<_>, Vec<_>) = gate
            .verdicts
            .iter()
            .partition(|verdict| verdict.outcome == GateOutcome::Pass && verdict.reason.is_none());
        remarkable.sort_by_key(|verdict| importance(verdict));
        Self { remarkable, plain }
    }
}

/// Smallest first; the sort is stable, so the order of the gate's file holds within.
fn importance(verdict: &GateVerdict) -> u8 {
    match (verdict.outcome, verdict.class) {
        (GateOutcome::Regression, GateClass::Gated | GateClass::GatedAt8) => 0,
        (GateOutcome::Regression, GateClass::Advisory) => 1,
        (GateOutcome::Improvement, _) => 2,
        (GateOutcome::Inconclusive, _) => 3,
        (GateOutcome::NotMeasured, _) => 4,
        (GateOutcome::Pass, _) => 5,
    }
}

/// The row of a verdict. Names are cut to what a cell bears, and not yet escaped for where they will stand.
pub(super) fn cells(verdict: &GateVerdict) -> [String; HEAD.len()] {
    let unit = escape::name(&verdict.unit);
    [
        scenario(verdict),
        escape::name(&verdict.metric),
        figure::amount(verdict.base, &unit),
        figure::amount(verdict.head, &unit),
        figure::ratio(verdict),
        figure::percent(verdict.limit),
        verdict.detectable.map_or("nothing".to_owned(), figure::percent),
        verdict.class.name().to_owned(),
        said(verdict),
        why(verdict),
    ]
}

/// What people call it; the key stands in the record.
fn scenario(verdict: &GateVerdict) -> String {
    escape::name(if verdict.label.is_empty() { &verdict.scenario } else { &verdict.label })
}

/// `regression: +9.8 %, slower`.
pub(super) fn said(verdict: &GateVerdict) -> String {
    let outcome = verdict.outcome.words();
    match figure::change(verdict) {
        Some(change) if verdict.outcome != GateOutcome::NotMeasured => format!("{outcome}: {change}"),
        _ => outcome.to_owned(),
    }
}

/// The reason, and what the verdict rests on.
pub(super) fn why(verdict: &GateVerdict) -> String {
    let mut parts: Vec<String> = verdict.reason.iter().map(|reason| escape::name(reason)).collect();
    match verdict.stage {
        GateStage::NullControl => parts.push("base moved against itself".to_owned()),
        GateStage::Screen => parts.push("only screened".to_owned()),
        GateStage::Counted => parts.push("counted".to_owned()),
        GateStage::Confirm | GateStage::Sequential => {}
    }
    match verdict.blocks.len() {
        0 => {}
        1 => parts.push("1 block".to_owned()),
        several => parts.push(format!("{several} blocks")),
    }
    if let Some(p) = verdict.p_adjusted {
        parts.push(format!("adjusted p {}", figure::probability(p)));
    }
    if let Some(found) = verdict.evidence {
        let evidence = match verdict.outcome {
            GateOutcome::Improvement => found.better,
            GateOutcome::Pass => found.within,
            _ => found.worse,
        };
        parts.push(format!("evidence {}", figure::evidence(evidence)));
    }
    match verdict.disturbed {
        0 => {}
        disturbed => parts.push(format!("{disturbed} more left out as disturbed")),
    }
    if !verdict.block_sd_is_stored && verdict.evidence.is_none() {
        parts.push("own noise".to_owned());
    }
    parts.join("; ")
}

/// A function's name, and its instructions a request under base and head.
pub(super) fn function(one: &GateFunction) -> [String; 3] {
    [escape::name(&one.name), figure::count(one.base), figure::count(one.head)]
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn the_most_important_stands_first_and_plain_passes_apart() {
        let mut gate = testing::gate();
        gate.verdicts.reverse();
        let ordered = Ordered::of(&gate);
        let outcomes: Vec<_> = ordered.remarkable.iter().map(|one| one.outcome.words()).collect();
        assert_eq!(outcomes, ["regression", "improvement", "inconclusive", "not measured"]);
        assert_eq!(ordered.plain.len(), 1);
        gate.verdicts.iter_mut().for_each(|one| one.reason = Some("limited".into()));
        assert_eq!(Ordered::of(&gate).remarkable.last().unwrap().outcome, GateOutcome::Pass);
        gate.verdicts.iter_mut().for_each(|one| one.outcome = GateOutcome::Regression);
        gate.verdicts[0].class = GateClass::Advisory;
        assert_eq!(Ordered::of(&gate).remarkable.last().unwrap().class, GateClass::Advisory);
    }

    #[test]
    fn a_row_says_what_it_rests_on() {
        let gate = testing::gate();
        let ordered = Ordered::of(&gate);
        assert_eq!(
            cells(ordered.remarkable[0]),
            [
                "GET, one connection",
                "server_cpu_ns_per_op",
                "4,123 ns",
                "4,527 ns",
                "1.098 (1.089–1.108)",
                "3.0 %",
                "3.4 %",
                "gated",
                "regression: +9.8 %, more CPU",
                "16 blocks; evidence 5,200",
            ]
        );
        assert_eq!(cells(ordered.remarkable[3])[2..5], ["none", "none", "none"]);
        assert!(
            why(ordered.remarkable[2]).starts_with("it moved by +5.1 %"),
            "{}",
            why(ordered.remarkable[2])
        );
    }
}
