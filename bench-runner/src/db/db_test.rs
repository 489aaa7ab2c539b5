//! Does the database hold what the JSON holds, and keep it?

use super::*;
use crate::export::testing::{run_as, small_run_as};
use crate::export::{read_run, write_run};
use rusqlite::types::ValueRef;
use std::fmt::Write as _;
use std::time::Duration;

/// Every table and view, every row, every value, blobs included.
fn dump(path: &Path) -> String {
    let connection = Connection::open(path).unwrap();
    let mut text = String::new();
    let mut statement =
        connection.prepare("SELECT name, type, sql FROM sqlite_schema ORDER BY rowid").unwrap();
    let objects: Vec<(String, String, Option<String>)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, kind, sql) in objects {
        writeln!(text, "{kind} {name}: {sql:?}").unwrap();
        if kind != "table" {
            continue;
        }
        let mut rows = connection.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<String> = (0..columns)
                .map(|column| match row.get_ref(column).unwrap() {
                    ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    other => format!("{other:?}"),
                })
                .collect();
            writeln!(text, "{name} {values:?}").unwrap();
        }
    }
    text
}

const PATIENCE: Duration = Duration::from_secs(60);

fn one(path: &Path, sql: &str) -> serde_json::Value {
    query(path, sql, PATIENCE).unwrap().rows[0][0].clone()
}

#[test]
fn rebuilding_gives_the_database_that_was_written_live() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    let live = results.join("local.sqlite");
    for (id, at) in
        [("r1", "2026-01-01T00:00:00Z"), ("r2", "2026-01-02T00:00:00Z"), ("r3", "2026-01-03T00:00:00Z")]
    {
        let (run, scenarios) =
            if id == "r2" { run_as(id, "local", at) } else { small_run_as(id, "local", at) };
        let stored = write_run(&results, run, scenarios).unwrap();
        let (run, scenarios) = read_run(&stored).unwrap();
        store(&live, &run, &scenarios).unwrap();
    }
    let again = folder.path().join("again.sqlite");
    assert_eq!(rebuild(&results, &again, &|| Ok(Vec::new())).unwrap(), 3);
    let (before, after) = (dump(&live), dump(&again));
    assert!(before.lines().count() > 1000);
    assert!(before == after, "the dumps differ");
    // A second rebuild replaces the first.
    rebuild(&results, &again, &|| Ok(Vec::new())).unwrap();
    assert!(dump(&again) == before);
}

#[test]
fn every_value_of_the_records_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.sqlite");
    let (run, scenarios) = run_as("r1", "local", "2026-01-01T00:00:00Z");
    store(&path, &run, &scenarios).unwrap();
    let cells = || scenarios.iter().flat_map(|record| &record.cells);
    let trials = || cells().flat_map(|cell| &cell.trials);
    for (table, rows) in [
        ("campaign", 1),
        ("machine", 1),
        ("environment", 1),
        ("harness", 1),
        ("build", run.targets.iter().filter(|target| target.build.is_some()).count()),
        ("target", run.targets.len()),
        ("scenario", scenarios.len()),
        ("cell", cells().count()),
        ("trial", trials().count()),
        ("value", trials().map(|trial| trial.values.len()).sum()),
        ("histogram", trials().map(|trial| trial.histograms.len()).sum()),
        ("window", trials().map(|trial| trial.windows.len()).sum()),
        ("os_stat", trials().filter(|trial| trial.os.is_some()).count()),
        ("summary", cells().map(|cell| cell.measurements.len()).sum()),
        ("distribution", cells().map(|cell| cell.distributions.len()).sum()),
        ("scenario_record", scenarios.len()),
        ("ratio", scenarios.iter().map(|record| record.ratios.len()).sum()),
        ("component", run.components.len()),
    ] {
        assert_eq!(one(&path, &format!("SELECT count(*) FROM {table}")), serde_json::json!(rows), "{table}");
        assert!(rows > 0, "{table} is not tried");
    }
    let sum: f64 = trials().flat_map(|trial| &trial.values).map(|value| value.value).sum();
    let stored = one(&path, "SELECT sum(value) FROM value").as_f64().unwrap();
    assert!((stored / sum - 1.0).abs() < 1e-9);
    assert_eq!(one(&path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    let unmeasured = cells().filter(|cell| cell.status != crate::model::Status::Ok).count();
    assert_eq!(one(&path, "SELECT count(*) FROM unmeasured WHERE reason IS NOT NULL"), unmeasured);
}

#[test]
fn the_documented_question_has_the_answer_of_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.sqlite");
    let (early, scenarios) = run_as("r1", "local", "2026-01-01T00:00:00Z");
    store(&path, &early, &scenarios).unwrap();
    let documented = include_str!("../../docs/database.md");
    let start = documented
        .find("SELECT machine, target, mode, placement")
        .expect("docs/database.md shows the question");
    let question = &documented[start..start + documented[start..].find('"').expect("its end")];
    let answer = query(&path, question, PATIENCE).unwrap();
    let wire = scenarios.iter().find(|record| record.scenario.key == "wire-single").unwrap();
    let mut expected = 0;
    for cell in &wire.cells {
        if cell.axes.operation != "set" || cell.axes.value_bytes != Some(64) || cell.target == "null" {
            continue;
        }
        let median = cell.measurements.iter().find(|one| one.metric == "ops_per_second").unwrap().median;
        let hit = answer.rows.iter().any(|row| {
            row.contains(&serde_json::json!(cell.target)) && row.contains(&serde_json::json!(median.round()))
        });
        assert!(hit, "{} {median}: {answer:?}", cell.key);
        expected += 1;
    }
    assert!(expected >= 6 && answer.rows.len() >= expected, "{answer:?}");
}

