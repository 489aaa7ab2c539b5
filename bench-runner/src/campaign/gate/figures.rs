//! What does a block's quartet of trials say of a metric?

use crate::export::histograms::decode;
use crate::gate::{Figures, TAIL};
use crate::model::{Status, Trial};
use crate::stats::median;

/// From this share of a CPU on the server, not the client, sets the throughput.
const SATURATED: f64 = 0.95;
/// A request is slow above this percentile of both sides together …
const TAIL_QUANTILE: f64 = 0.99;
/// … and above so many times their median: where all times are close together, a small shift of all would be many slow ones.
const TAIL_MEDIANS: u64 = 2;

/// The figures of a block, or which side has none and why.
pub(super) fn figures(metric: &str, base: [&Trial; 2], head: [&Trial; 2]) -> Result<Figures, String> {
    let found = if metric == TAIL { tail(base, head) } else { single(metric, base, head) };
    found.ok_or_else(|| {
        let has_none = |trial: &&Trial| {
            if metric == TAIL { samples(trial).is_none() } else { value(trial, metric).is_none() }
        };
        let why =
            |trial: &Trial| trial.reason.as_deref().unwrap_or("the trial has no such figure").to_owned();
        match base.into_iter().find(has_none) {
            Some(trial) => format!("base: {}", why(trial)),
            None => format!("head: {}", why(head.into_iter().find(has_none).unwrap_or(head[0]))),
        }
    })
}

/// Cores used by others, the hypervisor among them, in the worst of some trials.
pub(super) fn foreign(trials: &[&Trial]) -> f64 {
    trials.iter().filter_map(|trial| trial.others_cores()).fold(0.0, f64::max)
}

/// Whether a server was busy enough that the throughput is its own.
pub(super) fn is_saturated(trials: &[&Trial]) -> bool {
    let busy: Vec<f64> = trials
        .iter()
        .filter(|trial| trial.elapsed_s > 0.0)
        .filter_map(|trial| Some(trial.os.as_ref()?.server_cpu_ns as f64 / 1e9 / trial.elapsed_s))
        .collect();
    median(&busy).is_some_and(|busy| busy >= SATURATED)
}

/// Of a metric that a trial has as one number.
fn single(metric: &str, base: [&Trial; 2], head: [&Trial; 2]) -> Option<Figures> {
    let of = |pair: [&Trial; 2]| Some([value(pair[0], metric)?, value(pair[1], metric)?]);
    Figures::of(of(base)?, of(head)?)
}

fn value(trial: &Trial, metric: &str) -> Option<f64> {
    if trial.status != Status::Ok {
        return None;
    }
    let found = trial.values.iter().find(|value| value.metric == metric && value.operation.is_none());
    found.map(|value| value.value).filter(|value| *value > 0.0 && value.is_finite())
}

type Samples = hdrhistogram::Histogram<u64>;

/// Which share of a side's requests is slow, each counted once more for every time that it is twice as slow again. All four
/// trials draw the line, so exchanging the sides turns the sign of the ratio and does nothing else.
fn tail(base: [&Trial; 2], head: [&Trial; 2]) -> Option<Figures> {
    let [b0, b1] = [samples(base[0])?, samples(base[1])?];
    let [h0, h1] = [samples(head[0])?, samples(head[1])?];
    let mut all = b0.clone();
    for one in [&b1, &h0, &h1] {
        all.add(one).ok()?;
    }
    let median = all.value_at_quantile(0.5);
    let line = all.value_at_quantile(TAIL_QUANTILE).max(TAIL_MEDIANS.saturating_mul(median));
    let above = |one: &Samples| -> f64 {
        let slow = one.iter_recorded().filter(|step| step.value_iterated_to() > line);
        slow.map(|step| {
            let times = step.value_iterated_to() as f64 / line.max(1) as f64;
            step.count_at_value() as f64 * (1.0 + times.log2())
        })
        .sum()
    };
    // Half a request more on each side: one without any has a ratio as well.
    let share = |one: &Samples, other: &Samples| {
        (above(one) + above(other) + 0.5) / (one.len() + other.len() + 1) as f64
    };
    let shares = |one: &Samples, other: &Samples| [one, other].map(|side| above(side) / side.len() as f64);
    Some(Figures {
        base: shares(&b0, &b1),
        head: shares(&h0, &h1),
        log_ratio: (share(&h0, &h1) / share(&b0, &b1)).ln(),
    })
}

