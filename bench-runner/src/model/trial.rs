//! A trial is what the statistics count: one fresh process, what it was asked, and what the system did meanwhile.

use super::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use ts_rs::TS;

/// One fresh server process (or container) through warm-up and measurement of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// From 0 within the cell.
    pub index: u32,
    /// Place in the whole run's order, from 0.
    pub position: u32,
    /// What became of it.
    pub status: Status,
    /// Why, where the status is not `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// Seconds measured, warm-up apart.
    pub elapsed_s: f64,
    /// What was counted while measuring.
    pub counts: Counts,
    /// Metrics of this trial.
    pub values: Vec<Value>,
    /// Whole histograms, one per operation.
    pub histograms: Vec<Histogram>,
    /// One-second windows.
    pub windows: Vec<Window>,
    /// What was offered and what came of it. Absent: closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub open_loop: Option<OpenLoop>,
    /// The process that was measured. Absent when none came up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub process: Option<ProcessFacts>,
    /// What the system did meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub os: Option<OsStat>,
    /// Facts that are no metric: keys that were looked up, a survival table, texts of refusals.
    #[serde(default)]
    #[ts(type = "Record<string, unknown>")]
    pub facts: BTreeMap<String, serde_json::Value>,
}

/// An open loop: requests start when they are due, not when the one before was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// How intended starts are spaced: `fixed` or `poisson`.
    pub arrival: String,
    /// Requests per second that were meant to start.
    pub offered_per_second: f64,
    /// Requests per second that were answered.
    pub achieved_per_second: f64,
    /// Requests that were due while measuring.
    #[ts(type = "number")]
    pub due: u64,
    /// Of them, those never sent because the bound on requests in flight was reached.
    #[ts(type = "number")]
    pub skipped: u64,
    /// The bound on requests in flight.
    #[ts(type = "number")]
    pub in_flight_bound: u64,
    /// Most requests in flight at one time.
    #[ts(type = "number")]
    pub in_flight_max: u64,
    /// Latest send after its intended start, ns: how late the generator itself was.
    #[ts(type = "number")]
    pub send_delay_ns_max: u64,
}

/// Replies by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Replies received and checked.
    #[ts(type = "number")]
    pub operations: u64,
    /// Reads that found their key.
    #[ts(type = "number")]
    pub hits: u64,
    /// Reads that did not.
    #[ts(type = "number")]
    pub misses: u64,
    /// Error replies, wrong replies, lost connections.
    #[ts(type = "number")]
    pub errors: u64,
}

/// One metric of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// As in [`Measurement::metric`].
    pub metric: String,
    /// Set in a mix: the operation it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub operation: Option<String>,
    /// In the metric's unit.
    pub value: f64,
}

/// A whole HDR histogram of response times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// The operation the samples are of.
    pub operation: String,
    /// HDR V2 with deflate, base64. In a file of version 3 only where the text could not be moved to the run's
    /// histogram file; a record in memory always has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(optional, as = "Option<String>")]
    pub hdr_v2_deflate_base64: String,
    /// Place in the run's histogram file, from version 3 on. Absent in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hdr_v2: Option<HistogramPlace>,
    /// Lowest value told apart, ns.
    #[ts(type = "number")]
    pub low_ns: u64,
    /// Highest value recorded, ns; what lies above is counted in `clipped`.
    #[ts(type = "number")]
    pub high_ns: u64,
    /// Significant decimal digits.
    pub digits: u8,
    /// Samples.
    #[ts(type = "number")]
    pub count: u64,
    /// Samples above `high_ns`, recorded as `high_ns`.
    #[ts(type = "number")]
    pub clipped: u64,
    /// True: from the intended start (open loop). False: from the send (closed loop response time).
    pub from_intended_start: bool,
}

/// Place of one histogram in the decompressed `histograms.hdr.zst` of its run: HDR V2 without deflate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct HistogramPlace {
    /// First byte.
    #[ts(type = "number")]
    pub at: u64,
    /// Length in bytes.
    #[ts(type = "number")]
    pub bytes: u64,
}

/// One second (or the rest of one) of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Start since the beginning of the measurement, ms.
    pub start_ms: f64,
    /// Length, ms.
    pub length_ms: f64,
    /// Replies in it.
    #[ts(type = "number")]
    pub operations: u64,
    /// Median response time of the replies in it, ns. Absent in short runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub latency_ns_p50: Option<u64>,
    /// 99th percentile of the replies in it, ns. Absent in short runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub latency_ns_p99: Option<u64>,
    /// CPU time of the target within it, ns. Absent in short runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub server_cpu_ns: Option<u64>,
    /// RSS of the target at its end, bytes. Absent in short runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub rss_bytes: Option<u64>,
}

/// The process that was measured, as read back from the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ProcessFacts {
    /// Process id in the runner's namespace.
    pub pid: u32,
    /// `podman 4.3.1` or `docker 28.2.2`; absent in native mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub runtime: Option<String>,
    /// Low-level runtime: `runc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub oci_runtime: Option<String>,
    /// Container id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub container_id: Option<String>,
    /// `sha256:…` of the image that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub image_digest: Option<String>,
    /// SHA-256 of `/proc/PID/exe`.
    pub binary_sha256: String,
    /// The lines of `/proc/PID/cgroup` that were followed, by controller: `cpu` → `/libpod_parent/…`.
    pub cgroup: BTreeMap<String, String>,
    /// CPUs' worth of time as read from the cgroup's files; absent: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cpu_limit: Option<f64>,
    /// Bytes as read from the cgroup's files; absent: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub memory_limit_bytes: Option<u64>,
    /// The files those limits were read from.
    pub limit_files: Vec<String>,
    /// CPUs the process may run on, as `/proc/PID/status` lists them: `0`, `0-1`.
    pub cpus_allowed: String,
    /// CPUs the load generator may run on.
    pub generator_cpus: String,
    /// Where CPU time came from: `cpuacct.usage`, `cpu.stat` or `process clocks`.
    pub cpu_time_source: String,
    /// RSS when the process had given its first right answer, before any load, bytes.
    #[ts(type = "number")]
    pub rss_bytes_start: u64,
}

/// What the system did during the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct OsStat {
    /// Server CPU time, ns.
    #[ts(type = "number")]
    pub server_cpu_ns: u64,
    /// Of it in user mode, ns; 0 where the source does not tell.
    #[ts(type = "number")]
    pub server_user_ns: u64,
    /// Of it in the kernel, ns; 0 where the source does not tell.
    #[ts(type = "number")]
    pub server_system_ns: u64,
    /// Generator CPU time, ns.
    #[ts(type = "number")]
    pub generator_cpu_ns: u64,
    /// Busiest generator thread's share of the time: above 0.95 it was at its ceiling.
    pub generator_busy_max: f64,
    /// Cores used by neither target nor generator.
    pub foreign_cpu_cores: f64,
    /// Time the hypervisor took away, all CPUs, ms.
    pub steal_ms: f64,
    /// Time the target was held back by its CPU limit, ms.
    pub throttled_ms: f64,
    /// Involuntary context switches of the target.
    #[ts(type = "number")]
    pub involuntary_switches: u64,
    /// Voluntary context switches of the target.
    #[ts(type = "number")]
    pub voluntary_switches: u64,
    /// RSS of the target at the end, bytes.
    #[ts(type = "number")]
    pub rss_bytes_end: u64,
    /// Largest RSS (VmHWM) of the target so far, bytes.
    #[ts(type = "number")]
    pub rss_bytes_peak: u64,
}
