//! When does a figure meet its bound?
//!
//! When its median does, and the far end of the median's interval misses it by no more than the slack: 3 % for
//! CPU time per operation, 5 % for throughput and latency, nothing for anything else (a memory cap is a cap).
//! Below six trials there is no interval, so there is no verdict either way.

use crate::model::{ClaimVerdict, Comparison, Figure, Spread, metric};

/// Fewest trials from which the median has an interval, and a claim a verdict.
pub const VERDICT_TRIALS: u32 = 6;

/// What the last digit of a float may add to a miss, percent.
const ROUNDING: f64 = 1e-9;

/// How far beyond its bound the far end of a figure's interval may lie, percent of the bound.
#[must_use]
pub fn slack_percent(metric: &str) -> f64 {
    if metric.ends_with("cpu_ns_per_op") {
        return 3.0;
    }
    match metric::describe(metric).0 {
        "1/s" | "bytes/s" | "ns" | "ms" => 5.0,
        _ => 0.0,
    }
}

/// The verdict in words.
#[must_use]
pub fn verdict_name(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Holds => "holds",
        ClaimVerdict::Fails => "fails",
        ClaimVerdict::NotMeasured => "not measured",
    }
}

/// Whether `figure` meets the bound, and one clause why.
#[must_use]
pub fn judge(
    figure: &Figure,
    comparison: Comparison,
    bound: f64,
    slack_percent: f64,
) -> (ClaimVerdict, String) {
    judge_of(figure, comparison, bound, slack_percent, bound.abs())
}

/// As [`judge`] of a difference of ratios or shares, whose bound may be next to nought: what the far end
/// misses the bound by is counted in points, of which one ratio has a hundred.
#[must_use]
pub fn judge_difference(
    figure: &Figure,
    comparison: Comparison,
    bound: f64,
    slack_percent: f64,
) -> (ClaimVerdict, String) {
    judge_of(figure, comparison, bound, slack_percent, 1.0)
}

/// Whether the worst of the trials meets the bound. One that does not fails it, however few there are; that
/// none does is a verdict only where the trials are `whole`: as long as the full profile has them.
#[must_use]
pub fn judge_every(
    figures: &[f64],
    comparison: Comparison,
    bound: f64,
    whole: bool,
) -> (ClaimVerdict, String) {
    let worst = match comparison {
        Comparison::AtMost => figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Comparison::AtLeast => figures.iter().copied().fold(f64::INFINITY, f64::min),
    };
    let met = match comparison {
        Comparison::AtMost => worst <= bound,
        Comparison::AtLeast => worst >= bound,
    };
    let (n, worst, bar) = (figures.len(), short(worst), short(bound));
    let of = if n == 1 { "the one trial".to_owned() } else { format!("the worst of {n} trials") };
    match (met, whole) {
        (false, _) => (ClaimVerdict::Fails, format!("{of}, {worst}, misses {bar}")),
        (true, true) => (ClaimVerdict::Holds, format!("{of}, {worst}, meets {bar}")),
        (true, false) => (
            ClaimVerdict::NotMeasured,
            format!("{of}, {worst}, would meet {bar}, but a verdict needs the trials of the full profile"),
        ),
    }
}

fn judge_of(
    figure: &Figure,
    comparison: Comparison,
    bound: f64,
    slack_percent: f64,
    hundred_percent: f64,
) -> (ClaimVerdict, String) {
    let (met, far) = match comparison {
        Comparison::AtMost => (figure.median <= bound, figure.high),
        Comparison::AtLeast => (figure.median >= bound, figure.low),
    };
    let median = short(figure.median);
    let bar = short(bound);
    if figure.spread == Spread::Range || figure.n < VERDICT_TRIALS {
        let would = if met { "would meet" } else { "would miss" };
        let n = figure.n;
        let trials = if n == 1 { "trial".to_owned() } else { format!("range of {n} trials") };
        return (
            ClaimVerdict::NotMeasured,
            format!(
                "the median {median} {would} {bar}, but it is of a {trials}, and a verdict needs \
                 {VERDICT_TRIALS}"
            ),
        );
    }
    let miss_percent = match comparison {
        Comparison::AtMost => (far - bound) / hundred_percent * 100.0,
        Comparison::AtLeast => (bound - far) / hundred_percent * 100.0,
    };
    let far = short(far);
    if !met {
        (ClaimVerdict::Fails, format!("the median {median} misses {bar}"))
    } else if miss_percent <= 0.0 {
        (ClaimVerdict::Holds, format!("the median {median} and its whole interval meet {bar}"))
    } else if miss_percent <= slack_percent + ROUNDING {
        (
            ClaimVerdict::Holds,
            format!(
                "the median {median} meets {bar}; the far end of its interval, {far}, misses it by \
                 {miss_percent:.1} %, of which {slack_percent:.0} % are allowed"
            ),
        )
    } else {
        (
            ClaimVerdict::Fails,
            format!(
                "the median {median} meets {bar}, but the far end of its interval, {far}, misses it by \
                 {miss_percent:.1} %; {slack_percent:.0} % are allowed"
            ),
        )
    }
}

