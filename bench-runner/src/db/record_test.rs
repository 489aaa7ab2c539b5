//! Are the rows all that the record says?

use super::*;
use crate::db::{USER_VERSION, insert, load, migrate, query, rebuild, schema};
use crate::export::testing::{results, run_as, small_run_as};
use crate::export::{histograms, read_index, write_run};
use crate::model::{
    Axes, Build, Component, Counts, Environment, Image, Machine, Mode, OpenLoop, OsStat, ProcessFacts, Role,
    ScenarioEntry, ScenarioInfo, Source, Status, TargetRecord, Window,
};
use proptest::prelude::*;
use schemars::JsonSchema;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn files(run: &mut Run, scenarios: &[ScenarioRecord]) -> Vec<(String, Vec<u8>)> {
    contents(run, scenarios).unwrap()
}

/// The files of a run, and those of the run that its rows make.
fn through_rows(run: &Run, scenarios: &[ScenarioRecord], version: u32) -> [Vec<(String, Vec<u8>)>; 2] {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    let transaction = connection.transaction().unwrap();
    schema::migrate(&transaction, 0).unwrap();
    insert::run(&transaction, run, scenarios, version).unwrap();
    transaction.commit().unwrap();
    let (mut made, records) = load_one(&connection);
    let Written { mut run, scenarios, .. } = as_written(run, scenarios, version).unwrap();
    [files(&mut run, &scenarios), files(&mut made, &records)]
}

fn load_one(connection: &Connection) -> (Run, Vec<ScenarioRecord>) {
    super::load(connection, 1).unwrap()
}

#[test]
fn the_rows_of_a_run_make_its_files_again() {
    let (run, scenarios) = run_as("r1", "local", "2026-01-01T00:00:00Z");
    for version in 1..=crate::model::SCHEMA_VERSION {
        let [before, after] = through_rows(&run, &scenarios, version);
        let said = format!("\"schema_version\": {version}");
        let texts = before.iter().filter(|(name, _)| !name.contains(".hdr"));
        assert!(texts.map(|(_, text)| std::str::from_utf8(text).unwrap()).all(|text| text.contains(&said)));
        for (one, other) in before.iter().zip(&after) {
            assert!(one == other, "{} of version {version} differs", one.0);
        }
        assert!(before.len() == after.len() && before.len() > 3);
    }
    // A run that an older version cut down to publish it has merged histograms, and no windows.
    let mut records = scenarios;
    for cell in records.iter_mut().flat_map(|record| &mut record.cells) {
        let ok = cell.trials.iter().filter(|trial| trial.status == Status::Ok);
        cell.merged_histograms = histograms::merge(ok).unwrap();
        for trial in &mut cell.trials {
            trial.histograms.clear();
            trial.windows.clear();
        }
    }
    let [before, after] = through_rows(&run, &records, crate::model::SCHEMA_VERSION);
    assert!(before == after);
}

#[test]
fn a_rebuilt_database_exports_the_committed_files_byte_for_byte() {
    let v3 = tempfile::tempdir().unwrap();
    let (run, scenarios) = run_as("r1", "0.0.1", "2026-01-01T00:00:00Z");
    write_run(v3.path(), run, scenarios).unwrap();
    for committed in [results(), fixture("records/v1"), v3.path().to_path_buf()] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("all.sqlite");
        rebuild(&committed, &database, &|| Ok(Vec::new())).unwrap();
        let (run, scenarios) = load(&database, "latest", None).unwrap();
        write_run(folder.path(), run, scenarios).unwrap();
        let index = read_index(&committed.join("index.json")).unwrap();
        for file in &index.versions[0].machines[0].runs[0].files {
            let same = std::fs::read(committed.join(&file.path)).unwrap()
                == std::fs::read(folder.path().join(&file.path)).unwrap();
            assert!(same, "{}", file.path);
        }
    }
}

#[test]
fn rows_that_were_tampered_with_are_not_passed_off_as_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("all.sqlite");
    rebuild(&results(), &database, &|| Ok(Vec::new())).unwrap();
    let connection = Connection::open(&database).unwrap();
    connection
        .execute_batch("DROP TRIGGER summary_is_not_updated; UPDATE summary SET median = median * 2")
        .unwrap();
    drop(connection);
    let said = load(&database, "latest", None).unwrap_err().to_string();
    assert!(said.contains("make another record") && said.contains("db rebuild"), "{said}");
}

