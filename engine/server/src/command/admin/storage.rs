//! What does INFO say of the store? Where it is, what it holds on disk, and what writing has cost.

use super::info::field;
use crate::shared::Shared;
use crate::storage::{profile_name, sync_name};

/// The section `# Storage`.
pub(super) fn section(shared: &Shared, text: &mut String) {
    let (Some(storage), Ok(stats)) = (&shared.facts.storage, shared.database.storage_stats()) else {
        field!(text, "storage_mode", "memory");
        return;
    };
    let tables = stats.tables();
    let table_bytes = stats.table_bytes();
    let looked_up = stats.cache_hits + stats.cache_misses;
    let hit_ratio = stats.cache_hits as f64 / looked_up.max(1) as f64;
    field!(text, "storage_mode", "durable");
    field!(text, "storage_directory", storage.directory.display());
    field!(text, "storage_sync", sync_name(storage.sync));
    field!(text, "storage_profile", profile_name(storage.profile));
    // An error ends the writes until the server is started again: what it says is the reason.
    let failure = stats.failure.as_ref().map_or_else(String::new, ToString::to_string);
    field!(text, "storage_status", if stats.failure.is_some() { "failed" } else { "ok" });
    field!(text, "storage_failure", failure);
    field!(text, "storage_key_versions", stats.versions);
    field!(text, "storage_tables", tables);
    field!(text, "storage_table_bytes", table_bytes);
    for (number, level) in stats.levels.iter().enumerate() {
        let fields = format_args!("tables={},bytes={}", level.tables, level.bytes);
        super::info::line(text, format_args!("storage_level{number}:{fields}"));
    }
    field!(text, "storage_debt_bytes", stats.debt_bytes);
    field!(text, "storage_memtable_bytes", stats.memtable_bytes);
    field!(text, "storage_memtables_waiting", stats.frozen_memtables);
    field!(text, "storage_index_bytes", stats.index_bytes);
    field!(text, "storage_cache_bytes", stats.cache_bytes);
    field!(text, "storage_cache_hits", stats.cache_hits);
    field!(text, "storage_cache_misses", stats.cache_misses);
    field!(text, "storage_cache_hit_ratio", format_args!("{hit_ratio:.3}"));
    field!(text, "storage_logged_bytes", stats.logged_bytes);
    field!(text, "storage_flushed_bytes", stats.flushed_bytes);
    field!(text, "storage_merged_bytes", stats.merged_bytes);
    field!(text, "storage_write_amplification", format_args!("{:.2}", stats.write_amplification()));
    let (begun, waiting) = shared.workers.as_ref().map_or((0, 0), |workers| workers.figures());
    field!(text, "storage_requests_handed_over", begun);
    field!(text, "storage_requests_waiting", waiting);
    field!(text, "storage_stalls", stats.stalls);
    field!(text, "storage_stalled_usec", stats.stalled.as_micros());
}
