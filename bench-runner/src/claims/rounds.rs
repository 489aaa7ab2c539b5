//! What did each round come to? Values of trials, their ratios and differences, paired by the round's number.

use super::definition::Definition;
use crate::model::{Cell, Direction, Status, Trial, metric};
use crate::stats;

/// Generator CPU time per request, ns: derived here from what every trial records, so that cells measured with
/// somebody else's client have it too.
pub(super) const GENERATOR_CPU: &str = "generator_cpu_ns_per_op";

/// The one of several cells whose median is better.
pub(super) fn better<'a>(definition: &Definition, cells: &[&'a Cell], metric: &str) -> Option<&'a Cell> {
    let operation = definition.operation.as_deref();
    let more = metric::describe(metric).1 == Direction::Higher;
    let median = |cell: &Cell| {
        let values: Vec<f64> = figures(cell).filter_map(|trial| value(trial, metric, operation)).collect();
        stats::median(&values).map_or(f64::INFINITY, |median| if more { -median } else { median })
    };
    cells.iter().copied().min_by(|one, other| median(one).total_cmp(&median(other)))
}

/// The figure of each round that has one, by the round's number.
pub(super) fn of_rounds(
    definition: &Definition,
    (upper, over): (&Cell, &str),
    lower: Option<(&Cell, &str)>,
) -> Vec<(u32, Rated)> {
    let operation = definition.operation.as_deref();
    let rounds = figures(upper).filter_map(|trial| {
        let above = value(trial, over, operation)?;
        let Some((lower, under)) = lower else { return Some((trial.index, Rated::Plain(above))) };
        let partner = figures(lower).find(|other| other.index == trial.index)?;
        let below = value(partner, under, operation)?;
        Some((trial.index, Rated::Ratio(above, below)))
    });
    rounds.collect()
}

/// What one round came to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rated {
    Plain(f64),
    Ratio(f64, f64),
}

impl Rated {
    pub(super) fn value(self) -> Option<f64> {
        match self {
            Self::Plain(value) => Some(value),
            Self::Ratio(above, below) => (below > 0.0).then(|| above / below),
        }
    }
}

pub(super) fn difference(own: &[(u32, Rated)], taken: &[(u32, Rated)]) -> Vec<(u32, Rated)> {
    let rounds = own.iter().filter_map(|(index, rated)| {
        let (_, other) = taken.iter().find(|(other, _)| other == index)?;
        Some((*index, Rated::Plain(rated.value()? - other.value()?)))
    });
    rounds.collect()
}

fn figures(cell: &Cell) -> impl Iterator<Item = &Trial> {
    cell.trials.iter().filter(|trial| trial.status == Status::Ok)
}

fn value(trial: &Trial, metric: &str, operation: Option<&str>) -> Option<f64> {
    let stored = trial
        .values
        .iter()
        .find(|value| value.metric == metric && value.operation.as_deref() == operation)
        .map(|value| value.value);
    if stored.is_some() || metric != GENERATOR_CPU || trial.counts.operations == 0 {
        return stored;
    }
    let spent = trial.os.as_ref()?.generator_cpu_ns;
    (spent > 0).then(|| spent as f64 / trial.counts.operations as f64)
}
