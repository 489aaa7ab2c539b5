//! Which cells does a scenario have for one target in one mode? Every combination of each section's axes.

use super::embedded::embedded_units;
use super::label::{bytes, point, thousands, wire_label};
use super::names::{mode_name, placement_name};
use super::step::{CapLoad, CapPhase, CellKey, ExpiryPhase, KeysPhase, Offer, Operation, WirePhase, Work};
use crate::model::{Axes, Mode, Placement, Profile};
use crate::scenario::{
    Cap, Distribution, Expiry, Kind, Load, LoadOperation, PerKey, PlacementChoice, Rules, Scenario, Seek,
    Written,
};

/// What one fresh process is for: everything of a step but its trial, seed and position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    pub(super) target: String,
    pub(super) mode: Mode,
    pub(super) placement: Placement,
    pub(super) cap_bytes: Option<u64>,
    pub(super) memory_limit_bytes: Option<u64>,
    pub(super) variant: Option<String>,
    pub(super) work: Work,
}

/// The units of `scenario` for one target in one mode. Wire cells of one placement, switch and limit share a
/// process per trial (a process for each would spend the budget on starts); every other cell has its own.
pub(super) fn units(
    scenario: &Scenario,
    profile: Profile,
    target: &str,
    mode: Mode,
    pinned: bool,
) -> Vec<Unit> {
    let definition = scenario.definition();
    let who = Who { target, mode, profile };
    let apart = placement(PlacementChoice::Apart, pinned);
    match definition.kind {
        Kind::Wire => {
            let mut units = wire_units(&definition.load, who, pinned);
            units.extend(embedded_units(&definition.embedded, who, pinned));
            units
        }
        Kind::Embedded => embedded_units(&definition.embedded, who, pinned),
        Kind::MemoryCap => definition
            .cap
            .iter()
            .filter(|cap| cap.only().admits(profile, target, mode))
            .filter_map(|cap| cap_unit(cap, who, apart))
            .collect(),
        Kind::Startup => definition
            .start
            .iter()
            .filter(|start| start.only().admits(profile, target, mode))
            .map(|start| {
                let axes = Axes { operation: "start".to_owned(), ..Axes::default() };
                let cell = cell(who, apart, axes, "Start to first right answer".to_owned());
                who.unit(apart, None, Work::Startup { cell, starts: start.starts.of(profile) })
            })
            .collect(),
        Kind::MemoryPerKey => definition
            .per_key
            .iter()
            .filter(|each| each.only().admits(profile, target, mode))
            .map(|each| per_key_unit(each, who, apart))
            .collect(),
        Kind::Expiry => definition
            .expiry
            .iter()
            .filter(|each| each.only().admits(profile, target, mode))
            .map(|each| expiry_unit(each, who, apart))
            .collect(),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Who<'a> {
    pub(super) target: &'a str,
    pub(super) mode: Mode,
    pub(super) profile: Profile,
}

impl Who<'_> {
    pub(super) fn unit(self, placement: Placement, cap_bytes: Option<u64>, work: Work) -> Unit {
        Unit {
            target: self.target.to_owned(),
            mode: self.mode,
            placement,
            cap_bytes,
            memory_limit_bytes: None,
            variant: None,
            work,
        }
    }
}

fn wire_units(loads: &[Load], who: Who<'_>, pinned: bool) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for choice in [PlacementChoice::Apart, PlacementChoice::Together] {
        // Without pinning the two placements are one and the same: the second would measure it again.
        if !pinned && choice == PlacementChoice::Together && !units.is_empty() {
            continue;
        }
        let placement = placement(choice, pinned);
        let wanted = loads.iter().filter(|load| load.placement.contains(&choice));
        for load in wanted.filter(|load| load.only().admits(who.profile, who.target, who.mode)) {
            let mut more = phases(load, who, placement);
            let same = units.iter_mut().find(|unit| {
                (unit.placement, &unit.variant, unit.memory_limit_bytes)
                    == (placement, &load.variant, load.memory_limit_bytes)
            });
            match same.map(|unit| &mut unit.work) {
                Some(Work::Wire { phases }) => phases.append(&mut more),
                _ => units.push(Unit {
                    variant: load.variant.clone(),
                    memory_limit_bytes: load.memory_limit_bytes,
                    ..who.unit(placement, None, Work::Wire { phases: more })
                }),
            }
        }
    }
    units
}

/// One point of the axes of a load, before it has a name.
#[derive(Debug, Clone, Copy)]
struct Point {
    requests: Option<u64>,
    clients: u32,
    pipeline: u32,
    value_bytes: Option<u32>,
    set_percent: Option<u32>,
    distribution: Option<Distribution>,
    offer: Offer,
}

