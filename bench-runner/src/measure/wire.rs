//! Closed-loop load: loads the keys a cell needs, connects, warms up, measures, and judges the whole.

use super::lab::{Bench, fail_all};
use super::os_stat::{Account, Reading};
use super::progress::Stage;
use super::trial::{broken, empty, fact, invalidate, put, put_times};
use crate::load::client::Client;
use crate::load::generator::{Connections, Generator, Pace, Stretch, Stretched};
use crate::load::recorder::{Recorder, WINDOW_NS};
use crate::load::request::{Draw, Length, Workload};
use crate::load::values::Values;
use crate::model::{Status, Trial, Value, Window};
use crate::plan::{Operation, WirePhase};
use crate::target::RunningTarget;
use crate::target::memory::forget_rss_peak;
use std::time::{Duration, Instant};

/// How long the loading of keys may wait for one reply.
const LOAD_PATIENCE: Duration = Duration::from_secs(30);

/// Measures the cells of one target, one after the other.
pub(crate) fn measure(
    bench: &mut Bench<'_>,
    target: &mut RunningTarget,
    phases: &[WirePhase],
) -> Vec<(String, Trial)> {
    let mut store = Loaded::default();
    let mut trials = Vec::new();
    for (number, phase) in phases.iter().enumerate() {
        if bench.stopped() {
            break;
        }
        let trial = match measure_phase(bench, target, phase, &mut store) {
            Ok(trial) => trial,
            Err(End::Stopped) => break,
            Err(End::Broken(status, reason)) => {
                let ended = target.ended();
                let words = ended.as_ref().map(|words| format!("; {} ended: {words}", bench.step.target));
                let reason = format!("{reason}{}", words.unwrap_or_default());
                trials.push((
                    phase.cell.key.clone(),
                    broken(bench.step.trial, bench.step.position, status, reason),
                ));
                if ended.is_some() {
                    let reason =
                        format!("{} had ended in an earlier cell of this process", bench.step.target);
                    trials.extend(fail_all(bench.step, number + 1, Status::Failed, &reason));
                    break;
                }
                // What it holds is not known any more.
                store = Loaded { dirty: true, ..Loaded::default() };
                continue;
            }
        };
        trials.push((phase.cell.key.clone(), trial));
    }
    trials
}

/// Why a cell came to no figure.
pub(crate) enum End {
    /// The runner was told to stop.
    Stopped,
    /// The target or the load broke.
    Broken(Status, String),
}

impl From<crate::load::client::ClientError> for End {
    fn from(error: crate::load::client::ClientError) -> Self {
        Self::Broken(Status::Failed, error.to_string())
    }
}

/// What the target's store holds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Loaded {
    keys: u64,
    value_bytes: u32,
    /// Keys may be missing, or hold something else.
    dirty: bool,
}

impl Loaded {
    /// Sets every key, unless that is how it stands. Pure writes are loaded too: else the same cell would
    /// insert or overwrite, depending on which came before it.
    fn ensure(
        &mut self,
        bench: &Bench<'_>,
        target: &RunningTarget,
        phase: &WirePhase,
        values: &Values,
    ) -> Result<(), End> {
        let wanted = Self { keys: phase.keys, value_bytes: phase.value_bytes, dirty: false };
        if *self == wanted {
            return Ok(());
        }
        let mut client = Client::connect(&target.address, LOAD_PATIENCE)?;
        if bench.definition.role.keeps_nothing() {
            // It keeps nothing, and answers GET by a value of the length that was set last.
            client.fill(0..1, &Length::Fixed(phase.value_bytes), values)?;
        } else {
            if self.dirty || (self.keys, self.value_bytes) != (wanted.keys, wanted.value_bytes) {
                client.expect_simple(&[b"FLUSHALL"], "OK")?;
            }
            client.fill(0..phase.keys, &Length::Fixed(phase.value_bytes), values)?;
            let held = client.expect_integer(&[b"DBSIZE"])?;
            if u64::try_from(held).ok() != Some(phase.keys) {
                let reason = format!("{} keys were set, DBSIZE says {held}", phase.keys);
                return Err(End::Broken(Status::Invalid, reason));
            }
        }
        *self = wanted;
        Ok(())
    }
}

