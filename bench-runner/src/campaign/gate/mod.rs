//! A gate: base and head measured in turns on this machine, until a word can be said of the change.
//!
//! [`builds`] makes the programs, [`rounds`] measures blocks, [`crate::gate`] judges. The order of the stages and when a
//! stage ends stand here. [`calibrate`] tries the whole on what is known.

mod builds;
pub mod calibrate;
mod counted;
mod refused;
mod rounds;

use super::begin::draw_seed;
use super::bench::Bench;
use super::catalogue;
use crate::environment::{Reader, advice, hypervisor_vendor, machine, system};
use crate::gate::{
    Collected, Noise, Point, Rules, SCREEN_BLOCKS, Stored, block_sd, excuse_faster, goes_on, overall,
    verdicts,
};
use crate::measure::Lab;
use crate::model::{GATE_SCHEMA, GATE_SCHEMA_VERSION, Gate, GateClass, GateOutcome, GateSide, Profile, Tool};
use crate::plan;
use crate::scenario::{CountedDefinition, GateDefinition};
use crate::target::{self, Catalogue};
use anyhow::{bail, ensure};
use builds::Programs;
use jiff::Timestamp;
use rounds::{Contest, Quartets, Rounds, Stage, add, one_by_one, saturated, shortened};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Blocks of two layouts of base.
const NULL_BLOCKS: usize = 3;
/// The fewest that a verdict rests on.
const CONFIRM_BLOCKS: usize = crate::stats::BLOCKS_MIN;
/// What a gate takes at least: null control, screen and one confirmation.
const LEAST_BLOCKS: usize = NULL_BLOCKS + SCREEN_BLOCKS + CONFIRM_BLOCKS;
/// A screen or a confirmation that others disturb goes on for so many times its blocks.
const PATIENCE: usize = 2;

/// What was asked for on the command line.
#[derive(Debug, Clone)]
pub struct Options {
    /// Root of the checkout.
    pub root: PathBuf,
    /// The gate's file.
    pub definition: GateDefinition,
    /// What is counted beside; none: nothing.
    pub counted: Option<CountedDefinition>,
    /// What the change is compared with: a commit or a file.
    pub base: String,
    /// The change.
    pub head: String,
    /// Only these cells; empty: all.
    pub only: Vec<String>,
    /// Environment variables of head's servers alone: how a calibration slows them.
    pub head_environment: Vec<(String, String)>,
    /// The same of base's.
    pub base_environment: Vec<(String, String)>,
    /// Time that measuring may take.
    pub budget: Duration,
    /// Seed; drawn when absent.
    pub seed: Option<u64>,
    /// Programs with the same bytes are measured all the same.
    pub measure_identical: bool,
    /// How blocks scatter on this machine, from its calibrations.
    pub stored: Stored,
    /// The command that was given.
    pub command: String,
}

/// What a gate tells while it goes on.
pub trait Watch {
    /// A remark.
    fn say(&mut self, text: &str);
    /// A stage is under way: blocks done, blocks meant.
    fn block(&mut self, stage: &str, done: usize, of: usize);
}

