//! The protocol between `bench-runner` and a program that drives one embedded engine.
//!
//! A driver is an [`Engine`] and a `main` that hands it to [`main_loop`]: it reads one workload, does its phases,
//! checks every value it reads, and writes what it counted. Nothing of the runner is in it, so a rival is linked
//! against its own engine alone.

mod allocations;
mod conformance;
mod draws;
mod engine;
mod keys;
mod main_loop;
mod phases;
mod process;
pub mod protocol;
mod survive;
mod ticker;
mod times;
pub mod values;

pub use allocations::{Counting, allocated};
pub use conformance::conformance;
pub use draws::{Draw, Shuffle};
pub use engine::{
    Batch, Engine, NotSupported, SURVIVES_POWER_LOSS, SURVIVES_POWER_LOSS_BUT_THE_LAST_SECOND,
    SURVIVES_THE_PROCESS, SURVIVES_THE_PROCESS_ONLY, Session, Span, locked_version,
};
pub use main_loop::{Failure, main_loop, run};
pub use ticker::EverySecond;
