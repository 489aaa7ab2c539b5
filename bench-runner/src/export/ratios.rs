//! Which cells of one campaign are compared, and in which metrics?
//!
//! Every comparison changes one thing: the mode (`overhead`), the server (`rival`, `floor`), a switch
//! (`variant`), the number of connections (`adjacent`) or of requests (`stability`). Trials are paired by index
//! and compared in log space: see [`crate::stats::paired_ratio`]. Cells without a figure have no ratio.

use super::assemble::value_of;
use crate::model::{Axes, Cell, Mode, Ratio, Role, Status, metric};
use crate::stats;
use std::collections::HashMap;

/// A server that was busy for this share of the time was at its ceiling: what it spends on an operation there
/// can be compared with another at its own.
const SATURATED: f64 = 0.95;

/// Every ratio between the cells of a scenario.
#[must_use]
pub fn ratios(cells: &[Cell], roles: &HashMap<String, Role>) -> Vec<Ratio> {
    let role = |cell: &Cell| roles.get(&cell.target).copied();
    let ok: Vec<&Cell> = cells.iter().filter(|cell| cell.status == Status::Ok).collect();
    let mut ratios = Vec::new();
    for base in ok.iter().filter(|cell| role(cell) == Some(Role::Subject) && cell.mode == Mode::Native) {
        for other in ok.iter().filter(|cell| same_point(cell, base)) {
            if other.target == base.target && other.mode != Mode::Native {
                compare(&mut ratios, "overhead", other, base);
            } else if role(other) == Some(Role::Rival) && other.mode == Mode::Native {
                compare(&mut ratios, "rival", base, other);
            }
        }
    }
    for cell in ok.iter().filter(|cell| matches!(role(cell), Some(Role::Subject | Role::Rival))) {
        for other in &ok {
            let floor = matches!(role(other), Some(Role::Ceiling | Role::Floor));
            if floor && cell.mode == Mode::Native && same_point(cell, other) {
                compare(&mut ratios, "floor", cell, other);
            }
            if (&other.target, other.mode, other.placement) != (&cell.target, cell.mode, cell.placement) {
                continue;
            }
            if cell.axes.variant.is_some() && other.axes == (Axes { variant: None, ..cell.axes.clone() }) {
                compare(&mut ratios, "variant", cell, other);
            }
        }
        let siblings: Vec<&Cell> = ok
            .iter()
            .copied()
            .filter(|other| {
                (&other.target, other.mode, other.placement) == (&cell.target, cell.mode, cell.placement)
            })
            .collect();
        let clients = |axes: &mut Axes| axes.clients.take().map(u64::from);
        if let Some(fewer) = next_below(cell, &siblings, clients) {
            compare(&mut ratios, "adjacent", cell, fewer);
        }
        if let Some(shorter) = next_below(cell, &siblings, |axes| axes.requests.take()) {
            compare(&mut ratios, "stability", cell, shorter);
        }
    }
    ratios
}

fn same_point(one: &Cell, other: &Cell) -> bool {
    one.axes == other.axes && one.placement == other.placement
}

/// Of the cells that differ from `cell` in one axis only, the one with the next smaller value of it. `take`
/// removes the axis and returns it.
fn next_below<'a>(
    cell: &Cell,
    others: &[&'a Cell],
    take: impl Fn(&mut Axes) -> Option<u64>,
) -> Option<&'a Cell> {
    let parted = |axes: &Axes| {
        let mut rest = axes.clone();
        take(&mut rest).map(|value| (rest, value))
    };
    let (rest, value) = parted(&cell.axes)?;
    others
        .iter()
        .filter_map(|other| Some((parted(&other.axes)?, *other)))
        .filter(|((other_rest, other_value), _)| *other_rest == rest && *other_value < value)
        .max_by_key(|((_, other_value), _)| *other_value)
        .map(|(_, other)| other)
}

/// Whether a metric of two cells says the same thing in both.
fn comparable(kind: &str, metric: &str, above: &Cell, below: &Cell) -> bool {
    let between_servers = kind == "rival" || kind == "floor";
    let open = above.axes.arrival.is_some() && above.axes.operation != "knee";
    match metric {
        // Of an open loop the rate is given, not found.
        "ops_per_second" if open => false,
        // Percent of each server's own peak: other rates.
        _ if between_servers && above.axes.rate_percent.is_some() => false,
        // A server that keeps nothing has no memory to speak of.
        _ if kind == "floor" && !metric.starts_with("latency") && !metric.contains("_per_") => false,
        // A closed loop asks the faster server more often; wake-ups and batches then cost each operation less.
        "server_cpu_ns_per_op" if between_servers => {
            above.axes.rate_per_second.is_some()
                || above.axes.rate_percent_of_slowest.is_some()
                || (saturated(above) && saturated(below))
        }
        _ => true,
    }
}

fn saturated(cell: &Cell) -> bool {
    let busy: Vec<f64> = cell
        .trials
        .iter()
        .filter(|trial| trial.status == Status::Ok && trial.elapsed_s > 0.0)
        .filter_map(|trial| Some(trial.os?.server_cpu_ns as f64 / 1e9 / trial.elapsed_s))
        .collect();
    stats::median(&busy).is_some_and(|busy| busy >= SATURATED)
}

fn compare(ratios: &mut Vec<Ratio>, kind: &str, above: &Cell, below: &Cell) {
    let compared = |name: &str| metric::is_compared(name) && comparable(kind, name, above, below);
    for measured in above.measurements.iter().filter(|one| compared(&one.metric)) {
        let operation = measured.operation.as_deref();
        let pairs: Vec<(f64, f64)> = above
            .trials
            .iter()
            .filter_map(|trial| {
                let partner = below.trials.iter().find(|other| other.index == trial.index)?;
                Some((
                    value_of(trial, &measured.metric, operation)?,
                    value_of(partner, &measured.metric, operation)?,
                ))
            })
            .collect();
        if let Some(summary) = stats::paired_ratio(&pairs) {
            ratios.push(Ratio {
                kind: kind.to_owned(),
                metric: measured.metric.clone(),
                operation: measured.operation.clone(),
                numerator: above.key.clone(),
                denominator: below.key.clone(),
                median: summary.median,
                low: summary.low,
                high: summary.high,
                spread: summary.spread,
                n: summary.n,
            });
        }
    }
}

#[cfg(test)]
#[path = "ratios_test.rs"]
mod tests;
