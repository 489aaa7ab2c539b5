//! Since when is a series of runs another one? Change points over history.
//!
//! E-divisive (D. S. Matteson, N. A. James 2014, *A nonparametric approach for multiple change point analysis of
//! multivariate data*, <https://arxiv.org/abs/1306.4933>) in the deterministic variant of M. Fleming, P. Kołaczkowski and others 2023, *Hunter:
//! using change point detection to hunt for performance regressions*, <https://arxiv.org/abs/2301.03034>:
//! where to split is found by the distance between the two sides, whether to split by a t-test instead of random permutations, in
//! sliding windows, so that what was found yesterday does not move when a run is added. Candidates are taken generously first and
//! the weakest dropped again.
//!
//! The t-test is made where the split looked best, so its p-value flatters: the limit is strict (0.001), and what
//! is found is advice, to be corrected for the number of series.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// What counts as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeRules {
    /// Values that are looked at together; at least two.
    pub window: usize,
    /// Largest p-value of a change.
    pub p_max: f64,
    /// Smallest relative change of the mean, 0.02 for 2 %.
    pub change_min: f64,
}

impl Default for ChangeRules {
    /// Those of the paper: windows of 50, p ≤ 0.001, no least size.
    fn default() -> Self {
        Self { window: 50, p_max: 0.001, change_min: 0.0 }
    }
}

/// A place from which on the values are others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// First value after the change.
    pub index: usize,
    /// Two-sided t-test of the values between this and the neighbouring changes.
    pub p: f64,
    /// Mean from the change before to this one.
    pub mean_before: f64,
    /// Mean from this change to the next.
    pub mean_after: f64,
}

impl ChangePoint {
    /// The larger of the relative changes forwards and backwards.
    #[must_use]
    pub fn relative_change(&self) -> f64 {
        let change = |from: f64, to: f64| if from == 0.0 { 0.0 } else { (to / from - 1.0).abs() };
        change(self.mean_before, self.mean_after).max(change(self.mean_after, self.mean_before))
    }
}

/// The changes of a series, oldest first; none at all where a value is no finite number.
#[must_use]
pub fn change_points(values: &[f64], rules: &ChangeRules) -> Vec<ChangePoint> {
    if values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    // The paper's first pass is ten times as generous; a limit that is no longer small is only doubled.
    let generous = if rules.p_max < 0.05 { rules.p_max * 10.0 } else { (rules.p_max * 2.0).min(1.0) };
    let mut cuts = candidates(values, rules.window.max(2), generous);
    loop {
        let points: Vec<ChangePoint> = (0..cuts.len()).map(|place| judged(values, &cuts, place)).collect();
        let weakest = points.iter().enumerate().max_by(|one, other| one.1.p.total_cmp(&other.1.p));
        let Some((mut drop, weakest)) = weakest else { return points };
        if weakest.p < rules.p_max {
            let change = |one: &(usize, &ChangePoint)| one.1.relative_change();
            let smallest =
                points.iter().enumerate().min_by(|one, other| change(one).total_cmp(&change(other)));
            match smallest {
                Some((place, point)) if point.relative_change() <= rules.change_min => drop = place,
                _ => return points,
            }
        }
        cuts.remove(drop);
    }
}

/// Splits of every window that pass the generous limit, rising and each once.
fn candidates(values: &[f64], window: usize, p_max: f64) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = values.len().min(start + window);
        let found = split_window(&values[start..end], p_max);
        let last = found.last().map_or(0, |index| index + start);
        cuts.extend(found.iter().map(|index| index + start));
        start = last.max(start + window / 2);
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Splits where the sides are furthest apart, again and again, until a split means nothing.
fn split_window(values: &[f64], p_max: f64) -> Vec<usize> {
    let mut cuts: Vec<usize> = Vec::new();
    loop {
        let ends: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
        let mut best: Option<(f64, usize, usize, usize)> = None;
        for pair in ends.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if let Some((index, q)) = best_split(&values[from..to])
                && best.is_none_or(|(largest, ..)| q > largest)
            {
                best = Some((q, from, from + index, to));
            }
        }
        let Some((_, from, cut, to)) = best else { return cuts };
        if t_test(&values[from..cut], &values[cut..to]).is_none_or(|p| p > p_max) {
            return cuts;
        }
        cuts.push(cut);
        cuts.sort_unstable();
    }
}

