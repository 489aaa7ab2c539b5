//! What each metric is called, counted in, and which way it is better: one table for every reader.

use super::Direction;

/// A metric as every table shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// As in [`super::Measurement::metric`].
    pub name: &'static str,
    /// `1/s`, `ns`, `bytes`, `count`, `ratio`, `ms`, `bytes/s`, `cores`.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Whether ratios between cells are derived for it.
    pub compared: bool,
}

const fn metric(name: &'static str, unit: &'static str, direction: Direction, compared: bool) -> Metric {
    Metric { name, unit, direction, compared }
}

use Direction::{Higher, Lower, Neutral};

/// Every metric that is measured, in the order of a cell's measurements.
pub const METRICS: &[Metric] = &[
    metric("ops_per_second", "1/s", Higher, true),
    metric("settled_ops_per_second", "1/s", Higher, true),
    metric("records_per_second", "1/s", Higher, true),
    metric("open_ms", "ms", Lower, true),
    metric("flush_ms", "ms", Lower, true),
    metric("compact_ms", "ms", Lower, true),
    metric("settle_ms", "ms", Lower, false),
    metric("latency_ns_mean", "ns", Lower, false),
    metric("latency_ns_p50", "ns", Lower, true),
    metric("latency_ns_p90", "ns", Lower, false),
    metric("latency_ns_p95", "ns", Lower, false),
    metric("latency_ns_p99", "ns", Lower, true),
    metric("latency_ns_p999", "ns", Lower, false),
    metric("latency_ns_p9999", "ns", Lower, false),
    metric("latency_ns_max", "ns", Lower, false),
    metric("command_ns_max", "ns", Lower, false),
    metric("grown_keys_per_second", "1/s", Higher, true),
    metric("knee_per_second", "1/s", Higher, true),
    metric("offered_per_second", "1/s", Neutral, false),
    metric("achieved_per_second", "1/s", Higher, false),
    metric("skipped_share", "ratio", Lower, false),
    metric("server_cpu_ns_per_op", "ns", Lower, true),
    metric("instructions_per_op", "count", Lower, true),
    metric("generator_busy", "ratio", Neutral, false),
    metric("foreign_cpu_cores", "cores", Neutral, false),
    metric("connect_ms", "ms", Lower, false),
    metric("bytes_per_second", "bytes/s", Higher, false),
    metric("rss_bytes_peak", "bytes", Lower, true),
    metric("rss_bytes_growth", "bytes", Lower, true),
    metric("rss_bytes_start", "bytes", Lower, false),
    metric("rss_bytes_per_connection", "bytes", Lower, true),
    metric("rss_bytes_per_key", "bytes", Lower, true),
    metric("rss_bytes_per_key_max", "bytes", Lower, true),
    metric("accounted_bytes_per_key", "bytes", Lower, false),
    metric("hit_ratio", "ratio", Higher, true),
    metric("hit_ratio_exact_lru", "ratio", Neutral, false),
    metric("drift_ratio", "ratio", Neutral, false),
    metric("rss_anonymous_bytes", "bytes", Lower, false),
    metric("disk_bytes", "bytes", Lower, true),
    metric("disk_bytes_before_settling", "bytes", Lower, false),
    metric("write_amplification_ratio", "ratio", Lower, true),
    metric("read_bytes_per_op", "bytes", Lower, false),
    metric("device_read_bytes_per_op", "bytes", Lower, false),
    metric("cache_hit_ratio", "ratio", Higher, false),
    metric("allocations_per_op", "count", Lower, false),
    metric("allocated_bytes_per_op", "bytes", Lower, false),
    metric("stalls", "count", Lower, false),
    metric("stalled_ms", "ms", Lower, false),
    metric("cap_bytes", "bytes", Neutral, false),
    metric("accounted_bytes", "bytes", Neutral, false),
    metric("accounted_bytes_held", "bytes", Lower, false),
    metric("rss_bytes_held", "bytes", Lower, false),
    metric("keys_held", "count", Lower, false),
    metric("evictions", "count", Neutral, false),
    metric("refusals", "count", Neutral, false),
    metric("connections_refused", "count", Neutral, false),
    metric("connections_lost", "count", Neutral, false),
    metric("survivors", "count", Neutral, false),
    metric("payload_share", "ratio", Higher, true),
    metric("early_gone", "count", Neutral, false),
    metric("first_1000_gone_share", "ratio", Neutral, false),
    metric("last_five_present", "count", Neutral, false),
    metric("startup_ms", "ms", Lower, true),
    metric("binary_bytes", "bytes", Lower, false),
    metric("image_bytes", "bytes", Lower, false),
];

/// Unit, direction and place in the order of a metric; one that the table does not hold stands behind the
/// others, is neutral, and has the unit its name carries.
#[must_use]
pub fn describe(name: &str) -> (&'static str, Direction, usize) {
    match METRICS.iter().position(|known| known.name == name) {
        Some(place) => (METRICS[place].unit, METRICS[place].direction, place),
        None => (unit_in_name(name), Neutral, METRICS.len()),
    }
}

/// Whether ratios between cells are derived for a metric.
#[must_use]
pub fn is_compared(name: &str) -> bool {
    METRICS.iter().any(|known| known.name == name && known.compared)
}

fn unit_in_name(name: &str) -> &'static str {
    let carries = |unit: &str| name.split('_').any(|word| word == unit);
    if name.ends_with("_per_second") {
        "1/s"
    } else if carries("ns") {
        "ns"
    } else if carries("ms") {
        "ms"
    } else if carries("bytes") {
        "bytes"
    } else if carries("cores") {
        "cores"
    } else if carries("share") || carries("ratio") {
        "ratio"
    } else {
        "count"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_carries_the_unit_the_table_gives_it() {
        for known in
            METRICS.iter().filter(|known| matches!(known.unit, "ns" | "ms" | "bytes" | "1/s" | "cores"))
        {
            assert_eq!(unit_in_name(known.name), known.unit, "{}", known.name);
        }
    }

    #[test]
    fn names_are_unique_and_an_unknown_one_stands_last() {
        for (place, known) in METRICS.iter().enumerate() {
            assert_eq!(describe(known.name), (known.unit, known.direction, place));
        }
        assert_eq!(describe("latency_ns_p99999"), ("ns", Neutral, METRICS.len()));
        assert_eq!(describe("surprises"), ("count", Neutral, METRICS.len()));
    }
}
