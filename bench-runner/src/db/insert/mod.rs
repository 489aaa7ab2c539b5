//! From the records of a run to rows.
//!
//! Rows are written in the order of the records and ids are counted up, so that the same runs in the same order
//! make the same database, byte for byte in its dump.

mod campaign;
mod cell;

use super::record::{Written, as_written};
use crate::model::{Run, ScenarioRecord};
use anyhow::{Context as _, bail};
use rusqlite::types::Value as Sql;
use rusqlite::{OptionalExtension as _, Params, Transaction, params_from_iter};
use serde::Serialize;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::HashMap;

/// Writes a run whole and seals it. `version` is that of the JSON it was read from.
pub(super) fn run(
    transaction: &Transaction,
    run: &Run,
    scenarios: &[ScenarioRecord],
    version: u32,
) -> anyhow::Result<()> {
    let Written { run, scenarios, record_sha256 } = as_written(run, scenarios, version)?;
    let rows = Rows { transaction, columns: RefCell::default() };
    let campaign = rows.campaign(&run, &record_sha256)?;
    let mut targets = HashMap::new();
    for target in &run.targets {
        targets.insert(target.key.as_str(), rows.target(campaign, target)?);
    }
    for (place, (record, entry)) in scenarios.iter().zip(&run.scenarios).enumerate() {
        let scenario = rows.scenario(&record.scenario)?;
        rows.scenario_record(campaign, place, scenario, record, entry)?;
        rows.cells(campaign, scenario, &targets, record)
            .with_context(|| format!("scenario {}", record.scenario.key))?;
    }
    for component in &run.components {
        rows.component(campaign, component)?;
    }
    rows.put("UPDATE campaign SET sealed = 1 WHERE campaign_id = ?1", [campaign])?;
    Ok(())
}

/// Fields of a record, or of a part of one.
pub(super) type Fields = Map<String, Value>;

struct Rows<'a> {
    transaction: &'a Transaction<'a>,
    columns: RefCell<HashMap<&'static str, Vec<String>>>,
}

impl Rows<'_> {
    fn put(&self, sql: &str, values: impl Params) -> rusqlite::Result<i64> {
        self.transaction.prepare_cached(sql)?.execute(values)?;
        Ok(self.transaction.last_insert_rowid())
    }

    /// A row of ids and of the fields of the record's parts, each in the column of its name. A field without
    /// a column is kept under `more`, by its part: nothing of a record is ever left out.
    fn put_fields(
        &self,
        table: &'static str,
        ids: &[(&str, Option<i64>)],
        parts: Vec<(&str, Fields)>,
    ) -> anyhow::Result<i64> {
        let known = self.columns_of(table)?;
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (name, id) in ids {
            names.push((*name).to_owned());
            values.push(id.map_or(Sql::Null, Sql::Integer));
        }
        let mut more = Fields::new();
        for (part, fields) in parts {
            for (name, value) in fields {
                if known.contains(&name) {
                    names.push(name);
                    values.push(as_sql(&value));
                } else if let Value::Object(kept) = more.entry(part).or_insert_with(|| Fields::new().into()) {
                    kept.insert(name, value);
                }
            }
        }
        if !more.is_empty() {
            if !known.iter().any(|name| name == "more") {
                bail!("table {table} has no place for {}", Value::from(more));
            }
            names.push("more".to_owned());
            values.push(Sql::Text(Value::from(more).to_string()));
        }
        let marks = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT INTO \"{table}\" ({}) VALUES ({marks})", names.join(", "));
        self.put(&sql, params_from_iter(values)).with_context(|| format!("a row of {table}"))
    }

    /// The row that has these values in `by`, or a new one: rows that campaigns share.
    fn shared(&self, table: &'static str, by: &[&str], fields: Fields) -> anyhow::Result<i64> {
        let wanted: Vec<String> = by.iter().map(|name| format!("{name} IS ?")).collect();
        let sql = format!("SELECT {table}_id FROM {table} WHERE {}", wanted.join(" AND "));
        let values = by.iter().map(|name| fields.get(*name).map_or(Sql::Null, as_sql));
        let found = self
            .transaction
            .prepare_cached(&sql)?
            .query_row(params_from_iter(values), |row| row.get(0))
            .optional()?;
        match found {
            Some(known) => Ok(known),
            None => self.put_fields(table, &[], vec![(table, fields)]),
        }
    }

    fn columns_of(&self, table: &'static str) -> rusqlite::Result<Vec<String>> {
        if let Some(known) = self.columns.borrow().get(table) {
            return Ok(known.clone());
        }
        let mut names = self.transaction.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names: Vec<String> = names.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        self.columns.borrow_mut().insert(table, names.clone());
        Ok(names)
    }
}

/// Lists and maps are kept as JSON text, which SQLite can look into.
fn as_sql(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Bool(flag) => Sql::Integer(i64::from(*flag)),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(count), _, _) => Sql::Integer(whole(count)),
            (None, Some(count), _) => Sql::Integer(count),
            (None, None, real) => Sql::Real(real.unwrap_or_default()),
        },
        Value::String(text) => Sql::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => Sql::Text(value.to_string()),
    }
}

/// SQLite's integers are signed: a count beyond 2^63 is none that was ever measured.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn fields<T: Serialize>(value: &T) -> anyhow::Result<Fields> {
    match serde_json::to_value(value)? {
        Value::Object(fields) => Ok(fields),
        other => bail!("{other} has no fields"),
    }
}

/// Takes a field out; what is absent is null.
fn take(fields: &mut Fields, name: &str) -> Value {
    fields.shift_remove(name).unwrap_or_default()
}

/// Takes a part out; one that is absent has no fields.
fn take_part(fields: &mut Fields, name: &str) -> Fields {
    match take(fields, name) {
        Value::Object(part) => part,
        _ => Fields::new(),
    }
}

fn rename(fields: &mut Fields, from: &str, to: &str) {
    if let Some(value) = fields.shift_remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

/// The spelling an enum has in JSON.
pub(super) fn word<T: Serialize>(value: &T) -> anyhow::Result<String> {
    match serde_json::to_value(value)? {
        Value::String(word) => Ok(word),
        other => bail!("{other} has no one-word spelling"),
    }
}
