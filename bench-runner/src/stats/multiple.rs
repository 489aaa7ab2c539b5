//! Which of many tests still mean something, once it counts that many were made?
//!
//! Holm keeps the chance of even one false alarm in the family below α (S. Holm 1979, *A simple sequentially
//! rejective multiple test procedure*, <https://www.jstor.org/stable/4615733>); Benjamini–Hochberg keeps the expected share
//! of false ones among those reported below q (Y. Benjamini, Y. Hochberg 1995,
//! <https://doi.org/10.1111/j.2517-6161.1995.tb02031.x>). Both return adjusted p-values in the order given:
//! a test is reported where its adjusted value is at most α or q.

/// Holm's step-down: the j-th smallest of m values (from 0) times m − j, made rising, at most 1.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let order = rising(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - place) as f64 * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// Benjamini–Hochberg's step-up: the j-th smallest of m values (from 1) times m / j, made falling from the end,
/// at most 1.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let order = rising(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut smallest = 1.0_f64;
    for (place, &index) in order.iter().enumerate().rev() {
        smallest = smallest.min(p_values.len() as f64 / (place + 1) as f64 * p_values[index]);
        adjusted[index] = smallest;
    }
    adjusted
}

fn rising(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn adjusting_never_helps_keeps_the_order_and_holm_is_the_stricter(
            p_values in prop::collection::vec(0.0_f64..=1.0, 0..40)
        ) {
            let (strict, loose) = (holm(&p_values), benjamini_hochberg(&p_values));
            for i in 0..p_values.len() {
                prop_assert!(p_values[i] <= loose[i] && loose[i] <= strict[i] + 1e-15 && strict[i] <= 1.0);
                for j in 0..p_values.len() {
                    if p_values[i] <= p_values[j] {
                        prop_assert!(strict[i] <= strict[j] && loose[i] <= loose[j]);
                    }
                }
            }
        }

        #[test]
        fn one_test_alone_needs_no_adjusting(p in 0.0_f64..=1.0) {
            prop_assert_eq!(holm(&[p]), vec![p]);
            prop_assert_eq!(benjamini_hochberg(&[p]), vec![p]);
        }
    }

    #[test]
    fn families_of_nothing_are_alarmed_as_seldom_as_promised() {
        // 2,000 families of ten true null hypotheses: α = 0.05 with a binomial bound of 4.5 standard errors.
        let mut random = fastrand::Rng::with_seed(11);
        let families = 2_000;
        let alarms = (0..families)
            .filter(|_| {
                let p_values: Vec<f64> = (0..10).map(|_| random.f64()).collect();
                holm(&p_values).iter().any(|p| *p <= 0.05)
            })
            .count();
        let bound = 0.05 + 4.5 * (0.05 * 0.95 / f64::from(families)).sqrt();
        assert!(alarms as f64 / f64::from(families) <= bound, "{alarms} of {families}");
    }
}
