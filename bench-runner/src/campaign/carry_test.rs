//! A campaign with a stand-in for the lab: order, interruption, resumption, noise, a full disk.

use super::begin::{Campaign, Tools};
use super::carry::{End, Limits, Measure, Watch, carry_out};
use super::finish;
use super::journal::{Journal, unfinished};
use crate::environment::{Reader, machine, system};
use crate::measure::Progress;
use crate::model::{Counts, Mode, OsStat, Profile, Source, Status, Trial, UnfinishedState, Value};
use crate::plan::{self, Step, StepOutcome};
use crate::scenario::{Scenario, info};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const DEMO: &str = r#"
key = "demo"
title = "Demo"
kind = "wire"
revision = 1
place = 1
stresses = "a test"
analysis = "Nothing."
validity = "Nothing."
not_measured = "Everything."

[[targets]]
key = "plumbkv"
modes = ["native", "container_host"]

[[targets]]
key = "redis-server"
modes = ["native"]

[[load]]
operation = "set"
value_bytes = [64]
clients = [1, 50]
keys = 10
"#;

fn campaign(profile: Profile) -> Campaign {
    let scenario = Scenario::parse("demo.toml", DEMO).unwrap();
    let scenarios = [scenario];
    let admits = |_: &str, _: Mode| true;
    let request = plan::Request {
        scenarios: &scenarios,
        profile,
        seed: 7,
        pinned: true,
        admits: &admits,
        pace: &|_| plan::Pace::default(),
    };
    let steps = plan::build(&request).steps;
    let empty = tempfile::tempdir().unwrap();
    let reader = Reader::below(empty.path());
    Campaign {
        id: "2026-01-01T000000Z-quick-0001".to_owned(),
        version: "local".to_owned(),
        purpose: "test".to_owned(),
        profile,
        seed: 7,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        command: "bench-runner run".to_owned(),
        reproduce: Vec::new(),
        tools: Tools { server_binary: "plumbkv".into(), bins: Vec::new(), containers: true, external: None },
        source: Source {
            commit: String::new(),
            dirty: false,
            version: "0.1.0".to_owned(),
            engine_tree: None,
        },
        machine_key: "unknown-0".to_owned(),
        machine: machine(&reader, None),
        environment: system(&reader),
        targets: Vec::new(),
        scenarios: scenarios.iter().map(|one| info(one, profile)).collect(),
        steps,
        skipped: BTreeMap::new(),
        components: Vec::new(),
        notes: Vec::new(),
    }
}

/// Answers every step; others use `noise` cores, by how often the step was measured before.
struct FakeLab<'a> {
    measured: RefCell<Vec<u32>>,
    noise: Box<dyn Fn(u32, usize) -> f64 + 'a>,
    stop_at: Option<(usize, &'a AtomicBool)>,
}

impl<'a> FakeLab<'a> {
    fn quiet() -> Self {
        Self { measured: RefCell::default(), noise: Box::new(|_, _| 0.0), stop_at: None }
    }

    fn times(&self, position: u32) -> usize {
        self.measured.borrow().iter().filter(|each| **each == position).count()
    }
}

impl Measure for FakeLab<'_> {
    fn run_step(&self, step: &Step, _progress: &mut dyn FnMut(Progress)) -> StepOutcome {
        let before = self.times(step.position);
        self.measured.borrow_mut().push(step.position);
        if let Some((count, stop)) = self.stop_at
            && self.measured.borrow().len() == count
        {
            stop.store(true, Ordering::Relaxed);
            return StepOutcome { position: step.position, trials: Vec::new() };
        }
        let foreign_cpu_cores = (self.noise)(step.position, before);
        let trial = Trial {
            index: step.trial,
            position: step.position,
            status: Status::Ok,
            reason: None,
            elapsed_s: 1.0,
            counts: Counts { operations: 1, ..Counts::default() },
            values: vec![Value {
                metric: "ops_per_second".to_owned(),
                operation: None,
                // Tells the first measuring of a step from the second.
                value: 100.0 + before as f64,
            }],
            histograms: Vec::new(),
            windows: Vec::new(),
            open_loop: None,
            process: None,
            os: Some(OsStat { foreign_cpu_cores, ..OsStat::default() }),
            facts: BTreeMap::new(),
        };
        let cells = step.work.cells();
        let trials = cells.iter().map(|cell| (cell.key.clone(), trial.clone())).collect();
        StepOutcome { position: step.position, trials }
    }
}

#[derive(Default)]
struct Told {
    left: Vec<Duration>,
    notes: Vec<String>,
}

impl Watch for Told {
    fn step(&mut self, _step: &Step, _done: usize, _total: usize, left: Duration) {
        self.left.push(left);
    }
    fn stage(&mut self, _progress: &Progress) {}
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn unlimited(stop: &AtomicBool) -> Limits<'_> {
    Limits { stop, until: None }
}

