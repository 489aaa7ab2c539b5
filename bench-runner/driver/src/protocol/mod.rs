//! What does a driver read, and what does it write?
//!
//! One [`Workload`] in JSON on standard input; one [`Message`] per line on standard output. Before each phase the
//! driver says `waiting` and reads a line, and once more before it closes the store, so that whoever measures it can
//! read the kernel's counters while nothing is done; where standard input has ended it goes on at once, so that a file can be piped in by hand.

mod fault;
mod message;

pub(crate) use fault::fault;
pub use message::*;
use serde::{Deserialize, Serialize};

/// First field of every workload.
pub const WORKLOAD_SCHEMA: &str = "plumbkv-bench-driver/workload";
/// Raised whenever an older driver could misread a newer workload.
pub const SCHEMA_VERSION: u32 = 2;

/// Everything one driver process does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// [`WORKLOAD_SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Seed of every value and of every order.
    pub seed: u64,
    /// Together with it, seed of the keys that are drawn: a store that was loaded once is read by many workloads, and not each the same keys.
    #[serde(default, skip_serializing_if = "is_default")]
    pub draw_seed: u64,
    /// How the engine is opened.
    pub engine: EngineOptions,
    /// What is stored.
    pub records: Records,
    /// What is done, in order.
    pub phases: Vec<Phase>,
}

/// How an engine is opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineOptions {
    /// A folder for the engine's files, empty or with a store that an earlier driver of the same engine left there, killed or not; for the client of a server its
    /// connection string.
    pub location: String,
    /// Cache for what was read, bytes. Absent: the engine's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// When writes are forced to the device.
    pub sync: SyncMode,
    /// What the engine is set for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub profile: Profile,
    /// Nothing is merged but on call, so that many small tables stay as they are. An engine that merges and cannot be told not to says so in its settings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hold_merges: bool,
}

impl EngineOptions {
    /// With nothing else set.
    #[must_use]
    pub fn new(location: impl Into<String>, cache_bytes: Option<u64>, sync: SyncMode) -> Self {
        Self { location: location.into(), cache_bytes, sync, profile: Profile::Default, hold_merges: false }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What an engine is set for: its own smallest or largest sensible settings, as its documentation has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// As it comes, but for what makes engines comparable.
    #[default]
    Default,
    /// As little memory as it works with.
    LowMemory,
    /// Memory does not count.
    Throughput,
}

/// When a write counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// It is in the log, which the operating system writes when it likes: lost with the machine, not with the process.
    #[default]
    Never,
    /// As `never`, and about every second the log is forced to the device.
    Interval,
    /// It is on the device before it is acknowledged.
    Always,
}

/// The records of a store: keys of a schema, values as [`crate::values`] derives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// How many.
    pub count: u64,
    /// Length of each value.
    pub value_bytes: u32,
    /// What a compressor makes of them.
    pub values: ValueKind,
    /// What their keys look like.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keys: KeySchema,
}

impl Records {
    /// Mean length of their keys, bytes.
    #[must_use]
    pub fn key_bytes(&self) -> f64 {
        match self.keys {
            KeySchema::OneFamily => 16.0,
            KeySchema::FiveFamilies => 24.4,
        }
    }
}

/// What keys look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySchema {
    /// `key:` and twelve digits, 16 bytes, rising from 0.
    #[default]
    OneFamily,
    /// A fifth each of `account:`, `invoice:`, `orderline:`, `product:` and `session:`, and sixteen hexadecimal digits that are evenly spread.
    FiveFamilies,
}

/// What a compressor makes of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// Nothing.
    #[default]
    Incompressible,
    /// About half.
    HalfCompressible,
}

/// In which order keys are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Rising.
    Sequential,
    /// Each once, shuffled.
    Random,
}

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Each with the same chance.
    Uniform,
    /// Few keys often: exponent 0.99, ranks scattered over the key space.
    Zipf,
}

/// A phase ends when both have been reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// At least so long.
    pub seconds: f64,
    /// At least so many operations.
    pub operations: u64,
}

