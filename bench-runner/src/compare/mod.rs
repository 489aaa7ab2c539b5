//! Two sittings side by side: which cells belong together, and what may be said of them. Pure.
//!
//! A side is one run, or all runs of a version on one machine. Programs that are the same file on both sides are the
//! controls: what they moved is what the machine moved (see [`crate::stats::beside`]).

mod judge;
mod pair;

pub use judge::{Controls, Row, judge};
pub use pair::{Left, Pair, paired};

use crate::model::{Run, ScenarioRecord};

/// A stored run.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    /// `run.json`.
    pub run: &'a Run,
    /// Its scenarios.
    pub scenarios: &'a [ScenarioRecord],
}

/// Why two sides cannot be compared at all; none where they can.
#[must_use]
pub fn other_machine(first: &[Stored<'_>], second: &[Stored<'_>]) -> Option<String> {
    let of = |run: &Run| (run.machine.fingerprint.clone(), run.machine.cpu_model.clone());
    let (one, rest) = first.split_first()?;
    let other = rest.iter().chain(second).find(|stored| of(stored.run) != of(one.run))?;
    let (one, other) = (one.run, other.run);
    Some(format!(
        "the runs are of different machines or CPU models and are not compared: {} ({}) and {} ({})",
        one.machine_key, one.machine.cpu_model, other.machine_key, other.machine.cpu_model
    ))
}

#[cfg(test)]
#[path = "compare_test.rs"]
mod tests;
