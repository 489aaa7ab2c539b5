//! What do gates of which the truth was known say of the gate?

use super::series::Collected;
use crate::model::{CalibrationGate, CalibrationNoise, CalibrationRate, GateOutcome, InjectedAs};
use statrs::distribution::{Beta, ContinuousCDF};

/// Of the interval of a share.
const LEVEL: f64 = 0.95;

/// The exact interval of a share of which `red` of `n` were seen: C. J. Clopper, E. S. Pearson 1934, *The use of confidence or
/// fiducial limits illustrated in the case of the binomial*, <https://doi.org/10.1093/biomet/26.4.404>.
#[must_use]
pub fn share_interval(red: u32, n: u32) -> (f64, f64) {
    let tail = (1.0 - LEVEL) / 2.0;
    let (k, n) = (f64::from(red.min(n)), f64::from(n));
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(0.0, |beta| beta.inverse_cdf(p));
    if n == 0.0 {
        return (0.0, 1.0);
    }
    let low = if k == 0.0 { 0.0 } else { quantile(k, n - k + 1.0, tail) };
    let high = if k == n { 1.0 } else { quantile(k + 1.0, n - k, 1.0 - tail) };
    (low, high)
}

/// What gates said, by what was injected: nothing first, then by size.
#[must_use]
pub fn rates(gates: &[CalibrationGate]) -> Vec<CalibrationRate> {
    let mut kinds: Vec<(f64, Option<InjectedAs>)> = Vec::new();
    for gate in gates {
        let kind = (gate.injected_percent, gate.injected_as);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.sort_by(|one, other| one.1.cmp(&other.1).then(one.0.total_cmp(&other.0)));
    kinds
        .into_iter()
        .map(|(injected_percent, injected_as)| {
            let of_kind = gates
                .iter()
                .filter(|gate| gate.injected_percent == injected_percent && gate.injected_as == injected_as);
            let (finished, unfinished): (Vec<&CalibrationGate>, Vec<_>) =
                of_kind.partition(|gate| !gate.unfinished);
            let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            let said = |wanted: &[GateOutcome]| {
                number(finished.iter().filter(|gate| wanted.contains(&gate.outcome)).count())
            };
            let all = number(finished.len());
            let regression = said(&[GateOutcome::Regression]);
            let (rate_low, rate_high) = share_interval(regression, all);
            CalibrationRate {
                injected_percent,
                injected_as,
                gates: all,
                regression,
                improvement: said(&[GateOutcome::Improvement]),
                undecided: said(&[GateOutcome::Inconclusive, GateOutcome::NotMeasured]),
                unfinished: number(unfinished.len()),
                rate_low,
                rate_high,
            }
        })
        .collect()
}

/// How blocks scatter in which nothing was changed.
#[must_use]
pub fn noise(all: &[Collected]) -> Vec<CalibrationNoise> {
    all.iter()
        .map(|one| {
            let judged = one.evidence.judged();
            CalibrationNoise {
                scenario: one.series.scenario.clone(),
                label: one.series.label.clone(),
                metric: one.series.metric.to_owned(),
                block_sd: judged.block_sd,
                blocks: u32::try_from(one.evidence.blocks().len()).unwrap_or(u32::MAX),
                detectable: judged.detectable,
                class: judged.class,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(percent: f64, injected_as: Option<InjectedAs>, outcome: GateOutcome) -> CalibrationGate {
        CalibrationGate {
            id: String::new(),
            started_at: String::new(),
            seed: 1,
            injected_percent: percent,
            injected_as,
            outcome,
            reason: String::new(),
            measured_s: 1.0,
            unfinished: false,
            sides: None,
            series: Vec::new(),
        }
    }

    #[test]
    fn intervals_of_shares_are_those_of_the_textbook() {
        // R: binom.test(0, 40), binom.test(15, 15), binom.test(3, 20).
        for (red, n, low, high) in
            [(0, 40, 0.0, 0.088_097_3), (15, 15, 0.781_980_6, 1.0), (3, 20, 0.032_070_94, 0.378_926_83)]
        {
            let found = share_interval(red, n);
            assert!((found.0 - low).abs() < 1e-6 && (found.1 - high).abs() < 1e-6, "{red}/{n} {found:?}");
        }
    }

    #[test]
    fn none_seen_in_299_is_below_one_percent_one_sided() {
        // 1 − 0.05^(1/299) < 0.01 is what the rule of three hundred rests on; the two-sided end lies a little higher.
        assert!(1.0 - 0.05_f64.powf(1.0 / 299.0) < 0.01);
        assert!(share_interval(0, 299).1 < 0.0123);
    }

    #[test]
    fn gates_that_did_not_end_by_themselves_are_beside_the_count() {
        use GateOutcome::{Inconclusive, NotMeasured, Pass};
        let unfinished = |outcome| CalibrationGate { unfinished: true, ..gate(0.0, None, outcome) };
        let mut all = vec![unfinished(Inconclusive), unfinished(NotMeasured)];
        let rate = rates(&all).remove(0);
        assert_eq!((rate.gates, rate.undecided, rate.unfinished), (0, 0, 2));
        assert_eq!((rate.rate_low, rate.rate_high), (0.0, 1.0), "nothing is known");
        all.extend([gate(0.0, None, Pass), gate(0.0, None, Inconclusive)]);
        let rate = rates(&all).remove(0);
        assert_eq!((rate.gates, rate.undecided, rate.unfinished), (2, 1, 2));
        assert_eq!((rate.rate_low, rate.rate_high), share_interval(0, 2));
    }

    #[test]
    fn gates_are_counted_by_what_was_injected() {
        use GateOutcome::{Improvement, Inconclusive, Pass, Regression};
        let found = rates(&[
            gate(10.0, Some(InjectedAs::Spin), Regression),
            gate(0.0, None, Pass),
            gate(5.0, Some(InjectedAs::Spin), Inconclusive),
            gate(0.0, None, Improvement),
            gate(5.0, Some(InjectedAs::Sleep), Regression),
        ]);
        let order: Vec<_> = found.iter().map(|rate| (rate.injected_percent, rate.injected_as)).collect();
        assert_eq!(order[0], (0.0, None));
        assert_eq!(order[1..3], [(5.0, Some(InjectedAs::Spin)), (10.0, Some(InjectedAs::Spin))]);
        assert_eq!((found[0].gates, found[0].regression, found[0].improvement), (2, 0, 1));
        assert_eq!((found[1].undecided, found[2].regression), (1, 1));
    }
}
