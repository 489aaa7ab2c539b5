//! Which rate is tried next, on the way to the highest one that is still answered in time?
//!
//! The knee is the highest offered rate at which 99 % of the requests are answered within a millisecond of
//! their intended start, none is skipped, and as many are answered as are offered. Below the closed loop's
//! peak the first probe either passes or not; from there on the search goes up by half while everything
//! passes, and then halves the gap between the highest rate that passed and the lowest that did not.

use serde::{Deserialize, Serialize};

/// A probe passes when 99 % of its requests are answered within this time, ns.
pub const LATENCY_NS_P99_BELOW: u64 = 1_000_000;
/// … and this share of what was offered was achieved.
const ACHIEVED_SHARE_MIN: f64 = 0.98;
/// The search ends when the gap is this share of the rate, or after …
const GAP_SHARE: f64 = 0.02;
/// … this many probes.
pub const PROBES_MAX: usize = 8;
/// First rate, of the closed loop's peak.
const FIRST_SHARE: f64 = 0.7;
/// Step upwards while everything passes.
const STEP_UP: f64 = 1.5;

/// What came of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Requests per second that were meant to start.
    pub offered_per_second: f64,
    /// Requests per second that were answered.
    pub achieved_per_second: f64,
    /// From the intended start, ns.
    pub latency_ns_p99: u64,
    /// Requests never sent because too many were in flight.
    pub skipped: u64,
}

impl Probe {
    /// Whether the target kept up at this rate.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.latency_ns_p99 < LATENCY_NS_P99_BELOW
            && self.skipped == 0
            && self.achieved_per_second >= ACHIEVED_SHARE_MIN * self.offered_per_second
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Offer this many requests per second.
    Try(f64),
    /// The search is over: the highest rate that passed, 1/s.
    Found(f64),
    /// The search is over: no rate that was tried passed.
    None,
}

/// The next step after `probes`, whose first was chosen from the closed loop's peak.
///
/// Answers are noisy: a rate may pass above one that failed. What failed counts, so the knee is the highest
/// rate that passed below the lowest that did not.
#[must_use]
pub fn next(peak_per_second: f64, probes: &[Probe]) -> Next {
    let failed = probes.iter().filter(|probe| !probe.passes()).map(|probe| probe.offered_per_second);
    let high = failed.fold(f64::INFINITY, f64::min);
    let passed = probes.iter().filter(|probe| probe.passes() && probe.offered_per_second < high);
    let low = passed.map(|probe| probe.offered_per_second).fold(0.0, f64::max);
    let near = high.is_finite() && high - low <= GAP_SHARE * high;
    if probes.len() >= PROBES_MAX || near || !(peak_per_second.is_finite() && peak_per_second > 0.0) {
        return if low > 0.0 { Next::Found(low) } else { Next::None };
    }
    Next::Try(match (probes.is_empty(), high.is_finite()) {
        (true, _) => peak_per_second * FIRST_SHARE,
        (false, false) => low * STEP_UP,
        (false, true) => f64::midpoint(low, high),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A target that keeps up to its knee and not beyond.
    fn answers(knee: f64, offered_per_second: f64) -> Probe {
        let keeps_up = offered_per_second <= knee;
        Probe {
            offered_per_second,
            achieved_per_second: offered_per_second.min(knee),
            latency_ns_p99: if keeps_up { 300_000 } else { 40_000_000 },
            skipped: 0,
        }
    }

    fn search(peak: f64, knee: f64) -> (Next, Vec<Probe>) {
        let mut probes = Vec::new();
        loop {
            match next(peak, &probes) {
                Next::Try(rate) => probes.push(answers(knee, rate)),
                end => return (end, probes),
            }
        }
    }

    #[test]
    fn a_probe_fails_by_latency_by_a_skipped_request_or_by_falling_behind() {
        let good = answers(1_000.0, 500.0);
        assert!(good.passes());
        assert!(!Probe { latency_ns_p99: LATENCY_NS_P99_BELOW, ..good }.passes());
        assert!(!Probe { skipped: 1, ..good }.passes());
        assert!(!Probe { achieved_per_second: 489.0, ..good }.passes());
        assert!(Probe { achieved_per_second: 491.0, ..good }.passes());
    }

    #[test]
    fn the_first_rates_are_those_of_the_rule() {
        assert_eq!(next(1_000.0, &[]), Next::Try(700.0));
        assert_eq!(next(1_000.0, &[answers(2_000.0, 700.0)]), Next::Try(1_050.0));
        assert_eq!(next(1_000.0, &[answers(600.0, 700.0)]), Next::Try(350.0));
        let (low, high) = (answers(800.0, 700.0), answers(800.0, 1_050.0));
        assert_eq!(next(1_000.0, &[low, high]), Next::Try(875.0));
    }

    #[test]
    fn a_rate_that_passes_above_one_that_failed_is_not_believed() {
        let lucky = Probe { offered_per_second: 900.0, ..answers(1_000.0, 900.0) };
        let probes = [answers(500.0, 700.0), lucky, answers(500.0, 350.0)];
        assert_eq!(next(1_000.0, &probes), Next::Try(525.0));
    }

    #[test]
    fn a_target_that_is_always_late_has_no_knee_and_a_peak_of_nothing_none_either() {
        assert_eq!(search(100_000.0, 0.0).0, Next::None);
        assert_eq!(next(0.0, &[]), Next::None);
        assert_eq!(next(f64::NAN, &[]), Next::None);
    }

    proptest! {
        #[test]
        fn the_knee_is_found_within_the_probes_and_never_above(share in 0.2_f64..2.0, peak in 1e3_f64..1e6) {
            let knee = share * peak;
            let (end, probes) = search(peak, knee);
            prop_assert!(probes.len() <= PROBES_MAX);
            let Next::Found(found) = end else { return Err(TestCaseError::fail("no knee")) };
            prop_assert!(found <= knee && found >= knee * 0.93, "{found} of {knee} after {}", probes.len());
        }
    }
}
