//! A cell is one target in one mode at one point of the axes; its trials are whole server processes.

use super::{Histogram, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// `hostile`, `idle`, `grow`, `flush`, `start`; of an embedded engine `load`, `read_random`, `scan` …, and `stock` for the
    /// load of a directory that other cells read.
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
    /// Open loop: offered rate, percent of the peak of the slowest server of the same round at this point, so that it
    /// is the same for every server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub rate_percent_of_slowest: Option<u32>,
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
    /// Records per transaction of an embedded engine's writes, where that is an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub batch: Option<u32>,
    /// When an embedded engine's writes are forced to the device: `interval` (about every second), `always` (before each is
    /// acknowledged). Absent: when the system likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub sync: Option<String>,
    /// What keys look like, where they are not all of one family: `five_families` (`account:`, `invoice:`, `orderline:`,
    /// `product:`, `session:`, and 16 hexadecimal digits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub key_schema: Option<String>,
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
    /// The ok trials' histograms merged, one per operation: only in runs that were published before version 3 and too
    /// large with each trial's own, which were then left out (the run's notes say so).
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
