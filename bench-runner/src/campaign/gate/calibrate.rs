//! How often does the gate err here? Gates of which the truth is known, one after the other, until the time is up; what is
//! done is kept, and the next time goes on behind it.

use super::{
    Collected, Course, LEAST_BLOCKS, Options, Rounds, Watch, builds, catalogue, draw_seed, fit, labs, run,
    steps,
};
use crate::export::{canonical, ensure_plain, replace_file};
use crate::gate::{Rules, Stored, noise, rates};
use crate::model::{
    CALIBRATION_SCHEMA, CALIBRATION_SCHEMA_VERSION, Calibration, CalibrationGate, CalibrationSeries, Gate,
    GateStage, InjectedAs, Tool,
};
use crate::scenario::{BuildRecipe, GateDefinition};
use anyhow::{Context as _, ensure};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Blocks from which the noise is taken before the first gate.
const NOISE_BLOCKS: usize = 20;

/// What is injected, in turns: more than every other gate compares the same with the same.
const ROUND: [(f64, Option<InjectedAs>); 9] = [
    (0.0, None),
    (10.0, Some(InjectedAs::Spin)),
    (0.0, None),
    (5.0, Some(InjectedAs::Spin)),
    (0.0, None),
    (10.0, Some(InjectedAs::Sleep)),
    (0.0, None),
    (5.0, Some(InjectedAs::Sleep)),
    (0.0, None),
];

/// Where calibrations stand below the results.
const FOLDER: &str = "calibration";

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Calibrating {
    /// Root of the checkout.
    pub root: PathBuf,
    /// Folder of the records.
    pub results: PathBuf,
    /// The gate's file.
    pub definition: GateDefinition,
    /// Its SHA-256.
    pub gate_sha256: String,
    /// The commit that is compared with itself.
    pub commit: String,
    /// No gate is begun after so much time.
    pub slice: Duration,
    /// No gate is begun once there are so many in all.
    pub gates: usize,
    /// Budget of each gate.
    pub budget: Duration,
    /// The command that was given.
    pub command: String,
}

/// The calibration of a machine, if there is one for this gate's file.
///
/// # Errors
/// There is one, and it cannot be read.
pub fn stored(results: &Path, machine_key: &str, gate_sha256: &str) -> anyhow::Result<Option<Calibration>> {
    // The name may be somebody else's: it is that of a file, and of none elsewhere.
    if ensure_plain(machine_key).is_err() {
        return Ok(None);
    }
    let path = file(results, machine_key);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let found: Calibration =
        serde_json::from_str(&text).with_context(|| format!("{} is no calibration", path.display()))?;
    Ok((found.schema_version == CALIBRATION_SCHEMA_VERSION && found.gate_sha256 == gate_sha256)
        .then_some(found))
}

/// Its noise, as the gate takes it.
#[must_use]
pub fn noise_of(calibration: &Calibration) -> Stored {
    calibration.noise.iter().map(|one| ((one.scenario.clone(), one.metric.clone()), one.block_sd)).collect()
}

fn file(results: &Path, machine_key: &str) -> PathBuf {
    results.join(FOLDER).join(format!("{machine_key}.json"))
}

