//! `bench-runner db`: the SQLite database of results: asked, checked, made again, cleared of what is old.

use super::{EXIT_FINE, EXIT_TOOL_ERROR, Format, Global, stdout};
use crate::campaign::journal::unfinished;
use crate::db::{self, Answer};
use crate::export::prune::{Keep, prunable, prune};
use crate::export::{listed_runs, write_run};
use crate::output::{document, table};
use anyhow::{Context as _, ensure};
use clap::Subcommand;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Query, check, rebuild or prune the SQLite database of results
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bench-runner db query \"SELECT target, mode, median FROM latest_measurement WHERE metric = 'startup_ms'\"\n  \
    bench-runner --format markdown db query \"SELECT * FROM unmeasured\"\n  \
    bench-runner db query --csv \"SELECT * FROM measurement\" > measurements.csv\n  \
    bench-runner db tables\n  \
    bench-runner db check\n  \
    bench-runner db prune --keep 20 --yes\n\n\
    Tables and views: bench-runner/docs/database.md"
)]
pub(super) struct Args {
    /// The database [default: <results>/local.sqlite]
    #[arg(long, value_name = "FILE", global = true)]
    database: Option<PathBuf>,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR", global = true)]
    results: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run one SELECT on the database, read-only
    Query {
        /// The SELECT statement
        sql: String,
        /// Print comma-separated values (RFC 4180) with a header line
        #[arg(long)]
        csv: bool,
        /// Timeout of the query, seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
        timeout_s: f64,
    },
    /// List tables and views with their columns and row counts
    Tables,
    /// Print the CREATE statements of all tables, or of one
    Schema {
        /// Only this table or view
        table: Option<String>,
    },
    /// Rebuild the database from all JSON records, published and local
    Rebuild {
        /// The database, as --database
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Check the digest of every record, and the database against the records
    Check {
        /// Rebuild the database if it is damaged
        #[arg(long)]
        repair: bool,
    },
    /// Write the JSON record of a run from its rows, byte for byte
    Export {
        /// Id of a run, a prefix of one, or 'latest'
        run: String,
        /// Folder to write to, laid out as results/
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
        /// The version of the run, if it belongs to several
        #[arg(long = "version", value_name = "VERSION")]
        version: Option<String>,
    },
    /// Migrate a database of an older bench-runner to the current schema
    Migrate,
    /// Delete local runs; published ones are kept. Without --yes, only list them
    #[command(group = clap::ArgGroup::new("which").required(true))]
    Prune {
        /// Keep this many of the newest runs
        #[arg(long, value_name = "N", group = "which")]
        keep: Option<usize>,
        /// Delete runs older than this: 30d, 12h
        #[arg(long, value_name = "AGE", group = "which", value_parser = age)]
        older_than: Option<SignedDuration>,
        /// Delete them
        #[arg(long)]
        yes: bool,
    },
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    let database = args.database.unwrap_or_else(|| results.join("local.sqlite"));
    let json = global.format == Format::Json;
    match args.action {
        Action::Query { sql, csv, timeout_s } => {
            let answer = db::query(&database, &sql, Duration::from_secs_f64(timeout_s))?;
            stdout::put(&match global.format {
                _ if csv => as_csv(&answer),
                Format::Json => as_json("db-query", &answer),
                format => shown(&answer, format, table::human),
            })?;
        }
        Action::Tables => {
            let answer = db::query(&database, TABLES, PATIENCE)?;
            stdout::put(&match global.format {
                Format::Json => as_json("db-tables", &answer),
                format => shown(&answer, format, table::bounded),
            })?;
        }
        Action::Schema { table } => {
            let made = db::query(&database, SCHEMA, PATIENCE)?;
            let wanted = |row: &&Vec<Value>| table.as_deref().is_none_or(|name| row[0] == name);
            let rows: Vec<Vec<Value>> = made.rows.iter().filter(wanted).cloned().collect();
            ensure!(!rows.is_empty(), "no such table: 'bench-runner db tables' lists them");
            let texts: Vec<String> = rows.iter().map(|row| plain(&row[1])).collect();
            stdout::put(&if json {
                as_json("db-schema", &Answer { columns: made.columns, rows })
            } else {
                format!("{};\n", texts.join(";\n\n"))
            })?;
        }
        Action::Rebuild { out } => {
            let out = out.unwrap_or(database);
            let runs = rebuild(&results, &out)?;
            stdout::put(&if json {
                format!("{}\n", document("db-rebuild", json!({ "database": out, "runs": runs })))
            } else {
                format!("{}: {}\n", out.display(), runs_in_words(runs))
            })?;
        }
        Action::Check { repair } => return check(&results, &database, repair, json),
        Action::Export { run, into, version } => {
            let (run, scenarios) = db::load(&database, &run, version.as_deref())?;
            let folder = write_run(&into, run, scenarios)?;
            stdout::put(&if json {
                format!("{}\n", document("db-export", json!({ "folder": folder })))
            } else {
                format!("{}\n", folder.display())
            })?;
        }
        Action::Migrate => {
            let done = db::migrate(&database)?;
            let said = if done { "taken to" } else { "has" };
            stdout::put(&if json {
                format!(
                    "{}\n",
                    document("db-migrate", json!({ "user_version": db::USER_VERSION, "migrated": done }))
                )
            } else {
                format!("{} {said} user_version {}\n", database.display(), db::USER_VERSION)
            })?;
        }
        Action::Prune { keep, older_than, yes } => {
            let keep = match (keep, older_than) {
                (Some(count), _) => Keep::Newest(count),
                (None, age) => Keep::Within(age.unwrap_or(SignedDuration::MAX)),
            };
            let runs = prunable(&results, keep, Timestamp::now())?;
            if yes && !runs.is_empty() {
                prune(&results, &runs)?;
                forget(&results, &database)?;
            }
            let mut text = String::new();
            for (id, folder) in &runs {
                text.push_str(&format!("{id}  {}\n", folder.display()));
            }
            let total = runs_in_words(runs.len());
            let said = if yes { "removed" } else { "would be removed; --yes removes them" };
            stdout::put(&if json {
                let ids: Vec<&String> = runs.iter().map(|(id, _)| id).collect();
                format!("{}\n", document("db-prune", json!({ "runs": ids, "removed": yes })))
            } else {
                format!("{text}{total} {said}\n")
            })?;
        }
    }
    Ok(EXIT_FINE)
}

const PATIENCE: Duration = Duration::from_secs(30);

const TABLES: &str = "SELECT schema.name, schema.type, \
    (SELECT group_concat(name, ', ') FROM pragma_table_info(schema.name)) AS columns \
    FROM sqlite_schema AS schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' ORDER BY type, name";
const SCHEMA: &str = "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND sql IS NOT NULL \
    AND name NOT LIKE 'sqlite%' ORDER BY type, name";

fn rebuild(results: &std::path::Path, out: &std::path::Path) -> anyhow::Result<usize> {
    db::rebuild(results, out, &|| Ok(unfinished(results)?.into_iter().map(|(told, _)| told).collect()))
}

/// A database cannot forget a run: it is made again without, or removed with the last one.
fn forget(results: &std::path::Path, database: &std::path::Path) -> anyhow::Result<()> {
    if !database.exists() {
        return Ok(());
    }
    if listed_runs(results)?.is_empty() {
        return db::remove(database);
    }
    rebuild(results, database).map(|_| ()).context("the runs are removed, but still in the database")
}

fn check(
    results: &std::path::Path,
    database: &std::path::Path,
    repair: bool,
    json: bool,
) -> anyhow::Result<u8> {
    let mut checked = db::check(results, database)?;
    let mut repaired = Vec::new();
    if repair && !checked.of_database.is_empty() && checked.of_records.is_empty() {
        repaired = checked.of_database.clone();
        rebuild(results, database)?;
        checked = db::check(results, database)?;
    }
    let open = unfinished(results)?;
    if json {
        let open: Vec<Value> =
            open.iter().map(|(told, running)| json!({ "run": told, "running": running })).collect();
        stdout::put(&format!(
            "{:#}\n",
            document(
                "db-check",
                json!({
                    "sound": checked.is_sound(), "runs": checked.runs, "of_records": checked.of_records,
                    "of_database": checked.of_database, "repaired": repaired, "unfinished": open,
                })
            )
        ))?;
    } else {
        let mut text = format!("{} with every digest right\n", runs_in_words(checked.runs));
        for fault in &repaired {
            text.push_str(&format!("repaired: {fault}\n"));
        }
        for fault in &checked.of_records {
            text.push_str(&format!("record: {fault}\n"));
        }
        for fault in &checked.of_database {
            text.push_str(&format!("database: {fault}; 'bench-runner db check --repair' makes it again\n"));
        }
        for (told, running) in &open {
            let state = if *running { "running" } else { "not ended" };
            text.push_str(&format!(
                "{state}: run {} ({} of {} steps are kept): {}\n",
                told.run_id, told.steps_done, told.steps_total, told.reason
            ));
        }
        stdout::put(&text)?;
    }
    Ok(if checked.is_sound() { EXIT_FINE } else { EXIT_TOOL_ERROR })
}

fn runs_in_words(runs: usize) -> String {
    format!("{runs} run{}", if runs == 1 { "" } else { "s" })
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 86_400.0 => Ok(value),
        _ => Err("a number of seconds above 0, at most 86400".to_owned()),
    }
}

