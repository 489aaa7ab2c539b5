//! From a stored run to what is committed and read: publish, report, database, by the real binary.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use bench_runner::export::{read_index, read_indexed_run, write_run};
use bench_runner::model::{Profile, Run, ScenarioRecord};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fixture() -> (Run, Vec<ScenarioRecord>) {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../website/test/fixtures/results");
    let index = read_index(&results.join("index.json")).unwrap();
    read_indexed_run(&results, &index.versions[0].machines[0].runs[0]).unwrap()
}

const MACHINES: &str = r#"
[[machine]]
id = "fixture-machine"
title = "Fixture: a machine that does not exist"
class = "stored"
description = "Nothing."
fingerprints = ["f1f1f1f1f1f1"]
"#;

/// A checkout with one local run of each id.
fn checkout(ids: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("results")).unwrap();
    std::fs::write(root.path().join("results/machines.toml"), MACHINES).unwrap();
    for (number, id) in ids.iter().enumerate() {
        let (mut run, mut scenarios) = fixture();
        (run.id, run.version) = ((*id).to_owned(), "local".to_owned());
        run.started_at = format!("2026-01-{:02}T00:00:00Z", number + 1);
        for record in &mut scenarios {
            (record.run_id, record.version) = (run.id.clone(), run.version.clone());
        }
        write_run(&root.path().join("results"), run, scenarios).unwrap();
    }
    root
}

fn runner(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench-runner")).arg("--root").arg(root).args(arguments).output().unwrap()
}

fn ok(root: &Path, arguments: &[&str]) -> String {
    let output = runner(root, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Changes the text in a compressed file.
fn repack(path: &Path, from: &str, to: &str) {
    let text = String::from_utf8(zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(path, zstd::encode_all(text.replace(from, to).as_bytes(), 3).unwrap()).unwrap();
}

/// Exit 1 and one line on stderr, which is returned.
fn refused(root: &Path, arguments: &[&str]) -> String {
    let output = runner(root, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{arguments:?}: {said}");
    said
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path)
            } else {
                all.push((path.clone(), std::fs::read(&path).unwrap()))
            }
        }
    }
    all.sort();
    all
}

#[test]
fn publishing_copies_a_local_run_and_leaves_what_is_published_as_it_was() {
    let root = checkout(&["r1", "r2"]);
    let results = root.path().join("results");
    let local = files(&results.join("local"));
    ok(root.path(), &["publish", "r1", "--version", "0.0.1"]);
    let first = files(&results.join("0.0.1"));
    let index = read_index(&results.join("index.json")).unwrap();
    let (run, scenarios) = read_indexed_run(&results, &index.versions[0].machines[0].runs[0]).unwrap();
    assert_eq!((run.version.as_str(), run.purpose.as_str()), ("0.0.1", "release"));
    assert!(scenarios.iter().all(|record| record.version == "0.0.1" && record.run_id == "r1"));
    let (_, measured) = fixture();
    for (published, record) in scenarios.iter().zip(&measured) {
        assert_eq!((&published.cells, &published.ratios), (&record.cells, &record.ratios));
    }
    // Again, and a second run of the same version: nothing that was there changes.
    let again = refused(root.path(), &["publish", "r1", "--version", "0.0.1"]);
    assert!(again.contains("never overwritten"), "{again}");
    ok(root.path(), &["publish", "latest", "--version", "0.0.1"]);
    let after = files(&results.join("0.0.1"));
    assert!(first.iter().all(|file| after.contains(file)) && after.len() == 2 * first.len());
    assert_eq!(files(&results.join("local")), local);
}

