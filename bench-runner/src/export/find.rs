//! Which stored run is meant by `latest`, an id, or the beginning of one?

use super::read::{Listed, ReadError, listed_runs, read_indexed_run};
use crate::model::{Run, ScenarioRecord};
use anyhow::bail;
use std::path::{Path, PathBuf};

/// A stored run, whole.
#[derive(Debug)]
pub struct Found {
    /// Folder of its files.
    pub folder: PathBuf,
    /// `run.json`.
    pub run: Run,
    /// Its scenarios, in catalogue order.
    pub scenarios: Vec<ScenarioRecord>,
}

/// Finds a run below `results` by its id or a beginning of it that no other run shares, or as `latest`: the one
/// that started last, among those with scenarios. Without a version local runs come first, then the newest
/// published version.
///
/// # Errors
/// When no run fits, several do, or the run cannot be read.
pub fn find_run(results: &Path, wanted: &str, version: Option<&str>) -> anyhow::Result<Found> {
    let mut all = listed_runs(results)?;
    all.retain(|listed| version.is_none_or(|version| version == listed.version));
    let shown = results.display();
    if all.is_empty() {
        match version {
            Some(version) => {
                bail!("no run of version '{version}' in {shown}")
            }
            None => bail!("no runs in {shown}: create one with 'bench-runner run'"),
        }
    }
    if wanted == "latest" {
        // Runs of imported estimates alone have `run.json` and no scenario file.
        all.retain(|listed| listed.run.files.len() > 1);
        if version.is_none() && all.iter().any(|listed| listed.version == super::write::LOCAL) {
            all.retain(|listed| listed.version == super::write::LOCAL);
        }
    } else {
        all.retain(|listed| listed.run.id.starts_with(wanted));
        if let Some(exact) =
            all.iter().find(|listed| listed.run.id == wanted).map(|listed| listed.run.id.clone())
        {
            all.retain(|listed| listed.run.id == exact);
        }
        let mut ids: Vec<&str> = all.iter().map(|listed| listed.run.id.as_str()).collect();
        ids.dedup();
        if ids.len() > 1 {
            bail!("run '{wanted}' is ambiguous: {}", ids.join(", "));
        }
    }
    // A published run stands under `local` as well, where it was made; both hold the same figures.
    let Some(listed) = all.pop() else {
        bail!("no run '{wanted}' in {shown}: index.json and local/index.json list its runs");
    };
    let (run, scenarios) = read_indexed_run(&listed.base, &listed.run)?;
    Ok(Found { folder: listed.folder(), run, scenarios })
}

/// The folder of a run that the index lists under a version.
///
/// # Errors
/// When the index cannot be read.
pub fn stored_folder(results: &Path, version: &str, id: &str) -> Result<Option<PathBuf>, ReadError> {
    let all = listed_runs(results)?;
    let found = all.iter().find(|listed| listed.version == version && listed.run.id == id);
    Ok(found.map(Listed::folder))
}
