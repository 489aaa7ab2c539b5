//! Which cells does a scenario have for one driver program, which process measures them, and what comes before each?

use super::cells::{Unit, Who, cell, placement};
use super::driven::{EmbeddedPart, EmbeddedWork, EngineWanted, Pace, StoreKey, StoreUse};
use super::embedded_label::{Point, label};
use super::label::wire_label;
use super::step::{CellKey, Work};
use crate::model::{Axes, Placement};
use crate::scenario::{
    Embedded, EmbeddedOperation, PerProfile, PlacementChoice, Rules, StoreChoice, USUAL_BATCH,
};
use plumbkv_bench_driver::protocol::{Distribution, KeySchema, Order, Phase, Records, SyncMode, Until};

/// Records that are written after loading and before a kill, so that there is a log to read.
const IN_THE_LOG: u64 = 5_000;

/// Scans of an empty store: a handful, of which the median counts.
const EMPTY_SCANS: u64 = 5;

/// What all units of a plan have in common.
#[derive(Clone, Copy)]
pub(super) struct Common {
    /// Whether target and generator can have a CPU each.
    pub(super) pinned: bool,
    /// Seed of every stored directory.
    pub(super) store_seed: u64,
    /// Of the target.
    pub(super) pace: Pace,
    /// Of the scenario.
    pub(super) trials: u32,
}

/// A unit per cell on a store of its own; cells that open one stored directory alike share a unit.
pub(super) fn embedded_units(sections: &[Embedded], who: Who<'_>, common: Common) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for section in sections.iter().filter(|section| section.only().admits(who.profile, who.target, who.mode))
    {
        for point in points(section) {
            let unit = unit(section, point, who, common);
            match units.iter_mut().find(|other| joins(other, &unit)) {
                Some(other) => absorb(other, unit),
                None => units.push(unit),
            }
        }
    }
    units
}

/// Whether the cells of both can be measured in one process: they open the same stored directory in the same way.
fn joins(one: &Unit, other: &Unit) -> bool {
    let (Work::Embedded { work: mine }, Work::Embedded { work: theirs }) = (&one.work, &other.work) else {
        return false;
    };
    mine.store != StoreUse::Fresh
        && (one.placement, one.memory_limit_bytes, one.trials)
            == (other.placement, other.memory_limit_bytes, other.trials)
        && (&mine.store, mine.engine, &mine.before) == (&theirs.store, theirs.engine, &theirs.before)
}

fn absorb(unit: &mut Unit, more: Unit) {
    if let (Work::Embedded { work }, Work::Embedded { work: more }) = (&mut unit.work, more.work) {
        work.parts.extend(more.parts);
        work.timeout_s = work.timeout_s.max(more.timeout_s);
    }
}

