//! What this project says of its speed, and whether stored runs bear it out. Pure: no files, no clock.
//!
//! `results/claims.toml` → [`parse`] → [`Definition`]s; a definition and the chosen runs → [`evaluate`] →
//! [`crate::model::Claim`]. A claim that fails is shown, not deleted.

mod components;
mod definition;
mod evaluate;
mod judge;
mod rounds;

pub use components::COMPONENTS;
pub use definition::{ClaimError, Definition, Minus, Or, Side, parse};
pub use evaluate::{Candidate, Judge, evaluate};
pub use judge::{VERDICT_TRIALS, judge, judge_difference, judge_every, short, slack_percent, verdict_name};

#[cfg(test)]
mod evaluate_test;
