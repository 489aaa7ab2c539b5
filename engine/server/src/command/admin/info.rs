//! What does INFO say? Redis's field names, and only values that are true of this server.

use std::fmt::{self, Write as _};
use std::path::Path;

use plumbkv::{Error, KeyCount, Lifetime, MemoryLimit};

use super::config::show_cap;
use super::{absent, counting, storage};
use crate::command::CommandError;
use crate::command::args::{Arguments, is};
use crate::databases::{self, Keys};
use crate::reactor::TICK;
use crate::shared::Shared;
use crate::tally::Calls;
use crate::{allocator, process};

type Section = fn(&Shared, &mut String);

/// All but the last one, which can fail.
const SECTIONS: [(&str, Section); 11] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Storage", storage::section),
    ("Stats", stats),
    ("Replication", replication),
    ("CPU", cpu),
    (COMMAND_STATS, command_stats),
    ("Errorstats", error_stats),
    ("Cluster", cluster),
];

const KEYSPACE: &str = "Keyspace";

/// The one section that INFO alone leaves out, as in Redis.
const COMMAND_STATS: &str = "Commandstats";

/// Keys looked at for `avg_ttl`.
const TTL_SAMPLES: usize = 64;

/// The text of INFO for the named sections, or of all when none is named.
///
/// # Errors
/// Keys of a durable store cannot be counted, or not by this thread.
pub(crate) fn compose(shared: &Shared, wanted: Arguments<'_>) -> Result<String, CommandError> {
    let is_named = |names: &[&str]| wanted.into_iter().any(|word| names.iter().any(|name| is(word, name)));
    let everything = is_named(&["all", "everything"]);
    let default = wanted.len() == 0 || is_named(&["default"]);
    let is_wanted = |name| everything || (default && name != COMMAND_STATS) || is_named(&[name]);
    let mut text = String::new();
    // First what may have to be asked again by another thread. Only who asks for this section waits for the disk.
    let count = if is_named(&[KEYSPACE]) { counting::exactly } else { counting::at_once };
    let keyspace = if is_wanted(KEYSPACE) { Some(keyspace(shared, count)?) } else { None };
    for (name, write) in SECTIONS {
        if is_wanted(name) {
            head(&mut text, name);
            write(shared, &mut text);
            absent::fields(name, &mut text);
        }
    }
    if let Some(keyspace) = keyspace {
        head(&mut text, KEYSPACE);
        text.push_str(&keyspace);
    }
    Ok(text)
}

fn head(text: &mut String, name: &str) {
    if !text.is_empty() {
        text.push_str("\r\n");
    }
    line(text, format_args!("# {name}"));
}

pub(super) fn line(text: &mut String, content: fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(content);
    text.push_str("\r\n");
}

macro_rules! field {
    ($text:expr, $name:literal, $value:expr) => {
        $crate::command::admin::info::line($text, format_args!(concat!($name, ":{}"), $value))
    };
}
pub(super) use field;

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
    field!(text, "io_threads", facts.io_threads);
    field!(text, "process_id", std::process::id());
    field!(text, "run_id", facts.run_id);
    field!(text, "tcp_port", facts.tcp_port);
    field!(text, "server_time_usec", process::unix_time_us());
    field!(text, "uptime_in_seconds", uptime);
    field!(text, "uptime_in_days", uptime / 86_400);
    field!(text, "hz", 1000 / TICK.as_millis());
    field!(text, "configured_hz", 1000 / TICK.as_millis());
    // Seconds of the Unix time, as far as Redis's 24 bits for an access go.
    field!(text, "lru_clock", (process::unix_time_us() / 1_000_000) & 0xff_ffff);
    field!(text, "io_threads_active", u8::from(facts.io_threads > 1));
    field!(text, "executable", facts.executable);
    let config_file = facts.config_file.as_ref().map(|path| path.display().to_string());
    field!(text, "config_file", config_file.unwrap_or_default());
    field!(text, "http_address", facts.http_address);
}

fn clients(shared: &Shared, text: &mut String) {
    field!(text, "connected_clients", shared.clients.count());
    field!(text, "maxclients", shared.settings.max_clients());
    let (input, output) = shared.clients.longest_buffers();
    field!(text, "client_recent_max_input_buffer", input);
    field!(text, "client_recent_max_output_buffer", output);
    field!(text, "blocked_clients", 0);
    field!(text, "tracking_clients", shared.tracking.counts().clients);
}

