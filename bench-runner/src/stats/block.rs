//! How far apart are two builds, seen by one block of trials?
//!
//! A block is measured in turns (ABBA, or ABBA BAAB), and each side has two figures, of its first and second half: a drift that is
//! linear over the turns weighs on both sides alike and falls out. The block's figure is the difference of the sides' mean
//! logarithms. The order ABBA is known from precise weighing: H. E. Swanson, S. Schlamminger 2010, *Removal of zero-point drift from AB data
//! and the statistical cost*, <https://arxiv.org/abs/1009.1894>.

/// Mean log ratio head / base of one block; `base` and `head` are the two figures of each side. None where a
/// value is not positive and finite.
#[must_use]
pub fn block_log_ratio(base: [f64; 2], head: [f64; 2]) -> Option<f64> {
    let positive = |value: &f64| *value > 0.0 && value.is_finite();
    if !base.iter().chain(&head).all(positive) {
        return None;
    }
    Some(f64::midpoint(head[0].ln(), head[1].ln()) - f64::midpoint(base[0].ln(), base[1].ln()))
}

/// Geometric mean; none where there are no values or one of them is not positive and finite.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !values.iter().all(|value| *value > 0.0 && value.is_finite()) {
        return None;
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_has_no_logarithm_has_no_ratio() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(block_log_ratio([1.0, bad], [1.0, 1.0]), None);
            assert_eq!(geometric_mean(&[1.0, bad]), None);
        }
        assert_eq!(geometric_mean(&[]), None);
    }

    proptest! {
        #[test]
        fn a_drift_that_is_steady_in_log_space_falls_out(
            base in 1e-3_f64..1e9, ratio in 0.5_f64..2.0, drift in 0.9_f64..1.1
        ) {
            let at = |place: i32| drift.powi(place);
            let log = block_log_ratio([base, base * at(3)], [base * ratio * at(1), base * ratio * at(2)]).unwrap();
            prop_assert!((log - ratio.ln()).abs() < 1e-9);
        }

        #[test]
        fn swapping_the_sides_turns_the_sign(a in 1e-3_f64..1e9, b in 1e-3_f64..1e9, c in 1e-3_f64..1e9, d in 1e-3_f64..1e9) {
            let one = block_log_ratio([a, d], [b, c]).unwrap();
            let other = block_log_ratio([b, c], [a, d]).unwrap();
            prop_assert!((one + other).abs() < 1e-12);
        }

        #[test]
        fn geometric_mean_lies_between_the_ends_and_scales(values in prop::collection::vec(1e-3_f64..1e6, 1..30), by in 0.1_f64..10.0) {
            let mean = geometric_mean(&values).unwrap();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(0.0, f64::max);
            prop_assert!(low * (1.0 - 1e-12) <= mean && mean <= high * (1.0 + 1e-12));
            let scaled: Vec<f64> = values.iter().map(|value| value * by).collect();
            prop_assert!((geometric_mean(&scaled).unwrap() / (mean * by) - 1.0).abs() < 1e-9);
        }
    }
}
