//! How often does the gate err here? Gates of which the truth is known, one after the other, until the time is up; what is
//! done is kept, and the next time goes on behind it.

use super::{
    Collected, Course, LEAST_BLOCKS, Options, Rounds, Watch, add, builds, catalogue, draw_seed, fit, labs,
    run, steps,
};
use crate::export::{canonical, ensure_plain, replace_file};
use crate::gate::{Rules, noise, rates};
use crate::model::{
    CALIBRATION_SCHEMA, CALIBRATION_SCHEMA_VERSION, Calibration, CalibrationGate, CalibrationSeries,
    GATE_RULE, Gate, GateStage, InjectedAs, Tool,
};
use crate::scenario::{BuildRecipe, GateDefinition};
use anyhow::{Context as _, ensure};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Blocks from which the noise is taken before the first gate.
const NOISE_BLOCKS: usize = 20;

/// What is injected, in turns: two gates in three compare builds of the same code.
const ROUND: [(f64, Option<InjectedAs>); 16] = [
    (0.0, None),
    (0.0, None),
    (5.0, Some(InjectedAs::Spin)),
    (0.0, None),
    (0.0, None),
    (10.0, Some(InjectedAs::Sleep)),
    (0.0, None),
    (0.0, None),
    (5.0, Some(InjectedAs::Sleep)),
    (0.0, None),
    (0.0, None),
    (10.0, Some(InjectedAs::Spin)),
    (0.0, None),
    (0.0, None),
    (1.0, Some(InjectedAs::Tail)),
    (5.0, Some(InjectedAs::Spin)),
];

/// Heads without a change are builds with other names of their symbols, by turns.
const SALTS: [&str; 4] = ["a", "b", "c", "d"];

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

/// The calibration of a machine, if there is one for this gate's file and rule.
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
    let is_of_this_gate = found.rule.as_deref() == Some(GATE_RULE) && found.gate_sha256 == gate_sha256;
    Ok(is_of_this_gate.then_some(found))
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
        head_build: None,
        only: Vec::new(),
        head_environment: vec![(slowed.variable.clone(), String::new())],
        base_environment: vec![(slowed.variable.clone(), String::new())],
        budget: asked.budget,
        seed: None,
        measure_identical: true,
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
                rule: Some(GATE_RULE.to_owned()),
                noise: noise(&unchanged(&options, stop, watch)?),
                gates: Vec::new(),
                rates: Vec::new(),
            };
            write(&path, &begun)?;
            begun
        }
    };
    while calibration.gates.len() < asked.gates && begin.elapsed() < asked.slice {
        let (percent, kind) = ROUND[calibration.gates.len() % ROUND.len()];
        let text = match kind {
            None => String::new(),
            Some(InjectedAs::Spin) => format!("spin:{percent}"),
            Some(InjectedAs::Sleep) => format!("sleep:{percent}"),
            Some(InjectedAs::Tail) => format!("tail:{percent}"),
        };
        watch.say(&format!(
            "gate {}: {}",
            calibration.gates.len() + 1,
            if text.is_empty() { "nothing" } else { &text }
        ));
        options.head_environment = vec![(slowed.variable.clone(), text)];
        // Never the bytes of base: a pull request has other ones, too.
        let salt = SALTS[calibration.gates.len() % SALTS.len()].to_owned();
        options.head_build = options.definition.build.clone().map(|build| BuildRecipe { salt, ..build });
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

/// Blocks of layouts of the same code.
fn unchanged(
    options: &Options,
    stop: &Arc<AtomicBool>,
    watch: &mut dyn Watch,
) -> anyhow::Result<Vec<Collected>> {
    let ([base, head], _) = builds::programs(
        &options.root,
        [&options.base, &options.head],
        [options.definition.build.as_ref(); 2],
        &mut |text| watch.say(text),
    )?;
    let labs = labs(options, [&base, &head], stop)?;
    let seed = draw_seed();
    let mut rounds = Rounds::new(labs.sides(), steps(options, seed)?, seed);
    let left_out = fit(&mut rounds, LEAST_BLOCKS, options.budget.as_secs_f64());
    ensure!(left_out.is_empty(), "the budget of a gate has no room for all loads: {}", left_out.join("; "));
    let (begin, rules) = (Instant::now(), Rules::default());
    let mut course =
        Course { rounds, labs: &labs, all: Vec::new(), rules, begin, link_s: 0.0, options, stop, watch };
    course.begin_series(&mut Vec::new())?;
    for number in 1..=NOISE_BLOCKS {
        course.watch.block(number, course.all.len(), course.all.len());
        let quartets = course.block()?;
        add(&mut course.all, &quartets);
    }
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
                confirmed: one.stage == GateStage::Sequential,
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
