//! From the journal of a campaign that went through its plan to the record of its run.

use super::begin::Campaign;
use super::carry::told;
use super::journal::{Disturbance, Finished, Journal};
use crate::export::assemble;
use crate::model::{
    Cell, Mode, RUN_SCHEMA, Role, Run, RunState, SCENARIO_SCHEMA, SCHEMA_VERSION, ScenarioRecord, Status,
    Tool,
};
use crate::plan::{Step, StepOutcome, mode_name};
use jiff::Timestamp;
use std::collections::{BTreeMap, HashMap};

/// Disturbed steps that are told one by one; more would bury what else a page has to say.
const NOTES_MAX: usize = 6;

/// The record of a campaign: what `run.json` and the scenarios' files will hold.
///
/// # Errors
/// When the journal cannot be read.
pub fn record(campaign: &Campaign, journal: &Journal) -> anyhow::Result<(Run, Vec<ScenarioRecord>)> {
    let finished = journal.finished()?;
    let mut notes = campaign.notes.clone();
    notes.extend(disturbances(campaign, &finished));
    let outcomes: Vec<StepOutcome> = finished.into_values().map(|step| step.outcome).collect();
    let skipped: Vec<(Step, String)> = campaign
        .steps
        .iter()
        .filter_map(|step| Some((step.clone(), campaign.skipped.get(&step.position)?.clone())))
        .collect();
    let roles: HashMap<String, Role> =
        campaign.targets.iter().map(|target| (target.key.clone(), target.role)).collect();
    let scenarios: Vec<ScenarioRecord> = campaign
        .scenarios
        .iter()
        .map(|info| {
            let (cells, ratios) = assemble::cells(info, &campaign.steps, &outcomes, &roles, &skipped);
            ScenarioRecord {
                schema: SCENARIO_SCHEMA.to_owned(),
                schema_version: SCHEMA_VERSION,
                tool: Tool::this(),
                run_id: campaign.id.clone(),
                version: campaign.version.clone(),
                machine_key: campaign.machine_key.clone(),
                profile: campaign.profile,
                scenario: info.clone(),
                cells,
                ratios,
            }
        })
        .collect();
    notes.extend(doubtful(&scenarios));
    let now = Timestamp::now();
    let elapsed_s =
        campaign.started_at.parse::<Timestamp>().map_or(0.0, |then| now.duration_since(then).as_secs_f64());
    let run = Run {
        schema: RUN_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        tool: Tool::this(),
        id: campaign.id.clone(),
        version: campaign.version.clone(),
        machine_key: campaign.machine_key.clone(),
        profile: campaign.profile,
        purpose: campaign.purpose.clone(),
        started_at: campaign.started_at.clone(),
        finished_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_s: (elapsed_s * 10.0).round() / 10.0,
        seed: campaign.seed,
        state: RunState::Complete,
        command: campaign.command.clone(),
        reproduce: campaign.reproduce.clone(),
        source: campaign.source.clone(),
        machine: campaign.machine.clone(),
        environment: campaign.environment.clone(),
        targets: campaign.targets.clone(),
        scenarios: Vec::new(),
        histograms: None,
        components: campaign.components.clone(),
        notes,
    };
    Ok((run, scenarios))
}

/// One note per disturbed step, or, where they are many, one for all: each trial carries its own figure anyway.
fn disturbances(campaign: &Campaign, finished: &BTreeMap<u32, Finished>) -> Vec<String> {
    let disturbed: Vec<(&Step, Disturbance)> = campaign
        .steps
        .iter()
        .filter_map(|step| Some((step, finished.get(&step.position)?.disturbance?)))
        .collect();
    if disturbed.len() <= NOTES_MAX {
        return disturbed.iter().map(|(step, disturbance)| told(step, disturbance)).collect();
    }
    let again = disturbed.iter().filter(|(_, one)| one.second_cores.is_some()).count();
    let worst = disturbed.iter().map(|(_, one)| one.kept_cores()).fold(0.0, f64::max);
    vec![format!(
        "Others used more of the machine than they may during {} of {} steps. {again} were measured again, up to twice, and the \
         quietest kept; for the rest the time for that was used up. Up to {worst:.2} cores were used by \
         others in what is kept: read the figures of this run with that in mind.",
        disturbed.len(),
        finished.len()
    )]
}

/// What a reader has to know of figures that are kept: cells that are of several regimes, whose generator was late, or whose
/// writes were not read back, in most of their trials. A sentence each, with the first of them.
fn doubtful(scenarios: &[ScenarioRecord]) -> Vec<String> {
    let of = |name: &str, many: &str| {
        let told = |cell: &Cell| cell.in_most_trials(name).map(|said| format!("{}: {said}", cell.key));
        let cells = scenarios.iter().flat_map(|record| &record.cells);
        let all: Vec<String> = cells.filter(|cell| cell.status == Status::Ok).filter_map(told).collect();
        let first = all.first()?;
        let cells = if all.len() == 1 { "1 cell is".to_owned() } else { format!("{} cells are", all.len()) };
        Some(format!("{cells} {many}; the first, {first}"))
    };
    let regimes = of("regime", "a mean of several regimes");
    let late =
        of("late_sender", "an open loop whose generator was late by more than a tenth of a percentile");
    let unread = of("not_read_back", "written and not read back");
    regimes.into_iter().chain(late).chain(unread).collect()
}

/// What came to no figure although it was tried: a line per target and mode, with the first reason.
#[must_use]
pub fn broken(scenarios: &[ScenarioRecord]) -> Vec<String> {
    let tried = |status: Status| !matches!(status, Status::Ok | Status::Skipped);
    let mut by_target: BTreeMap<(&str, Mode), (u32, &str)> = BTreeMap::new();
    for cell in scenarios.iter().flat_map(|record| &record.cells).filter(|cell| tried(cell.status)) {
        let reason = cell.reason.as_deref().unwrap_or("no reason was given");
        by_target.entry((&cell.target, cell.mode)).or_insert((0, reason)).0 += 1;
    }
    by_target
        .into_iter()
        .map(|((target, mode), (cells, reason))| {
            let cells = if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") };
            format!("{target} ({}): {cells} came to no figure: {reason}", mode_name(mode))
        })
        .collect()
}
