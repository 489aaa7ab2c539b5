//! Do our statistics say what scipy, statsmodels and Apache Otava say?
//!
//! The answers and how they were made: `tests/fixtures/statistics/{reference.json,make.py}`.

use super::bootstrap::{ends, quantile};
use super::change::{best_split, t_test};
use super::*;
use serde_json::Value;

const REFERENCE: &str = include_str!("../../tests/fixtures/statistics/reference.json");
/// What is exact agrees to this, of the larger of 1 and the figure itself.
const EXACT: f64 = 1e-9;

fn rows(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(REFERENCE).unwrap();
    all[name].as_array().unwrap().clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"))
}

fn numbers(row: &Value, name: &str) -> Vec<f64> {
    row[name].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect()
}

fn count(row: &Value, name: &str) -> u32 {
    u32::try_from(row[name].as_u64().unwrap()).unwrap()
}

fn near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= EXACT * expected.abs().max(1.0), "{what}: {found}, not {expected}");
}

/// Small p-values agree in their digits, not only in being small.
fn near_relative(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= EXACT * expected.abs(), "{what}: {found:e}, not {expected:e}");
}

#[test]
fn ranks_and_coverage_of_the_median_for_6_to_50_trials() {
    let rows = rows("order_statistics");
    assert_eq!(rows.len(), 45);
    for row in rows {
        let n = count(&row, "n") as usize;
        let rank = interval_ranks(n).unwrap();
        assert_eq!(rank, count(&row, "rank") as usize, "n = {n}");
        near(interval_coverage(n, rank), number(&row, "coverage"), &format!("coverage, n = {n}"));
    }
}

#[test]
fn sign_tests_on_one_and_two_sides() {
    for row in rows("sign_tests") {
        let test = sign_test_of_counts(count(&row, "positive"), count(&row, "n"));
        near_relative(test.p_greater, number(&row, "greater"), &format!("greater, {row}"));
        near_relative(test.p_less, number(&row, "less"), &format!("less, {row}"));
        near_relative(test.p_two_sided, number(&row, "two_sided"), &format!("two-sided, {row}"));
    }
}

#[test]
fn adjusted_p_values_of_holm_and_benjamini_hochberg() {
    for row in rows("adjusted") {
        let p_values = numbers(&row, "p");
        for (found, name) in
            [(holm(&p_values), "holm"), (benjamini_hochberg(&p_values), "benjamini_hochberg")]
        {
            for (one, expected) in found.iter().zip(numbers(&row, name)) {
                near(*one, expected, name);
            }
        }
    }
}

#[test]
fn block_ratios_and_the_geometric_mean() {
    let all: Value = serde_json::from_str(REFERENCE).unwrap();
    let blocks = &all["blocks"];
    for row in blocks["quartets"].as_array().unwrap() {
        let side = |name: &str| <[f64; 2]>::try_from(numbers(row, name)).unwrap();
        near(block_log_ratio(side("base"), side("head")).unwrap(), number(row, "log_ratio"), "block");
    }
    near(
        geometric_mean(&numbers(blocks, "values")).unwrap(),
        number(blocks, "geometric_mean"),
        "geometric mean",
    );
}

#[test]
fn detectable_effects_of_the_sign_test() {
    for row in rows("effects") {
        let (blocks, alpha) = (count(&row, "blocks"), number(&row, "alpha"));
        assert_eq!(sign_test_threshold(blocks, alpha), Some(count(&row, "needed")));
        let found = minimal_detectable_ratio(number(&row, "block_sd"), blocks, alpha, number(&row, "power"));
        near(found.unwrap(), number(&row, "ratio"), "effect");
    }
}

fn resampling(row: &Value) -> Resampling {
    let centre = match row["centre"].as_str().unwrap() {
        "median" => Centre::Median,
        "geometric_mean" => Centre::GeometricMean,
        other => panic!("{other}"),
    };
    let method = match row["method"].as_str().unwrap() {
        "percentile" => Method::Percentile,
        "bca" => Method::Bca,
        other => panic!("{other}"),
    };
    Resampling { centre, method, level: 0.95, resamples: 20_000, seed: 2026 }
}

fn observed(log_ratios: &[f64], of: Centre) -> f64 {
    match of {
        Centre::Median => median(log_ratios).unwrap(),
        Centre::GeometricMean => log_ratios.iter().sum::<f64>() / log_ratios.len() as f64,
    }
}

#[test]
fn bootstrap_intervals_from_the_same_draws() {
    for row in rows("bootstraps") {
        let (how, log_ratios, exact) = (resampling(&row), numbers(&row, "log_ratios"), &row["exact"]);
        let mut centres = numbers(exact, "replicates");
        centres.sort_by(f64::total_cmp);
        let (low, high) = ends(&centres, &log_ratios, observed(&log_ratios, how.centre), &how);
        let what = format!("{} {:?} {:?}", row["sample"], how.centre, how.method);
        near(low, number(exact, "low"), &what);
        near(high, number(exact, "high"), &what);
    }
    assert!((quantile(&[1.0, 2.0, 4.0], 0.75) - 3.0).abs() < EXACT);
}

#[test]
fn bootstrap_intervals_from_draws_of_our_own_within_monte_carlo_error() {
    for row in rows("bootstraps") {
        let (how, log_ratios, theirs) = (resampling(&row), numbers(&row, "log_ratios"), &row["monte_carlo"]);
        assert_eq!(how.resamples, count(theirs, "resamples"));
        let found = bootstrap(&log_ratios, &how).unwrap();
        for (end, name) in [(found.low.ln(), "low"), (found.high.ln(), "high")] {
            // Five standard deviations of one such end, as 24 runs of scipy scattered, and their mean's own.
            let sd = number(theirs, &format!("{name}_sd")) * (1.0 + 1.0 / 24.0_f64).sqrt();
            let miss = (end - number(theirs, name)).abs();
            assert!(miss <= 5.0 * sd + EXACT, "{} {how:?} {name}: {miss} against {sd}", row["sample"]);
        }
    }
}

#[test]
fn t_tests_of_two_sides() {
    for row in rows("t_tests") {
        let p = t_test(&numbers(&row, "left"), &numbers(&row, "right")).unwrap();
        near_relative(p, number(&row, "p"), "t-test");
    }
}

#[test]
fn change_points_of_whole_series() {
    for row in rows("change_points") {
        let (name, values) = (row["name"].as_str().unwrap(), numbers(&row, "values"));
        let (index, q_hat) = best_split(&values).unwrap();
        assert_eq!(index, count(&row["first"], "index") as usize, "{name}");
        near(q_hat, number(&row["first"], "q_hat"), name);
        let found = change_points(&values, &ChangeRules::default());
        let expected = row["found"].as_array().unwrap();
        let places: Vec<usize> = found.iter().map(|one| one.index).collect();
        let known: Vec<usize> = expected.iter().map(|one| count(one, "index") as usize).collect();
        assert_eq!(places, known, "{name}");
        for (one, theirs) in found.iter().zip(expected) {
            near_relative(one.p, number(theirs, "p"), name);
            near(one.mean_before, number(theirs, "before"), name);
            near(one.mean_after, number(theirs, "after"), name);
        }
    }
}
