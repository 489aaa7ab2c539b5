//! How likely is it that so many of n differences point the same way by chance?
//!
//! Under "no difference" each sign is a fair coin, whatever the distribution of the sizes: the number of positive ones is
//! binomial(n, 1/2). The test is exact and asks nothing of the data but independence.
//! See W. J. Conover, *Practical Nonparametric Statistics*, 3rd ed., section 3.4.

/// The exact sign test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignTest {
    /// Values above zero.
    pub positive: u32,
    /// Values that are not zero; those that are say nothing of a direction and are left out.
    pub n: u32,
    /// Probability of at least so many positive ones.
    pub p_greater: f64,
    /// Probability of at most so many positive ones.
    pub p_less: f64,
    /// Probability of a count at least as far from the half, on either side.
    pub p_two_sided: f64,
}

/// Sign test of log ratios (or any differences); none where one of them is no number.
#[must_use]
pub fn sign_test(differences: &[f64]) -> Option<SignTest> {
    if differences.iter().any(|value| value.is_nan()) {
        return None;
    }
    let count =
        |wanted: fn(&f64) -> bool| u32::try_from(differences.iter().filter(|one| wanted(one)).count());
    let positive = count(|one| *one > 0.0).ok()?;
    let negative = count(|one| *one < 0.0).ok()?;
    Some(sign_test_of_counts(positive, positive + negative))
}

/// Sign test of `positive` values above zero among `n` that are not zero.
#[must_use]
pub fn sign_test_of_counts(positive: u32, n: u32) -> SignTest {
    let positive = positive.min(n);
    let p_greater = at_least(positive, n, 0.5);
    let p_less = at_least(n - positive, n, 0.5);
    SignTest { positive, n, p_greater, p_less, p_two_sided: (2.0 * p_greater.min(p_less)).min(1.0) }
}

/// Fewest positive values among `n` for which the one-sided test stays at or below `alpha`; none where even all
/// of them are too few.
#[must_use]
pub fn sign_test_threshold(n: u32, alpha: f64) -> Option<u32> {
    (0..=n).find(|needed| at_least(*needed, n, 0.5) <= alpha)
}

/// P(B ≥ k), B binomial(n, p).
pub(super) fn at_least(k: u32, n: u32, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if p <= 0.0 || p >= 1.0 {
        return if p >= 1.0 && k <= n { 1.0 } else { 0.0 };
    }
    // In logarithms: C(n, k) leaves the floats at about a thousand.
    let (yes, no) = (p.ln(), (-p).ln_1p());
    let mut log_choose = 0.0;
    let mut terms = Vec::with_capacity((n + 1) as usize);
    for hit in 0..=n {
        terms.push((log_choose + f64::from(hit) * yes + f64::from(n - hit) * no).exp());
        log_choose += (f64::from(n - hit) / f64::from(hit + 1)).ln();
    }
    // Of the two tails the one with fewer terms is summed: the other is what is left of one.
    let split = (k as usize).min(terms.len());
    if f64::from(k) > f64::from(n) * p {
        terms[split..].iter().rev().sum()
    } else {
        1.0 - terms[..split].iter().sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thresholds_are_those_of_the_gate() {
        for (n, alpha, needed) in
            [(16, 0.0107, Some(13)), (30, 0.0107, Some(22)), (40, 0.0107, Some(28)), (5, 0.0107, None)]
        {
            assert_eq!(sign_test_threshold(n, alpha), needed, "n = {n}");
        }
    }

    #[test]
    fn zeros_are_left_out_and_what_is_no_number_is_refused() {
        let test = sign_test(&[0.1, 0.2, 0.0, -0.1]).unwrap();
        assert_eq!((test.positive, test.n), (2, 3));
        assert_eq!(sign_test(&[0.1, f64::NAN]), None);
        let nothing = sign_test(&[]).unwrap();
        assert_eq!((nothing.p_greater, nothing.p_less, nothing.p_two_sided), (1.0, 1.0, 1.0));
    }

    proptest! {
        #[test]
        fn tails_mirror_each_other_and_overlap_in_one_term(n in 1_u32..300, share in 0.0_f64..=1.0) {
            let k = (f64::from(n) * share) as u32;
            let (one, other) = (sign_test_of_counts(k, n), sign_test_of_counts(n - k, n));
            prop_assert!((one.p_greater - other.p_less).abs() < 1e-12);
            prop_assert!(one.p_greater + one.p_less >= 1.0 - 1e-12);
            prop_assert!((0.0..=1.0).contains(&one.p_two_sided));
            if k > 0 {
                prop_assert!(one.p_greater <= sign_test_of_counts(k - 1, n).p_greater + 1e-15);
            }
        }
    }
}
