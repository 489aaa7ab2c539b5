//! The SQLite database of results: what the JSON records hold, as rows that can be asked.
//!
//! The JSON under `results/` is the truth, the database is made from it: [`store`] adds a run at its end,
//! [`rebuild`] makes the same database again. Its shape stands in `schema.sql`, explained in docs/database.md.

mod insert;
mod query;
mod schema;

pub use query::{Answer, query};
pub use schema::USER_VERSION;

use crate::export::{listed_runs, read_indexed_run};
use crate::model::{Run, ScenarioRecord};
use anyhow::{Context as _, bail, ensure};
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another program that is writing.
const BUSY: Duration = Duration::from_secs(10);

/// Adds a run to the database at `path`, in one transaction; makes the database where there is none, complete
/// or not at all.
///
/// # Errors
/// When the file is no such database, has another shape, holds the run already, or the disk refuses. The
/// database is then as it was.
pub fn store(path: &Path, run: &Run, scenarios: &[ScenarioRecord]) -> anyhow::Result<()> {
    let add = |connection: &mut Connection| insert_run(connection, run, scenarios);
    let done =
        if path.exists() { open(path).and_then(|mut found| add(&mut found)) } else { create(path, add) };
    done.with_context(|| {
        format!(
            "storing run '{}' in {} ('bench-runner db rebuild' makes it from the JSON records)",
            run.id,
            path.display()
        )
    })
}

/// Makes the database at `out` from every run that `results/index.json` and `results/local/index.json` list,
/// oldest first. An existing database is replaced only when the new one is complete. Returns the number of runs.
///
/// # Errors
/// When an index or a record cannot be read or is not what the index says, or the disk refuses.
pub fn rebuild(results: &Path, out: &Path) -> anyhow::Result<usize> {
    let runs = listed_runs(results)?;
    ensure!(
        !runs.is_empty(),
        "{} lists no run: neither index.json nor local/index.json was found there; 'bench-runner run' makes one",
        results.display()
    );
    create(out, |connection| {
        for listed in &runs {
            let (run, scenarios) = read_indexed_run(&listed.base, &listed.run)?;
            insert_run(connection, &run, &scenarios).with_context(|| format!("storing run '{}'", run.id))?;
        }
        Ok(())
    })?;
    Ok(runs.len())
}

fn insert_run(connection: &mut Connection, run: &Run, scenarios: &[ScenarioRecord]) -> anyhow::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let known: bool = transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM campaign WHERE version = ?1 AND run_id = ?2)",
        (&run.version, &run.id),
        |row| row.get(0),
    )?;
    ensure!(!known, "it is there already, and rows are never changed");
    insert::run(&transaction, run, scenarios)?;
    transaction.commit()?;
    Ok(())
}

/// Makes a database beside its place and renames it there when `fill` is through.
fn create(path: &Path, fill: impl FnOnce(&mut Connection) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".writing-{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let done = (|| {
        remove(&beside)?;
        let mut connection =
            Connection::open(&beside).with_context(|| format!("creating {}", beside.display()))?;
        configure(&connection)?;
        schema::create(&connection).with_context(|| format!("creating the tables of {}", path.display()))?;
        fill(&mut connection)?;
        connection
            .close()
            .map_err(|(_, error)| error)
            .with_context(|| format!("closing {}", beside.display()))?;
        std::fs::rename(&beside, path).with_context(|| format!("renaming {}", beside.display()))?;
        std::fs::File::open(folder)
            .and_then(|handle| handle.sync_all())
            .with_context(|| format!("syncing {}", folder.display()))
    })();
    if done.is_err() {
        let _ = remove(&beside);
    }
    done
}

fn remove(path: &Path) -> anyhow::Result<()> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    for file in [path, Path::new(&journal)] {
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("removing {}", file.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn open(path: &Path) -> anyhow::Result<Connection> {
    let connection = Connection::open(path).with_context(|| format!("opening {}", path.display()))?;
    configure(&connection).with_context(|| format!("opening {}", path.display()))?;
    check_version(&connection, path)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // A rollback journal leaves one file behind, which can be copied and offered for download as it is.
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
}

fn check_version(connection: &Connection, path: &Path) -> anyhow::Result<()> {
    let found: i32 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).with_context(|| {
            format!("{} is no database; remove it and run 'bench-runner db rebuild'", path.display())
        })?;
    if found != USER_VERSION {
        bail!(
            "{} has user_version {found}, this bench-runner writes {USER_VERSION}; 'bench-runner db rebuild' makes \
             it again from the JSON records",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
#[path = "db_test.rs"]
mod tests;
