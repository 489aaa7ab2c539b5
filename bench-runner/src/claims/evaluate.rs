//! What do the stored runs say of a claim?
//!
//! Cells of both sides are paired where they differ in nothing but what the claim names, trials of a pair by
//! their round, and the ratio's median and interval are recomputed from the trials: the record's derived
//! figures are not taken on trust. Every cell that a side names must come to a figure: a claim over four cells of
//! which one failed is not measured.

use super::definition::{Definition, Side};
use super::judge::{judge, slack_percent};
use crate::model::{
    Cell, Claim, ClaimOnMachine, ClaimRun, ClaimSide, ClaimVerdict, Evidence, Figure, Run, ScenarioRecord,
    Status, Trial,
};
use crate::stats;
use serde_json::{Map, Value};

/// Generator CPU time per request, ns: derived here from what every trial records, so that cells measured with
/// somebody else's client have it too.
pub(super) const GENERATOR_CPU: &str = "generator_cpu_ns_per_op";

/// Axes that are a switch rather than a point: cells that have one take part only where the claim names it.
const SWITCHES: &[&str] = &["variant", "client_program", "protocol", "transport", "connections"];

/// A machine, and the run there that a claim is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Machine key.
    pub machine_key: &'a str,
    /// The machine in words.
    pub machine_title: &'a str,
    /// The run, its record of the claim's scenario, and that record's file; or why there is none.
    pub run: Result<(&'a Run, &'a ScenarioRecord, &'a str), &'a str>,
}

/// The claim with its verdict on every machine.
#[must_use]
pub fn evaluate(definition: &Definition, candidates: &[Candidate]) -> Claim {
    let machines: Vec<ClaimOnMachine> =
        candidates.iter().map(|candidate| on_machine(definition, candidate)).collect();
    let (verdict, reason) = overall(&machines);
    Claim {
        key: definition.key.clone(),
        statement: definition.statement.clone(),
        scenario: definition.scenario.clone(),
        metric: definition.metric.clone(),
        operation: definition.operation.clone(),
        placement: definition.placement,
        numerator: side(definition, &definition.numerator),
        denominator: definition.denominator.as_ref().map(|below| side(definition, below)),
        comparison: definition.comparison,
        bound: definition.bound,
        slack_percent: slack_percent(&definition.metric),
        said_in: definition.said_in.clone(),
        since: definition.since.clone(),
        measure: definition.measure.clone(),
        verdict,
        reason,
        machines,
    }
}

fn side(definition: &Definition, written: &Side) -> ClaimSide {
    let axes = definition.at.iter().chain(&written.axes);
    ClaimSide {
        target: written.target.clone(),
        mode: written.mode,
        metric: written.metric.clone(),
        axes: axes.map(|(name, value)| (name.clone(), value.clone())).collect(),
    }
}

/// Failing anywhere is failing: the statement names no machine.
fn overall(machines: &[ClaimOnMachine]) -> (ClaimVerdict, String) {
    let count = |verdict| machines.iter().filter(|one| one.verdict == verdict).count();
    let all = machines.len();
    let verdict = match (count(ClaimVerdict::Fails), count(ClaimVerdict::Holds)) {
        (0, 0) => ClaimVerdict::NotMeasured,
        (0, _) => ClaimVerdict::Holds,
        _ => ClaimVerdict::Fails,
    };
    let reason = match machines {
        [] => "no run is stored".to_owned(),
        [only] => format!("{}: {}", only.machine_key, only.reason),
        _ => match verdict {
            ClaimVerdict::NotMeasured => format!("on none of {all} machines"),
            ClaimVerdict::Holds => format!("on {} of {all} machines", count(verdict)),
            ClaimVerdict::Fails => format!("on {} of {all} machines", count(verdict)),
        },
    };
    (verdict, reason)
}

fn on_machine(definition: &Definition, candidate: &Candidate) -> ClaimOnMachine {
    let (verdict, reason, run, evidence) = match candidate.run {
        Err(reason) => (ClaimVerdict::NotMeasured, reason.to_owned(), None, Vec::new()),
        Ok((run, record, file)) => {
            let evidence = evidence(definition, record);
            let (verdict, reason) = together(definition, &evidence);
            (verdict, reason, Some(regime(definition, run, file)), evidence)
        }
    };
    ClaimOnMachine {
        machine_key: candidate.machine_key.to_owned(),
        machine_title: candidate.machine_title.to_owned(),
        verdict,
        reason,
        run,
        evidence,
    }
}

