//! Load over sockets: loads the keys a cell needs, connects, warms up, measures, and judges the whole.
//!
//! [`closed`] measures a closed loop, [`open`] rates and the search for the knee.

mod closed;
mod figures;
mod loaded;
mod open;
mod sampled;
mod turns;

pub(crate) use figures::{put_load, put_system, windows};
pub(super) use turns::{Side, in_turns};

use super::external;
use super::half_request;
use super::lab::{Bench, fail_all};
use super::progress::Stage;
use super::trial::{broken, fact, invalidate, put};
use crate::load::generator::{Connections, Generator, Pace, Stretch, Stretched};
use crate::load::http;
use crate::load::read_back::read_back;
use crate::load::request::{Asked, Draw, Length, Protocol, Workload};
use crate::load::values::Values;
use crate::load::written::Written;
use crate::model::{Status, Trial};
use crate::plan::{Offer, Operation, WirePhase};
use crate::scenario::{self, Distribution};
use crate::target::memory::forget_rss_peak;
use crate::target::{self, RunningTarget};
use loaded::Loaded;
use std::time::{Duration, Instant};

/// Exponent of Zipf's law, as in YCSB.
pub(crate) const ZIPF_THETA: f64 = 0.99;
/// Measures the cells of one target, one after the other.
pub(crate) fn measure(
    bench: &mut Bench<'_>,
    target: &mut RunningTarget,
    phases: &[WirePhase],
) -> Vec<(String, Trial)> {
    // What was said of half a request, by protocol: loads of one process may speak several.
    let mut asked: Vec<(Option<scenario::Protocol>, Result<(), half_request::Refusal>)> = Vec::new();
    let mut store = Loaded::default();
    let mut peak = None;
    let mut trials = Vec::new();
    for (number, phase) in phases.iter().enumerate() {
        if bench.stopped() {
            break;
        }
        let place = asked.iter().position(|(protocol, _)| *protocol == phase.protocol).unwrap_or_else(|| {
            asked.push((phase.protocol, meets_half_requests(bench, target, phase)));
            asked.len() - 1
        });
        let measured = match &asked[place].1 {
            Ok(()) => measure_phase(bench, target, phase, &mut store, &mut peak),
            Err((status, reason)) => Err(End::Broken(*status, reason.clone())),
        };
        let trial = match measured {
            Ok(trial) => trial,
            Err(End::Stopped) => break,
            Err(End::Broken(status, reason)) => {
                let (reason, has_ended) = with_end(target, &bench.step.target, reason);
                trials.push((
                    phase.cell.key.clone(),
                    broken(bench.step.trial, bench.step.position, status, reason),
                ));
                if has_ended {
                    let reason =
                        format!("{} had ended in an earlier cell of this process", bench.step.target);
                    trials.extend(fail_all(bench.step, number + 1, Status::Failed, &reason));
                    break;
                }
                // What it holds is not known any more.
                store = Loaded::unknown();
                continue;
            }
        };
        trials.push((phase.cell.key.clone(), trial));
    }
    trials
}

/// A reason with how the target ended, if it did.
fn with_end(target: &mut RunningTarget, name: &str, reason: String) -> (String, bool) {
    match target.ended() {
        Some(words) => (format!("{reason}; {name} ended: {words}"), true),
        None => (reason, false),
    }
}

/// Asks a process, before its first cell of a protocol, whether it waits for the end of a request.
fn meets_half_requests(
    bench: &Bench<'_>,
    target: &RunningTarget,
    phase: &WirePhase,
) -> Result<(), half_request::Refusal> {
    let speaks = matches!(
        bench.definition.protocol,
        target::Protocol::Resp | target::Protocol::Memcached | target::Protocol::Http
    );
    // A floor answers without reading: it shows what that costs, and is no store.
    if bench.stopped() || !speaks || bench.definition.role.keeps_nothing() {
        return Ok(());
    }
    half_request::check(&target.address, &spoken(bench, target, phase))
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

fn measure_phase(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &WirePhase,
    store: &mut Loaded,
    peak: &mut Option<f64>,
) -> Result<Trial, End> {
    let workload = loaded(bench, target, phase, store)?;
    if let Some(program) = phase.client_program {
        store.dirty = phase.mix.iter().any(|(operation, _)| *operation != Operation::Get);
        return external::measure(bench, target, phase, program);
    }
    let mut ready = Ready::connect(bench, target, phase, store, workload)?;
    bench.tell(&phase.cell.label, Stage::Measuring);
    let mut trial = ready.measure(bench, target, peak)?;
    ready.finish(target, &mut trial)?;
    trial.process = Some(target.facts(bench.generator_cpus()));
    Ok(trial)
}

/// Has the target hold the keys that a cell needs.
fn loaded(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &WirePhase,
    store: &mut Loaded,
) -> Result<Workload, End> {
    if phase.mix.is_empty() || phase.keys == 0 || (deletes(phase) && phase.mix.len() > 1) {
        let reason = "the load needs keys and operations, and deletes cannot be mixed with others";
        return Err(End::Broken(Status::Failed, reason.to_owned()));
    }
    if let Some(transport) = phase.transport {
        let reason = format!("no target here listens by {}", transport.name());
        return Err(End::Broken(Status::Skipped, reason));
    }
    if let Some(reason) = phase.unsuited(target.page().is_some()) {
        return Err(End::Broken(Status::Skipped, reason.to_owned()));
    }
    let workload = workload(bench, target, phase);
    let is_kept = workload.protocol.keeps_connections();
    if phase.new_connections && is_kept {
        let reason = "a connection per request is measured over HTTP only";
        return Err(End::Broken(Status::Failed, reason.to_owned()));
    }
    if !is_kept && phase.offer != Offer::Replies {
        let reason = "the server closes each connection, and a rate is offered on connections that are kept";
        return Err(End::Broken(Status::Skipped, reason.to_owned()));
    }
    forget_rss_peak(target.pid);
    bench.tell(&phase.cell.label, Stage::Loading);
    store.ensure(bench, target, phase, &workload, &values(bench, phase))?;
    Ok(workload)
}

pub(super) fn deletes(phase: &WirePhase) -> bool {
    phase.mix.iter().any(|(operation, _)| *operation == Operation::Del)
}

fn values(bench: &Bench<'_>, phase: &WirePhase) -> Values {
    Values::new(bench.step.seed, phase.value_bytes as usize)
}

/// A cell that can be measured: its keys are there, its connections too, and it is warm.
struct Ready<'a> {
    load: Load<'a>,
    connect_ms: f64,
}