#[test]
fn a_database_of_version_1_is_taken_to_todays_shape_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("v1.sqlite");
    std::fs::copy(fixture("database/v1.sqlite"), &database).unwrap();
    let rows = |connection: &Connection, table: &str, columns: &str| -> Vec<String> {
        let mut statement =
            connection.prepare(&format!("SELECT {columns} FROM \"{table}\" ORDER BY 1, 2")).unwrap();
        let wide = statement.column_count();
        let mut found = statement.query([]).unwrap();
        let mut texts = Vec::new();
        while let Some(row) = found.next().unwrap() {
            let cells = (0..wide).map(|place| format!("{:?}", row.get_ref(place).unwrap()));
            texts.push(cells.collect::<Vec<_>>().join("|"));
        }
        texts
    };
    let old = Connection::open(&database).unwrap();
    assert_eq!(schema::version(&old).unwrap(), 1);
    let names = |sql: &str, of: &[&str]| -> Vec<String> {
        let mut statement = old.prepare(sql).unwrap();
        let found = statement.query_map(params_from_iter(of), |row| row.get(0)).unwrap();
        found.map(Result::unwrap).collect()
    };
    let before: Vec<(String, String, Vec<String>)> =
        names("SELECT name FROM sqlite_schema WHERE type = 'table'", &[])
            .into_iter()
            .map(|table| {
                let columns = names("SELECT name FROM pragma_table_info(?1)", &[&table]).join(", ");
                let all = rows(&old, &table, &columns);
                (table, columns, all)
            })
            .collect();
    drop(old);
    assert!(before.iter().map(|(_, _, all)| all.len()).sum::<usize>() > 700);
    assert!(
        query(&database, "SELECT 1", Duration::from_secs(9)).unwrap_err().to_string().contains("db migrate")
    );
    assert!(migrate(&database).unwrap());
    assert!(!migrate(&database).unwrap(), "twice is once");
    let new = Connection::open(&database).unwrap();
    assert_eq!(schema::version(&new).unwrap(), USER_VERSION);
    for (table, columns, all) in &before {
        assert!(rows(&new, table, columns) == *all, "{table}");
    }
    // Its shape is that of a database made today.
    let fresh = folder.path().join("fresh.sqlite");
    rebuild(&fixture("records/v1"), &fresh, &|| Ok(Vec::new())).unwrap();
    let shape = "sqlite_schema WHERE name NOT LIKE 'sqlite%'";
    let shape = |path: &Path| -> Vec<String> {
        let connection = Connection::open(path).unwrap();
        let mut statement =
            connection.prepare(&format!("SELECT name, sql FROM {shape} ORDER BY name")).unwrap();
        let found = statement.query_map([], |row| {
            Ok(format!("{:?}", (row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?)))
        });
        found.unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(shape(&database), shape(&fresh));
    // What version 1 did not keep is not made up.
    let said = load(&database, "latest", None).unwrap_err().to_string();
    assert!(said.contains("older bench-runner") && said.contains("db rebuild"), "{said}");
    assert!(new.execute_batch("DELETE FROM trial").unwrap_err().to_string().contains("never deleted"));
}

/// Names of a type's fields.
fn fields_of<T: JsonSchema>() -> BTreeSet<String> {
    let schema = schemars::schema_for!(T).to_value();
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_field_of_the_record_has_its_column() {
    let mut connection = Connection::open_in_memory().unwrap();
    let transaction = connection.transaction().unwrap();
    schema::migrate(&transaction, 0).unwrap();
    transaction.commit().unwrap();
    let check = |table: &str, fields: BTreeSet<String>, elsewhere: &[&str], prefix: &str| {
        let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)").unwrap();
        let columns: BTreeSet<String> =
            statement.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        for field in fields.iter().filter(|field| !elsewhere.contains(&field.as_str())) {
            assert!(
                columns.contains(&format!("{prefix}{field}")),
                "'{field}' has no column in {table}: add it to the newest file of db/migrations, or to a new one if \
                 that was released"
            );
        }
    };
    let of_run = [
        "schema",
        "tool",
        "id",
        "machine_key",
        "source",
        "machine",
        "environment",
        "targets",
        "scenarios",
        "histograms",
        "components",
    ];
    check("campaign", fields_of::<Run>(), &of_run, "");
    check("campaign", fields_of::<Source>(), &["commit", "version"], "");
    check("machine", fields_of::<Machine>(), &[], "");
    check("environment", fields_of::<Environment>(), &[], "");
    check("target", fields_of::<TargetRecord>(), &["build", "image"], "");
    check("target", fields_of::<Image>(), &[], "image_");
    check("build", fields_of::<Build>(), &[], "");
    check("scenario", fields_of::<ScenarioInfo>(), &[], "");
    check("scenario_record", fields_of::<ScenarioEntry>(), &["key", "title"], "");
    let lists = ["axes", "measurements", "distributions", "merged_histograms", "trials"];
    check("cell", fields_of::<Cell>(), &lists, "");
    check("cell", fields_of::<Axes>(), &[], "");
    let lists = ["index", "counts", "values", "histograms", "windows", "open_loop", "process", "os"];
    check("trial", fields_of::<Trial>(), &lists, "");
    check("trial", fields_of::<Counts>(), &[], "");
    check("trial", fields_of::<ProcessFacts>(), &[], "");
    check("open_loop", fields_of::<OpenLoop>(), &[], "");
    check("window", fields_of::<Window>(), &[], "");
    check("os_stat", fields_of::<OsStat>(), &[], "");
    check("histogram", fields_of::<Histogram>(), &["hdr_v2_deflate_base64", "hdr_v2"], "");
    check("distribution", fields_of::<Distribution>(), &[], "");
    check("summary", fields_of::<Measurement>(), &["metric", "operation", "unit", "direction"], "");
    check("ratio", fields_of::<Ratio>(), &["metric", "operation", "numerator", "denominator"], "");
    check("component", fields_of::<Component>(), &["group"], "");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_]{1,12}", "\\PC{0,30}", Just("<img onerror='x'>\n\"\\".to_owned())]
}

