//! Rows of what was measured: scenarios, cells, trials, values, histograms, ratios.

use super::{Rows, text, whole, word};
use crate::model::{Cell, Histogram, OsStat, Ratio, ScenarioInfo, Trial, metric};
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::params;
use std::collections::HashMap;

impl Rows<'_> {
    pub(super) fn scenario(&self, info: &ScenarioInfo) -> anyhow::Result<i64> {
        let found = self.shared(
            "SELECT scenario_id FROM scenario WHERE key = ?1 AND revision = ?2 AND params_sha256 = ?3 AND title = ?4 \
             AND kind = ?5 AND analysis = ?6 AND validity = ?7 AND not_measured = ?8",
            params![
                info.key,
                info.revision,
                info.params_sha256,
                info.title,
                info.kind,
                info.analysis,
                info.validity,
                info.not_measured,
            ],
        )?;
        if let Some(known) = found {
            return Ok(known);
        }
        Ok(self.put(
            "INSERT INTO scenario (key, revision, title, kind, analysis, validity, not_measured, params, params_sha256) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                info.key,
                info.revision,
                info.title,
                info.kind,
                info.analysis,
                info.validity,
                info.not_measured,
                text(&info.params)?,
                info.params_sha256,
            ],
        )?)
    }

    pub(super) fn cell(
        &self,
        campaign: i64,
        scenario: i64,
        target: Option<i64>,
        cell: &Cell,
    ) -> anyhow::Result<i64> {
        let axes = &cell.axes;
        let id = self.put(
            "INSERT INTO cell (campaign_id, scenario_id, target_id, key, target, mode, placement, operation, clients, \
             pipeline, value_bytes, set_percent, cap_bytes, requests, label, status, reason) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
            params![
                campaign,
                scenario,
                target,
                cell.key,
                cell.target,
                word(&cell.mode)?,
                word(&cell.placement)?,
                axes.operation,
                axes.clients,
                axes.pipeline,
                axes.value_bytes,
                axes.set_percent,
                axes.cap_bytes.map(whole),
                axes.requests.map(whole),
                cell.label,
                word(&cell.status)?,
                cell.reason,
            ],
        )?;
        for trial in &cell.trials {
            self.trial(id, scenario, trial).with_context(|| format!("trial {}", trial.index))?;
        }
        for merged in &cell.merged_histograms {
            self.histogram(id, None, merged)?;
        }
        for measured in &cell.measurements {
            let series = self.series(scenario, &measured.metric, measured.operation.as_deref())?;
            self.put(
                "INSERT INTO summary (cell_id, series_id, median, low, high, spread, n) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    id,
                    series,
                    measured.median,
                    measured.low,
                    measured.high,
                    word(&measured.spread)?,
                    measured.n,
                ],
            )?;
        }
        Ok(id)
    }

    fn trial(&self, cell: i64, scenario: i64, trial: &Trial) -> anyhow::Result<()> {
        let process = trial.process.as_ref();
        let id = self.put(
            "INSERT INTO trial (cell_id, trial_index, position, status, reason, elapsed_s, operations, hits, misses, errors, \
             pid, runtime, oci_runtime, container_id, image_digest, binary_sha256, cgroup, cpu_limit, memory_limit_bytes, \
             limit_files, cpus_allowed, generator_cpus, cpu_time_source, rss_bytes_start, facts) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, \
             ?24, ?25)",
            params![
                cell,
                trial.index,
                trial.position,
                word(&trial.status)?,
                trial.reason,
                trial.elapsed_s,
                whole(trial.counts.operations),
                whole(trial.counts.hits),
                whole(trial.counts.misses),
                whole(trial.counts.errors),
                process.map(|process| process.pid),
                process.and_then(|process| process.runtime.as_ref()),
                process.and_then(|process| process.oci_runtime.as_ref()),
                process.and_then(|process| process.container_id.as_ref()),
                process.and_then(|process| process.image_digest.as_ref()),
                process.map(|process| &process.binary_sha256),
                process.map(|process| text(&process.cgroup)).transpose()?,
                process.and_then(|process| process.cpu_limit),
                process.and_then(|process| process.memory_limit_bytes).map(whole),
                process.map(|process| text(&process.limit_files)).transpose()?,
                process.map(|process| &process.cpus_allowed),
                process.map(|process| &process.generator_cpus),
                process.map(|process| &process.cpu_time_source),
                process.map(|process| whole(process.rss_bytes_start)),
                text(&trial.facts)?,
            ],
        )?;
        for value in &trial.values {
            let series = self.series(scenario, &value.metric, value.operation.as_deref())?;
            self.put(
                "INSERT INTO value (trial_id, series_id, value) VALUES (?1, ?2, ?3)",
                params![id, series, value.value],
            )
            .with_context(|| format!("value {}", value.metric))?;
        }
        for histogram in &trial.histograms {
            self.histogram(cell, Some(id), histogram)?;
        }
        for (index, window) in trial.windows.iter().enumerate() {
            self.put(
                "INSERT INTO window (trial_id, window_index, start_ms, length_ms, operations) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, whole(index as u64), window.start_ms, window.length_ms, whole(window.operations)],
            )?;
        }
        trial.os.as_ref().map(|os| self.os_stat(id, os)).transpose()?;
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

    fn os_stat(&self, trial: i64, os: &OsStat) -> rusqlite::Result<i64> {
        self.put(
            "INSERT INTO os_stat (trial_id, server_cpu_ns, server_user_ns, server_system_ns, generator_cpu_ns, \
             generator_busy_max, foreign_cpu_cores, steal_ms, throttled_ms, involuntary_switches, voluntary_switches, \
             rss_bytes_end, rss_bytes_peak) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                trial,
                whole(os.server_cpu_ns),
                whole(os.server_user_ns),
                whole(os.server_system_ns),
                whole(os.generator_cpu_ns),
                os.generator_busy_max,
                os.foreign_cpu_cores,
                os.steal_ms,
                os.throttled_ms,
                whole(os.involuntary_switches),
                whole(os.voluntary_switches),
                whole(os.rss_bytes_end),
                whole(os.rss_bytes_peak),
            ],
        )
    }

    fn series(&self, scenario: i64, name: &str, operation: Option<&str>) -> anyhow::Result<i64> {
        let operation = operation.unwrap_or_default();
        let found = self.shared(
            "SELECT series_id FROM series WHERE scenario_id = ?1 AND metric = ?2 AND operation = ?3",
            params![scenario, name, operation],
        )?;
        if let Some(known) = found {
            return Ok(known);
        }
        let (unit, direction, _) = metric::describe(name);
        Ok(self.put(
            "INSERT INTO series (scenario_id, metric, operation, unit, direction) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![scenario, name, operation, unit, word(&direction)?],
        )?)
    }

    pub(super) fn ratio(
        &self,
        scenario: i64,
        cells: &HashMap<&str, i64>,
        ratio: &Ratio,
    ) -> anyhow::Result<()> {
        let cell = |key: &str| {
            cells
                .get(key)
                .copied()
                .with_context(|| format!("a ratio names cell '{key}', which the record does not hold"))
        };
        let series = self.series(scenario, &ratio.metric, ratio.operation.as_deref())?;
        self.put(
            "INSERT INTO ratio (kind, series_id, numerator_cell_id, denominator_cell_id, median, low, high, spread, n) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                ratio.kind,
                series,
                cell(&ratio.numerator)?,
                cell(&ratio.denominator)?,
                ratio.median,
                ratio.low,
                ratio.high,
                word(&ratio.spread)?,
                ratio.n,
            ],
        )?;
        Ok(())
    }
}
