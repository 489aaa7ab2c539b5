//! Does the lab measure what is there, and see what is wrong? Steps against real processes on real sockets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod caps;
mod lies;
mod own_server;

use bench_runner::measure::{Lab, Stage};
use bench_runner::model::{Axes, Mode, Placement, Status, Trial};
use bench_runner::plan::{CellKey, Operation, Step, WirePhase, Work};
use bench_runner::scenario::Protocol;
use bench_runner::target::{Catalogue, Setup};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const KEYS: u64 = 2_000;

fn setup() -> Setup {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let mut setup = Setup::new(root, std::env::temp_dir(), "/nowhere/plumbkv".into());
    setup.runner_binary = env!("CARGO_BIN_EXE_bench-runner").into();
    setup
}

fn lab(catalogue: Catalogue) -> Lab {
    Lab::new(catalogue, setup(), Arc::new(AtomicBool::new(false)))
}

fn committed() -> Catalogue {
    Catalogue::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/targets.toml")).unwrap()
}

fn cell(name: &str) -> CellKey {
    CellKey { key: name.to_owned(), label: name.to_owned(), axes: Axes::default() }
}

fn phase(name: &str, mix: &[(Operation, u32)]) -> WirePhase {
    WirePhase {
        cell: cell(name),
        clients: 8,
        pipeline: 1,
        mix: mix.to_vec(),
        value_bytes: 64,
        keys: KEYS,
        warmup_s: 0.02,
        min_seconds: 0.1,
        min_operations: 100,
        exact_operations: None,
        timeout_s: 20.0,
        ..WirePhase::default()
    }
}

fn step(target: &str, work: Work) -> Step {
    Step {
        position: 3,
        scenario: "test".to_owned(),
        target: target.to_owned(),
        mode: Mode::Native,
        placement: Placement::Apart,
        trial: 1,
        seed: 42,
        cap_bytes: None,
        memory_limit_bytes: None,
        variant: None,
        work,
    }
}

fn run(lab: &Lab, step: &Step) -> HashMap<String, Trial> {
    let outcome = lab.run_step(step, &mut |_| {});
    assert_eq!(outcome.position, step.position);
    outcome.trials.into_iter().collect()
}

#[track_caller]
fn value(trial: &Trial, metric: &str, operation: Option<&str>) -> f64 {
    let found =
        trial.values.iter().find(|value| value.metric == metric && value.operation.as_deref() == operation);
    found.unwrap_or_else(|| panic!("no {metric} of {operation:?} in {:?}", trial.values)).value
}

#[track_caller]
fn assert_figures(trial: &Trial) {
    assert_eq!((trial.status, trial.reason.as_deref()), (Status::Ok, None));
    assert_eq!(trial.counts.errors, 0);
    let rate = trial.counts.operations as f64 / trial.elapsed_s;
    assert!((value(trial, "ops_per_second", None) / rate - 1.0).abs() < 1e-6);
    assert!(value(trial, "latency_ns_p50", None) <= value(trial, "latency_ns_p99", None));
    assert!(value(trial, "latency_ns_max", None) > 1_000.0);
    assert!(value(trial, "server_cpu_ns_per_op", None) > 100.0);
    assert!(value(trial, "generator_busy", None) > 0.0);
    assert!(value(trial, "rss_bytes_peak", None) > 100_000.0);
    let counted: u64 = trial.histograms.iter().map(|histogram| histogram.count).sum();
    assert_eq!(counted, trial.counts.operations);
    assert_eq!(trial.windows.iter().map(|window| window.operations).sum::<u64>(), trial.counts.operations);
    let process = trial.process.as_ref().unwrap();
    assert_eq!(process.binary_sha256.len(), 64);
    assert!(!process.generator_cpus.is_empty() && process.rss_bytes_start > 100_000);
    assert!(trial.os.unwrap().server_cpu_ns > 0);
}

fn all_loads() -> Vec<WirePhase> {
    let deep = WirePhase { pipeline: 16, ..phase("deep", &[(Operation::Get, 1)]) };
    let large = WirePhase { value_bytes: 100_000, keys: 20, ..phase("large", &[(Operation::Get, 1)]) };
    let exact = WirePhase {
        exact_operations: Some(1_003),
        min_operations: 0,
        pipeline: 10,
        ..phase("exact", &[(Operation::Set, 1)])
    };
    let mixed = phase("mixed", &[(Operation::Set, 1), (Operation::Get, 9)]);
    // More deletes than keys: they run out and are put back.
    let del = WirePhase { min_operations: KEYS * 2 + 7, ..phase("del", &[(Operation::Del, 1)]) };
    vec![
        phase("set", &[(Operation::Set, 1)]),
        deep,
        del,
        large,
        exact,
        mixed,
        phase("get", &[(Operation::Get, 1)]),
    ]
}

