//! What may be said of a handful of trials. Pure: no clock, no files, no network.
//!
//! A trial is the statistical unit; samples inside one are never treated as independent. A bootstrap of the
//! median from three to five trials covers far less than it says, so below six trials only the range is given.
//! Formulas, sources and limits in words: `bench-runner/docs/statistics.md`.

mod block;
mod bootstrap;
mod change;
mod compare;
mod controls;
mod digits;
mod effect;
mod multiple;
mod order;
mod ratio;
mod sign;

pub use block::{block_log_ratio, geometric_mean};
pub use bootstrap::{
    BLOCKS_MIN, Bootstrap, BootstrapError, Centre, Method, RESAMPLES_MIN, Resampling, bootstrap,
};
pub use change::{ChangePoint, ChangeRules, change_points};
pub use compare::{Span, Undecided, Word, judge, judge_beside, unpaired_ratio};
pub use controls::{CONTROLS_MIN, MISS, PROGRAMS_MIN, Shift, are_too_many, beside};
pub use digits::{significant, significant_at_most, significant_like};
pub use effect::minimal_detectable_ratio;
pub use multiple::{benjamini_hochberg, holm};
pub use order::{Summary, interval_coverage, interval_ranks, median, summarise};
pub use ratio::paired_ratio;
pub use sign::{SignTest, sign_test, sign_test_of_counts, sign_test_threshold};

#[cfg(test)]
mod coverage_test;
#[cfg(test)]
mod reference_test;