fn points(section: &Embedded) -> Vec<Point> {
    let mut points = vec![Point::default()];
    spread(&mut points, &section.value_bytes, |point, value| point.value_bytes = value);
    spread(&mut points, &section.sync, |point, value| point.sync = value);
    spread(&mut points, &section.clients, |point, value| point.clients = value);
    spread(&mut points, &section.batch, |point, value| point.batch = value);
    spread(&mut points, &section.order, |point, value| point.order = Some(value));
    spread(&mut points, &section.distribution, |point, value| point.distribution = Some(value));
    spread(&mut points, &section.cache_bytes, |point, value| point.cache_bytes = Some(value));
    spread(&mut points, &section.set_percent, |point, value| point.set_percent = Some(value));
    points
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

fn unit(section: &Embedded, point: Point, who: Who<'_>, common: Common) -> Unit {
    let placement = placement(section.placement.unwrap_or(PlacementChoice::Apart), common.pinned);
    let records = Records {
        count: section.records.of(who.profile),
        value_bytes: point.value_bytes,
        values: section.values,
        keys: section.keys,
    };
    let profile = section.engine_profile.unwrap_or_default();
    let store = store(section, records, who, common);
    let (before, parts) = phases(section, point, records, who, placement);
    let work = EmbeddedWork {
        engine: EngineWanted {
            cache_bytes: point.cache_bytes,
            sync: point.sync,
            profile,
            hold_merges: section.hold_merges,
        },
        records,
        store,
        releases: false,
        draw_seed: 0,
        before,
        killed: section.killed,
        parts,
        pace: common.pace,
        timeout_s: timeout_s(section, records, who),
    };
    let unit = who.unit(placement, None, Work::Embedded { work: Box::new(work) });
    Unit {
        memory_limit_bytes: section.memory_limit_bytes,
        // As many as the scenario has are no trials of its own: its cells may share a process with others.
        trials: section.trials.map(|own| own.of(who.profile)).filter(|own| *own != common.trials),
        ..unit
    }
}

/// A phase that lasts by the clock is no timeout while it lasts; rounds of overwrites take as long as so many loads.
fn timeout_s(section: &Embedded, records: Records, who: Who<'_>) -> f64 {
    let of = |given: Option<PerProfile<f64>>| given.map_or(0.0, |own| own.of(who.profile));
    let own_s = of(section.seconds).max(of(section.rest_seconds)) * 1.5 + 60.0;
    let rounds = f64::from(section.rounds.unwrap_or(1));
    Rules::of(who.profile).timeout_s.max(records.count as f64 * rounds / 10_000.0).max(own_s)
}

fn store(section: &Embedded, records: Records, who: Who<'_>, common: Common) -> StoreUse {
    let key = || StoreKey {
        target: who.target.to_owned(),
        records,
        order: common.pace.kept,
        batch: USUAL_BATCH,
        profile: section.engine_profile.unwrap_or_default(),
        memory_limit_bytes: section.memory_limit_bytes.filter(|_| section.load_limited),
        seed: common.store_seed,
    };
    match section.store {
        StoreChoice::Fresh => StoreUse::Fresh,
        StoreChoice::Kept => StoreUse::Kept(key()),
        StoreChoice::Copy => StoreUse::Copy(key()),
    }
}

/// What is done once before everything else, and the cells.
fn phases(
    section: &Embedded,
    point: Point,
    records: Records,
    who: Who<'_>,
    placement: Placement,
) -> (Vec<Phase>, Vec<EmbeddedPart>) {
    let rules = Rules::of(who.profile);
    let operation = section.operation;
    let seconds = section.seconds.map_or(rules.min_seconds, |own| own.of(who.profile));
    // A thousand waits for the device are enough for their 99th percentile, and take a second of a slow one.
    let waits = if point.sync == SyncMode::Always { 10 } else { 1 };
    let until = Until { seconds, operations: (rules.min_operations / waits).max(1) };
    let warm_s = section.warmup_seconds.map_or(rules.warmup_s, |own| own.of(who.profile));
    let axes = axes(section, point, records.count);
    let part = |name: &str, before: Vec<Phase>, measured: Vec<Phase>| {
        let axes = Axes { operation: name.to_owned(), ..axes.clone() };
        let text = if operation == EmbeddedOperation::Get {
            wire_label(&axes, &[])
        } else {
            label(section, name, point, records.count)
        };
        EmbeddedPart { cell: cell(who, placement, axes, text), before, measured }
    };
    let load = Phase::Load {
        order: if section.killed || section.flush_every.is_some() {
            Order::Sequential
        } else {
            Order::Random
        },
        batch: USUAL_BATCH,
        flush_every: section.flush_every,
    };
    let fresh = section.store == StoreChoice::Fresh;
    let name = operation.name();
    match operation {
        EmbeddedOperation::Load => {
            let order = point.order.unwrap_or(Order::Random);
            let load = Phase::Load { order, batch: point.batch, flush_every: section.flush_every };
            (Vec::new(), vec![part(name, Vec::new(), vec![load, Phase::Settle])])
        }
        EmbeddedOperation::Flush => {
            let flush = Phase::Flush { records: records.count, until: few(until) };
            (Vec::new(), vec![part(name, Vec::new(), vec![flush])])
        }
        EmbeddedOperation::Open => {
            let mut before = if fresh { vec![load] } else { Vec::new() };
            if section.killed {
                let until = Until { seconds: 0.0, operations: IN_THE_LOG };
                before.push(Phase::Write {
                    order: Order::Random,
                    batch: 100,
                    threads: 1,
                    watched: false,
                    until,
                });
                return (before, vec![part("open_killed", Vec::new(), Vec::new())]);
            }
            (before, vec![part(name, Vec::new(), vec![Phase::Reopen { until: few(until) }])])
        }
        EmbeddedOperation::Queue => {
            let rest_seconds = section.rest_seconds.map_or(0.0, |own| own.of(who.profile));
            let queue = Phase::Queue { window: section.window, seconds };
            let scan =
                Phase::EmptyScan { rest_seconds, until: Until { seconds: 0.0, operations: EMPTY_SCANS } };
            (Vec::new(), vec![part(name, Vec::new(), vec![queue, scan])])
        }
        EmbeddedOperation::DeleteRange => {
            let delete = Phase::DeleteRange { first: records.count / 10, records: records.count / 10 * 8 };
            let before = if fresh { vec![load] } else { Vec::new() };
            (before, vec![part(name, vec![Phase::Settle], vec![delete, Phase::Settle])])
        }
        EmbeddedOperation::Overwrite => {
            let operations = records.count * u64::from(section.rounds.unwrap_or(1));
            let until = Until { seconds: 0.0, operations };
            let (order, batch) = (Order::Random, point.batch);
            let write = Phase::Write { order, batch, threads: 1, watched: true, until };
            (vec![load, Phase::Settle], vec![part(name, Vec::new(), vec![write, Phase::Settle])])
        }
        EmbeddedOperation::SustainedWrite => {
            let (order, batch, threads) = (Order::Random, point.batch, point.clients);
            let until = Until { seconds, operations: 1 };
            let write = Phase::Write { order, batch, threads, watched: true, until };
            (Vec::new(), vec![part(name, Vec::new(), vec![write])])
        }
        EmbeddedOperation::Compact => {
            let read = |until| Phase::ReadRandom {
                distribution: Distribution::Uniform,
                threads: 1,
                absent: false,
                until,
            };
            let warm = || {
                if warm_s > 0.0 { vec![read(Until { seconds: warm_s, operations: 0 })] } else { Vec::new() }
            };
            let parts = vec![
                part("read_before", warm(), vec![read(until)]),
                part(name, Vec::new(), vec![Phase::Compact]),
                part("read_after", warm(), vec![read(until)]),
            ];
            (vec![load], parts)
        }
        _ => {
            let measured = measured(section, point, until);
            let mut before = if fresh { vec![load] } else { Vec::new() };
            if section.warm_all {
                before.push(Phase::ReadOrdered { until: Until { seconds: 0.0, operations: records.count } });
            }
            let mut first = Vec::new();
            if section.store == StoreChoice::Copy {
                // What cells before it left to be merged is not this cell's.
                first.push(Phase::Settle);
            }
            if warm_s > 0.0 {
                first.push(with_end(&measured, Until { seconds: warm_s, operations: 0 }));
            }
            (before, vec![part(name, first, vec![measured])])
        }
    }
}

/// Of something that takes milliseconds: a few of them, for half the time.
fn few(until: Until) -> Until {
    Until { seconds: until.seconds / 2.0, operations: 5 }
}

fn axes(section: &Embedded, point: Point, count: u64) -> Axes {
    let operation = section.operation;
    let order = point.order.filter(|order| *order == Order::Sequential).map(|_| "sequential");
    let zipf = point.distribution.filter(|drawn| *drawn == Distribution::Zipf).map(|_| "zipf");
    let axes = Axes {
        clients: operation.has_clients().then_some(point.clients),
        value_bytes: Some(point.value_bytes),
        set_percent: point.set_percent,
        keys: Some(count),
        distribution: order.or(zipf).map(str::to_owned),
        cache_bytes: point.cache_bytes,
        memory_limit_bytes: section.memory_limit_bytes,
        batch: (operation == EmbeddedOperation::Write || point.batch != USUAL_BATCH).then_some(point.batch),
        sync: sync_name(point.sync).map(str::to_owned),
        key_schema: schema_name(section.keys).map(str::to_owned),
        ..Axes::default()
    };
    // Beside servers that answer GET it is their very point of the axes.
    if operation == EmbeddedOperation::Get { Axes { pipeline: Some(1), keys: None, ..axes } } else { axes }
}

fn schema_name(keys: KeySchema) -> Option<&'static str> {
    match keys {
        KeySchema::OneFamily => None,
        KeySchema::FiveFamilies => Some("five_families"),
    }
}

