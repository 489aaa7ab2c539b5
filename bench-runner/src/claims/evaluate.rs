//! Evaluation of a claim by stored runs.
//!
//! Cells of both sides are paired where they differ in nothing but what the claim names, trials of a pair by
//! their round, and the ratio's median and interval are recomputed from the trials: the record's derived
//! figures are not taken on trust. Every cell that a side names must come to a figure: a claim over four cells of
//! which one failed is not measured.

use super::components;
use super::definition::{Definition, Side};
use super::judge::{judge, judge_difference, judge_every, slack_percent};
use super::rounds::{Rated, better, difference, of_rounds};
use crate::model::{
    Cell, Claim, ClaimMinus, ClaimOnMachine, ClaimOr, ClaimRun, ClaimSide, ClaimVerdict, Evidence, Figure,
    Mode, Run, ScenarioRecord, Status, version_key,
};
use crate::stats;
use serde_json::{Map, Value};

/// Axes that are a switch rather than a point: cells that have one take part only where the claim names it.
const SWITCHES: &[&str] = &[
    "variant",
    "client_program",
    "protocol",
    "transport",
    "connections",
    "rate_percent_of_slowest",
    "key_schema",
];

/// A run, its record of the claim's scenario (none where the claim is of components), and the file that
/// decides.
pub type Judge<'a> = (&'a Run, Option<&'a ScenarioRecord>, String);

/// A machine, and the runs there that a claim may be judged by.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// Machine key.
    pub machine_key: &'a str,
    /// The machine in words.
    pub machine_title: &'a str,
    /// In order of precedence: the first that gives a verdict decides, so that a later run of some cells
    /// never hides those of an earlier one. Or why there is none.
    pub runs: Result<Vec<Judge<'a>>, String>,
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
        minus: definition.minus.as_ref().map(|minus| ClaimMinus {
            numerator: side(definition, &minus.numerator),
            denominator: minus.denominator.as_ref().map(|below| side(definition, below)),
        }),
        or: definition
            .or
            .as_ref()
            .map(|or| ClaimOr { denominator: side(definition, &or.denominator), bound: or.bound }),
        every_trial: definition.every_trial,
        comparison: definition.comparison,
        bound: definition.bound,
        slack_percent: slack_percent(&definition.metric),
        said_in: definition.said_in.clone(),
        since: definition.since.clone(),
        measure: definition.measure.clone(),
        remark: definition.remark.clone().filter(|_| verdict == ClaimVerdict::Fails),
        verdict,
        reason,
        version: newest_version(&machines),
        machines,
        earlier: None,
    }
}

/// The newest version whose runs gave a verdict.
fn newest_version(machines: &[ClaimOnMachine]) -> Option<String> {
    let decided = machines.iter().filter(|one| one.verdict != ClaimVerdict::NotMeasured);
    let versions = decided.filter_map(|one| one.run.as_ref()).map(|run| &run.version);
    versions.max_by_key(|version| version_key(version)).cloned()
}

