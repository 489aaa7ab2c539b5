//! Blocks on this machine: base and head in turns, each trial a fresh process.

use super::figures::{figures, foreign, is_saturated};
use crate::gate::{Collected, Series, metrics};
use crate::measure::Lab;
use crate::model::{Status, Trial};
use crate::plan::{Step, WirePhase, Work};
use crate::scenario::TrialRule;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// What stands ready to measure blocks.
pub(super) struct Rounds<'a> {
    /// Base and head.
    pub(super) labs: [&'a Lab; 2],
    /// The processes of one trial, with all their loads.
    pub(super) steps: Vec<Step>,
    /// How many steps were carried out.
    pub(super) position: u32,
    pub(super) random: fastrand::Rng,
    pub(super) blocks: u32,
    /// Of each load: seconds that its trials in all blocks took, and how many blocks.
    took: BTreeMap<String, (f64, u32)>,
}

/// The trials of a block, by cell: base's two and head's two.
pub(super) type Quartets = BTreeMap<String, ([Trial; 2], [Trial; 2])>;

impl<'a> Rounds<'a> {
    pub(super) fn new(labs: [&'a Lab; 2], steps: Vec<Step>, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { labs, steps, position: 0, random, blocks: 0, took: BTreeMap::new() }
    }

    /// The series that the loads are judged by, in the order of the loads.
    pub(super) fn series(&self) -> Vec<Series> {
        let phases = self.steps.iter().flat_map(phases);
        let of = |phase: &WirePhase| {
            let (scenario, label) = (phase.cell.key.clone(), phase.cell.label.clone());
            let names = metrics(phase.offer.arrival().is_some());
            names.iter().map(move |metric| Series {
                scenario: scenario.clone(),
                label: label.clone(),
                metric,
            })
        };
        phases.flat_map(of).collect()
    }

    /// The loads that are left.
    pub(super) fn phases(&self) -> impl Iterator<Item = &WirePhase> {
        self.steps.iter().flat_map(phases)
    }

    /// Leaves only some of the loads.
    pub(super) fn keep(&mut self, cells: &BTreeSet<String>) {
        for step in &mut self.steps {
            if let Work::Wire { phases } = &mut step.work {
                phases.retain(|phase| cells.contains(&phase.cell.key));
            }
        }
        self.steps.retain(|step| phases(step).next().is_some());
    }

    /// What a block takes, s: as measured, or, before the first, as planned.
    pub(super) fn block_s(&self) -> f64 {
        // Starting a server, loading keys and connecting.
        const AROUND_S: f64 = 0.2;
        let planned = |step: &Step| {
            4.0 * (AROUND_S + phases(step).map(|phase| phase.warmup_s + phase.min_seconds + 0.1).sum::<f64>())
        };
        let measured = |step: &Step| {
            let (seconds, blocks) = self.took.get(&phases(step).next()?.cell.key)?;
            Some(seconds / f64::from(*blocks))
        };
        self.steps.iter().map(|step| measured(step).unwrap_or_else(|| planned(step))).sum()
    }

    /// Measures one block; none when it was stopped. A coin says which side is measured first and last: what the machine does meanwhile
    /// can then not favour one.
    pub(super) fn block(&mut self) -> Option<Quartets> {
        let (seed, turn) = (self.random.u64(..1 << 53), self.blocks as usize);
        let is_head_first = self.random.bool();
        let [base, head] = self.labs;
        let order = if is_head_first { [head, base, base, head] } else { [base, head, head, base] };
        let mut quartets = Quartets::new();
        for number in 0..self.steps.len() {
            // Load by load: a machine changes its speed within seconds, and what is compared follows at once.
            let begin = Instant::now();
            let step = self.step((number + turn) % self.steps.len(), seed);
            let mut trials: Vec<BTreeMap<String, Trial>> = Vec::with_capacity(4);
            for lab in order {
                let of_one: BTreeMap<String, Trial> =
                    lab.run_step(&step, &mut |_| {}).trials.into_iter().collect();
                if of_one.len() < phases(&step).count() {
                    return None;
                }
                trials.push(of_one);
            }
            let [one, two, three, four] = trials.try_into().ok()?;
            let (first, second) = (pair(one, four), pair(two, three));
            let (base, mut head) = if is_head_first { (second, first) } else { (first, second) };
            quartets.extend(
                base.into_iter().filter_map(|(key, base)| Some((key.clone(), (base, head.remove(&key)?)))),
            );
            if let Some(phase) = phases(&step).next() {
                let (seconds, blocks) = self.took.entry(phase.cell.key.clone()).or_default();
                *seconds += begin.elapsed().as_secs_f64();
                *blocks += 1;
            }
        }
        self.blocks += 1;
        Some(quartets)
    }

    fn step(&mut self, number: usize, seed: u64) -> Step {
        let mut step = Step { position: self.position, seed, ..self.steps[number].clone() };
        step.trial = self.blocks;
        self.position += 4;
        step
    }
}

type Pairs = BTreeMap<String, [Trial; 2]>;

fn pair(one: BTreeMap<String, Trial>, mut other: BTreeMap<String, Trial>) -> Pairs {
    one.into_iter().filter_map(|(key, first)| Some((key.clone(), [first, other.remove(&key)?]))).collect()
}

fn phases(step: &Step) -> impl Iterator<Item = &WirePhase> {
    match &step.work {
        Work::Wire { phases } => phases.iter(),
        _ => [].iter(),
    }
}

/// One step for each load, so that a block's trials of it follow each other.
pub(super) fn one_by_one(step: Step) -> Vec<Step> {
    let Work::Wire { phases } = &step.work else { return vec![step] };
    let alone = |phase: &WirePhase| Step { work: Work::Wire { phases: vec![phase.clone()] }, ..step.clone() };
    phases.iter().map(alone).collect()
}

/// The lengths that the gate's file gives, in place of a profile's.
pub(super) fn shortened(mut step: Step, rule: TrialRule) -> Step {
    if let Work::Wire { phases } = &mut step.work {
        for phase in phases {
            phase.warmup_s = rule.warmup_s;
            phase.min_seconds = rule.seconds;
            phase.min_operations = if phase.offer.arrival().is_some() { 1 } else { rule.min_operations };
            phase.timeout_s = rule.seconds * 10.0 + 10.0;
        }
    }
    step
}

/// Adds what a block says to the series.
pub(super) fn add(all: &mut [Collected], quartets: &Quartets) {
    for one in all {
        let Some((base, head)) = quartets.get(&one.series.scenario) else { continue };
        let (base, head) = ([&base[0], &base[1]], [&head[0], &head[1]]);
        let foreign = foreign(&[base[0], base[1], head[0], head[1]]);
        one.take(figures(one.series.metric, base, head), foreign);
    }
}

/// The scenarios in which one of the sides was busy all the time: a head that sleeps must not make its own throughput go
/// unjudged.
pub(super) fn saturated(block: &Quartets) -> BTreeSet<String> {
    let is_busy = |side: &[Trial; 2]| {
        is_saturated(&side.iter().filter(|trial| trial.status == Status::Ok).collect::<Vec<_>>())
    };
    let either = |(base, head): &([Trial; 2], [Trial; 2])| is_busy(base) || is_busy(head);
    block.iter().filter(|(_, trials)| either(trials)).map(|(cell, _)| cell.clone()).collect()
}
