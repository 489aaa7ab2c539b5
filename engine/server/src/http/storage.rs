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
    out.gauge("storage_failed", "1 once the store takes no more writes", None, has_failed)?;
    out.gauge("storage_tables", "Tables", None, tables as u64)?;
    out.gauge("storage_tables", "Files of tables", bytes(), table_bytes)?;
    out.gauge("storage_debt", "Above what the levels may hold", bytes(), stats.debt_bytes)?;
    out.gauge("storage_memtable", "Memtables", bytes(), stats.memtable_bytes)?;
    out.gauge("storage_index", "Indexes and filters in memory", bytes(), stats.index_bytes)?;
    out.gauge("storage_cache", "The block cache", bytes(), stats.cache_bytes)?;
    out.counter("storage_cache_hits", "Blocks found in the cache", None, stats.cache_hits)?;
    out.counter("storage_cache_misses", "Blocks that were not", None, stats.cache_misses)?;
    out.counter("storage_logged", "Written to the log", bytes(), stats.logged_bytes)?;
    out.counter("storage_flushed", "Tables that memtables became", bytes(), stats.flushed_bytes)?;
    out.counter("storage_merged", "Tables that were merged from others", bytes(), stats.merged_bytes)?;
    let (begun, waiting) = shared.workers.as_ref().map_or((0, 0), |workers| workers.figures());
    out.counter("storage_requests_handed_over", "Requests that would have waited for the disk", None, begun)?;
    out.gauge("storage_requests_waiting", "Those of them that are not done yet", None, waiting)?;
    out.counter("storage_stalls", "Times that writes waited for flushes or merges", None, stats.stalls)
}
