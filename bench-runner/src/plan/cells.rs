//! Which cells does a scenario have for one target in one mode? Every combination of each section's axes.

use super::embedded::embedded_units;
use super::step::{CapLoad, CapPhase, CellKey, Operation, WirePhase, Work};
use crate::model::{Axes, Mode, Placement, Profile};
use crate::scenario::{Cap, Kind, Load, LoadOperation, PlacementChoice, Rules, Scenario, Written};

/// What one fresh process is for: everything of a step but its trial, seed and position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    pub(super) target: String,
    pub(super) mode: Mode,
    pub(super) placement: Placement,
    pub(super) cap_bytes: Option<u64>,
    pub(super) work: Work,
}

/// The units of `scenario` for one target in one mode. Wire cells of one placement share a process per
/// trial (a process for each would spend the budget on starts); every other cell has its own.
pub(super) fn units(
    scenario: &Scenario,
    profile: Profile,
    target: &str,
    mode: Mode,
    pinned: bool,
) -> Vec<Unit> {
    let definition = scenario.definition();
    let who = Who { target, mode, profile };
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
            .filter_map(|cap| cap_unit(cap, who, pinned))
            .collect(),
        Kind::Startup => definition
            .start
            .iter()
            .filter(|start| start.only().admits(profile, target, mode))
            .map(|start| {
                let axes = Axes { operation: "start".to_owned(), ..Axes::default() };
                let placement = placement(PlacementChoice::Apart, pinned);
                let cell = cell(who, placement, axes, "Start to first right answer".to_owned());
                who.unit(placement, None, Work::Startup { cell, starts: start.starts.of(profile) })
            })
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
        Unit { target: self.target.to_owned(), mode: self.mode, placement, cap_bytes, work }
    }
}

fn wire_units(loads: &[Load], who: Who<'_>, pinned: bool) -> Vec<Unit> {
    let mut units = Vec::new();
    for choice in [PlacementChoice::Apart, PlacementChoice::Together] {
        let placement = placement(choice, pinned);
        let wanted = loads.iter().filter(|load| load.placement.contains(&choice));
        let phases: Vec<WirePhase> = wanted
            .filter(|load| load.only().admits(who.profile, who.target, who.mode))
            .flat_map(|load| phases(load, who, placement))
            .collect();
        // Without pinning the two placements are one and the same: the second would measure it again.
        let again = !pinned && choice == PlacementChoice::Together && !units.is_empty();
        if !phases.is_empty() && !again {
            units.push(who.unit(placement, None, Work::Wire { phases }));
        }
    }
    units
}