/// Every statement of the document that begins with SELECT: readers copy it as written.
#[test]
fn documented_questions_have_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.sqlite");
    let (run, scenarios) = run_as("r1", "local", "2026-01-01T00:00:00Z");
    store(&path, &run, &scenarios).unwrap();
    let document = include_str!("../../docs/database.md");
    let blocks = document.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut asked = 0;
    for question in blocks.flat_map(|block| block.split_inclusive(';')).filter(|text| text.contains("SELECT"))
    {
        let answer = query(&path, question, PATIENCE);
        assert!(!answer.as_ref().unwrap().rows.is_empty(), "{question}: {answer:?}");
        asked += 1;
    }
    assert!(asked >= 4, "{asked}");
}

#[test]
fn the_newest_figures_are_those_of_each_scenario_and_what_ran_beside_them_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.sqlite");
    let (old, all) = run_as("r1", "local", "2026-01-01T00:00:00Z");
    store(&path, &old, &all).unwrap();
    let (new, few) = small_run_as("r2", "local", "2026-01-02T00:00:00Z");
    store(&path, &new, &few).unwrap();
    let runs =
        query(&path, "SELECT DISTINCT scenario, run_id FROM latest_measurement ORDER BY scenario", PATIENCE);
    let runs = runs.unwrap().rows;
    assert!(runs.len() > 1, "{runs:?}");
    for row in runs {
        let expected = if row[0] == "startup" { "r2" } else { "r1" };
        assert_eq!(row[1], expected, "{row:?}");
    }
    let most =
        "SELECT max(foreign_cpu_cores_max) = (SELECT max(foreign_cpu_cores) FROM os_stat) FROM measurement";
    assert_eq!(query(&path, most, PATIENCE).unwrap().rows[0][0], 1);
}

#[test]
fn trials_whose_sender_was_late_are_counted_beside_their_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.sqlite");
    let (run, mut scenarios) = run_as("r1", "local", "2026-01-01T00:00:00Z");
    let cells = scenarios.iter_mut().flat_map(|record| &mut record.cells);
    let cell = cells.into_iter().find(|cell| cell.trials.len() > 2 && !cell.measurements.is_empty()).unwrap();
    for trial in &mut cell.trials[..2] {
        trial.facts.insert("late_sender".to_owned(), "0.4 of 1 ms".into());
    }
    let key = cell.key.clone();
    store(&path, &run, &scenarios).unwrap();
    for view in ["measurement", "latest_measurement"] {
        let sql =
            format!("SELECT DISTINCT cell, late_sender_trials FROM {view} WHERE late_sender_trials <> 0");
        assert_eq!(
            query(&path, &sql, PATIENCE).unwrap().rows,
            [[serde_json::json!(key), 2.into()]],
            "{view}"
        );
    }
}

/// The programs of distributions are older than the bundled library, and took NULL for no JSON.
#[test]
fn checks_let_missing_json_pass_in_every_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.sqlite");
    let (run, scenarios) = small_run_as("r1", "local", "2026-01-01T00:00:00Z");
    store(&path, &run, &scenarios).unwrap();
    let connection = Connection::open(&path).unwrap();
    let mut tables = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables =
        tables.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    for (name, sql) in tables.map(Result::unwrap) {
        for column in sql.split([',', '\n']).filter(|column| column.contains("json_valid")) {
            assert!(column.contains("NOT NULL") || column.contains("IS NULL OR"), "{name}: {column}");
        }
    }
}

