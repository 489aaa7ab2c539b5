//! An open loop: how long do requests take that start when they are due, and up to which rate?

use super::super::checks::{self, About};
use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading};
use super::super::progress::Stage;
use super::super::regime;
use super::super::trial::{PERCENTILES, empty, fact, invalidate, put};
use super::figures::{put_load, put_system, windows};
use super::{End, Load, nanoseconds, seconds, settle};
use crate::load::arrivals::{self, Open, Sender};
use crate::load::generator::{Pace, Stretch, Stretched};
use crate::model::{OpenLoop, Trial};
use crate::plan::knee::{self, Next, Probe};
use crate::scenario::Arrival;
use crate::target::RunningTarget;
use crate::target::cpu_time::Source;
use std::time::Instant;

/// A target that stops for this long is still found out whole: that many seconds' worth of requests may wait.
const IN_FLIGHT_S: f64 = 3.0;
/// At least this many requests may be under way, whatever the rate.
const IN_FLIGHT_MIN: u64 = 1_000;

/// Measures one cell at one rate.
pub(super) fn measure(
    bench: &Bench<'_>,
    target: &RunningTarget,
    load: &mut Load<'_>,
    per_second: f64,
    arrival: Arrival,
) -> Result<Trial, End> {
    let offered = |load: &mut Load<'_>, sender: Sender| -> Result<_, End> {
        let before = Reading::take(target.pid, &target.cpu);
        let done = offer(bench, load, per_second, arrival, sender, bench.step.seed)?;
        let after = Reading::take(target.pid, &target.cpu);
        let mut account = Account::default();
        account.add(&before, &after, &done);
        Ok((done, account))
    };
    let (mut done, mut account) = offered(load, Sender::Wakes)?;
    let mut late = lateness(&done);
    let mut spins = false;
    // A wrong reply is never left behind, in either of them.
    if let Some(before) = late.filter(|_| done.recorder.first_error.is_none()) {
        // What woke up too late once may do so again. Where a sender that never sleeps takes the target's CPU, it is no better.
        let again = offered(load, Sender::Spins)?;
        let now = lateness(&again.0);
        let is_wrong = again.0.recorder.first_error.is_some();
        if is_wrong || now.is_none_or(|now| now.part() < before.part()) {
            ((done, account), late, spins) = (again, now, true);
        }
    }
    let mut trial = empty(bench.step.trial, bench.step.position);
    let elapsed_s = done.elapsed_ns as f64 / 1e9;
    trial.elapsed_s = elapsed_s;
    trial.counts = done.recorder.counts;
    trial.windows = windows(&done, 0).collect();
    let times = put_load(&mut trial, &done.recorder, elapsed_s);
    put(&mut trial, "latency_ns_p9999", times.percentile_ns(99.99) as f64);
    if spins {
        fact(
            &mut trial,
            "sender",
            "offered again by one that never sleeps, because the other had sent too late",
        );
    }
    if let Some(late) = late {
        fact(&mut trial, "late_sender", late.told());
    }
    if let Some(said) = regime_of(&done) {
        fact(&mut trial, "regime", said);
    }
    if let Some(delays) = &done.send_delays {
        fact(&mut trial, "send_delay_ns_p99", delays.percentile_ns(99.0));
    }
    if let Some(open) = &done.open {
        put_open(&mut trial, open);
    }
    trial.open_loop = done.open;
    if let Some(reason) = &done.recorder.first_error {
        let (errors, operations) = (trial.counts.errors, trial.counts.operations);
        invalidate(&mut trial, format!("{errors} of {operations} replies were wrong; the first: {reason}"));
    }
    let volatile = bench.definition.durability == "volatile";
    let about = About { clients: load.phase.clients, closed_loop: false, volatile, cpu_known: true };
    checks::look(&mut trial, about, &account, &done.recorder);
    put_system(&mut trial, account, target);
    Ok(trial)
}

/// Looks for the highest rate that is still answered in time, starting from the closed loop's peak.
pub(super) fn find_knee(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    load: &mut Load<'_>,
    peak_per_second: f64,
    arrival: Arrival,
) -> Result<Trial, End> {
    let mut trial = empty(bench.step.trial, bench.step.position);
    let mut probes: Vec<Probe> = Vec::new();
    let mut account = Account::default();
    let found = loop {
        let per_second = match knee::next(peak_per_second, &probes) {
            Next::Try(per_second) => per_second,
            Next::Found(per_second) => break Some(per_second),
            Next::None => break None,
        };
        bench.tell(&load.phase.cell.label, Stage::Measuring);
        let before = Reading::take(target.pid, &target.cpu);
        let seed = bench.step.seed.wrapping_add(probes.len() as u64 + 1);
        let done = offer(bench, load, per_second, arrival, Sender::Wakes, seed)?;
        let after = Reading::take(target.pid, &target.cpu);
        account.add(&before, &after, &done);
        trial.elapsed_s += done.elapsed_ns as f64 / 1e9;
        trial.counts.operations += done.recorder.counts.operations;
        trial.counts.hits += done.recorder.counts.hits;
        trial.counts.misses += done.recorder.counts.misses;
        trial.counts.errors += done.recorder.counts.errors;
        if let Some(reason) = &done.recorder.first_error {
            invalidate(&mut trial, format!("replies were wrong; the first: {reason}"));
        }
        let Some(open) = &done.open else { break None };
        probes.push(Probe {
            offered_per_second: open.offered_per_second,
            achieved_per_second: open.achieved_per_second,
            latency_ns_p99: done.recorder.all_times().percentile_ns(99.0),
            skipped: open.skipped,
        });
    };
    fact(&mut trial, "peak_per_second", peak_per_second);
    fact(&mut trial, "probes", serde_json::to_value(&probes).unwrap_or_default());
    // Of all probes together: not at one rate, so neither CPU time per operation nor a latency is of use.
    trial.os = (target.cpu != Source::Unknown).then(|| account.finish(target.pid));
    // Nought is a figure: no rate that was tried was answered in time. Left out, it would flatter the median.
    put(&mut trial, "knee_per_second", found.unwrap_or(0.0));
    if found.is_none() {
        let lowest = probes.iter().map(|probe| probe.offered_per_second).fold(f64::INFINITY, f64::min);
        let reason = format!(
            "no rate was answered in time: at {lowest:.0} requests per second, the lowest of {} that were tried, \
             1 % took {} ms or longer, or requests were left behind",
            probes.len(),
            knee::LATENCY_NS_P99_BELOW / 1_000_000
        );
        fact(&mut trial, "knee_reason", reason);
    }
    Ok(trial)
}