#[test]
fn a_slice_ends_between_two_steps_and_the_next_goes_on() {
    let results = tempfile::tempdir().unwrap();
    let campaign = campaign(Profile::Quick);
    let total = campaign.steps.len();
    let journal = Journal::create(results.path(), &campaign).unwrap();
    let stop = AtomicBool::new(false);
    // Over before it begins: one step is measured, so that slices of any length come to an end.
    let over = Limits { stop: &stop, until: Some(Instant::now()) };
    for done in 1..=3 {
        let lab = FakeLab::quiet();
        let end = carry_out(&campaign, &journal, &lab, over, &mut Told::default()).unwrap();
        assert_eq!(end, End::Paused { done, total });
        assert_eq!(lab.measured.borrow().len(), 1);
    }
    let day = Limits { stop: &stop, until: Some(Instant::now() + Duration::from_secs(86_400)) };
    let lab = FakeLab::quiet();
    assert_eq!(carry_out(&campaign, &journal, &lab, day, &mut Told::default()).unwrap(), End::Complete);
    assert_eq!(lab.measured.borrow().len(), total - 3);
}

#[test]
fn an_interrupted_campaign_goes_on_where_it_stopped_and_measures_nothing_twice() {
    let results = tempfile::tempdir().unwrap();
    let campaign = campaign(Profile::Quick);
    let total = campaign.steps.len();
    let journal = Journal::create(results.path(), &campaign).unwrap();
    let stop = AtomicBool::new(false);
    let lab = FakeLab { stop_at: Some((4, &stop)), ..FakeLab::quiet() };
    let end = carry_out(&campaign, &journal, &lab, Limits { stop: &stop, until: None }, &mut Told::default())
        .unwrap();
    assert_eq!(end, End::Interrupted { done: 3, total });
    assert_eq!(
        names(journal.folder()),
        ["plan.json", "state.json", "step-0000.json", "step-0001.json", "step-0002.json"]
    );

    // Two at once would measure every step twice.
    let busy = Journal::open(results.path(), None).unwrap_err().to_string();
    assert!(busy.contains("another process is measuring run"), "{busy}");
    let known = unfinished(results.path()).unwrap();
    assert!(known.len() == 1 && known[0].1, "{known:?}");
    assert_eq!((known[0].0.state, known[0].0.steps_done), (UnfinishedState::Failed, 3));
    drop(journal);
    assert!(!unfinished(results.path()).unwrap()[0].1, "nobody is at it");
    let (journal, again) = Journal::open(results.path(), None).unwrap();
    assert_eq!(again, campaign, "a resumed run is the run that was planned");
    let lab = FakeLab::quiet();
    let mut told = Told::default();
    let end = carry_out(&again, &journal, &lab, unlimited(&AtomicBool::new(false)), &mut told).unwrap();
    assert_eq!(end, End::Complete);
    let rest: Vec<u32> = (3..u32::try_from(total).unwrap()).collect();
    assert_eq!(*lab.measured.borrow(), rest);
    assert!(told.left.windows(2).all(|pair| pair[1] < pair[0]), "the time left falls: {:?}", told.left);

    let (run, scenarios) = finish::record(&again, &journal).unwrap();
    assert_eq!(run.id, campaign.id);
    assert!(scenarios[0].cells.iter().all(|cell| cell.status == Status::Ok && cell.trials.len() == 3));
    journal.remove().unwrap();
    assert!(!Journal::home(results.path()).exists());
}

#[test]
fn a_flag_that_is_up_before_the_first_step_measures_nothing() {
    let results = tempfile::tempdir().unwrap();
    let campaign = campaign(Profile::Smoke);
    let journal = Journal::create(results.path(), &campaign).unwrap();
    let lab = FakeLab::quiet();
    let end = carry_out(&campaign, &journal, &lab, unlimited(&AtomicBool::new(true)), &mut Told::default())
        .unwrap();
    assert!(matches!(end, End::Interrupted { done: 0, .. }));
    assert!(lab.measured.borrow().is_empty());
}

#[test]
fn what_cannot_be_tried_is_skipped_with_its_reason_and_still_recorded() {
    let results = tempfile::tempdir().unwrap();
    let mut campaign = campaign(Profile::Quick);
    let contained = |step: &&Step| step.mode == Mode::ContainerHost;
    campaign.skipped = campaign
        .steps
        .iter()
        .filter(contained)
        .map(|step| (step.position, "no runtime here".to_owned()))
        .collect();
    let journal = Journal::create(results.path(), &campaign).unwrap();
    let lab = FakeLab::quiet();
    carry_out(&campaign, &journal, &lab, unlimited(&AtomicBool::new(false)), &mut Told::default()).unwrap();
    assert!(campaign.skipped.keys().all(|position| lab.times(*position) == 0));
    let (_, scenarios) = finish::record(&campaign, &journal).unwrap();
    for cell in &scenarios[0].cells {
        let expected = if cell.mode == Mode::ContainerHost { Status::Skipped } else { Status::Ok };
        assert_eq!(cell.status, expected, "{}", cell.key);
    }
    let skipped = scenarios[0].cells.iter().find(|cell| cell.mode == Mode::ContainerHost).unwrap();
    assert!(skipped.reason.as_deref().unwrap_or_default().contains("no runtime here"));
}

