//! What a committed run leaves out when it would be too large, and says that it did.

use super::{canonical, histograms};
use crate::model::{Run, ScenarioRecord, Status};
use anyhow::ensure;

/// Largest run that is committed, bytes of all its files.
pub const COMMITTED_LIMIT_BYTES: usize = 3 * 1024 * 1024;

/// Brings a run under `limit` bytes: first each cell's histograms are merged into one per operation, then the
/// one-second windows go. Each step is written into the run's notes. Figures are never touched.
///
/// # Errors
/// When it is too large even so, or a histogram cannot be read.
pub fn shrink_to(limit: usize, run: &mut Run, scenarios: &mut [ScenarioRecord]) -> anyhow::Result<()> {
    if size(run, scenarios)? > limit {
        for cell in scenarios.iter_mut().flat_map(|record| &mut record.cells) {
            cell.merged_histograms =
                histograms::merge(cell.trials.iter().filter(|trial| trial.status == Status::Ok))?;
            cell.trials.iter_mut().for_each(|trial| trial.histograms.clear());
        }
        run.notes.push(
            "To keep the committed record small, the trials' histograms were merged into one per cell and \
             operation; the distributions are those of all samples."
                .to_owned(),
        );
    }
    if size(run, scenarios)? > limit {
        let trials =
            scenarios.iter_mut().flat_map(|record| &mut record.cells).flat_map(|cell| &mut cell.trials);
        trials.for_each(|trial| trial.windows.clear());
        run.notes
            .push("To keep the committed record small, the one-second windows were left out.".to_owned());
    }
    let left = size(run, scenarios)?;
    ensure!(
        left <= limit,
        "the run takes {left} bytes without histograms per trial and windows; a committed run may take {limit}. \
         Publish fewer scenarios"
    );
    Ok(())
}

fn size(run: &Run, scenarios: &[ScenarioRecord]) -> anyhow::Result<usize> {
    let mut bytes = canonical::to_text(run)?.len();
    for record in scenarios {
        bytes += canonical::to_text(record)?.len();
    }
    Ok(bytes)
}
