//! How often does the gate err here? Gates of which the truth is known, one after the other, until the time is up; what is
//! done is kept, and the next time goes on behind it.

pub use super::calibrated::{add_identical, stored};

use super::calibrated::{file, kept, push, resumed, write};
use super::{
    Collected, Course, LEAST_BLOCKS, Options, Rounds, Watch, add, builds, catalogue, checkout, draw_seed,
    fit, labs, run, steps,
};
use crate::gate::{Rules, noise};
use crate::model::{
    CALIBRATION_SCHEMA, CALIBRATION_SCHEMA_VERSION, Calibration, CalibrationGate, CalibrationRate, GATE_RULE,
    HeadKind, InjectedAs, Tool,
};
use crate::scenario::{BuildRecipe, GateDefinition, Layouts};
use anyhow::{Context as _, ensure};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Blocks from which the noise is taken before the first gate.
const NOISE_BLOCKS: usize = 20;

/// What is injected within a round, in this order; before each there is a gate of nothing, and one more before every third. Two rounds
/// have 40 gates of nothing, 12 of +5 %, 8 of +10 %, 6 tails, and 4 of +3 %, which the gate may pass or call.
const INJECTED: [(f64, InjectedAs); 15] = [
    (5.0, InjectedAs::Spin),
    (10.0, InjectedAs::Sleep),
    (5.0, InjectedAs::Sleep),
    (1.0, InjectedAs::Tail),
    (10.0, InjectedAs::Spin),
    (3.0, InjectedAs::Spin),
    (5.0, InjectedAs::Spin),
    (5.0, InjectedAs::Sleep),
    (1.0, InjectedAs::Tail),
    (10.0, InjectedAs::Spin),
    (5.0, InjectedAs::Spin),
    (3.0, InjectedAs::Sleep),
    (10.0, InjectedAs::Sleep),
    (1.0, InjectedAs::Tail),
    (5.0, InjectedAs::Spin),
];

/// What is injected in turns.
fn round() -> Vec<Option<(f64, InjectedAs)>> {
    let mut all = Vec::new();
    for (place, injected) in INJECTED.into_iter().enumerate() {
        all.extend(std::iter::repeat_n(None, if place % 3 == 0 { 2 } else { 1 }));
        all.push(Some(injected));
    }
    all
}

/// Names of symbols, and numbers of comment lines, by which heads differ.
const SALTS: [&str; 4] = ["a", "b", "c", "d"];

/// How the next head is built. Those without a change count for themselves, so that both kinds are in turns among them.
fn head_of(number: usize, build: &BuildRecipe) -> (BuildRecipe, HeadKind) {
    let turn = (number / 2) % SALTS.len();
    if number.is_multiple_of(2) {
        (BuildRecipe { salt: SALTS[turn].to_owned(), ..build.clone() }, HeadKind::Symbols)
    } else {
        (BuildRecipe { comments: turn + 1, ..build.clone() }, HeadKind::Comments)
    }
}

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
    /// No gate is begun that would probably end after so much time, but for the first.
    pub slice: Duration,
    /// No gate is begun once there are so many in all.
    pub gates: usize,
    /// Budget of each gate.
    pub budget: Duration,
    /// The command that was given.
    pub command: String,
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
    ensure!(
        recipe.layouts == Layouts::Cargo,
        "base and head of a calibration would be the same bytes, for there is only one layout: it takes a build by cargo and \
         `layouts = \"cargo\"` in [build], with which symbols get other names. Without, `bench-runner gate` works, and how often it \
         errs here is not known"
    );
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
        // Bytes that do not differ are no calibration: such a gate ends at once, and is refused.
        measure_identical: false,
        keep_builds: true,
        command: asked.command.clone(),
    };
    let begun = Calibration {
        schema: CALIBRATION_SCHEMA.to_owned(),
        schema_version: CALIBRATION_SCHEMA_VERSION,
        tool: Tool::this(),
        machine_key,
        machine: found,
        gate_sha256: asked.gate_sha256.clone(),
        rule: Some(GATE_RULE.to_owned()),
        budget_s: Some(asked.budget.as_secs_f64()),
        noise: Vec::new(),
        gates: Vec::new(),
        rates: Vec::new(),
    };
    let mut calibration = match resumed(&asked.results, &begun, &mut |text| watch.say(text))? {
        Some(found) => found,
        None => {
            let begun = Calibration { noise: noise(&unchanged(&options, stop, watch)?), ..begun };
            write(&path, &begun)?;
            begun
        }
    };
    let (round, mut is_first) = (round(), true);
    while calibration.gates.len() < asked.gates {
        // Whole gates: none is begun that would probably not end in time, but for the first.
        let longest = calibration.gates.iter().map(|gate| gate.measured_s).fold(0.0, f64::max);
        let left = asked.slice.saturating_sub(begin.elapsed()).as_secs_f64();
        if left <= 0.0 || !is_first && left < longest {
            break;
        }
        is_first = false;
        let own = calibration.gates.iter().filter(|gate| !is_added(gate));
        let done = own.clone().count();
        let injected = round[done % round.len()];
        let alike = own.filter(|gate| gate.injected_as == injected.map(|(_, kind)| kind)).count();
        let text = injected.map_or_else(String::new, |(percent, kind)| format!("{}:{percent}", kind.name()));
        let build = options.definition.build.as_ref().context("a calibration needs [build]")?;
        // Never the bytes of base: a pull request has other ones, too.
        let (build, head_kind) = head_of(alike, build);
        let told = format!(
            "gate {}: {} ({})",
            calibration.gates.len() + 1,
            if text.is_empty() { "nothing" } else { &text },
            head_kind.words()
        );
        watch.say(&told);
        options.head_build = Some(build);
        options.head_environment = vec![(slowed.variable.clone(), text.clone())];
        let gate = run(&options, stop, watch)?;
        ensure!(
            gate.base.stripped_sha256 != gate.head.stripped_sha256,
            "base and head are the same bytes in spite of {}: nothing would be said of pull requests. Is the build below the \
             root, with RUSTC_WORKSPACE_WRAPPER left as it is?",
            head_kind.words()
        );
        let (percent, kind) = injected.unzip();
        push(&mut calibration, kept(&gate, percent.unwrap_or(0.0), kind, &text, head_kind));
        write(&path, &calibration)?;
        watch.say(&format!(
            "{told}: {} in {:.1} min: {}\nso far: {}",
            gate.outcome.words(),
            gate.measured_s / 60.0,
            gate.reason,
            quote_counts(&calibration)
        ));
    }
    Ok((calibration, path))
}

