//! Parts of a run that is too large to be committed whole. Nothing of it is left out.

use super::write::spell;
use crate::model::{Run, ScenarioRecord};
use anyhow::ensure;
use std::slice;

/// Largest run that is committed, bytes of all its files as they are stored.
pub const COMMITTED_LIMIT_BYTES: usize = 5 * 1024 * 1024;

/// The run whole where its files take at most `limit` bytes, or in parts: the scenarios in their order, as many to a
/// part as fit. Each part is a run of its own, whose notes name the others.
///
/// # Errors
/// One scenario is too large by itself.
pub fn parts(
    limit: usize,
    run: &Run,
    scenarios: &[ScenarioRecord],
) -> anyhow::Result<Vec<(Run, Vec<ScenarioRecord>)>> {
    if size(run, scenarios)? <= limit {
        return Ok(vec![(run.clone(), scenarios.to_vec())]);
    }
    let groups = groups(limit, run, scenarios)?;
    let of = groups.len();
    let keys: Vec<String> = groups.iter().map(|records| keys(records)).collect();
    let mut parts = Vec::with_capacity(of);
    for (number, records) in groups.into_iter().enumerate() {
        let (mut part, mut records) = (run.clone(), records.to_vec());
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
        let takes = size(&part, &records)?;
        ensure!(takes <= limit, "part {} takes {takes} bytes; a committed run may take {limit}", part.id);
        parts.push((part, records));
    }
    Ok(parts)
}

/// The scenarios by part. Each is compressed once, alone: together they take less, but to find out how much less
/// would compress them again for every scenario that is tried.
fn groups<'a>(
    limit: usize,
    run: &Run,
    scenarios: &'a [ScenarioRecord],
) -> anyhow::Result<Vec<&'a [ScenarioRecord]>> {
    // `run.json` grows by an entry per scenario and by the note on the parts.
    let bare = size(run, &[])?;
    let own = bare + 600 * (scenarios.len() + 1);
    let mut groups = Vec::new();
    let (mut from, mut takes) = (0, own);
    for (at, record) in scenarios.iter().enumerate() {
        let more = size(run, slice::from_ref(record))?.saturating_sub(bare);
        ensure!(
            own + more <= limit,
            "scenario {} takes {more} bytes, compressed, and run.json {own}; a committed run may take {limit}. \
             Measure the scenario with fewer cells",
            record.scenario.key
        );
        if takes + more > limit {
            groups.push(&scenarios[from..at]);
            (from, takes) = (at, own);
        }
        takes += more;
    }
    groups.push(&scenarios[from..]);
    Ok(groups)
}

fn keys(records: &[ScenarioRecord]) -> String {
    records.iter().map(|record| record.scenario.key.as_str()).collect::<Vec<_>>().join(", ")
}

fn size(run: &Run, scenarios: &[ScenarioRecord]) -> anyhow::Result<usize> {
    Ok(spell(&mut run.clone(), scenarios)?.iter().map(|(_, bytes)| bytes.len()).sum())
}
