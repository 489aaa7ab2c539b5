//! Rows of what was measured: cells, trials, values, histograms, ratios.

use super::{Rows, fields, rename, take, take_part, whole};
use crate::model::{Cell, Direction, Distribution, Histogram, Measurement, ScenarioRecord, Trial, metric};
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::params;
use serde_json::json;
use std::collections::HashMap;

/// Unit and direction that a scenario's record gives its metrics; the metric table knows those it does not name.
struct Units<'a> {
    scenario: i64,
    told: HashMap<(&'a str, Option<&'a str>), (&'a str, Direction)>,
}

impl Rows<'_> {
    /// Every cell of a scenario's record, then what lies between them.
    pub(super) fn cells(
        &self,
        campaign: i64,
        scenario: i64,
        targets: &HashMap<&str, i64>,
        record: &ScenarioRecord,
    ) -> anyhow::Result<()> {
        let told =
            record.cells.iter().flat_map(|cell| &cell.measurements).map(|one| {
                ((one.metric.as_str(), one.operation.as_deref()), (one.unit.as_str(), one.direction))
            });
        let units = Units { scenario, told: told.collect() };
        let mut ids = HashMap::new();
        for cell in &record.cells {
            let target = targets.get(cell.target.as_str()).copied();
            let id =
                self.cell(campaign, target, &units, cell).with_context(|| format!("cell {}", cell.key))?;
            ids.insert(cell.key.as_str(), id);
        }
        for ratio in &record.ratios {
            let id = |key: &str| {
                let found = ids.get(key).copied();
                found
                    .with_context(|| format!("a ratio names cell '{key}', which the record does not hold"))
                    .map(Some)
            };
            let mut all = fields(ratio)?;
            for key in ["numerator", "denominator", "metric", "operation"] {
                take(&mut all, key);
            }
            let ids = [
                ("series_id", Some(self.series(&units, &ratio.metric, ratio.operation.as_deref())?)),
                ("numerator_cell_id", id(&ratio.numerator)?),
                ("denominator_cell_id", id(&ratio.denominator)?),
            ];
            self.put_fields("ratio", &ids, vec![("ratio", all)])?;
        }
        Ok(())
    }

    fn cell(&self, campaign: i64, target: Option<i64>, units: &Units, cell: &Cell) -> anyhow::Result<i64> {
        // Without what has rows of its own, which would be spelled out as JSON only to be thrown away.
        let bare = Cell {
            measurements: Vec::new(),
            distributions: Vec::new(),
            merged_histograms: Vec::new(),
            trials: Vec::new(),
            ..cell.clone()
        };
        let mut all = fields(&bare)?;
        for list in ["measurements", "distributions", "trials"] {
            take(&mut all, list);
        }
        let axes = take_part(&mut all, "axes");
        let ids =
            [("campaign_id", Some(campaign)), ("scenario_id", Some(units.scenario)), ("target_id", target)];
        let id = self.put_fields("cell", &ids, vec![("cell", all), ("axes", axes)])?;
        for trial in &cell.trials {
            self.trial(id, units, trial).with_context(|| format!("trial {}", trial.index))?;
        }
        for merged in &cell.merged_histograms {
            self.histogram(id, None, merged)?;
        }
        for (place, measured) in cell.measurements.iter().enumerate() {
            self.summary(id, place, units, measured)?;
        }
        for (place, distribution) in cell.distributions.iter().enumerate() {
            self.distribution(id, place, distribution)?;
        }
        Ok(id)
    }

    fn summary(&self, cell: i64, place: usize, units: &Units, measured: &Measurement) -> anyhow::Result<()> {
        let mut all = fields(measured)?;
        for of_the_series in ["metric", "operation", "unit", "direction"] {
            take(&mut all, of_the_series);
        }
        all.insert("place".to_owned(), json!(place));
        // Its own unit, not the scenario's: cells of one record are never told apart, but it is the record that says.
        let own = (measured.unit.as_str(), measured.direction);
        let series = self.series_of(units.scenario, &measured.metric, measured.operation.as_deref(), own)?;
        let ids = [("cell_id", Some(cell)), ("series_id", Some(series))];
        self.put_fields("summary", &ids, vec![("summary", all)])?;
        Ok(())
    }

    fn distribution(&self, cell: i64, place: usize, distribution: &Distribution) -> anyhow::Result<()> {
        let mut all = fields(distribution)?;
        all.insert("place".to_owned(), json!(place));
        self.put_fields("distribution", &[("cell_id", Some(cell))], vec![("distribution", all)])?;
        Ok(())
    }

    fn trial(&self, cell: i64, units: &Units, trial: &Trial) -> anyhow::Result<()> {
        let bare = Trial { values: Vec::new(), histograms: Vec::new(), windows: Vec::new(), ..trial.clone() };
        let mut all = fields(&bare)?;
        for list in ["values", "histograms", "windows"] {
            take(&mut all, list);
        }
        let counts = take_part(&mut all, "counts");
        let process = take_part(&mut all, "process");
        let open_loop = take_part(&mut all, "open_loop");
        let os = take_part(&mut all, "os");
        rename(&mut all, "index", "trial_index");
        let parts = vec![("trial", all), ("counts", counts), ("process", process)];
        let id = self.put_fields("trial", &[("cell_id", Some(cell))], parts)?;
        let of_trial = [("trial_id", Some(id))];
        if !open_loop.is_empty() {
            self.put_fields("open_loop", &of_trial, vec![("open_loop", open_loop)])?;
        }
        if !os.is_empty() {
            self.put_fields("os_stat", &of_trial, vec![("os", os)])?;
        }
        for (place, value) in trial.values.iter().enumerate() {
            let series = self.series(units, &value.metric, value.operation.as_deref())?;
            self.put(
                "INSERT INTO value (trial_id, series_id, value, place) VALUES (?1, ?2, ?3, ?4)",
                params![id, series, value.value, whole(place as u64)],
            )
            .with_context(|| format!("value {}", value.metric))?;
        }
        for histogram in &trial.histograms {
            self.histogram(cell, Some(id), histogram)?;
        }
        for (place, window) in trial.windows.iter().enumerate() {
            let ids = [("trial_id", Some(id)), ("window_index", Some(whole(place as u64)))];
            self.put_fields("window", &ids, vec![("window", fields(window)?)])?;
        }
        Ok(())
    }

    fn histogram(&self, cell: i64, trial: Option<i64>, stored: &Histogram) -> anyhow::Result<()> {
        let bytes = STANDARD
            .decode(&stored.hdr_v2_deflate_base64)
            .with_context(|| format!("histogram of '{}': not base64", stored.operation))?;
        self.put(
            "INSERT INTO histogram (cell_id, trial_id, operation, hdr_v2_deflate, low_ns, high_ns, digits, count, clipped, \
             from_intended_start) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                cell,
                trial,
                stored.operation,
                bytes,
                whole(stored.low_ns),
                whole(stored.high_ns),
                stored.digits,
                whole(stored.count),
                whole(stored.clipped),
                stored.from_intended_start,
            ],
        )?;
        Ok(())
    }

    fn series(&self, units: &Units, name: &str, operation: Option<&str>) -> anyhow::Result<i64> {
        let described = || {
            let (unit, direction, _) = metric::describe(name);
            (unit, direction)
        };
        let unit = units.told.get(&(name, operation)).copied().unwrap_or_else(described);
        self.series_of(units.scenario, name, operation, unit)
    }

    fn series_of(
        &self,
        scenario: i64,
        name: &str,
        operation: Option<&str>,
        (unit, direction): (&str, Direction),
    ) -> anyhow::Result<i64> {
        let all = fields(&json!({
            "scenario_id": scenario, "metric": name, "operation": operation.unwrap_or_default(),
            "unit": unit, "direction": direction,
        }))?;
        self.shared("series", &["scenario_id", "metric", "operation", "unit", "direction"], all)
    }
}
