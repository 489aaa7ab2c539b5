//! What does a driver read, and what does it write?
//!
//! One [`Workload`] in JSON on standard input; one [`Message`] per line on standard output. Before each phase the
//! driver says `waiting` and reads a line, and once more before it closes the store, so that whoever measures it can
//! read the kernel's counters while nothing is done; where standard input has ended it goes on at once, so that a file can be piped in by hand.

use serde::{Deserialize, Serialize};

/// First field of every workload.
pub const WORKLOAD_SCHEMA: &str = "plumbkv-bench-driver/workload";
/// Raised whenever an older driver could misread a newer workload.
pub const SCHEMA_VERSION: u32 = 1;

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
    /// An empty folder for the engine's files; for the client of a server its connection string.
    pub location: String,
    /// Cache for what was read, bytes. Absent: the engine's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// When writes are forced to the device.
    pub sync: SyncMode,
}

/// When a write counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// It is in the log, which the operating system writes when it likes: lost with the machine, not with the process.
    #[default]
    Never,
    /// It is on the device before the next one begins.
    Always,
}

/// The records of a store: 16-byte keys `key:%012d` from 0, values as [`crate::values`] derives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// How many.
    pub count: u64,
    /// Length of each value.
    pub value_bytes: u32,
    /// What a compressor makes of them.
    pub values: ValueKind,
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
    },
    /// Reads of keys that are there.
    ReadRandom {
        /// How keys are drawn.
        distribution: Distribution,
        /// Threads that read at once.
        threads: u32,
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
        /// When it ends; operations are scans.
        until: Until,
    },
    /// Overwrites.
    Write {
        /// In which order; after the last it begins again.
        order: Order,
        /// Records per transaction.
        batch: u32,
        /// When it ends; operations are records.
        until: Until,
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
}

/// What a driver says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// The engine is open.
    Ready(Ready),
    /// Phase number `phase` begins when a line has been read.
    Waiting {
        /// From 0; the number of phases before the store is closed.
        phase: usize,
    },
    /// A phase is over.
    Phase(PhaseResult),
    /// Everything was done and the engine is closed.
    Done,
}

/// What was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Name of the engine.
    pub engine: String,
    /// Its version, as linked or as the server says.
    pub version: String,
    /// The allocator it uses.
    pub allocator: String,
    /// Settings that are not the engine's defaults.
    pub settings: Vec<EngineSetting>,
}

/// A setting that is not the engine's default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineSetting {
    /// As the engine spells it.
    pub key: String,
    /// As given.
    pub value: String,
}

/// What came of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// From 0.
    pub phase: usize,
    /// Operations that were done: records, in a scan the scans.
    pub operations: u64,
    /// Records that were read and are there.
    pub hits: u64,
    /// Records that should be there and are not.
    pub misses: u64,
    /// Wrong values and refusals of the engine.
    pub errors: u64,
    /// The first of them in words.
    pub first_error: Option<String>,
    /// From the first operation to the end of the last, ns.
    pub elapsed_ns: u64,
    /// CPU time of the driver's threads meanwhile, ns.
    pub cpu_ns: u64,
    /// Response times, one histogram per kind of operation.
    pub histograms: Vec<PhaseHistogram>,
    /// Resident memory before, bytes.
    pub rss_bytes_start: u64,
    /// Largest resident memory meanwhile, bytes.
    pub rss_bytes_peak: u64,
    /// Files of the engine afterwards, bytes; absent for the client of a server.
    pub disk_bytes: Option<u64>,
    /// Handed to read calls meanwhile, bytes: from the page cache or the device. Absent where the kernel does not tell.
    pub read_bytes: Option<u64>,
    /// Handed to write calls meanwhile, bytes.
    pub written_bytes: Option<u64>,
}

/// A whole HDR histogram, ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseHistogram {
    /// `get`, `set`, `scan`; `batch` where several records were written at once.
    pub operation: String,
    /// HDR V2 with deflate, base64.
    pub hdr_v2_deflate_base64: String,
    /// Lowest value told apart, ns.
    pub low_ns: u64,
    /// Highest value recorded, ns.
    pub high_ns: u64,
    /// Significant decimal digits.
    pub digits: u8,
    /// Samples.
    pub count: u64,
    /// Samples above `high_ns`, recorded as `high_ns`.
    pub clipped: u64,
    /// Sum of the very samples, ns.
    pub sum_ns: u64,
}