/// The response times of a trial in an open loop, of all operations.
fn samples(trial: &Trial) -> Option<Samples> {
    if trial.status != Status::Ok {
        return None;
    }
    let mut stored = trial.histograms.iter().filter(|one| one.from_intended_start);
    let mut all = decode(stored.next()?).ok()?;
    for one in stored {
        all.add(decode(one).ok()?).ok()?;
    }
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::histograms::encode;
    use crate::model::{OsStat, Value};

    /// A trial with one figure.
    fn trial(metric: &str, value: f64) -> Trial {
        Trial {
            elapsed_s: 1.0,
            values: vec![Value { metric: metric.to_owned(), operation: None, value }],
            os: Some(OsStat { foreign_cpu_cores: 0.2, server_cpu_ns: 970_000_000, ..OsStat::default() }),
            ..crate::measure::trial::empty(0, 0)
        }
    }

    /// A trial of ten thousand requests, of which so many take five milliseconds more.
    fn with_slow(slow: u64, shift: u64) -> Trial {
        let mut all = Samples::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        for place in 0..10_000 {
            let more = if place < slow { 5_000_000 } else { 0 };
            all.record(20_000 + shift + place % 500 * 50 + more).unwrap();
        }
        Trial { histograms: vec![encode("get", &all, 0, true).unwrap()], ..trial("latency_ns_p50", 1.0) }
    }

    #[test]
    fn a_trial_without_a_figure_is_told_with_its_side() {
        let (fine, mut broken) = (trial("ops_per_second", 1.0), trial("ops_per_second", 1.0));
        broken.status = Status::Failed;
        broken.reason = Some("it ended: signal 11".to_owned());
        let why = |base, head| figures("ops_per_second", base, head).unwrap_err();
        assert_eq!(why([&fine, &fine], [&broken, &fine]), "head: it ended: signal 11");
        assert_eq!(why([&fine, &broken], [&fine, &fine]), "base: it ended: signal 11");
        assert!(figures("hit_ratio", [&fine; 2], [&fine; 2]).unwrap_err().contains("no such figure"));
        assert_eq!(foreign(&[&fine, &broken]), 0.2);
    }

    #[test]
    fn slow_requests_are_seen_where_the_median_stays() {
        let (base, head) = (with_slow(3, 0), with_slow(100, 0));
        let forward = figures(TAIL, [&base; 2], [&head; 2]).unwrap();
        let back = figures(TAIL, [&head; 2], [&base; 2]).unwrap();
        assert!((forward.log_ratio + back.log_ratio).abs() < 1e-12);
        assert!(forward.log_ratio > 2.0_f64.ln(), "{forward:?}");
        assert!(forward.head[0] > forward.base[0], "{forward:?}");
    }

    /// As many slow requests on both sides, and head's take ten times as long.
    #[test]
    fn slow_requests_that_become_slower_are_seen() {
        let slower = |factor: u64| {
            let mut all = Samples::new_with_bounds(1, 60_000_000_000, 3).unwrap();
            for place in 0..10_000 {
                let more = if place < 80 { 5_000_000 * factor } else { 0 };
                all.record(20_000 + place % 500 * 50 + more).unwrap();
            }
            Trial { histograms: vec![encode("get", &all, 0, true).unwrap()], ..trial("latency_ns_p50", 1.0) }
        };
        let (base, head) = (slower(1), slower(10));
        let found = figures(TAIL, [&base; 2], [&head; 2]).unwrap();
        assert!(found.log_ratio > 1.4_f64.ln(), "{found:?}");
    }

    #[test]
    fn what_the_hypervisor_took_is_used_by_others_too() {
        let mut stolen = trial("ops_per_second", 1.0);
        stolen.os = Some(OsStat { steal_ms: 300.0, ..OsStat::default() });
        assert_eq!(foreign(&[&stolen, &stolen]), 0.3);
    }

    #[test]
    fn a_shift_by_one_percent_leaves_the_tail_within_its_limits() {
        // The line is among the slow ones: among the others, which end at a sharp edge, a shift would move many over it.
        let (base, head) = (with_slow(200, 0), with_slow(200, 300));
        let found = figures(TAIL, [&base; 2], [&head; 2]).unwrap();
        assert!(found.log_ratio.abs() < 1.5_f64.ln(), "{found:?}");
    }

    #[test]
    fn a_closed_loop_has_no_tail() {
        let mut closed = with_slow(3, 0);
        closed.histograms[0].from_intended_start = false;
        assert!(figures(TAIL, [&closed; 2], [&closed; 2]).unwrap_err().contains("no such figure"));
    }

    #[test]
    fn throughput_is_the_servers_where_it_is_busy() {
        let busy = trial("ops_per_second", 1.0);
        let mut idle = busy.clone();
        idle.os = Some(OsStat { server_cpu_ns: 500_000_000, ..OsStat::default() });
        assert!(is_saturated(&[&busy, &busy, &idle]));
        assert!(!is_saturated(&[&idle, &busy, &idle]));
        assert!(!is_saturated(&[]));
    }
}
