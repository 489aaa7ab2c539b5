//! What may a scenario ask of a driver program: of an embedded engine, or of a server with a protocol of its own?

use super::definition::PerProfile;
use super::load::PlacementChoice;
use crate::model::{Mode, Profile};
use plumbkv_bench_driver::protocol::{
    Distribution, KeySchema, Order, Profile as EngineProfile, SyncMode, ValueKind, Ycsb,
};
use serde::{Deserialize, Serialize};

/// Work of a driver program: every combination of its lists is a cell. Cells on a fresh store have a process of their
/// own; those on a stored directory share a process per trial where they open it alike.
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
    /// What keys look like; absent: all of one family.
    #[serde(default, skip_serializing_if = "is_one_family")]
    pub keys: KeySchema,
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
    #[serde(default = "one_hundred", skip_serializing_if = "is_one_hundred")]
    pub scan_records: u32,
    /// Threads, each with one operation at a time; absent: one.
    #[serde(default = "one")]
    pub clients: Vec<u32>,
    /// Records per transaction, in loads and writes; absent: one thousand.
    #[serde(default = "one_thousand")]
    pub batch: Vec<u32>,
    /// When writes are forced to the device; absent: never.
    #[serde(default = "never")]
    pub sync: Vec<SyncMode>,
    /// Which store is worked on; absent: one of its own.
    #[serde(default, skip_serializing_if = "StoreChoice::is_fresh")]
    pub store: StoreChoice,
    /// What the engine is set for; absent: as it comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_profile: Option<EngineProfile>,
    /// Limit of the driver's cgroup, page cache charged, bytes; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// The stored directory is loaded under that limit, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub load_limited: bool,
    /// Where the driver runs: `apart` on one CPU, the default, or `unpinned` on all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementChoice>,
    /// A load makes a table after so many records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<u64>,
    /// Nothing is merged but on call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hold_merges: bool,
    /// The driver is killed after loading and writing, before the store is opened.
    #[serde(default, skip_serializing_if = "is_false")]
    pub killed: bool,
    /// Records in a queue.
    #[serde(default = "queue_window", skip_serializing_if = "is_queue_window")]
    pub window: u64,
    /// How often every record is overwritten, to see what that takes on the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Seconds without any call, before the disk and an empty scan are looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_seconds: Option<PerProfile<f64>>,
    /// Every record is read once before, so that a cache which can hold all of them does.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warm_all: bool,
    /// Seconds of a cell, in place of the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<PerProfile<f64>>,
    /// Seconds before each cell that are not counted, in place of the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_seconds: Option<PerProfile<f64>>,
    /// Fewer trials than the scenario has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<PerProfile<u32>>,
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

/// Which store a cell works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreChoice {
    /// A directory of its own: loaded by the same process, where it is read, and removed with it.
    #[default]
    Fresh,
    /// A directory that is loaded once per campaign and only read.
    Kept,
    /// A copy of such a directory, which may be written to.
    Copy,
}

impl StoreChoice {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
    fn is_fresh(&self) -> bool {
        *self == Self::Fresh
    }
}

/// What a driver is measured at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddedOperation {
    /// Writing all records once, and the time until merging is done.
    Load,
    /// Reads of records that are there.
    ReadRandom,
    /// Reads of keys that are not there, each between two that are.
    ReadAbsent,
    /// As [`Self::ReadRandom`], drawn uniformly, beside servers that answer GET.
    Get,
    /// Reads in rising order of keys.
    ReadOrdered,
    /// Several records in a row.
    Scan,
    /// The same downwards.
    ScanReverse,
    /// All records whose keys begin alike.
    ScanPrefix,
    /// All records in one scan.
    ReadSequential,
    /// Overwrites.
    Write,
    /// Reads and overwrites.
    Mixed,
    /// YCSB's workload A; those below are the others.
    YcsbA,
    /// Mostly reads.
    YcsbB,
    /// Reads only.
    YcsbC,
    /// Reads of what was inserted last.
    YcsbD,
    /// Short scans.
    YcsbE,
    /// Reads, half of them followed by an overwrite.
    YcsbF,
    /// Reads, merging everything, the same reads: three cells.
    Compact,
    /// Opening a store.
    Open,
    /// Making tables of a write buffer.
    Flush,
    /// Inserts at the end and deletions at the front, then a scan of the empty store.
    Queue,
    /// Deleting most of a store in one call, beside a writer.
    DeleteRange,
    /// Overwriting every record several times, for the space that takes.
    Overwrite,
    /// Writing as fast as the engine takes it, window by window.
    SustainedWrite,
}

