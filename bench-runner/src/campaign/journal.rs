//! How does an interrupted campaign go on? What was planned and each finished step, one file each.
//!
//! `<results>/local/.journal/<run-id>/plan.json`, `state.json` and `step-NNNN.json`. A file appears only when it
//! is complete (write beside, fsync, rename), so whatever ends the runner, a journal holds whole steps only. The
//! state says `failed` from the first moment on: a runner that is killed cannot write it any more. Whoever works
//! on a journal holds a lock on its folder, which the system lets go when the process ends.

use super::begin::Campaign;
use crate::export;
use crate::model::{UNFINISHED_SCHEMA, Unfinished, UnfinishedState};
use crate::plan::StepOutcome;
use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Held while somebody works on it.
    _lock: File,
}

const PLAN: &str = "plan.json";
const STATE: &str = "state.json";

impl Journal {
    /// Where the journals of a results folder stand.
    #[must_use]
    pub fn home(results: &Path) -> PathBuf {
        results.join("local/.journal")
    }

    /// Begins one.
    ///
    /// # Errors
    /// When there is one of that id already, or the folder or the plan cannot be written.
    pub fn create(results: &Path, campaign: &Campaign) -> anyhow::Result<Self> {
        let home = Self::home(results);
        // Others begin and end theirs below the same folder.
        let _others = export::lock(&results.join("local"))?;
        fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
        let folder = home.join(&campaign.id);
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let made = lock_of(&folder)?.context("another process is at it");
        let begun = made.and_then(|lock| {
            let journal = Self { folder: folder.clone(), _lock: lock };
            journal.tell(campaign, UnfinishedState::Failed, NOT_ENDED)?;
            // The plan comes last: a folder without one is no journal.
            journal.put(PLAN, campaign)?;
            Ok(journal)
        });
        begun.map_err(|error| {
            let _ = fs::remove_dir_all(&folder);
            let _ = fs::remove_dir(&home);
            error.context("nothing was measured, and nothing is left to resume")
        })
    }

    /// Opens that of `run_id`, or the newest that nobody works on, and reads its plan.
    ///
    /// # Errors
    /// When there is none, another process works on it, or its plan cannot be read.
    pub fn open(results: &Path, run_id: Option<&str>) -> anyhow::Result<(Self, Campaign)> {
        let home = Self::home(results);
        let ids = ids(&home);
        let (mut busy, mut found) = (None, None);
        match run_id {
            Some(wanted) => match ids.iter().find(|id| *id == wanted) {
                Some(id) => {
                    found = lock_of(&home.join(id))?.map(|lock| (id, lock)).or_else(|| {
                        busy = Some(id);
                        None
                    })
                }
                None if ids.is_empty() => bail!("no interrupted run in {}", home.display()),
                None => bail!("no interrupted run {wanted}: expected one of {}", ids.join(", ")),
            },
            None => {
                for id in ids.iter().rev() {
                    match lock_of(&home.join(id))? {
                        Some(lock) => {
                            found = Some((id, lock));
                            break;
                        }
                        None => busy = Some(id),
                    }
                }
            }
        }
        let Some((id, lock)) = found else {
            match busy {
                Some(id) => {
                    bail!("another process is measuring run {id}: wait until it ends")
                }
                None => bail!("no interrupted run in {}: start one without --resume", home.display()),
            }
        };
        let journal = Self { folder: home.join(id), _lock: lock };
        let campaign: Campaign = journal.get(PLAN)?;
        ensure!(campaign.id == *id, "{} is the plan of run {}", journal.folder.display(), campaign.id);
        Ok((journal, campaign))
    }

    /// Writes how the campaign stands into the journal.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn tell(
        &self,
        campaign: &Campaign,
        state: UnfinishedState,
        reason: &str,
    ) -> anyhow::Result<Unfinished> {
        let count = |steps: usize| u32::try_from(steps).unwrap_or(u32::MAX);
        let total = campaign.steps.iter().filter(|step| !campaign.skipped.contains_key(&step.position));
        let told = Unfinished {
            schema: UNFINISHED_SCHEMA.to_owned(),
            run_id: campaign.id.clone(),
            version: campaign.version.clone(),
            profile: campaign.profile,
            started_at: campaign.started_at.clone(),
            state,
            reason: reason.to_owned(),
            told_at: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            steps_done: count(steps_kept(&self.folder)),
            steps_total: count(total.count()),
        };
        self.put(STATE, &told)?;
        Ok(told)
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
        let home = self.folder.parent().unwrap_or(&self.folder).to_path_buf();
        let _others = home.parent().map(export::lock).transpose()?;
        // The plan goes first: what a kill leaves of the folder is no journal any more.
        fs::remove_file(self.folder.join(PLAN))
            .and_then(|()| fs::remove_dir_all(&self.folder))
            .with_context(|| format!("cannot remove {}", self.folder.display()))?;
        clear(&home);
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

/// How every campaign stands that has a journal below `results`, oldest first; and whether a process is at it.
///
/// # Errors
/// When a state cannot be read.
pub fn unfinished(results: &Path) -> anyhow::Result<Vec<(Unfinished, bool)>> {
    let home = Journal::home(results);
    let mut all = Vec::new();
    for id in ids(&home) {
        let folder = home.join(&id);
        let path = folder.join(STATE);
        let Ok(text) = fs::read(&path) else { continue };
        let mut told: Unfinished = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not what was written", path.display()))?;
        // Steps were finished since; a killed runner could not say so.
        told.steps_done = u32::try_from(steps_kept(&folder)).unwrap_or(u32::MAX).min(told.steps_total);
        all.push((told, lock_of(&folder)?.is_none()));
    }
    Ok(all)
}

/// How often a lock is tried, and the pause between.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(10);

/// What stands in the state of a campaign as long as it has not ended.
pub const NOT_ENDED: &str = "it has not ended: its process is at it, or was killed";

/// Folders with a plan, oldest first.
fn ids(home: &Path) -> Vec<String> {
    let mut ids: Vec<String> = match fs::read_dir(home) {
        Ok(entries) => entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect(),
        Err(_) => Vec::new(),
    };
    ids.retain(|id| home.join(id).join(PLAN).is_file());
    ids.sort();
    ids
}

fn steps_kept(folder: &Path) -> usize {
    let is_step = |name: &str| name.starts_with("step-") && name.ends_with(".json");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_step)).count()
}

/// The lock on a journal; none while another process has it.
fn lock_of(folder: &Path) -> anyhow::Result<Option<File>> {
    let handle = File::open(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    for again in (0..LOOKS).rev() {
        match handle.try_lock() {
            Ok(()) => return Ok(Some(handle)),
            // Another may only be looking whether somebody is at it.
            Err(fs::TryLockError::WouldBlock) if again > 0 => std::thread::sleep(LOOK),
            Err(fs::TryLockError::WouldBlock) => break,
            Err(fs::TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", folder.display()));
            }
        }
    }
    Ok(None)
}

/// Removes what kills left below the home of journals, and the home with the last of them.
fn clear(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let folder = entry.path();
        if !folder.join(PLAN).exists() && matches!(lock_of(&folder), Ok(Some(_))) {
            let _ = fs::remove_dir_all(&folder);
        }
    }
    let _ = fs::remove_dir(home);
}

fn step_file(position: u32) -> String {
    format!("step-{position:04}.json")
}
