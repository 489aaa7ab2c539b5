//! Can a run be stopped by a signal and gone on with, with nothing half-written and no server left behind?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A root that holds what the runner reads of a checkout.
fn root() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scenarios = folder.path().join("bench-runner/scenarios");
    fs::create_dir_all(&scenarios).expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for entry in fs::read_dir(here).expect("the scenarios") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, scenarios.join(path.file_name().expect("a name"))).expect("a copy");
    }
    folder
}

fn runner(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-runner"));
    command.arg("run").args(args).current_dir(root).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// Waits until a finished step stands in the journal.
fn first_step(root: &Path, run: &mut Child) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let is_step =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("step-"));
    while !files(&root.join("results")).iter().any(is_step) {
        assert!(run.try_wait().expect("a state").is_none(), "the run ended before it could be stopped");
        assert!(Instant::now() < deadline, "no step was finished in a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Null servers started by `runner`, or by nobody that is still there.
fn left_behind(runner: u32) -> Vec<String> {
    let ours = |pid: &str| {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).map(str::trim);
        command.contains("\0floor\0") && parent == Some(runner.to_string().as_str())
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|pid| ours(pid)).collect()
}

/// What the database says of runs that have not ended.
fn unfinished(root: &Path) -> String {
    let sql = "SELECT state, reason FROM unfinished_campaign";
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-runner"));
    command.args(["--format", "json", "db", "query", sql]).current_dir(root);
    String::from_utf8(command.output().expect("bench-runner starts").stdout).expect("a text")
}

#[test]
fn a_signal_keeps_the_finished_steps_and_resume_makes_the_record() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let folder = root();
        let root = folder.path();
        let mut run =
            runner(root, &["--profile", "smoke", "--no-container", "--target", "null", "--seed", "7"])
                .spawn()
                .expect("bench-runner starts");
        first_step(root, &mut run);
        let pid = run.id();
        let process = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a pid");
        rustix::process::kill_process(process, signal).expect("a signal");
        let output = run.wait_with_output().expect("an end");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let told = stderr.lines().find(|line| line.starts_with("bench-runner: interrupted after"));
        let told = told.unwrap_or_else(|| panic!("no word of the interruption in:\n{stderr}"));
        assert_eq!(left_behind(pid), Vec::<String>::new());
        // The journal, and the database, whose row says how the run stands.
        let (rows, journal): (Vec<PathBuf>, Vec<PathBuf>) =
            files(&root.join("results")).into_iter().partition(|path| path.ends_with("results/local.sqlite"));
        assert_eq!(rows.len(), 1, "{rows:?}");
        for path in journal {
            let is_journal = path.components().any(|part| part.as_os_str() == ".journal");
            assert!(is_journal, "{} was left behind", path.display());
            let text = fs::read_to_string(&path).expect("a text");
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", path.display());
        }
        assert!(unfinished(root).contains("\"state\": \"interrupted\""), "{}", unfinished(root));

        let id = told.split("--resume ").nth(1).expect("how to go on").trim();
        let output = runner(root, &["--resume", id]).output().expect("bench-runner starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let written = files(&root.join("results"));
        assert!(!written.iter().any(|path| path.to_string_lossy().contains(".journal")), "{written:?}");
        let record = written.iter().find(|path| path.ends_with(format!("{id}/run.json")));
        let text = fs::read_to_string(record.expect("a record")).expect("a text");
        let record: serde_json::Value = serde_json::from_str(&text).expect("whole JSON");
        assert_eq!(record["seed"], 7);
        let scenarios = record["scenarios"].as_array().expect("scenarios");
        let measured: u64 = scenarios.iter().map(|one| one["cells_ok"].as_u64().expect("a count")).sum();
        let lost: u64 = scenarios.iter().map(|one| one["cells_failed"].as_u64().expect("a count")).sum();
        assert!(unfinished(root).contains("\"rows\": []"), "{}", unfinished(root));
        assert!(measured >= 6 && lost == 0, "{measured} measured, {lost} lost");
    }
}