#[test]
fn finished_runs_cannot_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.sqlite");
    let (run, scenarios) = small_run_as("r1", "local", "2026-01-01T00:00:00Z");
    store(&path, &run, &scenarios).unwrap();
    let connection = file::open(&path, &Writing::begin(&path).unwrap()).unwrap();
    for (sql, expected) in [
        ("UPDATE value SET value = value * 1.1", "rows of value are never changed"),
        ("DELETE FROM trial", "rows of trial are never deleted"),
        ("UPDATE campaign SET sealed = 0", "rows of campaign are never changed"),
        ("DELETE FROM campaign", "rows of campaign are never deleted"),
        (
            "INSERT INTO window (trial_id, window_index, start_ms, length_ms, operations) \
             SELECT trial_id, 99, 0, 1, 1 FROM trial LIMIT 1",
            "the campaign is finished",
        ),
        (
            "INSERT INTO component VALUES (99, 1, 'k', 'g', 'n', 1, 1, 1, 'mean', NULL, NULL, NULL, NULL, NULL, NULL)",
            "the campaign is finished",
        ),
        ("INSERT INTO value VALUES (12345, 1, 1, 0)", "FOREIGN KEY"),
        (
            "INSERT INTO os_stat SELECT trial_id, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL FROM trial LIMIT 1",
            "cannot store TEXT value in INTEGER column",
        ),
    ] {
        let error = connection.execute_batch(sql).unwrap_err().to_string();
        assert!(error.contains(expected), "{sql}: {error}");
    }
    drop(connection);
    // Once more is no harm, and another run under its name is refused.
    let before = dump(&path);
    store(&path, &run, &scenarios).unwrap();
    let other = Run { elapsed_s: run.elapsed_s + 1.0, ..run };
    let error = store(&path, &other, &scenarios).unwrap_err();
    assert!(format!("{error:#}").contains("it is there already with another record"), "{error:#}");
    assert!(dump(&path) == before);
}

#[test]
fn a_run_that_cannot_be_stored_whole_is_not_stored_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.sqlite");
    let (run, mut scenarios) = small_run_as("r1", "local", "2026-01-01T00:00:00Z");
    scenarios[0].ratios[0].numerator = "nobody".into();
    let error = format!("{:#}", store(&path, &run, &scenarios).unwrap_err());
    assert!(error.contains("a ratio names cell 'nobody'") && error.contains("db rebuild"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no new database was left");
    let (first, records) = small_run_as("r0", "local", "2026-01-01T00:00:00Z");
    store(&path, &first, &records).unwrap();
    let before = dump(&path);
    assert!(store(&path, &run, &scenarios).is_err());
    assert!(dump(&path) == before, "the database is as it was");
}

#[test]
fn foreign_and_broken_files_are_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let (run, scenarios) = small_run_as("r1", "local", "2026-01-01T00:00:00Z");
    let text = folder.path().join("text.sqlite");
    std::fs::write(&text, "not a database, but longer than a header would have to be: ".repeat(20)).unwrap();
    let error = format!("{:#}", store(&text, &run, &scenarios).unwrap_err());
    assert!(error.contains("text.sqlite"), "{error}");
    let newer = folder.path().join("newer.sqlite");
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", USER_VERSION + 1).unwrap();
    let error = format!("{:#}", store(&newer, &run, &scenarios).unwrap_err());
    assert!(
        error.contains(&format!("user_version {}", USER_VERSION + 1)) && error.contains("db rebuild"),
        "{error}"
    );
    let error = rebuild(folder.path(), &folder.path().join("out.sqlite"), &|| Ok(Vec::new())).unwrap_err();
    assert!(error.to_string().contains("no runs in"), "{error}");
}

#[test]
fn a_full_file_system_leaves_no_database() {
    let mount = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=200k", "plumbkv-test"])
        .arg(mount.path())
        .output()
        .is_ok_and(|done| done.status.success());
    if !mounted {
        eprintln!("not run: mounting a tmpfs needs root");
        return;
    }
    let (run, scenarios) = run_as("r1", "local", "2026-01-01T00:00:00Z");
    let done = store(&mount.path().join("local.sqlite"), &run, &scenarios);
    let left = std::fs::read_dir(mount.path()).unwrap().count();
    assert!(std::process::Command::new("umount").arg(mount.path()).status().unwrap().success());
    let said = format!("{:#}", done.unwrap_err());
    assert!(said.contains("full") && said.contains("db rebuild"), "{said}");
    assert_eq!(left, 0);
}
