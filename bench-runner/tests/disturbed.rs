//! A run beside a real load: sixteen busy processes, in `tests/disturbed.rs`, make every cell `disturbed`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod found;

use found::{file, unpacked};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Processes that want a CPU all the time, until this is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start(count: usize) -> Self {
        let busy = |_| {
            let mut command = Command::new("timeout");
            // They end by themselves, too, should this test be killed.
            command.args(["60", "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        Self((0..count).map(busy).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // `timeout` passes this signal on to what it started.
        for child in &self.0 {
            let pid = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        self.0.iter_mut().for_each(|child| drop(child.wait()));
    }
}

const SCENARIO: &str = r#"
key = "disturbed"
title = "A crowded machine"
kind = "wire"
revision = 1
trials = { smoke = 1, quick = 1, full = 1 }
place = 1
stresses = "the runner"
analysis = "Sixteen other processes are busy."
validity = "Every reply is checked."
not_measured = "Anything real."

[[targets]]
key = "timer-1ms"
modes = ["native"]

[[load]]
operation = "get"
value_bytes = [64]
clients = [24]
keys = 100
seconds = { smoke = 0.3, quick = 0.3, full = 0.3 }
"#;

const STARTS: &str = r#"
key = "starts"
title = "Starts on a crowded machine"
kind = "startup"
revision = 1
trials = { smoke = 1, quick = 1, full = 1 }
place = 2
stresses = "the runner"
analysis = "Sixteen other processes are busy."
validity = "Only a right answer ends the clock."
not_measured = "Anything real."

[[targets]]
key = "none"
modes = ["native"]

[[start]]
starts = { smoke = 2, quick = 2, full = 2 }
modes = ["native"]
"#;

fn run(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench-runner")).args(arguments).current_dir(root).output().unwrap()
}

fn words(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

/// A server that sleeps in each request is not always told from one that waits for a CPU there, but is disturbed anyway.
#[test]
fn beside_sixteen_busy_processes_every_cell_is_disturbed_and_nothing_is_published() {
    let program =
        Path::new(env!("CARGO_BIN_EXE_bench-runner")).parent().unwrap().join("examples/faulty_server");
    assert!(program.is_file(), "{} is not there; `cargo build --examples` makes it", program.display());
    let root = tempfile::tempdir().unwrap();
    let scenarios = root.path().join("bench-runner/scenarios");
    fs::create_dir_all(&scenarios).unwrap();
    let target = |fault: &str| {
        format!(
            "[target.{fault}]\ntitle = \"faulty {{version}}: {fault}\"\nrole = \"rival\"\ntransport = \"socket\"\n\
             durability = \"volatile\"\nbinary = \"{}\"\n\
             args = [\"--listen\", \"{{host}}:{{port}}\", \"--protocol\", \"resp\", \"--fault\", \"{fault}\"]\n\
             version = {{ args = [\"--version\"], after = \"faulty-server \" }}\n\
             allocator = {{ text = \"the system's\" }}\n",
            program.display()
        )
    };
    let catalogue = ["none", "timer-1ms"].map(target).concat();
    fs::write(scenarios.join("targets.toml"), catalogue).unwrap();
    fs::write(scenarios.join("disturbed.toml"), SCENARIO).unwrap();
    fs::write(scenarios.join("starts.toml"), STARTS).unwrap();

    let busy = Busy::start(16);
    let done = run(root.path(), &["run", "--profile", "quick", "--no-container"]);
    drop(busy);
    let said = words(&done);
    for name in ["disturbed.json.zst", "starts.json.zst"] {
        let path = file(&root.path().join("results"), name).unwrap_or_else(|| panic!("no {name}: {said}"));
        let record: bench_runner::model::ScenarioRecord = serde_json::from_value(unpacked(&path)).unwrap();
        assert!(!record.cells.is_empty());
        for cell in &record.cells {
            let cores = cell.disturbed_cores();
            assert!(cores.is_some_and(|cores| cores > 0.5), "{}: {cores:?}", cell.key);
        }
    }
    let sentence = "2 of 2 cells were measured while others used more than 0.25 CPUs in most of their trials";
    assert!(said.contains(sentence), "{said}");
    let version = env!("CARGO_PKG_VERSION");
    let refused = run(root.path(), &["publish", "latest", "--version", version]);
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert!(words(&refused).contains(sentence), "{}", words(&refused));
}
