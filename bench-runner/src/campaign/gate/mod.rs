//! A gate: base and head measured in turns on this machine, until a word can be said of the change.
//!
//! [`builds`] makes the programs and [`layout`] other layouts of them, [`rounds`] measures blocks, [`figures`] reads them,
//! [`crate::gate`] judges. This module decides when a load has been measured enough. [`calibrate`] tries the whole on what is
//! known, [`bisect`] looks for the commit that made it slower.

pub mod bisect;
mod builds;
pub mod calibrate;
mod calibrated;
mod callgrind;
mod checkout;
mod counted;
mod figures;
mod labs;
mod layout;
mod profile;
mod refused;
mod rounds;
mod whole;

use super::begin::draw_seed;
use super::catalogue;
use crate::environment::{Reader, advice, hypervisor_vendor, machine, system};
use crate::gate::{Collected, Red, Rules, Series, dependent, excuse_faster, overall, verdicts};
use crate::model::{GATE_SCHEMA, GATE_SCHEMA_VERSION, Gate, GateOutcome, GateSide, Profile, Tool};
use crate::plan;
use crate::scenario::{BuildRecipe, CountedDefinition, GateDefinition};
use crate::target::{self, Catalogue};
use anyhow::{bail, ensure};
use builds::Programs;
use jiff::Timestamp;
use labs::{Labs, labs};
use rounds::{Block, Rounds, add, saturated, shortened};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The fewest blocks in which a load can be judged.
const LEAST_BLOCKS: usize = 12;
/// A load that others disturb is given so many times its blocks at most.
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
    /// How head is built, where otherwise than base: a calibration compares builds of one commit.
    pub head_build: Option<BuildRecipe>,
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
    /// What other gates built is kept, links too: it comes again.
    pub keep_builds: bool,
    /// The command that was given.
    pub command: String,
}

/// What a gate tells while it goes on.
pub trait Watch {
    /// A remark.
    fn say(&mut self, text: &str);
    /// A block begins: its number from 1, and how many of all series are still open.
    fn block(&mut self, number: usize, open: usize, of: usize);
}

/// Carries out a gate.
///
/// # Errors
/// A program cannot be had, the subject cannot be started here, or it was stopped.
pub fn run(options: &Options, stop: &Arc<AtomicBool>, watch: &mut dyn Watch) -> anyhow::Result<Gate> {
    let now = Timestamp::now();
    let definition = &options.definition;
    let _lock = checkout::lock(&options.root, stop, &mut |text| watch.say(text))?;
    let ([base, head], build_s) = builds::programs(
        &options.root,
        [&options.base, &options.head],
        [definition.build.as_ref(), options.head_build.as_ref().or(definition.build.as_ref())],
        &mut |text| watch.say(text),
    )?;
    if !options.keep_builds {
        builds::forget_other_links(&options.root, [&base, &head])?;
    }
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
        profiles: Vec::new(),
        left_out: Vec::new(),
        identical: false,
        command: options.command.clone(),
        notes,
    };
    if !options.measure_identical && is_same_environment(options) {
        if base.is_same(&head) {
            gate.reason =
                "identical build: without symbols and notes, base and head are the same bytes".to_owned();
            return Ok(gate);
        }
        if let Some(reason) = cannot_be_told(&base, &head) {
            (gate.outcome, gate.reason) = (GateOutcome::NotMeasured, reason);
            return Ok(gate);
        }
    }
    let begin = Instant::now();
    let labs = labs(options, [&base, &head], stop)?;
    gate.identical = base.is_same(&head) && is_same_environment(options) && labs.has_layouts();
    let counts = options.counted.as_ref().map_or_else(Vec::new, |counted| {
        let counting = counted::Counting {
            root: &options.root,
            subject: &definition.subject,
            counted,
            sides: [&base, &head],
            labs: labs.sides(),
            stop,
        };
        counting.verdicts(&mut gate.notes, &mut |text| watch.say(text))
    });
    let mut rounds = Rounds::new(labs.sides(), steps(options, seed)?, seed);
    if !options.only.is_empty() {
        rounds.keep(&options.only.iter().cloned().collect());
    }
    let phases: Vec<plan::WirePhase> = rounds.phases().cloned().collect();
    let rules = Rules { layouts_stay: !labs.has_layouts(), ..Rules::default() };
    let mut course =
        Course { rounds, labs: &labs, all: Vec::new(), rules, begin, link_s: 0.0, options, stop, watch };
    gate.left_out = course.measure(&mut gate.notes)?;
    gate.verdicts = verdicts(&course.all, rules.blocks_max);
    gate.notes.extend(dependent(&gate.verdicts));
    gate.verdicts.extend(counts);
    excuse_faster(&mut gate.verdicts);
    gate.measured_s = begin.elapsed().as_secs_f64();
    gate.profiles = profile::profiles(
        &gate.verdicts,
        &phases,
        &definition.subject,
        labs.sides(),
        [&base, &head],
        stop,
        &mut gate.notes,
    );
    (gate.outcome, gate.reason) = overall(&gate.verdicts, &gate.left_out);
    let after = machine(&reader, hypervisor_vendor());
    if after.cpu_model != gate.machine.cpu_model {
        (gate.outcome, gate.reason) = (
            GateOutcome::Inconclusive,
            format!("the machine changed while measuring: {} is another CPU model", after.cpu_model),
        );
    }
    Ok(gate)
}