impl EmbeddedOperation {
    /// As it is spelled in files, keys and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::ReadRandom => "read_random",
            Self::ReadAbsent => "read_absent",
            Self::Get => "get",
            Self::ReadOrdered => "read_ordered",
            Self::Scan => "scan",
            Self::ScanReverse => "scan_reverse",
            Self::ScanPrefix => "scan_prefix",
            Self::ReadSequential => "read_sequential",
            Self::Write => "write",
            Self::Mixed => "mixed",
            Self::YcsbA => "ycsb_a",
            Self::YcsbB => "ycsb_b",
            Self::YcsbC => "ycsb_c",
            Self::YcsbD => "ycsb_d",
            Self::YcsbE => "ycsb_e",
            Self::YcsbF => "ycsb_f",
            Self::Compact => "compact",
            Self::Open => "open",
            Self::Flush => "flush",
            Self::Queue => "queue",
            Self::DeleteRange => "delete_range",
            Self::Overwrite => "overwrite",
            Self::SustainedWrite => "sustained_write",
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
    pub fn has_clients(self) -> bool {
        matches!(self, Self::ReadRandom | Self::ReadAbsent | Self::Get | Self::Write | Self::SustainedWrite)
    }

    /// Whether the number of records in a row belongs to it.
    #[must_use]
    pub fn has_scan_records(self) -> bool {
        matches!(self, Self::Scan | Self::ScanReverse | Self::ScanPrefix)
    }

    /// Whether a directory that others read, too, is as it was afterwards.
    #[must_use]
    pub fn only_reads(self) -> bool {
        let writes = matches!(
            self,
            Self::Load
                | Self::Write
                | Self::Mixed
                | Self::Compact
                | Self::Flush
                | Self::Queue
                | Self::DeleteRange
                | Self::Overwrite
                | Self::SustainedWrite
        );
        !writes && (self == Self::YcsbC || self.ycsb().is_none())
    }

    /// Whether a store that was loaded by an earlier process can be worked on.
    #[must_use]
    pub fn takes_a_store(self) -> bool {
        !matches!(
            self,
            Self::Load
                | Self::Compact
                | Self::Flush
                | Self::Get
                | Self::Queue
                | Self::Overwrite
                | Self::SustainedWrite
        )
    }

    /// Which workload of YCSB it is.
    #[must_use]
    pub fn ycsb(self) -> Option<Ycsb> {
        match self {
            Self::YcsbA => Some(Ycsb::A),
            Self::YcsbB => Some(Ycsb::B),
            Self::YcsbC => Some(Ycsb::C),
            Self::YcsbD => Some(Ycsb::D),
            Self::YcsbE => Some(Ycsb::E),
            Self::YcsbF => Some(Ycsb::F),
            _ => None,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_one_family(value: &KeySchema) -> bool {
    *value == KeySchema::OneFamily
}

fn one() -> Vec<u32> {
    vec![1]
}

fn one_hundred() -> u32 {
    100
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_one_hundred(value: &u32) -> bool {
    *value == one_hundred()
}

/// Records in a queue where nothing else is said.
fn queue_window() -> u64 {
    1_000
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_queue_window(value: &u64) -> bool {
    *value == queue_window()
}

/// Records per transaction where nothing else is said.
pub const USUAL_BATCH: u32 = 1_000;

fn one_thousand() -> Vec<u32> {
    vec![USUAL_BATCH]
}

fn never() -> Vec<SyncMode> {
    vec![SyncMode::Never]
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_false(value: &bool) -> bool {
    !*value
}
