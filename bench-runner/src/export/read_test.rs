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
    let scenario = stored.folder.join("startup.json.zst");
    let text = zstd::decode_all(std::fs::File::open(&scenario).unwrap()).unwrap();
    let text = String::from_utf8(text).unwrap().replacen("\"n\": 3", "\"n\": 9", 1);
    std::fs::write(&scenario, zstd::encode_all(text.as_bytes(), 19).unwrap()).unwrap();
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
fn a_run_that_is_too_large_is_published_in_parts_and_loses_nothing() {
    use crate::export::parts;
    let (run, scenarios) = run_as("r1", "0.0.1", "2026-01-01T00:00:00Z");
    let whole = parts(10_000_000, &run, &scenarios).unwrap();
    assert_eq!(whole, [(run.clone(), scenarios.clone())]);
    let stored = |run: &Run, records: &[ScenarioRecord]| -> usize {
        let results = tempfile::tempdir().unwrap();
        let folder = write_run(results.path(), run.clone(), records.to_vec()).unwrap();
        let files = std::fs::read_dir(folder).unwrap();
        files.map(|file| usize::try_from(file.unwrap().metadata().unwrap().len()).unwrap()).sum()
    };
    let limit = stored(&run, &scenarios) * 3 / 4;
    let parts_of = parts(limit, &run, &scenarios).unwrap();
    assert!(parts_of.len() > 1);
    let mut back: Vec<ScenarioRecord> = Vec::new();
    for (number, (part, records)) in parts_of.iter().enumerate() {
        assert_eq!(part.id, format!("r1-part{}", number + 1));
        assert!(stored(part, records) <= limit);
        assert!(records.iter().all(|record| record.run_id == part.id));
        assert!(part.notes.last().unwrap().contains("of run r1"), "{:?}", part.notes);
        back.extend(records.iter().map(|record| ScenarioRecord { run_id: "r1".into(), ..record.clone() }));
    }
    assert!(back == scenarios, "every histogram, window and trial is in a part");
    let said = parts(1000, &run, &scenarios).unwrap_err().to_string();
    assert!(said.contains("a committed run may take 1000"), "{said}");
}