fn side(definition: &Definition, written: &Side) -> ClaimSide {
    let axes = definition.at.iter().chain(&written.axes);
    ClaimSide {
        target: written.told(),
        better_of: written.better_of.clone(),
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
    let judged = |(run, record, file): &Judge| {
        let evidence = match record {
            Some(record) => evidence(definition, record),
            None => components::evidence(definition, &run.components),
        };
        let (verdict, reason) = together(definition, &evidence);
        (verdict, reason, Some(regime(definition, run, file)), evidence)
    };
    let none = |reason: &str| (ClaimVerdict::NotMeasured, reason.to_owned(), None, Vec::new());
    let (verdict, reason, run, evidence) = match &candidate.runs {
        Err(reason) => none(reason),
        Ok(runs) => {
            let mut all = runs.iter().map(judged).peekable();
            let first = all.peek().cloned().unwrap_or_else(|| none("no run"));
            all.find(|(verdict, ..)| *verdict != ClaimVerdict::NotMeasured).unwrap_or(first)
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
    let otherwise = definition.or.iter().map(|or| &or.denominator);
    let mut keys: Vec<&str> = Vec::new();
    for key in definition.sides().chain(otherwise).flat_map(Side::targets) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let targets = keys.iter().map(|key| match run.targets.iter().find(|target| target.key == *key) {
        Some(target) if target.allocator.is_empty() || target.title.contains(&target.allocator) => {
            target.title.clone()
        }
        Some(target) => format!("{} ({})", target.title, target.allocator),
        None => format!("{key}: not in the run"),
    });
    let targets = if definition.scenario == components::COMPONENTS {
        components::targets(definition, run)
    } else {
        targets.collect()
    };
    ClaimRun {
        id: run.id.clone(),
        version: run.version.clone(),
        profile: run.profile,
        started_at: run.started_at.clone(),
        file: file.to_owned(),
        targets,
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

/// One entry per pair, and one per cell that lacks its partner; where a cell may meet another bound, that of the line
/// it does meet.
fn evidence(definition: &Definition, record: &ScenarioRecord) -> Vec<Evidence> {
    let first = evidence_of(definition, record);
    let Some(otherwise) = definition.otherwise() else { return first };
    let others = evidence_of(&otherwise, record);
    let better = |one: Evidence| {
        let other = others.iter().find(|other| other.numerator == one.numerator);
        match other.filter(|other| other.verdict == ClaimVerdict::Holds && one.verdict != other.verdict) {
            None => one,
            Some(other) => {
                let reason = format!("{}; but by its other line {}", one.reason, other.reason);
                Evidence { reason, ..other.clone() }
            }
        }
    };
    first.into_iter().map(better).collect()
}

fn evidence_of(definition: &Definition, record: &ScenarioRecord) -> Vec<Evidence> {
    let cells: Vec<Point> = record.cells.iter().map(|cell| Point { cell, axes: axes_of(cell) }).collect();
    let chosen = |side: &Side| -> Vec<&Point> {
        cells.iter().filter(|point| selects(definition, side, point)).collect()
    };
    let whole = record.profile.is_whole();
    let meet = |one: &Point, other: &Point| {
        one.cell.placement == other.cell.placement && rest(definition, one) == rest(definition, other)
    };
    let partner = |upper: &Point, side: &Side| -> Result<Cells<'_>, Missing> {
        let mut found = Vec::new();
        let there = chosen(side);
        for target in side.targets() {
            match there.iter().find(|point| point.cell.target == *target && meet(upper, point)) {
                Some(point) => found.push(point.cell),
                None => return Err(Missing { target: target.clone(), mode: side.mode }),
            }
        }
        Ok(found)
    };
    let uppers = chosen(&definition.numerator);
    let mut all: Vec<Evidence> = uppers
        .iter()
        .map(|upper| {
            let below = definition.denominator.as_ref().map(|side| partner(upper, side)).transpose();
            let minus = definition.minus.as_ref();
            let above = minus.map(|minus| partner(upper, &minus.numerator)).transpose();
            let under =
                minus.and_then(|it| it.denominator.as_ref()).map(|side| partner(upper, side)).transpose();
            match (below, above, under) {
                (Err(it), ..) | (_, Err(it), _) | (.., Err(it)) => lonely(upper.cell, &it.target, it.mode),
                (Ok(below), Ok(above), Ok(under)) => {
                    let sides = Sides { upper: upper.cell, below, minus: above.map(|above| (above, under)) };
                    sides.concluded(definition, whole)
                }
            }
        })
        .collect();
    if let Some(below) = &definition.denominator {
        let lowers = chosen(below);
        let alone = lowers.iter().filter(|lower| !uppers.iter().any(|upper| meet(upper, lower)));
        all.extend(
            alone.map(|lower| lonely(lower.cell, &definition.numerator.target, definition.numerator.mode)),
        );
    }
    all
}

/// A cell with its axes by name.
struct Point<'a> {
    cell: &'a Cell,
    axes: Map<String, Value>,
}

/// A cell that is not there.
struct Missing {
    target: String,
    mode: Mode,
}

/// The cells of one side at one point: one, or those of which the better counts.
type Cells<'a> = Vec<&'a Cell>;

fn axes_of(cell: &Cell) -> Map<String, Value> {
    match serde_json::to_value(&cell.axes) {
        Ok(Value::Object(axes)) => axes,
        _ => Map::new(),
    }
}

fn selects(definition: &Definition, side: &Side, point: &Point) -> bool {
    let Point { cell, axes } = point;
    let named = |name: &str| side.axes.contains_key(name) || definition.at.contains_key(name);
    let absent = |name: &str| named(name) || !axes.contains_key(name);
    side.targets().contains(&cell.target)
        && cell.mode == side.mode
        && definition.placement.is_none_or(|placement| placement == cell.placement)
        && definition.at.iter().chain(&side.axes).all(|(name, wanted)| is_at(axes.get(name), wanted))
        && SWITCHES.iter().all(|name| absent(name))
        && definition.without.iter().all(|name| !axes.contains_key(name))
        && definition.sides().all(|other| other.axes.keys().all(|name| absent(name)))
}

/// A list means any of its values.
fn is_at(found: Option<&Value>, wanted: &Value) -> bool {
    match (found, wanted) {
        (Some(found), Value::Array(any)) => any.contains(found),
        (found, wanted) => found == Some(wanted),
    }
}

/// The axes that must be equal: all but those that a side names for itself.
fn rest(definition: &Definition, point: &Point) -> Map<String, Value> {
    let named = |name: &String| definition.sides().any(|side| side.axes.contains_key(name));
    point
        .axes
        .iter()
        .filter(|(name, _)| !named(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The cells that one figure is made of.
struct Sides<'a> {
    upper: &'a Cell,
    below: Option<Cells<'a>>,
    minus: Option<(Cells<'a>, Option<Cells<'a>>)>,
}

impl Sides<'_> {
    fn concluded(&self, definition: &Definition, whole: bool) -> Evidence {
        let minus = definition.minus.as_ref();
        let metric = |side: Option<&Side>| {
            side.and_then(|side| side.metric.as_deref()).unwrap_or(&definition.metric).to_owned()
        };
        let over = metric(Some(&definition.numerator));
        let under = metric(definition.denominator.as_ref());
        let minus_over = metric(minus.map(|it| &it.numerator));
        let minus_under = metric(minus.and_then(|it| it.denominator.as_ref()));
        let all = std::iter::once(&self.upper)
            .chain(self.below.iter().flatten())
            .chain(self.minus.iter().flat_map(|(above, under)| above.iter().chain(under.iter().flatten())));
        let mut all = all.copied();
        let unfit = |cell: &Cell| {
            let disturbed = || {
                let cores = cell.disturbed_cores()?;
                Some(format!("others used {cores:.2} CPUs in most of its trials"))
            };
            match cell.status {
                Status::Ok => disturbed(),
                _ => Some(cell.reason.clone().unwrap_or_else(|| "no reason recorded".to_owned())),
            }
        };
        let broken = all.find_map(|cell| Some((cell, unfit(cell)?)));
        let lower = self.below.as_ref().and_then(|cells| better(definition, cells, &under));
        let (verdict, reason, figure) = match broken {
            Some((cell, reason)) => {
                (ClaimVerdict::NotMeasured, format!("{} has no figure: {reason}", cell.key), None)
            }
            None => {
                let own =
                    of_rounds(definition, (self.upper, &over), lower.map(|cell| (cell, under.as_str())));
                match &self.minus {
                    None => judged(definition, &own, whole),
                    Some((above, below)) => {
                        let below = below.as_ref().and_then(|cells| better(definition, cells, &minus_under));
                        let taken = better(definition, above, &minus_over)
                            .map(|cell| {
                                of_rounds(
                                    definition,
                                    (cell, &minus_over),
                                    below.map(|it| (it, minus_under.as_str())),
                                )
                            })
                            .unwrap_or_default();
                        judged(definition, &difference(&own, &taken), whole)
                    }
                }
            }
        };
        Evidence {
            numerator: self.upper.key.clone(),
            denominator: lower.map(|cell| cell.key.clone()),
            label: self.upper.label.clone(),
            verdict,
            reason,
            figure,
        }
    }
}

fn judged(
    definition: &Definition,
    rounds: &[(u32, Rated)],
    whole: bool,
) -> (ClaimVerdict, String, Option<Figure>) {
    let values: Vec<f64> = rounds.iter().filter_map(|(_, rated)| rated.value()).collect();
    let pairs: Vec<(f64, f64)> = rounds
        .iter()
        .filter_map(|(_, rated)| match rated {
            Rated::Ratio(above, below) => Some((*above, *below)),
            Rated::Plain(_) => None,
        })
        .collect();
    let summary = if pairs.is_empty() { stats::summarise(&values) } else { stats::paired_ratio(&pairs) };
    let Some(one) = summary else {
        let reason = format!("no round has a value of {} on every side", definition.metric);
        return (ClaimVerdict::NotMeasured, reason, None);
    };
    let figure = Figure { median: one.median, low: one.low, high: one.high, spread: one.spread, n: one.n };
    let Definition { comparison, bound, metric, .. } = definition;
    let slack = slack_percent(metric);
    let (verdict, reason) = if definition.every_trial {
        judge_every(&values, *comparison, *bound, whole)
    } else if definition.minus.is_some() {
        judge_difference(&figure, *comparison, *bound, slack)
    } else {
        judge(&figure, *comparison, *bound, slack)
    };
    (verdict, reason, Some(figure))
}

fn lonely(cell: &Cell, target: &str, mode: Mode) -> Evidence {
    Evidence {
        numerator: cell.key.clone(),
        denominator: None,
        label: cell.label.clone(),
        verdict: ClaimVerdict::NotMeasured,
        reason: format!("the run has no cell of {target} ({}) at the same point", spelled(&mode)),
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