fn assert_all_loads(trials: &HashMap<String, Trial>) {
    assert_eq!(trials.len(), 7);
    for trial in trials.values() {
        assert_figures(trial);
        assert_eq!((trial.index, trial.position), (1, 3));
    }
    assert_eq!(trials["exact"].counts.operations % 1_003, 0);
    assert!(trials["exact"].elapsed_s >= 0.1);
    assert!(trials["del"].counts.operations > KEYS * 2);
    assert!(trials["del"].facts["rounds"].as_u64().unwrap() >= 3);
    let (sets, gets) = (
        value(&trials["mixed"], "ops_per_second", Some("set")),
        value(&trials["mixed"], "ops_per_second", Some("get")),
    );
    assert!(gets > sets * 4.0 && value(&trials["mixed"], "latency_ns_p99", Some("get")) > 0.0);
    assert_eq!(trials["get"].counts.hits, trials["get"].counts.operations);
}

#[test]
fn every_kind_of_load_runs_against_the_null_server() {
    assert_all_loads(&run(&lab(committed()), &step("null", Work::Wire { phases: all_loads() })));
}

/// True where it is not installed, which CI does not let pass.
fn is_missing(program: &str) -> bool {
    let missing = std::process::Command::new(program).arg("-h").output().is_err();
    assert!(!(missing && std::env::var("CI").is_ok_and(|ci| ci == "true")), "{program} is not installed");
    if missing {
        println!("skipped: {program} is not installed");
    }
    missing
}

fn redis_is_missing() -> bool {
    is_missing("redis-server")
}

#[test]
fn a_connection_per_request_is_measured_over_http() {
    let lab = lab(committed());
    let get = |name: &str| WirePhase {
        cell: CellKey { axes: Axes { value_bytes: Some(240), ..Axes::default() }, ..cell(name) },
        value_bytes: 240,
        keys: 300,
        protocol: Some(Protocol::Http),
        ..phase(name, &[(Operation::Get, 1)])
    };
    for target in ["floor-http", "nginx"] {
        if target == "nginx" && is_missing("nginx") {
            continue;
        }
        let new = WirePhase { new_connections: true, min_operations: 2_000, ..get("new") };
        let trials = run(&lab, &step(target, Work::Wire { phases: vec![get("kept"), new] }));
        for trial in trials.values() {
            assert_figures(trial);
            assert_eq!(trial.facts["status_counts"]["200"], trial.counts.operations);
        }
    }
    let once = Lab::new(own_target("once"), setup(), Arc::new(AtomicBool::new(false)));
    // A server that refuses the second request of a connection sees whether they are what they are called.
    for (new_connections, expected) in [(true, Status::Ok), (false, Status::Invalid)] {
        let get = WirePhase { new_connections, ..get("get") };
        let trials = run(&once, &step("own", Work::Wire { phases: vec![get] }));
        assert_eq!(trials["get"].status, expected, "{:?}", trials["get"].reason);
    }
    // The label says that connections are new: no protocol may quietly keep them.
    let resp = WirePhase { new_connections: true, ..phase("resp", &[(Operation::Get, 1)]) };
    let trial = run(&lab, &step("null", Work::Wire { phases: vec![resp] })).remove("resp").unwrap();
    assert_eq!(trial.status, Status::Failed);
    assert!(trial.reason.unwrap().contains("over HTTP only"));
}

#[test]
fn every_kind_of_load_runs_against_redis() {
    if redis_is_missing() {
        return;
    }
    let lab = lab(committed());
    assert_all_loads(&run(&lab, &step("redis-server", Work::Wire { phases: all_loads() })));
    assert!(lab.verify_target("redis-server", Mode::Native).unwrap().contains("answered rightly"));
}

#[test]
fn a_thousand_connections_on_two_threads() {
    let mut setup = setup();
    setup.generator_threads = 2;
    let lab = Lab::new(committed(), setup, Arc::new(AtomicBool::new(false)));
    let many = WirePhase { clients: 1_000, ..phase("many", &[(Operation::Get, 1)]) };
    let del = WirePhase { clients: 7, min_operations: KEYS + 1, ..phase("del", &[(Operation::Del, 1)]) };
    let trials = run(&lab, &step("null", Work::Wire { phases: vec![many, del] }));
    assert_figures(&trials["many"]);
    assert_figures(&trials["del"]);
    assert!(value(&trials["many"], "connect_ms", None) > 1.0);
}