fn measure_phase(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &WirePhase,
    store: &mut Loaded,
) -> Result<Trial, End> {
    let label = &phase.cell.label;
    let deletes = phase.mix.iter().any(|(operation, _)| *operation == Operation::Del);
    if phase.mix.is_empty() || phase.keys == 0 || (deletes && phase.mix.len() > 1) {
        let reason = "the load needs keys and operations, and deletes cannot be mixed with others";
        return Err(End::Broken(Status::Failed, reason.to_owned()));
    }
    if phase.offer.arrival().is_some() || phase.client_program.is_some() || phase.protocol.is_some() {
        let reason = "open loops, other protocols and other programs cannot be measured yet";
        return Err(End::Broken(Status::Skipped, reason.to_owned()));
    }
    let step = bench.step;
    let values = Values::new(step.seed, phase.value_bytes as usize);
    forget_rss_peak(target.pid);
    bench.tell(label, Stage::Loading);
    store.ensure(bench, target, phase, &values)?;

    let workload = Workload {
        mix: phase.mix.clone(),
        keys: phase.keys,
        draw: if deletes { Draw::Once } else { Draw::Uniform },
        length: Length::Fixed(phase.value_bytes),
        expiry_ms: None,
        pipeline: phase.pipeline,
        shape_only: bench.definition.role.keeps_nothing(),
        ..Workload::default()
    };
    bench.tell(label, Stage::Connecting);
    let begin = Instant::now();
    let connections = Connections {
        clients: phase.clients,
        threads: bench.setup.generator_threads,
        cpus: &[],
        protocol: &workload.protocol,
    };
    let mut generator = Generator::connect(&target.address, &connections)?;
    let connect_ms = begin.elapsed().as_secs_f64() * 1e3;
    if phase.warmup_s > 0.0 {
        bench.tell(label, Stage::WarmingUp);
        // Deletes are warmed up by writes, which leave the store as it is.
        let mix = if deletes { vec![(Operation::Set, 1)] } else { phase.mix.clone() };
        let workload = Workload { mix, draw: Draw::Uniform, ..workload.clone() };
        let stretch = Stretch {
            min_ns: nanoseconds(phase.warmup_s),
            min_operations: 0,
            limit: None,
            pace: Pace::Closed,
            deadline: Instant::now() + seconds(phase.timeout_s),
            seed: step.seed ^ 0x5eed,
            first: 0,
            window_percentiles: false,
        };
        let warm = generator.run(&workload, &values, &stretch, bench.stop);
        settle(&warm)?;
        if let Some(reason) = warm.recorder.first_error {
            return Err(End::Broken(Status::Invalid, format!("while warming up: {reason}")));
        }
    }

    bench.tell(label, Stage::Measuring);
    store.dirty = deletes;
    let mut rounds = Rounds::new(phase);
    loop {
        let stretch = rounds.next(step.seed, deletes);
        let before = Reading::take(target.pid, &target.cpu);
        let load = generator.run(&workload, &values, &stretch, bench.stop);
        let after = Reading::take(target.pid, &target.cpu);
        rounds.add(&before, &after, &load);
        settle(&load)?;
        if rounds.done() {
            break;
        }
        if deletes {
            // What ran out is put back, outside the time that counts.
            Client::connect(&target.address, LOAD_PATIENCE)?.fill(
                0..phase.keys,
                &workload.length,
                &values,
            )?;
        }
    }
    let mut trial = rounds.into_trial(bench, target, phase);
    put(&mut trial, "connect_ms", connect_ms);
    trial.process = Some(target.facts(bench.generator_cpus()));
    Ok(trial)
}

/// An end that leaves no figure.
pub(crate) fn settle(load: &Stretched) -> Result<(), End> {
    if let Some(reason) = &load.lost {
        return Err(End::Broken(Status::Failed, reason.clone()));
    }
    if load.stopped {
        return Err(End::Stopped);
    }
    if load.timed_out {
        let answered = load.recorder.counts.operations;
        let reason = format!("timed out with {answered} of {} requests answered", load.sent);
        return Err(End::Broken(Status::Timeout, reason));
    }
    Ok(())
}