#[test]
fn a_disturbed_step_is_measured_once_more_and_the_quieter_one_is_kept() {
    let results = tempfile::tempdir().unwrap();
    let campaign = campaign(Profile::Quick);
    let journal = Journal::create(results.path(), &campaign).unwrap();
    // Step 1 calms down, step 2 gets worse.
    let noise = |position: u32, before: usize| match (position, before) {
        (1, 0) => 0.6,
        (1, _) => 0.1,
        (2, 0) => 0.3,
        (2, _) => 0.9,
        _ => 0.15,
    };
    let lab = FakeLab { noise: Box::new(noise), ..FakeLab::quiet() };
    let mut told = Told::default();
    carry_out(&campaign, &journal, &lab, unlimited(&AtomicBool::new(false)), &mut told).unwrap();
    assert_eq!((lab.times(0), lab.times(1), lab.times(2), lab.times(3)), (1, 2, 2, 1));
    let finished = journal.finished().unwrap();
    let figure = |position: u32| finished[&position].outcome.trials[0].1.values[0].value;
    assert!((figure(1) - 101.0).abs() < 1e-9, "the second, which was quieter");
    assert!((figure(2) - 100.0).abs() < 1e-9, "the first, although it is the smaller figure");
    assert!(told.notes[0].contains("0.60") && told.notes[0].contains("0.10"), "{:?}", told.notes);
    assert_eq!(told.notes.len(), 2);
    let (run, _) = finish::record(&campaign, &journal).unwrap();
    assert_eq!(run.notes.len(), 2, "{:?}", run.notes);
}

#[test]
fn a_machine_that_is_never_quiet_does_not_keep_a_run_from_ending() {
    let results = tempfile::tempdir().unwrap();
    let campaign = campaign(Profile::Quick);
    let journal = Journal::create(results.path(), &campaign).unwrap();
    let lab = FakeLab { noise: Box::new(|_, _| 1.0), ..FakeLab::quiet() };
    carry_out(&campaign, &journal, &lab, unlimited(&AtomicBool::new(false)), &mut Told::default()).unwrap();
    let again = lab.measured.borrow().len() - campaign.steps.len();
    assert!(again >= 1 && again <= campaign.steps.len() / 3, "{again} of {}", campaign.steps.len());
    let finished = journal.finished().unwrap();
    assert!(finished.values().all(|step| step.disturbance.is_some()), "each disturbed step says so");
    let (run, _) = finish::record(&campaign, &journal).unwrap();
    assert_eq!(run.notes.len(), 1, "many are told in one sentence: {:?}", run.notes);
    assert!(run.notes[0].contains(&format!("{} of {0} steps", campaign.steps.len())), "{:?}", run.notes);
}

#[test]
fn smoke_is_not_measured_again() {
    let results = tempfile::tempdir().unwrap();
    let campaign = campaign(Profile::Smoke);
    let journal = Journal::create(results.path(), &campaign).unwrap();
    let lab = FakeLab { noise: Box::new(|_, _| 1.0), ..FakeLab::quiet() };
    carry_out(&campaign, &journal, &lab, unlimited(&AtomicBool::new(false)), &mut Told::default()).unwrap();
    assert_eq!(lab.measured.borrow().len(), campaign.steps.len());
}

#[test]
fn a_target_that_breaks_is_told_in_one_line_with_its_reason() {
    let results = tempfile::tempdir().unwrap();
    let campaign = campaign(Profile::Smoke);
    let journal = Journal::create(results.path(), &campaign).unwrap();
    let lab = FakeLab::quiet();
    carry_out(&campaign, &journal, &lab, unlimited(&AtomicBool::new(false)), &mut Told::default()).unwrap();
    assert!(finish::broken(&finish::record(&campaign, &journal).unwrap().1).is_empty());
    for mut step in journal.finished().unwrap().into_values() {
        for (key, trial) in &mut step.outcome.trials {
            if key.starts_with("redis-server/") {
                trial.status = Status::Failed;
                trial.reason = Some("it did not start: boom".to_owned());
            }
        }
        journal.record(&step).unwrap();
    }
    let told = finish::broken(&finish::record(&campaign, &journal).unwrap().1);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("redis-server (native): 2 cells") && told[0].contains("boom"), "{told:?}");
}

#[test]
fn a_run_that_is_not_there_names_those_that_are() {
    let results = tempfile::tempdir().unwrap();
    let none = Journal::open(results.path(), None).unwrap_err().to_string();
    assert!(none.contains("no interrupted run"), "{none}");
    let campaign = campaign(Profile::Smoke);
    Journal::create(results.path(), &campaign).unwrap();
    let other = Journal::open(results.path(), Some("other")).unwrap_err().to_string();
    assert!(other.contains(&campaign.id), "{other}");
}

#[test]
fn a_damaged_step_is_named() {
    let results = tempfile::tempdir().unwrap();
    let campaign = campaign(Profile::Smoke);
    let journal = Journal::create(results.path(), &campaign).unwrap();
    std::fs::write(journal.folder().join("step-0001.json"), "{\"outc").unwrap();
    let error = format!("{:#}", journal.finished().unwrap_err());
    assert!(error.contains("step-0001.json") && error.contains("remove the file"), "{error}");
}
