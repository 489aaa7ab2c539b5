//! Does the gate say the right word of real programs? Child processes, as a workflow would start them; the servers are the
//! runner's own floor behind scripts, so that base and head can differ.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RUNNER: &str = env!("CARGO_BIN_EXE_bench-runner");

const CONFIG: &str = r#"
subject = "own"

[trial]
warmup_s = 0.02
seconds = 0.05
min_operations = 100

[target.own]
title = "own {version}"
role = "ceiling"
transport = "socket"
durability = "volatile"
binary = "own"
args = ["--listen", "{host}:{port}"]
version = { args = ["--version"], after = "bench-runner " }
allocator = { text = "none" }

[[load]]
operation = "get"
value_bytes = [64]
clients = [4]
pipeline = [4]
keys = 100

[[load]]
operation = "set"
value_bytes = [64]
clients = [4]
pipeline = [4]
keys = 100
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("bench-gate.toml"), CONFIG).unwrap();
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A program of its own bytes that does what `text` says.
    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn server(&self, name: &str) -> PathBuf {
        self.program(name, &format!("# {name}\nexec {RUNNER} floor \"$@\""))
    }

    fn gate(&self, base: &Path, head: &Path, more: &[&str]) -> Output {
        Command::new(RUNNER)
            .args(["gate", "--root"])
            .arg(self.path())
            .arg("--base")
            .arg(base)
            .arg("--head")
            .arg(head)
            .arg("--out")
            .arg(self.path().join("out"))
            .args(more)
            .output()
            .unwrap()
    }

    fn record(&self) -> Value {
        let text = std::fs::read_to_string(self.path().join("out/gate.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_same_bytes_pass_without_a_measurement() {
    let place = Place::new();
    let server = place.server("server");
    let output = place.gate(&server, &server, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let record = place.record();
    assert_eq!(record["outcome"], "pass");
    assert!(record["reason"].as_str().unwrap().starts_with("identical build"));
    assert_eq!(record["verdicts"].as_array().unwrap().len(), 0);
    let comment = std::fs::read_to_string(place.path().join("out/comment.md")).unwrap();
    assert!(comment.contains("identical build"), "{comment}");
}

#[test]
fn blocks_are_measured_judged_and_kept() {
    let place = Place::new();
    let (base, head) = (place.server("base"), place.server("head"));
    let output = place.gate(&base, &head, &["--budget", "60s", "--seed", "7"]);
    // What is said depends on the machine; that it is said, and on what, does not.
    assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{}", told(&output));
    let record = place.record();
    let verdicts = record["verdicts"].as_array().unwrap();
    assert!(!verdicts.is_empty() && record["seed"] == 7);
    for one in verdicts {
        let scenario = one["scenario"].as_str().unwrap();
        assert!(
            (scenario.contains("get") || scenario.contains("set")) && one["base"].as_f64().unwrap() > 0.0
        );
        assert!(one["block_sd"].as_f64().unwrap() > 0.0 && one["limit"].as_f64().unwrap() >= 1.03);
    }
    assert!(record["measured_s"].as_f64().unwrap() <= 75.0);
    assert!(place.path().join("out/junit.xml").is_file());
}

#[test]
fn what_was_asked_for_by_name_is_not_left_out_for_others() {
    let place = Place::new();
    let key = "own/native/apart/set-64B-c4-p4";
    // No room for both loads; the one that is named is the last, which would go first.
    let output =
        place.gate(&place.server("base"), &place.server("head"), &["--budget", "10s", "--only", key]);
    assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{}", told(&output));
    let record = place.record();
    let verdicts = record["verdicts"].as_array().unwrap();
    assert!(!verdicts.is_empty() && verdicts.iter().all(|one| one["scenario"] == key), "{record}");
    assert_eq!(record["left_out"].as_array().unwrap().len(), 0);
}

#[test]
fn a_head_that_does_not_start_is_not_measured_and_no_pass() {
    let place = Place::new();
    let head = place.program("head", "echo no licence today >&2; exit 9");
    let output = place.gate(&place.server("base"), &head, &["--budget", "60s"]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    let record = place.record();
    assert_eq!(record["outcome"], "not_measured");
    assert!(record["reason"].as_str().unwrap().contains("head: "), "{record}");
}

#[test]
fn what_is_wrong_with_the_call_is_told() {
    let place = Place::new();
    let server = place.server("server");
    let output = place.gate(Path::new("no-such-commit"), &server, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("neither a file nor a commit"), "{}", told(&output));
    let output = place.gate(&server, &server, &["--measure-identical", "--only", "put"]);
    assert!(told(&output).contains("no scenario `put`"), "{}", told(&output));
    let output = place.gate(&server, &server, &["--budget", "5s"]);
    assert_eq!(output.status.code(), Some(64));
    std::fs::remove_file(place.path().join("bench-gate.toml")).unwrap();
    let output = place.gate(&server, &server, &[]);
    assert!(told(&output).contains("bench-gate.toml"), "{}", told(&output));
}
