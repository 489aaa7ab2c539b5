//! A checkout with one small scenario on the null server: real runs in a second or two.

#![allow(dead_code, reason = "each test uses a part of it")]

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const SCENARIO: &str = r#"
key = "tiny"
title = "Tiny"
kind = "wire"
revision = 1
place = 1
stresses = "a test"
analysis = "Nothing."
validity = "Nothing."
not_measured = "Everything."

[[targets]]
key = "null"
modes = ["native"]

[[load]]
operation = "set"
value_bytes = [16, 64]
clients = [1, 2]
keys = 10
placement = ["apart", "together"]
"#;

const TARGETS: &str = r#"
[target.null]
title = "null server {version}"
role = "ceiling"
transport = "socket"
durability = "volatile"
binary = "{runner_binary}"
args = ["null-server", "--listen", "{host}:{port}"]
version = { args = ["--version"], after = "bench-runner " }
allocator = { text = "none used while serving" }
"#;

/// The checkout.
pub(crate) struct Tiny {
    root: tempfile::TempDir,
}

impl Tiny {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let scenarios = root.path().join("bench-runner/scenarios");
        fs::create_dir_all(&scenarios).unwrap();
        fs::write(scenarios.join("tiny.toml"), SCENARIO).unwrap();
        fs::write(scenarios.join("targets.toml"), TARGETS).unwrap();
        Self { root }
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.root.path().join("results")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.results().join("local.sqlite")
    }

    pub(crate) fn runner(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench-runner"));
        command.arg("--root").arg(self.root.path()).args(arguments).current_dir(self.root.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Command {
        let mut command = self.runner(&["run", "--profile", "smoke", "--no-container", "--target", "null"]);
        command.args(arguments);
        command
    }

    pub(crate) fn resume(&self, id: &str) -> Command {
        self.runner(&["run", "--resume", id])
    }

    /// The folder of the one journal there is.
    pub(crate) fn journal(&self) -> Option<PathBuf> {
        let home = fs::read_dir(self.results().join("local/.journal")).ok()?;
        home.flatten().map(|entry| entry.path()).find(|path| path.join("plan.json").exists())
    }

    pub(crate) fn state(&self) -> Value {
        parsed(&fs::read_to_string(self.journal().unwrap().join("state.json")).unwrap())
    }

    /// Folders of the stored runs.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let machines = fs::read_dir(self.results().join("local")).into_iter().flatten().flatten();
        let runs = machines
            .filter(|machine| machine.file_name() != ".journal" && machine.path().is_dir())
            .flat_map(|machine| fs::read_dir(machine.path()).into_iter().flatten().flatten())
            .map(|run| run.path());
        runs.filter(|path| path.join("run.json").exists() && !path.ends_with(".writing")).collect()
    }

    pub(crate) fn only_run(&self) -> PathBuf {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// Rows of an answer as objects; null where there is no database yet.
    pub(crate) fn ask(&self, sql: &str) -> Value {
        if !self.database().exists() {
            return Value::Null;
        }
        let output = self.runner(&["--format", "json", "db", "query", sql]).output().unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        parsed(&String::from_utf8(output.stdout).unwrap())["rows"].clone()
    }
}

pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