/// `30d`, `12h`.
fn age(text: &str) -> Result<SignedDuration, String> {
    let (number, hours) = match (text.strip_suffix('d'), text.strip_suffix('h')) {
        (Some(days), _) => (days, 24),
        (_, Some(hours)) => (hours, 1),
        _ => ("", 0),
    };
    match number.parse::<u32>() {
        Ok(count) => Ok(SignedDuration::from_hours(i64::from(count) * hours)),
        Err(_) => Err("a number of days or hours, as in 30d or 12h".to_owned()),
    }
}

/// The rows as objects, under `rows`.
fn as_json(name: &str, answer: &Answer) -> String {
    let object = |row: &Vec<Value>| {
        Value::Object(answer.columns.iter().cloned().zip(row.iter().cloned()).collect::<Map<_, _>>())
    };
    let rows: Vec<Value> = answer.rows.iter().map(object).collect();
    format!("{:#}\n", document(name, json!({ "rows": rows })))
}

fn shown(answer: &Answer, format: Format, drawn: table::Drawn) -> String {
    let head: Vec<&str> = answer.columns.iter().map(String::as_str).collect();
    let rows: Vec<Vec<String>> = answer.rows.iter().map(|row| row.iter().map(plain).collect()).collect();
    let numbers =
        |column: &usize| answer.rows.iter().all(|row| row[*column].is_number() || row[*column].is_null());
    let right: Vec<usize> = (0..head.len()).filter(numbers).collect();
    let table = if format == Format::Markdown {
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|one| one.replace('|', "\\|").replace('\n', " ")).collect())
            .collect();
        table::markdown(&head, &right, &rows)
    } else {
        drawn(&head, &right, &rows)
    };
    format!("{table}\n")
}