/// Carries out a gate.
///
/// # Errors
/// A program cannot be had, the subject cannot be started here, or it was stopped.
pub fn run(options: &Options, stop: &Arc<AtomicBool>, watch: &mut dyn Watch) -> anyhow::Result<Gate> {
    let now = Timestamp::now();
    let definition = &options.definition;
    let ([base, head], build_s) = builds::programs(
        &options.root,
        [&options.base, &options.head],
        definition.build.as_ref(),
        &mut |text| watch.say(text),
    )?;
    let seed = options.seed.unwrap_or_else(draw_seed);
    let reader = Reader::machine();
    let (machine_key, machine_found) = catalogue::this_machine(&options.root)?;
    let environment = system(&reader);
    let notes = advice(&environment, target::cpus_usable());
    let mut gate = Gate {
        schema: GATE_SCHEMA.to_owned(),
        schema_version: GATE_SCHEMA_VERSION,
        tool: Tool::this(),
        id: format!("{}-gate-{:04x}", now.strftime("%Y-%m-%dT%H%M%SZ"), fastrand::u16(..)),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        outcome: GateOutcome::Pass,
        reason: String::new(),
        base: told(&base),
        head: told(&head),
        machine_key,
        machine: machine_found,
        environment,
        seed,
        budget_s: options.budget.as_secs_f64(),
        build_s,
        measured_s: 0.0,
        verdicts: Vec::new(),
        left_out: Vec::new(),
        command: options.command.clone(),
        notes,
    };
    if base.stripped_sha256 == head.stripped_sha256 && !options.measure_identical {
        gate.reason =
            "identical build: without symbols and notes, base and head are the same bytes".to_owned();
        return Ok(gate);
    }
    let begin = Instant::now();
    let labs = labs(options, [&base, &head], stop)?;
    let counts = options.counted.as_ref().map_or_else(Vec::new, |counted| {
        let counting = counted::Counting {
            root: &options.root,
            subject: &definition.subject,
            counted,
            sides: [&base, &head],
            labs: [&labs.all[0], &labs.all[2]],
            stop,
        };
        counting.verdicts(&mut gate.notes, &mut |text| watch.say(text))
    });
    let mut rounds = Rounds::new(&labs.all, steps(options, seed)?, seed);
    if !options.only.is_empty() {
        rounds.keep(&options.only.iter().cloned().collect());
    }
    gate.left_out = fit(&mut rounds, LEAST_BLOCKS, options.budget.as_secs_f64());
    let mut course = Course { rounds, all: Vec::new(), begin, options, stop, watch };
    gate.left_out.splice(0..0, course.measure(&mut gate.notes)?);
    let rules = Rules::default();
    gate.verdicts = verdicts(&course.all, &options.stored, &rules, seed);
    gate.verdicts.extend(counts);
    excuse_faster(&mut gate.verdicts);
    gate.measured_s = begin.elapsed().as_secs_f64();
    (gate.outcome, gate.reason) = overall(&gate.verdicts);
    let after = machine(&reader, hypervisor_vendor());
    if after.cpu_model != gate.machine.cpu_model {
        (gate.outcome, gate.reason) = (
            GateOutcome::Inconclusive,
            format!("the machine changed while measuring: {} is another CPU model", after.cpu_model),
        );
    }
    Ok(gate)
}

fn told(side: &Programs) -> GateSide {
    GateSide {
        given: side.given.clone(),
        commit: side.commit.clone(),
        sha256: side.sha256.to_vec(),
        stripped_sha256: side.stripped_sha256.clone(),
    }
}

fn catalogue_of(options: &Options) -> anyhow::Result<Catalogue> {
    match &options.definition.targets {
        Some(text) => Catalogue::parse("the gate's file", text),
        None => catalogue::targets(&options.root, std::slice::from_ref(&options.definition.scenario)),
    }
}

/// Base in two layouts, head in two layouts, and the folder they work in.
struct Labs {
    all: Vec<Lab>,
    _bench: Bench,
}

fn labs(options: &Options, sides: [&Programs; 2], stop: &Arc<AtomicBool>) -> anyhow::Result<Labs> {
    let subject = &options.definition.subject;
    let catalogue = catalogue_of(options)?;
    ensure!(
        catalogue.get(subject).is_some(),
        "the gate's file guards `{subject}`, which no [target] describes"
    );
    let bench = Bench::of(&options.root, catalogue, sides[0].layouts[0].clone())?;
    let mut all = Vec::new();
    for (side, environment) in sides.into_iter().zip([&options.base_environment, &options.head_environment]) {
        for program in &side.layouts {
            let mut catalogue = bench.catalogue.clone();
            catalogue.override_bin(subject, program.clone())?;
            catalogue.add_environment(subject, environment);
            all.push(Lab::new(catalogue, bench.setup.clone(), Arc::clone(stop)));
        }
    }
    Ok(Labs { all, _bench: bench })
}

