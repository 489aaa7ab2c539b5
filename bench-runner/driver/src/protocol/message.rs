//! What does a driver say? One line of JSON per event.

use serde::{Deserialize, Serialize};

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
    Phase(Box<PhaseResult>),
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
    /// What an acknowledged write survives, for a column beside the figures: `survives power loss`, `survives the process`, or less.
    #[serde(default)]
    pub promise: String,
    /// How long the opening took, ns: of a store that was killed, the recovery.
    #[serde(default)]
    pub open_ns: u64,
    /// Resident memory before the store was opened, bytes.
    #[serde(default)]
    pub rss_bytes_before_open: u64,
    /// And after it.
    #[serde(default)]
    pub rss_bytes_after_open: u64,
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
    /// The engine has no such call: which, in words. Nothing was done then, and it counts as an error too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_supported: Option<String>,
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
    /// Read from the device meanwhile, by calls or by touching mapped pages, bytes: what the page cache had is not in it.
    #[serde(default)]
    pub device_read_bytes: Option<u64>,
    /// Memory afterwards that no file stands behind, bytes: what an engine that maps its files takes of its own.
    #[serde(default)]
    pub rss_anonymous_bytes: u64,
    /// Tables by level afterwards, the newest level first. Empty for an engine that has none, or does not tell.
    #[serde(default)]
    pub levels: Vec<Level>,
    /// What the engine says that it did meanwhile.
    #[serde(default)]
    pub work: EngineWork,
    /// What the calls into the engine requested from the allocator on the threads that made them. Absent where the driver
    /// does not count, since the engine allocates by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<Allocated>,
    /// Writes of a watched phase, second by second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<PhaseWindow>,
    /// Largest size of the engine's files meanwhile, of a watched phase and of settling, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes_peak: Option<u64>,
    /// Compaction debt afterwards, by the engine's own estimate, bytes. Absent where it does not tell, or never compacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debt_bytes: Option<u64>,
}

/// One second of a watched phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PhaseWindow {
    /// From the begin of the phase, ms.
    pub start_ms: f64,
    /// Its length, ms; the last one is shorter.
    pub length_ms: f64,
    /// Records that were written in it.
    pub operations: u64,
    /// Resident memory at its end, bytes.
    pub rss_bytes: u64,
}

/// Requests to the allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Allocated {
    /// Allocations and reallocations.
    pub calls: u64,
    /// Bytes requested; of a reallocation those that it adds.
    pub bytes: u64,
}

impl Allocated {
    /// What came to it since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { calls: self.calls - earlier.calls, bytes: self.bytes - earlier.bytes }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { calls: self.calls + other.calls, bytes: self.bytes + other.bytes }
    }
}

/// A level of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Level {
    /// Tables in it.
    pub tables: u64,
    /// Bytes of their files.
    pub bytes: u64,
}

/// What an engine says that it has done since it was opened, or meanwhile; absent what it does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EngineWork {
    /// Bytes of keys and values that were written to it. Amplification is what follows over this.
    pub logged_bytes: Option<u64>,
    /// Bytes of tables that write buffers became.
    pub flushed_bytes: Option<u64>,
    /// Bytes of tables that were merged from others.
    pub merged_bytes: Option<u64>,
    /// Times that writes waited for flushes or merges.
    pub stalls: Option<u64>,
    /// How long they did in all, ns.
    pub stalled_ns: Option<u64>,
    /// Blocks of data that reads found in the block cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_hits: Option<u64>,
    /// Blocks of data that reads did not find there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_misses: Option<u64>,
}

impl EngineWork {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
        };
        Self {
            logged_bytes: sum(self.logged_bytes, other.logged_bytes),
            flushed_bytes: sum(self.flushed_bytes, other.flushed_bytes),
            merged_bytes: sum(self.merged_bytes, other.merged_bytes),
            stalls: sum(self.stalls, other.stalls),
            stalled_ns: sum(self.stalled_ns, other.stalled_ns),
            cache_hits: sum(self.cache_hits, other.cache_hits),
            cache_misses: sum(self.cache_misses, other.cache_misses),
        }
    }

    /// What came to it since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then.unwrap_or(0)));
        Self {
            logged_bytes: less(self.logged_bytes, earlier.logged_bytes),
            flushed_bytes: less(self.flushed_bytes, earlier.flushed_bytes),
            merged_bytes: less(self.merged_bytes, earlier.merged_bytes),
            stalls: less(self.stalls, earlier.stalls),
            stalled_ns: less(self.stalled_ns, earlier.stalled_ns),
            cache_hits: less(self.cache_hits, earlier.cache_hits),
            cache_misses: less(self.cache_misses, earlier.cache_misses),
        }
    }
}

/// A whole HDR histogram, ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseHistogram {
    /// `get`, `set`, `insert`, `read_modify_write`, `scan`, `open`, `flush`, `settle`, `compact`,
    /// `front_scan`, `delete`, `delete_range`, `empty_scan`; `batch` where several records were written at once.
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