fn phases(load: &Load, who: Who<'_>, placement: Placement) -> Vec<WirePhase> {
    let rules = Rules::of(who.profile);
    let requests = options(&load.requests);
    let shares = options(&load.set_percent);
    let mut phases = Vec::new();
    for &exact_operations in &requests {
        for &clients in &load.clients {
            for &pipeline in &load.pipeline {
                for &value_bytes in &load.value_bytes {
                    for &set_percent in &shares {
                        let (operation, mix) = mix(load.operation, set_percent);
                        let axes = Axes {
                            operation: operation.to_owned(),
                            clients: Some(clients),
                            pipeline: Some(pipeline),
                            value_bytes: Some(value_bytes),
                            set_percent,
                            cap_bytes: None,
                            requests: exact_operations,
                            ..Axes::default()
                        };
                        let label = wire_label(&axes);
                        phases.push(WirePhase {
                            cell: cell(who, placement, axes, label),
                            clients,
                            pipeline,
                            mix,
                            value_bytes,
                            keys: load.keys,
                            warmup_s: rules.warmup_s,
                            min_seconds: rules.min_seconds,
                            min_operations: rules.min_operations,
                            exact_operations,
                            timeout_s: rules.timeout_s,
                        });
                    }
                }
            }
        }
    }
    phases
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

fn cap_unit(cap: &Cap, who: Who<'_>, pinned: bool) -> Option<Unit> {
    let size = bytes(cap.cap_bytes);
    let written = cap.written()?;
    let (operation, clients, largest) = match written {
        Written::Fill(fill) => ("fill", 1, fill.value_bytes),
        Written::Overwrite(overwrite) => ("overwrite", overwrite.clients, overwrite.value_bytes[1]),
        Written::TtlChurn(churn) => ("ttl_churn", churn.clients, churn.value_bytes),
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
    };
    let axes = Axes {
        operation: operation.to_owned(),
        clients: Some(clients),
        value_bytes: Some(largest),
        cap_bytes: Some(cap.cap_bytes),
        ..Axes::default()
    };
    let placement = placement(PlacementChoice::Apart, pinned);
    let phase = CapPhase { cell: cell(who, placement, axes, label), cap_bytes: cap.cap_bytes, load };
    Some(who.unit(placement, Some(cap.cap_bytes), Work::MemoryCap { phase }))
}

pub(super) fn placement(choice: PlacementChoice, pinned: bool) -> Placement {
    match (pinned, choice) {
        (false, _) => Placement::Unpinned,
        (true, PlacementChoice::Apart) => Placement::Apart,
        (true, PlacementChoice::Together) => Placement::Together,
    }
}

fn cell(who: Who<'_>, placement: Placement, axes: Axes, label: String) -> CellKey {
    let point = point(&axes);
    cell_at(who, placement, &point, axes, label)
}

/// A cell whose place on the axes is spelled `point`.
pub(super) fn cell_at(who: Who<'_>, placement: Placement, point: &str, axes: Axes, label: String) -> CellKey {
    let key = format!("{}/{}/{}/{point}", who.target, mode_name(who.mode), placement_name(placement));
    CellKey { key, label, axes }
}

/// The axes as the last part of a cell's key: `set-64B-c50-p1`.
fn point(axes: &Axes) -> String {
    let mut parts = vec![axes.operation.clone()];
    let mut add = |prefix: &str, value: Option<u64>, suffix: &str| {
        if let Some(value) = value {
            parts.push(format!("{prefix}{value}{suffix}"));
        }
    };
    add("", axes.value_bytes.map(u64::from), "B");
    add("s", axes.set_percent.map(u64::from), "");
    add("c", axes.clients.map(u64::from), "");
    add("p", axes.pipeline.map(u64::from), "");
    add("cap", axes.cap_bytes, "");
    add("n", axes.requests, "");
    parts.join("-")
}

/// `SET 64 B, 50 clients`, `9:1 SET:GET 64 B, 20 clients, depth 10`.
fn wire_label(axes: &Axes) -> String {
    let what = match axes.set_percent {
        Some(sets) => {
            let (sets, gets) = lowest_terms(sets, 100 - sets);
            format!("{sets}:{gets} SET:GET")
        }
        None => axes.operation.to_uppercase(),
    };
    let mut label = format!("{what} {}", bytes(u64::from(axes.value_bytes.unwrap_or(0))));
    match axes.clients {
        Some(1) => label.push_str(", 1 client"),
        Some(clients) => label.push_str(&format!(", {clients} clients")),
        None => {}
    }
    if let Some(depth) = axes.pipeline.filter(|depth| *depth > 1) {
        label.push_str(&format!(", depth {depth}"));
    }
    if let Some(requests) = axes.requests {
        label.push_str(&format!(", {} requests", thousands(requests)));
    }
    label
}

fn lowest_terms(a: u32, b: u32) -> (u32, u32) {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1), b / x.max(1))
}

pub(super) fn thousands(value: u64) -> String {
    match value {
        v if v >= 1_000_000 && v % 1_000_000 == 0 => format!("{}M", v / 1_000_000),
        v if v >= 1_000 && v % 1_000 == 0 => format!("{}k", v / 1_000),
        v => v.to_string(),
    }
}

pub(super) fn bytes(value: u64) -> String {
    match value {
        v if v >= 1 << 20 && v % (1 << 20) == 0 => format!("{} MiB", v >> 20),
        v if v >= 1 << 10 && v % (1 << 10) == 0 => format!("{} KiB", v >> 10),
        v => format!("{v} B"),
    }
}

/// Every mode, in the order of a ladder that changes one thing a step.
/// [`Mode::External`] is no step of it and comes last.
pub const MODES: [Mode; 6] = [
    Mode::Native,
    Mode::NativeLimited,
    Mode::ContainerHost,
    Mode::ContainerPublished,
    Mode::ContainerNoIoUring,
    Mode::External,
];

/// The spelling of a mode in keys, records and on the command line.
#[must_use]
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Native => "native",
        Mode::NativeLimited => "native_limited",
        Mode::ContainerHost => "container_host",
        Mode::ContainerPublished => "container_published",
        Mode::ContainerNoIoUring => "container_no_io_uring",
        Mode::External => "external",
    }
}

/// The spelling of a placement in keys and records.
#[must_use]
pub fn placement_name(placement: Placement) -> &'static str {
    match placement {
        Placement::Apart => "apart",
        Placement::Together => "together",
        Placement::Unpinned => "unpinned",
    }
}
