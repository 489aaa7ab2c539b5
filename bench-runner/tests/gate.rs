//! Does the gate say the right word of real programs? Child processes, as a workflow would start them; the servers are the
//! runner's own floor behind scripts, so that base and head can differ.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod own;

use bench_runner::floor::resp::{Resp, State};
use bench_runner::floor::{Answers, Taken, epoll};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const RUNNER: &str = env!("CARGO_BIN_EXE_bench-runner");

/// A second load.
const SET: &str = r#"
[[load]]
operation = "set"
value_bytes = [64]
clients = [4]
pipeline = [4]
keys = 100
"#;

fn config() -> String {
    own::gated("subject = \"own\"\n") + SET
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("bench-gate.toml"), config()).unwrap();
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

    /// A server that takes so long to start, and so much longer for a SET.
    fn slowed(&self, name: &str, start_ms: u64, set_ns: u64) -> PathBuf {
        let own = std::env::current_exe().unwrap();
        let text = format!(
            "# {name}\nif [ \"$1\" = --version ]; then exec {RUNNER} --version; fi\n\
            export LISTEN=$2 START_MS={start_ms} SET_NS={set_ns}\n\
            exec {} --exact a_slowed_server --ignored --nocapture --quiet",
            own.display()
        );
        self.program(name, &text)
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
            // Of this test's own build: the programs of a gate belong below its checkout.
            .env("CARGO_TARGET_DIR", "/nowhere")
            .output()
            .unwrap()
    }

    fn record(&self) -> Value {
        let text = std::fs::read_to_string(self.path().join("out/gate.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// The floor, which spins a while for each SET.
struct Slowed {
    floor: Resp,
    per_set: Duration,
}

impl Answers for Slowed {
    type State = State;

    fn answer(&mut self, state: &mut State, bytes: &[u8], output: &mut Vec<u8>) -> Taken {
        let sets = bytes.windows(5).filter(|word| word == b"\r\nSET").count();
        let until = Instant::now() + self.per_set * u32::try_from(sets).unwrap();
        while Instant::now() < until {}
        self.floor.answer(state, bytes, output)
    }
}

/// No test: the server that [`Place::slowed`] starts.
#[test]
#[ignore = "a server that other tests start"]
fn a_slowed_server() {
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    std::thread::sleep(Duration::from_millis(number("START_MS")));
    let answers = Slowed { floor: Resp::new(64), per_set: Duration::from_nanos(number("SET_NS")) };
    let listen = std::env::var("LISTEN").unwrap().parse().unwrap();
    epoll::Server::bind(listen, answers).unwrap().run().unwrap();
}

/// A pair of which head takes much longer for a SET, and which takes its time to start.
fn slow_pair(place: &Place) -> (PathBuf, PathBuf) {
    (place.slowed("base", 1_100, 2_000), place.slowed("head", 1_100, 4_000))
}

/// Base and head hold a lock that only one of them can have: they are measured one after the other, and that is said.
#[test]
fn servers_that_cannot_be_there_at_the_same_time_are_measured_one_after_the_other() {
    let place = Place::new();
    let lock = place.path().join("lock");
    let server = |name: &str| {
        let text = format!(
            "# {name}\nif [ \"$1\" = --version ]; then exec {RUNNER} floor \"$@\"; fi\n\
             exec flock --nonblock --no-fork {} {RUNNER} floor \"$@\"",
            lock.display()
        );
        place.program(name, &text)
    };
    let output = place.gate(&server("base"), &server("head"), &["--budget", "10s"]);
    let gate = place.record();
    let notes = gate["notes"].to_string();
    assert!(notes.contains("one after the other"), "{notes}\n{}", told(&output));
    assert_ne!(gate["outcome"], "not_measured", "{}", told(&output));
    // Blocks that other tests disturbed were measured too.
    let verdict = &gate["verdicts"][0];
    let measured =
        verdict["blocks"].as_array().unwrap().len() as u64 + verdict["disturbed"].as_u64().unwrap();
    assert!(measured > 5, "{gate}");
}

fn never_passes(budget: &str) {
    let place = Place::new();
    let (base, head) = slow_pair(&place);
    let output = place.gate(&base, &head, &["--budget", budget]);
    assert!(matches!(output.status.code(), Some(2 | 3)), "{budget}: {}", told(&output));
    let outcome = place.record()["outcome"].as_str().unwrap().to_owned();
    assert!(matches!(outcome.as_str(), "regression" | "inconclusive"), "{budget}: {}", told(&output));
}

#[test]
fn a_large_change_of_a_server_that_starts_slowly_never_passes_in_a_short_budget() {
    never_passes("30s");
}

#[test]
#[ignore = "eight minutes: cargo test --test gate -- --ignored never_passes"]
fn a_large_change_of_a_server_that_starts_slowly_never_passes_in_any_budget() {
    for budget in ["45s", "90s", "180s", "300s"] {
        never_passes(budget);
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
        assert!(scenario.contains("get") || scenario.contains("set"), "{one}");
        // Where others disturbed every block there is no figure.
        let has_blocks = !one["blocks"].as_array().unwrap().is_empty();
        assert_eq!(one["base"].as_f64().is_some_and(|base| base > 0.0), has_blocks, "{one}");
        assert!(one["block_sd"].as_f64().unwrap() > 0.0 && one["limit"].as_f64().unwrap() >= 1.02);
    }
    assert!(record["measured_s"].as_f64().unwrap() <= 75.0);
    assert!(place.path().join("out/junit.xml").is_file());
}

#[test]
fn what_was_asked_for_by_name_is_not_left_out_for_others() {
    let place = Place::new();
    // With one CPU the generator has none of its own.
    let placement =
        if std::thread::available_parallelism().unwrap().get() > 1 { "apart" } else { "unpinned" };
    let key = format!("own/native/{placement}/set-64B-c4-p4");
    // No room for both loads; the one that is named is the last, which would go first.
    let output =
        place.gate(&place.server("base"), &place.server("head"), &["--budget", "10s", "--only", &key]);
    assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{}", told(&output));
    let record = place.record();
    let verdicts = record["verdicts"].as_array().unwrap();
    assert!(!verdicts.is_empty() && verdicts.iter().all(|one| one["scenario"] == key.as_str()), "{record}");
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
fn another_server_at_the_port_is_not_measured() {
    let place = Place::new();
    let pids = place.path().join("pids");
    // The server is no child of what was started, which waits beside it.
    let text = format!(
        "if [ \"$1\" = --version ]; then exec {RUNNER} --version; fi\n\
        (setsid {RUNNER} floor \"$@\" & echo $! >>{})\nexec sleep 60",
        pids.display()
    );
    let output = place.gate(&place.server("base"), &place.program("head", &text), &["--budget", "60s"]);
    let started = std::fs::read_to_string(&pids).unwrap();
    for pid in started.lines() {
        // Where the runner may make a cgroup, it has ended them with what it started.
        let _ = Command::new("kill").arg(pid).stderr(Stdio::null()).status().unwrap();
    }
    // Each start tries two other ports.
    let starts = started.lines().count();
    assert!(starts > 0 && starts.is_multiple_of(3), "{starts}: {}", told(&output));
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    let record = place.record();
    assert_eq!(record["outcome"], "not_measured");
    assert!(record["reason"].as_str().unwrap().contains("answers there, and not process"), "{record}");
}

#[test]
fn what_is_wrong_with_the_call_is_told() {
    let place = Place::new();
    let server = place.server("server");
    let output = place.gate(Path::new("no-such-commit"), &server, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("no file or commit"), "{}", told(&output));
    let output = place.gate(&server, &server, &["--measure-identical", "--only", "put"]);
    assert!(told(&output).contains("unknown scenario 'put'"), "{}", told(&output));
    let output = place.gate(&server, &server, &["--budget", "5s"]);
    assert_eq!(output.status.code(), Some(64));
    std::fs::remove_file(place.path().join("bench-gate.toml")).unwrap();
    let output = place.gate(&server, &server, &[]);
    assert!(told(&output).contains("bench-gate.toml"), "{}", told(&output));
}

/// What is counted of a server and of a part whose work is in `work.c`.
const COUNTED: &str = r#"
limit_percent = 1.0

[[exchange]]
operation = "get"
value_bytes = 64
keys = 50
requests = 4_000

[[component]]
name = "part"
arguments = ["1000"]
operations = 1000
without = ["0"]
build = { command = ["sh", "-c", "test -z \"$CARGO_TARGET_DIR\" && cc -O1 -o part work.c"], binary = "part" }
"#;

const WORK: &str = r#"
#include <stdlib.h>
volatile long sink;
int main(int count, char **words) {
    long times = atol(words[1]);
    for (long one = 0; one < times; one++)
        for (long step = 0; step < STEPS; step++) sink += step;
    return 0;
}
"#;

const BUILD: &str = r#"
[build]
command = ["cp", "server.sh", "own"]
binary = "own"
"#;

/// A repository whose second commit does `steps` for 1000 steps of the part's work, and says so in its server.
fn repository(place: &Place, steps: u32) {
    let root = place.path();
    let git = |arguments: &[&str]| {
        let author = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "core.hooksPath=/dev/null"];
        let done = Command::new("git").arg("-C").arg(root).args(author).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", told(&done));
    };
    std::fs::write(root.join("bench-gate.toml"), format!("{}{BUILD}", config())).unwrap();
    std::fs::write(root.join("bench-counted.toml"), COUNTED).unwrap();
    std::fs::write(root.join(".gitignore"), "/target/\n/out/\n").unwrap();
    git(&["init", "--quiet"]);
    for (name, steps) in [("base", 1000), ("head", steps)] {
        place.server("server.sh");
        let server = std::fs::read_to_string(root.join("server.sh")).unwrap();
        std::fs::write(root.join("server.sh"), format!("{server}# {name}\n")).unwrap();
        std::fs::write(root.join("work.c"), WORK.replace("STEPS", &steps.to_string())).unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", name]);
    }
}

fn counted(record: &Value) -> Vec<(&str, &str, f64)> {
    let verdicts = record["verdicts"].as_array().unwrap().iter();
    verdicts
        .filter(|one| one["stage"] == "counted")
        .map(|one| {
            let ratio = one["ratio"].as_f64();
            let ratio = ratio.unwrap_or_else(|| panic!("{one}"));
            (one["scenario"].as_str().unwrap(), one["outcome"].as_str().unwrap(), ratio)
        })
        .collect()
}

#[test]
fn instructions_are_the_same_twice_and_two_percent_more_are_seen() {
    for (steps, outcome, ratio) in [(1000, "pass", 1.0), (1020, "regression", 1.02), (1008, "pass", 1.008)] {
        let place = Place::new();
        repository(&place, steps);
        let output = place.gate(Path::new("HEAD~1"), Path::new("HEAD"), &["--budget", "10s"]);
        let record = place.record();
        let found = counted(&record);
        assert_eq!(found.len(), 2, "{}", told(&output));
        let (server, said, same) = found[0];
        assert_eq!((server, said), ("counted/get-64B", "pass"), "{}", told(&output));
        assert!((same - 1.0).abs() < 0.001, "{same}");
        let (part, said, more) = found[1];
        assert_eq!((part, said), ("counted/part", outcome), "{}", told(&output));
        assert!((more - ratio).abs() < 0.001, "{more}");
        if outcome == "regression" && record["outcome"] != "improvement" {
            assert_eq!(record["outcome"], "regression", "{}", told(&output));
            assert_eq!(output.status.code(), Some(2));
        }
    }
}

#[test]
fn what_cannot_be_counted_is_said() {
    let place = Place::new();
    std::fs::write(place.path().join("bench-counted.toml"), COUNTED).unwrap();
    let output = place.gate(&place.server("one"), &place.server("two"), &["--budget", "10s"]);
    let record = place.record();
    assert_eq!(counted(&record).len(), 1, "{}", told(&output));
    let notes = record["notes"].to_string();
    assert!(notes.contains("part was not counted: it is built from commits"), "{notes}");
}
