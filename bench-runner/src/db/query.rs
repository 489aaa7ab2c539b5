//! A question to the database, answered without being able to change it.

use super::{BUSY, check_version};
use anyhow::{Context as _, ensure};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::path::Path;

/// Rows of an answer, in the order asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values by column; a blob is the number of its bytes as text.
    pub rows: Vec<Vec<Value>>,
}

/// Asks the database at `path` one `SELECT`.
///
/// # Errors
/// When there is no database, the statement is wrong, or it would change something.
pub fn query(path: &Path, sql: &str) -> anyhow::Result<Answer> {
    ensure!(
        path.exists(),
        "there is no database {}; 'bench-runner run' or 'bench-runner db rebuild' makes it",
        path.display()
    );
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).with_context(|| format!("opening {}", path.display()))?;
    connection.busy_timeout(BUSY)?;
    check_version(&connection, path)?;
    let mut statement = connection.prepare(sql).context("the question is no valid SQL")?;
    ensure!(statement.readonly(), "the database is append-only: only questions (SELECT) are carried out");
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = Vec::new();
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let cells = (0..columns.len()).map(|column| Ok(as_json(row.get_ref(column)?)));
        rows.push(cells.collect::<rusqlite::Result<Vec<Value>>>()?);
    }
    Ok(Answer { columns, rows })
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
