//! How does an interrupted campaign go on? What was planned and each finished step, one file each.
//!
//! `<results>/local/.journal/<run-id>/plan.json` and `step-NNNN.json`. A file appears only when it is complete
//! (write beside, fsync, rename), so whatever ends the runner, a journal holds whole steps only.

use super::begin::Campaign;
use crate::plan::StepOutcome;
use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A step that was gone through, with what should be said of it beside the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The trials that count.
    pub outcome: StepOutcome,
    /// Set where others used more of the machine than they may.
    pub disturbance: Option<Disturbance>,
}

/// Cores that others used while a step was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// The first time.
    pub first_cores: f64,
    /// The second time; none where the time for measuring again was used up.
    pub second_cores: Option<f64>,
    /// The third time; none where the second was quiet enough, or the time was used up.
    #[serde(default)]
    pub third_cores: Option<f64>,
}

impl Disturbance {
    /// Of what is kept: the quietest.
    #[must_use]
    pub fn kept_cores(&self) -> f64 {
        [self.second_cores, self.third_cores].into_iter().flatten().fold(self.first_cores, f64::min)
    }
}

/// The journal of one campaign.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
}

impl Journal {
    /// Where the journals of a results folder stand.
    #[must_use]
    pub fn home(results: &Path) -> PathBuf {
        results.join("local/.journal")
    }

    /// Begins one.
    ///
    /// # Errors
    /// When the folder or the plan cannot be written.
    pub fn create(results: &Path, campaign: &Campaign) -> anyhow::Result<Self> {
        let folder = Self::home(results).join(&campaign.id);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let journal = Self { folder };
        if let Err(error) = journal.put("plan.json", campaign) {
            // Without a plan the folder says nothing and could not be resumed.
            let _ = fs::remove_dir_all(&journal.folder);
            let _ = fs::remove_dir(Self::home(results));
            return Err(error.context("nothing was measured, and nothing is left to resume"));
        }
        Ok(journal)
    }

    /// Opens that of `run_id`, or the newest, and reads its plan.
    ///
    /// # Errors
    /// When there is none, or its plan cannot be read.
    pub fn open(results: &Path, run_id: Option<&str>) -> anyhow::Result<(Self, Campaign)> {
        let home = Self::home(results);
        let mut ids: Vec<String> = match fs::read_dir(&home) {
            Ok(entries) => entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect(),
            Err(_) => Vec::new(),
        };
        ids.retain(|id| home.join(id).join("plan.json").is_file());
        ids.sort();
        let id = match run_id {
            Some(wanted) => match ids.iter().find(|id| *id == wanted) {
                Some(id) => id,
                None if ids.is_empty() => bail!("no interrupted run in {}", home.display()),
                None => bail!("no interrupted run {wanted}; there are: {}", ids.join(", ")),
            },
            None => match ids.last() {
                Some(id) => id,
                None => bail!("no interrupted run in {}: start one without --resume", home.display()),
            },
        };
        let journal = Self { folder: home.join(id) };
        let campaign = journal.get("plan.json")?;
        Ok((journal, campaign))
    }

    /// Keeps a finished step.
    ///
    /// # Errors
    /// When it cannot be written, for example on a full disk; nothing half-written is left.
    pub fn record(&self, finished: &Finished) -> anyhow::Result<()> {
        self.put(&step_file(finished.outcome.position), finished)
    }

    /// The finished steps by position.
    ///
    /// # Errors
    /// When a file cannot be read: it is named, and can be removed to have the step measured again.
    pub fn finished(&self) -> anyhow::Result<BTreeMap<u32, Finished>> {
        let entries = fs::read_dir(&self.folder)
            .with_context(|| format!("cannot read the journal {}", self.folder.display()))?;
        let mut finished = BTreeMap::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("step-") && name.ends_with(".json") {
                let step: Finished = self.get(&name).context("remove the file to measure that step again")?;
                finished.insert(step.outcome.position, step);
            }
        }
        Ok(finished)
    }

    /// Removes it: the record has been written.
    ///
    /// # Errors
    /// When the folder cannot be removed.
    pub fn remove(self) -> anyhow::Result<()> {
        fs::remove_dir_all(&self.folder)
            .with_context(|| format!("cannot remove {}", self.folder.display()))?;
        // The last one takes the empty home with it.
        if let Some(home) = self.folder.parent() {
            let _ = fs::remove_dir(home);
        }
        Ok(())
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<T> {
        let path = self.folder.join(name);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is not what was written", path.display()))
    }

    fn put(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        let beside = self.folder.join(format!(".{name}.writing"));
        let bytes = serde_json::to_vec(value)?;
        let written = File::create(&beside)
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, &path))
            .and_then(|()| File::open(&self.folder)?.sync_all());
        written
            .inspect_err(|_| drop(fs::remove_file(&beside)))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

fn step_file(position: u32) -> String {
    format!("step-{position:04}.json")
}
