//! What is to be measured: the text of a scenario, and what it means once checked. Pure: no files, no clock.
//!
//! [`Definition`] is the text shape, [`Scenario`] the same after its checks, [`Rules`] what a profile adds.

mod check;
mod definition;
mod embedded;
mod info;
mod profile;
pub mod strict;

pub use check::{Scenario, ScenarioError, known_targets};
pub use definition::{
    Cap, Definition, Fill, Kind, Load, LoadOperation, Only, Overwrite, PerProfile, PlacementChoice, Start,
    TargetUse, TtlChurn, Written,
};
pub use embedded::{Embedded, EmbeddedOperation};
pub use info::info;
pub use profile::{PROFILES, Rules, profile_name};

#[cfg(test)]
mod check_test;
