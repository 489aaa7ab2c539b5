//! From the text of a scenario to the trials of its cells, through a real driver process: is a directory loaded once, read by
//! many, copied for those that write, and opened after a kill?

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use bench_runner::measure::Lab;
use bench_runner::model::{Mode, Profile, Status, Trial};
use bench_runner::plan::{Pace, Plan, Request, build};
use bench_runner::scenario::Scenario;
use bench_runner::target::{Catalogue, Setup};
use std::path::{Path, PathBuf};
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
    version = { args = ["--version"], after = "log " }
    allocator = { after = "allocator=" }
"#;

const HEAD: &str = "key = \"x\"\ntitle = \"x\"\nkind = \"embedded\"\nrevision = 1\nplace = 1\nstresses = \"x\"\n\
    analysis = \"x\"\nvalidity = \"x\"\nnot_measured = \"x\"\ntrials = { smoke = 2, quick = 2, full = 2 }\n\
    [[targets]]\nkey = \"engine\"\nmodes = [\"native\"]\n";

const RECORDS: &str = "records = { smoke = 5_000, quick = 5_000, full = 5_000 }\nvalue_bytes = [100]\n\
    values = \"half_compressible\"\nseconds = { smoke = 0.02, quick = 0.02, full = 0.02 }\n";

fn engine() -> PathBuf {
    let beside = std::env::current_exe().unwrap();
    let program = beside.parent().and_then(Path::parent).unwrap().join("examples/log_engine");
    assert!(program.is_file(), "{} is not there; `cargo build --examples` makes it", program.display());
    program
}

fn plan(sections: &str) -> Plan {
    let scenario = Scenario::parse("x.toml", &format!("{HEAD}{sections}")).unwrap();
    let (admits, pace) = (|_: &str, _: Mode| true, |_: &str| Pace::default());
    let scenarios = [scenario];
    build(&Request {
        scenarios: &scenarios,
        profile: Profile::Smoke,
        seed: 3,
        pinned: true,
        admits: &admits,
        pace: &pace,
    })
}

/// Every trial of a scenario by the operation of its cell, in the order measured; and what is left of the folder.
fn measured(sections: &str) -> (Vec<(String, Trial)>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let text = CATALOGUE.replace("ENGINE", engine().to_str().unwrap());
    let catalogue = Catalogue::parse("targets.toml", &text).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let setup = Setup::new(root, folder.path().to_owned(), "/nowhere/plumbkv".into());
    let mut trials = Vec::new();
    let lab = Lab::new(catalogue, setup, Arc::new(AtomicBool::new(false)));
    for step in plan(sections).steps {
        let done = lab.run_step(&step, &mut |_| {}).trials;
        let operations: Vec<String> =
            step.work.cells().iter().map(|cell| cell.axes.operation.clone()).collect();
        assert_eq!(operations.len(), done.len());
        trials.extend(operations.into_iter().zip(done.into_iter().map(|(_, trial)| trial)));
    }
    drop(lab);
    (trials, std::fs::read_dir(folder.path()).unwrap().count())
}

fn value(trial: &Trial, metric: &str) -> f64 {
    trial.values.iter().find(|value| value.metric == metric).map_or(f64::NAN, |value| value.value)
}

/// How many files lay in the store's folder when it was opened: its log, and one for each opening before.
fn files(trial: &Trial) -> u64 {
    let setting = trial.facts["engine_settings"][0].as_str().unwrap();
    setting.strip_prefix("opened=").unwrap().parse().unwrap()
}

#[test]
fn a_directory_is_loaded_once_and_read_by_every_trial_and_what_writes_has_a_copy() {
    let kept = format!("store = \"kept\"\n{RECORDS}");
    let copy = format!("store = \"copy\"\n{RECORDS}");
    let (trials, left) = measured(&format!(
        "[[embedded]]\noperation = \"read_random\"\ndistribution = [\"uniform\", \"zipf\"]\n{kept}\
         [[embedded]]\noperation = \"read_absent\"\nclients = [2]\n{kept}\
         [[embedded]]\noperation = \"read_ordered\"\nwarm_all = true\n{kept}\
         [[embedded]]\noperation = \"read_sequential\"\nwarm_all = true\n{kept}\
         [[embedded]]\noperation = \"scan_reverse\"\nwarm_all = true\n{kept}\
         [[embedded]]\noperation = \"scan_prefix\"\nwarm_all = true\n{kept}\
         [[embedded]]\noperation = \"mixed\"\nset_percent = [20]\ndistribution = [\"zipf\"]\n{copy}\
         [[embedded]]\noperation = \"ycsb_e\"\n{copy}"
    ));
    for (operation, trial) in &trials {
        assert_eq!((trial.status, trial.reason.as_deref()), (Status::Ok, None), "{operation}");
    }
    let of = |name: &str| -> Vec<&Trial> {
        trials.iter().filter(|(operation, _)| operation == name).map(|(_, trial)| trial).collect()
    };
    let stock = of("stock");
    assert_eq!(stock.len(), 1, "loaded once");
    assert!(value(stock[0], "settled_ops_per_second") <= value(stock[0], "ops_per_second"));
    assert!(
        value(stock[0], "write_amplification_ratio") > 1.0 && value(stock[0], "disk_bytes") > 5_000.0 * 116.0
    );
    // Two ways of opening it (warmed and not) by two trials, in a folder that held the log and the load's opening.
    let mut openings: Vec<u64> =
        of("read_random").iter().chain(&of("scan_prefix")).map(|it| files(it)).collect();
    openings.sort_unstable();
    openings.dedup();
    assert_eq!(openings.len(), 4, "each process found one opening more: {openings:?}");
    assert_eq!(openings[0], 2);
    // A copy is opened by one process only, and what it did is nowhere else.
    assert_eq!(of("mixed").len() + of("ycsb_e").len(), 4);
    assert!(of("mixed")[0].values.iter().any(|value| value.operation.as_deref() == Some("set")));
    assert!(
        value(of("scan_reverse")[0], "records_per_second") > value(of("scan_reverse")[0], "ops_per_second")
    );
    assert_eq!(of("read_absent")[0].counts.misses, 0);
    assert_eq!(stock[0].facts["sync_promise"], "survives the process");
    assert_eq!(stock[0].facts["tables_per_level"], serde_json::json!([1]));
    assert_eq!(left, 0, "the directories go with their last step and with the lab");
}

