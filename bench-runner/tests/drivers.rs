//! Is a driver program measured as it says, and found out when it lies, dies or falls silent? With drivers that are
//! scripts: real processes, whose engines are whatever the test wants. The real engines have tests of their own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use base64::Engine as _;
use bench_runner::measure::Lab;
use bench_runner::model::{Axes, Mode, Placement, Status, Trial};
use bench_runner::plan::{
    CellKey, EmbeddedPart, EmbeddedWork, EngineWanted, Pace, Step, Stock, StoreKey, StoreUse, Work,
};
use bench_runner::target::{Catalogue, Setup};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use plumbkv_bench_driver::protocol::{
    Distribution, KeySchema, Order, Phase, Profile, Records, Until, ValueKind,
};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const CATALOGUE: &str = r#"
    [target.engine]
    title = "engine"
    role = "rival"
    transport = "in_process"
    durability = "durable"
    binary = "ENGINE"
    args = []
    version = { args = ["--version"], after = "engine " }
    allocator = { after = "allocator=" }
"#;

const READY: &str = r#"{"type":"ready","engine":"engine","version":"1.2","allocator":"libc","settings":[{"key":"cache","value":"0"}]}"#;

/// A histogram of a thousand gets of 2 µs.
fn histogram() -> String {
    let mut histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    histogram.record_n(2_000, 1_000).unwrap();
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// The lines of a phase of a thousand gets in 2 ms, `misses` of them in vain.
fn result(phase: usize, misses: u64) -> String {
    serde_json::json!({
        "type": "phase", "phase": phase, "operations": 1_000, "hits": 1_000 - misses, "misses": misses, "errors": 0,
        "first_error": (misses > 0).then_some("key:000000000003 is not there"), "elapsed_ns": 2_000_000,
        "cpu_ns": 2_000_000, "rss_bytes_start": 1_000_000, "rss_bytes_peak": 9_000_000, "disk_bytes": 4_096,
        "read_bytes": 5_000, "written_bytes": 0,
        "histograms": [{
            "operation": "get", "hdr_v2_deflate_base64": histogram(), "low_ns": 1, "high_ns": 60_000_000_000_u64,
            "digits": 3, "count": 1_000, "clipped": 0, "sum_ns": 2_000_000,
        }],
    })
    .to_string()
}

/// Says `lines`, waiting for a line after each that is `waiting`, then does `last`.
fn script(lines: &[String], last: &str) -> String {
    let mut script = "read workload\n".to_owned();
    for line in lines {
        script.push_str(&format!("echo '{line}'\n"));
        if line.contains("waiting") {
            script.push_str("read go\n");
        }
    }
    script + last + "\n"
}

fn waiting(phase: usize) -> String {
    format!(r#"{{"type":"waiting","phase":{phase}}}"#)
}

fn lines(loaded: u64, read: u64) -> Vec<String> {
    let done = r#"{"type":"done"}"#.to_owned();
    vec![READY.to_owned(), waiting(0), result(0, loaded), waiting(1), result(1, read), waiting(2), done]
}

/// A lab whose only target is a script, and the folder that both live in.
fn lab_with(script: &str) -> (tempfile::TempDir, Lab) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("engine");
    std::fs::write(&program, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = CATALOGUE.replace("ENGINE", program.to_str().unwrap());
    let catalogue = Catalogue::parse("targets.toml", &text).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let setup = Setup::new(root, folder.path().to_owned(), "/nowhere/plumbkv".into());
    (folder, Lab::new(catalogue, setup, Arc::new(AtomicBool::new(false))))
}

#[test]
fn verifying_a_driver_has_it_write_and_read() {
    let (_folder, lab) = lab_with(&script(&lines(0, 0), ""));
    assert!(lab.nothing_to_verify("engine", Mode::Native).is_none());
    let told = lab.verify_target("engine", Mode::Native).unwrap();
    assert!(told.contains("gave 1000 reads rightly"), "{told}");
    assert!(lab.nothing_to_verify("engine", Mode::NativeLimited).unwrap().contains("nothing to verify"));
    let (_folder, lab) = lab_with(&script(&lines(0, 7), ""));
    let told = lab.verify_target("engine", Mode::Native).unwrap_err();
    assert!(told.contains("engine: ") && told.contains("is not there"), "{told}");
    let (_folder, lab) = lab_with("echo 'no such file' >&2; exit 3\n");
    lab.verify_target("engine", Mode::Native).unwrap_err();
}

fn work(timeout_s: f64) -> EmbeddedWork {
    let cell = CellKey { key: "cell".to_owned(), label: "cell".to_owned(), axes: Axes::default() };
    let until = Until { seconds: 0.1, operations: 1_000 };
    let read = Phase::ReadRandom { distribution: Distribution::Uniform, threads: 1, absent: false, until };
    EmbeddedWork {
        engine: EngineWanted { cache_bytes: Some(0), ..EngineWanted::default() },
        records: RECORDS,
        store: StoreUse::Fresh,
        releases: false,
        draw_seed: 0,
        before: vec![Phase::Load { order: Order::Random, batch: 100, flush_every: None }],
        killed: false,
        parts: vec![EmbeddedPart { cell, before: Vec::new(), measured: vec![read] }],
        pace: Pace::default(),
        timeout_s,
    }
}

const RECORDS: Records =
    Records { count: 1_000, value_bytes: 100, values: ValueKind::Incompressible, keys: KeySchema::OneFamily };

fn step(position: u32, work: Work) -> Step {
    Step {
        position,
        scenario: "test".to_owned(),
        target: "engine".to_owned(),
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

fn run(lab: &Lab, position: u32, work: EmbeddedWork) -> Vec<(String, Trial)> {
    lab.run_step(&step(position, Work::Embedded { work: Box::new(work) }), &mut |_| {}).trials
}

fn measured(script: &str, timeout_s: f64) -> Trial {
    let (folder, lab) = lab_with(script);
    let mut trials = run(&lab, 3, work(timeout_s));
    // The store's folder goes with the driver.
    let left = std::fs::read_dir(folder.path()).unwrap().flatten().count();
    assert_eq!((trials.len(), left), (1, 1), "one trial, and nothing but the script left");
    trials.remove(0).1
}

fn value(trial: &Trial, metric: &str) -> f64 {
    trial.values.iter().find(|value| value.metric == metric).map_or(f64::NAN, |value| value.value)
}

#[test]
fn what_a_driver_says_becomes_the_trial() {
    let trial = measured(&script(&lines(0, 0), ""), 60.0);
    assert_eq!((trial.status, trial.reason.as_deref()), (Status::Ok, None));
    assert_eq!((trial.counts.operations, trial.counts.hits, trial.counts.misses), (1_000, 1_000, 0));
    assert!((value(&trial, "ops_per_second") - 500_000.0).abs() < 1e-6);
    assert!((value(&trial, "latency_ns_p50") - 2_000.0).abs() < 2.0);
    assert!((value(&trial, "latency_ns_mean") - 2_000.0).abs() < 1e-9);
    assert!((value(&trial, "rss_bytes_peak") - 9e6).abs() < 1e-9);
    assert!((value(&trial, "read_bytes_per_op") - 5.0).abs() < 1e-9);
    assert_eq!(trial.histograms[0].count, 1_000);
    assert_eq!(trial.facts["engine"], "engine 1.2");
    assert_eq!(trial.facts["engine_settings"], serde_json::json!(["cache=0"]));
    assert!(trial.process.unwrap().binary_sha256.len() == 64 && trial.os.is_some());
}

#[test]
fn a_miss_makes_the_trial_invalid_while_measuring_and_before() {
    let trial = measured(&script(&lines(0, 2), ""), 60.0);
    assert_eq!(trial.status, Status::Invalid);
    let reason = trial.reason.unwrap();
    assert!(
        reason.contains("2 misses in 1000") && reason.contains("key:000000000003 is not there"),
        "{reason}"
    );
    let trial = measured(&script(&lines(1, 0), ""), 60.0);
    assert_eq!(trial.status, Status::Invalid);
    assert!(trial.reason.unwrap().starts_with("while loading: "));
}

#[test]
fn a_driver_that_dies_fails_with_its_last_words() {
    let trial = measured(&script(&lines(0, 0)[..4], "echo 'engine driver: disk full' >&2\nexit 1"), 60.0);
    assert_eq!(trial.status, Status::Failed);
    let reason = trial.reason.unwrap();
    assert_eq!(reason, "the driver gave up while measuring: engine driver: disk full");
}

#[test]
fn a_driver_that_falls_silent_is_a_timeout() {
    let trial = measured(&script(&lines(0, 0)[..4], "exec sleep 600"), 0.3);
    assert_eq!(trial.status, Status::Timeout);
    assert!(trial.reason.unwrap().ends_with("while measuring"));
}

#[test]
fn a_driver_that_speaks_out_of_turn_fails() {
    let trial = measured(&script(&[READY.to_owned(), waiting(1)], ""), 60.0);
    assert_eq!(trial.status, Status::Failed);
    assert_eq!(trial.reason.unwrap(), "the driver said `waiting` out of turn");
}

#[test]
fn a_histogram_that_does_not_hold_its_count_is_invalid() {
    let all: Vec<String> =
        lines(0, 0).iter().map(|line| line.replace("\"count\":1000", "\"count\":999")).collect();
    let trial = measured(&script(&all, ""), 60.0);
    assert_eq!(trial.status, Status::Invalid);
    assert!(trial.reason.unwrap().contains("histogram of get cannot be read"));
}

/// An engine that keeps a mark in its folder: it says how often it was opened there, and has as many phases as its
/// workload, all of a thousand operations.
fn marking(extra: &str) -> String {
    let phase = result(0, 0).replace("\"phase\":0", "\"phase\":'$n'");
    format!(
        "read workload\n\
         folder=$(echo \"$workload\" | sed 's/.*\"location\":\"\\([^\"]*\\)\".*/\\1/')\n\
         phases=$(echo \"$workload\" | grep -o '\"kind\":' | wc -l)\n\
         echo opened >> \"$folder/mark\"\n\
         {extra}\
         opened=$(wc -l < \"$folder/mark\")\n\
         echo '{{\"type\":\"ready\",\"engine\":\"engine\",\"version\":\"1.2\",\"allocator\":\"libc\",\"settings\":[{{\"key\":\"opened\",\"value\":\"'$opened'\"}}],\"promise\":\"survives the process\",\"open_ns\":3000000}}'\n\
         n=0\n\
         while [ $n -lt $phases ]; do\n\
         echo '{{\"type\":\"waiting\",\"phase\":'$n'}}'\nread go\n\
         echo '{phase}'\nn=$((n+1))\ndone\n\
         echo '{{\"type\":\"waiting\",\"phase\":'$n'}}'\nread go\necho '{{\"type\":\"done\"}}'\n"
    )
}

fn key() -> StoreKey {
    StoreKey {
        target: "engine".to_owned(),
        records: RECORDS,
        order: Order::Random,
        batch: 100,
        profile: Profile::Default,
        memory_limit_bytes: None,
        seed: 42,
    }
}

fn two_cells(store: StoreUse) -> EmbeddedWork {
    let mut work = EmbeddedWork { before: Vec::new(), store, ..work(60.0) };
    let mut second = work.parts[0].clone();
    second.cell.key = "second".to_owned();
    second.before = second.measured.clone();
    work.parts.push(second);
    work
}

fn stores(folder: &Path) -> usize {
    std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|it| it.file_name().to_string_lossy().starts_with("store-"))
        .count()
}

#[test]
fn cells_of_one_process_read_a_directory_that_was_loaded_once_and_a_copy_leaves_it_alone() {
    let (folder, lab) = lab_with(&marking(""));
    let cell = CellKey { key: "stock".to_owned(), label: "stock".to_owned(), axes: Axes::default() };
    let stock = Stock { cell, key: key(), pace: Pace::default(), timeout_s: 60.0 };
    let stocked = lab.run_step(&step(0, Work::Stock { stock: Box::new(stock) }), &mut |_| {}).trials;
    assert_eq!((stocked[0].1.status, stocked[0].1.reason.as_deref()), (Status::Ok, None));
    // A load and the settling after it, two milliseconds each.
    assert!((value(&stocked[0].1, "settled_ops_per_second") - 250_000.0).abs() < 1e-6);
    let opened = |trial: &Trial| trial.facts["engine_settings"][0].as_str().unwrap().to_owned();
    let read = run(&lab, 1, two_cells(StoreUse::Kept(key())));
    let keys: Vec<&str> = read.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["cell", "second"]);
    assert!(
        read.iter().all(|(_, trial)| trial.status == Status::Ok && opened(trial) == "opened=2"),
        "{read:?}"
    );
    assert_eq!(read[0].1.facts["sync_promise"], "survives the process");
    let copied = run(&lab, 2, two_cells(StoreUse::Copy(key())));
    assert_eq!(opened(&copied[0].1), "opened=3");
    let last = EmbeddedWork { releases: true, ..two_cells(StoreUse::Kept(key())) };
    assert_eq!(
        opened(&run(&lab, 3, last)[0].1),
        "opened=3",
        "the copy was written to, not what it was made of"
    );
    assert_eq!(stores(folder.path()), 1, "it stays for a step that is measured again");
    let next = run(&lab, 4, work(60.0));
    assert_eq!((next[0].1.status, stores(folder.path())), (Status::Ok, 0));
    // Where its load was lost with an interrupted run it is loaded again.
    let again = run(&lab, 5, two_cells(StoreUse::Kept(key())));
    assert_eq!(opened(&again[0].1), "opened=2");
}

#[test]
fn a_driver_that_was_killed_leaves_what_the_next_one_opens() {
    let (_folder, lab) = lab_with(&marking(""));
    let mut killed = EmbeddedWork { killed: true, ..work(60.0) };
    killed.parts[0].measured.clear();
    let trials = run(&lab, 0, killed);
    let trial = &trials[0].1;
    assert_eq!((trial.status, trial.reason.as_deref()), (Status::Ok, None));
    assert_eq!(trial.facts["engine_settings"], serde_json::json!(["opened=2"]));
    assert!((value(trial, "open_ms") - 3.0).abs() < 1e-9);
}

#[test]
fn a_cell_that_breaks_leaves_those_before_it_and_takes_those_after_it() {
    // The third phase, which is the second cell's, never comes to its end.
    let dies = "read go\n[ $n -eq 2 ] && { echo 'disk full' >&2; exit 1; }\n";
    let script = marking("").replacen("read go\n", dies, 1);
    let (_folder, lab) = lab_with(&script);
    let trials = run(&lab, 0, EmbeddedWork { before: Vec::new(), ..two_cells(StoreUse::Fresh) });
    let told: Vec<(Status, bool)> = trials
        .iter()
        .map(|(_, trial)| (trial.status, trial.reason.as_deref().is_some_and(|it| it.contains("disk full"))))
        .collect();
    assert_eq!(told, [(Status::Ok, false), (Status::Failed, true)]);
}

#[test]
fn what_an_engine_has_no_call_for_is_left_out_with_its_words() {
    let missing = lines(0, 0);
    let missing: Vec<String> = missing
        .iter()
        .map(|line| line.replace("\"phase\":1,", "\"phase\":1,\"not_supported\":\"it has no such call\","))
        .collect();
    let trial = measured(&script(&missing, ""), 60.0);
    assert_eq!(
        (trial.status, trial.reason.as_deref()),
        (Status::Skipped, Some("not supported: it has no such call"))
    );
    let refused = "read workload\necho 'engine driver: cannot open the store: not supported: engine: no such profile' >&2\nexit 1\n";
    let trial = measured(refused, 60.0);
    assert_eq!(
        (trial.status, trial.reason.as_deref()),
        (Status::Skipped, Some("not supported: engine: no such profile"))
    );
}
