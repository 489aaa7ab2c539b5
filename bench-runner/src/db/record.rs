//! From rows back to the records they were made from, byte for byte.

use super::insert::Fields;
use crate::export::{canonical, contents, of_value};
use crate::model::{
    Cell, Distribution, Histogram, Measurement, RUN_SCHEMA, Ratio, Run, SCENARIO_SCHEMA, ScenarioRecord,
    Trial, Value as Measured,
};
use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Columns that hold JSON text.
const JSON: &[(&str, &[&str])] = &[
    ("campaign", &["reproduce", "notes"]),
    ("environment", &["mitigations", "cgroup_controllers", "tools"]),
    ("target", &["command", "settings"]),
    ("scenario", &["params"]),
    ("trial", &["cgroup", "limit_files", "facts"]),
    ("distribution", &["points"]),
];
/// Columns that hold yes or no.
const FLAGS: &[&str] = &["dirty", "available", "is_static", "from_intended_start"];

/// A run with the version its files have, and the digest of its `run.json`.
pub(super) struct Written<'a> {
    /// With what it says of its files filled in.
    pub(super) run: Run,
    pub(super) scenarios: Cow<'a, [ScenarioRecord]>,
    pub(super) record_sha256: String,
}

/// The run as its files spell it.
pub(super) fn as_written<'a>(
    run: &Run,
    scenarios: &'a [ScenarioRecord],
    version: u32,
) -> anyhow::Result<Written<'a>> {
    let mut run = run.clone();
    run.schema_version = version;
    let mut scenarios = Cow::Borrowed(scenarios);
    if scenarios.iter().any(|record| record.schema_version != version) {
        scenarios.to_mut().iter_mut().for_each(|record| record.schema_version = version);
    }
    let files = contents(&mut run, &scenarios)?;
    let record_sha256 = files.first().map(|(_, bytes)| canonical::sha256_hex(bytes)).unwrap_or_default();
    Ok(Written { run, scenarios, record_sha256 })
}

/// The records of a campaign, checked against the digest of what was entered. Their version is that of the
/// files they were read from, so that written they are the same files.
pub(super) fn load(connection: &Connection, campaign: i64) -> anyhow::Result<(Run, Vec<ScenarioRecord>)> {
    let rows = Reader { connection };
    let mut all = rows
        .one("campaign", "SELECT * FROM campaign WHERE campaign_id = ?1", campaign)?
        .context("no such campaign")?;
    let version = all.get("schema_version").and_then(Value::as_u64);
    let version = u32::try_from(version.context(
        "the campaign was entered by an older bench-runner, which did not keep all of the record; \
         'bench-runner db rebuild' enters it again from the JSON",
    )?)?;
    let digest = text(&all, "record_sha256");
    let mut scenarios = Vec::new();
    let entries = rows.all(
        "scenario_record",
        "SELECT * FROM scenario_record WHERE campaign_id = ?1 ORDER BY place",
        &[campaign],
    )?;
    for mut entry in entries {
        scenarios.push(rows.scenario(campaign, version, &all, &mut entry)?);
    }
    let run = rows.run(campaign, &mut all)?;
    let written = as_written(&run, &scenarios, version)?;
    ensure!(
        written.record_sha256 == digest,
        "the rows of run '{}' make another record than the one that was entered (sha256 {}, not {digest}); \
         'bench-runner db rebuild' enters it again from the JSON",
        run.id,
        written.record_sha256
    );
    Ok((written.run, written.scenarios.into_owned()))
}

struct Reader<'a> {
    connection: &'a Connection,
}

