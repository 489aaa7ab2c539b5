//! What do a block's trials say of a metric?

use crate::export::histograms::decode;
use crate::gate::{Figures, TAIL};
use crate::model::{Status, Trial};
use crate::stats::{geometric_mean, median};

/// From this share of a CPU on the server, not the client, sets the throughput.
const SATURATED: f64 = 0.95;
/// Of so many turns of a side and more, the noisier half says nothing of its tail.
const TURNS_HALVED: usize = 4;
/// A request is slow above this percentile of both sides together …
const TAIL_QUANTILE: f64 = 0.99;
/// … and above so many times their median: where all times are close together, a small shift of all would be many slow ones.
const TAIL_MEDIANS: u64 = 2;

/// The figures of a block, or which side has none and why.
pub(super) fn figures(metric: &str, base: &[Trial], head: &[Trial]) -> Result<Figures, String> {
    let found = if metric == TAIL { tail(base, head) } else { single(metric, base, head) };
    found.ok_or_else(|| {
        let has_none = |trial: &&Trial| {
            if metric == TAIL { samples(trial).is_none() } else { value(trial, metric).is_none() }
        };
        let why = |side: &str, trial: &Trial| {
            let reason = trial.reason.as_deref().unwrap_or("the trial has no such figure");
            format!("{side}: {reason}")
        };
        let of = |side: &str, trials: &[Trial]| trials.iter().find(has_none).map(|trial| why(side, trial));
        of("base", base).or_else(|| of("head", head)).unwrap_or_else(|| "a side has no trial".to_owned())
    })
}

