//! One load on two targets that run at the same time, in turns of some hundredths of a second.
//!
//! A shared machine changes its speed within tenths of a second. What is compared within one of them has the same machine.

use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading, process_cpu_ns};
use super::super::trial::broken;
use super::loaded::Loaded;
use super::{End, Ready, loaded, meets_half_requests, with_end};
use crate::model::Trial;
use crate::plan::WirePhase;
use crate::target::RunningTarget;

/// One of the two.
pub(crate) struct Side<'a> {
    pub(crate) bench: Bench<'a>,
    pub(crate) target: RunningTarget,
    /// What the target holds.
    store: Loaded,
    /// Whether it waits for the end of a request was looked at.
    is_asked: bool,
    /// The trials of its turns under one load, in their order.
    trials: Vec<Trial>,
}

/// Measures a load on both; `order` says whose turn it is. What breaks is the last trial of its side, and no turn follows it.
/// Cores that others used meanwhile, the hypervisor among them; none where the runner was told to stop.
pub(crate) fn in_turns(sides: &mut [Side<'_>; 2], phase: &WirePhase, order: &[usize]) -> Option<f64> {
    let mut ready = Vec::with_capacity(2);
    for side in sides.iter_mut() {
        match side.ready(phase) {
            Ok(one) => ready.push(one),
            Err(end) => return side.breaks(end).then_some(0.0),
        }
    }
    let before = Moment::take(sides);
    for place in order {
        let (side, one) = (&mut sides[*place], &mut ready[*place]);
        // The same keys and intervals in the turns of one number, and others in the next ones.
        one.load.seed = side.bench.step.seed.wrapping_add((side.trials.len() as u64) << 32);
        match one.measure(&mut side.bench, &side.target, &mut None) {
            Ok(trial) => side.trials.push(trial),
            Err(end) => return side.breaks(end).then_some(0.0),
        }
    }
    let others = Moment::take(sides).others_since(&before);
    for (side, one) in sides.iter_mut().zip(&ready) {
        let Some(mut last) = side.trials.pop() else { continue };
        let finished = one.finish(&side.target, &mut last);
        side.trials.push(last);
        if let Err(end) = finished
            && !side.breaks(end)
        {
            return None;
        }
    }
    Some(others)
}

impl<'b> Side<'b> {
    pub(crate) fn new(bench: Bench<'b>, target: RunningTarget) -> Self {
        Self { bench, target, store: Loaded::default(), is_asked: false, trials: Vec::new() }
    }

    pub(crate) fn take_trials(&mut self) -> Vec<Trial> {
        std::mem::take(&mut self.trials)
    }

    fn ready<'a>(&mut self, phase: &'a WirePhase) -> Result<Ready<'a>, End> {
        let Self { bench, target, store, is_asked, .. } = self;
        if !std::mem::replace(is_asked, true) {
            meets_half_requests(bench, target, phase)
                .map_err(|(status, reason)| End::Broken(status, reason))?;
        }
        let workload = loaded(bench, target, phase, store)?;
        Ready::connect(bench, target, phase, store, workload)
    }

    /// Notes how its turns ended; false where the runner was told to stop.
    fn breaks(&mut self, end: End) -> bool {
        let End::Broken(status, reason) = end else { return false };
        let step = self.bench.step;
        let (reason, _) = with_end(&mut self.target, &step.target, reason);
        self.trials.push(broken(step.trial, step.position, status, reason));
        true
    }
}

/// What the machine, both targets and the runner had used by one moment.
struct Moment {
    targets: [Reading; 2],
    own_cpu_ns: u64,
}

impl Moment {
    fn take(sides: &[Side<'_>; 2]) -> Self {
        let read = |side: &Side<'_>| Reading::take(side.target.pid, &side.target.cpu);
        Self { targets: [read(&sides[0]), read(&sides[1])], own_cpu_ns: process_cpu_ns() }
    }

    fn others_since(&self, before: &Self) -> f64 {
        let mut account = Account::default();
        let own = self.own_cpu_ns.saturating_sub(before.own_cpu_ns);
        let beside = self.targets[1].cpu_since(&before.targets[1]);
        // One of the targets is its own, the other counts as a part of the runner.
        account.add_program(&before.targets[0], &self.targets[0], own + beside, 0.0);
        account.others_cores()
    }
}
