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
    let Kept { done, told: account, late, spins } = offered_until_prompt(|sender| {
        let before = Reading::take(target.pid, &target.cpu);
        let done = offer(bench, load, per_second, arrival, sender, load.seed)?;
        let after = Reading::take(target.pid, &target.cpu);
        let mut account = Account::default();
        account.add(&before, &after, &done);
        Ok((done, account))
    })?;
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

/// The stretch of load that counts, with what was measured beside it, and how late it was sent.
struct Kept<T> {
    done: Stretched,
    told: T,
    late: Option<Late>,
    spins: bool,
}

/// Offers a load once, and where it was sent late once more by a sender that never sleeps. The less late one is kept.
fn offered_until_prompt<T>(
    mut offered: impl FnMut(Sender) -> Result<(Stretched, T), End>,
) -> Result<Kept<T>, End> {
    let (done, told) = offered(Sender::Wakes)?;
    let late = lateness(&done);
    let first = Kept { done, told, late, spins: false };
    // A wrong reply is never left behind, in either of them.
    let Some(before) = late.filter(|_| first.done.recorder.first_error.is_none()) else { return Ok(first) };
    // What woke up too late once may do so again. Where a sender that never sleeps takes the target's CPU, it is no better.
    let (done, told) = offered(Sender::Spins)?;
    let now = lateness(&done);
    let is_better = now.is_none_or(|now| now.part() < before.part());
    let again = Kept { done, told, late: now, spins: true };
    Ok(if is_better || again.done.recorder.first_error.is_some() { again } else { first })
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
    let mut doubts: Vec<Doubts> = Vec::new();
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
        doubts.push(Doubts {
            per_second,
            late: lateness_at(&done, [KNEE_PERCENTILE]),
            regime: regime_of(&done),
        });
        probes.push(Probe {
            offered_per_second: open.offered_per_second,
            achieved_per_second: open.achieved_per_second,
            latency_ns_p99: done.recorder.all_times().percentile_ns(KNEE_PERCENTILE),
            skipped: open.skipped,
        });
    };
    fact(&mut trial, "peak_per_second", peak_per_second);
    fact(&mut trial, "probes", serde_json::to_value(&probes).unwrap_or_default());
    // Of all probes together: not at one rate, so neither CPU time per operation nor a latency is of use.
    trial.os = (target.cpu != Source::Unknown).then(|| account.finish(target.pid));
    mark_knee(&mut trial, found, &doubts);
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

/// A knee is decided by this percentile alone.
const KNEE_PERCENTILE: f64 = 99.0;

/// What makes a probe of the knee doubtful.
struct Doubts {
    per_second: f64,
    late: Option<Late>,
    regime: Option<String>,
}

/// Says of the two probes between which the knee is, the last in time and the first that was not, what is doubtful.
fn mark_knee(trial: &mut Trial, found: Option<f64>, doubts: &[Doubts]) {
    let found = found.unwrap_or(0.0);
    let below = doubts.iter().filter(|one| one.per_second <= found);
    let above = doubts.iter().filter(|one| one.per_second > found);
    let below = below.max_by(|one, other| one.per_second.total_cmp(&other.per_second));
    let above = above.min_by(|one, other| one.per_second.total_cmp(&other.per_second));
    let sides = || [below, above].into_iter().flatten();
    let at = |one: &Doubts, said: String| format!("at {:.0} requests per second, {said}", one.per_second);
    if let Some(said) = sides().find_map(|one| Some(at(one, one.late?.told()))) {
        fact(trial, "late_sender", said);
    }
    if let Some(said) = sides().find_map(|one| Some(at(one, one.regime.clone()?))) {
        fact(trial, "regime", said);
    }
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
    load.values.turned();
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
    lateness_at(done, PERCENTILES.iter().map(|(_, percentile)| *percentile).chain([99.99]))
}

/// The same of some percentiles.
fn lateness_at(done: &Stretched, percentiles: impl IntoIterator<Item = f64>) -> Option<Late> {
    let (delays, times) = (done.send_delays.as_ref()?, done.recorder.all_times());
    percentiles
        .into_iter()
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

    /// Offers `first`, then `second`; which senders were used, and what is kept.
    fn kept(first: Stretched, second: Stretched) -> (Vec<Sender>, Kept<usize>) {
        let (mut rest, mut senders) = (vec![second, first], Vec::new());
        let kept = offered_until_prompt(|sender| {
            senders.push(sender);
            Ok((rest.pop().unwrap(), senders.len()))
        });
        let Ok(kept) = kept else { panic!("nothing ends it") };
        (senders, kept)
    }

    #[test]
    fn a_late_load_is_offered_again_by_a_sender_that_never_sleeps_and_kept_where_it_is_less_late() {
        let times = [(100_000, 980), (1_000_000, 20)];
        let by = |delay_ns| sent(&times, &[(1_000, 985), (delay_ns, 15)]);
        let both = [Sender::Wakes, Sender::Spins];

        let (senders, prompt) = kept(by(1_000), by(1_000));
        assert_eq!((senders.as_slice(), prompt.told, prompt.spins), (&both[..1], 1, false));

        let (senders, better) = kept(by(500_000), by(1_000));
        assert_eq!((senders.as_slice(), better.told, better.spins), (&both[..], 2, true));
        assert_eq!(better.late, None);

        let (_, less_late) = kept(by(900_000), by(500_000));
        assert!(less_late.spins && less_late.late.is_some_and(|late| late.delay_ns < 600_000));

        let (senders, worse) = kept(by(500_000), by(900_000));
        assert_eq!((senders.len(), worse.told, worse.spins), (2, 1, false));

        // A wrong reply counts, in whichever of them it came.
        let wrong = |delay_ns| {
            let mut done = by(delay_ns);
            done.recorder.error(|| "wrong".to_owned());
            done
        };
        assert_eq!(kept(wrong(500_000), by(1_000)).1.told, 1);
        assert_eq!(kept(by(500_000), wrong(900_000)).1.told, 2);
    }

    #[test]
    fn a_knee_is_marked_by_the_probes_on_both_of_its_sides() {
        let late = Late { percentile: 99.0, delay_ns: 300_000, latency_ns: 1_100_000 };
        let probe = |per_second, late, regime: Option<&str>| Doubts {
            per_second,
            late,
            regime: regime.map(str::to_owned),
        };
        let marked = |doubts: &[Doubts]| {
            let mut trial = empty(0, 0);
            mark_knee(&mut trial, Some(2_000.0), doubts);
            let said = |name: &str| trial.facts.get(name).and_then(|said| said.as_str()).map(str::to_owned);
            (said("late_sender"), said("regime"))
        };
        // Far from the knee, neither matters.
        let far = probe(9_000.0, Some(late), Some("replies stopped"));
        let near = [far, probe(2_000.0, None, None), probe(2_500.0, None, None)];
        assert_eq!(marked(&near), (None, None));
        let (said, regime) =
            marked(&[probe(2_000.0, None, Some("replies stopped")), probe(2_500.0, Some(late), None)]);
        assert!(said.is_some_and(|said| said.starts_with("at 2500 requests per second, the generator")));
        assert_eq!(regime.unwrap(), "at 2000 requests per second, replies stopped");
    }
}