/// As RFC 4180 has it: fields with a comma, a quote or a line end in quotes, quotes doubled.
fn as_csv(answer: &Answer) -> String {
    let field = |text: &str| {
        if text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let mut text = String::new();
    let head: Vec<String> = answer.columns.iter().map(|name| field(name)).collect();
    text.push_str(&head.join(","));
    text.push_str("\r\n");
    for row in &answer.rows {
        let cells: Vec<String> = row.iter().map(|value| field(&plain(value))).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_keeps_commas_quotes_and_line_ends_inside_their_field() {
        let answer = Answer {
            columns: vec!["a".to_owned(), "b,c".to_owned()],
            rows: vec![vec![json!("say \"no\"\nor"), Value::Null], vec![json!(1.5), json!("plain")]],
        };
        assert_eq!(as_csv(&answer), "a,\"b,c\"\r\n\"say \"\"no\"\"\nor\",\r\n1.5,plain\r\n");
    }

    #[test]
    fn ages_are_days_or_hours() {
        assert_eq!(age("30d").unwrap(), SignedDuration::from_hours(720));
        assert_eq!(age("12h").unwrap(), SignedDuration::from_hours(12));
        for bad in ["", "d", "30", "-1d", "1w", "9999999999d"] {
            assert!(age(bad).is_err(), "{bad}");
        }
    }
}
