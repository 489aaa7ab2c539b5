//! What can be measured of the server? Every metric of `/metrics`, in the text format of [OpenMetrics](https://prometheus.io/docs/specs/om/open_metrics_spec/).
//!
//! Nothing is kept here: each scrape reads what INFO reads. So CONFIG RESETSTAT sets counters back, which Prometheus takes for a restart.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::command::admin::counting;
use crate::process;
use crate::shared::Shared;

/// The media type of [`write`]'s text.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of the server.
pub(super) fn registry(shared: Arc<Shared>) -> Registry {
    let mut registry = Registry::with_prefix("plumbkv");
    registry.register_collector(Box::new(Observed(shared)));
    registry
}

/// One scrape.
pub(super) fn write(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::new();
    encode(&mut text, registry)?;
    Ok(text)
}

struct Observed(Arc<Shared>);

impl fmt::Debug for Observed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Observed").finish_non_exhaustive()
    }
}

impl Collector for Observed {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Writer(encoder);
        process(&self.0, &mut out)?;
        clients(&self.0, &mut out)?;
        commands(&self.0, &mut out)?;
        store(&self.0, &mut out)?;
        super::storage::write(&self.0, &mut out)
    }
}

fn process(shared: &Shared, out: &mut Writer<'_>) -> fmt::Result {
    let facts = &shared.facts;
    let build = [("version", env!("CARGO_PKG_VERSION")), ("io_backend", facts.io_backend)];
    out.metric(
        "build",
        "Version of the server and back end of its event loop",
        None,
        MetricType::Info,
        |metric| metric.encode_info(&build),
    )?;
    let uptime = facts.started.elapsed().as_secs_f64();
    out.gauge("uptime", "Time since the start of the process", Some(Unit::Seconds), uptime)?;
    let (user, system) = process::cpu_seconds().unwrap_or_default();
    let modes = [("user", user), ("system", system)];
    out.metric(
        "cpu",
        "CPU time of the process, by mode",
        Some(Unit::Seconds),
        MetricType::Counter,
        |metric| modes.iter().try_for_each(|(mode, seconds)| count(metric, &[("mode", *mode)], *seconds)),
    )
}

fn clients(shared: &Shared, out: &mut Writer<'_>) -> fmt::Result {
    let counters = &shared.counters;
    out.gauge("connected_clients", "Open client connections", None, shared.clients.count() as u64)?;
    out.gauge(
        "clients_limit",
        "Maximum number of client connections (maxclients)",
        None,
        shared.settings.max_clients(),
    )?;
    out.counter(
        "connections",
        "Connections accepted or refused since the start",
        None,
        counters.connections.get(),
    )?;
    out.counter(
        "connections_rejected",
        "Connections refused, by maxclients or by protected mode",
        None,
        counters.rejected.get(),
    )?;
    let (bytes, received, sent) =
        (|| Some(Unit::Bytes), counters.input_bytes.get(), counters.output_bytes.get());
    out.counter("network_received", "Bytes received from clients", bytes(), received)?;
    out.counter("network_sent", "Bytes sent to clients", bytes(), sent)
}

fn commands(shared: &Shared, out: &mut Writer<'_>) -> fmt::Result {
    out.counter(
        "commands",
        "Requests executed, all commands together",
        None,
        shared.command_stats.total_calls(),
    )?;
    let commands = shared.command_stats.commands();
    let mut by_command = |name, help, of: fn(&crate::tally::Calls) -> u64| {
        out.metric(name, help, None, MetricType::Counter, |metric| {
            let asked = commands.iter().filter(|(_, calls)| of(calls) > 0);
            asked
                .into_iter()
                .try_for_each(|(spec, calls)| count(metric, &[("command", spec.name)], of(calls)))
        })
    };
    by_command("command_calls", "Requests executed, by command", |calls| calls.calls)?;
    by_command("command_failures", "Requests executed and answered with an error, by command", |calls| {
        calls.failed
    })?;
    by_command(
        "command_rejections",
        "Requests refused before execution, by command: wrong number of arguments, not authenticated, or not permitted",
        |calls| calls.rejected,
    )?;
    let codes = shared.command_stats.error_codes();
    out.metric(
        "error_replies",
        "Error replies, by the first word of the error",
        None,
        MetricType::Counter,
        |metric| codes.iter().try_for_each(|(code, times)| count(metric, &[("code", code.as_str())], *times)),
    )
}

fn store(shared: &Shared, out: &mut Writer<'_>) -> fmt::Result {
    let now = shared.database.stats();
    let stats = shared.counters.since_reset(now);
    // A damaged store has no count; its error is in the log.
    if let Ok(count) = counting::all_at_once(&shared.database) {
        out.gauge(
            "keys",
            "Keys in the store; with --data an estimate where a count would take long",
            None,
            count.keys,
        )?;
        if count.is_exact {
            out.gauge(
                "keys_with_expiry",
                "Keys with an expiration time; absent where plumbkv_keys is an estimate",
                None,
                count.with_expiry,
            )?;
        }
    }
    out.counter("evicted_keys", "Keys evicted to make room", None, stats.evicted)?;
    out.counter("expired_keys", "Keys removed because they expired", None, stats.expired)?;
    out.counter("refused_writes", "Writes refused because memory was full", None, stats.refused)?;
    out.counter("keyspace_hits", "Lookups that found their key", None, stats.hits)?;
    out.counter("keyspace_misses", "Lookups that did not find their key", None, stats.misses)?;
    let mut bytes = |name, help, value: u64| out.gauge(name, help, Some(Unit::Bytes), value);
    bytes("memory_used", "Memory accounted against the cap", now.accounted_bytes)?;
    bytes("memory_used_peak", "Peak of plumbkv_memory_used_bytes", shared.peak_bytes())?;
    bytes("memory_dataset", "Memory of keys and values", now.entry_bytes)?;
    bytes(
        "memory_clients",
        "Memory of connections and their buffers",
        shared.client_memory.used(&shared.database),
    )?;
    // Without a limit there is nothing to compare with, and the metric is absent.
    if now.cap_bytes != u64::MAX {
        bytes(
            "memory_limit",
            "Cap on plumbkv_memory_used_bytes (maxmemory); absent without a cap",
            now.cap_bytes,
        )?;
    }
    if let Some(resident) = process::resident_bytes() {
        bytes("memory_resident", "Resident memory of the process (RSS)", resident)?;
    }
    let startup = shared.state.startup().resident_bytes;
    bytes(
        "memory_resident_startup",
        "RSS when the server became ready; the cap bounds the growth from here",
        startup,
    )
}

/// Writes metrics one after the other.
pub(super) struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    fn metric(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        kind: MetricType,
        write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        write(&mut self.0.encode_descriptor(name, help, unit.as_ref(), kind)?)
    }

    pub(super) fn gauge(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        value: impl EncodeGaugeValue,
    ) -> fmt::Result {
        self.metric(name, help, unit, MetricType::Gauge, |metric| metric.encode_gauge(&value))
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, unit: Option<Unit>, value: u64) -> fmt::Result {
        self.metric(name, help, unit, MetricType::Counter, |metric| {
            metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
        })
    }
}

/// One counter of several, told apart by a label.
fn count(
    metric: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    value: impl prometheus_client::encoding::EncodeCounterValue,
) -> fmt::Result {
    metric.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)
}
