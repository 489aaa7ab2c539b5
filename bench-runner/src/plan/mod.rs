//! From checked scenarios to an ordered list of steps. Pure: no clock, no files, no network.

mod build;
mod cells;
mod cost;
mod disk;
mod driven;
mod embedded;
mod embedded_label;
pub mod knee;
mod label;
mod names;
mod order;
pub mod slowest;
mod step;
mod stores;

pub use build::{Plan, Request, build};
pub use cost::{remaining_seconds, step_seconds};
pub use disk::disk_bytes;
pub use driven::{EmbeddedPart, EmbeddedWork, EngineWanted, Pace, Stock, StoreKey, StoreUse};
pub use names::{MODES, mode_name, placement_name};
pub use step::*;

#[cfg(test)]
mod build_test;
#[cfg(test)]
mod embedded_test;