/// Gives the stored local runs engine sources, by their ids.
fn give_engine(root: &Path, trees: &[(&str, &str)]) {
    let results = root.join("results");
    let local = results.join("local");
    let listed = read_index(&local.join("index.json")).unwrap().versions[0].machines[0].runs.clone();
    let runs: Vec<_> = listed.iter().map(|run| read_indexed_run(&local, run).unwrap()).collect();
    std::fs::remove_dir_all(&local).unwrap();
    for (mut run, scenarios) in runs {
        run.source.engine_tree =
            trees.iter().find(|(id, _)| *id == run.id).map(|(_, tree)| (*tree).to_owned());
        write_run(&results, run, scenarios).unwrap();
    }
}

#[test]
fn runs_of_different_engines_are_not_published_under_one_version() {
    let root = checkout(&["r1", "r2", "r3"]);
    give_engine(root.path(), &[("r1", "aaaa"), ("r2", "bbbb"), ("r3", "aaaa")]);
    ok(root.path(), &["publish", "r1", "--version", "0.0.1"]);
    let said = refused(root.path(), &["publish", "r2", "--version", "0.0.1"]);
    assert!(said.contains("aaaa") && said.contains("bbbb") && said.contains("raise the version"), "{said}");
    ok(root.path(), &["publish", "r3", "--version", "0.0.1"]);
}

#[test]
fn a_version_without_a_run_and_one_with_a_part_of_its_cells_are_not_complete() {
    let results = checkout(&["r1"]);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let copy = results.path().join("results");
    for file in ["claims.json", "versions.toml"] {
        std::fs::copy(repository.join("results").join(file), copy.join(file)).unwrap();
    }
    let complete = |version: &str| {
        let into = copy.to_str().unwrap();
        runner(&repository, &["complete", "--version", version, "--results", into, "--format", "json"])
    };
    let none = complete("0.0.1");
    let said = String::from_utf8(none.stderr).unwrap();
    assert!(none.status.code() == Some(1) && said.contains("no published run of version 0.0.1"), "{said}");
    ok(results.path(), &["publish", "r1", "--version", "0.0.1"]);
    let part = complete("0.0.1");
    let said: serde_json::Value = serde_json::from_slice(&part.stdout).unwrap();
    assert_eq!((part.status.code(), &said["complete"]), (Some(1), &serde_json::json!(false)));
    let lacking = |scenario: &str| {
        let cells = said["cells"].as_array().unwrap();
        cells.iter().filter(|one| one["scenario"] == scenario).count()
    };
    // Its own cells of quick are there, others are not.
    assert!(lacking("scan") > 10 && said["machines"][0]["machine"] == "fixture-machine", "{said:#}");
    // What was added in a later version is not owed.
    assert_eq!(lacking("sustained-write"), 0);
    // A patch version owes nothing at release unless versions.toml says so, so no claim either.
    assert_eq!(said["claims"], serde_json::json!([]));
    assert!(said["cells"].as_array().unwrap().iter().all(|one| one["profile"] == "quick"));
}