impl<'a> Ready<'a> {
    fn connect(
        bench: &mut Bench<'_>,
        target: &RunningTarget,
        phase: &'a WirePhase,
        store: &mut Loaded,
        workload: Workload,
    ) -> Result<Self, End> {
        bench.tell(&phase.cell.label, Stage::Connecting);
        let begin = Instant::now();
        let connections = Connections {
            clients: phase.clients,
            threads: bench.setup.generator_threads,
            cpus: &[],
            protocol: &workload.protocol,
        };
        let generator = Generator::connect(&target.address, &connections)?;
        let connect_ms = begin.elapsed().as_secs_f64() * 1e3;
        let values = values(bench, phase).of_generation(store.generation);
        let mut load =
            Load { phase, workload, values, generator, written: Written::default(), seed: bench.step.seed };
        warm_up(bench, &mut load, deletes(phase))?;
        if phase.mix.iter().any(|(operation, _)| *operation == Operation::Set) {
            let first = store.generation.saturating_add(1);
            store.generation = first.saturating_add(1);
            load.values = load.values.turning(first, store.generation);
        }
        store.dirty = deletes(phase) || phase.ttl_ms.is_some();
        Ok(Self { load, connect_ms })
    }

    fn measure(
        &mut self,
        bench: &mut Bench<'_>,
        target: &RunningTarget,
        peak: &mut Option<f64>,
    ) -> Result<Trial, End> {
        let load = &mut self.load;
        let deletes = deletes(load.phase);
        match load.phase.offer {
            Offer::Replies => closed::measure(bench, target, load, deletes),
            Offer::Peak => {
                let trial = closed::measure(bench, target, load, deletes)?;
                *peak = value_of(&trial, "ops_per_second").filter(|_| trial.status == Status::Ok);
                Ok(trial)
            }
            Offer::PerSecond { per_second, arrival } => {
                open::measure(bench, target, load, per_second as f64, arrival)
            }
            Offer::PercentOfSlowest { per_second, arrival, .. } => {
                if per_second <= 0.0 {
                    let reason =
                        "its rate follows the slowest closed loop of the round, and none came to a figure";
                    return Err(End::Broken(Status::Failed, reason.to_owned()));
                }
                open::measure(bench, target, load, per_second, arrival)
            }
            Offer::PercentOfPeak { percent, arrival } => {
                let per_second = peak_of(*peak)? * f64::from(percent) / 100.0;
                open::measure(bench, target, load, per_second, arrival)
            }
            Offer::Knee { arrival } => open::find_knee(bench, target, load, peak_of(*peak)?, arrival),
        }
    }

    /// What is said of the cell in its last trial: what was written is read back.
    fn finish(&self, target: &RunningTarget, trial: &mut Trial) -> Result<(), End> {
        check_written(target, &self.load, trial)?;
        if self.load.workload.protocol.keeps_connections() {
            put(trial, "connect_ms", self.connect_ms);
        }
        if let Some(bytes) = target.page().and_then(http::Page::body_bytes) {
            fact(trial, "page_bytes", bytes);
        }
        Ok(())
    }
}

/// What a cell's load is made of, ready to be sent.
pub(crate) struct Load<'a> {
    pub(crate) phase: &'a WirePhase,
    pub(crate) workload: Workload,
    pub(crate) values: Values,
    pub(crate) generator: Generator,
    /// What the target acknowledged.
    pub(crate) written: Written,
    /// Of keys and intervals.
    pub(crate) seed: u64,
}

/// Keys that are read back when a cell is over, at most about so many.
const READ_BACK: usize = 1_000;