#[test]
fn an_opening_is_timed_after_a_good_end_and_after_a_kill_and_a_flush_by_itself() {
    let (trials, left) = measured(&format!(
        "[[embedded]]\noperation = \"open\"\nflush_every = 50\n{RECORDS}\
         [[embedded]]\noperation = \"open\"\nflush_every = 50\nkilled = true\n{RECORDS}\
         [[embedded]]\noperation = \"flush\"\n{RECORDS}"
    ));
    for (operation, trial) in &trials {
        assert_eq!((trial.status, trial.reason.as_deref()), (Status::Ok, None), "{operation}");
        let metric = if operation == "flush" { "flush_ms" } else { "open_ms" };
        assert!(value(trial, metric) > 0.0, "{operation}: {:?}", trial.values);
        assert!(value(trial, "ops_per_second").is_nan(), "{operation} is no rate");
    }
    let killed = trials.iter().find(|(operation, _)| operation == "open_killed").unwrap();
    assert_eq!(files(&killed.1), 2, "the log and the opening of the process that was killed");
    assert_eq!(left, 0);
}

#[test]
fn a_queue_a_deletion_overwrites_and_sustained_writes_have_their_figures() {
    let short = RECORDS.replace("smoke = 0.02", "smoke = 0.5");
    let copy = format!("store = \"copy\"\n{RECORDS}");
    let (trials, left) = measured(&format!(
        "[[embedded]]\noperation = \"queue\"\nrest_seconds = {{ smoke = 0, quick = 0, full = 0 }}\n{short}\
         [[embedded]]\noperation = \"delete_range\"\n{copy}\
         [[embedded]]\noperation = \"overwrite\"\nrounds = 2\n{RECORDS}\
         [[embedded]]\noperation = \"sustained_write\"\nbatch = [1]\n{short}"
    ));
    assert_eq!(left, 0);
    let of = |name: &str| {
        let (_, trial) = trials.iter().find(|(operation, _)| operation == name).unwrap();
        assert_eq!((trial.status, trial.reason.as_deref()), (Status::Ok, None), "{name}");
        trial
    };
    let of_operation = |trial: &Trial, metric: &str, operation: &str| {
        let mut values = trial.values.iter();
        let found =
            values.find(|value| value.metric == metric && value.operation.as_deref() == Some(operation));
        found.map_or(f64::NAN, |value| value.value)
    };
    let queue = of("queue");
    assert!(value(queue, "empty_scan_ms") > 0.0 && value(queue, "ops_per_second") > 0.0);
    assert!(of_operation(queue, "latency_ns_p99", "front_scan") > 0.0);
    let delete = of("delete_range");
    assert!(value(delete, "delete_range_ms") > 0.0 && value(delete, "write_wait_ms") > 0.0);
    assert!(value(delete, "ops_per_second").is_nan() && value(delete, "server_cpu_ns_per_op").is_nan());
    // The log has every record of the load and of both rounds.
    let overwrite = of("overwrite");
    let peak = value(overwrite, "space_amplification_peak_ratio");
    assert!((3.0..4.0).contains(&peak), "{peak}");
    assert!((value(overwrite, "space_amplification_ratio") - peak).abs() < 0.01);
    assert!((value(overwrite, "disk_bytes_peak") / (5_000.0 * 116.0) - peak).abs() < 1e-9);
    let sustained = of("sustained_write");
    let written: u64 = sustained.windows.iter().map(|window| window.operations).sum();
    assert_eq!(written, sustained.counts.operations);
    assert!(value(sustained, "disk_bytes_peak") > 0.0);
}

#[test]
fn an_engine_without_a_call_is_left_out_and_the_cell_before_it_is_not() {
    let (trials, _) = measured(&format!("[[embedded]]\noperation = \"compact\"\n{RECORDS}"));
    let told: Vec<(&str, Status)> =
        trials.iter().map(|(name, trial)| (name.as_str(), trial.status)).collect();
    let one = [("read_before", Status::Ok), ("compact", Status::Skipped), ("read_after", Status::Ok)];
    assert_eq!(told, [one, one].concat());
    assert!(trials[1].1.reason.as_deref().unwrap().contains("no call that merges everything"));
}

#[test]
fn a_limit_is_read_back_and_a_directory_is_put_out_of_the_page_cache_for_it() {
    let (trials, _) = measured(&format!(
        "[[embedded]]\noperation = \"read_random\"\ndistribution = [\"uniform\"]\nstore = \"kept\"\n\
         memory_limit_bytes = 67_108_864\n{RECORDS}"
    ));
    let (_, read) = trials.iter().find(|(operation, _)| operation == "read_random").unwrap();
    if read.status == Status::Skipped {
        println!("skipped: {}", read.reason.as_deref().unwrap_or_default());
        return;
    }
    assert_eq!((read.status, read.reason.as_deref()), (Status::Ok, None));
    assert_eq!(read.process.as_ref().unwrap().memory_limit_bytes, Some(64 << 20));
}
