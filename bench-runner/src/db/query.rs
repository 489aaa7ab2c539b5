//! A question to the database, answered without being able to change it.

use super::file;
use anyhow::{bail, ensure};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Most rows of an answer: beyond them memory would be the limit.
const ROWS_MAX: usize = 1_000_000;

/// Rows of an answer, in the order asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values by column; a blob is the number of its bytes as text.
    pub rows: Vec<Vec<Value>>,
}

/// Asks the database at `path` one `SELECT`, which may take as long as `patience`.
///
/// # Errors
/// When there is no database, the statement is wrong (with the place), more than one, takes too long, or is no
/// question.
pub fn query(path: &Path, sql: &str, patience: Duration) -> anyhow::Result<Answer> {
    let connection = file::open_to_read(path)?;
    let first = first_word(sql);
    ensure!(
        ["SELECT", "WITH", "VALUES", "EXPLAIN"].contains(&first.as_str()),
        "the database is opened read-only: expected SELECT, WITH, VALUES or EXPLAIN, not '{first}'"
    );
    let handle = connection.get_interrupt_handle();
    let (done, ended) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        // The other end is dropped as soon as there is an answer.
        if ended.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
            handle.interrupt();
        }
    });
    let answer = ask(&connection, sql);
    drop(done);
    let _ = watch.join();
    match answer {
        Err(error) if is_interrupted(&error) => {
            bail!("no result after {} s: narrow the query, or raise --timeout-s", patience.as_secs_f64())
        }
        other => other,
    }
}

fn ask(connection: &Connection, sql: &str) -> anyhow::Result<Answer> {
    let mut statement = connection.prepare(sql).map_err(|error| misspelled(sql, error))?;
    ensure!(statement.readonly(), "the database is opened read-only: expected a SELECT");
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = Vec::new();
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        ensure!(rows.len() < ROWS_MAX, "more than {ROWS_MAX} rows: add a LIMIT");
        let cells = (0..columns.len()).map(|column| Ok(as_json(row.get_ref(column)?)));
        rows.push(cells.collect::<rusqlite::Result<Vec<Value>>>()?);
    }
    Ok(Answer { columns, rows })
}

fn is_interrupted(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref::<Error>().and_then(Error::sqlite_error_code);
    code == Some(ErrorCode::OperationInterrupted)
}

/// What is wrong, and where, in one line.
fn misspelled(sql: &str, error: Error) -> anyhow::Error {
    match error {
        Error::SqlInputError { msg, offset, .. } => {
            let Some(before) = usize::try_from(offset).ok().and_then(|end| sql.get(..end)) else {
                return anyhow::anyhow!("invalid SQL: {msg}");
            };
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
            let near: String = sql[before.len()..].chars().take(20).collect();
            anyhow::anyhow!(
                "invalid SQL: {msg} (line {line}, column {column}, at '{}'); 'bench-runner db tables' \
                 lists tables and columns",
                near.lines().next().unwrap_or_default()
            )
        }
        Error::MultipleStatement => {
            anyhow::anyhow!("more than one statement: expected a single SELECT")
        }
        other => anyhow::anyhow!("invalid SQL: {other}"),
    }
}

/// The first word, in capitals, behind blanks, comments and brackets.
fn first_word(sql: &str) -> String {
    let mut rest = sql.trim_start();
    loop {
        rest = match (rest.strip_prefix("--"), rest.strip_prefix("/*"), rest.strip_prefix('(')) {
            (Some(line), _, _) => line.split_once('\n').map_or("", |(_, after)| after),
            (_, Some(block), _) => block.split_once("*/").map_or("", |(_, after)| after),
            (_, _, Some(inner)) => inner,
            _ => break,
        }
        .trim_start();
    }
    rest.chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_ascii_uppercase()
}

fn as_json(value: ValueRef) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => json!(format!("{} bytes", bytes.len())),
    }
}

#[cfg(test)]
#[path = "query_test.rs"]
mod tests;
