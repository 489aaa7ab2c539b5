//! How is a driver program measured? It is started on the target's CPU, given its workload, and its lines are read.

use super::lab::Bench;
use super::trial::broken;
use crate::model::{Status, Trial};
use crate::plan::EmbeddedPhase;

/// Measures the one cell of a driver process; nothing when told to stop.
pub(crate) fn measure(bench: &mut Bench<'_>, phase: &EmbeddedPhase) -> Option<Trial> {
    let step = bench.step;
    let reason = format!("{}: drivers are not started yet ({})", step.target, phase.cell.label);
    Some(broken(step.trial, step.position, Status::Skipped, reason))
}