/// The processes of one trial.
fn steps(options: &Options, seed: u64) -> anyhow::Result<Vec<plan::Step>> {
    let definition = &options.definition;
    let plan = plan::build(&plan::Request {
        scenarios: std::slice::from_ref(&definition.scenario),
        profile: Profile::Quick,
        seed,
        pinned: target::choose_cpus().is_some(),
        admits: &|_, _| true,
        pace: &|_| plan::Pace::default(),
    });
    let steps = plan.steps.into_iter().filter(|step| step.trial == 0);
    let steps: Vec<_> = steps.flat_map(one_by_one).map(|step| shortened(step, definition.trial)).collect();
    let keys: BTreeSet<String> =
        steps.iter().flat_map(|step| step.work.cells()).map(|cell| cell.key.clone()).collect();
    for wanted in &options.only {
        if !keys.contains(wanted) {
            let known: Vec<&str> = keys.iter().map(String::as_str).collect();
            bail!("unknown scenario '{wanted}' of the gate: expected {}", known.join(", "));
        }
    }
    ensure!(!steps.is_empty(), "the gate's file has no load that its subject can be given here");
    Ok(steps)
}

/// Leaves out the last loads until so many blocks of all others fit into the time.
fn fit(rounds: &mut Rounds<'_>, blocks: usize, seconds: f64) -> Vec<String> {
    let mut cells: Vec<(String, String)> = Vec::new();
    for series in rounds.series() {
        if !cells.iter().any(|(key, _)| *key == series.scenario) {
            cells.push((series.scenario, series.label));
        }
    }
    let mut left_out = Vec::new();
    while rounds.block_s() * blocks as f64 > seconds && cells.len() > 1 {
        let Some((_, label)) = cells.pop() else { break };
        left_out.push(format!("{label}: the budget has no room for it"));
        rounds.keep(&cells.iter().map(|(key, _)| key.clone()).collect());
    }
    left_out.reverse();
    left_out
}

/// One gate under way.
struct Course<'a> {
    rounds: Rounds<'a>,
    all: Vec<Collected>,
    begin: Instant,
    options: &'a Options,
    stop: &'a AtomicBool,
    watch: &'a mut dyn Watch,
}