/// One stretch of work, timed as a whole and operation by operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Writes every record once, then flushes; the flush counts.
    Load {
        /// In which order.
        order: Order,
        /// Records per transaction.
        batch: u32,
        /// The write buffer becomes a table after so many records: many small tables, if `hold_merges` is set too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flush_every: Option<u64>,
    },
    /// Waits until the engine has no merging left to do: at most four tables in level 0 and no level above its target, as the engine itself tells. The one
    /// operation is the waiting.
    Settle,
    /// Merges everything there is. One operation.
    Compact,
    /// Reads of keys that are there, or of keys between them that are not.
    ReadRandom {
        /// How keys are drawn.
        distribution: Distribution,
        /// Threads that read at once.
        threads: u32,
        /// Keys that are not there, each between two that are ([`crate::values::write_absent_key`]); one that is found is an error.
        #[serde(default, skip_serializing_if = "is_default")]
        absent: bool,
        /// When it ends.
        until: Until,
    },
    /// Reads in rising order of keys, from the first again after the last.
    ReadOrdered {
        /// When it ends.
        until: Until,
    },
    /// Reads so many records in a row, from a key drawn uniformly.
    Scan {
        /// Records per scan.
        records: u32,
        /// Downwards, from the key that was drawn.
        #[serde(default, skip_serializing_if = "is_default")]
        reverse: bool,
        /// When it ends; operations are scans.
        until: Until,
    },
    /// Reads all records in one scan, and again.
    ScanAll {
        /// Downwards, from the last.
        #[serde(default, skip_serializing_if = "is_default")]
        reverse: bool,
        /// When it ends, which is at the end of a scan; operations are records.
        until: Until,
    },
    /// Reads all records whose keys begin alike: those that differ only in their last `digits`.
    ScanPrefix {
        /// 1 to 11: ten records, a hundred, a thousand…
        digits: u32,
        /// When it ends; operations are scans.
        until: Until,
    },
    /// Overwrites.
    Write {
        /// In which order; after the last it begins again.
        order: Order,
        /// Records per transaction.
        batch: u32,
        /// Threads that write at once, each other records.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        threads: u32,
        /// The result has a window for each second, and the largest size of the engine's files.
        #[serde(default, skip_serializing_if = "is_default")]
        watched: bool,
        /// When it ends; operations are records.
        until: Until,
    },
    /// A queue: inserts records in rising order, and once `window` of them are there also reads the first record of the
    /// store and deletes it, after each insert. Ends when all records have been inserted, or after `seconds`; then
    /// deletes what is left. Operations are records that were inserted and deleted.
    Queue {
        /// Records in the queue.
        window: u64,
        /// Ends it early.
        seconds: f64,
    },
    /// Does nothing for a while, so that work in the background can end, then scans the whole store, which must be empty.
    /// Only the scans are timed.
    EmptyScan {
        /// How long it does nothing.
        rest_seconds: f64,
        /// When it ends; operations are scans.
        until: Until,
    },
    /// Deletes `records` records in a row, from number `first` on, in one call. Beside it another thread overwrites the
    /// records below `first` one by one, with a pause after each; the histogram `set` has how long each took.
    DeleteRange {
        /// The first record to delete; at least 1.
        first: u64,
        /// How many.
        records: u64,
    },
    /// Reads and overwrites of one record each.
    Mixed {
        /// Reads of 100 operations.
        read_percent: u32,
        /// How keys are drawn.
        distribution: Distribution,
        /// When it ends.
        until: Until,
    },
    /// One of the six workloads of the Yahoo! Cloud Serving Benchmark, by one thread. What D and E insert is there for the phases that follow in the same process.
    Ycsb {
        /// Which.
        workload: Ycsb,
        /// When it ends.
        until: Until,
    },
    /// Closes the store and opens it again, and reads one record; the time of each opening is in the histogram `open`.
    Reopen {
        /// When it ends; operations are openings.
        until: Until,
    },
    /// Overwrites so many records in shuffled order, which is not timed, then has the engine make tables of its write buffer; the time of each is in the
    /// histogram `flush`. Everything in the result but `levels` and `disk_bytes` is of the flushes alone; memory is that of the flush that took most.
    Flush {
        /// Records in the write buffer. Fewer than its size.
        records: u64,
        /// When it ends; operations are flushes.
        until: Until,
    },
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_one(value: &u32) -> bool {
    *value == 1
}

/// The six workloads of YCSB (Cooper and others, "Benchmarking Cloud Serving Systems with YCSB", 2010). Keys are drawn by Zipf's law, in D latest ones most often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ycsb {
    /// Half reads, half overwrites.
    A,
    /// 95 % reads, 5 % overwrites.
    B,
    /// Reads only.
    C,
    /// 95 % reads, 5 % inserts; what was inserted last is read most.
    D,
    /// 95 % scans of 1 to 100 records, 5 % inserts.
    E,
    /// Half reads, half reads followed by an overwrite of the same record.
    F,
}
