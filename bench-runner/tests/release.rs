//! The profile of a release: its plan keeps to its time, has every cell of quick, and enough trials of every cell that
//! a claim is judged by.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use bench_runner::campaign::catalogue;
use bench_runner::claims::{self, COMPONENTS, Candidate};
use bench_runner::export::{read_index, read_indexed_run};
use bench_runner::model::{
    Cell, ClaimVerdict, Profile, Run, ScenarioRecord, Status, Trial, Value, metric::METRICS,
};
use bench_runner::plan::{self, Pace, Plan, step_seconds};
use bench_runner::scenario::{Group, PROFILES, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every scenario that a plan without names has.
fn scenarios() -> Vec<Scenario> {
    let mut all = catalogue::scenarios(&root()).unwrap();
    all.retain(|one| !one.definition().by_name);
    all
}

fn planned(scenarios: &[Scenario], profile: Profile) -> Plan {
    let targets = catalogue::targets(&root(), scenarios).unwrap();
    plan::build(&plan::Request {
        scenarios,
        profile,
        seed: 1,
        pinned: true,
        admits: &|_, _| true,
        pace: &|key| targets.get(key).map_or_else(Pace::default, |target| target.pace),
    })
}

fn hours(plan: &Plan) -> f64 {
    plan.steps.iter().map(step_seconds).sum::<f64>() / 3_600.0
}

#[test]
fn a_release_takes_four_and_a_half_hours_and_quick_forty_minutes() {
    let all = scenarios();
    let release = hours(&planned(&all, Profile::Release));
    assert!(release <= 4.5, "release takes {release:.2} h by estimate");
    let quick = hours(&planned(&all, Profile::Quick)) * 60.0;
    assert!(quick <= 40.0, "quick takes {quick:.0} minutes by estimate");
}

#[test]
fn the_durable_group_takes_fifteen_minutes_of_quick_and_two_hours_and_ten_of_a_release() {
    let mut durable = scenarios();
    durable.retain(|one| one.definition().group == Group::Durable || one.key() == "kv-lookup");
    let release = hours(&planned(&durable, Profile::Release)) * 60.0;
    assert!(release <= 130.0, "with kv-lookup a release takes {release:.0} minutes by estimate");
    durable.retain(|one| one.key() != "kv-lookup");
    let quick = hours(&planned(&durable, Profile::Quick)) * 60.0;
    assert!(quick <= 15.0, "quick takes {quick:.1} minutes by estimate");
}

#[test]
fn every_step_of_a_release_fits_into_a_slice() {
    let plan = planned(&scenarios(), Profile::Release);
    let longest = plan.steps.iter().map(step_seconds).fold(0.0, f64::max);
    assert!(longest <= 600.0, "a step of {longest:.0} s: a slice of 50 minutes could not be filled");
}

#[test]
fn every_scenario_is_in_quick_and_in_release() {
    let all = scenarios();
    for profile in [Profile::Quick, Profile::Release] {
        let plan = planned(&all, profile);
        let of_plan: BTreeSet<&str> = plan.steps.iter().map(|step| step.scenario.as_str()).collect();
        for scenario in &all {
            assert!(of_plan.contains(scenario.key()), "{} has no cell in {profile:?}", scenario.key());
        }
    }
}

#[test]
fn no_cell_comes_from_two_sections() {
    let all = scenarios();
    for profile in PROFILES {
        let mut keys = BTreeSet::new();
        for step in planned(&all, profile).steps.iter().filter(|step| step.trial == 0) {
            for cell in step.work.cells() {
                assert!(
                    keys.insert((step.scenario.clone(), cell.key.clone())),
                    "{profile:?}: {} twice",
                    cell.key
                );
            }
        }
    }
}

/// One record a scenario, with the cells and the trials that the plan has, each of value one.
fn as_if_measured(
    scenarios: &[Scenario],
    plan: &Plan,
    trial: &Trial,
    record: &ScenarioRecord,
) -> Vec<ScenarioRecord> {
    let values: Vec<Value> = METRICS
        .iter()
        .flat_map(|metric| {
            [None, Some("get"), Some("set"), Some("front_scan")].map(|operation| (metric.name, operation))
        })
        .map(|(metric, operation)| Value {
            metric: metric.to_owned(),
            operation: operation.map(str::to_owned),
            value: 1.0,
        })
        .collect();
    let mut cells: BTreeMap<(&str, &str), Cell> = BTreeMap::new();
    for step in &plan.steps {
        for key in step.work.cells() {
            let cell = cells.entry((&step.scenario, &key.key)).or_insert_with(|| Cell {
                key: key.key.clone(),
                target: step.target.clone(),
                mode: step.mode,
                placement: step.placement,
                axes: key.axes.clone(),
                label: key.label.clone(),
                status: Status::Ok,
                reason: None,
                measurements: Vec::new(),
                distributions: Vec::new(),
                merged_histograms: Vec::new(),
                trials: Vec::new(),
            });
            let mut trial = trial.clone();
            (trial.index, trial.values) = (step.trial, values.clone());
            cell.trials.push(trial);
        }
    }
    scenarios
        .iter()
        .map(|scenario| {
            let mut record = record.clone();
            record.profile = Profile::Release;
            record.scenario.key = scenario.key().to_owned();
            let own = cells.iter().filter(|((key, _), _)| *key == scenario.key());
            record.cells = own.map(|(_, cell)| cell.clone()).collect();
            record
        })
        .collect()
}

fn fixture() -> (Run, ScenarioRecord, Trial) {
    let results = root().join("website/test/fixtures/results");
    let index = read_index(&results.join("index.json")).unwrap();
    let (run, mut scenarios) = read_indexed_run(&results, &index.versions[0].machines[0].runs[0]).unwrap();
    let record = scenarios.remove(0);
    let trial = record.cells.iter().flat_map(|cell| &cell.trials).find(|trial| trial.status == Status::Ok);
    let trial = trial.unwrap().clone();
    (run, record, trial)
}

#[test]
fn a_release_has_the_cells_and_the_trials_that_every_claim_needs() {
    let all = scenarios();
    let plan = planned(&all, Profile::Release);
    let (run, record, trial) = fixture();
    let records = as_if_measured(&all, &plan, &trial, &record);
    let text = std::fs::read_to_string(root().join("results/claims.toml")).unwrap();
    let mut judged = 0;
    for claim in claims::parse("claims.toml", &text, &[], &[]).unwrap() {
        let Some(scenario) = all.iter().find(|one| one.key() == claim.scenario) else {
            assert!(claim.scenario == COMPONENTS || claim.scenario == "load-100m", "{}", claim.scenario);
            continue;
        };
        let record = records.iter().find(|one| one.scenario.key == claim.scenario).unwrap();
        let candidate = Candidate {
            machine_key: "m",
            machine_title: "M",
            runs: Ok(vec![(&run, Some(record), "f.json".to_owned())]),
        };
        let said = claims::evaluate(&claim, &[candidate]);
        assert_ne!(said.verdict, ClaimVerdict::NotMeasured, "{}: {}", claim.key, said.reason);
        // Loading millions of records takes its time: six trials, the fewest that have an interval.
        let fewest = if scenario.definition().group == Group::Durable { 6 } else { 9 };
        for one in &said.machines[0].evidence {
            let n = one.figure.unwrap().n;
            assert!(claim.every_trial || n >= fewest, "{}: {} has {n} trials", claim.key, one.label);
        }
        judged += 1;
    }
    assert!(judged > 60, "{judged} claims were judged");
}
