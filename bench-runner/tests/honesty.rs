//! Is a server found out that answers wrongly, refuses, hangs up, or lets replies wait?
//!
//! The whole command against real processes: `examples/faulty_server.rs` with one fault each, beside the same server
//! without a fault, in one run. What counts is what stands in the record.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod found;

use found::unpacked;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// A root of its own with a catalogue of faulty servers and one scenario.
struct Root {
    folder: tempfile::TempDir,
}

impl Root {
    /// `faults` become targets of that name that speak `protocol`; `loads` is the rest of the scenario's file.
    fn new(protocol: &str, faults: &[&str], loads: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scenarios = folder.path().join("bench-runner/scenarios");
        fs::create_dir_all(&scenarios).expect("a folder");
        let mut catalogue = String::new();
        let mut scenario = HEAD.to_owned();
        for fault in faults {
            catalogue.push_str(&target(protocol, fault));
            scenario.push_str(&format!("\n[[targets]]\nkey = \"{fault}\"\nmodes = [\"native\"]\n"));
        }
        scenario.push_str(loads);
        fs::write(scenarios.join("targets.toml"), catalogue).expect("a catalogue");
        fs::write(scenarios.join("honesty.toml"), scenario).expect("a scenario");
        Self { folder }
    }

    fn command(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench-runner"));
        command.args(args).current_dir(self.folder.path()).output().expect("bench-runner starts")
    }

    /// The record of a run of the scenario, and how the run ended.
    ///
    /// One at a time: two cores are just enough for a generator and a server.
    fn run(&self, profile: &str) -> (Record, Output) {
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let output = self.command(&["run", "--profile", profile, "--no-container"]);
        let mut open = vec![self.folder.path().join("results")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                } else if path.ends_with("honesty.json.zst") {
                    return (Record(unpacked(&path)), output);
                }
            }
        }
        panic!("no record was written:\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

struct Record(Value);

impl Record {
    /// The one cell of a target whose key ends as given.
    #[track_caller]
    fn cell(&self, target: &str, end: &str) -> &Value {
        let cells = self.0["cells"].as_array().expect("cells");
        let found = cells.iter().find(|cell| {
            cell["target"] == target && cell["key"].as_str().is_some_and(|key| key.ends_with(end))
        });
        found.unwrap_or_else(|| panic!("no cell of {target} ending in '{end}'"))
    }

    #[track_caller]
    fn assert_found_out(&self, target: &str, statuses: &[&str], words: &str) {
        let cell = self.cell(target, "");
        let status = cell["status"].as_str().unwrap_or_default();
        let reason = cell["reason"].as_str().unwrap_or_default();
        assert!(statuses.contains(&status), "{target} is {status}: {reason}");
        assert!(reason.contains(words), "{target}: '{reason}' does not name '{words}'");
        // What is not to be trusted is no figure.
        assert_eq!(cell["measurements"], Value::Array(Vec::new()), "{target}");
    }

    #[track_caller]
    fn assert_fine(&self, target: &str) {
        let cell = self.cell(target, "");
        assert_eq!(cell["status"], "ok", "{target}: {}", cell["reason"]);
        assert_eq!(cell["trials"][0]["counts"]["errors"], 0, "{target}");
    }
}

#[track_caller]
fn metric(cell: &Value, name: &str) -> f64 {
    let all = cell["measurements"].as_array().expect("measurements");
    let found = all.iter().find(|one| one["metric"] == name && one["operation"].is_null());
    found.unwrap_or_else(|| panic!("no {name} in {}: {}", cell["key"], cell["reason"]))["median"]
        .as_f64()
        .expect("a number")
}

const HEAD: &str = r#"
key = "honesty"
title = "Faulty servers"
kind = "wire"
revision = 1
place = 1
stresses = "the runner"
analysis = "Each server has one fault."
validity = "Every reply is checked."
not_measured = "Anything real."
"#;

fn target(protocol: &str, fault: &str) -> String {
    let program = faulty_server().display().to_string();
    let role = if fault == "cheaper" { "ceiling" } else { "rival" };
    let documents = if protocol == "http" { "protocol = \"http\"\n" } else { "" };
    format!(
        r#"
        [target.{fault}]
        title = "faulty {{version}}: {fault}"
        role = "{role}"
        transport = "socket"
        durability = "volatile"
        {documents}
        binary = "{program}"
        args = ["--listen", "{{host}}:{{port}}", "--protocol", "{protocol}", "--fault", "{fault}"]
        version = {{ args = ["--version"], after = "faulty-server " }}
        allocator = {{ text = "the system's" }}
        "#
    )
}

/// Examples lie beside the runner; `cargo test` builds them, `cargo test --test honesty` does not.
fn faulty_server() -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_bench-runner")).parent().expect("a folder");
    let program = beside.join("examples/faulty_server");
    assert!(program.is_file(), "{} is not there; `cargo build --examples` makes it", program.display());
    program
}

