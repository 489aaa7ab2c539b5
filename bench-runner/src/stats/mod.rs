//! What may be said of a handful of trials. Pure: no clock, no files, no network.
//!
//! A trial is the statistical unit; samples inside one are never treated as independent. A bootstrap of the
//! median from three to five trials covers far less than it says, so below six trials only the range is given.

mod compare;
mod digits;
mod order;
mod ratio;

pub use compare::{Word, judge};
pub use digits::{significant, significant_like};
pub use order::{Summary, interval_coverage, interval_ranks, median, summarise};
pub use ratio::paired_ratio;
