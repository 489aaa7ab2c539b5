//! Does a damaged or foreign record say what is wrong with it, and where?

use super::*;
use crate::export::testing::{run_as, small_run_as};
use crate::export::{find_run, write_run};

struct Stored {
    results: tempfile::TempDir,
    folder: PathBuf,
}

fn stored() -> Stored {
    let results = tempfile::tempdir().unwrap();
    let (run, scenarios) = small_run_as("r1", "0.0.1", "2026-01-01T00:00:00Z");
    let folder = write_run(results.path(), run, scenarios).unwrap();
    Stored { results, folder }
}

fn change(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_cut_file_names_itself_and_the_place() {
    let stored = stored();
    let path = stored.folder.join("run.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().count();
    std::fs::write(&path, &text[..text.len() - 20]).unwrap();
    let error = read_run(&stored.folder).unwrap_err();
    assert!(matches!(&error, ReadError::Shape { line, .. } if *line >= lines - 2), "{error}");
    let said = error.to_string();
    assert!(
        said.contains("run.json: line") && said.contains("EOF") && said.matches("line").count() == 1,
        "{said}"
    );
}

#[test]
fn a_wrong_type_and_an_unknown_field_name_the_place() {
    for (from, to, expected) in [
        ("\"elapsed_s\": 400.0", "\"elapsed_s\": \"long\"", "invalid type: string \"long\", expected f64"),
        ("\"elapsed_s\": 400.0", "\"elapsed\": 400.0", "unknown field `elapsed`"),
    ] {
        let stored = stored();
        change(&stored.folder.join("run.json"), from, to);
        let said = read_run(&stored.folder).unwrap_err().to_string();
        assert!(said.contains("run.json: line") && said.contains(expected), "{said}");
    }
}

#[test]
fn kind_and_version_are_looked_at_before_the_shape() {
    let stored = stored();
    let path = stored.folder.join("run.json");
    let (known, newer) = (SCHEMA_VERSION, SCHEMA_VERSION + 1);
    let number = |version: u32| format!("\"schema_version\": {version}");
    change(&path, &number(known), &format!("\"from_the_future\": true, {}", number(newer)));
    let error = read_run(&stored.folder).unwrap_err();
    assert!(
        matches!(error, ReadError::Newer { found, known: newest, .. } if (found, newest) == (newer, known)),
        "{error}"
    );
    change(&path, &number(newer), &number(0));
    assert!(matches!(read_run(&stored.folder).unwrap_err(), ReadError::Unknown { found: 0, .. }));
    let error = read_index(&path).unwrap_err();
    assert!(matches!(&error, ReadError::Kind { found, .. } if found == "plumbkv.run"), "{error}");
}

#[test]
fn changed_bytes_are_noticed_by_run_and_index() {
    let stored = stored();
    let scenario = stored.folder.join("startup.json");
    change(&scenario, "\"n\": 3", "\"n\": 9");
    let error = read_run(&stored.folder).unwrap_err();
    assert!(matches!(&error, ReadError::Digest { promised_by: "run.json", .. }), "{error}");
    let index = read_index(&stored.results.path().join("index.json")).unwrap();
    let error = read_indexed_run(stored.results.path(), &index.versions[0].machines[0].runs[0]).unwrap_err();
    assert!(matches!(&error, ReadError::Digest { promised_by: "index.json", .. }), "{error}");
    std::fs::remove_file(&scenario).unwrap();
    assert!(matches!(read_run(&stored.folder).unwrap_err(), ReadError::File { .. }));
}

#[test]
fn latest_means_local_first_and_an_id_may_be_shortened() {
    let results = tempfile::tempdir().unwrap();
    let found = |wanted: &str, version: Option<&str>| {
        find_run(results.path(), wanted, version).map(|found| (found.run.version, found.run.id, found.folder))
    };
    assert!(found("latest", None).unwrap_err().to_string().contains("no runs in"));
    let store = |id: &str, version: &str, at: &str, scenarios: bool| {
        let (run, mut records) = small_run_as(id, version, at);
        records.retain(|_| scenarios);
        write_run(results.path(), run, records).unwrap();
    };
    store("20260101-a", "local", "2026-01-01T00:00:00Z", true);
    store("20260102-b", "local", "2026-01-02T00:00:00Z", true);
    store("20260103-imported", "local", "2026-01-03T00:00:00Z", false);
    store("20260104-c", "0.0.1", "2026-01-04T00:00:00Z", true);
    store("20260101-a", "0.0.2", "2026-01-01T00:00:00Z", true);
    let id = |found: anyhow::Result<(String, String, PathBuf)>| {
        found.map(|(version, id, _)| format!("{version} {id}"))
    };
    assert_eq!(id(found("latest", None)).unwrap(), "local 20260102-b");
    assert_eq!(id(found("latest", Some("0.0.1"))).unwrap(), "0.0.1 20260104-c");
    assert_eq!(id(found("20260102", None)).unwrap(), "local 20260102-b");
    assert_eq!(id(found("20260101-a", Some("0.0.2"))).unwrap(), "0.0.2 20260101-a");
    assert!(found("2026010", None).unwrap_err().to_string().contains("is ambiguous"));
    assert!(found("2027", None).unwrap_err().to_string().contains("no run '2027'"));
    assert!(found("latest", Some("9.9.9")).unwrap_err().to_string().contains("no run of version '9.9.9'"));
    let (_, _, folder) = found("20260104-c", None).unwrap();
    assert_eq!(folder, results.path().join("0.0.1/fixture-machine/20260104-c"));
}

#[test]
fn a_run_that_is_too_large_loses_histograms_then_windows_and_says_so() {
    let (run, scenarios) = run_as("r1", "0.0.1", "2026-01-01T00:00:00Z");
    let sized = |limit: usize| {
        let (mut run, mut scenarios) = (run.clone(), scenarios.clone());
        let done = crate::export::shrink_to(limit, &mut run, &mut scenarios);
        (done, run, scenarios)
    };
    let (done, same, records) = sized(10_000_000);
    assert!(done.is_ok() && same == run && records == scenarios);
    let (done, smaller, records) = sized(1_900_000);
    done.unwrap();
    assert_eq!(smaller.notes.len(), run.notes.len() + 1);
    for (cell, before) in
        records.iter().flat_map(|one| &one.cells).zip(scenarios.iter().flat_map(|one| &one.cells))
    {
        assert_eq!(cell.measurements, before.measurements);
        assert!(cell.trials.iter().all(|trial| trial.histograms.is_empty()));
        let counts =
            |cells: &crate::model::Cell| cells.distributions.iter().map(|one| one.count).collect::<Vec<_>>();
        if before.status == crate::model::Status::Ok {
            assert_eq!(
                cell.merged_histograms.iter().map(|one| one.count).collect::<Vec<_>>(),
                counts(before)
            );
        }
    }
    let (done, _, _) = sized(1000);
    assert!(done.unwrap_err().to_string().contains("a committed run may take 1000"));
}

#[test]
fn a_run_that_cannot_be_made_small_enough_is_published_in_parts() {
    use crate::export::{parts, shrink_to};
    let (run, scenarios) = run_as("r1", "0.0.1", "2026-01-01T00:00:00Z");
    let whole = parts(10_000_000, &run, &scenarios).unwrap();
    assert_eq!(whole, [(run.clone(), scenarios.clone())]);
    let too_small = (0..100)
        .map(|step| 2_000_000 - step * 20_000)
        .find(|limit| shrink_to(*limit, &mut run.clone(), &mut scenarios.clone()).is_err());
    let parts = parts(too_small.unwrap(), &run, &scenarios).unwrap();
    assert!(parts.len() > 1);
    let keys = |records: &[ScenarioRecord]| {
        records.iter().map(|record| record.scenario.key.clone()).collect::<Vec<_>>()
    };
    let all: Vec<String> = parts.iter().flat_map(|(_, records)| keys(records)).collect();
    assert_eq!(all, keys(&scenarios));
    for (number, (part, records)) in parts.iter().enumerate() {
        assert_eq!(part.id, format!("r1-part{}", number + 1));
        assert!(records.iter().all(|record| record.run_id == part.id));
        assert!(part.notes.last().unwrap().contains("of run r1"), "{:?}", part.notes);
    }
}
