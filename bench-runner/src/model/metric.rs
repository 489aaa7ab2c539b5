//! The metric registry: name, unit, direction and description of every metric, in one table for
//! every reader.

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
    /// What it is, in one or two sentences; pages and the reference show them.
    pub about: &'static str,
}

macro_rules! metrics {
    ($($name:literal $unit:literal $direction:ident $compared:literal $about:literal;)*) => {
        /// Every metric that is measured, in the order of a cell's measurements.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: $name,
            unit: $unit,
            direction: $direction,
            compared: $compared,
            about: $about,
        }),*];
    };
}

use Direction::{Higher, Lower, Neutral};

metrics! {
    "ops_per_second" "1/s" Higher true
        "Operations per second. For a load this counts until the last record is flushed, without the compaction that is still pending.";
    "settled_ops_per_second" "1/s" Higher true
        "Records per second of a load, counted until compaction has finished. Lower than the throughput of the load itself, because pending compaction is work that the load has only postponed.";
    "records_per_second" "1/s" Higher true
        "Records per second that scans return.";
    "open_ms" "ms" Lower true
        "Time to open a store that exists.";
    "flush_ms" "ms" Lower true
        "Time to write a full memtable to a table on the disk.";
    "compact_ms" "ms" Lower true
        "Time of a major compaction: all tables merged into one level.";
    "delete_range_ms" "ms" Lower true
        "Time of one call that deletes a range of keys.";
    "write_wait_ms" "ms" Lower true
        "Longest time that a write of an unrelated key took beside the deletion of a range: how long other writers wait for it.";
    "empty_scan_ms" "ms" Lower true
        "Median time of a scan over the whole store after every record was deleted and the engine had time to clean up: the cost of the tombstones that are left.";
    "settle_ms" "ms" Lower false
        "Time from the end of a load until compaction has finished: at most four tables in level 0 and no level above its target size.";
    "latency_ns_mean" "ns" Lower false
        "Mean response time of an operation.";
    "latency_ns_p50" "ns" Lower true
        "Median response time: half of the operations took no longer.";
    "latency_ns_p90" "ns" Lower false
        "Response time that 90 % of the operations did not exceed.";
    "latency_ns_p95" "ns" Lower false
        "Response time that 95 % of the operations did not exceed.";
    "latency_ns_p99" "ns" Lower true
        "Response time that 99 % of the operations did not exceed.";
    "latency_above_p99" "ratio" Lower false
        "Slow requests of a gate's block, per request: longer than the 99th percentile of base and head together, and than twice their median; each counts 1 + log2 of how many times that line it took.";
    "latency_ns_p999" "ns" Lower false
        "Response time that 99.9 % of the operations did not exceed.";
    "latency_ns_p9999" "ns" Lower false
        "Response time that 99.99 % of the operations did not exceed.";
    "latency_ns_max" "ns" Lower false
        "Longest response time.";
    "command_ns_max" "ns" Lower false
        "Longest time that the server spent on a few consecutive requests, by its own account (`slowest_command_usec`).";
    "grown_keys_per_second" "1/s" Higher true
        "Keys per second that the store grew by while requests were measured beside it.";
    "knee_per_second" "1/s" Higher true
        "Highest offered rate at which p99 stays below 1 ms and no request is skipped.";
    "offered_per_second" "1/s" Neutral false
        "Rate at which an open loop meant to start requests.";
    "achieved_per_second" "1/s" Higher false
        "Rate at which the requests of an open loop were answered.";
    "skipped_share" "ratio" Lower false
        "Share of the due requests of an open loop that were never sent, because too many were in flight.";
    "server_cpu_ns_per_op" "ns" Lower true
        "CPU time of the measured program per operation: of the server's process tree, or of the driver in which an embedded engine runs, background threads included.";
    "instructions_per_op" "count" Lower true
        "Instructions of the measured program per operation, counted by callgrind.";
    "generator_busy" "ratio" Neutral false
        "Share of its CPU that the busiest thread of the load generator used. Above 95 % the generator limits the throughput.";
    "foreign_cpu_cores" "cores" Neutral false
        "CPUs used by neither the measured program nor the load generator: what else ran on the machine.";
    "connect_ms" "ms" Lower false
        "Time to open all connections, before the measurement.";
    "bytes_per_second" "bytes/s" Higher false
        "Bytes of values moved per second.";
    "rss_bytes_peak" "bytes" Lower true
        "Peak resident memory of the process.";
    "rss_bytes_growth" "bytes" Lower true
        "Peak resident memory minus resident memory when the program was ready: what the load added.";
    "rss_bytes_start" "bytes" Lower false
        "Resident memory when the program was ready.";
    "rss_bytes_per_connection" "bytes" Lower true
        "Growth of resident memory per idle connection.";
    "rss_bytes_per_key" "bytes" Lower true
        "Growth of resident memory per key, at the largest number of keys.";
    "rss_bytes_per_key_max" "bytes" Lower true
        "Growth of resident memory per key, at the number of keys where it is largest.";
    "accounted_bytes_per_key" "bytes" Lower false
        "Growth of accounted memory per key: what the store says that a key costs.";
    "hit_ratio" "ratio" Higher true
        "Share of the reads of a trace that found their key.";
    "hit_ratio_exact_lru" "ratio" Neutral false
        "Hit ratio that exact LRU would reach on the same trace with the whole cap for entries: the reference for policies that approximate it.";
    "slowest_window_ratio" "ratio" Higher true
        "Throughput of the slowest ten-second window divided by that of the median one. 1 means that no window was slower. In a run of less than 100 seconds a window is a tenth of it, but at least one second.";
    "drift_ratio" "ratio" Neutral false
        "Throughput of the last third of the seconds divided by that of the first third. 1 means no drift.";
    "rss_anonymous_bytes" "bytes" Lower false
        "Resident memory without mapped files. Engines that map their files (LMDB) count pages of the page cache in their RSS; this metric leaves those out.";
    "disk_bytes" "bytes" Lower true
        "Bytes of all files of the store at the end, after compaction where the engine has it.";
    "disk_bytes_before_settling" "bytes" Lower false
        "Bytes of all files at the end of a load, before pending compaction has run.";
    "disk_bytes_peak" "bytes" Lower true
        "Largest size of all files of the store while records were written and until compaction had finished, sampled every 50 ms.";
    "space_amplification_ratio" "ratio" Lower true
        "Bytes of all files after compaction divided by bytes of keys and values. 1 means no overhead.";
    "space_amplification_peak_ratio" "ratio" Lower true
        "Largest size of all files while records were written divided by bytes of keys and values: the disk space that a store of this size needs.";
    "debt_bytes" "bytes" Lower true
        "Compaction debt when the writes end: bytes of compaction that the engine has postponed, by its own estimate.";
    "write_amplification_ratio" "ratio" Lower true
        "Bytes written to files divided by bytes of keys and values: log, flushes and compaction together. 3 means that each byte was written three times.";
    "read_bytes_per_op" "bytes" Lower false
        "Bytes read from files by system calls, per operation. Mapped files are not counted.";
    "device_read_bytes_per_op" "bytes" Lower false
        "Bytes read from the device per operation: reads that the page cache could not answer.";
    "cache_hit_ratio" "ratio" Higher false
        "Share of the block lookups of an embedded engine that its block cache answered.";
    "allocations_per_op" "count" Lower false
        "Calls of the allocator per operation, counted in the driver.";
    "allocated_bytes_per_op" "bytes" Lower false
        "Bytes requested from the allocator per operation, counted in the driver.";
    "stalls" "count" Lower false
        "Write stalls: times that a write had to wait for a flush or for compaction.";
    "stalled_ms" "ms" Lower false
        "Total time of all write stalls.";
    "cap_bytes" "bytes" Neutral false
        "The memory cap in force.";
    "accounted_bytes" "bytes" Neutral false
        "Memory that the server says it uses against its cap.";
    "accounted_bytes_held" "bytes" Lower false
        "Accounted memory that remains after the last key has expired, above what was accounted before.";
    "rss_bytes_held" "bytes" Lower false
        "Resident memory that remains after the last key has expired, above what was resident before.";
    "keys_held" "count" Lower false
        "Keys that the server still holds after the last expiration time has passed.";
    "evictions" "count" Neutral false
        "Keys evicted to make room.";
    "refusals" "count" Neutral false
        "Writes refused because memory was full.";
    "connections_refused" "count" Neutral false
        "Connections that the server refused.";
    "connections_lost" "count" Neutral false
        "Connections that the server closed.";
    "survivors" "count" Neutral false
        "Keys that are still there at the end.";
    "payload_share" "ratio" Higher true
        "Bytes of keys and values that fit, as a share of the cap.";
    "early_gone" "count" Neutral false
        "How many of the sampled early keys were evicted.";
    "first_1000_gone_share" "ratio" Neutral false
        "Share of the first 1,000 keys that were evicted.";
    "last_five_present" "count" Neutral false
        "How many of the five keys written last are still there.";
    "startup_ms" "ms" Lower true
        "Time from the start of the process to the first correct answer.";
    "binary_bytes" "bytes" Lower false
        "Size of the program file.";
    "image_bytes" "bytes" Lower false
        "Size of the container image.";
}

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
    fn a_description_is_sentences_that_need_no_escape() {
        for Metric { name, about, .. } in METRICS {
            assert!(about.len() > 10 && about.ends_with('.'), "{name}: {about}");
            assert!(!about.contains(['|', '<', '\n']), "{name}: {about}");
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
