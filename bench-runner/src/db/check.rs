//! Is the database sound, and does it hold what the records hold?

use super::{file, schema};
use crate::export::{Listed, listed_runs, read_indexed_run};
use anyhow::Context as _;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;

/// What a look at records and database came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Runs that the indexes list, each with every file's digest right.
    pub runs: usize,
    /// What is wrong with the records: mended by hand.
    pub of_records: Vec<String>,
    /// What is wrong with the database: mended by `db rebuild`.
    pub of_database: Vec<String>,
}

impl Checked {
    /// Nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.of_records.is_empty() && self.of_database.is_empty()
    }
}

/// Looks at every file that the indexes list, then at the database: its pages, its references, its guards, and
/// whether it holds exactly the runs that are listed, each sealed and made from the very record.
///
/// # Errors
/// When an index cannot be read; everything else that is wrong is told in the result.
pub fn check(results: &Path, database: &Path) -> anyhow::Result<Checked> {
    let mut checked = Checked::default();
    let listed = listed_runs(results)?;
    for run in &listed {
        match read_indexed_run(&run.base, &run.run) {
            Ok(_) => checked.runs += 1,
            Err(error) => checked.of_records.push(error.to_string()),
        }
    }
    let looked = file::open_to_read(database).and_then(|connection| look(&connection, &listed));
    match looked {
        Ok(faults) => checked.of_database = faults,
        Err(error) => checked.of_database.push(format!("{error:#}")),
    }
    Ok(checked)
}

fn look(connection: &Connection, listed: &[Listed]) -> anyhow::Result<Vec<String>> {
    let mut faults: Vec<String> = Vec::new();
    let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
    let pages: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    faults.extend(pages.into_iter().filter(|said| said != "ok").map(|said| format!("integrity: {said}")));
    let mut statement =
        connection.prepare("SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check LIMIT 20")?;
    let broken = statement.query_map([], |row| {
        Ok(format!("rows of {} refer to no row of {}", row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    faults.extend(broken.collect::<Result<Vec<_>, _>>()?);
    faults.extend(schema::missing(connection)?.into_iter().map(|name| format!("the {name} is gone")));

    let mut statement = connection.prepare("SELECT version, run_id, record_sha256, sealed FROM campaign")?;
    let campaigns = statement.query_map([], |row| {
        Ok(((row.get::<_, String>(0)?, row.get::<_, String>(1)?), (row.get(2)?, row.get(3)?)))
    })?;
    let mut campaigns: BTreeMap<(String, String), (Option<String>, bool)> =
        campaigns.collect::<Result<_, _>>().context("reading the campaigns")?;
    for run in listed {
        let name = format!("run {} of version {}", run.run.id, run.version);
        let Some((digest, sealed)) = campaigns.remove(&(run.version.clone(), run.run.id.clone())) else {
            faults.push(format!("{name} is listed and not in the database"));
            continue;
        };
        if !sealed {
            faults.push(format!("{name} was never entered whole"));
        }
        let promised = run.run.files.first().map(|file| file.sha256.as_str());
        match digest.as_deref() {
            None => faults
                .push(format!("{name} was entered by an older bench-runner, not with all of its record")),
            found if found != promised => {
                faults.push(format!("{name} was entered from another record than the one that is listed"));
            }
            Some(_) => {}
        }
    }
    faults.extend(
        campaigns.into_keys().map(|(version, id)| format!("run {id} of version {version} has no record")),
    );
    Ok(faults)
}
