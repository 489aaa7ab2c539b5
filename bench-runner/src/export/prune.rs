//! Which local runs can go, and how do they go so that no reader sees half of one?

use super::read::{Listed, listed_runs, read_index};
use super::write::{LOCAL, lock, save_index};
use crate::model::Index;
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use std::path::{Path, PathBuf};

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The newest so many.
    Newest(usize),
    /// Those that started within this time before now.
    Within(SignedDuration),
}

/// The local runs that would go, oldest first: id and folder. A published run is never among them.
///
/// # Errors
/// When an index cannot be read.
pub fn prunable(results: &Path, keep: Keep, now: Timestamp) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut local: Vec<Listed> =
        listed_runs(results)?.into_iter().filter(|listed| listed.version == LOCAL).collect();
    match keep {
        Keep::Newest(count) => local.truncate(local.len().saturating_sub(count)),
        Keep::Within(time) => local.retain(|listed| {
            // A start that cannot be read is not known to be old.
            listed.run.started_at.parse::<Timestamp>().is_ok_and(|start| now.duration_since(start) > time)
        }),
    }
    Ok(local.into_iter().map(|listed| (listed.run.id.clone(), listed.folder())).collect())
}

/// Takes local runs out of their index, then removes their folders: a kill in between leaves folders that no
/// index lists.
///
/// # Errors
/// When the index cannot be written (then all is as it was), or a folder cannot be removed.
pub fn prune(results: &Path, runs: &[(String, PathBuf)]) -> anyhow::Result<()> {
    let base = results.join(LOCAL);
    let _lock = lock(&base)?;
    let path = base.join("index.json");
    let mut index: Index = read_index(&path)?;
    for version in &mut index.versions {
        for machine in &mut version.machines {
            machine.runs.retain(|listed| !runs.iter().any(|(id, _)| *id == listed.id));
        }
        version.machines.retain(|machine| !machine.runs.is_empty());
    }
    index.versions.retain(|version| !version.machines.is_empty());
    save_index(&path, &index)?;
    for (_, folder) in runs {
        std::fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
        // The machine's folder goes with its last run.
        let _ = folder.parent().map(std::fs::remove_dir);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::small_run_as;
    use crate::export::write_run;

    fn stored(results: &Path) {
        for (id, version, at) in [
            ("a", "local", "2026-01-01T00:00:00Z"),
            ("b", "local", "2026-01-02T00:00:00Z"),
            ("c", "local", "2026-01-03T00:00:00Z"),
            ("a", "0.0.1", "2026-01-01T00:00:00Z"),
        ] {
            let (run, scenarios) = small_run_as(id, version, at);
            write_run(results, run, scenarios).unwrap();
        }
    }

    fn ids(runs: &[(String, PathBuf)]) -> Vec<&str> {
        runs.iter().map(|(id, _)| id.as_str()).collect()
    }

    #[test]
    fn old_local_runs_go_and_published_ones_stay() {
        let results = tempfile::tempdir().unwrap();
        stored(results.path());
        let now: Timestamp = "2026-01-03T12:00:00Z".parse().unwrap();
        let would = |keep| prunable(results.path(), keep, now).unwrap();
        assert_eq!(ids(&would(Keep::Newest(1))), ["a", "b"]);
        assert_eq!(ids(&would(Keep::Newest(5))), [""; 0]);
        assert_eq!(ids(&would(Keep::Within(SignedDuration::from_hours(24)))), ["a", "b"]);
        assert_eq!(ids(&would(Keep::Within(SignedDuration::from_hours(40)))), ["a"]);
        prune(results.path(), &would(Keep::Newest(1))).unwrap();
        let left: Vec<String> = listed_runs(results.path())
            .unwrap()
            .iter()
            .map(|one| format!("{} {}", one.version, one.run.id))
            .collect();
        assert_eq!(left, ["0.0.1 a", "local c"]);
        assert!(!results.path().join("local/fixture-machine/b").exists());
        assert!(results.path().join("0.0.1/fixture-machine/a/run.json").exists());
        prune(results.path(), &would(Keep::Newest(0))).unwrap();
        assert_eq!(listed_runs(results.path()).unwrap().len(), 1);
    }
}
