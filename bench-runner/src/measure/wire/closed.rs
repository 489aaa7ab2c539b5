//! A closed loop: how many requests are answered when each waits for the one before?

use super::super::checks::{self, About};
use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading};
use super::super::regime;
use super::super::trial::{empty, fact, invalidate, put};
use super::figures::{put_load, put_system, values_moved, windows};
use super::loaded::LOAD_PATIENCE;
use super::sampled::{self, Sample};
use super::{End, Load, nanoseconds, seconds, settle};
use crate::load::client::Client;
use crate::load::generator::{LONG_NS, Pace, Stretch, Stretched};
use crate::load::http::Page;
use crate::load::recorder::Recorder;
use crate::model::{Trial, Window};
use crate::plan::WirePhase;
use crate::target::RunningTarget;
use crate::target::cpu_time::Source;
use std::time::Instant;

/// Measures one cell.
pub(super) fn measure(
    bench: &Bench<'_>,
    target: &RunningTarget,
    load: &mut Load<'_>,
    deletes: bool,
) -> Result<Trial, End> {
    let phase = load.phase;
    let mut rounds = Rounds::new(phase);
    loop {
        let stretch = rounds.next(load.seed, deletes);
        let long = phase.exact_operations.is_none() && stretch.min_ns >= LONG_NS;
        let before = Reading::take(target.pid, &target.cpu);
        let Load { workload, values, generator, .. } = load;
        let (done, samples) =
            sampled::each_second(target, long, || generator.run(workload, values, &stretch, bench.stop));
        let after = Reading::take(target.pid, &target.cpu);
        rounds.add(&before, &after, &done, &samples);
        load.written.merge(&done.written);
        load.values.turned();
        settle(&done)?;
        if rounds.done() {
            break;
        }
        if deletes {
            // What ran out is put back, outside the time that counts.
            Client::connect(&target.address, LOAD_PATIENCE)?.fill(
                0..phase.keys,
                &load.workload.length,
                &load.values,
            )?;
        }
    }
    Ok(rounds.into_trial(bench, target, phase))
}

/// A cell's load in one or more stretches: a fixed count is repeated until the shortest time has passed, and
/// deletes pause when no key is left.
struct Rounds<'a> {
    phase: &'a WirePhase,
    deadline: Instant,
    recorder: Recorder,
    windows: Vec<Window>,
    /// Replies in each slot of all stretches, whole slots only.
    slots: Vec<u32>,
    elapsed_ns: u64,
    account: Account,
    count: u32,
}

impl<'a> Rounds<'a> {
    fn new(phase: &'a WirePhase) -> Self {
        Self {
            phase,
            deadline: Instant::now() + seconds(phase.timeout_s),
            recorder: Recorder::default(),
            windows: Vec::new(),
            slots: Vec::new(),
            elapsed_ns: 0,
            account: Account::default(),
            count: 0,
        }
    }

    fn operations(&self) -> u64 {
        self.recorder.counts.operations
    }

    fn next(&mut self, seed: u64, deletes: bool) -> Stretch {
        let done = self.operations();
        let exact = self.phase.exact_operations.filter(|count| *count > 0);
        let limit = match (exact, deletes) {
            (None, false) => None,
            (None, true) => Some(self.phase.keys),
            (Some(count), false) => Some(count),
            (Some(count), true) => Some(self.phase.keys.min(count - done % count)),
        };
        self.count += 1;
        Stretch {
            min_ns: if exact.is_some() { u64::MAX } else { left_ns(self.phase.min_seconds, self.elapsed_ns) },
            min_operations: self.phase.min_operations.saturating_sub(done),
            limit,
            pace: Pace::Closed,
            deadline: self.deadline,
            seed: seed.wrapping_add(u64::from(self.count)),
            first: 0,
            window_percentiles: false,
        }
    }

    fn add(&mut self, before: &Reading, after: &Reading, load: &Stretched, samples: &[Sample]) {
        self.account.add(before, after, load);
        let mut windows: Vec<Window> = windows(load, self.elapsed_ns).collect();
        sampled::into_windows(samples, &mut windows);
        self.windows.extend(windows);
        self.slots.extend(regime::whole_slots(&load.recorder.slots, load.elapsed_ns));
        self.elapsed_ns += load.elapsed_ns;
        self.recorder.merge(&load.recorder);
    }

    fn done(&self) -> bool {
        let enough = self.elapsed_ns >= nanoseconds(self.phase.min_seconds)
            && self.operations() >= self.phase.min_operations;
        match self.phase.exact_operations.filter(|count| *count > 0) {
            Some(count) => enough && self.operations().is_multiple_of(count),
            None => enough,
        }
    }

    fn into_trial(self, bench: &Bench<'_>, target: &RunningTarget, phase: &WirePhase) -> Trial {
        let step = bench.step;
        let mut trial = empty(step.trial, step.position);
        let elapsed_s = self.elapsed_ns as f64 / 1e9;
        let operations = self.operations();
        trial.elapsed_s = elapsed_s;
        trial.counts = self.recorder.counts;
        trial.windows = self.windows;
        put_load(&mut trial, &self.recorder, elapsed_s);
        if phase.value_mix.is_empty() {
            let page = target.page().and_then(Page::body_bytes);
            let bytes = page.map_or(u64::from(phase.value_bytes), |bytes| bytes as u64);
            let moved = values_moved(&self.recorder) * bytes;
            put(&mut trial, "bytes_per_second", moved as f64 / elapsed_s.max(1e-9));
        }
        if let Some(said) = regime::broken(&self.slots) {
            fact(&mut trial, "regime", said);
        }
        if let Some(drift) = sampled::drift_ratio(&trial.windows) {
            put(&mut trial, "drift_ratio", drift);
        }
        if self.count > 1 {
            fact(&mut trial, "rounds", self.count);
        }
        if let Some(reason) = &self.recorder.first_error {
            let errors = trial.counts.errors;
            invalidate(
                &mut trial,
                format!("{errors} of {operations} replies were wrong; the first: {reason}"),
            );
        }
        let volatile = bench.definition.durability == "volatile";
        let cpu_known = target.cpu != Source::Unknown;
        let about = About { clients: phase.clients, closed_loop: true, volatile, cpu_known };
        checks::look(&mut trial, about, &self.account, &self.recorder);
        put_system(&mut trial, self.account, target);
        trial
    }
}

/// The shortest stretch that is asked for, ns.
const SHORTEST_NS: u64 = 1_000_000;

/// How long the next stretch must last. Never next to nothing: time counts to the last reply, which may come some
/// nanoseconds before the end, and a stretch over before its first request is sent would be asked for again and again.
fn left_ns(min_seconds: f64, elapsed_ns: u64) -> u64 {
    nanoseconds(min_seconds).saturating_sub(elapsed_ns).max(SHORTEST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_that_is_asked_for_can_send_something() {
        assert_eq!(left_ns(1.0, 0), 1_000_000_000);
        assert_eq!(left_ns(1.0, 999_999_995), SHORTEST_NS);
        assert_eq!(left_ns(1.0, 2_000_000_000), SHORTEST_NS);
    }
}