impl Reader<'_> {
    fn run(&self, campaign: i64, all: &mut Fields) -> anyhow::Result<Run> {
        let (machine, environment, harness) =
            (id(all, "machine_id"), id(all, "environment_id"), id(all, "harness_id"));
        for row_only in
            ["campaign_id", "machine_id", "environment_id", "harness_id", "record_sha256", "sealed"]
        {
            all.shift_remove(row_only);
        }
        let mut source = part(all, "source", Some(&["commit_id", "dirty", "source_version", "engine_tree"]));
        let mut run = part(all, "run", None);
        run.insert("schema".to_owned(), RUN_SCHEMA.into());
        move_field(&mut run, "run_id", "id");
        move_field(&mut source, "commit_id", "commit");
        move_field(&mut source, "source_version", "version");
        let mut machine = self.shared("machine", machine)?;
        run.insert("machine_key".to_owned(), machine.shift_remove("machine_key").unwrap_or_default());
        run.insert("machine".to_owned(), machine.into());
        run.insert("environment".to_owned(), self.shared("environment", environment)?.into());
        run.insert("tool".to_owned(), self.shared("harness", harness)?.into());
        run.insert("source".to_owned(), source.into());
        run.insert("targets".to_owned(), self.targets(campaign)?.into());
        run.insert("scenarios".to_owned(), json!([]));
        run.insert("components".to_owned(), self.components(campaign)?.into());
        typed("campaign", run)
    }

    fn targets(&self, campaign: i64) -> anyhow::Result<Vec<Value>> {
        let rows = self.all(
            "target",
            "SELECT * FROM target WHERE campaign_id = ?1 ORDER BY target_id",
            &[campaign],
        )?;
        rows.into_iter()
            .map(|mut row| {
                let build = row.get("build_id").and_then(Value::as_i64);
                for row_only in ["target_id", "campaign_id", "build_id"] {
                    row.shift_remove(row_only);
                }
                let names: Vec<String> =
                    row.keys().filter(|name| name.starts_with("image_")).cloned().collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let image = part(&mut row, "image", Some(&names));
                let mut target = part(&mut row, "target", None);
                if let Some(build) = build {
                    target.insert("build".to_owned(), self.shared("build", build)?.into());
                }
                if !image.is_empty() {
                    let bare = |name: String| name.strip_prefix("image_").unwrap_or(&name).to_owned();
                    let image: Fields = image.into_iter().map(|(name, value)| (bare(name), value)).collect();
                    target.insert("image".to_owned(), image.into());
                }
                Ok(target.into())
            })
            .collect()
    }

    fn components(&self, campaign: i64) -> anyhow::Result<Vec<Value>> {
        let sql = "SELECT * FROM component WHERE campaign_id = ?1 ORDER BY component_id";
        let rows = self.all("component", sql, &[campaign])?;
        Ok(rows
            .into_iter()
            .map(|mut row| {
                for row_only in ["component_id", "campaign_id"] {
                    row.shift_remove(row_only);
                }
                let mut component = part(&mut row, "component", None);
                move_field(&mut component, "group_name", "group");
                component.into()
            })
            .collect())
    }

    fn scenario(
        &self,
        campaign: i64,
        version: u32,
        run: &Fields,
        entry: &mut Fields,
    ) -> anyhow::Result<ScenarioRecord> {
        let scenario = id(entry, "scenario_id");
        let mut info = self.shared("scenario", scenario)?;
        if let Some(Value::String(params)) = entry.get("params") {
            info.insert("params".to_owned(), serde_json::from_str(params)?);
        }
        let machine = self.shared("machine", id(run, "machine_id"))?;
        let mut cells = Vec::new();
        let sql = "SELECT * FROM cell WHERE campaign_id = ?1 AND scenario_id = ?2 ORDER BY cell_id";
        for row in self.all("cell", sql, &[campaign, scenario])? {
            cells.push(self.cell(row)?);
        }
        Ok(ScenarioRecord {
            schema: SCENARIO_SCHEMA.to_owned(),
            schema_version: version,
            tool: typed("harness", self.shared("harness", id(entry, "harness_id"))?)?,
            run_id: text(run, "run_id"),
            version: text(run, "version"),
            machine_key: text(&machine, "machine_key"),
            profile: of_value(run.get("profile").unwrap_or(&Value::Null))?,
            scenario: typed("scenario", info)?,
            cells,
            ratios: self.ratios(campaign, scenario)?,
        })
    }

    fn ratios(&self, campaign: i64, scenario: i64) -> anyhow::Result<Vec<Ratio>> {
        let sql = "SELECT ratio.*, series.metric, nullif(series.operation, '') AS operation, above.key AS numerator, \
                   below.key AS denominator FROM ratio JOIN series USING (series_id) \
                   JOIN cell AS above ON above.cell_id = numerator_cell_id \
                   JOIN cell AS below ON below.cell_id = denominator_cell_id \
                   WHERE above.campaign_id = ?1 AND above.scenario_id = ?2 ORDER BY ratio_id";
        let rows = self.all("ratio", sql, &[campaign, scenario])?;
        rows.into_iter()
            .map(|mut row| {
                for row_only in ["ratio_id", "series_id", "numerator_cell_id", "denominator_cell_id"] {
                    row.shift_remove(row_only);
                }
                typed("ratio", part(&mut row, "ratio", None))
            })
            .collect()
    }

    fn cell(&self, mut row: Fields) -> anyhow::Result<Cell> {
        let cell = id(&row, "cell_id");
        for row_only in ["cell_id", "campaign_id", "scenario_id", "target_id"] {
            row.shift_remove(row_only);
        }
        let own = ["key", "target", "mode", "placement", "label", "status", "reason"];
        let mut record = part(&mut row, "cell", Some(&own));
        record.insert("axes".to_owned(), part(&mut row, "axes", None).into());
        for list in ["measurements", "distributions", "trials"] {
            record.insert(list.to_owned(), json!([]));
        }
        let mut record: Cell = typed("cell", record)?;
        let sql = "SELECT * FROM trial WHERE cell_id = ?1 ORDER BY trial_id";
        for row in self.all("trial", sql, &[cell])? {
            record.trials.push(self.trial(row)?);
        }
        let sql = "SELECT * FROM histogram WHERE cell_id = ?1 AND trial_id IS NULL ORDER BY histogram_id";
        record.merged_histograms = self.histograms(sql, cell)?;
        let sql = "SELECT summary.*, metric, nullif(operation, '') AS operation, unit, direction FROM summary \
                   JOIN series USING (series_id) WHERE cell_id = ?1 ORDER BY place";
        for mut row in self.all("summary", sql, &[cell])? {
            for row_only in ["cell_id", "series_id", "place"] {
                row.shift_remove(row_only);
            }
            record.measurements.push(typed::<Measurement>("summary", part(&mut row, "summary", None))?);
        }
        let sql = "SELECT operation, count, points FROM distribution WHERE cell_id = ?1 ORDER BY place";
        for row in self.all("distribution", sql, &[cell])? {
            record.distributions.push(typed::<Distribution>("distribution", row)?);
        }
        Ok(record)
    }

    fn trial(&self, mut row: Fields) -> anyhow::Result<Trial> {
        let trial = id(&row, "trial_id");
        // block and side are no part of a record.
        for row_only in ["trial_id", "cell_id", "block", "side"] {
            row.shift_remove(row_only);
        }
        let own = ["trial_index", "position", "status", "reason", "elapsed_s", "facts"];
        let mut record = part(&mut row, "trial", Some(&own));
        move_field(&mut record, "trial_index", "index");
        let counts = part(&mut row, "counts", Some(&["operations", "hits", "misses", "errors"]));
        record.insert("counts".to_owned(), counts.into());
        let process = part(&mut row, "process", None);
        if !process.is_empty() {
            record.insert("process".to_owned(), process.into());
        }
        for (table, name) in [("open_loop", "open_loop"), ("os_stat", "os")] {
            let sql = format!("SELECT * FROM {table} WHERE trial_id = ?1");
            if let Some(mut found) = self.one(table, &sql, trial)? {
                found.shift_remove("trial_id");
                record.insert(name.to_owned(), part(&mut found, name, None).into());
            }
        }
        let mut windows = Vec::new();
        let sql = "SELECT * FROM window WHERE trial_id = ?1 ORDER BY window_index";
        for mut window in self.all("window", sql, &[trial])? {
            window.shift_remove("trial_id");
            window.shift_remove("window_index");
            windows.push(Value::from(part(&mut window, "window", None)));
        }
        record.insert("windows".to_owned(), windows.into());
        record.insert("values".to_owned(), json!([]));
        record.insert("histograms".to_owned(), json!([]));
        let mut record: Trial = typed("trial", record)?;
        let sql = "SELECT metric, nullif(operation, '') AS operation, value FROM value JOIN series USING (series_id) \
                   WHERE trial_id = ?1 ORDER BY place";
        for row in self.all("value", sql, &[trial])? {
            record.values.push(typed::<Measured>("value", row)?);
        }
        let sql = "SELECT * FROM histogram WHERE trial_id = ?1 ORDER BY histogram_id";
        record.histograms = self.histograms(sql, trial)?;
        Ok(record)
    }

    fn histograms(&self, sql: &str, of: i64) -> anyhow::Result<Vec<Histogram>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([of], |row| {
            let bytes: Vec<u8> = row.get("hdr_v2_deflate")?;
            let count = |column: &str| row.get::<_, i64>(column).map(i64::cast_unsigned);
            Ok(Histogram {
                operation: row.get("operation")?,
                hdr_v2_deflate_base64: STANDARD.encode(bytes),
                hdr_v2: None,
                low_ns: count("low_ns")?,
                high_ns: count("high_ns")?,
                digits: row.get("digits")?,
                count: count("count")?,
                clipped: count("clipped")?,
                from_intended_start: row.get("from_intended_start")?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// A row that campaigns share, without its id.
    fn shared(&self, table: &str, id: i64) -> anyhow::Result<Fields> {
        let sql = format!("SELECT * FROM {table} WHERE {table}_id = ?1");
        let mut row = self.one(table, &sql, id)?.with_context(|| format!("{table} {id} is gone"))?;
        row.shift_remove(&format!("{table}_id"));
        Ok(part(&mut row, table, None))
    }

    fn one(&self, table: &str, sql: &str, id: i64) -> anyhow::Result<Option<Fields>> {
        let found =
            self.connection.prepare_cached(sql)?.query_row([id], |row| Ok(read(table, row))).optional()?;
        found.transpose()
    }

    fn all(&self, table: &str, sql: &str, by: &[i64]) -> anyhow::Result<Vec<Fields>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params_from_iter(by), |row| Ok(read(table, row)))?;
        rows.map(|row| row?).collect()
    }
}

/// A row as fields: what is NULL is absent, as in the record.
fn read(table: &str, row: &Row) -> anyhow::Result<Fields> {
    let texts = JSON.iter().find(|(name, _)| *name == table).map_or(&[][..], |(_, columns)| columns);
    let mut fields = Fields::new();
    for (place, column) in row.as_ref().column_names().enumerate() {
        let value = match row.get_ref(place)? {
            ValueRef::Null => continue,
            ValueRef::Integer(number) if FLAGS.contains(&column) => json!(number != 0),
            ValueRef::Integer(number) => json!(number),
            ValueRef::Real(number) => json!(number),
            ValueRef::Text(text) if column == "more" || texts.contains(&column) => {
                serde_json::from_slice(text).with_context(|| format!("{table}.{column}"))?
            }
            ValueRef::Text(text) => json!(std::str::from_utf8(text)?),
            ValueRef::Blob(_) => continue,
        };
        fields.insert(column.to_owned(), value);
    }
    Ok(fields)
}

/// Takes a part of a record out of a row: these columns, or all that are left, and what `more` keeps for it.
fn part(row: &mut Fields, name: &str, columns: Option<&[&str]>) -> Fields {
    let mut fields = Fields::new();
    let kept = row.get_mut("more").and_then(|more| more.get_mut(name)).map(Value::take);
    let left: Vec<String> = match columns {
        Some(columns) => columns.iter().map(|column| (*column).to_owned()).collect(),
        None => row.keys().filter(|column| *column != "more").cloned().collect(),
    };
    for column in left {
        if let Some(value) = row.shift_remove(&column) {
            fields.insert(column, value);
        }
    }
    if let Some(Value::Object(kept)) = kept {
        fields.extend(kept);
    }
    fields
}

fn move_field(fields: &mut Fields, from: &str, to: &str) {
    if let Some(value) = fields.shift_remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

fn typed<T: DeserializeOwned>(table: &str, fields: Fields) -> anyhow::Result<T> {
    of_value(&fields.into()).with_context(|| format!("a row of {table} is no part of a record"))
}

fn id(fields: &Fields, name: &str) -> i64 {
    fields.get(name).and_then(Value::as_i64).unwrap_or_default()
}

fn text(fields: &Fields, name: &str) -> String {
    fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "record_test.rs"]
mod tests;