fn regime(definition: &Definition, run: &Run, file: &str) -> ClaimRun {
    let mut keys: Vec<&str> = vec![&definition.numerator.target];
    keys.extend(definition.denominator.iter().map(|below| below.target.as_str()));
    keys.dedup();
    let targets = keys.iter().map(|key| match run.targets.iter().find(|target| target.key == **key) {
        Some(target) if target.allocator.is_empty() || target.title.contains(&target.allocator) => {
            target.title.clone()
        }
        Some(target) => format!("{} ({})", target.title, target.allocator),
        None => format!("{key}: not in the run"),
    });
    ClaimRun {
        id: run.id.clone(),
        version: run.version.clone(),
        profile: run.profile,
        started_at: run.started_at.clone(),
        file: file.to_owned(),
        targets: targets.collect(),
    }
}

fn together(definition: &Definition, evidence: &[Evidence]) -> (ClaimVerdict, String) {
    let of = |verdict| evidence.iter().filter(move |one| one.verdict == verdict);
    let verdict = if of(ClaimVerdict::Fails).next().is_some() {
        ClaimVerdict::Fails
    } else if evidence.is_empty() || of(ClaimVerdict::NotMeasured).next().is_some() {
        ClaimVerdict::NotMeasured
    } else {
        ClaimVerdict::Holds
    };
    let reason = match (evidence, verdict) {
        ([], _) => format!(
            "the run has no such cell of {} ({})",
            definition.numerator.target,
            spelled(&definition.numerator.mode)
        ),
        ([only], _) => format!("{}: {}", only.label, only.reason),
        (all, ClaimVerdict::Holds) => format!("all {} pairs of cells hold", all.len()),
        (all, verdict) => {
            let first = of(verdict).next().map(|one| format!("{}: {}", one.label, one.reason));
            let word = if verdict == ClaimVerdict::Fails { "fail" } else { "have no verdict" };
            format!(
                "{} of {} pairs of cells {word}; {}",
                of(verdict).count(),
                all.len(),
                first.unwrap_or_default()
            )
        }
    };
    (verdict, reason)
}

/// One entry per pair, and one per cell that lacks its partner.
fn evidence(definition: &Definition, record: &ScenarioRecord) -> Vec<Evidence> {
    let cells: Vec<(&Cell, Map<String, Value>)> =
        record.cells.iter().map(|cell| (cell, axes_of(cell))).collect();
    let above = &definition.numerator;
    let chosen = |side: &Side, other: Option<&Side>| -> Vec<&(&Cell, Map<String, Value>)> {
        cells.iter().filter(|(cell, axes)| selects(definition, side, other, cell, axes)).collect()
    };
    let Some(below) = &definition.denominator else {
        return chosen(above, None).iter().map(|(cell, _)| of_cell(definition, cell)).collect();
    };
    let (uppers, lowers) = (chosen(above, Some(below)), chosen(below, Some(above)));
    let meet = |upper: &(&Cell, Map<String, Value>), lower: &(&Cell, Map<String, Value>)| {
        upper.0.placement == lower.0.placement && rest(&upper.1, above, below) == rest(&lower.1, above, below)
    };
    let mut all = Vec::new();
    for upper in &uppers {
        match lowers.iter().find(|lower| meet(upper, lower)) {
            Some(lower) => all.push(of_pair(definition, below, upper.0, lower.0)),
            None => all.push(lonely(upper.0, below)),
        }
    }
    for lower in lowers.iter().filter(|lower| !uppers.iter().any(|upper| meet(upper, lower))) {
        all.push(lonely(lower.0, above));
    }
    all
}

fn axes_of(cell: &Cell) -> Map<String, Value> {
    match serde_json::to_value(&cell.axes) {
        Ok(Value::Object(axes)) => axes,
        _ => Map::new(),
    }
}

fn selects(
    definition: &Definition,
    side: &Side,
    other: Option<&Side>,
    cell: &Cell,
    axes: &Map<String, Value>,
) -> bool {
    let named = |name: &str| side.axes.contains_key(name) || definition.at.contains_key(name);
    let absent = |name: &str| named(name) || !axes.contains_key(name);
    cell.target == side.target
        && cell.mode == side.mode
        && definition.placement.is_none_or(|placement| placement == cell.placement)
        && definition.at.iter().chain(&side.axes).all(|(name, wanted)| is_at(axes.get(name), wanted))
        && SWITCHES.iter().all(|name| absent(name))
        && other.is_none_or(|other| other.axes.keys().all(|name| absent(name)))
}

