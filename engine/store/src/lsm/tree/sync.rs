//! When do acknowledged writes last? When their log is synced: before they are acknowledged, at intervals, or when somebody asks. Nobody waits for a sync that he did not ask for.

use super::Inner;
use super::health::Work;
use crate::error::{Error, Result};
use crate::lsm::record::Sequence;
use crate::lsm::wal::{LogWriter, PendingSync};
use std::path::PathBuf;
use std::time::Duration;

/// Logs whose sync was begun.
struct Begun {
    /// Those that are written to no more, the oldest first.
    earlier: Vec<(PathBuf, LogWriter)>,
    /// The one that is written to, and its path.
    pending: Option<PendingSync>,
    path: PathBuf,
    /// The last write in them.
    last: Sequence,
}

impl Inner {
    /// Makes all that was acknowledged before the call last.
    pub(super) fn sync(&self) -> Result<()> {
        let _alone = self.syncing.lock();
        if self.health.is_over() {
            return self.look();
        }
        let begun = self.begin_sync()?;
        self.sync_logs(begun).inspect_err(|error| {
            let mut commit = self.commit.lock();
            // Pages that could not be written may be gone: no later sync of these logs proves anything.
            commit.is_suspect = true;
            self.health.fail(Work::Writes, error);
            drop(commit);
            self.wake_all();
        })
    }

    /// What is to be synced. Where only a flush or a merge lacks room, the logs are whole, and their sync is
    /// what was promised. An error where it would prove nothing, because a log failed whose writes are not
    /// in tables yet: in this log or in one that another has taken the place of.
    fn begin_sync(&self) -> Result<Begun> {
        let commit = self.commit.lock();
        let mut state = self.state.lock();
        if commit.is_suspect || state.suspect_until > 0 {
            self.look()?;
        }
        let pending = commit.log.begin_sync().map_err(|error| Error::io(&commit.log_path, "sync", &error))?;
        Ok(Begun {
            earlier: std::mem::take(&mut state.unsynced),
            pending,
            path: commit.log_path.clone(),
            last: commit.next - 1,
        })
    }

    fn sync_logs(&self, begun: Begun) -> Result<()> {
        let Begun { earlier, pending, path, last } = begun;
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
