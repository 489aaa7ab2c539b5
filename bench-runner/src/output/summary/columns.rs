//! Which figures stand in the table of which kind of scenario, and in which unit.

use super::figure;
use crate::model::{Cell, Measurement, ScenarioRecord};

/// A column of figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Head, with the unit.
    pub(super) head: &'static str,
    metric: &'static str,
    scale: f64,
    spread: bool,
}

const MIB: f64 = 1024.0 * 1024.0;

const fn column(head: &'static str, metric: &'static str, scale: f64, spread: bool) -> Column {
    Column { head, metric, scale, spread }
}

const WIRE: &[Column] = &[
    column("k ops/s (range)", "ops_per_second", 1e3, true),
    column("p50 µs", "latency_ns_p50", 1e3, false),
    column("p99 µs", "latency_ns_p99", 1e3, false),
    column("server CPU µs/op", "server_cpu_ns_per_op", 1e3, false),
    column("RSS B/key", "rss_bytes_per_key", 1.0, false),
];
const RATE: &[Column] = &[
    column("offered k/s", "offered_per_second", 1e3, false),
    column("achieved k/s (range)", "achieved_per_second", 1e3, true),
    column("knee k/s (range)", "knee_per_second", 1e3, true),
    column("k ops/s", "ops_per_second", 1e3, false),
    column("p50 µs", "latency_ns_p50", 1e3, false),
    column("p99 µs", "latency_ns_p99", 1e3, false),
    column("p99.9 µs", "latency_ns_p999", 1e3, false),
    column("skipped share", "skipped_share", 1.0, false),
    column("server CPU µs/op", "server_cpu_ns_per_op", 1e3, false),
];
const EMBEDDED: &[Column] = &[
    column("k ops/s (range)", "ops_per_second", 1e3, true),
    column("settled k ops/s", "settled_ops_per_second", 1e3, false),
    column("open ms (range)", "open_ms", 1.0, true),
    column("flush ms (range)", "flush_ms", 1.0, true),
    column("merge ms (range)", "compact_ms", 1.0, true),
    column("p50 µs", "latency_ns_p50", 1e3, false),
    column("p99 µs", "latency_ns_p99", 1e3, false),
    column("CPU µs/op", "server_cpu_ns_per_op", 1e3, false),
    column("device B/op", "device_read_bytes_per_op", 1.0, false),
    column("peak RSS MiB", "rss_bytes_peak", MIB, false),
    column("disk MiB", "disk_bytes", MIB, false),
];
const MEMORY_CAP: &[Column] = &[
    column("cap MiB", "cap_bytes", MIB, false),
    column("accounted MiB", "accounted_bytes", MIB, false),
    column("hit ratio", "hit_ratio", 1.0, false),
    column("exact LRU's", "hit_ratio_exact_lru", 1.0, false),
    column("RSS growth MiB (range)", "rss_bytes_growth", MIB, true),
    column("evictions", "evictions", 1.0, false),
    column("refusals", "refusals", 1.0, false),
    column("early keys gone", "early_gone", 1.0, false),
    column("k ops/s", "ops_per_second", 1e3, false),
];
const STARTUP: &[Column] = &[
    column("ms (range)", "startup_ms", 1.0, true),
    column("binary MiB", "binary_bytes", MIB, false),
    column("image MiB", "image_bytes", MIB, false),
];

/// The columns of a scenario; those of a closed loop for a kind that is not known.
pub(super) fn of(record: &ScenarioRecord) -> &'static [Column] {
    match record.scenario.kind.as_str() {
        "memory_cap" => MEMORY_CAP,
        "startup" => STARTUP,
        "embedded" => EMBEDDED,
        _ if record.cells.iter().any(|cell| cell.axes.arrival.is_some()) => RATE,
        _ => WIRE,
    }
}

impl Column {
    /// The metric it shows.
    pub(super) fn metric(&self) -> &'static str {
        self.metric
    }

    /// The figure of a cell, of one operation or of all of them; empty where it was not measured.
    pub(super) fn of(&self, cell: &Cell, operation: Option<&str>) -> String {
        match find(cell, self.metric, operation) {
            Some(measured) if self.spread => figure::with_spread(measured, self.scale),
            Some(measured) => figure::alone(measured, self.scale),
            None => String::new(),
        }
    }
}

/// A measurement of a cell.
pub(super) fn find<'a>(cell: &'a Cell, metric: &str, operation: Option<&str>) -> Option<&'a Measurement> {
    cell.measurements.iter().find(|one| one.metric == metric && one.operation.as_deref() == operation)
}
