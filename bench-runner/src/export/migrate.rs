//! How is a record of an older version read as one of today's? Version by version, in memory only.
//!
//! A file is never rewritten: its bytes are what the index's digest promises. Each step takes the JSON of one
//! version to the next, so a record of any age goes through all that came after it.

use crate::model::SCHEMA_VERSION;
use serde_json::Value;

/// The step from version `n + 1` to `n + 2` stands at `n`.
const STEPS: &[fn(&mut Value)] = &[open_loops_and_more_modes];

// One step per version, or a version could be written that the next one does not read.
const _: () = assert!(STEPS.len() as u32 + 1 == SCHEMA_VERSION);

/// 1 → 2 added fields that may be absent and words for more modes and roles: a record of version 1 is one of
/// version 2 without them.
fn open_loops_and_more_modes(_record: &mut Value) {}

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
    use crate::export::{canonical, read_index, read_indexed_run};
    use crate::model::{INDEX_SCHEMA, RUN_SCHEMA, SCENARIO_SCHEMA};
    use std::path::{Path, PathBuf};

    /// A run of version 1 as it was published, cut down to two scenarios of a few cells; its index beside it.
    fn v1() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/records/v1")
    }

    #[test]
    fn records_of_version_1_are_read_as_todays_and_say_the_same() {
        let index = read_index(&v1().join("index.json")).unwrap();
        assert_eq!((index.schema.as_str(), index.schema_version), (INDEX_SCHEMA, SCHEMA_VERSION));
        let listed = &index.versions[0].machines[0].runs[0];
        let (mut run, mut scenarios) = read_indexed_run(&v1(), listed).unwrap();
        assert_eq!((run.schema.as_str(), run.schema_version), (RUN_SCHEMA, SCHEMA_VERSION));
        assert!(scenarios.len() >= 2 && scenarios.iter().any(|record| !record.ratios.is_empty()));
        // With the old number they are, byte for byte, the files they were read from: nothing was lost or made up.
        run.schema_version = 1;
        let text = |path: &str| std::fs::read_to_string(v1().join(path)).unwrap();
        assert!(canonical::to_text(&run).unwrap() == text(&listed.files[0].path));
        for (record, file) in scenarios.iter_mut().zip(&listed.files[1..]) {
            assert_eq!((record.schema.as_str(), record.schema_version), (SCENARIO_SCHEMA, SCHEMA_VERSION));
            record.schema_version = 1;
            assert!(canonical::to_text(record).unwrap() == text(&file.path), "{}", file.path);
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
