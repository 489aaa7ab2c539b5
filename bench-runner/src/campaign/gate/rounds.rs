//! Blocks on this machine: base and head in turns, with fresh processes in each block.

use super::figures::{figures, foreign, is_saturated};
use crate::gate::{Collected, Series, metrics};
use crate::measure::{Lab, NoTurns, Turns};
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
    steps: Vec<Step>,
    /// The loads as the gate's file has them.
    order: Vec<String>,
    /// How many steps were carried out.
    pub(super) position: u32,
    pub(super) random: fastrand::Rng,
    pub(super) blocks: u32,
    /// Why base and head are measured one after the other; none where both run at the same time.
    pub(super) apart: Option<String>,
    /// Of each process's loads: seconds that their trials in all blocks took, and how many blocks.
    took: BTreeMap<Vec<String>, (f64, u32)>,
}

/// What one load says of base and head in one block.
pub(super) struct Sides {
    /// Base's trials, in their order.
    pub(super) base: Vec<Trial>,
    /// Head's.
    pub(super) head: Vec<Trial>,
    /// Cores that others used meanwhile.
    pub(super) others_cores: f64,
}

/// A block, by cell.
pub(super) type Block = BTreeMap<String, Sides>;

/// Whose turn it is, where the coin falls for the first: a drift that is linear or quadratic over the turns weighs on both alike (the sequence of
/// Thue and Morse).
const TURNS: [usize; 8] = [0, 1, 1, 0, 1, 0, 0, 1];

/// A trial of its own is as long as so many turns: what others use in 0.05 s cannot be read from the kernel's ticks of 10 ms.
const TURNS_OF_A_TRIAL: u32 = 3;

