//! What may a scenario ask of a driver program: of an embedded engine, or of a server with a protocol of its own?

use super::definition::PerProfile;
use crate::model::{Mode, Profile};
use plumbkv_bench_driver::protocol::{Distribution, Order, SyncMode, ValueKind};
use serde::{Deserialize, Serialize};

/// Work of a driver program: every combination of its lists is a cell with a process and a store of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedded {
    /// What is measured.
    pub operation: EmbeddedOperation,
    /// Records in the store.
    pub records: PerProfile<u64>,
    /// Value sizes, bytes.
    pub value_bytes: Vec<u32>,
    /// What a compressor makes of values; absent: nothing.
    #[serde(default)]
    pub values: ValueKind,
    /// In which order records are written.
    #[serde(default)]
    pub order: Vec<Order>,
    /// How keys are drawn.
    #[serde(default)]
    pub distribution: Vec<Distribution>,
    /// Caches given to the engine, bytes; absent: its default.
    #[serde(default)]
    pub cache_bytes: Vec<u64>,
    /// SETs of 100 operations, in a mix.
    #[serde(default)]
    pub set_percent: Vec<u32>,
    /// Records per scan; absent: one hundred.
    #[serde(default = "one_hundred")]
    pub scan_records: u32,
    /// Threads, each with one operation at a time; absent: one.
    #[serde(default = "one")]
    pub clients: Vec<u32>,
    /// Records per transaction, in loads and writes; absent: one thousand.
    #[serde(default = "one_thousand")]
    pub batch: u32,
    /// When writes are forced to the device; absent: never.
    #[serde(default)]
    pub sync: SyncMode,
    /// Only in these profiles; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Vec<Profile>>,
    /// Only for these targets; absent: for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Only in these modes; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<Vec<Mode>>,
}

/// What a driver is measured at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddedOperation {
    /// Writing all records once.
    Load,
    /// Reads of records that are there.
    ReadRandom,
    /// The same, drawn uniformly, beside servers that answer GET.
    Get,
    /// Reads in rising order of keys.
    ReadOrdered,
    /// Several records in a row.
    Scan,
    /// Overwrites.
    Write,
    /// Reads and overwrites.
    Mixed,
}

impl EmbeddedOperation {
    /// As it is spelled in files, keys and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::ReadRandom => "read_random",
            Self::Get => "get",
            Self::ReadOrdered => "read_ordered",
            Self::Scan => "scan",
            Self::Write => "write",
            Self::Mixed => "mixed",
        }
    }

    /// Whether the order of writes is an axis of it.
    #[must_use]
    pub fn has_order(self) -> bool {
        matches!(self, Self::Load | Self::Write)
    }

    /// Whether the way of drawing keys is an axis of it.
    #[must_use]
    pub fn has_distribution(self) -> bool {
        matches!(self, Self::ReadRandom | Self::Mixed)
    }

    /// Whether several threads may do it at once.
    #[must_use]
    pub fn reads_only(self) -> bool {
        matches!(self, Self::ReadRandom | Self::Get)
    }
}

fn one() -> Vec<u32> {
    vec![1]
}

fn one_hundred() -> u32 {
    100
}

fn one_thousand() -> u32 {
    1_000
}
