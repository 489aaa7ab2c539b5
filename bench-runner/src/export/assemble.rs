//! From steps and their outcomes to the cells of a record.
//!
//! Every cell of every planned step yields a [`Cell`], whatever happened: measured, broken, skipped or never
//! reached. A cell is `ok`, and has figures, only when **all** its trials are: a cell with one failed trial of
//! three would be a median over the runs that happened to go well. The trials themselves are kept either way.

use super::histograms;
use super::ratios::ratios;
use crate::model::{
    Axes, Cell, Distribution, Histogram, Measurement, Ratio, Role, ScenarioInfo, Status, Trial, metric,
};
use crate::plan::{CellKey, Step, StepOutcome};
use crate::stats;
use std::collections::{BTreeMap, HashMap};

/// A cell before its figures are derived.
struct Draft<'a> {
    step: &'a Step,
    key: &'a CellKey,
    trials: BTreeMap<u32, Trial>,
    /// Trials planned and not tried because the target or the mode is missing.
    skipped: Vec<&'a str>,
}

/// The cells of a scenario and the ratios between them.
///
/// `steps` is the whole plan (steps of other scenarios are passed over), `outcomes` what came of the steps
/// that were carried out (the last one counts where a step was measured again), `skipped` the steps that could
/// not be tried, with the reason. Order of the cells: placement, point of the axes, then ours, rivals, ceiling.
#[must_use]
pub fn cells(
    info: &ScenarioInfo,
    steps: &[Step],
    outcomes: &[StepOutcome],
    roles: &HashMap<String, Role>,
    skipped: &[(Step, String)],
) -> (Vec<Cell>, Vec<Ratio>) {
    let outcomes: HashMap<u32, &StepOutcome> = outcomes.iter().map(|one| (one.position, one)).collect();
    let mut drafts: HashMap<&str, Draft> = HashMap::new();
    let ours = |step: &&Step| step.scenario == info.key;
    for step in steps.iter().filter(ours) {
        for key in step.work.cells() {
            let draft = draft_of(&mut drafts, step, key);
            let measured = outcomes.get(&step.position).into_iter().flat_map(|outcome| &outcome.trials);
            for (_, trial) in measured.filter(|(cell, _)| *cell == key.key) {
                // The index is the round, so that trials of one round still pair where another is missing.
                draft.trials.insert(step.trial, Trial { index: step.trial, ..finite_only(trial.clone()) });
            }
        }
    }
    for (step, reason) in skipped.iter().filter(|(step, _)| step.scenario == info.key) {
        for key in step.work.cells() {
            draft_of(&mut drafts, step, key).skipped.push(reason);
        }
    }
    let mut drafts: Vec<Draft> = drafts.into_values().collect();
    drafts.sort_by_cached_key(|draft| {
        (
            draft.step.placement,
            axes_rank(&draft.key.axes),
            role_rank(roles.get(&draft.step.target).copied()),
            draft.step.target.clone(),
            draft.step.mode,
            draft.key.key.clone(),
        )
    });
    let cells: Vec<Cell> = drafts.into_iter().map(finish).collect();
    let ratios = ratios(&cells, roles);
    (cells, ratios)
}

fn draft_of<'d, 'a>(
    drafts: &'d mut HashMap<&'a str, Draft<'a>>,
    step: &'a Step,
    key: &'a CellKey,
) -> &'d mut Draft<'a> {
    drafts.entry(&key.key).or_insert_with(|| Draft {
        step,
        key,
        trials: BTreeMap::new(),
        skipped: Vec::new(),
    })
}

/// JSON knows no infinity: a value that is none turns its trial invalid instead of the file unreadable.
fn finite_only(mut trial: Trial) -> Trial {
    if let Some(place) = trial.values.iter().position(|value| !value.value.is_finite()) {
        let metric = trial.values[place].metric.clone();
        trial.values.retain(|value| value.value.is_finite());
        if trial.status == Status::Ok {
            trial.status = Status::Invalid;
            trial.reason = Some(format!("{metric} came out as no finite number"));
        }
    }
    trial
}

fn finish(draft: Draft) -> Cell {
    let trials: Vec<Trial> = draft.trials.into_values().collect();
    let (mut status, mut reason) = judge(&trials, &draft.skipped);
    let mut distributions = Vec::new();
    if status == Status::Ok {
        match drawn(&trials) {
            Ok(drawn) => distributions = drawn,
            Err(error) => (status, reason) = (Status::Invalid, Some(format!("{error:#}"))),
        }
    }
    Cell {
        key: draft.key.key.clone(),
        target: draft.step.target.clone(),
        mode: draft.step.mode,
        placement: draft.step.placement,
        axes: draft.key.axes.clone(),
        label: draft.key.label.clone(),
        status,
        reason,
        measurements: if status == Status::Ok { measurements(&trials) } else { Vec::new() },
        distributions,
        merged_histograms: Vec::<Histogram>::new(),
        trials,
    }
}