/// Goes on with the calibration of this machine. Returns it, and the file it stands in.
///
/// # Errors
/// A program cannot be built, a gate cannot be carried out, or the file cannot be written.
pub fn calibrate(
    asked: &Calibrating,
    stop: &Arc<AtomicBool>,
    watch: &mut dyn Watch,
) -> anyhow::Result<(Calibration, PathBuf)> {
    let begin = Instant::now();
    let recipe = asked.definition.build.as_ref().context("a calibration needs [build] in the gate's file")?;
    let slowed = recipe.calibration.as_ref().context(
        "a calibration needs build.calibration in the gate's file: how a server is built that can be slowed",
    )?;
    let arguments = recipe.command.iter().chain(&slowed.arguments).cloned().collect();
    let recipe = BuildRecipe { command: arguments, ..recipe.clone() };
    let definition = GateDefinition { build: Some(recipe), ..asked.definition.clone() };
    let (machine_key, found) = catalogue::this_machine(&asked.root)?;
    let path = file(&asked.results, &machine_key);
    let mut options = Options {
        root: asked.root.clone(),
        definition,
        // Its own errors are what is calibrated; a count has none.
        counted: None,
        base: asked.commit.clone(),
        head: asked.commit.clone(),
        only: Vec::new(),
        head_environment: vec![(slowed.variable.clone(), String::new())],
        base_environment: vec![(slowed.variable.clone(), String::new())],
        budget: asked.budget,
        seed: None,
        measure_identical: true,
        stored: Stored::new(),
        command: asked.command.clone(),
    };
    let mut calibration = match stored(&asked.results, &machine_key, &asked.gate_sha256)? {
        Some(begun) => begun,
        None => {
            let begun = Calibration {
                schema: CALIBRATION_SCHEMA.to_owned(),
                schema_version: CALIBRATION_SCHEMA_VERSION,
                tool: Tool::this(),
                machine_key,
                machine: found,
                gate_sha256: asked.gate_sha256.clone(),
                noise: noise(&unchanged(&options, stop, watch)?, &Rules::default()),
                gates: Vec::new(),
                rates: Vec::new(),
            };
            write(&path, &begun)?;
            begun
        }
    };
    options.stored = noise_of(&calibration);
    while calibration.gates.len() < asked.gates && begin.elapsed() < asked.slice {
        let (percent, kind) = ROUND[calibration.gates.len() % ROUND.len()];
        let text = match kind {
            None => String::new(),
            Some(InjectedAs::Spin) => format!("spin:{percent}"),
            Some(InjectedAs::Sleep) => format!("sleep:{percent}"),
        };
        watch.say(&format!(
            "gate {}: {}",
            calibration.gates.len() + 1,
            if text.is_empty() { "nothing" } else { &text }
        ));
        options.head_environment = vec![(slowed.variable.clone(), text)];
        let gate = run(&options, stop, watch)?;
        watch.say(&format!(
            "gate {}: {}: {}",
            calibration.gates.len() + 1,
            gate.outcome.words(),
            gate.reason
        ));
        calibration.gates.push(kept(&gate, percent, kind));
        calibration.rates = rates(&calibration.gates);
        calibration.tool = Tool::this();
        write(&path, &calibration)?;
    }
    Ok((calibration, path))
}

/// Blocks of two layouts of the same code.
fn unchanged(
    options: &Options,
    stop: &Arc<AtomicBool>,
    watch: &mut dyn Watch,
) -> anyhow::Result<Vec<Collected>> {
    let ([base, head], _) = builds::programs(
        &options.root,
        [&options.base, &options.head],
        options.definition.build.as_ref(),
        &mut |text| watch.say(text),
    )?;
    let labs = labs(options, [&base, &head], stop)?;
    let seed = draw_seed();
    let mut rounds = Rounds::new(&labs.all, steps(options, seed)?, seed);
    let left_out = fit(&mut rounds, LEAST_BLOCKS, options.budget.as_secs_f64());
    ensure!(left_out.is_empty(), "the budget of a gate has no room for all loads: {}", left_out.join("; "));
    let mut course = Course { rounds, all: Vec::new(), begin: Instant::now(), options, stop, watch };
    course.all = course.rounds.series().into_iter().map(Collected::of).collect();
    let blocks = course.null_control("noise", NOISE_BLOCKS)?;
    course.leave_throughput_of_the_client(&blocks, &mut Vec::new());
    Ok(course.all)
}

fn kept(gate: &Gate, injected_percent: f64, injected_as: Option<InjectedAs>) -> CalibrationGate {
    CalibrationGate {
        id: gate.id.clone(),
        started_at: gate.started_at.clone(),
        seed: gate.seed,
        injected_percent,
        injected_as,
        outcome: gate.outcome,
        reason: gate.reason.clone(),
        measured_s: (gate.measured_s * 10.0).round() / 10.0,
        series: gate
            .verdicts
            .iter()
            .map(|one| CalibrationSeries {
                scenario: one.scenario.clone(),
                metric: one.metric.clone(),
                outcome: one.outcome,
                confirmed: one.stage == GateStage::Confirm,
                ratio: one.ratio,
            })
            .collect(),
    }
}

/// Whole or not at all.
fn write(path: &Path, calibration: &Calibration) -> anyhow::Result<()> {
    let told = || format!("writing {}", path.display());
    let folder = path.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder).with_context(told)?;
    replace_file(path, canonical::to_text(calibration)?.as_bytes()).with_context(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_has_no_calibration() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(FOLDER)).unwrap();
        std::fs::write(folder.path().join("secret.json"), "{").unwrap();
        std::fs::write(folder.path().join(FOLDER).join("mine.json"), "{").unwrap();
        for name in ["../secret", "", ".mine", "a/b", "a\0b", "mine\n"] {
            assert!(stored(folder.path(), name, "").unwrap().is_none(), "{name:?}");
        }
        assert!(stored(folder.path(), "mine", "").is_err(), "it is there, and no calibration");
    }
}
