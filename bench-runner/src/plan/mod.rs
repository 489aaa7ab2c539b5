//! From checked scenarios to an ordered list of steps. Pure: no clock, no files, no network.

mod build;
mod cells;
mod cost;
mod embedded;
pub mod knee;
mod label;
mod names;
mod order;
pub mod slowest;
mod step;
mod stores;

pub use build::{Plan, Request, build};
pub use cost::{remaining_seconds, step_seconds};
pub use names::{MODES, mode_name, placement_name};
pub use step::*;

#[cfg(test)]
mod build_test;
#[cfg(test)]
mod embedded_test;
