//! Carrying out the steps of a campaign, one by one: what is measured, what is skipped, what is measured again.

use super::begin::Campaign;
use super::journal::{Disturbance, Finished, Journal};
use crate::measure::{Lab, Progress};
use crate::plan::slowest::Peaks;
use crate::plan::{Step, StepOutcome, Work, mode_name, remaining_seconds, step_seconds};
use crate::scenario::Rules;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Share of the plan's time that may go into measuring steps again: on a machine that is never quiet a run
/// must still end, and says so.
const AGAIN_SHARE: f64 = 0.25;

/// Who measures: [`Lab`], or a stand-in in tests.
pub trait Measure {
    /// Carries out one step; trials are absent only when it was stopped.
    fn run_step(&self, step: &Step, progress: &mut dyn FnMut(Progress)) -> StepOutcome;
}

impl Measure for Lab {
    fn run_step(&self, step: &Step, progress: &mut dyn FnMut(Progress)) -> StepOutcome {
        Self::run_step(self, step, progress)
    }
}

/// Who looks on: a progress bar, or nobody.
pub trait Watch {
    /// A step begins, with `done` of `total` behind it and about `left` to go.
    fn step(&mut self, step: &Step, done: usize, total: usize, left: Duration);
    /// Something goes on inside the step.
    fn stage(&mut self, progress: &Progress);
    /// Something should be known.
    fn note(&mut self, text: &str);
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every step is in the journal.
    Complete,
    /// The stop flag was seen.
    Interrupted {
        /// Steps in the journal.
        done: usize,
        /// Steps to be done in all.
        total: usize,
    },
    /// The time of the slice would not have lasted for the next step.
    Paused {
        /// Steps in the journal.
        done: usize,
        /// Steps to be done in all.
        total: usize,
    },
}

/// What ends a campaign before its last step.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// Set by a signal: the step that is under way is given up.
    pub stop: &'a AtomicBool,
    /// No step is begun that would, by its estimate, end later. The first is begun in any case.
    pub until: Option<Instant>,
}

impl Limits<'_> {
    fn lasts_for(&self, step: &Step) -> bool {
        let end = Instant::now() + Duration::from_secs_f64(step_seconds(step));
        self.until.is_none_or(|until| end <= until)
    }
}

/// Carries out what the journal does not hold yet.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn carry_out(
    campaign: &Campaign,
    journal: &Journal,
    lab: &dyn Measure,
    limits: Limits<'_>,
    watch: &mut dyn Watch,
) -> anyhow::Result<End> {
    let finished = journal.finished()?;
    let wanted: Vec<&Step> =
        campaign.steps.iter().filter(|step| !campaign.skipped.contains_key(&step.position)).collect();
    let total = wanted.len();
    let mut done = wanted.iter().filter(|step| finished.contains_key(&step.position)).count();
    let mut clock = Clock::new(wanted.iter().map(|step| step_seconds(step)).sum());
    let mut left: f64 = wanted
        .iter()
        .filter(|step| !finished.contains_key(&step.position))
        .map(|step| step_seconds(step))
        .sum();
    let mut peaks = Peaks::default();
    let mut begun = 0_usize;
    for step in wanted {
        if let Some(before) = finished.get(&step.position) {
            peaks.add(step, &before.outcome);
            continue;
        }
        let step = &peaks.settle(step);
        if begun > 0 && !limits.lasts_for(step) {
            return Ok(End::Paused { done, total });
        }
        begun += 1;
        watch.step(step, done, total, clock.left(left));
        let Some(result) = measure(campaign, step, lab, limits.stop, watch, &mut clock) else {
            return Ok(End::Interrupted { done, total });
        };
        journal.record(&result)?;
        peaks.add(step, &result.outcome);
        done += 1;
        left -= step_seconds(step);
    }
    Ok(End::Complete)
}

/// How often a disturbed step is measured again at most.
const AGAIN_MAX: usize = 2;