/// A list means any of its values.
fn is_at(found: Option<&Value>, wanted: &Value) -> bool {
    match (found, wanted) {
        (Some(found), Value::Array(any)) => any.contains(found),
        (found, wanted) => found == Some(wanted),
    }
}

/// The axes that must be equal: all but those that one side names for itself.
fn rest(axes: &Map<String, Value>, above: &Side, below: &Side) -> Map<String, Value> {
    axes.iter()
        .filter(|(name, _)| !above.axes.contains_key(*name) && !below.axes.contains_key(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn of_cell(definition: &Definition, cell: &Cell) -> Evidence {
    let name = definition.numerator.metric.as_deref().unwrap_or(&definition.metric);
    let values: Vec<f64> =
        figures(cell).filter_map(|trial| value(trial, name, definition.operation.as_deref())).collect();
    concluded(definition, cell, None, stats::summarise(&values))
}

fn of_pair(definition: &Definition, below: &Side, upper: &Cell, lower: &Cell) -> Evidence {
    let operation = definition.operation.as_deref();
    let over = definition.numerator.metric.as_deref().unwrap_or(&definition.metric);
    let under = below.metric.as_deref().unwrap_or(&definition.metric);
    let pairs: Vec<(f64, f64)> = figures(upper)
        .filter_map(|trial| {
            let partner = figures(lower).find(|other| other.index == trial.index)?;
            Some((value(trial, over, operation)?, value(partner, under, operation)?))
        })
        .collect();
    concluded(definition, upper, Some(lower), stats::paired_ratio(&pairs))
}

fn concluded(
    definition: &Definition,
    upper: &Cell,
    lower: Option<&Cell>,
    summary: Option<stats::Summary>,
) -> Evidence {
    let broken = std::iter::once(upper).chain(lower).find(|cell| cell.status != Status::Ok);
    let figure = summary.filter(|_| broken.is_none()).map(|one| Figure {
        median: one.median,
        low: one.low,
        high: one.high,
        spread: one.spread,
        n: one.n,
    });
    let (verdict, reason) = match (broken, &figure) {
        (Some(cell), _) => (
            ClaimVerdict::NotMeasured,
            format!("{} has no figure: {}", cell.key, cell.reason.as_deref().unwrap_or("no reason recorded")),
        ),
        (None, None) => (
            ClaimVerdict::NotMeasured,
            format!("no round has a value of {} on every side", definition.metric),
        ),
        (None, Some(figure)) => {
            judge(figure, definition.comparison, definition.bound, slack_percent(&definition.metric))
        }
    };
    Evidence {
        numerator: upper.key.clone(),
        denominator: lower.map(|cell| cell.key.clone()),
        label: upper.label.clone(),
        verdict,
        reason,
        figure,
    }
}

fn lonely(cell: &Cell, missing: &Side) -> Evidence {
    Evidence {
        numerator: cell.key.clone(),
        denominator: None,
        label: cell.label.clone(),
        verdict: ClaimVerdict::NotMeasured,
        reason: format!(
            "the run has no cell of {} ({}) at the same point",
            missing.target,
            spelled(&missing.mode)
        ),
        figure: None,
    }
}

/// A word as records spell it.
fn spelled<T: serde::Serialize>(word: &T) -> String {
    match serde_json::to_value(word) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}

fn figures(cell: &Cell) -> impl Iterator<Item = &Trial> {
    cell.trials.iter().filter(|trial| trial.status == Status::Ok)
}

fn value(trial: &Trial, metric: &str, operation: Option<&str>) -> Option<f64> {
    let stored = trial
        .values
        .iter()
        .find(|value| value.metric == metric && value.operation.as_deref() == operation)
        .map(|value| value.value);
    if stored.is_some() || metric != GENERATOR_CPU || trial.counts.operations == 0 {
        return stored;
    }
    let spent = trial.os.as_ref()?.generator_cpu_ns;
    (spent > 0).then(|| spent as f64 / trial.counts.operations as f64)
}
