//! When do acknowledged writes last? When their log is synced: before they are acknowledged, at intervals, or when somebody asks. Nobody waits for a sync that he did not ask for.

use super::Inner;
use super::health::Work;
use crate::error::{Error, Result};
use crate::lsm::record::Sequence;
use std::time::Duration;

impl Inner {
    /// Makes all that was acknowledged before the call last.
    pub(super) fn sync(&self) -> Result<()> {
        let _alone = self.syncing.lock();
        if self.health.is_over() {
            return self.look();
        }
        // Where only a flush or a merge lacks room, the logs are whole, and their sync is what was promised.
        self.sync_logs().inspect_err(|error| {
            let mut commit = self.commit.lock();
            // Pages that could not be written may be gone: no later sync of these logs proves anything.
            commit.is_suspect = true;
            self.health.fail(Work::Writes, error);
            drop(commit);
            self.wake_all();
        })
    }

    fn sync_logs(&self) -> Result<()> {
        let (earlier, pending, path, last) = {
            let commit = self.commit.lock();
            if commit.is_suspect {
                self.look()?;
            }
            let mut state = self.state.lock();
            let pending =
                commit.log.begin_sync().map_err(|error| Error::io(&commit.log_path, "sync", &error))?;
            (std::mem::take(&mut state.unsynced), pending, commit.log_path.clone(), commit.next - 1)
        };
        if earlier.is_empty() && pending.is_none() {
            self.have_synced(last);
            return Ok(());
        }
        // The oldest first: what survives is a prefix at every moment.
        for (path, mut log) in earlier {
            log.sync().map_err(|error| Error::io(&path, "sync", &error))?;
        }
        self.sync_directory()?;
        if let Some(pending) = pending {
            pending.sync().map_err(|error| Error::io(&path, "sync", &error))?;
            self.commit.lock().log.end_sync(&pending);
        }
        self.have_synced(last);
        Ok(())
    }

    fn have_synced(&self, last: Sequence) {
        let mut state = self.state.lock();
        state.synced = state.synced.max(last);
    }

    /// Syncs at intervals until the tree is closed.
    pub(super) fn sync_always(&self, interval: Duration) {
        loop {
            let mut state = self.state.lock();
            if !state.is_closing {
                self.closing.wait_for(&mut state, interval);
            }
            if state.is_closing {
                return;
            }
            drop(state);
            if self.sync().is_err() && self.health.is_over() {
                return;
            }
        }
    }
}
