//! Do runs that end at the same time, into the same folder and database, lose anything?

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

use crate::tiny::{Tiny, parsed};
use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

/// Processes at once.
const RUNS: usize = 10;

#[test]
fn ten_runs_at_once_lose_nothing() {
    let tiny = Tiny::new();
    let running: Vec<_> = (0..RUNS)
        .map(|_| tiny.run(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    // Somebody looks on meanwhile, and makes the database again.
    for _ in 0..3 {
        let asked = tiny.runner(&["db", "query", "SELECT count(*) FROM measurement"]).output().unwrap();
        let said = String::from_utf8_lossy(&asked.stderr).into_owned();
        assert!(asked.status.success() || said.contains("no database at"), "{said}");
        let rebuilt = tiny.runner(&["db", "rebuild"]).output().unwrap();
        let said = String::from_utf8_lossy(&rebuilt.stderr).into_owned();
        assert!(rebuilt.status.success() || said.contains("no runs in"), "{said}");
    }
    for run in running {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let stored: BTreeSet<String> =
        tiny.runs().iter().map(|run| run.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(stored.len(), RUNS);
    let index = parsed(&fs::read_to_string(tiny.results().join("local/index.json")).unwrap());
    let listed: BTreeSet<String> = index["versions"][0]["machines"][0]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed, stored);
    let rows = tiny.ask("SELECT run_id FROM campaign WHERE sealed = 1");
    let entered: BTreeSet<String> =
        rows.as_array().unwrap().iter().map(|row| row["run_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(entered, stored);
    assert_eq!(tiny.ask("SELECT * FROM unfinished_campaign"), serde_json::json!([]));
    // Every record's digest, the references, the seals, and that the rows are those of the records.
    let output = tiny.runner(&["db", "check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(tiny.journal().is_none(), "no journal is left");
}