impl Course<'_> {
    /// The loads that were left out because their servers took longer than planned.
    fn measure(&mut self, notes: &mut Vec<String>) -> anyhow::Result<Vec<String>> {
        self.all = self.rounds.series().into_iter().map(Collected::of).collect();
        let first = self.null_control("null control", NULL_BLOCKS)?;
        // A server that starts slowly is known now.
        let left = self.options.budget.saturating_sub(self.begin.elapsed()).as_secs_f64();
        let left_out = fit(&mut self.rounds, LEAST_BLOCKS - NULL_BLOCKS, left);
        let kept: BTreeSet<String> = self.rounds.series().into_iter().map(|one| one.scenario).collect();
        self.all.retain(|one| kept.contains(&one.series.scenario));
        self.leave_throughput_of_the_client(&first, notes);
        let every_step = self.rounds.steps.clone();
        self.screen()?;
        self.rounds.steps.clone_from(&every_step);
        let rules = Rules::default();
        self.look_again_at_layouts(&rules)?;
        self.rounds.steps = every_step;
        self.confirm(&rules)?;
        Ok(left_out)
    }

    fn screen(&mut self) -> anyhow::Result<()> {
        for number in 0..SCREEN_BLOCKS * PATIENCE {
            if number >= SCREEN_BLOCKS {
                let lacking =
                    self.cells_of(|one| !one.screen.is_empty() && lacks(&one.screen, SCREEN_BLOCKS));
                if lacking.is_empty() {
                    break;
                }
                self.rounds.keep(&lacking);
            }
            if self.is_over() {
                break;
            }
            self.watch.block("screen", number, SCREEN_BLOCKS);
            self.block(Contest { base: 0, head: 2, head_first: number % 2 == 1 }, Stage::Screen)?;
        }
        Ok(())
    }

    /// The loads some series of which is as said.
    fn cells_of(&self, is_meant: impl Fn(&Collected) -> bool) -> BTreeSet<String> {
        self.all.iter().filter(|one| is_meant(one)).map(|one| one.series.scenario.clone()).collect()
    }

    /// Two layouts of base against each other.
    fn null_control(&mut self, stage: &str, blocks: usize) -> anyhow::Result<Vec<Quartets>> {
        let mut quartets = Vec::new();
        for number in 0..blocks {
            self.watch.block(stage, number, blocks);
            let contest = Contest { base: 0, head: 1, head_first: number % 2 == 1 };
            quartets.push(self.block(contest, Stage::Null)?);
        }
        Ok(quartets)
    }

    /// Three blocks are thrown by two outliers: where the layouts seem to lie apart, it takes as many as for any verdict.
    fn look_again_at_layouts(&mut self, rules: &Rules) -> anyhow::Result<()> {
        let cells = self.cells_of(|one| one.null_seems_moved(block_sd(one, &self.options.stored).0, rules));
        if cells.is_empty() || self.is_over() {
            return Ok(());
        }
        self.rounds.keep(&cells);
        self.null_control("null control again", CONFIRM_BLOCKS - NULL_BLOCKS)?;
        Ok(())
    }

    fn confirm(&mut self, rules: &Rules) -> anyhow::Result<()> {
        let reached: Vec<usize> = (0..self.all.len())
            .filter(|place| {
                let (one, quiet) = (&self.all[*place], Collected::quiet(&self.all[*place].screen));
                let noise = Noise::new(block_sd(one, &self.options.stored).0, 1);
                // What only advises goes on for what its own few blocks could show, and not for its noise.
                let few = Noise { blocks: u32::try_from(quiet.len()).unwrap_or(u32::MAX), ..noise };
                let screen = match noise.class(rules) {
                    GateClass::Advisory => few.limit(rules),
                    GateClass::Gated | GateClass::GatedAt8 => rules.screen,
                };
                goes_on(&quiet, &Rules { screen, ..*rules }) == Some(true)
            })
            .collect();
        for place in &reached {
            let sd = block_sd(&self.all[*place], &self.options.stored).0;
            self.all[*place].wanted = Noise::new(sd, reached.len()).blocks as usize;
        }
        let most = self.all.iter().map(|one| one.wanted).max().unwrap_or(0);
        for number in 0..most * PATIENCE {
            // How many blocks a load is given is known before the first, so that leaving it out then says nothing of its figures.
            let lacking = self.cells_of(|one| lacks(&one.confirm, one.wanted));
            if lacking.is_empty() || self.is_over() {
                break;
            }
            self.rounds.keep(&lacking);
            self.watch.block("confirm", number, most);
            // The other layouts, and the other order first.
            self.block(Contest { base: 1, head: 3, head_first: number % 2 == 0 }, Stage::Confirm)?;
        }
        Ok(())
    }

    fn block(&mut self, contest: Contest, stage: Stage) -> anyhow::Result<Quartets> {
        let Some(quartets) = self.rounds.block(contest) else {
            bail!(
                "{}",
                if self.stop.load(Ordering::Relaxed) {
                    "stopped by a signal; nothing is said of the change"
                } else {
                    "a trial came back without all of its loads"
                }
            );
        };
        add(&mut self.all, &quartets, stage);
        Ok(quartets)
    }

    /// Where the client sets the throughput, it says nothing of the server.
    fn leave_throughput_of_the_client(&mut self, first: &[Quartets], notes: &mut Vec<String>) {
        let busy = saturated(first);
        let judged =
            |one: &Collected| one.series.metric != "ops_per_second" || busy.contains(&one.series.scenario);
        let left: Vec<String> =
            self.all.iter().filter(|one| !judged(one)).map(|one| one.series.label.clone()).collect();
        self.all.retain(judged);
        if !left.is_empty() {
            notes.push(format!(
                "Throughput is judged only where the server is busy 95 % of the time, for else it is the client's: not of {}.",
                left.join(", ")
            ));
        }
    }

    /// Whether another block would pass the budget.
    fn is_over(&self) -> bool {
        self.begin.elapsed().as_secs_f64() + self.rounds.block_s() > self.options.budget.as_secs_f64()
    }
}

/// Whether fewer than so many blocks of a stage are quiet.
fn lacks(stage: &[Point], blocks: usize) -> bool {
    Collected::quiet(stage).len() < blocks
}