#[test]
fn starts_are_timed_and_nothing_is_left_behind() {
    let work = Work::Startup { cell: cell("start"), starts: 3 };
    let trial = run(&lab(committed()), &step("null", work)).remove("start").unwrap();
    assert_eq!(trial.status, Status::Ok, "{:?}", trial.reason);
    assert_eq!(trial.counts.operations, 3);
    let ms = value(&trial, "startup_ms", None);
    assert!((0.1..5_000.0).contains(&ms), "{ms}");
    assert!(value(&trial, "binary_bytes", None) > 100_000.0);
    let pid = trial.process.unwrap().pid;
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

/// A catalogue whose only target is one of this program's own roles below.
fn own_target(role: &str) -> Catalogue {
    let (kind, protocol) = match role {
        "once" => ("floor", "http"),
        "greedy" => ("subject", "resp"),
        _ => ("rival", "resp"),
    };
    let program = std::env::current_exe().unwrap();
    let text = format!(
        r#"
        [target.own]
        title = "own"
        role = "{kind}"
        transport = "socket"
        durability = "volatile"
        protocol = "{protocol}"
        binary = "{}"
        args = ["own_server::own_server", "--exact", "--nocapture", "--test-threads", "1", "{role}", "{{port}}"]
        version = {{ args = [], after = "" }}
        allocator = {{ text = "none" }}
        "#,
        program.display()
    );
    Catalogue::parse("own.toml", &text).unwrap()
}

#[test]
fn a_server_that_gives_a_wrong_value_makes_the_cell_invalid() {
    let phases = vec![phase("set", &[(Operation::Set, 1)]), phase("get", &[(Operation::Get, 1)])];
    let trials = run(&lab(own_target("lies")), &step("own", Work::Wire { phases }));
    // What was written is read back, so that the lie comes out after writes, too.
    for (name, words) in [("set", "acknowledged and read back"), ("get", "GET of key")] {
        let reason = trials[name].reason.clone().unwrap_or_default();
        assert_eq!(trials[name].status, Status::Invalid, "{name}: {reason}");
        assert!(reason.contains(words) && reason.contains("GET of key"), "{reason}");
        assert!(reason.contains("is wrong"), "{reason}");
    }
}

#[test]
fn a_server_that_dies_under_load_fails_its_cell_and_the_ones_after_it() {
    let phases = vec![phase("get", &[(Operation::Get, 1)]), phase("later", &[(Operation::Set, 1)])];
    let trials = run(&lab(own_target("dies")), &step("own", Work::Wire { phases }));
    let reason = trials["get"].reason.clone().unwrap();
    assert_eq!(trials["get"].status, Status::Failed);
    assert!(reason.contains("own ended") && reason.contains("out of patience"), "{reason}");
    assert_eq!(trials["later"].status, Status::Failed);
}

#[test]
fn a_server_that_stops_answering_is_a_timeout() {
    let mut get = phase("get", &[(Operation::Get, 1)]);
    get.timeout_s = 0.5;
    let trials = run(&lab(own_target("hangs")), &step("own", Work::Wire { phases: vec![get] }));
    assert_eq!(trials["get"].status, Status::Timeout, "{:?}", trials["get"].reason);
}

#[test]
fn a_target_that_will_not_start_is_one_clear_line() {
    let work = Work::Wire { phases: vec![phase("set", &[(Operation::Set, 1)])] };
    let trial = run(&lab(own_target("refuses")), &step("own", work)).remove("set").unwrap();
    let reason = trial.reason.unwrap();
    assert_eq!(trial.status, Status::Failed);
    assert!(reason.contains("own did not start") && reason.contains("no such luck"), "{reason}");
    assert_eq!(reason.lines().count(), 1);
    let missing = lab(committed()).verify_target("plumbkv", Mode::Native).unwrap_err();
    assert!(missing.contains("/nowhere/plumbkv is not there"), "{missing}");
}

#[test]
fn a_stop_leaves_the_unfinished_trial_out_and_nothing_behind() {
    let stop = Arc::new(AtomicBool::new(false));
    let lab = Lab::new(committed(), setup(), Arc::clone(&stop));
    let mut endless = phase("get", &[(Operation::Get, 1)]);
    endless.min_seconds = 60.0;
    let phases = vec![phase("set", &[(Operation::Set, 1)]), endless];
    let begin = std::time::Instant::now();
    let outcome = lab.run_step(&step("null", Work::Wire { phases }), &mut |progress| {
        if progress.stage == Stage::Measuring && progress.cell == "get" {
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(begin.elapsed().as_secs() < 20);
    assert_eq!(outcome.trials.len(), 1);
    let pid = outcome.trials[0].1.process.as_ref().unwrap().pid;
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}
