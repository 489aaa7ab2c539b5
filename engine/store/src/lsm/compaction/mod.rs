//! How does the store stay small and quick to read while it is written to? Tables are merged downward: `pick` decides which, `retain` which of their versions live on,
//! and `merge` writes the new ones to where `output` says. `full` decides the steps of a merge of everything,
//! `place` where a table goes that comes from outside.

mod full;
#[cfg(test)]
mod full_test;
mod merge;
mod output;
mod pick;
#[cfg(test)]
mod pick_test;
mod place;
mod retain;
mod tombstones;

#[cfg(test)]
pub(crate) use pick_test::any_table;

pub(crate) use full::{Slice, Sweep, slices};
pub(crate) use merge::write_tables;
pub(crate) use output::{Open, Output, table_path};
pub(crate) use pick::{Choice, Targets, debt_bytes, pick, tidy, tidy_base};
pub(crate) use place::{Underway, place};
pub(crate) use tombstones::{hidden, mostly_deleted};
