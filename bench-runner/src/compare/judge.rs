//! What may be said of each figure of the paired cells.

use super::Pair;
use crate::model::{Measurement, metric};
use crate::stats::{self, Shift, Span, Undecided, Word};
use std::collections::BTreeMap;

/// A figure of the same cell on both sides.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// The cell.
    pub pair: Pair<'a>,
    /// The earlier figure.
    pub first: &'a Measurement,
    /// The later one.
    pub second: &'a Measurement,
    /// Second over first, by the two intervals alone.
    pub span: Option<Span>,
    /// The same without what unchanged programs moved.
    pub beside: Option<Span>,
    /// The verdict.
    pub word: Word,
}

/// What became of the unchanged programs, each judged beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Controls {
    /// Figures of unchanged programs that could be judged.
    pub judged: usize,
    /// Of them, those whose own intervals do not meet: what would be called without controls.
    pub moved: usize,
    /// Those that changed beside the others.
    pub called: usize,
}

impl Controls {
    /// Whether that is more than chance: then the sittings are too different, and nothing is called.
    #[must_use]
    pub fn are_unsteady(&self) -> bool {
        stats::are_too_many(self.called, self.judged)
    }
}

/// Judges every figure that is compared, or those of one metric.
#[must_use]
pub fn judge<'a>(pairs: &[Pair<'a>], only: Option<&str>) -> (Vec<Row<'a>>, Controls) {
    let mut rows: Vec<Row<'a>> = pairs.iter().flat_map(|pair| figures(*pair, only)).collect();
    let besides: Vec<Option<Span>> = rows.iter().map(|row| beside(row, &rows)).collect();
    let mut controls = Controls::default();
    for (row, adjusted) in rows.iter_mut().zip(besides) {
        row.beside = adjusted;
        row.word = stats::judge_beside(row.first, row.second, adjusted);
        if row.pair.is_unchanged && adjusted.is_some() && can_be_called(row) {
            controls.judged += 1;
            controls.called += usize::from(is_call(row.word));
            controls.moved += usize::from(is_call(stats::judge(row.first, row.second)));
        }
    }
    if controls.are_unsteady() {
        for row in rows.iter_mut().filter(|row| is_call(row.word)) {
            row.word = Word::Undecided(Undecided::Unsteady);
        }
    }
    (rows, controls)
}

fn figures<'a>(pair: Pair<'a>, only: Option<&str>) -> Vec<Row<'a>> {
    let wanted = |one: &&Measurement| match only {
        Some(name) => one.metric == name,
        None => metric::is_compared(&one.metric),
    };
    let partner = |one: &Measurement| {
        pair.second.measurements.iter().find(|two| two.metric == one.metric && two.operation == one.operation)
    };
    let row = |first: &'a Measurement| {
        let second = partner(first)?;
        let span = stats::unpaired_ratio(first, second);
        Some(Row { pair, first, second, span, beside: None, word: stats::judge(first, second) })
    };
    pair.first.measurements.iter().filter(wanted).filter_map(row).collect()
}

/// A figure beside those of all other programs that did not change, in the same scenario and of the same metric.
fn beside(row: &Row<'_>, all: &[Row<'_>]) -> Option<Span> {
    let is_control = |other: &&Row<'_>| {
        other.pair.is_unchanged
            && other.pair.first.target != row.pair.first.target
            && other.pair.scenario == row.pair.scenario
            && (&other.first.metric, &other.first.operation) == (&row.first.metric, &row.first.operation)
    };
    let mut programs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for control in all.iter().filter(is_control) {
        if let Some(shift) = Shift::of(control.first, control.second) {
            programs.entry(&control.pair.first.target).or_default().push(shift.log_ratio);
        }
    }
    let programs: Vec<Vec<f64>> = programs.into_values().collect();
    stats::beside(Shift::of(row.first, row.second)?, &programs)
}

fn can_be_called(row: &Row<'_>) -> bool {
    !matches!(stats::judge(row.first, row.second), Word::Undecided(Undecided::Range | Undecided::Neutral))
}

fn is_call(word: Word) -> bool {
    matches!(word, Word::Better | Word::Worse)
}
