//! What did a run come to? The table at its end, the one spliced into the README, and the same as JSON.
//!
//! Every figure comes from the record; digits are cut where the spread begins; what failed is a word with its
//! reason, never a gap.

mod columns;
mod figure;
mod html;
mod render;
mod shown;
mod units;

pub(super) use figure::grouped;
pub use html::html;
pub use render::{Part, human, json, markdown};

#[cfg(test)]
mod hostile_test;
#[cfg(test)]
mod summary_test;
