//! What does a step of a driver program consist of? One process, the store it opens, and the cells that are measured in it.

use super::step::CellKey;
use plumbkv_bench_driver::protocol::{Order, Phase, Profile as EngineProfile, Records, SyncMode};
use serde::{Deserialize, Serialize};

/// One driver process: which store it opens and how, and what is measured in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedWork {
    /// How the engine is opened.
    pub engine: EngineWanted,
    /// What the store holds.
    pub records: Records,
    /// Which store.
    pub store: StoreUse,
    /// Nobody needs the stored directory after this step.
    #[serde(default)]
    pub releases: bool,
    /// Tells the keys that are drawn in this trial from those of others; without, they follow from the step's seed.
    #[serde(default)]
    pub draw_seed: u64,
    /// Done once before everything else, not counted.
    #[serde(default)]
    pub before: Vec<Phase>,
    /// The driver is killed after that, and another opens what it left: only the opening is measured.
    #[serde(default)]
    pub killed: bool,
    /// The cells, in the order of this trial.
    pub parts: Vec<EmbeddedPart>,
    /// How fast the engine is, roughly: for estimates.
    #[serde(default)]
    pub pace: Pace,
    /// It is a `timeout` after this many seconds, for each phase.
    pub timeout_s: f64,
}

/// One cell of a driver process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedPart {
    /// Which cell it is.
    pub cell: CellKey,
    /// Done right before it, not counted.
    #[serde(default)]
    pub before: Vec<Phase>,
    /// What is measured: one phase, or a load and the settling after it.
    pub measured: Vec<Phase>,
}

/// The loading of a directory that later steps read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stock {
    /// The cell that its load is recorded in.
    pub cell: CellKey,
    /// What is loaded, and how.
    pub key: StoreKey,
    /// How fast the engine is, roughly: for estimates.
    #[serde(default)]
    pub pace: Pace,
    /// It is a `timeout` after this many seconds.
    pub timeout_s: f64,
}

/// How an engine is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EngineWanted {
    /// Cache given to it, bytes; none: its default.
    pub cache_bytes: Option<u64>,
    /// When writes are forced to the device.
    pub sync: SyncMode,
    /// What it is set for.
    #[serde(default)]
    pub profile: EngineProfile,
    /// Nothing is merged but on call.
    #[serde(default)]
    pub hold_merges: bool,
}

/// Which store a driver opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StoreUse {
    /// An empty folder, removed with the process.
    Fresh,
    /// A directory that was loaded once in this campaign, which is only read.
    Kept(StoreKey),
    /// A copy of such a directory, removed with the process.
    Copy(StoreKey),
}

impl StoreUse {
    /// The stored directory that is needed.
    #[must_use]
    pub fn key(&self) -> Option<&StoreKey> {
        match self {
            Self::Fresh => None,
            Self::Kept(key) | Self::Copy(key) => Some(key),
        }
    }
}

/// What tells one stored directory from another. All are settled and forced to the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreKey {
    /// Key of the target.
    pub target: String,
    /// What it holds.
    pub records: Records,
    /// In which order it is loaded.
    #[serde(default = "random")]
    pub order: Order,
    /// Records per transaction of its load.
    pub batch: u32,
    /// What the engine is set for while loading.
    pub profile: EngineProfile,
    /// Memory limit of the process that loads, bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Seed of its values and of its order.
    pub seed: u64,
}

/// How an engine takes a load: how fast and on how much of the disk, roughly, which is for estimates and never in a result;
/// and in which order it is given the records that others read, which is in the label of that load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Records of 116 bytes that it loads in shuffled order and settles, per second.
    pub records_per_second: f64,
    /// How many times as fast it loads in rising order, which leaves next to nothing to merge and fills page after page.
    #[serde(default = "usual_rising")]
    pub rising: f64,
    /// Bytes on the disk for each byte of keys and values, loaded in shuffled order.
    pub disk_per_byte: f64,
    /// Order of the loads of stored directories.
    #[serde(default = "random")]
    pub kept: Order,
}

fn usual_rising() -> f64 {
    3.5
}

fn random() -> Order {
    Order::Random
}

impl Default for Pace {
    fn default() -> Self {
        Self { records_per_second: 150_000.0, rising: usual_rising(), disk_per_byte: 1.5, kept: random() }
    }
}

/// Of a record's value that is usual: a load of larger ones takes longer in proportion, once they dominate.
const USUAL_RECORD_BYTES: f64 = 116.0;
/// Bytes of large records that an engine takes in per second, whatever its pace with small ones.
const LARGE_BYTES_PER_SECOND: f64 = 100e6;
/// While a store is merged, what is written and what it replaces are both there.
const WHILE_LOADING: f64 = 1.5;

impl Pace {
    /// Seconds of a load of `records` in `order`, in transactions of `batch`, estimated.
    #[must_use]
    pub fn load_seconds(&self, records: &Records, order: Order, batch: u32) -> f64 {
        self.shuffled_seconds(records, batch) / if order == Order::Sequential { self.rising } else { 1.0 }
    }

    fn shuffled_seconds(&self, records: &Records, batch: u32) -> f64 {
        let bytes = records.count as f64 * f64::from(records.value_bytes + 16);
        // A transaction of its own for each record costs the engines that pay for transactions about as much again.
        let alone = if batch < 10 { 2.0 } else { 1.0 };
        let small = records.count as f64 / self.records_per_second * alone;
        small.max(if f64::from(records.value_bytes) > USUAL_RECORD_BYTES {
            bytes / LARGE_BYTES_PER_SECOND
        } else {
            0.0
        })
    }

    /// Bytes that `records` take on the disk once they are settled, estimated.
    #[must_use]
    pub fn disk_bytes(&self, records: &Records) -> u64 {
        (records.count as f64 * f64::from(records.value_bytes + 16) * self.disk_per_byte) as u64
    }

    /// The most that they take while they are loaded.
    #[must_use]
    pub fn disk_bytes_loading(&self, records: &Records) -> u64 {
        (self.disk_bytes(records) as f64 * WHILE_LOADING) as u64
    }
}

impl EmbeddedWork {
    /// Whether anything in it writes so much that merging goes on afterwards.
    #[must_use]
    pub fn loads(&self) -> bool {
        let parts = self.parts.iter().flat_map(|part| part.before.iter().chain(&part.measured));
        self.before.iter().chain(parts).any(|phase| matches!(phase, Phase::Load { .. }))
    }
}
