//! `bench-runner db`: the SQLite database of results, made again or asked.

use super::{EXIT_FINE, Format, Global, stdout};
use crate::db::{self, Answer};
use crate::output::table;
use clap::Subcommand;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Rebuild or query the SQLite database of results
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bench-runner db rebuild\n  \
    bench-runner db query \"SELECT target, mode, median FROM latest_measurement WHERE metric = 'startup_ms'\"\n  \
    bench-runner --format markdown db query \"SELECT * FROM unmeasured\"\n\n\
    Tables and views: bench-runner/docs/database.md")]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make the database again from the JSON records, published and local
    Rebuild {
        /// Folder of the records [default: <root>/results]
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
        /// The database [default: <results>/local.sqlite]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Ask one SELECT; nothing can be changed
    Query {
        /// The question
        sql: String,
        /// The database [default: <root>/results/local.sqlite]
        #[arg(long, value_name = "FILE")]
        database: Option<PathBuf>,
    },
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let standard = || global.root.join("results");
    match args.action {
        Action::Rebuild { results, out } => {
            let results = results.unwrap_or_else(standard);
            let out = out.unwrap_or_else(|| results.join("local.sqlite"));
            let runs = db::rebuild(&results, &out)?;
            stdout::put(&match global.format {
                Format::Json => format!("{}\n", json!({ "database": out, "runs": runs })),
                _ => format!("{}: {runs} run{}\n", out.display(), if runs == 1 { "" } else { "s" }),
            })?;
        }
        Action::Query { sql, database } => {
            let database = database.unwrap_or_else(|| standard().join("local.sqlite"));
            let answer = db::query(&database, &sql)?;
            stdout::put(&shown(&answer, global.format)?)?;
        }
    }
    Ok(EXIT_FINE)
}

fn shown(answer: &Answer, format: Format) -> anyhow::Result<String> {
    if format == Format::Json {
        let objects: Vec<Value> = answer
            .rows
            .iter()
            .map(|row| {
                Value::Object(answer.columns.iter().cloned().zip(row.iter().cloned()).collect::<Map<_, _>>())
            })
            .collect();
        return Ok(format!("{}\n", serde_json::to_string_pretty(&objects)?));
    }
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
        table::human(&head, &right, &rows)
    };
    Ok(format!("{table}\n"))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