impl<'a> Rounds<'a> {
    pub(super) fn new(labs: [&'a Lab; 2], steps: Vec<Step>, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let order = steps.iter().flat_map(cells).collect();
        let steps = grouped(steps);
        Self { labs, steps, order, position: 0, random, blocks: 0, apart: None, took: BTreeMap::new() }
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
        let mut all: Vec<Series> = phases.flat_map(of).collect();
        all.sort_by_key(|one| self.order.iter().position(|cell| *cell == one.scenario));
        all
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
        const AROUND_S: f64 = 0.3;
        // Beginning and ending a turn.
        const TURN_S: f64 = 0.02;
        let planned = |step: &Step| {
            let of = |phase: &WirePhase| match self.apart {
                None => 2.0 * phase.warmup_s + TURNS.len() as f64 * (phase.min_seconds + TURN_S),
                Some(_) => 4.0 * (phase.warmup_s + f64::from(TURNS_OF_A_TRIAL) * phase.min_seconds + TURN_S),
            };
            let starts = if self.apart.is_none() { 2.0 } else { 4.0 };
            starts * AROUND_S + phases(step).map(of).sum::<f64>()
        };
        let measured = |step: &Step| {
            let (seconds, blocks) = self.took.get(&cells(step).collect::<Vec<_>>())?;
            Some(seconds / f64::from(*blocks))
        };
        self.steps.iter().map(|step| measured(step).unwrap_or_else(|| planned(step))).sum()
    }

    /// Measures one block; none when it was stopped. A coin says which side begins: what the machine does meanwhile can then not
    /// favour one.
    pub(super) fn block(&mut self) -> Option<Block> {
        let (seed, turn) = (self.random.u64(..1 << 53), self.blocks as usize);
        let is_head_first = self.random.bool();
        let mut block = Block::new();
        for number in 0..self.steps.len() {
            // Load by load: a machine changes its speed within tenths of a second, and what is compared follows at once.
            let begin = Instant::now();
            let number = (number + turn) % self.steps.len();
            let key = cells(&self.steps[number]).collect();
            let step = self.step(number, seed);
            block.extend(self.sides(&step, is_head_first)?);
            let (seconds, blocks) = self.took.entry(key).or_default();
            *seconds += begin.elapsed().as_secs_f64();
            *blocks += 1;
        }
        self.blocks += 1;
        Some(block)
    }

    /// The loads of a step: on both at the same time, or, once that is refused, on one after the other.
    fn sides(&mut self, step: &Step, is_head_first: bool) -> Option<Block> {
        if self.apart.is_none() {
            match self.in_turns(step, is_head_first) {
                Ok(block) => return Some(block),
                Err(NoTurns::Stopped) => return None,
                Err(NoTurns::Refused(reason)) => {
                    self.apart = Some(reason);
                    // What such a block takes is not known yet.
                    self.took.clear();
                }
            }
        }
        let alone = |step: Step| {
            let cell = cells(&step).next()?;
            Some((cell, self.one_after_the_other(step, is_head_first)?))
        };
        one_by_one(step.clone()).into_iter().map(alone).collect()
    }

    fn in_turns(&self, step: &Step, is_head_first: bool) -> Result<Block, NoTurns> {
        let [base, head] = self.labs;
        let labs = if is_head_first { [head, base] } else { [base, head] };
        let sides = |turns: Turns| {
            let [first, second] = turns.trials;
            let (base, head) = if is_head_first { (second, first) } else { (first, second) };
            (turns.cell, Sides { base, head, others_cores: turns.others_cores })
        };
        Ok(Lab::in_turns(labs, step, &TURNS)?.into_iter().map(sides).collect())
    }

    /// In the order base, head, head, base, or the other way round, each a fresh process.
    fn one_after_the_other(&self, step: Step, is_head_first: bool) -> Option<Sides> {
        let step = &lengthened(step);
        let mut sides = [Vec::new(), Vec::new()];
        for place in &TURNS[..4] {
            let place = if is_head_first { 1 - place } else { *place };
            let mut trials = self.labs[place].run_step(step, &mut |_| {}).trials;
            sides[place].push(trials.pop()?.1);
        }
        let [base, head] = sides;
        let others_cores = foreign(base.iter().chain(&head));
        Some(Sides { base, head, others_cores })
    }

    fn step(&mut self, number: usize, seed: u64) -> Step {
        let mut step = Step { position: self.position, seed, ..self.steps[number].clone() };
        step.trial = self.blocks;
        if let Work::Wire { phases } = &mut step.work {
            // No load is always the first one of its process.
            let first = self.blocks as usize % phases.len().max(1);
            phases.rotate_left(first);
        }
        self.position += 1;
        step
    }
}

fn phases(step: &Step) -> impl Iterator<Item = &WirePhase> {
    match &step.work {
        Work::Wire { phases } => phases.iter(),
        _ => [].iter(),
    }
}

/// The cells of a step.
fn cells(step: &Step) -> impl Iterator<Item = String> {
    phases(step).map(|phase| phase.cell.key.clone())
}

/// Loads that need the same keys are given to the same processes, one after the other: starting servers and loading keys takes longer than
/// measuring.
fn grouped(steps: Vec<Step>) -> Vec<Step> {
    let mut groups: Vec<Step> = Vec::new();
    for step in steps.into_iter().flat_map(one_by_one) {
        let same = groups.iter_mut().find(|group| {
            let (of_group, own) = (phases(group).next(), phases(&step).next());
            process(group) == process(&step)
                && of_group.zip(own).is_some_and(|(one, other)| holds_the_same(one, other))
        });
        match (same.map(|group| &mut group.work), step.work) {
            (Some(Work::Wire { phases: all }), Work::Wire { phases }) => all.extend(phases),
            (_, work) => groups.push(Step { work, ..step }),
        }
    }
    groups
}

/// What a process is started as.
fn process(step: &Step) -> impl PartialEq {
    let Step { target, mode, placement, cap_bytes, memory_limit_bytes, variant, .. } = step;
    (target.clone(), *mode, *placement, *cap_bytes, *memory_limit_bytes, variant.clone())
}

/// Whether two loads ask for the same keys and values, in the same protocol.
fn holds_the_same(one: &WirePhase, other: &WirePhase) -> bool {
    let stored = |phase: &WirePhase| {
        (phase.protocol, phase.transport, phase.keys, phase.value_bytes, phase.value_mix.clone())
    };
    stored(one) == stored(other)
}

/// One step for each load, so that a block's trials of it follow each other.
fn one_by_one(step: Step) -> Vec<Step> {
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

fn lengthened(mut step: Step) -> Step {
    if let Work::Wire { phases } = &mut step.work {
        for phase in phases {
            phase.min_seconds *= f64::from(TURNS_OF_A_TRIAL);
            phase.min_operations *= u64::from(TURNS_OF_A_TRIAL);
        }
    }
    step
}

/// Adds what a block says to the series.
pub(super) fn add(all: &mut [Collected], block: &Block) {
    for one in all {
        let Some(sides) = block.get(&one.series.scenario) else { continue };
        one.take(figures(one.series.metric, &sides.base, &sides.head), sides.others_cores);
    }
}

/// The scenarios in which one of the sides was busy all the time: a head that sleeps must not make its own throughput go
/// unjudged.
pub(super) fn saturated(block: &Block) -> BTreeSet<String> {
    let is_busy = |side: &[Trial]| {
        is_saturated(&side.iter().filter(|trial| trial.status == Status::Ok).collect::<Vec<_>>())
    };
    let either = |sides: &Sides| is_busy(&sides.base) || is_busy(&sides.head);
    block.iter().filter(|(_, sides)| either(sides)).map(|(cell, _)| cell.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::GateDefinition;

    /// The steps of this repository's own gate.
    fn own() -> Vec<Step> {
        let definition = GateDefinition::parse("gate.toml", include_str!("../../../gate.toml")).unwrap();
        super::super::steps_of(&definition, 7)
    }

    #[test]
    fn loads_of_the_same_keys_share_their_processes_and_all_are_there_in_their_order() {
        let steps = own();
        let order: Vec<String> = steps.iter().flat_map(cells).collect();
        let groups = grouped(steps.clone());
        assert!(groups.len() < order.len(), "{} groups of {} loads", groups.len(), order.len());
        for group in &groups {
            let all: Vec<&WirePhase> = phases(group).collect();
            assert!(all.iter().all(|phase| holds_the_same(all[0], phase)));
        }
        let mut found: Vec<String> = groups.iter().flat_map(cells).collect();
        let of_groups = found.clone();
        found.sort_by_key(|cell| order.iter().position(|one| one == cell));
        assert_eq!(found, order);
        assert_ne!(of_groups, order, "the load of long values stands between others");
    }
}