/// Cores used by others, the hypervisor among them, in the worst of some trials.
pub(super) fn foreign<'a>(trials: impl Iterator<Item = &'a Trial>) -> f64 {
    trials.filter_map(Trial::others_cores).fold(0.0, f64::max)
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

/// Of a metric that a trial has as one number: the geometric means of each side's first and second half.
fn single(metric: &str, base: &[Trial], head: &[Trial]) -> Option<Figures> {
    let of = |side: &[Trial]| {
        let values: Vec<f64> = side.iter().map(|trial| value(trial, metric)).collect::<Option<_>>()?;
        let [first, second] = halves(&values).map(geometric_mean);
        Some([first?, second?])
    };
    Figures::of(of(base)?, of(head)?)
}

/// The first and the second half; of one alone, itself twice.
fn halves<T>(all: &[T]) -> [&[T]; 2] {
    if all.len() < 2 {
        return [all, all];
    }
    let (first, second) = all.split_at(all.len() / 2);
    [first, second]
}

fn value(trial: &Trial, metric: &str) -> Option<f64> {
    if trial.status != Status::Ok {
        return None;
    }
    let found = trial.values.iter().find(|value| value.metric == metric && value.operation.is_none());
    found.map(|value| value.value).filter(|value| *value > 0.0 && value.is_finite())
}

type Samples = hdrhistogram::Histogram<u64>;

/// The half of a side's turns that has the lower 99th percentiles, in their order. A burst of the machine delays all requests of one
/// turn, and the side that it hits has nearly all slow requests of a block; what a server does to one request in a hundred is in each
/// turn.
fn quieter(turns: Vec<Samples>) -> Vec<Samples> {
    if turns.len() < TURNS_HALVED {
        return turns;
    }
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by_key(|place| turns[*place].value_at_quantile(TAIL_QUANTILE));
    order.truncate(turns.len() / 2);
    turns.into_iter().enumerate().filter(|(place, _)| order.contains(place)).map(|(_, turn)| turn).collect()
}

/// Which share of a side's requests is slow, each counted once more for every time that it is twice as slow again. The trials of both
/// sides draw the line, so exchanging the sides turns the sign of the ratio and does nothing else.
fn tail(base: &[Trial], head: &[Trial]) -> Option<Figures> {
    let of = |side: &[Trial]| side.iter().map(samples).collect::<Option<Vec<Samples>>>().map(quieter);
    let (base, head) = (of(base)?, of(head)?);
    let mut all = base.first()?.clone();
    for one in base.iter().skip(1).chain(&head) {
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
    let sums = |side: &[Samples]| -> (f64, u64) {
        (side.iter().map(above).sum(), side.iter().map(Samples::len).sum())
    };
    // Half a request more on each side: one without any has a ratio as well.
    let share = |side: &[Samples]| {
        let (slow, requests) = sums(side);
        (slow + 0.5) / (requests + 1) as f64
    };
    let shares = |side: &[Samples]| {
        halves(side).map(|half| {
            let (slow, requests) = sums(half);
            slow / requests as f64
        })
    };
    Some(Figures { base: shares(&base), head: shares(&head), log_ratio: (share(&head) / share(&base)).ln() })
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

    fn twice(trial: &Trial) -> [Trial; 2] {
        [trial.clone(), trial.clone()]
    }

    #[test]
    fn a_side_of_several_turns_has_the_means_of_its_halves() {
        let of = |values: [f64; 4]| values.map(|value| trial("ops_per_second", value));
        let found = figures("ops_per_second", &of([1.0, 4.0, 9.0, 16.0]), &of([2.0; 4])).unwrap();
        assert_eq!(found.base.map(f64::round), [2.0, 12.0]);
        assert!((found.head[0] - 2.0).abs() < 1e-12, "{found:?}");
        assert!((found.log_ratio - (2.0_f64 / 24.0_f64.sqrt()).ln()).abs() < 1e-12, "{found:?}");
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
        let two = |first: &Trial, second: &Trial| [first.clone(), second.clone()];
        let why = |base: &[Trial], head: &[Trial]| figures("ops_per_second", base, head).unwrap_err();
        assert_eq!(why(&two(&fine, &fine), &two(&broken, &fine)), "head: it ended: signal 11");
        assert_eq!(why(&two(&fine, &broken), &two(&fine, &fine)), "base: it ended: signal 11");
        // What broke when it was to begin leaves the other without a turn.
        assert_eq!(why(&[], &[broken.clone()]), "head: it ended: signal 11");
        assert_eq!(why(&[], &[]), "a side has no trial");
        let both = two(&fine, &fine);
        assert!(figures("hit_ratio", &both, &both).unwrap_err().contains("no such figure"));
        assert_eq!(foreign([&fine, &broken].into_iter()), 0.2);
    }

    #[test]
    fn slow_requests_are_seen_where_the_median_stays() {
        let (base, head) = (with_slow(3, 0), with_slow(100, 0));
        let forward = figures(TAIL, &twice(&base), &twice(&head)).unwrap();
        let back = figures(TAIL, &twice(&head), &twice(&base)).unwrap();
        assert!((forward.log_ratio + back.log_ratio).abs() < 1e-12);
        assert!(forward.log_ratio > 2.0_f64.ln(), "{forward:?}");
        assert!(forward.head[0] > forward.base[0], "{forward:?}");
    }

    /// Of four turns two are hit by the machine, on one side or on both; or all of them are slow by the server's own doing.
    #[test]
    fn a_burst_of_the_machine_is_no_tail_of_a_side() {
        let (quiet, hit, slow) = (with_slow(3, 0), with_slow(3_000, 0), with_slow(100, 0));
        let of = |turns: [&Trial; 4]| turns.map(Clone::clone);
        let none = of([&quiet; 4]);
        for head in [of([&hit, &quiet, &quiet, &quiet]), of([&quiet, &hit, &quiet, &hit])] {
            let found = figures(TAIL, &none, &head).unwrap();
            assert_eq!(found.log_ratio, 0.0, "{found:?}");
        }
        let head = of([&slow, &hit, &slow, &slow]);
        for base in [none, of([&quiet, &quiet, &hit, &quiet])] {
            let forward = figures(TAIL, &base, &head).unwrap();
            assert!(forward.log_ratio > 2.0_f64.ln(), "{forward:?}");
            let back = figures(TAIL, &head, &base).unwrap();
            assert!((forward.log_ratio + back.log_ratio).abs() < 1e-12);
        }
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
        let found = figures(TAIL, &twice(&base), &twice(&head)).unwrap();
        assert!(found.log_ratio > 1.4_f64.ln(), "{found:?}");
    }

    #[test]
    fn what_the_hypervisor_took_is_used_by_others_too() {
        let mut stolen = trial("ops_per_second", 1.0);
        stolen.os = Some(OsStat { steal_ms: 300.0, ..OsStat::default() });
        assert_eq!(foreign(twice(&stolen).iter()), 0.3);
    }

    #[test]
    fn a_shift_by_one_percent_leaves_the_tail_within_its_limits() {
        // The line is among the slow ones: among the others, which end at a sharp edge, a shift would move many over it.
        let (base, head) = (with_slow(200, 0), with_slow(200, 300));
        let found = figures(TAIL, &twice(&base), &twice(&head)).unwrap();
        assert!(found.log_ratio.abs() < 1.5_f64.ln(), "{found:?}");
    }

    #[test]
    fn a_closed_loop_has_no_tail() {
        let mut closed = with_slow(3, 0);
        closed.histograms[0].from_intended_start = false;
        assert!(figures(TAIL, &twice(&closed), &twice(&closed)).unwrap_err().contains("no such figure"));
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
