//! How is a store walked through? A cursor over each memtable and table, one that merges them in order, and one above it that shows of each key only the version
//! that its reader sees.

mod gaps;
#[cfg(test)]
mod iter_test;
mod merge;
mod run;
mod stamped;
mod visible;

pub(crate) use gaps::Gaps;
pub(crate) use merge::Merge;
pub(crate) use run::{LevelTables, Run};
pub(crate) use visible::{Live, Visible, live};
