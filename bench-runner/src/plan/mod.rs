//! From checked scenarios to an ordered list of steps. Pure: no clock, no files, no network.

mod step;

pub use step::*;
