//! What did a gate find? The same verdicts for a terminal, for the comment on a pull request, for a program that reads
//! JUnit, and as JSON.
//!
//! Pure: a [`crate::model::Gate`] in, a text out. The gate may have been measured from a stranger's change, so every text
//! of it is somebody else's, and every number may be of any size: neither may break a table or fill a page.

mod coverage;
mod figure;
mod human;
mod json;
mod junit;
mod markdown;
mod quote;
mod rows;
#[cfg(test)]
pub(crate) mod testing;

pub use coverage::Coverage;
pub use human::human;
pub use json::json;
pub use junit::junit;
pub use markdown::{COMMENT_LIMIT_BYTES, MARKER, markdown};
pub use quote::quote;

#[cfg(test)]
mod hostile_test;
