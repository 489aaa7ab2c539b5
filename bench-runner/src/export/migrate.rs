//! How is a record of an older version read as one of today's? Version by version, in memory only.
//!
//! A file is never rewritten: its bytes are what the index's digest promises. Each step takes the JSON of one
//! version to the next, so a record of any age goes through all that came after it.

use crate::model::SCHEMA_VERSION;
use serde_json::Value;

/// The step from version `n + 1` to `n + 2` stands at `n`.
const STEPS: &[fn(&mut Value)] = &[open_loops_and_more_modes, compressed_files];

// One step per version, or a version could be written that the next one does not read.
const _: () = assert!(STEPS.len() as u32 + 1 == SCHEMA_VERSION);

/// 1 → 2 added fields that may be absent and words for more modes and roles: a record of version 1 is one of
/// version 2 without them.
fn open_loops_and_more_modes(_record: &mut Value) {}

/// 2 → 3 moved histograms to a file of their own and compressed the files; a histogram that stayed in its record is
/// read as before.
fn compressed_files(_record: &mut Value) {}

/// Whether a record of this version can be taken to today's.
pub(super) fn is_known(version: u32) -> bool {
    (1..=SCHEMA_VERSION).contains(&version)
}

/// Takes a record of a known version to today's.
pub(super) fn to_current(version: u32, record: &mut Value) {
    let done = version.saturating_sub(1) as usize;
    for (at, step) in STEPS.iter().enumerate().skip(done) {
        step(record);
        record["schema_version"] = (at + 2).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{canonical, contents, read_index, read_indexed_run, read_run, write_run};
    use crate::model::{INDEX_SCHEMA, IndexRun, RUN_SCHEMA, Run, SCENARIO_SCHEMA};
    use std::path::{Path, PathBuf};

    /// Runs of an older version as they were published, cut down to a few cells; their index beside them.
    fn fixture(version: u32) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/records/v{version}"))
    }

    fn runs(version: u32) -> Vec<IndexRun> {
        let index = read_index(&fixture(version).join("index.json")).unwrap();
        assert_eq!((index.schema.as_str(), index.schema_version), (INDEX_SCHEMA, SCHEMA_VERSION));
        index.versions.into_iter().flat_map(|one| one.machines).flat_map(|one| one.runs).collect()
    }

    #[test]
    fn records_of_older_versions_are_read_as_todays_and_say_the_same() {
        for version in 1..SCHEMA_VERSION {
            for listed in runs(version) {
                let (mut run, mut scenarios) = read_indexed_run(&fixture(version), &listed).unwrap();
                assert_eq!((run.schema.as_str(), run.schema_version), (RUN_SCHEMA, SCHEMA_VERSION));
                assert!(!scenarios.is_empty());
                // With the old number they are, byte for byte, the files they were read from: nothing was lost or made up.
                run.schema_version = version;
                let text = |path: &str| std::fs::read_to_string(fixture(version).join(path)).unwrap();
                assert!(canonical::to_text(&run).unwrap() == text(&listed.files[0].path));
                for (record, file) in scenarios.iter_mut().zip(&listed.files[1..]) {
                    assert_eq!(
                        (record.schema.as_str(), record.schema_version),
                        (SCENARIO_SCHEMA, SCHEMA_VERSION)
                    );
                    record.schema_version = version;
                    assert!(canonical::to_text(record).unwrap() == text(&file.path), "{}", file.path);
                }
                // A run that keeps the old number is spelled as it was.
                for ((name, content), file) in
                    contents(&mut run, &scenarios).unwrap().iter().zip(&listed.files)
                {
                    assert!(file.path.ends_with(name) && *content == text(&file.path).into_bytes(), "{name}");
                }
            }
        }
    }

    #[test]
    fn records_of_older_versions_lose_nothing_when_they_are_written_again() {
        for version in 1..SCHEMA_VERSION {
            for listed in runs(version) {
                let (run, scenarios) = read_indexed_run(&fixture(version), &listed).unwrap();
                let folder = tempfile::tempdir().unwrap();
                let stored = write_run(folder.path(), run.clone(), scenarios.clone()).unwrap();
                let (again, records) = read_run(&stored).unwrap();
                assert!(records == scenarios, "{} of version {version}", run.id);
                assert!(again.scenarios.iter().all(|entry| entry.file.ends_with(".json.zst")));
                let bytes = std::fs::metadata(stored.join("histograms.hdr.zst")).unwrap().len();
                assert!(again.histograms.as_ref().is_some_and(|file| file.bytes > bytes));
                let (scenarios, histograms) = (run.scenarios.clone(), run.histograms.clone());
                assert!(Run { scenarios, histograms, ..again } == run);
            }
        }
    }

    #[test]
    fn each_version_goes_through_every_step_after_it() {
        for version in 1..=SCHEMA_VERSION {
            let mut record = serde_json::json!({ "schema_version": version, "kept": [1, 2] });
            to_current(version, &mut record);
            assert_eq!(record, serde_json::json!({ "schema_version": SCHEMA_VERSION, "kept": [1, 2] }));
        }
        assert!(is_known(1) && is_known(SCHEMA_VERSION) && !is_known(0) && !is_known(SCHEMA_VERSION + 1));
    }
}
