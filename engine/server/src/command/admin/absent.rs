//! What does INFO say of what this server does not have? What Redis says where it was never used. Monitoring programs and test suites read these fields, and each
//! value is true here: nothing was replicated, saved by a fork, or moved by a defragmenter.

use std::fmt::Write as _;

/// Fields and their values, by section.
const FIELDS: [(&str, &[(&str, &str)]); 6] = [
    (
        "Server",
        &[
            ("redis_git_sha1", "00000000"),
            ("redis_git_dirty", "0"),
            ("monotonic_clock", "POSIX clock_gettime"),
            ("process_supervised", "no"),
        ],
    ),
    ("Clients", &[("cluster_connections", "0"), ("clients_in_timeout_table", "0")]),
    (
        "Memory",
        &[
            ("number_of_functions", "0"),
            ("number_of_libraries", "0"),
            ("mem_not_counted_for_evict", "0"),
            ("mem_total_replication_buffers", "0"),
            ("mem_clients_slaves", "0"),
            ("mem_cluster_links", "0"),
            ("mem_replication_backlog", "0"),
            ("mem_aof_buffer", "0"),
            ("active_defrag_running", "0"),
            ("lazyfree_pending_objects", "0"),
            ("lazyfreed_objects", "0"),
        ],
    ),
    (
        "Persistence",
        &[
            ("async_loading", "0"),
            ("current_cow_peak", "0"),
            ("current_cow_size", "0"),
            ("current_cow_size_age", "0"),
            ("current_fork_perc", "0.00"),
            ("current_save_keys_processed", "0"),
            ("current_save_keys_total", "0"),
            ("rdb_last_bgsave_status", "ok"),
            ("rdb_last_bgsave_time_sec", "-1"),
            ("rdb_current_bgsave_time_sec", "-1"),
            ("rdb_saves", "0"),
            ("rdb_last_cow_size", "0"),
            ("rdb_last_load_keys_expired", "0"),
            ("rdb_last_load_keys_loaded", "0"),
            ("aof_rewrite_scheduled", "0"),
            ("aof_last_rewrite_time_sec", "-1"),
            ("aof_current_rewrite_time_sec", "-1"),
            ("aof_last_bgrewrite_status", "ok"),
            ("aof_rewrites", "0"),
            ("aof_rewrites_consecutive_failures", "0"),
            ("aof_last_write_status", "ok"),
            ("aof_last_cow_size", "0"),
            ("module_fork_in_progress", "0"),
            ("module_fork_last_cow_size", "0"),
        ],
    ),
    (
        "Stats",
        &[
            ("total_net_repl_input_bytes", "0"),
            ("total_net_repl_output_bytes", "0"),
            ("instantaneous_input_repl_kbps", "0.00"),
            ("instantaneous_output_repl_kbps", "0.00"),
            ("sync_full", "0"),
            ("sync_partial_ok", "0"),
            ("sync_partial_err", "0"),
            ("evicted_clients", "0"),
            ("pubsub_channels", "0"),
            ("pubsub_patterns", "0"),
            ("pubsubshard_channels", "0"),
            ("latest_fork_usec", "0"),
            ("total_forks", "0"),
            ("migrate_cached_sockets", "0"),
            ("slave_expires_tracked_keys", "0"),
            ("active_defrag_hits", "0"),
            ("active_defrag_misses", "0"),
            ("active_defrag_key_hits", "0"),
            ("active_defrag_key_misses", "0"),
            ("total_active_defrag_time", "0"),
            ("current_active_defrag_time", "0"),
        ],
    ),
    ("CPU", &[("used_cpu_sys_children", "0.000000"), ("used_cpu_user_children", "0.000000")]),
];

/// Writes those of a section.
pub(super) fn fields(section: &str, text: &mut String) {
    let of_section = FIELDS.iter().filter(|(name, _)| *name == section).flat_map(|(_, fields)| *fields);
    for (name, value) in of_section {
        // Writing to a String cannot fail.
        let _ = write!(text, "{name}:{value}\r\n");
    }
}
