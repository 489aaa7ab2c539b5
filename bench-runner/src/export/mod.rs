//! Trials in, committed JSON out: what a run's record holds, how it is written, and how it is read back.

pub mod assemble;
pub mod blessings;
pub mod canonical;
mod catalogue;
pub mod contracts;
mod find;
pub mod gate_artifact;
pub mod histograms;
pub mod import;
mod migrate;
pub mod prune;
pub mod ratios;
mod read;
mod shrink;
#[cfg(test)]
pub(crate) mod testing;
mod write;

pub use find::{Found, find_run, stored_folder};
pub(crate) use read::{Listed, listed_runs, written_version};
pub use read::{ReadError, read_index, read_indexed_run, read_run, read_scenario};
pub use shrink::{COMMITTED_LIMIT_BYTES, parts, shrink_to};
pub(crate) use write::ensure_plain;
pub use write::{index_dir, replace_file, write_run};
pub(crate) use write::{lock, spell as spelled};