fn memory(shared: &Shared, text: &mut String) {
    let stats = shared.database.stats();
    let resident = process::resident_bytes().unwrap_or(0);
    let used = stats.accounted_bytes;
    let (peak, startup) = (shared.peak_bytes(), shared.state.startup());
    let data = used.saturating_sub(startup.accounted_bytes).max(1);
    let system = MemoryLimit::of_machine(Path::new("/")).map_or(0, |machine| machine.bytes);
    field!(text, "used_memory", used);
    field!(text, "used_memory_human", human(used));
    field!(text, "used_memory_rss", resident);
    field!(text, "used_memory_rss_human", human(resident));
    field!(text, "used_memory_peak", peak);
    field!(text, "used_memory_peak_human", human(peak));
    field!(text, "used_memory_peak_perc", Percent(used, peak));
    field!(text, "used_memory_overhead", used.saturating_sub(stats.entry_bytes));
    field!(text, "used_memory_startup", startup.accounted_bytes);
    field!(text, "used_memory_startup_rss", startup.resident_bytes);
    field!(text, "used_memory_dataset", stats.entry_bytes);
    field!(text, "used_memory_dataset_perc", Percent(stats.entry_bytes.min(data), data));
    field!(text, "total_system_memory", system);
    field!(text, "total_system_memory_human", human(system));
    let cap = show_cap(stats.cap_bytes);
    field!(text, "maxmemory", cap);
    field!(text, "maxmemory_human", human(cap));
    field!(text, "maxmemory_policy", stats.policy);
    field!(text, "maxmemory_shards", stats.shards);
    field!(text, "mem_fragmentation_ratio", format_args!("{:.2}", resident as f64 / used.max(1) as f64));
    field!(text, "mem_fragmentation_bytes", resident as i64 - used as i64);
    field!(text, "mem_clients_normal", shared.client_memory.used(&shared.database));
    field!(text, "mem_allocator", allocator::name());
    field!(text, "number_of_cached_scripts", shared.scripts.count());
    let scripts = shared.scripts.bytes();
    field!(text, "used_memory_scripts", scripts);
    field!(text, "used_memory_scripts_human", human(scripts));
    field!(text, "used_memory_scripts_eval", scripts);
}

fn persistence(_: &Shared, text: &mut String) {
    // Redis's two ways of saving; the store's own is below # Storage. A server that answers has loaded everything.
    field!(text, "loading", 0);
    field!(text, "rdb_bgsave_in_progress", 0);
    field!(text, "aof_enabled", 0);
    field!(text, "aof_rewrite_in_progress", 0);
}

fn stats(shared: &Shared, text: &mut String) {
    let counters = &shared.counters;
    let rates = counters.per_second();
    let stats = counters.since_reset(shared.database.stats());
    field!(text, "total_connections_received", counters.connections.get());
    field!(text, "total_commands_processed", shared.command_stats.total_calls());
    field!(text, "slowest_command_usec", counters.slowest_us());
    field!(text, "instantaneous_ops_per_sec", rates.commands);
    field!(text, "total_net_input_bytes", counters.input_bytes.get());
    field!(text, "total_net_output_bytes", counters.output_bytes.get());
    field!(text, "instantaneous_input_kbps", Kilobytes(rates.input_bytes));
    field!(text, "instantaneous_output_kbps", Kilobytes(rates.output_bytes));
    field!(text, "rejected_connections", counters.rejected.get());
    field!(text, "expired_keys", stats.expired);
    field!(text, "evicted_keys", stats.evicted);
    field!(text, "refused_writes", stats.refused);
    field!(text, "keyspace_hits", stats.hits);
    field!(text, "keyspace_misses", stats.misses);
    field!(text, "total_error_replies", shared.command_stats.error_replies());
    let tracked = shared.tracking.counts();
    field!(text, "tracking_total_keys", tracked.keys);
    field!(text, "tracking_total_items", tracked.items);
    field!(text, "tracking_total_prefixes", tracked.prefixes);
}

