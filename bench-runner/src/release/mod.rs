//! Whether a version is whole: the cells that a release owes, and those that its stored runs lack. Pure.
//!
//! A version owes every cell of the profile `quick`, and every cell of the profile `release` in the groups that
//! `results/versions.toml` names for it; a minor version owes `release` in every group. Each scenario is owed on one
//! machine, because figures of a scenario are compared; two scenarios may be of two machines.

mod owed;
mod versions;

pub use owed::{Lack, Owed, Stored, lacking, owed};
pub use versions::{Versions, parse};
