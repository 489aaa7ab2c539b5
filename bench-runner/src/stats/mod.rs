//! What may be said of a handful of trials. Pure: no clock, no files, no network.
//!
//! A trial is the statistical unit; samples inside one are never treated as independent. Below six trials no interval
//! of the median is given, only the range.
//! Formulas, sources and limits in words: `bench-runner/docs/statistics.md`.

mod block;
mod change;
mod compare;
mod controls;
mod digits;
mod order;
mod ratio;
mod wager;

pub use block::{block_log_ratio, geometric_mean};
pub use change::{ChangePoint, ChangeRules, change_points};
pub use compare::{Span, Undecided, Word, judge, judge_beside, unpaired_ratio};
pub use controls::{CONTROLS_MIN, MISS, PROGRAMS_MIN, Shift, are_too_many, beside};
pub use digits::{significant, significant_at_most, significant_like};
pub use order::{Summary, interval_coverage, interval_ranks, median, summarise};
pub use ratio::paired_ratio;
pub use wager::{Wager, interval, lag_1, mean_found};

#[cfg(test)]
mod coverage_test;
#[cfg(test)]
mod reference_test;
