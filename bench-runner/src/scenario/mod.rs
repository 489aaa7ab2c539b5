//! What is to be measured: the text of a scenario, and what it means once checked. Pure: no files, no clock.
//!
//! [`Definition`] is the text shape, [`Scenario`] the same after its checks, [`Rules`] what a profile adds.

mod cap;
mod check;
mod check_embedded;
mod check_section;
mod counted;
mod definition;
mod embedded;
mod gate;
mod info;
mod keys;
mod load;
mod profile;
pub mod strict;
mod words;

pub use cap::{Cap, Fill, Hostile, Idle, Overwrite, Trace, TtlChurn, Written};
pub use check::{Scenario, ScenarioError, known_targets};
pub use counted::{Component, CountedDefinition, Exchange, ExchangeOperation};
pub use definition::{Definition, GROUPS, Group, Kind, Only, PerProfile, Start, TargetUse};
pub use embedded::{Embedded, EmbeddedOperation, StoreChoice, USUAL_BATCH};
pub use gate::{BuildRecipe, CalibrationBuild, GATE, GateDefinition, Layouts, TrialRule};
pub use info::info;
pub use keys::{Expiry, PerKey, Tail};
pub use load::{Load, LoadOperation, PlacementChoice};
pub use profile::{PROFILES, Rules, profile_name};
pub use words::{Arrival, ClientProgram, Connections, Distribution, Protocol, Seek, Transport};

#[cfg(test)]
mod check_test;