fn failed_with_a_line(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "a run whose cells broke must not end well:\n{stderr}");
}

#[test]
fn wrong_values_misses_errors_and_hang_ups_are_found_out() {
    let root = Root::new(
        "resp",
        &["none", "wrong-value", "miss", "error", "close"],
        "[[load]]\noperation = \"get\"\nvalue_bytes = [64]\nclients = [8]\nkeys = 500\n\
         seconds = { smoke = 0.6, quick = 0.6, full = 0.6 }\n",
    );
    let (record, output) = root.run("smoke");
    record.assert_fine("none");
    record.assert_found_out("wrong-value", &["invalid"], "byte 32 is wrong");
    record.assert_found_out("miss", &["invalid"], "found nothing, though it was loaded");
    record.assert_found_out("error", &["invalid"], "ERR the fault of this server");
    record.assert_found_out("close", &["failed"], "closed a connection");
    failed_with_a_line(&output);
}

/// What is read back after a load of writes is what was written in it, not what was there before.
#[test]
fn a_write_that_is_acknowledged_and_not_carried_out_is_found_out() {
    for protocol in ["resp", "http"] {
        let said = if protocol == "http" { "protocol = \"http\"\n" } else { "" };
        let root = Root::new(
            protocol,
            &["none", "keeps-first"],
            &format!(
                "[[load]]\noperation = \"set\"\n{said}value_bytes = [64]\nclients = [8]\nkeys = 500\n\
                 seconds = {{ smoke = 0.6, quick = 0.6, full = 0.6 }}\n"
            ),
        );
        let (record, output) = root.run("smoke");
        record.assert_fine("none");
        let read = &record.cell("none", "")["trials"][0]["facts"]["read_back"];
        assert!(read.as_u64().is_some_and(|count| count > 400), "{protocol}: {read}");
        record.assert_found_out("keeps-first", &["invalid"], "holds what it held before");
        failed_with_a_line(&output);
    }
}

/// A key is given two values within one load of writes, so that the second of them cannot be dropped either: the server
/// carries out those of loading and of the first half, and acknowledges the rest.
#[test]
fn a_second_write_of_a_key_within_a_load_is_looked_at_too() {
    for (protocol, loop_of) in [("resp", "clients = [8]\n"), ("resp", OPEN), ("http", "clients = [8]\n")] {
        let said = if protocol == "http" { "protocol = \"http\"\n" } else { "" };
        let root = Root::new(
            protocol,
            &["none", "keeps-second"],
            &format!(
                "[[load]]\noperation = \"set\"\n{said}value_bytes = [64]\n{loop_of}keys = 200\n\
                 seconds = {{ smoke = 0.6, quick = 0.6, full = 0.6 }}\n"
            ),
        );
        let (record, _) = root.run("smoke");
        record.assert_fine("none");
        let read = &record.cell("none", "")["trials"][0]["facts"]["read_back"];
        assert!(read.as_u64().is_some_and(|count| count > 200), "{protocol}: {read}");
        record.assert_found_out("keeps-second", &["invalid"], "holds what it held before");
    }
}

const OPEN: &str = "clients = [4]\narrival = \"poisson\"\nrate_per_second = [2000]\n";

/// A figure of two regimes says so: it is a mean of two things.
#[test]
fn pauses_and_a_rate_that_falls_are_told() {
    let root = Root::new(
        "resp",
        &["none", "pauses", "tires"],
        "[[load]]\noperation = \"get\"\nvalue_bytes = [64]\nclients = [8]\nkeys = 500\n\
         seconds = { smoke = 2.5, quick = 2.5, full = 2.5 }\n",
    );
    let (record, output) = root.run("smoke");
    let regime = |target: &str| record.cell(target, "")["trials"][0]["facts"]["regime"].clone();
    assert!(
        regime("pauses").as_str().is_some_and(|said| said.starts_with("replies stopped")),
        "{}",
        regime("pauses")
    );
    assert!(regime("tires").as_str().is_some_and(|said| said.contains("was not one")), "{}", regime("tires"));
    assert_eq!(regime("none"), Value::Null);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.matches("a mean of several regimes; the first, ").count(), 1, "{said}");
}

