//! Measuring: a step of the plan becomes trials with their values, facts and reasons.
//!
//! [`Lab::run_step`] never fails: what goes wrong with a target is a trial with a status and a reason.

mod checks;
mod embedded;
mod external;
mod half_request;
mod keyspace;
mod lab;
mod memory_cap;
mod os_stat;
mod progress;
mod ready;
mod regime;
mod shelf;
mod startup;
pub(crate) mod trial;
mod verify;
mod waiting;
mod wire;

pub use lab::{Lab, NoTurns, Turns};
pub use progress::{Progress, Stage};