fn sync_name(sync: SyncMode) -> Option<&'static str> {
    match sync {
        SyncMode::Never => None,
        SyncMode::Interval => Some("interval"),
        SyncMode::Always => Some("always"),
    }
}

/// What a cell of one phase does.
fn measured(section: &Embedded, point: Point, until: Until) -> Phase {
    let order = point.order.unwrap_or(Order::Random);
    let distribution = point.distribution.unwrap_or(Distribution::Uniform);
    let (threads, records) = (point.clients, section.scan_records);
    match section.operation {
        EmbeddedOperation::ReadAbsent => Phase::ReadRandom { distribution, threads, absent: true, until },
        EmbeddedOperation::ReadOrdered => Phase::ReadOrdered { until },
        EmbeddedOperation::Scan => Phase::Scan { records, reverse: false, until },
        EmbeddedOperation::ScanReverse => Phase::Scan { records, reverse: true, until },
        EmbeddedOperation::ScanPrefix => Phase::ScanPrefix { digits: records.max(1).ilog10(), until },
        EmbeddedOperation::ReadSequential => Phase::ScanAll { reverse: false, until },
        EmbeddedOperation::Write => {
            Phase::Write { order, batch: point.batch, threads, watched: false, until }
        }
        EmbeddedOperation::Mixed => {
            let read_percent = 100 - point.set_percent.unwrap_or(20).min(100);
            Phase::Mixed { read_percent, distribution, until }
        }
        other => match other.ycsb() {
            Some(workload) => Phase::Ycsb { workload, until },
            None => Phase::ReadRandom { distribution, threads, absent: false, until },
        },
    }
}