/// Whether a gate was none of the rounds, but a pull request's.
fn is_added(gate: &CalibrationGate) -> bool {
    gate.sides.as_ref().is_some_and(|sides| sides.head_kind == HeadKind::Identical)
}

/// Counts of all kinds: `nothing 0 of 12 red; spin:5 3 of 3 red, 1 unfinished`.
fn quote_counts(calibration: &Calibration) -> String {
    let of = |rate: &CalibrationRate| {
        let injected = rate.injected_as.map_or_else(
            || "nothing".to_owned(),
            |kind| format!("{}:{}", kind.name(), rate.injected_percent),
        );
        let mut text = format!("{injected} {} of {} red", rate.regression, rate.gates);
        for (count, word) in [(rate.undecided, "undecided"), (rate.unfinished, "unfinished")] {
            if count > 0 {
                text += &format!(", {count} {word}");
            }
        }
        text
    };
    calibration.rates.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// Blocks of layouts of the same code.
fn unchanged(
    options: &Options,
    stop: &Arc<AtomicBool>,
    watch: &mut dyn Watch,
) -> anyhow::Result<Vec<Collected>> {
    let _lock = checkout::lock(&options.root, stop, &mut |text| watch.say(text))?;
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
        let block = course.block()?;
        add(&mut course.all, &block);
    }
    Ok(course.all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn two_rounds_have_the_gates_that_are_promised() {
        let both: Vec<_> = round().into_iter().chain(round()).collect();
        let of = |wanted: &dyn Fn(f64, InjectedAs) -> bool| {
            both.iter().flatten().filter(|(percent, kind)| wanted(*percent, *kind)).count()
        };
        let sized = |size: f64| of(&|percent, kind| percent == size && kind != InjectedAs::Tail);
        assert_eq!(both.iter().filter(|one| one.is_none()).count(), 40);
        assert_eq!([sized(3.0), sized(5.0), sized(10.0)], [4, 12, 8]);
        assert_eq!(of(&|percent, kind| percent == 1.0 && kind == InjectedAs::Tail), 6);
        for size in [3.0, 5.0, 10.0] {
            assert!(of(&|percent, kind| percent == size && kind == InjectedAs::Sleep) >= 2, "{size}");
        }
        assert_eq!(both.len(), 70);
    }

    #[test]
    fn heads_differ_by_symbols_and_by_comments_in_turns() {
        let command = vec!["cargo".to_owned()];
        let build = BuildRecipe {
            command,
            binary: "server".to_owned(),
            environment: std::collections::BTreeMap::new(),
            layouts: Layouts::Cargo,
            calibration: None,
            salt: String::new(),
            comments: 0,
        };
        let heads: Vec<_> = (0..8).map(|number| head_of(number, &build)).collect();
        assert!(heads.iter().all(|(head, _)| *head != build));
        assert_eq!(heads.iter().filter(|(_, kind)| *kind == HeadKind::Comments).count(), 4);
        let different: BTreeSet<String> = heads.iter().map(|(head, _)| format!("{head:?}")).collect();
        assert_eq!(different.len(), 8);
    }
}