#[test]
fn http_answers_are_looked_at_status_and_all() {
    let root = Root::new(
        "http",
        &["none", "wrong-value", "miss", "status-429", "close"],
        "[[load]]\noperation = \"get\"\nprotocol = \"http\"\nvalue_bytes = [240]\nclients = [8]\nkeys = 500\n\
         seconds = { smoke = 0.6, quick = 0.6, full = 0.6 }\n",
    );
    let (record, output) = root.run("smoke");
    record.assert_fine("none");
    let facts = &record.cell("none", "")["trials"][0]["facts"];
    let statuses = facts["status_counts"].as_object().expect("a table of status codes");
    let operations = &record.cell("none", "")["trials"][0]["counts"]["operations"];
    assert_eq!(statuses.get("200"), Some(operations), "every answer was a 200: {statuses:?}");
    record.assert_found_out("wrong-value", &["invalid"], "byte 120 is wrong");
    record.assert_found_out("miss", &["invalid"], "found nothing, though it was loaded");
    record.assert_found_out("status-429", &["invalid"], "status 429");
    record.assert_found_out("close", &["failed"], "closed a connection");
    failed_with_a_line(&output);
}

/// Two readers would find two ends of such a reply.
#[test]
fn lengths_that_are_no_plain_number_are_found_out_under_load() {
    for (protocol, faults) in [("resp", &["padded-length"][..]), ("http", &["two-lengths", "padded-length"])]
    {
        let said = if protocol == "http" { "protocol = \"http\"\n" } else { "" };
        let load = format!(
            "[[load]]\noperation = \"get\"\n{said}value_bytes = [64]\nclients = [8]\nkeys = 500\n\
             seconds = {{ smoke = 0.6, quick = 0.6, full = 0.6 }}\n"
        );
        let (record, output) = Root::new(protocol, faults, &load).run("smoke");
        for fault in faults {
            let words = if protocol == "http" { "length" } else { "malformed reply" };
            record.assert_found_out(fault, &["failed", "invalid"], words);
        }
        failed_with_a_line(&output);
    }
}

/// A helper in a session of its own, whose parent is process 1, works for the server all the same.
#[test]
fn the_work_of_a_helper_that_left_the_process_tree_is_the_servers() {
    for pipeline in [1, 16] {
        let root = Root::new(
            "resp",
            &["none", "helper"],
            &format!(
                "[[load]]\noperation = \"get\"\nvalue_bytes = [64]\nclients = [4]\npipeline = [{pipeline}]\nkeys = 500\n\
                 seconds = {{ smoke = 0.6, quick = 0.6, full = 0.6 }}\n"
            ),
        );
        let (record, _) = root.run("smoke");
        let cell = record.cell("helper", "");
        if cell["trials"][0]["process"]["cpu_time_source"] == "process clocks" {
            println!("skipped: no cgroup may be made here, so such a helper cannot be found");
            return;
        }
        record.assert_fine("helper");
        let cost = |target: &str| metric(record.cell(target, ""), "server_cpu_ns_per_op");
        assert!(cost("helper") >= cost("none") + 35_000.0, "{} beside {}", cost("helper"), cost("none"));
    }
}

/// On a crowded machine the waiting for a CPU can hide the timer, and the rule rather says nothing: it is tried again.
#[test]
fn replies_held_back_by_a_timer_are_found_out() {
    for protocol in ["resp", "http"] {
        let said = if protocol == "http" { "protocol = \"http\"\n" } else { "" };
        let load = format!(
            "[[load]]\noperation = \"get\"\n{said}value_bytes = [64]\nclients = [8]\nkeys = 500\n\
             seconds = {{ smoke = 0.6, quick = 0.6, full = 0.6 }}\n"
        );
        let root = Root::new(protocol, &["timer-5ms"], &load);
        let found = (0..8).any(|_| {
            let (record, output) = root.run("smoke");
            let status = record.cell("timer-5ms", "")["status"].clone();
            if status == "invalid" {
                record.assert_found_out("timer-5ms", &["invalid"], "wait for something that is not work");
                failed_with_a_line(&output);
            }
            fs::remove_dir_all(root.folder.path().join("results")).expect("results");
            status == "invalid"
        });
        assert!(
            found,
            "{protocol}: a server that holds every reply back by 5 ms passed as honest eight times"
        );
    }
}