/// Reads back a part of what was written. What is acknowledged and not there makes the trial worthless.
fn check_written(target: &RunningTarget, load: &Load<'_>, trial: &mut Trial) -> Result<(), End> {
    let written = load.written.sampled();
    // What may have ended by now, and what keeps nothing, cannot be asked for.
    if trial.status != Status::Ok || load.workload.shape_only || load.phase.ttl_ms.is_some() {
        return Ok(());
    }
    if written.is_empty() {
        if load.workload.mix.iter().any(|(operation, _)| *operation == Operation::Set) {
            // No word of what is not looked at would read as a check that passed.
            fact(trial, "not_read_back", "no write of the second half was certain to be the last of its key");
        }
        return Ok(());
    }
    let step = written.len().div_ceil(READ_BACK);
    let asked: Vec<Asked> = written.iter().step_by(step).copied().collect();
    let found = read_back(&target.address, &load.workload, &load.values, &asked)?;
    fact(trial, "read_back", found.asked);
    if let Some(first) = found.first {
        let reason = format!(
            "of {} writes that were acknowledged and read back, {} had changed nothing and {} are wrong: {first}",
            found.asked, found.stale, found.wrong
        );
        invalidate(trial, reason);
    }
    Ok(())
}

fn peak_of(peak: Option<f64>) -> Result<f64, End> {
    let reason = "its rate follows the closed loop's peak, which came to no figure on this process";
    peak.ok_or_else(|| End::Broken(Status::Failed, reason.to_owned()))
}

fn value_of(trial: &Trial, metric: &str) -> Option<f64> {
    trial
        .values
        .iter()
        .find(|value| value.metric == metric && value.operation.is_none())
        .map(|value| value.value)
}

fn workload(bench: &Bench<'_>, target: &RunningTarget, phase: &WirePhase) -> Workload {
    Workload {
        mix: phase.mix.clone(),
        keys: phase.keys,
        draw: match phase.distribution {
            _ if deletes(phase) => Draw::Once,
            None | Some(Distribution::Uniform) => Draw::Uniform,
            Some(Distribution::Zipf) => Draw::Zipf(ZIPF_THETA),
            Some(Distribution::Latest) => Draw::Latest(ZIPF_THETA),
            Some(Distribution::Sequential) => Draw::Sequential,
            Some(Distribution::Hot) => Draw::Hot,
        },
        length: if phase.value_mix.is_empty() {
            Length::Fixed(phase.value_bytes)
        } else {
            Length::Weighted(phase.value_mix.clone())
        },
        expiry_ms: phase.ttl_ms,
        pipeline: phase.pipeline,
        shape_only: bench.definition.role.keeps_nothing(),
        protocol: spoken(bench, target, phase),
        ..Workload::default()
    }
}

/// What the load says, else what the target usually speaks.
fn spoken(bench: &Bench<'_>, target: &RunningTarget, phase: &WirePhase) -> Protocol {
    let documents = || {
        Protocol::Http(http::Target {
            host: target.address.endpoint.to_string(),
            path_prefix: "/".to_owned(),
            close: phase.new_connections,
        })
    };
    if let Some(page) = target.page() {
        return Protocol::Page(page.clone());
    }
    if target.is_memcached() {
        return Protocol::Memcached;
    }
    match (phase.protocol, bench.definition.protocol) {
        (Some(scenario::Protocol::Resp3), _) => Protocol::Resp3,
        (Some(scenario::Protocol::Memcached), _) | (None, target::Protocol::Memcached) => Protocol::Memcached,
        (Some(scenario::Protocol::Http), _) | (None, target::Protocol::Http) => documents(),
        (None, target::Protocol::Resp | target::Protocol::Postgres | target::Protocol::Other) => {
            Protocol::Resp2
        }
    }
}

fn warm_up(bench: &mut Bench<'_>, load: &mut Load<'_>, deletes: bool) -> Result<(), End> {
    let phase = load.phase;
    if phase.warmup_s <= 0.0 {
        return Ok(());
    }
    bench.tell(&phase.cell.label, Stage::WarmingUp);
    // Deletes are warmed up by writes, which leave the store as it is.
    let mix = if deletes { vec![(Operation::Set, 1)] } else { phase.mix.clone() };
    let draw = if deletes { Draw::Uniform } else { load.workload.draw };
    let workload = Workload { mix, draw, ..load.workload.clone() };
    let stretch = Stretch {
        min_ns: nanoseconds(phase.warmup_s),
        min_operations: 0,
        limit: None,
        pace: Pace::Closed,
        deadline: Instant::now() + seconds(phase.timeout_s),
        seed: bench.step.seed ^ 0x5eed,
        first: 0,
        window_percentiles: false,
    };
    let warm = load.generator.run(&workload, &load.values, &stretch, bench.stop);
    settle(&warm)?;
    match warm.recorder.first_error {
        Some(reason) => Err(End::Broken(Status::Invalid, format!("while warming up: {reason}"))),
        None => Ok(()),
    }
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

pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(3_600))
}
