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
mod packed;
mod parts;
pub mod prune;
pub mod ratios;
mod read;
mod side_file;
#[cfg(test)]
pub(crate) mod testing;
mod write;

pub use find::{Found, find_run, stored_folder};
pub use parts::{COMMITTED_LIMIT_BYTES, parts};
pub(crate) use read::{Listed, listed_runs, of_value, written_version};
pub use read::{ReadError, read_index, read_indexed_run, read_run};
pub(crate) use write::ensure_plain;
pub(crate) use write::{contents, lock};
pub use write::{index_dir, replace_file, write_run};
