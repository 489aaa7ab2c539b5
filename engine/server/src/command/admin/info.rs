//! What does INFO say? Redis's field names, and only fields that are true of this server.

use std::fmt::Write as _;

use super::config::show_cap;
use crate::allocator;
use crate::command::args::{Arguments, is};
use crate::process;
use crate::shared::Shared;

type Section = fn(&Shared, &mut String);

const SECTIONS: [(&str, Section); 8] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Stats", stats),
    ("Replication", replication),
    ("CPU", cpu),
    ("Cluster", cluster),
    ("Keyspace", keyspace),
];

/// The text of INFO for the named sections, or of all when none is named.
pub(crate) fn compose(shared: &Shared, wanted: Arguments<'_>) -> String {
    let everything = wanted.len() == 0
        || wanted.into_iter().any(|name| ["all", "default", "everything"].iter().any(|all| is(name, all)));
    let mut text = String::new();
    for (name, write) in SECTIONS {
        if everything || wanted.into_iter().any(|word| is(word, name)) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            line(&mut text, format_args!("# {name}"));
            write(shared, &mut text);
        }
    }
    text
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(content);
    text.push_str("\r\n");
}

macro_rules! field {
    ($text:expr, $name:literal, $value:expr) => {
        line($text, format_args!(concat!($name, ":{}"), $value))
    };
}

fn server(shared: &Shared, text: &mut String) {
    let facts = &shared.facts;
    let uptime = facts.started.elapsed().as_secs();
    // Clients choose features by this number: the Redis version whose commands and texts are followed.
    field!(text, "redis_version", "7.0.15");
    field!(text, "plumbkv_version", env!("CARGO_PKG_VERSION"));
    field!(text, "redis_mode", "standalone");
    field!(text, "os", facts.system);
    field!(text, "arch_bits", usize::BITS);
    field!(text, "multiplexing_api", facts.io_backend);
    field!(text, "io_backend", facts.io_backend);
    field!(text, "io_threads", 1);
    field!(text, "process_id", std::process::id());
    field!(text, "run_id", facts.run_id);
    field!(text, "tcp_port", facts.tcp_port);
    field!(text, "server_time_usec", process::unix_time_us());
    field!(text, "uptime_in_seconds", uptime);
    field!(text, "uptime_in_days", uptime / 86_400);
    field!(text, "executable", facts.executable);
    field!(text, "config_file", facts.config_file);
}

fn clients(shared: &Shared, text: &mut String) {
    field!(text, "connected_clients", shared.clients.count());
    field!(text, "maxclients", shared.settings.max_clients());
    field!(text, "blocked_clients", 0);
}

fn memory(shared: &Shared, text: &mut String) {
    let stats = shared.database.stats();
    let resident = process::resident_bytes().unwrap_or(0);
    field!(text, "used_memory", stats.accounted_bytes);
    field!(text, "used_memory_human", human(stats.accounted_bytes));
    field!(text, "used_memory_rss", resident);
    field!(text, "used_memory_rss_human", human(resident));
    field!(text, "used_memory_startup_rss", shared.facts.startup_resident_bytes);
    let cap = show_cap(stats.cap_bytes);
    field!(text, "maxmemory", cap);
    field!(text, "maxmemory_human", human(cap));
    field!(text, "maxmemory_policy", stats.policy);
    field!(text, "maxmemory_shards", stats.shards);
    field!(text, "mem_clients_normal", shared.client_memory.used(&shared.database));
    field!(text, "mem_allocator", allocator::name());
}

fn stats(shared: &Shared, text: &mut String) {
    let counters = &shared.counters;
    let stats = counters.since_reset(shared.database.stats());
    field!(text, "total_connections_received", counters.connections.get());
    field!(text, "total_commands_processed", counters.commands.get());
    field!(text, "instantaneous_ops_per_sec", counters.operations_per_second());
    field!(text, "total_net_input_bytes", counters.input_bytes.get());
    field!(text, "total_net_output_bytes", counters.output_bytes.get());
    field!(text, "rejected_connections", counters.rejected.get());
    field!(text, "expired_keys", stats.expired);
    field!(text, "evicted_keys", stats.evicted);
    field!(text, "refused_writes", stats.refused);
    field!(text, "keyspace_hits", stats.hits);
    field!(text, "keyspace_misses", stats.misses);
    field!(text, "total_error_replies", counters.error_replies.get());
}

fn replication(_: &Shared, text: &mut String) {
    field!(text, "role", "master");
    field!(text, "connected_slaves", 0);
}

fn cpu(_: &Shared, text: &mut String) {
    let (user, system) = process::cpu_seconds().unwrap_or((0.0, 0.0));
    field!(text, "used_cpu_sys", format_args!("{system:.6}"));
    field!(text, "used_cpu_user", format_args!("{user:.6}"));
}

fn cluster(_: &Shared, text: &mut String) {
    field!(text, "cluster_enabled", 0);
}

fn keyspace(shared: &Shared, text: &mut String) {
    let stats = shared.database.stats();
    if stats.keys > 0 {
        line(text, format_args!("db0:keys={},expires={},avg_ttl=0", stats.keys, stats.keys_with_expiry));
    }
}

/// Bytes as Redis prints them for people: `1.42M`.
fn human(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "K", "M", "G"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes}B") } else { format!("{value:.2}{unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.2}T")
}
