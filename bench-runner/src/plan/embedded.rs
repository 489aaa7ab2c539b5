//! Which cells does a scenario have for one driver program, and what comes before each?

use super::cells::{Unit, Who, cell, placement};
use super::label::{bytes, thousands, wire_label};
use super::step::{EmbeddedPhase, Work};
use crate::model::{Axes, Placement};
use crate::scenario::{Embedded, EmbeddedOperation, PlacementChoice, Rules};
use plumbkv_bench_driver::protocol::{Distribution, Order, Phase, Records, Until};

/// One unit per cell: a store that was read from before is not the one that was just loaded.
pub(super) fn embedded_units(sections: &[Embedded], who: Who<'_>, pinned: bool) -> Vec<Unit> {
    let placement = placement(PlacementChoice::Apart, pinned);
    sections
        .iter()
        .filter(|section| section.only().admits(who.profile, who.target, who.mode))
        .flat_map(|section| points(section, who, placement))
        .map(|phase| who.unit(placement, None, Work::Embedded { phase }))
        .collect()
}

/// The axes that may be absent; one combination of them.
#[derive(Clone, Copy)]
struct Point {
    value_bytes: u32,
    clients: u32,
    order: Option<Order>,
    distribution: Option<Distribution>,
    cache_bytes: Option<u64>,
    set_percent: Option<u32>,
}

fn points(section: &Embedded, who: Who<'_>, placement: Placement) -> Vec<EmbeddedPhase> {
    let mut points = vec![Point {
        value_bytes: 0,
        clients: 1,
        order: None,
        distribution: None,
        cache_bytes: None,
        set_percent: None,
    }];
    spread(&mut points, &section.value_bytes, |point, value| point.value_bytes = value);
    spread(&mut points, &section.clients, |point, value| point.clients = value);
    spread(&mut points, &section.order, |point, value| point.order = Some(value));
    spread(&mut points, &section.distribution, |point, value| point.distribution = Some(value));
    spread(&mut points, &section.cache_bytes, |point, value| point.cache_bytes = Some(value));
    spread(&mut points, &section.set_percent, |point, value| point.set_percent = Some(value));
    points.into_iter().map(|point| phase(section, point, who, placement)).collect()
}

/// Every point once for each value; as they are where there is none.
fn spread<T: Copy>(points: &mut Vec<Point>, values: &[T], set: impl Fn(&mut Point, T)) {
    if values.is_empty() {
        return;
    }
    *points = points
        .iter()
        .flat_map(|point| {
            values.iter().map(|value| {
                let mut point = *point;
                set(&mut point, *value);
                point
            })
        })
        .collect();
}

fn phase(section: &Embedded, point: Point, who: Who<'_>, placement: Placement) -> EmbeddedPhase {
    let rules = Rules::of(who.profile);
    let records = Records {
        count: section.records.of(who.profile),
        value_bytes: point.value_bytes,
        values: section.values,
    };
    let measured =
        measured(section, point, Until { seconds: rules.min_seconds, operations: rules.min_operations });
    let mut before = Vec::new();
    if section.operation != EmbeddedOperation::Load {
        before.push(Phase::Load { order: Order::Random, batch: section.batch, flush_every: None });
        let warm = Until { seconds: rules.warmup_s, operations: 0 };
        before.push(with_end(&measured, warm));
    }
    let order = point.order.filter(|order| *order == Order::Sequential).map(|_| "sequential");
    let zipf = point.distribution.filter(|drawn| *drawn == Distribution::Zipf).map(|_| "zipf");
    let axes = Axes {
        operation: section.operation.name().to_owned(),
        clients: section.operation.reads_only().then_some(point.clients),
        value_bytes: Some(point.value_bytes),
        set_percent: point.set_percent,
        keys: Some(records.count),
        distribution: order.or(zipf).map(str::to_owned),
        cache_bytes: point.cache_bytes,
        ..Axes::default()
    };
    // Beside servers that answer GET it is their very point of the axes.
    let beside = section.operation == EmbeddedOperation::Get;
    let axes = if beside { Axes { pipeline: Some(1), keys: None, ..axes } } else { axes };
    let label = if beside { wire_label(&axes, &[]) } else { label(section, point, records.count) };
    let cell = cell(who, placement, axes, label);
    EmbeddedPhase {
        cell,
        cache_bytes: point.cache_bytes,
        sync: section.sync,
        records,
        before,
        measured,
        timeout_s: rules.timeout_s.max(records.count as f64 / 10_000.0),
    }
}