/// A figure with four significant digits.
#[must_use]
pub fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // A float's exponent lies within ±324.
    let leading = value.abs().log10().floor() as i32;
    let decimals = usize::try_from(3 - leading).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn figure(low: f64, median: f64, high: f64, n: u32) -> Figure {
        let spread = if n < 6 { Spread::Range } else { Spread::Interval };
        Figure { median, low, high, spread, n }
    }

    #[test]
    fn a_bar_is_met_by_the_median_with_a_far_end_inside_the_slack() {
        use ClaimVerdict::{Fails, Holds, NotMeasured};
        use Comparison::{AtLeast, AtMost};
        for (low, median, high, n, comparison, bound, slack, expected) in [
            (0.40, 0.45, 0.49, 9, AtMost, 0.5, 3.0, Holds),
            (0.40, 0.45, 0.515, 9, AtMost, 0.5, 3.0, Holds),
            (0.40, 0.45, 0.516, 9, AtMost, 0.5, 3.0, Fails),
            (0.40, 0.501, 0.51, 9, AtMost, 0.5, 3.0, Fails),
            (0.40, 0.45, 0.49, 3, AtMost, 0.5, 3.0, NotMeasured),
            (0.80, 0.90, 0.95, 3, AtMost, 0.5, 3.0, NotMeasured),
            (0.40, 0.45, 0.49, 6, AtMost, 0.5, 3.0, Holds),
            (0.95, 1.00, 1.10, 9, AtLeast, 1.0, 5.0, Holds),
            (0.94, 1.00, 1.10, 9, AtLeast, 1.0, 5.0, Fails),
            (1.20, 1.30, 1.40, 9, AtLeast, 1.0, 5.0, Holds),
            (0.97, 0.99, 1.40, 9, AtLeast, 1.0, 5.0, Fails),
            (0.99, 1.00, 1.000_1, 9, AtMost, 1.0, 0.0, Fails),
        ] {
            let (verdict, reason) = judge(&figure(low, median, high, n), comparison, bound, slack);
            assert_eq!(verdict, expected, "{low} {median} {high} n = {n} {comparison:?} {bound}: {reason}");
        }
    }

    #[test]
    fn a_difference_may_have_a_bound_next_to_nought() {
        let of = |low, median, high| {
            judge_difference(&figure(low, median, high, 9), Comparison::AtLeast, -0.03, 5.0).0
        };
        assert_eq!(of(-0.07, -0.02, 0.01), ClaimVerdict::Holds);
        assert_eq!(of(-0.09, -0.02, 0.01), ClaimVerdict::Fails);
        assert_eq!(of(-0.05, -0.04, 0.01), ClaimVerdict::Fails);
    }

    #[test]
    fn one_trial_is_enough_to_break_a_bound_on_every_trial() {
        let of = |figures: &[f64], whole| judge_every(figures, Comparison::AtMost, 1.0, whole).0;
        assert_eq!(of(&[0.9, 0.95, 1.0], true), ClaimVerdict::Holds);
        assert_eq!(of(&[0.9], false), ClaimVerdict::NotMeasured);
        assert_eq!(of(&[0.9, 1.001, 0.1], true), ClaimVerdict::Fails);
        assert_eq!(of(&[1.001], false), ClaimVerdict::Fails);
        assert_eq!(judge_every(&[5.0, 3.0], Comparison::AtLeast, 4.0, true).0, ClaimVerdict::Fails);
    }

    #[test]
    fn slack_follows_the_kind_of_metric() {
        for (metric, slack) in [
            ("server_cpu_ns_per_op", 3.0),
            ("generator_cpu_ns_per_op", 3.0),
            ("ops_per_second", 5.0),
            ("latency_ns_p99", 5.0),
            ("startup_ms", 5.0),
            ("rss_bytes_growth", 0.0),
            ("hit_ratio", 0.0),
        ] {
            assert!((slack_percent(metric) - slack).abs() < 1e-12, "{metric}");
        }
    }

    #[test]
    fn figures_are_told_with_four_digits() {
        for (value, text) in [
            (0.5, "0.5"),
            (1.0, "1"),
            (0.491_849, "0.4918"),
            (1_234.56, "1235"),
            (12.5, "12.5"),
            (0.0, "0"),
            (400.0, "400"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    proptest! {
        #[test]
        fn a_better_figure_never_turns_a_claim_that_holds_into_one_that_fails(
            median in 0.01_f64..10.0, up in 1.0_f64..1.5, bound in 0.01_f64..10.0, gain in 0.1_f64..1.0
        ) {
            let rank = |verdict| match verdict { ClaimVerdict::Fails => 0, _ => 1 };
            let (worse, _) = judge(&figure(median, median, median * up, 9), Comparison::AtMost, bound, 3.0);
            let better = figure(median * gain, median * gain, median * gain * up, 9);
            let (better, _) = judge(&better, Comparison::AtMost, bound, 3.0);
            prop_assert!(rank(better) >= rank(worse));
        }
    }
}