fn axes() -> impl Strategy<Value = Axes> {
    let count = || prop::option::of(0_u64..1 << 53);
    let word = || prop::option::of(text());
    (
        (text(), prop::option::of(any::<u32>()), prop::option::of(any::<u32>()), count(), count(), count()),
        (
            word(),
            prop::option::of(prop_oneof![Just("fixed".to_owned()), Just("poisson".to_owned())]),
            count(),
            count(),
        ),
        (word(), word(), word(), word(), word(), count()),
    )
        .prop_map(|(one, two, three)| Axes {
            operation: one.0,
            clients: one.1,
            rate_percent: one.2,
            cap_bytes: one.3,
            requests: one.4,
            keys: one.5,
            distribution: two.0,
            arrival: two.1,
            rate_per_second: two.2,
            ttl_ms: two.3,
            protocol: three.0,
            transport: three.1,
            connections: three.2,
            variant: three.3,
            client_program: three.4,
            cache_bytes: three.5,
            ..Axes::default()
        })
}

fn open_loop() -> impl Strategy<Value = OpenLoop> {
    (any::<bool>(), 0.0..1e7, 0.0..1e7, 0_u64..1 << 50, 0_u64..1 << 50).prop_map(
        |(poisson, offered, achieved, due, delay)| OpenLoop {
            arrival: if poisson { "poisson" } else { "fixed" }.to_owned(),
            offered_per_second: offered,
            achieved_per_second: achieved,
            due,
            skipped: due / 3,
            in_flight_bound: 4096,
            in_flight_max: delay % 4096,
            send_delay_ns_max: delay,
        },
    )
}

fn window() -> impl Strategy<Value = Window> {
    let count = || prop::option::of(0_u64..1 << 53);
    (0.0..1e6, -0.0..2e3, 0_u64..1 << 40, count(), count(), count(), count()).prop_map(
        |(start_ms, length_ms, operations, latency_ns_p50, latency_ns_p99, server_cpu_ns, rss_bytes)| {
            Window {
                start_ms,
                length_ms,
                operations,
                latency_ns_p50,
                latency_ns_p99,
                server_cpu_ns,
                rss_bytes,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_record_survives_the_way_through_the_rows(
        axes in prop::collection::vec(axes(), 1..4),
        loops in prop::collection::vec(prop::option::of(open_loop()), 1..4),
        windows in prop::collection::vec(window(), 0..6),
        figure in -1e15..1e15_f64,
        said in text(),
        notes in prop::collection::vec(text(), 0..4),
        mode in prop::sample::select(vec![Mode::Native, Mode::NativeLimited, Mode::ContainerNoIoUring, Mode::External]),
        seed in 0_u64..1 << 53,
        bare in any::<bool>(),
    ) {
        let (mut run, mut scenarios) = small_run_as("r1", "local", "2026-01-01T00:00:00Z");
        run.notes = notes;
        run.seed = seed;
        run.command.clone_from(&said);
        run.targets[0].role = Role::Floor;
        run.targets[0].reason = Some(said.clone());
        if bare {
            run.components.clear();
            run.environment.container_reason = Some(said.clone());
            run.targets[0].build = None;
        }
        for (place, cell) in scenarios.iter_mut().flat_map(|record| &mut record.cells).enumerate() {
            cell.axes = axes[place % axes.len()].clone();
            cell.mode = mode;
            cell.label.clone_from(&said);
            for trial in &mut cell.trials {
                trial.open_loop = loops[place % loops.len()].clone();
                trial.windows.clone_from(&windows);
                trial.facts.insert(said.clone(), json!({ "z": [figure, null, -0.0], "a": said.as_str() }));
                for value in &mut trial.values {
                    value.value += figure;
                }
                if bare {
                    trial.process = None;
                    trial.os = None;
                    trial.status = Status::Failed;
                    trial.reason = Some(said.clone());
                }
            }
        }
        let [before, after] = through_rows(&run, &scenarios, crate::model::SCHEMA_VERSION);
        prop_assert_eq!(before, after);
    }
}
