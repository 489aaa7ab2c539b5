//! Do our statistics say what scipy and Apache Otava say?
//!
//! The answers and how they were made: `tests/fixtures/statistics/{reference.json,make.py}`.

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