fn phases(load: &Load, who: Who<'_>, placement: Placement) -> Vec<WirePhase> {
    let mut phases = Vec::new();
    for &requests in &options(&load.requests) {
        for &clients in &load.clients {
            for &pipeline in &load.pipeline {
                for &value_bytes in &options(&load.value_bytes) {
                    for &set_percent in &options(&load.set_percent) {
                        for &distribution in &options(&load.distribution) {
                            for &offer in &offers(load) {
                                let point = Point {
                                    requests,
                                    clients,
                                    pipeline,
                                    value_bytes,
                                    set_percent,
                                    distribution: distribution.filter(|one| *one != Distribution::Uniform),
                                    offer,
                                };
                                phases.push(phase(load, who, placement, point));
                            }
                        }
                    }
                }
            }
        }
    }
    phases
}

fn phase(load: &Load, who: Who<'_>, placement: Placement, point: Point) -> WirePhase {
    let rules = Rules::of(who.profile);
    let seconds = load.seconds.map(|own| own.of(who.profile));
    let (operation, mix) = mix(load.operation, point.set_percent);
    let value_mix: Vec<(u32, u32)> = load.value_mix.iter().map(|[bytes, weight]| (*bytes, *weight)).collect();
    let (rate_percent, rate_per_second) = match point.offer {
        Offer::PercentOfPeak { percent, .. } => (Some(percent), None),
        Offer::PerSecond { per_second, .. } => (None, Some(per_second)),
        Offer::Replies | Offer::Peak | Offer::Knee { .. } => (None, None),
    };
    let axes = Axes {
        operation: load.seek.map_or(operation, Seek::name).to_owned(),
        clients: Some(point.clients),
        pipeline: Some(point.pipeline),
        value_bytes: point.value_bytes,
        // What is looked for takes the place of the operation, which the mix then has to tell.
        set_percent: load.seek.map_or(point.set_percent, |_| Some(sets_of_100(&mix))),
        requests: point.requests,
        distribution: point.distribution.map(|one| one.name().to_owned()),
        arrival: point.offer.arrival().map(|one| one.name().to_owned()),
        rate_percent,
        rate_per_second,
        ttl_ms: load.ttl_ms,
        memory_limit_bytes: load.memory_limit_bytes,
        protocol: load.protocol.map(|one| one.name().to_owned()),
        transport: load.transport.map(|one| one.name().to_owned()),
        connections: load.connections.map(|one| one.name().to_owned()),
        variant: load.variant.clone(),
        client_program: load.client_program.map(|one| one.name().to_owned()),
        ..Axes::default()
    };
    let label = wire_label(&axes, &value_mix);
    let largest = value_mix.iter().map(|(bytes, _)| *bytes).max();
    let min_seconds = seconds.unwrap_or(rules.min_seconds);
    WirePhase {
        cell: cell(who, placement, axes, label),
        clients: point.clients,
        pipeline: point.pipeline,
        mix,
        value_bytes: point.value_bytes.or(largest).unwrap_or(1),
        value_mix,
        keys: load.keys,
        distribution: point.distribution,
        offer: point.offer,
        ttl_ms: load.ttl_ms,
        protocol: load.protocol,
        transport: load.transport,
        new_connections: load.connections.is_some(),
        client_program: load.client_program,
        warmup_s: rules.warmup_s,
        min_seconds,
        min_operations: if point.offer.arrival().is_some() { 1 } else { rules.min_operations },
        exact_operations: point.requests,
        timeout_s: rules.timeout_s.max(min_seconds * 3.0 + 10.0),
    }
}

/// The offers of a load: its rates, what it looks for, or simply a closed loop.
fn offers(load: &Load) -> Vec<Offer> {
    let Some(arrival) = load.arrival else {
        return vec![if load.seek == Some(Seek::Peak) { Offer::Peak } else { Offer::Replies }];
    };
    if load.seek == Some(Seek::Knee) {
        return vec![Offer::Knee { arrival }];
    }
    let percents =
        load.rate_percent.iter().map(|percent| Offer::PercentOfPeak { percent: *percent, arrival });
    let rates = load.rate_per_second.iter().map(|rate| Offer::PerSecond { per_second: *rate, arrival });
    percents.chain(rates).collect()
}

fn sets_of_100(mix: &[(Operation, u32)]) -> u32 {
    let all: u32 = mix.iter().map(|(_, weight)| weight).sum();
    let sets = mix.iter().filter(|(operation, _)| *operation == Operation::Set);
    sets.map(|(_, weight)| weight).sum::<u32>() * 100 / all.max(1)
}

/// An axis that may be absent: one cell without it.
fn options<T: Copy>(values: &[T]) -> Vec<Option<T>> {
    if values.is_empty() { vec![None] } else { values.iter().copied().map(Some).collect() }
}

fn mix(operation: LoadOperation, set_percent: Option<u32>) -> (&'static str, Vec<(Operation, u32)>) {
    match operation {
        LoadOperation::Set => ("set", vec![(Operation::Set, 1)]),
        LoadOperation::Get => ("get", vec![(Operation::Get, 1)]),
        LoadOperation::Del => ("del", vec![(Operation::Del, 1)]),
        LoadOperation::Mixed => {
            let sets = set_percent.unwrap_or(50);
            ("mixed", vec![(Operation::Set, sets), (Operation::Get, 100 - sets)])
        }
    }
}