/// A master without replicas: its replication ID is the run ID, and there is no backlog.
fn replication(shared: &Shared, text: &mut String) {
    field!(text, "role", "master");
    field!(text, "connected_slaves", 0);
    field!(text, "master_failover_state", "no-failover");
    field!(text, "master_replid", shared.facts.run_id);
    field!(text, "master_replid2", "0".repeat(40));
    field!(text, "master_repl_offset", 0);
    field!(text, "second_repl_offset", -1);
    field!(text, "repl_backlog_active", 0);
    field!(text, "repl_backlog_size", 0);
    field!(text, "repl_backlog_first_byte_offset", 0);
    field!(text, "repl_backlog_histlen", 0);
}

fn cpu(_: &Shared, text: &mut String) {
    let (user, system) = process::cpu_seconds().unwrap_or((0.0, 0.0));
    field!(text, "used_cpu_sys", format_args!("{system:.6}"));
    field!(text, "used_cpu_user", format_args!("{user:.6}"));
    let (user, system) = process::main_thread_cpu_seconds().unwrap_or((0.0, 0.0));
    field!(text, "used_cpu_sys_main_thread", format_args!("{system:.6}"));
    field!(text, "used_cpu_user_main_thread", format_args!("{user:.6}"));
}

fn command_stats(shared: &Shared, text: &mut String) {
    for (spec, calls) in shared.command_stats.commands() {
        let usec = calls.time_ns / 1000;
        let each = calls.time_ns as f64 / 1000.0 / calls.calls.max(1) as f64;
        let Calls { calls, rejected, failed, .. } = calls;
        line(
            text,
            format_args!(
                "cmdstat_{}:calls={calls},usec={usec},usec_per_call={each:.2},rejected_calls={rejected},failed_calls={failed}",
                spec.name
            ),
        );
    }
}

fn error_stats(shared: &Shared, text: &mut String) {
    for (code, count) in shared.command_stats.error_codes() {
        line(text, format_args!("errorstat_{code}:count={count}"));
    }
}

fn cluster(_: &Shared, text: &mut String) {
    field!(text, "cluster_enabled", 0);
}

/// Where the count is no exact one, nothing is said of expiries.
fn keyspace(shared: &Shared, count: fn(Keys<'_>) -> Result<KeyCount, Error>) -> Result<String, CommandError> {
    let (mut text, mut all_are_exact) = (String::new(), true);
    for number in 0..databases::COUNT {
        let keys_of = Keys::new(&shared.database, shared.databases.keyspace(number));
        let KeyCount { keys, with_expiry, mean_left_ms, is_exact, .. } = count(keys_of)?;
        if keys > 0 {
            let is_durable = shared.database.is_durable();
            let ttl_ms = if is_durable || with_expiry == 0 { mean_left_ms } else { mean_ttl_ms(keys_of) };
            line(&mut text, format_args!("db{number}:keys={keys},expires={with_expiry},avg_ttl={ttl_ms}"));
        }
        all_are_exact &= is_exact;
    }
    if !all_are_exact {
        field!(&mut text, "keys_are_an_estimate", 1);
    }
    Ok(text)
}

/// The mean time that some keys still have, in milliseconds: an estimate, as Redis's is. 0 where none of them ends.
fn mean_ttl_ms(keys_of: Keys<'_>) -> u64 {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    // A cursor that no call has returned starts somewhere; the second look is for a start near the end.
    for cursor in [fastrand::u64(..), 0] {
        if keys.len() < TTL_SAMPLES {
            let wanted = TTL_SAMPLES - keys.len();
            let _ = keys_of.scan(cursor, wanted, &mut |key| keys.push(key.to_vec()));
        }
    }
    let now_ms = keys_of.now_ms();
    let left = keys.iter().filter_map(|key| match keys_of.expiry(key) {
        Ok(Lifetime::Until(end_ms)) => Some(end_ms.saturating_sub(now_ms)),
        _ => None,
    });
    let left: Vec<u64> = left.collect();
    // Two keys may end so late that no 64 bits have the sum.
    let sum: u128 = left.iter().copied().map(u128::from).sum();
    sum.checked_div(left.len() as u128).unwrap_or(0) as u64
}

/// A share of a whole as Redis prints it: `12.34%`.
struct Percent(u64, u64);

impl fmt::Display for Percent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.2}%", self.0 as f64 * 100.0 / self.1.max(1) as f64)
    }
}

/// Bytes as thousands of bytes: `1.02`.
struct Kilobytes(u64);

impl fmt::Display for Kilobytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.2}", self.0 as f64 / 1024.0)
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
