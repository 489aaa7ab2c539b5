//! The durable store: a log, a memtable, and tables in levels.

mod buffer;
mod checksum;
mod coding;
mod common;
mod compaction;
mod counter;
#[cfg(test)]
mod counter_test;
mod file_name;
#[cfg(test)]
mod fixture_test;
mod iter;
mod long_values;
mod manifest;
mod mapping;
mod memtable;
#[cfg(feature = "parts")]
pub mod parts;
#[cfg(feature = "parts")]
mod parts_tree;
mod range_deletions;
mod record;
#[cfg(all(test, shuttle))]
mod shuttle_test;
pub(crate) mod sync;
mod table;
mod time;
mod tree;
mod vfs;
mod wal;

pub(crate) use compaction::Targets;
pub(crate) use iter::{Live, Visible};
pub(crate) use table::{Compression, HAS_ZSTD, Shape, hash};
pub(crate) use tree::{
    Batch, Events, Ingest, MergeProgress, SyncMode, Tree, TreeOptions, TreeSnapshot, repair,
};
pub(crate) use vfs::{Disk, Vfs, disk};
#[cfg(debug_assertions)]
pub use vfs::{slow_disk, slow_disk_syncs};
#[cfg(test)]
#[allow(unused_imports, reason = "some are for simulations only")]
pub(crate) use {
    file_name::FileName,
    vfs::{Fault, FaultCounts, FaultPlan, SimDisk, Survival},
    wal::{LogRecord, put_record},
};
