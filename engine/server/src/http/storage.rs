//! What can be measured of a store in a directory? Its tables, its cache, what writing has cost, and whether it still takes writes.

use std::fmt;

use prometheus_client::registry::Unit;

use super::metrics::Writer;
use crate::shared::Shared;

/// Nothing where keys are in memory alone.
pub(super) fn write(shared: &Shared, out: &mut Writer<'_>) -> fmt::Result {
    let Ok(stats) = shared.database.storage_stats() else { return Ok(()) };
    let bytes = || Some(Unit::Bytes);
    let tables = stats.tables();
    let table_bytes = stats.table_bytes();
    let has_failed = u64::from(stats.failure.is_some());
    out.gauge(
        "storage_failed",
        "1 after a failed write or sync: the store accepts no more writes; otherwise 0",
        None,
        has_failed,
    )?;
    out.gauge("storage_tables", "Tables (SSTables)", None, tables as u64)?;
    out.gauge("storage_tables", "Size of the table files", bytes(), table_bytes)?;
    out.gauge(
        "storage_debt",
        "Bytes above the target sizes of the levels: pending compaction",
        bytes(),
        stats.debt_bytes,
    )?;
    out.gauge("storage_memtable", "Memory of memtables", bytes(), stats.memtable_bytes)?;
    out.gauge("storage_index", "Memory of table indexes and filters", bytes(), stats.index_bytes)?;
    out.gauge("storage_cache", "Memory of the block cache", bytes(), stats.cache_bytes)?;
    out.counter("storage_cache_hits", "Block cache hits", None, stats.cache_hits)?;
    out.counter("storage_cache_misses", "Block cache misses", None, stats.cache_misses)?;
    out.counter("storage_logged", "Bytes written to the write-ahead log", bytes(), stats.logged_bytes)?;
    out.counter("storage_flushed", "Bytes written by flushes of memtables", bytes(), stats.flushed_bytes)?;
    out.counter("storage_merged", "Bytes written by compaction", bytes(), stats.merged_bytes)?;
    let (begun, waiting) = shared.workers.as_ref().map_or((0, 0), |workers| workers.figures());
    out.counter(
        "storage_requests_handed_over",
        "Requests handed to a worker thread because they would block an I/O thread",
        None,
        begun,
    )?;
    out.gauge("storage_requests_waiting", "Requests at worker threads now", None, waiting)?;
    out.counter(
        "storage_stalls",
        "Write stalls: times that a write waited for a flush or a compaction",
        None,
        stats.stalls,
    )
}
