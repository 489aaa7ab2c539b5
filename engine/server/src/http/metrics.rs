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
    out.metric("build", "What runs", None, MetricType::Info, |metric| metric.encode_info(&build))?;
    let uptime = facts.started.elapsed().as_secs_f64();
    out.gauge("uptime", "Time since the start", Some(Unit::Seconds), uptime)?;
    let (user, system) = process::cpu_seconds().unwrap_or_default();
    let modes = [("user", user), ("system", system)];
    out.metric("cpu", "Processor time taken", Some(Unit::Seconds), MetricType::Counter, |metric| {
        modes.iter().try_for_each(|(mode, seconds)| count(metric, &[("mode", *mode)], *seconds))
    })
}

fn clients(shared: &Shared, out: &mut Writer<'_>) -> fmt::Result {
    let counters = &shared.counters;
    out.gauge("connected_clients", "Connections", None, shared.clients.count() as u64)?;
    out.gauge("clients_limit", "Connections that may be (maxclients)", None, shared.settings.max_clients())?;
    out.counter("connections", "Connections that came", None, counters.connections.get())?;
    out.counter(
        "connections_rejected",
        "Connections of them that were refused: too many, or protected mode",
        None,
        counters.rejected.get(),
    )?;
    let (bytes, received, sent) =
        (|| Some(Unit::Bytes), counters.input_bytes.get(), counters.output_bytes.get());
    out.counter("network_received", "Received from clients", bytes(), received)?;
    out.counter("network_sent", "Replied to clients", bytes(), sent)
}

fn commands(shared: &Shared, out: &mut Writer<'_>) -> fmt::Result {
    out.counter("commands", "Requests executed, of all commands", None, shared.command_stats.total_calls())?;
    let commands = shared.command_stats.commands();
    let mut by_command = |name, help, of: fn(&crate::tally::Calls) -> u64| {
        out.metric(name, help, None, MetricType::Counter, |metric| {
            let asked = commands.iter().filter(|(_, calls)| of(calls) > 0);
            asked
                .into_iter()
                .try_for_each(|(spec, calls)| count(metric, &[("command", spec.name)], of(calls)))
        })
    };
    by_command("command_calls", "Requests executed", |calls| calls.calls)?;
    by_command("command_failures", "Requests executed and answered by an error", |calls| calls.failed)?;
    by_command("command_rejections", "Requests refused before they were executed", |calls| calls.rejected)?;
    let codes = shared.command_stats.error_codes();
    out.metric("error_replies", "Error replies by their code", None, MetricType::Counter, |metric| {
        codes.iter().try_for_each(|(code, times)| count(metric, &[("code", code.as_str())], *times))
    })
}

fn store(shared: &Shared, out: &mut Writer<'_>) -> fmt::Result {
    let now = shared.database.stats();
    let stats = shared.counters.since_reset(now);
    out.gauge("keys", "Keys held", None, now.keys)?;
    // Which of a durable store's keys have one nobody knows without a walk.
    if !shared.database.is_durable() {
        out.gauge("keys_with_expiry", "Keys of them that carry an expiry", None, now.keys_with_expiry)?;
    }
    out.counter("evicted_keys", "Keys removed to make room", None, stats.evicted)?;
    out.counter("expired_keys", "Keys removed because their time was over", None, stats.expired)?;
    out.counter("refused_writes", "Writes refused for want of room", None, stats.refused)?;
    out.counter("keyspace_hits", "Reads that found their key", None, stats.hits)?;
    out.counter("keyspace_misses", "Reads that did not", None, stats.misses)?;
    let mut bytes = |name, help, value: u64| out.gauge(name, help, Some(Unit::Bytes), value);
    bytes("memory_used", "Memory accounted for against the limit", now.accounted_bytes)?;
    bytes("memory_used_peak", "The most of it so far", shared.peak_bytes())?;
    bytes("memory_dataset", "What keys and values take of it", now.entry_bytes)?;
    bytes("memory_clients", "Connections and their buffers", shared.client_memory.used(&shared.database))?;
    // Without a limit there is nothing to compare with, and the metric is absent.
    if now.cap_bytes != u64::MAX {
        bytes("memory_limit", "The cap on memory_used (maxmemory)", now.cap_bytes)?;
    }
    if let Some(resident) = process::resident_bytes() {
        bytes("memory_resident", "Memory of the process that is in RAM (RSS)", resident)?;
    }
    let startup = shared.state.startup().resident_bytes;
    bytes("memory_resident_startup", "RSS when connections were first served", startup)
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