/// A cell's load in one or more stretches: a fixed count is repeated until the shortest time has passed, and
/// deletes pause when no key is left.
struct Rounds<'a> {
    phase: &'a WirePhase,
    deadline: Instant,
    recorder: Recorder,
    windows: Vec<Window>,
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
            min_ns: if exact.is_some() {
                u64::MAX
            } else {
                nanoseconds(self.phase.min_seconds).saturating_sub(self.elapsed_ns)
            },
            min_operations: self.phase.min_operations.saturating_sub(done),
            limit,
            pace: Pace::Closed,
            deadline: self.deadline,
            seed: seed.wrapping_add(u64::from(self.count)),
            first: 0,
            window_percentiles: false,
        }
    }

    fn add(&mut self, before: &Reading, after: &Reading, load: &Stretched) {
        self.account.add(before, after, load);
        self.windows.extend(windows(load, self.elapsed_ns));
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
        let moved = values_moved(&self.recorder) * u64::from(phase.value_bytes);
        put(&mut trial, "bytes_per_second", moved as f64 / elapsed_s.max(1e-9));
        put_system(&mut trial, self.account, target);
        if self.count > 1 {
            fact(&mut trial, "rounds", self.count);
        }
        if let Some(reason) = self.recorder.first_error {
            let errors = trial.counts.errors;
            invalidate(
                &mut trial,
                format!("{errors} of {operations} replies were wrong; the first: {reason}"),
            );
        }
        trial
    }
}

/// The windows of a stretch that began `offset_ns` after the beginning of the cell.
pub(crate) fn windows(load: &Stretched, offset_ns: u64) -> impl Iterator<Item = Window> {
    load.recorder.windows.iter().enumerate().map(move |(number, operations)| {
        let start_ns = number as u64 * WINDOW_NS;
        let length_ns = load.elapsed_ns.saturating_sub(start_ns).min(WINDOW_NS);
        Window {
            start_ms: (offset_ns + start_ns) as f64 / 1e6,
            length_ms: length_ns as f64 / 1e6,
            operations: *operations,
            latency_ns_p50: load.recorder.window_times(number).map(|times| times.percentile_ns(50.0)),
            latency_ns_p99: load.recorder.window_times(number).map(|times| times.percentile_ns(99.0)),
            ..Window::default()
        }
    })
}

/// Values that crossed the wire, in either direction.
fn values_moved(recorder: &Recorder) -> u64 {
    let sets = recorder.times(Operation::Set).map_or(0, crate::load::recorder::Times::count);
    sets + recorder.counts.hits
}

/// Adds throughput and response times: of all operations together, and apart where there are several.
pub(crate) fn put_load(trial: &mut Trial, recorder: &Recorder, elapsed_s: f64) {
    put(trial, "ops_per_second", recorder.counts.operations as f64 / elapsed_s.max(1e-9));
    let present: Vec<_> = [Operation::Set, Operation::Get, Operation::Del]
        .into_iter()
        .filter_map(|operation| Some((operation, recorder.times(operation)?)))
        .collect();
    let mut all = crate::load::recorder::Times::new();
    for (operation, times) in &present {
        all.merge(times);
        trial.histograms.extend(times.to_record(operation.name()));
    }
    put_times(trial, None, &all);
    if present.len() > 1 {
        for (operation, times) in present {
            trial.values.push(Value {
                metric: "ops_per_second".to_owned(),
                operation: Some(operation.name().to_owned()),
                value: times.count() as f64 / elapsed_s.max(1e-9),
            });
            put_times(trial, Some(operation.name()), times);
        }
    }
}

/// Adds what the system did meanwhile.
pub(crate) fn put_system(trial: &mut Trial, account: Account, target: &RunningTarget) {
    let stat = account.finish(target.pid);
    let operations = trial.counts.operations.max(1) as f64;
    put(trial, "server_cpu_ns_per_op", stat.server_cpu_ns as f64 / operations);
    put(trial, "rss_bytes_peak", stat.rss_bytes_peak as f64);
    put(trial, "rss_bytes_growth", stat.rss_bytes_peak as f64 - target.rss_bytes_start as f64);
    put(trial, "generator_busy", stat.generator_busy_max);
    trial.os = Some(stat);
}

pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(3_600))
}