/// One step, once or, where others used too much of the machine meanwhile, up to three times; none when it was
/// stopped. What is kept is chosen by the noise, never by the figure.
fn measure(
    campaign: &Campaign,
    step: &Step,
    lab: &dyn Measure,
    stop: &AtomicBool,
    watch: &mut dyn Watch,
    clock: &mut Clock,
) -> Option<Finished> {
    let first = once(step, lab, stop, watch, clock)?;
    let limit = Rules::of(campaign.profile).foreign_cpu_cores_max.unwrap_or(f64::INFINITY);
    // A directory that is loaded once is no figure of the comparison: it is there, and its trial tells what others used.
    let limit = if matches!(step.work, Work::Stock { .. }) { f64::INFINITY } else { limit };
    let mut kept_cores = foreign(&first);
    let mut kept = first;
    let mut cores = vec![kept_cores];
    if kept_cores <= limit {
        return Some(Finished { outcome: kept, disturbance: None });
    }
    while kept_cores > limit && cores.len() <= AGAIN_MAX && clock.may_repeat(step) {
        let again = once(step, lab, stop, watch, clock)?;
        clock.repeated += step_seconds(step);
        let again_cores = foreign(&again);
        cores.push(again_cores);
        if again_cores <= kept_cores {
            (kept, kept_cores) = (again, again_cores);
        }
    }
    let disturbance = Disturbance {
        first_cores: cores.first().copied().unwrap_or_default(),
        second_cores: cores.get(1).copied(),
        third_cores: cores.get(2).copied(),
    };
    watch.note(&told(step, &disturbance));
    Some(Finished { outcome: kept, disturbance: Some(disturbance) })
}

/// A disturbance in a sentence.
pub(super) fn told(step: &Step, disturbance: &Disturbance) -> String {
    let what =
        format!("{}, {} ({}), trial {}", step.scenario, step.target, mode_name(step.mode), step.trial + 1);
    let first = disturbance.first_cores;
    match (disturbance.second_cores, disturbance.third_cores) {
        (Some(second), Some(third)) => format!(
            "{what}: others used {first:.2} cores meanwhile; measured twice again with {second:.2} and {third:.2}, \
             and the quietest of the three is kept."
        ),
        (Some(second), None) => format!(
            "{what}: others used {first:.2} cores meanwhile; measured again with {second:.2}, and the quieter of \
             the two is kept."
        ),
        (None, _) => format!(
            "{what}: others used {first:.2} cores meanwhile; the time for measuring again was used up."
        ),
    }
}

fn once(
    step: &Step,
    lab: &dyn Measure,
    stop: &AtomicBool,
    watch: &mut dyn Watch,
    clock: &mut Clock,
) -> Option<StepOutcome> {
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    let started = Instant::now();
    let outcome = lab.run_step(step, &mut |progress| watch.stage(&progress));
    clock.add(step, started.elapsed());
    // What was measured while being stopped is not whole.
    (!stop.load(Ordering::Relaxed)).then_some(outcome)
}

/// The most that others, the hypervisor among them, used during any cell of the step, in cores.
fn foreign(outcome: &StepOutcome) -> f64 {
    outcome.trials.iter().filter_map(|(_, trial)| trial.others_cores()).fold(0.0, f64::max)
}

/// Estimated against real time.
struct Clock {
    plan: f64,
    estimated: f64,
    actual: f64,
    repeated: f64,
}

impl Clock {
    fn new(plan: f64) -> Self {
        Self { plan, estimated: 0.0, actual: 0.0, repeated: 0.0 }
    }

    fn add(&mut self, step: &Step, took: Duration) {
        self.estimated += step_seconds(step);
        self.actual += took.as_secs_f64();
    }

    fn left(&self, left: f64) -> Duration {
        Duration::try_from_secs_f64(remaining_seconds(left, self.estimated, self.actual)).unwrap_or_default()
    }

    fn may_repeat(&self, step: &Step) -> bool {
        // In a plan of a few steps one of them may be more than the share.
        self.repeated <= 0.0 || self.repeated + step_seconds(step) <= self.plan * AGAIN_SHARE
    }
}
