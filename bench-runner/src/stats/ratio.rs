//! How two cells of one campaign compare: the ratio of trials paired by index, in log space.
//!
//! In logarithms twice as fast and half as fast lie equally far from one, so a ratio and its inverse say the
//! same; and pairing trials of one round takes out what slowed the machine during that round.

use super::order::{Summary, summarise};

/// Median of the ratios numerator / denominator, with its range or interval. Pairs of which one side is not
/// positive say nothing and are left out; none where no pair is left.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Summary> {
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|(above, below)| *above > 0.0 && *below > 0.0)
        .map(|(above, below)| above.ln() - below.ln())
        .collect();
    let summary = summarise(&logs)?;
    Some(Summary {
        median: summary.median.exp(),
        low: summary.low.exp(),
        high: summary.high.exp(),
        ..summary
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Spread;
    use proptest::prelude::*;

    #[test]
    fn ratio_is_of_pairs_and_even_counts_take_the_geometric_middle() {
        let three = paired_ratio(&[(2.0, 1.0), (30.0, 10.0), (4.0, 4.0)]).unwrap();
        assert!((three.median - 2.0).abs() < 1e-12 && (three.low - 1.0).abs() < 1e-12);
        assert!((three.high - 3.0).abs() < 1e-12 && three.spread == Spread::Range && three.n == 3);
        let two = paired_ratio(&[(4.0, 1.0), (1.0, 1.0)]).unwrap();
        assert!((two.median - 2.0).abs() < 1e-12, "{two:?}");
    }

    #[test]
    fn pairs_without_a_ratio_are_left_out() {
        assert_eq!(paired_ratio(&[(1.0, 0.0), (0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0)]), None);
        assert_eq!(paired_ratio(&[(6.0, 2.0), (1.0, 0.0)]).unwrap().n, 1);
    }

    proptest! {
        #[test]
        fn turning_the_fraction_over_inverts_the_ratio(pairs in prop::collection::vec((1e-3_f64..1e9, 1e-3_f64..1e9), 1..20)) {
            let turned: Vec<_> = pairs.iter().map(|(above, below)| (*below, *above)).collect();
            let (one, other) = (paired_ratio(&pairs).unwrap(), paired_ratio(&turned).unwrap());
            prop_assert!((one.median * other.median - 1.0).abs() < 1e-9);
            prop_assert!((one.low * other.high - 1.0).abs() < 1e-9);
        }
    }
}
