//! The SQLite database of results: what the JSON records hold, as rows that can be asked.
//!
//! The JSON under `results/` is the truth, the database is made from it: [`store`] adds a run at its end,
//! [`rebuild`] makes the same database again, [`load`] makes the record again from its rows. Its shape stands in
//! `migrations/`, explained in docs/database.md.

mod check;
mod file;
mod insert;
mod query;
mod record;
mod schema;

pub use check::{Checked, check};
pub use query::{Answer, query};
pub use schema::USER_VERSION;

use crate::export::{Listed, listed_runs, read_indexed_run, written_version};
use crate::model::{Run, SCHEMA_VERSION, ScenarioRecord, Unfinished};
use anyhow::{Context as _, bail, ensure};
use file::Writing;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use std::path::Path;

/// Adds a run to the database at `path`, in one transaction; makes the database where there is none. A run that
/// is there already, with the same record, is left as it is.
///
/// # Errors
/// When the file is no such database, has a newer shape, holds another run of that name, or the disk refuses. The
/// database is then as it was.
pub fn store(path: &Path, run: &Run, scenarios: &[ScenarioRecord]) -> anyhow::Result<()> {
    let add = || {
        let writing = Writing::begin(path)?;
        let add = |connection: &mut Connection| insert_run(connection, run, scenarios, SCHEMA_VERSION);
        if path.exists() { add(&mut file::open(path, &writing)?) } else { file::create(path, add) }
    };
    add().with_context(|| {
        format!(
            "storing run '{}' in {} ('bench-runner db rebuild' makes it from the JSON records)",
            run.id,
            path.display()
        )
    })
}

/// Makes the database at `out` from every run that `results/index.json` and `results/local/index.json` list,
/// oldest first, and from the states of the journals. An existing database is replaced only when the new one is
/// complete. Returns the number of runs.
///
/// # Errors
/// When an index or a record cannot be read or is not what the index says, or the disk refuses.
pub fn rebuild(
    results: &Path,
    out: &Path,
    unfinished: &dyn Fn() -> anyhow::Result<Vec<Unfinished>>,
) -> anyhow::Result<usize> {
    // A run that ends meanwhile is listed before it is entered: it waits, and finds itself entered or not.
    let _writing = Writing::begin(out)?;
    let runs = listed_runs(results)?;
    ensure!(
        !runs.is_empty(),
        "no runs in {}: found neither index.json nor local/index.json; create a run with 'bench-runner run'",
        results.display()
    );
    file::create(out, |connection| {
        for listed in &runs {
            let (run, scenarios) = read_indexed_run(&listed.base, &listed.run)?;
            let version = written_version(&listed.base, &listed.run)?;
            insert_run(connection, &run, &scenarios, version)
                .with_context(|| format!("storing run '{}'", run.id))?;
        }
        for told in unfinished()? {
            // Its record is written, and its journal about to go.
            let ended = |listed: &Listed| listed.version == told.version && listed.run.id == told.run_id;
            if !runs.iter().any(ended) {
                put_unfinished(connection, &told)?;
            }
        }
        Ok(())
    })?;
    Ok(runs.len())
}

/// Writes how a campaign stands that is not finished; its row goes when the campaign is stored.
///
/// # Errors
/// As [`store`].
pub fn store_unfinished(path: &Path, told: &Unfinished) -> anyhow::Result<()> {
    let writing = Writing::begin(path)?;
    put_unfinished(&file::open(path, &writing)?, told)
        .with_context(|| format!("entering run '{}' in {}", told.run_id, path.display()))
}

fn put_unfinished(connection: &Connection, told: &Unfinished) -> anyhow::Result<()> {
    connection.execute(
        "INSERT OR REPLACE INTO unfinished_campaign (run_id, version, profile, started_at, state, reason, told_at, \
         steps_done, steps_total) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            told.run_id,
            told.version,
            insert::word(&told.profile)?,
            told.started_at,
            insert::word(&told.state)?,
            told.reason,
            told.told_at,
            told.steps_done,
            told.steps_total,
        ],
    )?;
    Ok(())
}

/// Takes the database to today's shape. Returns whether there was anything to do.
///
/// # Errors
/// When there is none, it is of a newer shape, or the disk refuses; it is then as it was.
pub fn migrate(path: &Path) -> anyhow::Result<bool> {
    ensure!(path.exists(), "no database at {}", path.display());
    let writing = Writing::begin(path)?;
    let before = schema::version(&Connection::open(path)?).unwrap_or_default();
    file::open(path, &writing)?;
    Ok(before < USER_VERSION)
}

/// Removes a database: there is nothing left that it could be made from.
///
/// # Errors
/// When the file cannot be removed.
pub fn remove(path: &Path) -> anyhow::Result<()> {
    let _writing = Writing::begin(path)?;
    file::remove(path)
}

/// The record of a run, made again from its rows: the same files, byte for byte. `wanted` is an id, the beginning
/// of one, or `latest`.
///
/// # Errors
/// When no run fits or several do, or its rows are not those of the record that was entered.
pub fn load(path: &Path, wanted: &str, version: Option<&str>) -> anyhow::Result<(Run, Vec<ScenarioRecord>)> {
    let connection = file::open_to_read(path)?;
    let mut statement = connection.prepare(
        "SELECT campaign_id, run_id, version FROM campaign \
         WHERE sealed = 1 AND (?1 = 'latest' OR substr(run_id, 1, length(?1)) = ?1) AND (?2 IS NULL OR version = ?2) \
         ORDER BY run_id = ?1 DESC, started_at DESC, campaign_id DESC",
    )?;
    let found: Vec<(i64, String, String)> = statement
        .query_map((wanted, version), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let Some((campaign, id, _)) = found.first() else {
        bail!("{} holds no finished run '{wanted}'", path.display());
    };
    let several: Vec<&str> = found.iter().map(|(_, id, _)| id.as_str()).filter(|other| other != id).collect();
    ensure!(
        wanted == "latest" || wanted == id || several.is_empty(),
        "run '{wanted}' is ambiguous: {id}, {}",
        several.join(", ")
    );
    let versions: Vec<&str> =
        found.iter().filter(|(_, other, _)| other == id).map(|(_, _, version)| version.as_str()).collect();
    ensure!(
        versions.len() == 1,
        "run '{id}' stands under several versions ({}): name one by --version",
        versions.join(", ")
    );
    record::load(&connection, *campaign)
}

fn insert_run(
    connection: &mut Connection,
    run: &Run,
    scenarios: &[ScenarioRecord],
    version: u32,
) -> anyhow::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let known: Option<Option<String>> = transaction
        .query_row(
            "SELECT record_sha256 FROM campaign WHERE version = ?1 AND run_id = ?2",
            (&run.version, &run.id),
            |row| row.get(0),
        )
        .optional()?;
    if let Some(digest) = known {
        let same = digest.is_none_or(|digest| {
            record::as_written(run, scenarios, version).is_ok_and(|written| written.record_sha256 == digest)
        });
        ensure!(same, "it is there already with another record, and rows are never changed");
    } else {
        insert::run(&transaction, run, scenarios, version)?;
    }
    transaction.execute("DELETE FROM unfinished_campaign WHERE run_id = ?1", [&run.id])?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
#[path = "db_test.rs"]
mod tests;