/// Where values[..τ] and values[τ..κ] are furthest apart, over all τ < κ, and how far (Q̂): with n and m values,
/// 2/(n+m)·Σ|x−y| − 2m/((n+m)(n−1))·Σ|x−x′| − 2n/((n+m)(m−1))·Σ|y−y′|, each pair once. None below two values.
pub(super) fn best_split(values: &[f64]) -> Option<(usize, f64)> {
    let count = values.len();
    // Row j: sums of |x_i − x_j| over the first i, so that any run of them is one subtraction.
    let sums: Vec<Vec<f64>> = values
        .iter()
        .map(|one| {
            let mut row = vec![0.0];
            let mut sum = 0.0;
            for other in values {
                sum += (one - other).abs();
                row.push(sum);
            }
            row
        })
        .collect();
    let mut best: Option<(usize, f64)> = None;
    let mut left = 0.0;
    for tau in 1..count {
        left += sums[tau - 1][tau - 1];
        let (mut cross, mut right) = (0.0, 0.0);
        for (end, row) in sums.iter().enumerate().skip(tau) {
            cross += row[tau];
            right += row[end] - row[tau];
            let (n, m) = (tau as f64, (end + 1 - tau) as f64);
            let within = |sum: f64, own: f64, others: f64| {
                if own > 1.0 { 2.0 * others / (n + m) / (own - 1.0) * sum } else { 0.0 }
            };
            let q = 2.0 / (n + m) * cross - within(left, n, m) - within(right, m, n);
            if best.is_none_or(|(_, largest)| q > largest) {
                best = Some((tau, q));
            }
        }
    }
    best
}

fn judged(values: &[f64], cuts: &[usize], place: usize) -> ChangePoint {
    let cut = cuts[place];
    let from = if place == 0 { 0 } else { cuts[place - 1] };
    let to = cuts.get(place + 1).copied().unwrap_or(values.len());
    let (left, right) = (&values[from..cut], &values[cut..to]);
    ChangePoint {
        index: cut,
        p: t_test(left, right).unwrap_or(1.0),
        mean_before: mean(left),
        mean_after: mean(right),
    }
}

/// Two-sided p-value of Student's t-test with pooled variance; none where there are fewer than three values or a
/// side is empty. Sides without any scatter differ for certain or not at all.
pub(super) fn t_test(left: &[f64], right: &[f64]) -> Option<f64> {
    let (n, m) = (left.len() as f64, right.len() as f64);
    if left.is_empty() || right.is_empty() || left.len() + right.len() < 3 {
        return None;
    }
    let squares = |side: &[f64], mean: f64| side.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let (one, other) = (mean(left), mean(right));
    let freedom = n + m - 2.0;
    let pooled = (squares(left, one) + squares(right, other)) / freedom;
    if pooled == 0.0 {
        return Some(if one == other { 1.0 } else { 0.0 });
    }
    let t = (one - other).abs() / (pooled * (1.0 / n + 1.0 / m)).sqrt();
    Some(2.0 * StudentsT::new(0.0, 1.0, freedom).ok()?.cdf(-t))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(values: &[f64]) -> Vec<usize> {
        change_points(values, &ChangeRules::default()).iter().map(|one| one.index).collect()
    }

    #[test]
    fn little_is_said_of_little() {
        assert!(found(&[]).is_empty());
        assert!(found(&[1.0]).is_empty());
        assert!(found(&[1.0, 2.0]).is_empty());
        assert!(found(&[5.0; 30]).is_empty());
        assert!(found(&[1.0, f64::NAN, 2.0]).is_empty());
    }

    #[test]
    fn a_step_without_scatter_is_found_where_it_is() {
        let mut values = vec![1.0; 12];
        values.extend([2.0; 9]);
        assert_eq!(found(&values), [12]);
    }

    #[test]
    fn a_least_size_drops_what_is_smaller() {
        let values: Vec<f64> = (0..60)
            .map(|at| {
                let level = match at {
                    0..20 => 100.0,
                    20..40 => 101.0,
                    _ => 120.0,
                };
                level + f64::from(at % 3) * 0.1
            })
            .collect();
        assert_eq!(found(&values), [20, 40]);
        let rules = ChangeRules { change_min: 0.05, ..ChangeRules::default() };
        let large: Vec<usize> = change_points(&values, &rules).iter().map(|one| one.index).collect();
        assert_eq!(large, [40]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn changes_do_not_depend_on_the_unit(
            values in prop::collection::vec(50.0_f64..150.0, 3..80), by in 0.5_f64..4.0
        ) {
            let other: Vec<f64> = values.iter().map(|value| value * by).collect();
            prop_assert_eq!(found(&values), found(&other));
        }

        #[test]
        fn a_large_step_is_found_behind_any_series(
            values in prop::collection::vec(50.0_f64..150.0, 60..90), later in prop::collection::vec(300.0_f64..310.0, 30)
        ) {
            let mut all = values.clone();
            all.extend(&later);
            prop_assert!(found(&all).contains(&values.len()));
        }

        #[test]
        fn a_t_test_does_not_care_which_side_comes_first(
            left in prop::collection::vec(0.0_f64..1.0, 1..20), right in prop::collection::vec(0.0_f64..1.0, 2..20)
        ) {
            let (one, other) = (t_test(&left, &right).unwrap(), t_test(&right, &left).unwrap());
            prop_assert!((one - other).abs() < 1e-12 && (0.0..=1.0 + 1e-12).contains(&one));
        }
    }
}