/// Strict: the worst of the trials, with the reason of the first that ended so.
fn judge(trials: &[Trial], skipped: &[&str]) -> (Status, Option<String>) {
    let worst_first = [Status::Failed, Status::Timeout, Status::Invalid, Status::Skipped];
    for status in worst_first {
        let hit: Vec<_> = trials.iter().filter(|trial| trial.status == status).collect();
        if let Some(first) = hit.first() {
            let reason = first.reason.as_deref().unwrap_or("no reason was recorded");
            let all = trials.len() + skipped.len();
            let which =
                if hit.len() == all { String::new() } else { format!("{} of {all} trials: ", hit.len()) };
            return (status, Some(format!("{which}{reason}")));
        }
    }
    match (trials.is_empty(), skipped.first()) {
        (true, None) => {
            (Status::Skipped, Some("the run was interrupted before this cell was measured".to_owned()))
        }
        (true, Some(reason)) => (Status::Skipped, Some((*reason).to_owned())),
        (false, None) => (Status::Ok, None),
        (false, Some(reason)) => {
            let all = trials.len() + skipped.len();
            (Status::Failed, Some(format!("{} of {all} trials could not be tried: {reason}", skipped.len())))
        }
    }
}

fn drawn(trials: &[Trial]) -> anyhow::Result<Vec<Distribution>> {
    histograms::merge(trials)?.iter().map(histograms::distribution).collect()
}

/// One measurement per metric and operation, in the order of [`metric::METRICS`].
///
/// A metric that some of the trials lack (a counter the target does not tell) has the n of those that have it.
#[must_use]
pub fn measurements(trials: &[Trial]) -> Vec<Measurement> {
    let mut series: BTreeMap<(usize, &str, Option<&str>), Vec<f64>> = BTreeMap::new();
    for value in trials.iter().filter(|trial| trial.status == Status::Ok).flat_map(|trial| &trial.values) {
        let place = metric::describe(&value.metric).2;
        series.entry((place, &value.metric, value.operation.as_deref())).or_default().push(value.value);
    }
    series
        .into_iter()
        .filter_map(|((_, name, operation), values)| {
            let summary = stats::summarise(&values)?;
            let (unit, direction, _) = metric::describe(name);
            Some(Measurement {
                metric: name.to_owned(),
                operation: operation.map(str::to_owned),
                unit: unit.to_owned(),
                direction,
                median: summary.median,
                low: summary.low,
                high: summary.high,
                spread: summary.spread,
                n: summary.n,
            })
        })
        .collect()
}

/// A value of a trial by metric and operation.
#[must_use]
pub fn value_of(trial: &Trial, metric: &str, operation: Option<&str>) -> Option<f64> {
    trial
        .values
        .iter()
        .find(|value| value.metric == metric && value.operation.as_deref() == operation)
        .map(|value| value.value)
}

/// Order of the points: operation as the pages list them, then size, mix, depth, connections.
fn axes_rank(axes: &Axes) -> impl Ord + use<> {
    const OPERATIONS: [&str; 38] = [
        "peak",
        "set",
        "get",
        "del",
        "mixed",
        "knee",
        "fill",
        "oversize",
        "overwrite",
        "ttl_churn",
        "trace",
        "hostile",
        "idle",
        "grow",
        "expire",
        "flush",
        "start",
        "stock",
        "load",
        "read_random",
        "read_absent",
        "read_ordered",
        "read_sequential",
        "scan",
        "scan_reverse",
        "scan_prefix",
        "write",
        "ycsb_a",
        "ycsb_b",
        "ycsb_c",
        "ycsb_d",
        "ycsb_e",
        "ycsb_f",
        "read_before",
        "compact",
        "read_after",
        "open",
        "open_killed",
    ];
    let operation = OPERATIONS.iter().position(|known| *known == axes.operation).unwrap_or(OPERATIONS.len());
    (
        (operation, axes.operation.clone()),
        (axes.cap_bytes, axes.value_bytes),
        (axes.set_percent.map(|percent| u32::MAX - percent), axes.pipeline),
        (axes.clients, axes.requests, axes.keys, axes.rate_percent, axes.rate_per_second),
        (axes.memory_limit_bytes, axes.cache_bytes, axes.sync.is_some(), axes.sync.clone(), axes.batch),
        (
            axes.key_schema.clone(),
            axes.distribution.clone(),
            axes.variant.clone(),
            axes.client_program.clone(),
        ),
    )
}

fn role_rank(role: Option<Role>) -> u8 {
    match role {
        Some(Role::Subject) => 0,
        Some(Role::Rival) => 1,
        Some(Role::Ceiling | Role::Floor) => 2,
        None => 3,
    }
}

#[cfg(test)]
#[path = "assemble_test.rs"]
mod tests;
