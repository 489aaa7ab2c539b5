//! Does every planned cell come out, with figures only where they are earned?

use super::*;
use crate::model::{Counts, Direction, Mode, Placement, Spread, Value};
use crate::plan::Work;

fn info() -> ScenarioInfo {
    ScenarioInfo {
        key: "startup".into(),
        title: String::new(),
        kind: "startup".into(),
        revision: 1,
        analysis: String::new(),
        validity: String::new(),
        not_measured: String::new(),
        params: serde_json::Value::Null,
        params_sha256: String::new(),
    }
}

fn roles() -> HashMap<String, Role> {
    [("plumbkv", Role::Subject), ("redis-server", Role::Rival), ("null", Role::Ceiling)]
        .map(|(key, role)| (key.to_owned(), role))
        .into()
}

fn step(position: u32, target: &str, mode: Mode, trial: u32) -> Step {
    let key = CellKey {
        key: format!("{target}/{mode:?}"),
        label: "start".into(),
        axes: Axes { operation: "start".into(), ..Axes::default() },
    };
    Step {
        position,
        scenario: "startup".into(),
        target: target.into(),
        mode,
        placement: Placement::Apart,
        trial,
        seed: 1,
        cap_bytes: None,
        memory_limit_bytes: None,
        variant: None,
        work: Work::Startup { cell: key, starts: 1 },
    }
}

fn outcome(step: &Step, status: Status, startup_ms: f64) -> StepOutcome {
    let trial = Trial {
        index: 77,
        position: step.position,
        status,
        reason: (status != Status::Ok).then(|| "it broke".to_owned()),
        elapsed_s: 1.0,
        counts: Counts::default(),
        values: vec![Value { metric: "startup_ms".into(), operation: None, value: startup_ms }],
        histograms: Vec::new(),
        windows: Vec::new(),
        open_loop: None,
        process: None,
        os: None,
        facts: BTreeMap::new(),
    };
    let cell = step.work.cells()[0].key.clone();
    StepOutcome { position: step.position, trials: vec![(cell, trial)] }
}

/// Three trials of a target, with what became of each.
fn trials(first: u32, target: &str, mode: Mode, fates: [(Status, f64); 3]) -> (Vec<Step>, Vec<StepOutcome>) {
    fates
        .iter()
        .zip(0..)
        .map(|((status, value), trial)| {
            let step = step(first + trial, target, mode, trial);
            let outcome = outcome(&step, *status, *value);
            (step, outcome)
        })
        .unzip()
}

const OK: Status = Status::Ok;