/// Whether the servers of both sides have the same environment.
fn is_same_environment(options: &Options) -> bool {
    let sorted = |all: &[(String, String)]| all.iter().cloned().collect::<BTreeMap<_, _>>();
    sorted(&options.base_environment) == sorted(&options.head_environment)
}

/// Why a comparison of two commits would be one of head with itself.
fn cannot_be_told(base: &Programs, head: &Programs) -> Option<String> {
    let why = head.loads.as_ref().or(base.loads.as_ref())?;
    let are_commits = !base.commit.is_empty() && !head.commit.is_empty();
    (are_commits && base.stripped_sha256 == head.stripped_sha256).then(|| {
        format!(
            "base and head are the same bytes, and may start different servers all the same: {why}, and the checkout holds \
             those of one commit only. Name the server itself as build.binary, linked without a search path of its own"
        )
    })
}

fn told(side: &Programs) -> GateSide {
    GateSide {
        given: side.given.clone(),
        commit: side.commit.clone(),
        sha256: vec![side.sha256.clone()],
        stripped_sha256: side.stripped_sha256.clone(),
    }
}

fn catalogue_of(options: &Options) -> anyhow::Result<Catalogue> {
    match &options.definition.targets {
        Some(text) => Catalogue::parse("the gate's file", text),
        None => catalogue::targets(&options.root, std::slice::from_ref(&options.definition.scenario)),
    }
}

/// The processes and loads of a gate's file.
fn steps_of(definition: &GateDefinition, seed: u64) -> Vec<plan::Step> {
    let plan = plan::build(&plan::Request {
        scenarios: std::slice::from_ref(&definition.scenario),
        profile: Profile::Quick,
        seed,
        pinned: target::choose_cpus().is_some(),
        admits: &|_, _| true,
        pace: &|_| plan::Pace::default(),
    });
    let steps = plan.steps.into_iter().filter(|step| step.trial == 0);
    steps.map(|step| shortened(step, definition.trial)).collect()
}

/// Those that were asked for.
fn steps(options: &Options, seed: u64) -> anyhow::Result<Vec<plan::Step>> {
    let steps = steps_of(&options.definition, seed);
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
    labs: &'a Labs,
    all: Vec<Collected>,
    rules: Rules,
    begin: Instant,
    /// What linking both programs again took the last time, s.
    link_s: f64,
    options: &'a Options,
    stop: &'a AtomicBool,
    watch: &'a mut dyn Watch,
}