/// The same work with another end.
fn with_end(phase: &Phase, end: Until) -> Phase {
    let mut phase = phase.clone();
    match &mut phase {
        Phase::Load { .. }
        | Phase::Settle
        | Phase::Compact
        | Phase::Queue { .. }
        | Phase::DeleteRange { .. } => {}
        Phase::ReadRandom { until, .. }
        | Phase::ReadOrdered { until }
        | Phase::Scan { until, .. }
        | Phase::ScanAll { until, .. }
        | Phase::ScanPrefix { until, .. }
        | Phase::Write { until, .. }
        | Phase::Mixed { until, .. }
        | Phase::Ycsb { until, .. }
        | Phase::Reopen { until }
        | Phase::EmptyScan { until, .. }
        | Phase::Flush { until, .. } => *until = end,
    }
    phase
}

/// The cell that the loading of a stored directory is recorded in.
pub(super) fn stock_cell(key: &StoreKey, who: Who<'_>, placement: Placement) -> CellKey {
    let axes = Axes {
        operation: "stock".to_owned(),
        value_bytes: Some(key.records.value_bytes),
        keys: Some(key.records.count),
        distribution: (key.order == Order::Sequential).then(|| "sequential".to_owned()),
        memory_limit_bytes: key.memory_limit_bytes,
        key_schema: schema_name(key.records.keys).map(str::to_owned),
        ..Axes::default()
    };
    let text = super::embedded_label::stock_label(key);
    cell(who, placement, axes, text)
}
