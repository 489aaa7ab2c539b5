//! Does the interval of the median hold the true median as often as its label says?
//!
//! 20,000 samples of each size from distributions that have little in common. The seed is fixed, so the outcome is too;
//! the bound of 4.5 binomial standard errors would be left by chance once in 150,000 seeds.

use super::*;
use std::f64::consts::{LN_2, TAU};

const SAMPLES: u32 = 20_000;

type Draw = fn(&mut fastrand::Rng) -> f64;

fn normal(random: &mut fastrand::Rng) -> f64 {
    let (one, two) = (1.0 - random.f64(), random.f64());
    (-2.0 * one.ln()).sqrt() * (TAU * two).cos()
}

/// Name, how to draw, true median.
const DISTRIBUTIONS: &[(&str, Draw, f64)] = &[
    ("normal", normal, 0.0),
    ("uniform", |random| random.f64(), 0.5),
    ("exponential", |random| -(1.0 - random.f64()).ln(), LN_2),
    ("log-normal", |random| (1.5 * normal(random)).exp(), 1.0),
    ("Cauchy", |random| (TAU / 2.0 * (random.f64() - 0.5)).tan(), 0.0),
    // A machine with two speeds: most trials near one, some far off. Median where 0.7 · Φ(x) reaches one half.
    (
        "two humps",
        |random| normal(random) + if random.f64() < 0.3 { 100.0 } else { 0.0 },
        0.565_948_821_932_86,
    ),
];

#[test]
fn measured_coverage_is_what_the_label_says() {
    let mut random = fastrand::Rng::with_seed(20);
    for (name, draw, middle) in DISTRIBUTIONS {
        for n in [6, 9, 16] {
            let held = (0..SAMPLES)
                .filter(|_| {
                    let trials: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
                    let summary = summarise(&trials).unwrap();
                    summary.low <= *middle && *middle <= summary.high
                })
                .count();
            let label = interval_coverage(n, interval_ranks(n).unwrap());
            let measured = held as f64 / f64::from(SAMPLES);
            let bound = 4.5 * (label * (1.0 - label) / f64::from(SAMPLES)).sqrt();
            assert!((measured - label).abs() <= bound, "{name}, n = {n}: {measured}, not {label}");
        }
    }
}

#[test]
fn a_range_of_three_covers_three_times_in_four_and_is_not_called_an_interval() {
    let mut random = fastrand::Rng::with_seed(21);
    let held = (0..SAMPLES)
        .filter(|_| {
            let trials: Vec<f64> = (0..3).map(|_| normal(&mut random)).collect();
            let summary = summarise(&trials).unwrap();
            assert_eq!(summary.spread, crate::model::Spread::Range);
            summary.low <= 0.0 && 0.0 <= summary.high
        })
        .count();
    let bound = 4.5 * (0.75 * 0.25 / f64::from(SAMPLES)).sqrt();
    assert!((held as f64 / f64::from(SAMPLES) - 0.75).abs() <= bound, "{held}");
}