impl Course<'_> {
    /// Measures until every series is decided, a red gate has gone on for a while, or the time is up. The loads that were left out.
    fn measure(&mut self, notes: &mut Vec<String>) -> anyhow::Result<Vec<String>> {
        if !self.labs.has_layouts() {
            let why = self.labs.refused.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            notes.push(format!("{LAYOUTS_STAY}{why}"));
        }
        // Once as planned, and again when it is known how long servers take to start.
        let mut left_out = self.fit();
        self.begin_series(notes)?;
        left_out.splice(0..0, self.fit());
        let kept: BTreeSet<String> = self.rounds.series().into_iter().map(|one| one.scenario).collect();
        self.all.retain(|one| kept.contains(&one.series.scenario));
        let mut red = Red::default();
        for number in 1..=self.rules.blocks_max * PATIENCE {
            let open: Vec<&Collected> = self.all.iter().filter(|one| !one.is_done()).collect();
            let cells: BTreeSet<String> = open.iter().map(|one| one.series.scenario.clone()).collect();
            let open = open.len();
            self.rounds.keep(&cells);
            if cells.is_empty() || self.is_over() {
                break;
            }
            if let Some(why) = red.ended(number - 1, open, self.all.len()) {
                notes.push(why);
                break;
            }
            self.watch.block(number, open, self.all.len());
            let block = self.block()?;
            add(&mut self.all, &block);
            red.look(number, &self.all);
        }
        if let Some(why) = &self.rounds.apart {
            notes.push(format!("{APART} ({why})."));
        }
        Ok(left_out)
    }

    /// Leaves out the last loads, until all others have room for the fewest blocks.
    fn fit(&mut self) -> Vec<String> {
        let left = self.options.budget.saturating_sub(self.begin.elapsed()).as_secs_f64();
        fit(&mut self.rounds, LEAST_BLOCKS, left - LEAST_BLOCKS as f64 * self.link_s)
    }

    /// One block of each load that is not judged: how long it takes is known then, and whose throughput is whose.
    fn begin_series(&mut self, notes: &mut Vec<String>) -> anyhow::Result<()> {
        self.watch.say("one block that is not judged: how long do servers take to start, which are busy?");
        let first = self.block()?;
        let busy = saturated(&first);
        let judged = self.rounds.series();
        let family = judged.len();
        let is_idle = |one: &&Series| one.metric == "ops_per_second" && !busy.contains(&one.scenario);
        let idle: Vec<String> = judged.iter().filter(is_idle).map(|one| one.label.clone()).collect();
        self.all = judged.into_iter().map(|one| Collected::of(one, family, &self.rules)).collect();
        if !idle.is_empty() {
            notes.push(format!(
                "Neither server was busy 95 % of the time under {}: the client sets the throughput there, and a pass of it says \
                 little.",
                idle.join(", ")
            ));
        }
        Ok(())
    }

    /// New layouts, and all loads that are left under both sides.
    fn block(&mut self) -> anyhow::Result<Block> {
        let begin = Instant::now();
        self.labs.shuffle(&mut self.rounds.random)?;
        self.link_s = begin.elapsed().as_secs_f64();
        let Some(block) = self.rounds.block() else {
            bail!(
                "{}",
                if self.stop.load(Ordering::Relaxed) {
                    "stopped by a signal; nothing is said of the change"
                } else {
                    "a trial came back without all of its loads"
                }
            );
        };
        Ok(block)
    }

    /// Whether another block would pass the budget.
    fn is_over(&self) -> bool {
        let next = self.rounds.block_s() + self.link_s;
        self.begin.elapsed().as_secs_f64() + next > self.options.budget.as_secs_f64()
    }
}

/// The note of a gate whose servers did not run at the same time.
const APART: &str = "Base and head were measured one after the other, which is noisier than in turns";

/// The note of a gate that compares two files.
const LAYOUTS_STAY: &str = "The place of functions in a program moves its figures by a percent or two, and these programs cannot be \
linked again in another order: a verdict is of these two files, and a change is called from 5 % on. It takes commits, `layouts = \"cargo\"`, and lld.";
