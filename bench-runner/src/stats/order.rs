//! The middle of a few trials, and how far it can be trusted: median and its exact order-statistic interval.
//!
//! Of n independent trials the number that fall below the true median is binomial(n, 1/2), whatever the
//! distribution; so the interval from the k-th smallest to the k-th largest covers the median with
//! probability 1 − 2·P(B < k). With k = 1, n = 6 is the first to reach 95 % (96.9 %).
//! See H. A. David and H. N. Nagaraja, *Order Statistics*, 3rd ed., section 7.1.

use crate::model::Spread;

/// Least coverage an interval must have to be called one.
const COVERAGE: f64 = 0.95;

/// A median and what lies around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The middle value, or the mean of the two middle ones.
    pub median: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What the ends are.
    pub spread: Spread,
    /// Values.
    pub n: u32,
}

/// Median of the values; none where there are none or one of them is no number.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    summarise(values).map(|summary| summary.median)
}

/// Median with its exact interval from six values on, with the range below; none where there are no values
/// or one of them is no finite number.
#[must_use]
pub fn summarise(values: &[f64]) -> Option<Summary> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let n = sorted.len();
    let middle = n / 2;
    let median = if n % 2 == 1 {
        sorted[middle]
    } else {
        // Halved before the addition: two values near the largest float do not overflow.
        (sorted[middle - 1] / 2.0 + sorted[middle] / 2.0).clamp(sorted[middle - 1], sorted[middle])
    };
    let (low, high, spread) = match interval_ranks(n) {
        Some(rank) => (sorted[rank - 1], sorted[n - rank], Spread::Interval),
        None => (first, last, Spread::Range),
    };
    Some(Summary { median, low, high, spread, n: u32::try_from(n).unwrap_or(u32::MAX) })
}

/// The rank k, from 1, such that the k-th smallest and the k-th largest of `n` values are the narrowest
/// interval that covers the median with at least 95 %; none below six values.
#[must_use]
pub fn interval_ranks(n: usize) -> Option<usize> {
    (1..=n / 2).take_while(|&rank| interval_coverage(n, rank) >= COVERAGE).last()
}

/// Probability that the interval from the `rank`-th smallest to the `rank`-th largest of `n` values holds the
/// median.
#[must_use]
pub fn interval_coverage(n: usize, rank: usize) -> f64 {
    let half = 0.5_f64.ln();
    let size = n as f64;
    let mut log_choose = 0.0;
    let mut outside = 0.0;
    for below in 0..rank {
        // In logarithms: C(n, k) leaves the floats at about a thousand trials.
        outside += (log_choose + size * half).exp();
        log_choose += ((size - below as f64) / (below as f64 + 1.0)).ln();
    }
    1.0 - 2.0 * outside
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_and_coverage_are_those_of_the_binomial_table() {
        for (n, rank, coverage) in [
            (6, 1, 0.968_75),
            (7, 1, 0.984_375),
            (8, 1, 0.992_187_5),
            (9, 2, 0.960_937_5),
            (12, 3, 0.961_4),
            (20, 6, 0.958_6),
        ] {
            assert_eq!(interval_ranks(n), Some(rank), "n = {n}");
            assert!((interval_coverage(n, rank) - coverage).abs() < 5e-5, "n = {n}");
        }
        for n in 0..6 {
            assert_eq!(interval_ranks(n), None, "n = {n}");
        }
        assert!(interval_ranks(5000).is_some_and(|rank| rank > 2400 && rank < 2500));
    }

    #[test]
    fn few_values_give_a_range_and_six_an_interval() {
        let three = summarise(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            (three.median, three.low, three.high, three.spread, three.n),
            (2.0, 1.0, 3.0, Spread::Range, 3)
        );
        let nine = summarise(&[9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0]).unwrap();
        assert_eq!(
            (nine.median, nine.low, nine.high, nine.spread, nine.n),
            (5.0, 2.0, 8.0, Spread::Interval, 9)
        );
        let four = summarise(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((four.median, four.spread), (2.5, Spread::Range));
    }

    #[test]
    fn nothing_is_said_of_nothing_or_of_what_is_no_number() {
        assert_eq!(summarise(&[]), None);
        assert_eq!(summarise(&[1.0, f64::NAN]), None);
        assert_eq!(summarise(&[1.0, f64::INFINITY]), None);
    }

    #[test]
    fn interval_covers_the_median_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(7);
        let runs = 20_000;
        let covered = (0..runs)
            .filter(|_| {
                // Skewed on purpose: the promise does not depend on the distribution. True median: ln 2.
                let values: Vec<f64> = (0..9).map(|_| -(1.0 - random.f64()).ln()).collect();
                let summary = summarise(&values).unwrap();
                summary.low <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= summary.high
            })
            .count();
        let share = covered as f64 / f64::from(runs);
        assert!((share - 0.9609).abs() < 0.006, "covered {share}");
    }

    proptest! {
        #[test]
        fn median_lies_in_its_spread_and_order_does_not_matter(mut values in prop::collection::vec(-1e300_f64..1e300, 1..40)) {
            let summary = summarise(&values).unwrap();
            prop_assert!(summary.low <= summary.median && summary.median <= summary.high);
            let below = values.iter().filter(|value| **value < summary.median).count();
            let above = values.iter().filter(|value| **value > summary.median).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
            values.reverse();
            prop_assert_eq!(summarise(&values).unwrap(), summary);
        }

        #[test]
        fn chosen_rank_is_the_narrowest_that_covers(n in 6_usize..400) {
            let rank = interval_ranks(n).unwrap();
            prop_assert!(interval_coverage(n, rank) >= 0.95);
            prop_assert!(rank + 1 > n / 2 || interval_coverage(n, rank + 1) < 0.95);
        }
    }
}
