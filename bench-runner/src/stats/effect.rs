//! How small a change can so many blocks find?
//!
//! The sign test over n blocks calls a change where at least c of them point one way (c by α). A change of size δ in
//! log space, with blocks scattered by a normal of deviation σ, turns each block the right way with probability Φ(δ/σ); so
//! the smallest change found with a given power has P(B(n, p) ≥ c) = power and δ = σ·Φ⁻¹(p). Exact up to the
//! normality of blocks; see E. L. Lehmann, *Nonparametrics: Statistical Methods Based on Ranks*, chapter 4.

use super::sign::{at_least, sign_test_threshold};
use statrs::distribution::{ContinuousCDF, Normal};

/// The smallest ratio above one that a one-sided sign test at `alpha` over `blocks` finds with probability
/// `power`, where a block's log ratio has the standard deviation `block_sd`. None where the test can never
/// call anything, or a share lies outside 0 … 1.
#[must_use]
pub fn minimal_detectable_ratio(block_sd: f64, blocks: u32, alpha: f64, power: f64) -> Option<f64> {
    let shares = [alpha, power].iter().all(|share| *share > 0.0 && *share < 1.0);
    if !shares || block_sd < 0.0 || !block_sd.is_finite() {
        return None;
    }
    let needed = sign_test_threshold(blocks, alpha)?;
    // P(B ≥ needed) rises with p: halved until the floats have no value in between.
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if at_least(needed, blocks, middle) < power {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some((block_sd * Normal::standard().inverse_cdf(high)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_change_of_that_size_is_found_as_often_as_promised() {
        let (sd, blocks, power) = (0.03, 16_u32, 0.8);
        let shift = minimal_detectable_ratio(sd, blocks, 0.0107, power).unwrap().ln();
        let mut random = fastrand::Rng::with_seed(3);
        let mut normal = || {
            // Box and Muller: the sign of a block needs the normal's tails right.
            let (one, two) = (1.0 - random.f64(), random.f64());
            (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
        };
        let runs = 20_000;
        let found =
            (0..runs).filter(|_| (0..blocks).filter(|_| shift + sd * normal() > 0.0).count() >= 13).count();
        let share = found as f64 / f64::from(runs);
        let slack = 4.5 * (power * (1.0 - power) / f64::from(runs)).sqrt();
        assert!((share - power).abs() < slack, "found {share}");
    }

    #[test]
    fn too_few_blocks_find_nothing() {
        assert_eq!(minimal_detectable_ratio(0.02, 5, 0.0107, 0.8), None);
        assert_eq!(minimal_detectable_ratio(0.02, 16, 0.0107, 1.0), None);
        assert_eq!(minimal_detectable_ratio(f64::NAN, 16, 0.0107, 0.8), None);
    }

    proptest! {
        #[test]
        fn quieter_blocks_find_smaller_changes(sd in 0.001_f64..0.2, power in 0.55_f64..0.99) {
            let of = |sd: f64, power: f64| minimal_detectable_ratio(sd, 16, 0.0107, power).unwrap();
            prop_assert!(of(sd, power) < of(sd * 1.5, power));
            prop_assert!(of(sd, power) < of(sd, power + 0.005));
        }
    }
}
