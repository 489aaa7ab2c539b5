//! From the records of a run to rows.
//!
//! Rows are written in the order of the records and ids are counted up, so that the same runs in the same order
//! make the same database, byte for byte in its dump.

use crate::model::{
    Build, Cell, Component, Environment, Histogram, Machine, OsStat, Ratio, Run, ScenarioInfo,
    ScenarioRecord, TargetRecord, Tool, Trial, metric,
};
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{OptionalExtension as _, Params, Transaction, params};
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

    fn campaign(&self, run: &Run) -> anyhow::Result<i64> {
        let machine = self.machine(&run.machine_key, &run.machine)?;
        let environment = self.environment(&run.environment)?;
        let harness = self.harness(&run.tool)?;
        Ok(self.put(
            "INSERT INTO campaign (run_id, version, machine_id, environment_id, harness_id, profile, purpose, started_at, \
             finished_at, elapsed_s, seed, state, command, reproduce, commit_id, dirty, source_version, notes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            params![
                run.id,
                run.version,
                machine,
                environment,
                harness,
                word(&run.profile)?,
                run.purpose,
                run.started_at,
                run.finished_at,
                run.elapsed_s,
                whole(run.seed),
                word(&run.state)?,
                run.command,
                text(&run.reproduce)?,
                run.source.commit,
                run.source.dirty,
                run.source.version,
                text(&run.notes)?,
            ],
        )?)
    }

    fn machine(&self, key: &str, machine: &Machine) -> rusqlite::Result<i64> {
        let found = self.shared(
            "SELECT machine_id FROM machine WHERE machine_key = ?1 AND fingerprint = ?2 AND title = ?3 AND class = ?4",
            params![key, machine.fingerprint, machine.title, machine.class],
        )?;
        if let Some(known) = found {
            return Ok(known);
        }
        self.put(
            "INSERT INTO machine (machine_key, fingerprint, title, class, cpu_model, architecture, cores, threads, \
             memory_gib, virtualisation) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                key,
                machine.fingerprint,
                machine.title,
                machine.class,
                machine.cpu_model,
                machine.architecture,
                machine.cores,
                machine.threads,
                machine.memory_gib,
                machine.virtualisation,
            ],
        )
    }

    fn environment(&self, found: &Environment) -> anyhow::Result<i64> {
        Ok(self.put(
            "INSERT INTO environment (os, kernel, governor, turbo, smt, transparent_hugepage, aslr, swap_bytes, mitigations, \
             cgroup_version, cgroup_controllers, container_runtime, container_reason, open_files_limit, somaxconn, \
             load_average_start, server_cpus, generator_cpus, tools) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            params![
                found.os,
                found.kernel,
                found.governor,
                found.turbo,
                found.smt,
                found.transparent_hugepage,
                found.aslr,
                whole(found.swap_bytes),
                text(&found.mitigations)?,
                found.cgroup_version,
                text(&found.cgroup_controllers)?,
                found.container_runtime,
                found.container_reason,
                whole(found.open_files_limit),
                found.somaxconn,
                found.load_average_start,
                found.server_cpus,
                found.generator_cpus,
                text(&found.tools)?,
            ],
        )?)
    }

    fn harness(&self, tool: &Tool) -> rusqlite::Result<i64> {
        let by = params![tool.name, tool.version];
        match self.shared("SELECT harness_id FROM harness WHERE name = ?1 AND version = ?2", by)? {
            Some(known) => Ok(known),
            None => self.put("INSERT INTO harness (name, version) VALUES (?1, ?2)", by),
        }
    }

    fn build(&self, build: &Build) -> rusqlite::Result<i64> {
        let by = params![build.file, build.sha256, build.profile, build.rustc, build.target, build.rustflags];
        let found = self.shared(
            "SELECT build_id FROM build WHERE file = ?1 AND sha256 = ?2 AND profile = ?3 AND rustc = ?4 AND target = ?5 \
             AND rustflags = ?6",
            by,
        )?;
        if let Some(known) = found {
            return Ok(known);
        }
        self.put(
            "INSERT INTO build (file, sha256, bytes, profile, rustc, target, rustflags, is_static) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                build.file,
                build.sha256,
                whole(build.bytes),
                build.profile,
                build.rustc,
                build.target,
                build.rustflags,
                build.is_static,
            ],
        )
    }

    fn target(&self, campaign: i64, target: &TargetRecord) -> anyhow::Result<i64> {
        let build = target.build.as_ref().map(|build| self.build(build)).transpose()?;
        let image = target.image.as_ref();
        Ok(self.put(
            "INSERT INTO target (campaign_id, key, title, role, available, reason, version, allocator, transport, durability, \
             command, settings, build_id, image_reference, image_digest, image_bytes, image_binary_sha256, image_runtime) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            params![
                campaign,
                target.key,
                target.title,
                word(&target.role)?,
                target.available,
                target.reason,
                target.version,
                target.allocator,
                target.transport,
                target.durability,
                text(&target.command)?,
                text(&target.settings)?,
                build,
                image.map(|image| &image.reference),
                image.map(|image| &image.digest),
                image.map(|image| whole(image.bytes)),
                image.map(|image| &image.binary_sha256),
                image.map(|image| &image.runtime),
            ],
        )?)
    }

    fn scenario(&self, info: &ScenarioInfo) -> anyhow::Result<i64> {
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

    fn cell(&self, campaign: i64, scenario: i64, target: Option<i64>, cell: &Cell) -> anyhow::Result<i64> {
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

    fn ratio(&self, scenario: i64, cells: &HashMap<&str, i64>, ratio: &Ratio) -> anyhow::Result<()> {
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

    fn component(&self, campaign: i64, component: &Component) -> rusqlite::Result<i64> {
        self.put(
            "INSERT INTO component (campaign_id, key, group_name, name, ns_per_op, ns_per_op_low, ns_per_op_high, estimate, \
             bytes_per_op) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                campaign,
                component.key,
                component.group,
                component.name,
                component.ns_per_op,
                component.ns_per_op_low,
                component.ns_per_op_high,
                component.estimate,
                component.bytes_per_op.map(whole),
            ],
        )
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