fn cap_unit(cap: &Cap, who: Who<'_>, placement: Placement) -> Option<Unit> {
    let size = bytes(cap.cap_bytes);
    let written = cap.written()?;
    let (operation, clients, largest) = match written {
        Written::Fill(fill) => ("fill", 1, fill.value_bytes),
        Written::Overwrite(overwrite) => ("overwrite", overwrite.clients, overwrite.value_bytes[1]),
        Written::TtlChurn(churn) => ("ttl_churn", churn.clients, churn.value_bytes),
        Written::Trace(trace) => ("trace", 1, trace.value_bytes[1]),
    };
    let value = bytes(u64::from(largest));
    let (label, load) = match written {
        Written::Fill(fill) => (
            format!("{} × {value} into {size}, then {}", fill.keys, bytes(u64::from(fill.oversize_bytes))),
            CapLoad::Fill {
                keys: fill.keys,
                value_bytes: fill.value_bytes,
                oversize_bytes: fill.oversize_bytes,
            },
        ),
        Written::Overwrite(overwrite) => (
            format!(
                "Overwrites growing {} to {value}, {size} cap",
                bytes(u64::from(overwrite.value_bytes[0]))
            ),
            CapLoad::Overwrite {
                clients: overwrite.clients,
                keys: overwrite.keys,
                value_bytes: overwrite.value_bytes.into(),
                seconds: overwrite.seconds.of(who.profile),
            },
        ),
        Written::TtlChurn(churn) => (
            format!("{value} values living {} ms, {size} cap", churn.ttl_ms),
            CapLoad::TtlChurn {
                clients: churn.clients,
                keys: churn.keys,
                value_bytes: churn.value_bytes,
                ttl_ms: churn.ttl_ms,
                seconds: churn.seconds.of(who.profile),
            },
        ),
        Written::Trace(trace) => (
            format!(
                "Zipf reads of {} keys of {} to {value}, {size} cap",
                thousands(trace.keys),
                bytes(u64::from(trace.value_bytes[0]))
            ),
            CapLoad::Trace {
                keys: trace.keys,
                value_bytes: trace.value_bytes.into(),
                requests: trace.requests.of(who.profile),
            },
        ),
    };
    let label = match cap.memory_limit_bytes {
        Some(limit) => format!("{label}, {} limit", bytes(limit)),
        None => label,
    };
    let axes = Axes {
        operation: operation.to_owned(),
        clients: Some(clients),
        value_bytes: Some(largest),
        cap_bytes: Some(cap.cap_bytes),
        memory_limit_bytes: cap.memory_limit_bytes,
        distribution: matches!(written, Written::Trace(_)).then(|| Distribution::Zipf.name().to_owned()),
        ..Axes::default()
    };
    let phase = CapPhase { cell: cell(who, placement, axes, label), cap_bytes: cap.cap_bytes, load };
    let unit = who.unit(placement, Some(cap.cap_bytes), Work::MemoryCap { phase });
    Some(Unit { memory_limit_bytes: cap.memory_limit_bytes, ..unit })
}

fn per_key_unit(each: &PerKey, who: Who<'_>, placement: Placement) -> Unit {
    let axes = Axes {
        operation: "fill".to_owned(),
        value_bytes: Some(each.value_bytes),
        keys: Some(each.keys),
        ..Axes::default()
    };
    let label =
        format!("{} keys of 16 B, values of {}", thousands(each.keys), bytes(u64::from(each.value_bytes)));
    let cell = cell(who, placement, axes, label);
    let phase = KeysPhase { cell, keys: each.keys, value_bytes: each.value_bytes };
    who.unit(placement, Some(each.cap_bytes), Work::MemoryPerKey { phase })
}

fn expiry_unit(each: &Expiry, who: Who<'_>, placement: Placement) -> Unit {
    let axes = Axes {
        operation: "expire".to_owned(),
        clients: Some(each.clients),
        value_bytes: Some(each.value_bytes),
        keys: Some(each.keys),
        ttl_ms: Some(each.within_ms),
        ..Axes::default()
    };
    let label = format!(
        "{} keys running out within {} s, GET by {} clients",
        thousands(each.keys),
        each.within_ms as f64 / 1e3,
        each.clients
    );
    let phase = ExpiryPhase {
        cell: cell(who, placement, axes, label),
        clients: each.clients,
        kept_keys: each.kept_keys,
        keys: each.keys,
        value_bytes: each.value_bytes,
        within_ms: each.within_ms,
    };
    who.unit(placement, Some(each.cap_bytes), Work::Expiry { phase })
}

pub(super) fn placement(choice: PlacementChoice, pinned: bool) -> Placement {
    match (pinned, choice) {
        (false, _) => Placement::Unpinned,
        (true, PlacementChoice::Apart) => Placement::Apart,
        (true, PlacementChoice::Together) => Placement::Together,
    }
}

/// A cell at one point of the axes.
pub(super) fn cell(who: Who<'_>, placement: Placement, axes: Axes, label: String) -> CellKey {
    let (mode, placement) = (mode_name(who.mode), placement_name(placement));
    let key = format!("{}/{mode}/{placement}/{}", who.target, point(&axes));
    CellKey { key, label, axes }
}
