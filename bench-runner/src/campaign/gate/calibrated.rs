//! Calibrations as they are stored: one file per machine, of one rule, one gate's file, one budget and one version of the runner.

use crate::export::{canonical, ensure_plain, replace_file};
use crate::gate::rates;
use crate::model::{
    Calibration, CalibrationGate, CalibrationSeries, CalibrationSides, GATE_RULE, Gate, GateOutcome,
    GateStage, HeadKind, InjectedAs, Tool,
};
use anyhow::{Context as _, bail, ensure};
use std::path::{Path, PathBuf};

/// Folder of the calibrations below the results.
pub(super) const FOLDER: &str = "calibration";

/// The calibration of a machine, if there is one for this gate's file, by this runner and its rule.
///
/// # Errors
/// There is one, and it cannot be read.
pub fn stored(results: &Path, machine_key: &str, gate_sha256: &str) -> anyhow::Result<Option<Calibration>> {
    Ok(read(results, machine_key)?.filter(|found| difference(found, gate_sha256).is_none()))
}

fn read(results: &Path, machine_key: &str) -> anyhow::Result<Option<Calibration>> {
    // The key comes from an artifact, and becomes the name of a file: it must not lead to another folder.
    if ensure_plain(machine_key).is_err() {
        return Ok(None);
    }
    let path = file(results, machine_key);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    serde_json::from_slice(&text).with_context(|| format!("{} is no calibration", path.display()))
}

pub(super) fn file(results: &Path, machine_key: &str) -> PathBuf {
    results.join(FOLDER).join(format!("{machine_key}.json"))
}

/// Why a calibration says nothing of the gates of this runner with this file.
fn difference(found: &Calibration, gate_sha256: &str) -> Option<&'static str> {
    if found.rule.as_deref() != Some(GATE_RULE) {
        Some("rule")
    } else if found.gate_sha256 != gate_sha256 {
        Some("gate's file")
    } else if found.tool.version != Tool::this().version {
        Some("version of the runner")
    } else {
        None
    }
}

/// The calibration that `begun` goes on with, or none. One of something else is renamed, and stays.
///
/// # Errors
/// It has another budget, or cannot be read or renamed.
pub(super) fn resumed(
    results: &Path,
    begun: &Calibration,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Option<Calibration>> {
    let path = file(results, &begun.machine_key);
    let Some(found) = read(results, &begun.machine_key)? else { return Ok(None) };
    let other = difference(&found, &begun.gate_sha256)
        .or_else(|| (found.machine.fingerprint != begun.machine.fingerprint).then_some("machine"));
    if let Some(what) = other {
        let aside = aside(&path);
        std::fs::rename(&path, &aside).with_context(|| format!("renaming {}", path.display()))?;
        tell(&format!("the calibration of another {what} is now {}; a new one begins", aside.display()));
        return Ok(None);
    }
    if let (Some(stored), Some(asked)) = (found.budget_s, begun.budget_s) {
        ensure!(
            (stored - asked).abs() < 0.5,
            "{} has gates with a budget of {stored} s, and {asked} s were given: pass --budget {stored}s, or rename the file",
            path.display()
        );
    }
    Ok(Some(found))
}

/// A name that no file has, and that no reader takes for a calibration.
fn aside(path: &Path) -> PathBuf {
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".old-{number}"));
        let name = PathBuf::from(name);
        if !name.exists() {
            return name;
        }
        number += 1;
    }
}

/// A gate as a calibration keeps it.
pub(super) fn kept(
    gate: &Gate,
    injected_percent: f64,
    injected_as: Option<InjectedAs>,
    injected: &str,
    head_kind: HeadKind,
) -> CalibrationGate {
    CalibrationGate {
        id: gate.id.clone(),
        started_at: gate.started_at.clone(),
        seed: gate.seed,
        injected_percent,
        injected_as,
        outcome: gate.outcome,
        reason: gate.reason.clone(),
        measured_s: (gate.measured_s * 10.0).round() / 10.0,
        unfinished: is_unfinished(gate),
        sides: Some(CalibrationSides {
            commit: gate.base.commit.clone(),
            base_stripped_sha256: gate.base.stripped_sha256.clone(),
            head_stripped_sha256: gate.head.stripped_sha256.clone(),
            head_kind,
            injected: injected.to_owned(),
            runner: gate.tool.version.clone(),
        }),
        series: gate
            .verdicts
            .iter()
            .map(|one| CalibrationSeries {
                scenario: one.scenario.clone(),
                metric: one.metric.clone(),
                outcome: one.outcome,
                confirmed: one.stage == GateStage::Sequential,
                ratio: one.ratio,
            })
            .collect(),
    }
}

