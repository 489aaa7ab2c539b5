//! Columns of the table of each kind of scenario, each in the unit in which its figures read best.

use super::figure;
use super::units;
use crate::model::{Cell, Measurement, ScenarioRecord, Spread, metric};

/// A column of figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Head, without the unit; empty where the unit says all.
    name: &'static str,
    metric: &'static str,
    spread: bool,
}

/// A column in the unit of one table.
#[derive(Debug, Clone)]
pub(super) struct Scaled {
    /// Head, with the unit.
    pub(super) head: String,
    column: Column,
    divisor: f64,
}

const fn column(name: &'static str, metric: &'static str, spread: bool) -> Column {
    Column { name, metric, spread }
}

const WIRE: &[Column] = &[
    column("", "ops_per_second", true),
    column("p50", "latency_ns_p50", false),
    column("p99", "latency_ns_p99", false),
    column("server CPU per op,", "server_cpu_ns_per_op", false),
    column("RSS per key,", "rss_bytes_per_key", false),
];
const RATE: &[Column] = &[
    column("offered", "offered_per_second", false),
    column("achieved", "achieved_per_second", true),
    column("knee", "knee_per_second", true),
    column("", "ops_per_second", false),
    column("p50", "latency_ns_p50", false),
    column("p99", "latency_ns_p99", false),
    column("p99.9", "latency_ns_p999", false),
    column("skipped share", "skipped_share", false),
    column("server CPU per op,", "server_cpu_ns_per_op", false),
];
const EMBEDDED: &[Column] = &[
    column("", "ops_per_second", true),
    column("settled", "settled_ops_per_second", false),
    column("open", "open_ms", true),
    column("flush", "flush_ms", true),
    column("compaction", "compact_ms", true),
    column("deletion", "delete_range_ms", true),
    column("longest wait", "write_wait_ms", false),
    column("disk over data", "space_amplification_ratio", false),
    column("at most", "space_amplification_peak_ratio", false),
    column("slowest window", "slowest_window_ratio", false),
    column("debt", "debt_bytes", false),
    column("empty scan", "empty_scan_ms", false),
    column("p50", "latency_ns_p50", false),
    column("p99", "latency_ns_p99", false),
    column("CPU per op,", "server_cpu_ns_per_op", false),
    column("device reads per op,", "device_read_bytes_per_op", false),
    column("peak RSS", "rss_bytes_peak", false),
    column("disk", "disk_bytes", false),
];
const MEMORY_CAP: &[Column] = &[
    column("cap", "cap_bytes", false),
    column("accounted", "accounted_bytes", false),
    column("hit ratio", "hit_ratio", false),
    column("exact LRU's", "hit_ratio_exact_lru", false),
    column("RSS growth", "rss_bytes_growth", true),
    column("evictions", "evictions", false),
    column("refusals", "refusals", false),
    column("early keys gone", "early_gone", false),
    column("", "ops_per_second", false),
];
const STARTUP: &[Column] = &[
    column("start", "startup_ms", true),
    column("binary", "binary_bytes", false),
    column("image", "image_bytes", false),
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
    /// In the unit of a whole scenario, so that a cell reads alike in any part of it.
    pub(super) fn scaled(&self, record: &ScenarioRecord) -> Scaled {
        let all: Vec<&Measurement> = record
            .cells
            .iter()
            .flat_map(|cell| &cell.measurements)
            .filter(|one| one.metric == self.metric)
            .collect();
        let medians: Vec<f64> = all.iter().map(|one| one.median).collect();
        let (stored, _, _) = metric::describe(self.metric);
        let unit = units::choose(stored, &medians);
        let has = |spread: Spread| all.iter().any(|one| one.spread == spread && one.n > 1);
        let spread = match (has(Spread::Interval), has(Spread::Range)) {
            (true, true) => "(spread)",
            (true, false) => "(interval)",
            (false, _) => "(range)",
        };
        let parts = [self.name, unit.name, if self.spread { spread } else { "" }];
        let head: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Scaled { head: head.join(" ").trim_end_matches(',').to_owned(), column: *self, divisor: unit.divisor }
    }
}

impl Scaled {
    /// The metric it shows.
    pub(super) fn metric(&self) -> &'static str {
        self.column.metric
    }

    /// The figure of a cell, of one operation or of all of them; empty where it was not measured.
    pub(super) fn of(&self, cell: &Cell, operation: Option<&str>) -> String {
        match find(cell, self.column.metric, operation) {
            Some(measured) if self.column.spread => figure::with_spread(measured, self.divisor),
            Some(measured) => figure::alone(measured, self.divisor),
            None => String::new(),
        }
    }
}

/// A measurement of a cell.
pub(super) fn find<'a>(cell: &'a Cell, metric: &str, operation: Option<&str>) -> Option<&'a Measurement> {
    cell.measurements.iter().find(|one| one.metric == metric && one.operation.as_deref() == operation)
}
