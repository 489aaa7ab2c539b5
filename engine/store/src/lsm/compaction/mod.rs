//! How does the store stay small and quick to read while it is written to? Tables are merged downward: `pick` decides which, `retain` which of their versions live on,
//! and `merge` writes the new ones.

mod merge;
mod pick;
#[cfg(test)]
mod pick_test;
mod retain;

pub(crate) use merge::{Output, table_path, write_tables};
pub(crate) use pick::{Choice, Targets, debt_bytes, pick};
