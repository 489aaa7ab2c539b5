//! What the tests of records, database and tables work on: the made-up run that the site is tested with, too.

use super::{read_index, read_indexed_run};
use crate::model::{Run, ScenarioRecord};
use std::path::{Path, PathBuf};

/// Folder of the made-up results (`cargo run -p plumbkv-bench-runner --example fixture_results -- DIR`).
pub(crate) fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../website/test/fixtures/results")
}

/// The made-up run.
pub(crate) fn run() -> (Run, Vec<ScenarioRecord>) {
    let index = read_index(&results().join("index.json")).unwrap();
    read_indexed_run(&results(), &index.versions[0].machines[0].runs[0]).unwrap()
}

/// The same under another id, version and start.
pub(crate) fn run_as(id: &str, version: &str, started_at: &str) -> (Run, Vec<ScenarioRecord>) {
    let (mut run, mut scenarios) = run();
    (run.id, run.version, run.started_at) = (id.to_owned(), version.to_owned(), started_at.to_owned());
    for record in &mut scenarios {
        (record.run_id, record.version) = (id.to_owned(), version.to_owned());
    }
    (run, scenarios)
}

/// A run with its smallest scenario only, for tests that write many.
pub(crate) fn small_run_as(id: &str, version: &str, started_at: &str) -> (Run, Vec<ScenarioRecord>) {
    let (run, mut scenarios) = run_as(id, version, started_at);
    scenarios.retain(|record| record.scenario.key == "startup");
    (run, scenarios)
}