#[test]
fn a_cell_has_the_median_of_its_trials() {
    let (steps, outcomes) = trials(0, "plumbkv", Mode::Native, [(OK, 3.0), (OK, 1.0), (OK, 2.0)]);
    let (cells, ratios) = cells(&info(), &steps, &outcomes, &roles(), &[]);
    assert_eq!((cells.len(), ratios.len(), cells[0].status, cells[0].trials.len()), (1, 0, OK, 3));
    let measured = &cells[0].measurements[0];
    assert_eq!((measured.median, measured.low, measured.high, measured.n), (2.0, 1.0, 3.0, 3));
    assert_eq!(
        (measured.unit.as_str(), measured.direction, measured.spread),
        ("ms", Direction::Lower, Spread::Range)
    );
    assert_eq!(cells[0].trials.iter().map(|trial| trial.index).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn one_trial_that_is_not_ok_takes_the_figure_away_and_gives_the_reason() {
    for (fates, status, reason) in [
        ([(OK, 1.0), (Status::Invalid, 1.0), (OK, 1.0)], Status::Invalid, "1 of 3 trials: it broke"),
        (
            [(Status::Invalid, 1.0), (Status::Failed, 1.0), (OK, 1.0)],
            Status::Failed,
            "1 of 3 trials: it broke",
        ),
        (
            [(Status::Timeout, 1.0), (Status::Timeout, 1.0), (OK, 1.0)],
            Status::Timeout,
            "2 of 3 trials: it broke",
        ),
        ([(Status::Failed, 1.0), (Status::Failed, 1.0), (Status::Failed, 1.0)], Status::Failed, "it broke"),
        (
            [(OK, 1.0), (OK, f64::INFINITY), (OK, 1.0)],
            Status::Invalid,
            "1 of 3 trials: startup_ms came out as no finite number",
        ),
    ] {
        let (steps, outcomes) = trials(0, "plumbkv", Mode::Native, fates);
        let (cells, _) = cells(&info(), &steps, &outcomes, &roles(), &[]);
        assert_eq!((cells[0].status, cells[0].reason.as_deref()), (status, Some(reason)));
        assert!(cells[0].measurements.is_empty() && cells[0].trials.len() == 3);
        serde_json::from_str::<Cell>(&serde_json::to_string(&cells[0]).unwrap()).unwrap();
    }
}

#[test]
fn what_was_skipped_or_never_reached_is_a_cell_with_a_reason() {
    let missing = step(0, "redis-server", Mode::Native, 0);
    let never = step(1, "plumbkv", Mode::Native, 0);
    let skipped = [(missing, "redis-server is not installed".to_owned())];
    let (found, _) = cells(&info(), &[never], &[], &roles(), &skipped);
    let reasons: Vec<_> =
        found.iter().map(|cell| (cell.target.as_str(), cell.status, cell.reason.as_deref())).collect();
    assert_eq!(
        reasons,
        [
            ("plumbkv", Status::Skipped, Some("the run was interrupted before this cell was measured")),
            ("redis-server", Status::Skipped, Some("redis-server is not installed")),
        ]
    );
}

#[test]
fn a_cell_skipped_half_way_is_not_ok() {
    let (steps, outcomes) = trials(0, "plumbkv", Mode::ContainerHost, [(OK, 1.0), (OK, 1.0), (OK, 1.0)]);
    let skipped = [(steps[2].clone(), "podman went away".to_owned())];
    let (found, _) = cells(&info(), &steps[..2], &outcomes[..2], &roles(), &skipped);
    assert_eq!(found[0].status, Status::Failed);
    assert_eq!(found[0].reason.as_deref(), Some("1 of 3 trials could not be tried: podman went away"));
}

#[test]
fn the_second_outcome_of_a_step_counts() {
    let one = step(0, "plumbkv", Mode::Native, 0);
    let outcomes = [outcome(&one, OK, 9.0), outcome(&one, OK, 4.0)];
    let (found, _) = cells(&info(), &[one], &outcomes, &roles(), &[]);
    assert_eq!((found[0].trials.len(), found[0].measurements[0].median), (1, 4.0));
}

#[test]
fn ratios_pair_trials_of_a_round_and_leave_the_ceiling_out() {
    let mut all: (Vec<Step>, Vec<StepOutcome>) = Default::default();
    for (first, target, mode, values) in [
        (0, "plumbkv", Mode::Native, [1.0, 2.0, 4.0]),
        (3, "plumbkv", Mode::ContainerHost, [2.0, 4.0, 8.0]),
        (6, "redis-server", Mode::Native, [4.0, 4.0, 4.0]),
        (9, "null", Mode::Native, [1.0, 1.0, 1.0]),
    ] {
        let (steps, outcomes) = trials(first, target, mode, values.map(|value| (OK, value)));
        all.0.extend(steps);
        all.1.extend(outcomes);
    }
    let (found, ratios) = cells(&info(), &all.0, &all.1, &roles(), &[]);
    let order: Vec<_> = found.iter().map(|cell| (cell.target.as_str(), cell.mode)).collect();
    assert_eq!(
        order,
        [
            ("plumbkv", Mode::Native),
            ("plumbkv", Mode::ContainerHost),
            ("redis-server", Mode::Native),
            ("null", Mode::Native)
        ]
    );
    let ratios: Vec<_> = ratios.into_iter().filter(|one| one.kind != "floor").collect();
    let said: Vec<_> = ratios
        .iter()
        .map(|one| (one.kind.as_str(), one.numerator.as_str(), one.denominator.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            ("overhead", "plumbkv/ContainerHost", "plumbkv/Native"),
            ("rival", "plumbkv/Native", "redis-server/Native")
        ]
    );
    let overhead = &ratios[0];
    // Each pair is exactly two; the ratio of the medians would hide it behind a range from 0.5 to 8.
    assert!((overhead.median - 2.0).abs() < 1e-12 && (overhead.high - overhead.low).abs() < 1e-12);
    assert!(
        (ratios[1].median - 0.5).abs() < 1e-12 && (ratios[1].low - 0.25).abs() < 1e-12 && ratios[1].n == 3
    );
}

#[test]
fn stored_figures_are_those_the_stored_trials_give() {
    let (run, scenarios) = crate::export::testing::run();
    let roles: HashMap<String, Role> =
        run.targets.iter().map(|target| (target.key.clone(), target.role)).collect();
    for record in &scenarios {
        for cell in record.cells.iter().filter(|cell| cell.status == OK) {
            assert_eq!(measurements(&cell.trials), cell.measurements, "{}", cell.key);
            assert_eq!(drawn(&cell.trials).unwrap(), cell.distributions, "{}", cell.key);
        }
        let derived = ratios(&record.cells, &roles);
        // Rivals' CPU time was once compared below saturation, too; a stored record is not changed for that.
        let still =
            |one: &&Ratio| (one.kind.as_str(), one.metric.as_str()) != ("rival", "server_cpu_ns_per_op");
        for stored in record.ratios.iter().filter(still) {
            assert!(derived.contains(stored), "{}: {stored:?}", record.scenario.key);
        }
    }
}
