//! From the records of a run to rows.
//!
//! Rows are written in the order of the records and ids are counted up, so that the same runs in the same order
//! make the same database, byte for byte in its dump.

mod campaign;
mod cell;

use crate::model::{Run, ScenarioRecord};
use anyhow::Context as _;
use rusqlite::{OptionalExtension as _, Params, Transaction};
use serde::Serialize;
use std::collections::HashMap;

/// Writes a run whole and seals it.
pub(super) fn run(transaction: &Transaction, run: &Run, scenarios: &[ScenarioRecord]) -> anyhow::Result<()> {
    let rows = Rows { transaction };
    let campaign = rows.campaign(run)?;
    let mut targets = HashMap::new();
    for target in &run.targets {
        targets.insert(target.key.as_str(), rows.target(campaign, target)?);
    }
    for record in scenarios {
        let scenario = rows.scenario(&record.scenario)?;
        let mut cells = HashMap::new();
        for cell in &record.cells {
            let target = targets.get(cell.target.as_str()).copied();
            let id =
                rows.cell(campaign, scenario, target, cell).with_context(|| format!("cell {}", cell.key))?;
            cells.insert(cell.key.as_str(), id);
        }
        for ratio in &record.ratios {
            rows.ratio(scenario, &cells, ratio)?;
        }
    }
    for component in &run.components {
        rows.component(campaign, component)?;
    }
    rows.put("UPDATE campaign SET sealed = 1 WHERE campaign_id = ?1", [campaign])?;
    Ok(())
}

struct Rows<'a> {
    transaction: &'a Transaction<'a>,
}

impl Rows<'_> {
    fn put(&self, sql: &str, values: impl Params) -> rusqlite::Result<i64> {
        self.transaction.prepare_cached(sql)?.execute(values)?;
        Ok(self.transaction.last_insert_rowid())
    }

    /// The id of a row that may be shared between campaigns.
    fn shared(&self, find: &str, by: impl Params) -> rusqlite::Result<Option<i64>> {
        self.transaction.prepare_cached(find)?.query_row(by, |row| row.get(0)).optional()
    }
}

/// SQLite's integers are signed: a count beyond 2^63 is none that was ever measured.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Lists and maps are kept as JSON text, which SQLite can look into.
fn text<T: Serialize>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string(value)
}

/// The spelling an enum has in JSON.
fn word<T: Serialize>(value: &T) -> anyhow::Result<String> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(word) => Ok(word),
        other => anyhow::bail!("{other} has no one-word spelling"),
    }
}