#[test]
fn publishing_leaves_the_files_of_an_older_version_of_the_record_as_they_are() {
    let root = checkout(&["r1"]);
    let results = root.path().join("results");
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/records/v1");
    for (path, bytes) in files(&old) {
        let copy = results.join(path.strip_prefix(&old).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::write(copy, bytes).unwrap();
    }
    let before = files(&results.join("0.1.0"));
    assert!(before.len() > 2 && String::from_utf8_lossy(&before[0].1).contains("\"schema_version\": 1,"));
    ok(root.path(), &["publish", "r1", "--version", "0.0.1"]);
    assert_eq!(files(&results.join("0.1.0")), before);
    let index = read_index(&results.join("index.json")).unwrap();
    assert_eq!(index.versions.iter().map(|one| one.version.as_str()).collect::<Vec<_>>(), ["0.0.1", "0.1.0"]);
    // Every digest of the new index is still right, and the rows of both versions make their files again.
    ok(root.path(), &["db", "rebuild"]);
    let said = ok(root.path(), &["db", "check"]);
    assert!(said.starts_with("3 runs with every digest right\n") && said.lines().count() == 1, "{said}");
    let again = root.path().join("again");
    for version in ["0.0.1", "0.1.0"] {
        let into = again.to_str().unwrap();
        ok(root.path(), &["db", "export", "latest", "--version", version, "--into", into]);
        let made: Vec<_> = files(&again.join(version)).into_iter().map(|(_, bytes)| bytes).collect();
        let kept: Vec<_> = files(&results.join(version)).into_iter().map(|(_, bytes)| bytes).collect();
        assert!(made == kept, "version {version}");
    }
}

#[test]
fn the_database_is_checked_against_the_records_and_repaired() {
    let root = checkout(&["r1", "r2"]);
    let said = runner(root.path(), &["db", "check"]);
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(said.status.code() == Some(1) && text.contains("no database at"), "{text}");
    assert!(ok(root.path(), &["db", "check", "--repair"]).contains("repaired: no database at"));
    // A run goes from the records: the database holds one too many.
    let shown = ok(root.path(), &["db", "prune", "--keep", "1"]);
    assert!(shown.contains("r1") && shown.contains("1 run would be removed"), "{shown}");
    ok(root.path(), &["db", "check"]);
    ok(root.path(), &["db", "prune", "--keep", "1", "--yes"]);
    assert!(ok(root.path(), &["db", "check"]).starts_with("1 run "));
    assert!(!root.path().join("results/local/fixture-machine/r1").exists());
    // A record that was changed is found, and is not repaired by a rebuild.
    let changed = root.path().join("results/local/fixture-machine/r2/run.json");
    std::fs::write(&changed, std::fs::read_to_string(&changed).unwrap().replace("400.0", "401.0")).unwrap();
    let said = runner(root.path(), &["db", "check", "--repair"]);
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(said.status.code() == Some(1) && text.contains("record: ") && text.contains("sha256"), "{text}");
    let said = String::from_utf8(runner(root.path(), &["db", "prune"]).stderr).unwrap();
    assert!(said.contains("--keep"), "{said}");
}

#[test]
fn tables_can_be_looked_up_and_answers_taken_as_csv() {
    let root = checkout(&["r1"]);
    ok(root.path(), &["db", "rebuild"]);
    let tables = ok(root.path(), &["db", "tables"]);
    for name in ["open_loop", "unfinished_campaign", "latest_measurement", "send_delay_ns_max"] {
        assert!(tables.contains(name), "{name}");
    }
    assert!(ok(root.path(), &["db", "schema", "component"]).starts_with("CREATE TABLE component ("));
    let csv = ok(root.path(), &["db", "query", "--csv", "SELECT run_id, 'a,b' AS x FROM campaign"]);
    assert_eq!(csv, "run_id,x\r\nr1,\"a,b\"\r\n");
    let said = refused(root.path(), &["db", "query", "SELECT x FROM campaign"]);
    assert!(said.contains("no such column: x (line 1, column 8"), "{said}");
}

#[test]
fn what_must_not_be_published_is_refused() {
    let root = checkout(&["r1"]);
    let said = refused(root.path(), &["publish", "r1", "--version", "0.0.2"]);
    assert!(said.contains("measured version 0.0.1"), "{said}");
    let said = refused(root.path(), &["publish", "r1", "--version", "../0.0.1"]);
    assert!(said.contains("invalid version"), "{said}");
    let said = refused(root.path(), &["publish", "nobody", "--version", "0.0.1"]);
    assert!(said.contains("no run 'nobody'"), "{said}");
    let (mut run, scenarios) = fixture();
    (run.id, run.version, run.profile) = ("smoke".into(), "local".into(), Profile::Smoke);
    let scenarios =
        scenarios.into_iter().map(|one| ScenarioRecord { run_id: "smoke".into(), ..one }).collect();
    write_run(&root.path().join("results"), run, scenarios).unwrap();
    let said = refused(root.path(), &["publish", "smoke", "--version", "0.0.1"]);
    assert!(said.contains("cannot be published"), "{said}");
    assert!(!root.path().join("results/0.0.1").exists() && !root.path().join("results/index.json").exists());
}

#[test]
fn a_report_is_spliced_between_its_markers_from_the_published_run() {
    let root = checkout(&["r1"]);
    ok(root.path(), &["publish", "r1", "--version", "0.0.1"]);
    let readme = root.path().join("README.md");
    std::fs::write(&readme, "before\n<!-- results:begin -->\nold\n<!-- results:end -->\nafter\n").unwrap();
    let path = readme.to_str().unwrap();
    ok(root.path(), &["report", "--version", "0.0.1", "--into", path]);
    let spliced = std::fs::read_to_string(&readme).unwrap();
    assert!(
        spliced.starts_with("before\n<!-- results:begin -->\n")
            && spliced.ends_with("<!-- results:end -->\nafter\n")
    );
    assert!(!spliced.contains("old") && spliced.contains("Run `r1` of version 0.0.1"), "{spliced}");
    assert!(spliced.contains("(results/0.0.1/fixture-machine/r1)"), "{spliced}");
    let (_, scenarios) = fixture();
    let rows = scenarios[0].cells.iter().filter(|cell| cell.label == "SET 64 B, 1 client").count();
    assert!(rows >= 5 && spliced.matches("| SET 64 B, 1 client |").count() == 5, "{spliced}");
    ok(root.path(), &["report", "--version", "0.0.1", "--into", path]);
    assert_eq!(std::fs::read_to_string(&readme).unwrap(), spliced, "twice is once");
    std::fs::write(&readme, "no markers\n").unwrap();
    let said = refused(root.path(), &["report", "--into", path]);
    assert!(said.contains("README.md") && said.contains("results:begin"), "{said}");
    assert_eq!(std::fs::read_to_string(&readme).unwrap(), "no markers\n");
}

#[test]
fn report_speaks_three_formats_of_the_same_run() {
    let root = checkout(&["r1"]);
    let json: serde_json::Value =
        serde_json::from_str(&ok(root.path(), &["--format", "json", "report"])).unwrap();
    let (_, scenarios) = fixture();
    assert_eq!(json["run_id"], "r1");
    let cells: usize = scenarios.iter().map(|record| record.cells.len()).sum();
    assert_eq!(json["cells"].as_array().unwrap().len(), cells);
    assert!(ok(root.path(), &["report", "--scenario", "startup"]).contains("startup: From start"));
    assert!(ok(root.path(), &["--format", "markdown", "report"]).contains("| n |"));
    let said = refused(root.path(), &["report", "--scenario", "startpu"]);
    assert!(said.contains("no scenario 'startpu'") && said.contains("startup"), "{said}");
}

#[test]
fn the_database_is_rebuilt_from_published_and_local_runs_and_answers() {
    let root = checkout(&["r1", "r2"]);
    ok(root.path(), &["publish", "r1", "--version", "0.0.1"]);
    assert!(ok(root.path(), &["db", "rebuild"]).contains("3 runs"));
    let sql = "SELECT version, run_id FROM campaign ORDER BY campaign_id";
    let rows: serde_json::Value =
        serde_json::from_str(&ok(root.path(), &["--format", "json", "db", "query", sql])).unwrap();
    let expected = serde_json::json!([
        { "version": "0.0.1", "run_id": "r1" }, { "version": "local", "run_id": "r1" }, { "version": "local", "run_id": "r2" }
    ]);
    assert_eq!(rows["rows"], expected);
    let said = refused(root.path(), &["db", "query", "DELETE FROM campaign"]);
    assert!(said.contains("read-only") || said.contains("readonly"), "{said}");
    // A record that was changed by hand is noticed, and the database that was there stays.
    let before = std::fs::read(root.path().join("results/local.sqlite")).unwrap();
    let changed = root.path().join("results/local/fixture-machine/r2/startup.json.zst");
    repack(&changed, "\"n\": 3", "\"n\": 9");
    let said = refused(root.path(), &["db", "rebuild"]);
    assert!(said.contains("startup.json.zst") && said.contains("sha256"), "{said}");
    assert_eq!(std::fs::read(root.path().join("results/local.sqlite")).unwrap(), before);
}

#[test]
fn two_runs_stand_side_by_side_however_they_are_named() {
    let root = checkout(&["r1", "r2"]);
    // Three trials each: nothing could be judged.
    let undecided = |args: &[&str]| {
        let output = runner(root.path(), args);
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = undecided(&["compare", "r1", "r2", "--metric", "ops_per_second"]);
    assert!(text.contains("undecided") && text.contains("cells or scenarios compared"), "{text}");
    assert!(text.contains("Undecided, fewer than six trials"), "{text}");
    assert!(!text.contains("faster") && !text.contains("slower"), "{text}");
    ok(root.path(), &["publish", "r1", "--version", "0.0.1"]);
    let folder = root.path().join("results/local/fixture-machine/r1");
    for first in ["0.0.1", "r1", folder.to_str().unwrap()] {
        let shown = undecided(&["--format", "json", "compare", first, "latest"]);
        let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!((&json["first"][0], &json["second"][0]), (&"r1".into(), &"r2".into()), "{first}");
        let row = &json["rows"][0];
        assert_eq!((&row["verdict"], &row["reason"]), (&"undecided".into(), &"fewer than six trials".into()));
        assert!(row["span"]["low"].as_f64() <= row["span"]["ratio"].as_f64());
    }
    let said = refused(root.path(), &["compare", "./nowhere", "latest"]);
    assert!(said.contains("no run.json in"), "{said}");
}

#[test]
fn stale_contracts_are_named() {
    let root = tempfile::tempdir().unwrap();
    ok(root.path(), &["contracts"]);
    ok(root.path(), &["contracts", "--check"]);
    std::fs::write(root.path().join("bench-runner/schema/run.schema.json"), "{}").unwrap();
    let output = runner(root.path(), &["contracts", "--check"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1));
    assert!(said.contains("bench-runner/schema/run.schema.json"), "{said}");
}

#[test]
fn estimates_of_criterion_become_a_run_of_their_own() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("results")).unwrap();
    std::fs::write(root.path().join("results/machines.toml"), "").unwrap();
    let new = root.path().join("criterion/memory_get/64/new");
    std::fs::create_dir_all(&new).unwrap();
    let interval = r#"{"confidence_level":0.95,"lower_bound":60.0,"upper_bound":63.0}"#;
    let estimate =
        format!(r#"{{"confidence_interval":{interval},"point_estimate":61.5,"standard_error":0.1}}"#);
    std::fs::write(new.join("estimates.json"), format!(r#"{{"mean":{estimate},"slope":{estimate}}}"#))
        .unwrap();
    std::fs::write(
        new.join("benchmark.json"),
        r#"{"group_id":"memory/get","full_id":"memory/get/64","throughput":{"Bytes":64}}"#,
    )
    .unwrap();
    let folder = root.path().join("criterion");
    let folder = folder.to_str().unwrap();
    let shown = ok(root.path(), &["--quiet", "import", "criterion", folder]);
    assert!(shown.contains("memory/get/64") && shown.contains("61.5"), "{shown}");
    let sql = "SELECT component.key, ns_per_op, bytes_per_op, purpose FROM component JOIN campaign USING (campaign_id)";
    let rows = ok(root.path(), &["--format", "json", "db", "query", sql]);
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    let rows = &rows["rows"];
    assert_eq!(rows[0]["ns_per_op"], 61.5);
    assert_eq!((&rows[0]["key"], &rows[0]["purpose"]), (&"memory/get/64".into(), &"import".into()));
    let said = refused(root.path(), &["import", "criterion", root.path().join("results").to_str().unwrap()]);
    assert!(said.contains("holds no estimate"), "{said}");
}
