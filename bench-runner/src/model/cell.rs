//! A cell is one target in one mode at one point of the axes; its trials are whole server processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use ts_rs::TS;

/// Where and how the target ran.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A process started by the runner.
    Native,
    /// A process in a cgroup with the limits that the containers have: 1 CPU and 2 GiB, unless the cell
    /// says another memory limit.
    NativeLimited,
    /// A container on the host's network, 1 CPU and 2 GiB.
    ContainerHost,
    /// A container behind a published port, 1 CPU and 2 GiB.
    ContainerPublished,
    /// As [`Mode::ContainerPublished`], under a seccomp profile that forbids io_uring.
    ContainerNoIoUring,
    /// A server that was already running: only its address is known.
    External,
}

impl Mode {
    /// Whether the target runs in a container.
    #[must_use]
    pub fn is_container(self) -> bool {
        matches!(self, Self::ContainerHost | Self::ContainerPublished | Self::ContainerNoIoUring)
    }
}

/// Which CPUs the target and the load generator were given.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Target on one CPU, generator on another.
    Apart,
    /// Both on the same CPU.
    Together,
    /// Left to the scheduler: the machine has one CPU, or pinning was refused.
    Unpinned,
}

/// What became of a cell or a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Measured, and every check held.
    Ok,
    /// The target or the measurement broke; `reason` says how.
    Failed,
    /// Could not be tried here; `reason` says why.
    Skipped,
    /// Measured, but off its plan (wrong replies, unexpected misses): not a figure.
    Invalid,
    /// Took longer than it may.
    Timeout,
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: context for the others.
    Neutral,
}

/// What `low` and `high` of a measurement are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Smallest and largest trial: fewer than six trials.
    Range,
    /// Exact order-statistic interval of the median, at least 95 %.
    Interval,
}

/// A point of the axes. Absent where the axis does not apply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS, Default)]
#[serde(deny_unknown_fields)]
pub struct Axes {
    /// `set`, `get`, `del`, `mixed`, `peak`, `knee`, `fill`, `overwrite`, `ttl_churn`, `trace`, `expire`,
    /// `start`; of an embedded engine `load`, `read_random`, `scan` …
    pub operation: String,
    /// Connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub clients: Option<u32>,
    /// Requests in flight per connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub pipeline: Option<u32>,
    /// Value size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub value_bytes: Option<u32>,
    /// SETs of 100 operations, in a mix.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub set_percent: Option<u32>,
    /// Memory cap given to the target, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub cap_bytes: Option<u64>,
    /// Requests at which the cell stops, where the count is an axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub requests: Option<u64>,
    /// Keys or records in the store, where that is an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub keys: Option<u64>,
    /// How keys are drawn, where not uniformly: `zipf`, `latest`, `sequential`, `hot` (one single key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub distribution: Option<String>,
    /// Open loop: how intended starts are spaced, `fixed` or `poisson`. Absent: closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub arrival: Option<String>,
    /// Open loop: offered rate, percent of the closed-loop peak that this trial measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub rate_percent: Option<u32>,
    /// Open loop: offered rate, requests per second, the same for every target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub rate_per_second: Option<u64>,
    /// Lifetime of what is written, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub ttl_ms: Option<u64>,
    /// Memory limit of the target's cgroup or container, where that is an axis, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub memory_limit_bytes: Option<u64>,
    /// Protocol spoken, where not the target's usual one: `resp3`, `http`, `memcached`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub protocol: Option<String>,
    /// What carries the bytes, where not TCP: `unix`, `tls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub transport: Option<String>,
    /// `new`: every request on a connection of its own. Absent: connections are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub connections: Option<String>,
    /// The one switch that differs from the same cell without it: `allocator=mimalloc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub variant: Option<String>,
    /// The load generator, where it is somebody else's: `redis-benchmark`, `wrk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub client_program: Option<String>,
    /// Cache given to an embedded engine, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub cache_bytes: Option<u64>,
}

/// One target in one mode at one point of the axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// `<target>/<mode>/<placement>/<axes…>`, unique within the scenario.
    pub key: String,
    /// Key of a target of the run.
    pub target: String,
    /// Where it ran.
    pub mode: Mode,
    /// CPUs of target and generator.
    pub placement: Placement,
    /// The point of the axes.
    pub axes: Axes,
    /// Label of the point for people: `SET 64 B, 50 clients`.
    pub label: String,
    /// What became of it.
    pub status: Status,
    /// Why, where the status is not `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// Derived from the trials: one per metric and operation.
    pub measurements: Vec<Measurement>,
    /// Derived: percentiles of the histograms of all ok trials merged.
    pub distributions: Vec<Distribution>,
    /// The ok trials' histograms merged, one per operation: only where a committed run would have been too
    /// large with each trial's own, which are then left out (the run's notes say so).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Histogram>>")]
    pub merged_histograms: Vec<Histogram>,
    /// The trials, in the order they ran.
    pub trials: Vec<Trial>,
}

/// One metric of one cell over its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// `ops_per_second`, `latency_ns_p99`, `server_cpu_ns_per_op`, `rss_bytes_peak` …
    pub metric: String,
    /// Set in a mix: the operation it is of. Absent: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub operation: Option<String>,
    /// `1/s`, `ns`, `bytes`, `count`, `ratio`, `ms`.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// Median over the ok trials.
    pub median: f64,
    /// Lower end of the spread.
    pub low: f64,
    /// Upper end of the spread.
    pub high: f64,
    /// What the spread is.
    pub spread: Spread,
    /// Number of ok trials.
    pub n: u32,
}

/// Percentiles of merged histograms, for drawing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// The operation the samples are of.
    pub operation: String,
    /// Samples in all.
    #[ts(type = "number")]
    pub count: u64,
    /// Rising percentiles from 0 to 100.
    pub points: Vec<PercentilePoint>,
}

/// One point of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct PercentilePoint {
    /// 0 to 100.
    pub percentile: f64,
    /// Response time at it, in nanoseconds.
    #[ts(type = "number")]
    pub latency_ns: u64,
}

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
    /// HDR V2 with deflate, base64.
    pub hdr_v2_deflate_base64: String,
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

/// A ratio between two cells of one campaign, per block in log space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// `overhead` (ours in another mode against ours native), `rival` (ours against a rival), `floor` (a
    /// target against the floor of the machine), `variant` (the switch against without it), `adjacent` (more
    /// clients against the next fewer), `stability` (the longer request count against the shorter).
    pub kind: String,
    /// The metric.
    pub metric: String,
    /// Set in a mix: the operation it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub operation: Option<String>,
    /// Key of the cell above the line.
    pub numerator: String,
    /// Key of the cell below the line.
    pub denominator: String,
    /// Median over trials paired by index, of the exponent of the mean log ratio.
    pub median: f64,
    /// Smallest paired ratio, or the interval's lower end.
    pub low: f64,
    /// Largest paired ratio, or the interval's upper end.
    pub high: f64,
    /// What low and high are.
    pub spread: Spread,
    /// Pairs.
    pub n: u32,
}