/// A sleep in each request adds up in a pipeline, and is no less a sleep.
#[test]
fn a_sleep_in_each_request_of_a_pipeline_is_found_out() {
    let root = Root::new(
        "resp",
        &["timer-1ms"],
        "[[load]]\noperation = \"get\"\nvalue_bytes = [64]\nclients = [8]\npipeline = [16]\nkeys = 500\n\
         seconds = { smoke = 0.6, quick = 0.6, full = 0.6 }\n",
    );
    let mut seen = Vec::new();
    for _ in 0..8 {
        let (record, _) = root.run("smoke");
        let cell = record.cell("timer-1ms", "");
        if cell["status"] == "invalid" {
            record.assert_found_out("timer-1ms", &["invalid"], "wait for something that is not work");
            return;
        }
        seen.push(cell["trials"][0]["os"].clone());
        fs::remove_dir_all(root.folder.path().join("results")).expect("results");
    }
    panic!("a server that sleeps a millisecond in each request passed as honest: {seen:?}");
}

#[test]
fn answers_that_come_twice_break_the_cell() {
    for protocol in ["resp", "http"] {
        let said = if protocol == "http" { "protocol = \"http\"\n" } else { "" };
        let load = format!(
            "[[load]]\noperation = \"get\"\n{said}value_bytes = [64]\nclients = [8]\nkeys = 500\n\
             seconds = {{ smoke = 0.6, quick = 0.6, full = 0.6 }}\n"
        );
        let (record, output) = Root::new(protocol, &["twice"], &load).run("smoke");
        record.assert_found_out("twice", &["failed"], "sent more replies than it was asked for");
        failed_with_a_line(&output);
    }
}

/// The server only counts bytes, 64 requests at a time: whatever comes of it is the generator's doing.
#[test]
fn a_generator_at_its_ceiling_is_flagged() {
    let root = Root::new(
        "resp",
        &["cheaper"],
        "[[load]]\noperation = \"get\"\nvalue_bytes = [8]\nclients = [32]\npipeline = [64]\nkeys = 500\n\
         seconds = { smoke = 0.6, quick = 0.6, full = 0.6 }\n",
    );
    // A crowded machine can keep the server's threads from answering at once, and so the generator from its ceiling.
    let mut seen = Vec::new();
    for _ in 0..5 {
        let (record, _) = root.run("smoke");
        let trial = &record.cell("cheaper", "")["trials"][0];
        if trial["facts"]["generator_at_ceiling"] == true {
            let note = trial["facts"]["note"].as_str().expect("a note");
            assert!(note.contains("throughput and response times are its own"), "{note}");
            return;
        }
        seen.push(trial["os"]["generator_busy_max"].clone());
        fs::remove_dir_all(root.folder.path().join("results")).expect("results");
    }
    panic!("never flagged, though the generator was busy {seen:?}");
}

/// The server falls silent for two seconds in the middle. The closed loop sends nothing meanwhile and so has one slow
/// sample among thousands; the open loop has every request that was due.
#[test]
fn a_stall_is_in_the_open_loops_tail_and_hidden_by_the_closed_one() {
    let root = Root::new(
        "resp",
        &["stall-2s"],
        "[[load]]\noperation = \"get\"\nvalue_bytes = [64]\nclients = [1]\nkeys = 500\n\
         seconds = { smoke = 5.0, quick = 5.0, full = 5.0 }\n\
         [[load]]\noperation = \"get\"\nvalue_bytes = [64]\nclients = [4]\nkeys = 500\n\
         arrival = \"poisson\"\nrate_per_second = [400]\nseconds = { smoke = 5.0, quick = 5.0, full = 5.0 }\n",
    );
    let (record, output) = root.run("smoke");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let cells = record.0["cells"].as_array().expect("cells");
    let by_loop = |open: bool| {
        let found = cells.iter().find(|cell| cell["axes"]["arrival"].is_string() == open);
        found.unwrap_or_else(|| panic!("a cell of either loop:\n{stderr}"))
    };
    let (closed, open) = (by_loop(false), by_loop(true));
    let hidden = metric(closed, "latency_ns_p999");
    let shown = metric(open, "latency_ns_p999");
    assert!(
        shown >= 1e9,
        "the open loop's p99.9 is {shown} ns, though a third of its requests fell in the stall"
    );
    assert!(hidden < 0.5e9, "the closed loop's p99.9 is {hidden} ns, with one of its samples in the stall");
    assert!(metric(closed, "latency_ns_max") >= 1.9e9, "the stall did happen under the closed loop");
    // Both stand in one report.
    let report = root.command(&["report", "latest"]);
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    for cell in [closed, open] {
        let label = cell["label"].as_str().expect("a label");
        assert!(text.contains(label), "'{label}' is not in the report:\n{text}");
    }
}