/// Whether a gate says nothing of the rule: it was not measured, or its time was up before its series were decided.
fn is_unfinished(gate: &Gate) -> bool {
    let has_time = |one: &crate::model::GateVerdict| {
        one.evidence.is_none_or(|evidence| evidence.is_finished(one.blocks.len()))
    };
    match gate.outcome {
        GateOutcome::NotMeasured => true,
        GateOutcome::Inconclusive => {
            !gate.left_out.is_empty()
                || gate.verdicts.is_empty()
                || gate.verdicts.iter().any(|one| one.outcome == GateOutcome::Inconclusive && !has_time(one))
        }
        GateOutcome::Pass | GateOutcome::Improvement | GateOutcome::Regression => false,
    }
}

/// Adds a gate, and counts anew.
pub(super) fn push(calibration: &mut Calibration, gate: CalibrationGate) {
    calibration.gates.push(gate);
    calibration.rates = rates(&calibration.gates);
    calibration.tool = Tool::this();
}

/// Adds gates whose change made no difference, as CI measures them, to the calibration of their machine. Returns it, its file, and
/// how many were new.
///
/// # Errors
/// There is no calibration, or a gate is not one that it could have carried out itself: then none is added.
pub fn add_identical(
    results: &Path,
    gate_sha256: &str,
    gates: &[Gate],
) -> anyhow::Result<(Calibration, PathBuf, usize)> {
    let machine_key = gates.first().context("no gate was given")?.machine_key.clone();
    let path = file(results, &machine_key);
    let mut calibration = stored(results, &machine_key, gate_sha256)?.with_context(|| {
        format!("{} is no calibration of this gate's file, rule and runner: make one with `bench-runner calibrate`", path.display())
    })?;
    let mut new = 0;
    for gate in gates {
        if let Some(why) = refused(&calibration, gate) {
            bail!("{} is not added: {why}", gate.id);
        }
        if calibration.gates.iter().all(|one| one.id != gate.id) {
            push(&mut calibration, kept(gate, 0.0, None, "", HeadKind::Identical));
            new += 1;
        }
    }
    write(&path, &calibration)?;
    Ok((calibration, path, new))
}

/// Why a gate cannot be counted.
fn refused(calibration: &Calibration, gate: &Gate) -> Option<String> {
    let series = |one: &str| calibration.noise.iter().any(|noise| noise.scenario == one);
    if !gate.identical {
        Some(
            "base and head were not the same program in layouts of their own; see `gate --measure-identical`"
                .to_owned(),
        )
    } else if gate.machine_key != calibration.machine_key
        || gate.machine.fingerprint != calibration.machine.fingerprint
    {
        Some(format!("it was measured on {}, and this is of {}", gate.machine_key, calibration.machine_key))
    } else if gate.tool.version != calibration.tool.version {
        Some(format!("it is of runner {}, and this of {}", gate.tool.version, calibration.tool.version))
    } else if calibration.budget_s.is_some_and(|budget| (budget - gate.budget_s).abs() >= 0.5) {
        Some(format!(
            "its budget was {} s, and {:?} s are calibrated",
            gate.budget_s,
            calibration.budget_s.unwrap_or(0.0)
        ))
    } else if !gate.verdicts.iter().all(|one| one.stage == GateStage::Counted || series(&one.scenario)) {
        Some("it measured other loads".to_owned())
    } else {
        None
    }
}

/// Whole or not at all.
pub(super) fn write(path: &Path, calibration: &Calibration) -> anyhow::Result<()> {
    let told = || format!("writing {}", path.display());
    let folder = path.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder).with_context(told)?;
    replace_file(path, canonical::to_text(calibration)?.as_bytes()).with_context(told)
}

#[cfg(test)]
#[path = "calibrated_test.rs"]
mod tests;