fn offer(
    bench: &Bench<'_>,
    load: &mut Load<'_>,
    per_second: f64,
    arrival: Arrival,
    sender: Sender,
    seed: u64,
) -> Result<Stretched, End> {
    let open = Open {
        per_second,
        arrival: match arrival {
            Arrival::Fixed => arrivals::Arrival::Fixed,
            Arrival::Poisson => arrivals::Arrival::Poisson,
        },
        in_flight_bound: ((per_second * IN_FLIGHT_S) as u64).max(IN_FLIGHT_MIN),
        sender,
    };
    let stretch = Stretch {
        min_ns: nanoseconds(load.phase.min_seconds),
        min_operations: 0,
        limit: None,
        pace: Pace::Open(open),
        deadline: Instant::now() + seconds(load.phase.timeout_s),
        seed,
        first: 0,
        window_percentiles: false,
    };
    let done = load.generator.run(&load.workload, &load.values, &stretch, bench.stop);
    settle(&done)?;
    load.written.merge(&done.written);
    Ok(done)
}

/// Part of a latency up to which it may be the generator's own.
const LATE_PART: u64 = 10;

/// Where the generator's own delay is too much of what would be published.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Late {
    percentile: f64,
    delay_ns: u64,
    latency_ns: u64,
}

impl Late {
    /// Of the latency.
    fn part(&self) -> f64 {
        self.delay_ns as f64 / self.latency_ns.max(1) as f64
    }

    fn told(self) -> String {
        let Self { percentile, delay_ns, latency_ns } = self;
        format!(
            "the generator sent late: of the p{percentile} of latency, {latency_ns} ns, up to {delay_ns} ns are its own"
        )
    }
}

/// The percentile of latency of which the delays of the generator are the largest part, if that is too large.
fn lateness(done: &Stretched) -> Option<Late> {
    let (delays, times) = (done.send_delays.as_ref()?, done.recorder.all_times());
    let percentiles = PERCENTILES.iter().map(|(_, percentile)| *percentile).chain([99.99]);
    percentiles
        .map(|percentile| Late {
            percentile,
            delay_ns: delays.percentile_ns(percentile),
            latency_ns: times.percentile_ns(percentile),
        })
        .filter(|late| late.delay_ns > late.latency_ns / LATE_PART)
        .max_by(|one, other| one.part().total_cmp(&other.part()))
}

/// What broke it into more than one regime.
fn regime_of(done: &Stretched) -> Option<String> {
    let slots: Vec<u32> = regime::whole_slots(&done.recorder.slots, done.elapsed_ns).collect();
    regime::broken(&slots)
}

fn put_open(trial: &mut Trial, open: &OpenLoop) {
    put(trial, "offered_per_second", open.offered_per_second);
    put(trial, "achieved_per_second", open.achieved_per_second);
    put(trial, "skipped_share", open.skipped as f64 / open.due.max(1) as f64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::recorder::Times;
    use crate::plan::Operation;

    /// Requests that took `latencies`, and were sent late by `delays`, each so many times.
    fn sent(latencies: &[(u64, u64)], delays: &[(u64, u64)]) -> Stretched {
        let mut done = Stretched::default();
        for (ns, count) in latencies {
            done.recorder.record_many(Operation::Get, *ns, 0, *count);
        }
        let mut times = Times::new();
        delays.iter().for_each(|(ns, count)| times.record_many(*ns, *count));
        done.send_delays = Some(times);
        done
    }

    #[test]
    fn a_generator_is_late_where_a_tenth_of_a_published_percentile_is_its_own() {
        let prompt = sent(&[(100_000, 990), (1_000_000, 10)], &[(9_000, 990), (90_000, 10)]);
        assert_eq!(lateness(&prompt), None);
        // Prompt for most, and late for one of a hundred, which the p99.9 is made of.
        let late =
            lateness(&sent(&[(100_000, 980), (1_000_000, 20)], &[(1_000, 985), (500_000, 15)])).unwrap();
        assert!(late.percentile >= 99.0 && late.delay_ns >= 499_000, "{late:?}");
        assert!(late.told().contains("up to 50"), "{}", late.told());
        // Nothing is known of a load whose requests all waited for a connection.
        assert_eq!(lateness(&Stretched::default()), None);
    }
}