fn measured(section: &Embedded, point: Point, until: Until) -> Phase {
    let order = point.order.unwrap_or(Order::Random);
    let distribution = point.distribution.unwrap_or(Distribution::Uniform);
    match section.operation {
        EmbeddedOperation::Load => Phase::Load { order, batch: section.batch, flush_every: None },
        EmbeddedOperation::ReadRandom | EmbeddedOperation::Get => {
            Phase::ReadRandom { distribution, threads: point.clients, absent: false, until }
        }
        EmbeddedOperation::ReadOrdered => Phase::ReadOrdered { until },
        EmbeddedOperation::Scan => Phase::Scan { records: section.scan_records, reverse: false, until },
        EmbeddedOperation::Write => Phase::Write { order, batch: section.batch, threads: 1, until },
        EmbeddedOperation::Mixed => {
            let read_percent = 100 - point.set_percent.unwrap_or(20).min(100);
            Phase::Mixed { read_percent, distribution, until }
        }
    }
}

/// The same work with another end.
fn with_end(phase: &Phase, end: Until) -> Phase {
    let mut phase = phase.clone();
    match &mut phase {
        Phase::Load { .. } | Phase::Settle | Phase::Compact => {}
        Phase::ReadRandom { until, .. }
        | Phase::ReadOrdered { until }
        | Phase::Scan { until, .. }
        | Phase::ScanAll { until, .. }
        | Phase::ScanPrefix { until, .. }
        | Phase::Write { until, .. }
        | Phase::Mixed { until, .. }
        | Phase::Ycsb { until, .. }
        | Phase::Reopen { until }
        | Phase::Flush { until, .. } => *until = end,
    }
    phase
}

/// `Random load of 200k × 100 B`, `Random reads of 200k × 100 B, 2 MiB cache`.
fn label(section: &Embedded, point: Point, count: u64) -> String {
    let zipf = point.distribution == Some(Distribution::Zipf);
    let sequential = point.order == Some(Order::Sequential);
    let what = match section.operation {
        EmbeddedOperation::Load if sequential => "Sequential load of".to_owned(),
        EmbeddedOperation::Load => "Random load of".to_owned(),
        EmbeddedOperation::ReadRandom if zipf => "Zipf reads of".to_owned(),
        EmbeddedOperation::ReadRandom | EmbeddedOperation::Get => "Random reads of".to_owned(),
        EmbeddedOperation::ReadOrdered => "Ordered reads of".to_owned(),
        EmbeddedOperation::Scan => format!("{}-record scans of", section.scan_records),
        EmbeddedOperation::Write if sequential => "Sequential overwrites of".to_owned(),
        EmbeddedOperation::Write => "Random overwrites of".to_owned(),
        EmbeddedOperation::Mixed => {
            format!("{} % overwrites among reads of", point.set_percent.unwrap_or(20))
        }
    };
    let mut label = format!("{what} {} × {}", thousands(count), bytes(u64::from(point.value_bytes)));
    match point.cache_bytes {
        Some(0) => label.push_str(", no cache"),
        Some(cache) => label.push_str(&format!(", {} cache", bytes(cache))),
        None => {}
    }
    match (section.operation.reads_only(), point.clients) {
        (true, 1) => label.push_str(", 1 client"),
        (true, clients) => label.push_str(&format!(", {clients} clients")),
        (false, _) => {}
    }
    label
}
