//! What a committed run leaves out when it would be too large, and says that it did.

use super::{canonical, histograms};
use crate::model::{Run, ScenarioRecord, Status};
use anyhow::ensure;

/// Largest run that is committed, bytes of all its files. The 128 cells of
/// `wire-same-rate`, of nine trials each, take 4.5 MB without their histograms; git stores a tenth of it.
pub const COMMITTED_LIMIT_BYTES: usize = 5 * 1024 * 1024;

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

/// Brings a run under `limit` bytes, in parts if it must be: the scenarios in their order, as many to a part as
/// fit. Each part is a run of its own, whose notes name the others; a run that fits is the only part.
///
/// # Errors
/// One scenario is too large by itself, or a histogram cannot be read.
pub fn parts(
    limit: usize,
    run: &Run,
    scenarios: &[ScenarioRecord],
) -> anyhow::Result<Vec<(Run, Vec<ScenarioRecord>)>> {
    let fitted = |some: &[ScenarioRecord]| -> anyhow::Result<(Run, Vec<ScenarioRecord>)> {
        let (mut run, mut some) = (run.clone(), some.to_vec());
        shrink_to(limit, &mut run, &mut some)?;
        Ok((run, some))
    };
    if let Ok(whole) = fitted(scenarios) {
        return Ok(vec![whole]);
    }
    let mut parts = Vec::new();
    let mut from = 0;
    while from < scenarios.len() {
        let mut part = fitted(&scenarios[from..=from])?;
        let mut to = from + 1;
        while to < scenarios.len() {
            let Ok(longer) = fitted(&scenarios[from..=to]) else { break };
            part = longer;
            to += 1;
        }
        parts.push(part);
        from = to;
    }
    let of = parts.len();
    let keys: Vec<String> = parts.iter().map(|(_, records)| keys(records)).collect();
    for (number, (part, records)) in parts.iter_mut().enumerate() {
        part.id = format!("{}-part{}", run.id, number + 1);
        records.iter_mut().for_each(|record| record.run_id.clone_from(&part.id));
        let others: Vec<&str> = keys
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number)
            .map(|(_, keys)| keys.as_str())
            .collect();
        part.notes.push(format!(
            "Part {} of {of} of run {}, which was one campaign and is too large to be committed whole. In the other parts: {}.",
            number + 1,
            run.id,
            others.join(", ")
        ));
    }
    Ok(parts)
}

fn keys(records: &[ScenarioRecord]) -> String {
    records.iter().map(|record| record.scenario.key.as_str()).collect::<Vec<_>>().join(", ")
}

fn size(run: &Run, scenarios: &[ScenarioRecord]) -> anyhow::Result<usize> {
    let mut bytes = canonical::to_text(run)?.len();
    for record in scenarios {
        bytes += canonical::to_text(record)?.len();
    }
    Ok(bytes)
}
