//! Which cells does a scenario have for one target in one mode? Every combination of each section's axes.

use super::embedded::{Common, embedded_units};
use super::label::{point, wire_label};
use super::names::{mode_name, placement_name};
use super::step::{CellKey, Offer, Operation, WirePhase, Work};
use super::stores::{cap_units, expiry_unit, per_key_unit, tail_units};
use crate::model::{Axes, Mode, Placement, Profile};
use crate::scenario::{Distribution, Kind, Load, LoadOperation, PlacementChoice, Rules, Scenario, Seek};

/// What one fresh process is for: everything of a step but its trial, seed and position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    pub(super) target: String,
    pub(super) mode: Mode,
    pub(super) placement: Placement,
    pub(super) cap_bytes: Option<u64>,
    pub(super) memory_limit_bytes: Option<u64>,
    pub(super) variant: Option<String>,
    /// Fewer trials than its scenario has.
    pub(super) trials: Option<u32>,
    /// Its rates follow what others reached in the same round.
    pub(super) follows: bool,
    pub(super) work: Work,
}

/// The units of `scenario` for one target in one mode. Wire cells of one placement, switch and limit share a
/// process per trial (a process for each would spend the budget on starts); every other cell has its own.
pub(super) fn units(
    scenario: &Scenario,
    profile: Profile,
    target: &str,
    mode: Mode,
    common: Common,
) -> Vec<Unit> {
    let pinned = common.pinned;
    let definition = scenario.definition();
    let who = Who { target, mode, profile };
    let apart = placement(PlacementChoice::Apart, pinned);
    match definition.kind {
        Kind::Wire => {
            let mut units = wire_units(&definition.load, who, pinned);
            units.extend(embedded_units(&definition.embedded, who, common));
            units
        }
        Kind::Embedded => embedded_units(&definition.embedded, who, common),
        Kind::MemoryCap => definition
            .cap
            .iter()
            .filter(|cap| cap.only().admits(profile, target, mode))
            .flat_map(|cap| cap_units(cap, who, apart))
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
        Kind::Tail => definition
            .tail
            .iter()
            .filter(|each| each.only().admits(profile, target, mode))
            .flat_map(|each| tail_units(each, who, apart))
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
            trials: None,
            follows: false,
            work,
        }
    }
}

fn wire_units(loads: &[Load], who: Who<'_>, pinned: bool) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for choice in [PlacementChoice::Apart, PlacementChoice::Together, PlacementChoice::Unpinned] {
        // Without pinning the placements are one and the same: the second would measure it again.
        if !pinned && choice != PlacementChoice::Apart && !units.is_empty() {
            continue;
        }
        let placement = placement(choice, pinned);
        let wanted = loads.iter().filter(|load| load.placement.contains(&choice));
        for load in wanted.filter(|load| load.only().admits(who.profile, who.target, who.mode)) {
            let mut more = phases(load, who, placement);
            let follows = !load.rate_percent_of_slowest.is_empty();
            let same = units.iter_mut().find(|unit| {
                (unit.placement, &unit.variant, unit.memory_limit_bytes, unit.follows)
                    == (placement, &load.variant, load.memory_limit_bytes, follows)
            });
            match same.map(|unit| &mut unit.work) {
                Some(Work::Wire { phases }) => phases.append(&mut more),
                _ => units.push(Unit {
                    variant: load.variant.clone(),
                    memory_limit_bytes: load.memory_limit_bytes,
                    follows,
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
        Offer::PercentOfSlowest { .. } | Offer::Replies | Offer::Peak | Offer::Knee { .. } => (None, None),
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
        rate_percent_of_slowest: match point.offer {
            Offer::PercentOfSlowest { percent, .. } => Some(percent),
            _ => None,
        },
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
        trials: load.trials.map(|own| own.of(who.profile)),
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
    let slowest = load.rate_percent_of_slowest.iter().map(|percent| Offer::PercentOfSlowest {
        percent: *percent,
        arrival,
        per_second: 0.0,
    });
    percents.chain(rates).chain(slowest).collect()
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

pub(super) fn placement(choice: PlacementChoice, pinned: bool) -> Placement {
    match (pinned, choice) {
        (false, _) => Placement::Unpinned,
        (true, PlacementChoice::Apart) => Placement::Apart,
        (true, PlacementChoice::Together) => Placement::Together,
        (true, PlacementChoice::Unpinned) => Placement::Unpinned,
    }
}

/// A cell at one point of the axes.
pub(super) fn cell(who: Who<'_>, placement: Placement, axes: Axes, label: String) -> CellKey {
    let (mode, placement) = (mode_name(who.mode), placement_name(placement));
    let key = format!("{}/{mode}/{placement}/{}", who.target, point(&axes));
    CellKey { key, label, axes }
}
