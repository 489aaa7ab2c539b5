//! When does another memtable begin, and another log with it? When a batch does not fit any more: the old ones
//! are frozen, and wait to be flushed.

use super::commit::Commit;
use super::options::SyncMode;
use super::view::{Frozen, View};
use super::{Inner, State};
use crate::error::{Error, Result};
use crate::event::{Event, StallReason};
use crate::lsm::common::Common;
use crate::lsm::file_name::FileName;
use crate::lsm::memtable::{Inserter, Memtable, Recycler};
use crate::lsm::sync::{Instant, MutexGuard};
use crate::lsm::wal::{LogWriter, tag};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) fn log_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(FileName::Log(number).to_string())
}

/// A log that is to be used again. It has no log's name: one that is needed is missing then, should the manifest ever ask for it.
pub(super) fn spare_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(FileName::Spare(number).to_string())
}

pub(super) fn new_memtable(
    bytes: usize,
    common: impl Into<Common>,
    recycler: Option<&Arc<Recycler>>,
) -> Result<(Arc<Memtable>, Inserter)> {
    let (memtable, inserter) = Memtable::recycling(bytes, common, recycler).ok_or(Error::OutOfMemory)?;
    Ok((Arc::new(memtable), inserter))
}

impl Inner {
    /// Begins a new memtable and log; the old ones wait to be flushed. Waits while there are too many of them.
    pub(crate) fn freeze(&self, commit: &mut Commit, needed: usize) -> Result<()> {
        // A writer that panicked may have left half a batch in the memtable, which no table must hold.
        if commit.is_suspect
            && let Some(error @ Error::Panicked { .. }) = self.health.failure()
        {
            return Err(error);
        }
        let mut state = self.state.lock();
        if self.is_full(&state.view) && self.options.has_workers {
            self.stall(&mut state)?;
        }
        self.freeze_at_once(commit, &mut state, needed)
    }

    /// Write stall: waits until there is room for another memtable.
    fn stall(&self, state: &mut MutexGuard<State>) -> Result<()> {
        let begin = Instant::now();
        let reason = match state.view.frozen.len() >= self.options.frozen_memtables {
            true => StallReason::Memtables,
            false => StallReason::Level0,
        };
        self.events.send(|| Event::StallBegun { reason });
        let mut done = Ok(());
        while self.is_full(&state.view) && done.is_ok() {
            done = self.look();
            if done.is_ok() {
                self.room.wait(state);
            }
        }
        self.events.send(|| Event::StallEnded { reason, duration: begin.elapsed() });
        done?;
        self.counters.stalls.fetch_add(1, Ordering::Relaxed);
        self.counters.stalled_us.fetch_add(begin.elapsed().as_micros() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// The same, however many memtables wait.
    pub(super) fn freeze_at_once(&self, commit: &mut Commit, state: &mut State, needed: usize) -> Result<()> {
        let number = state.take_number();
        let path = log_path(&self.directory, number);
        let (mut log, memtable, inserter) =
            self.begin_log(commit, state, (number, &path), needed).inspect_err(|_| {
                // One that stays is removed when the tree is opened.
                let _ = self.vfs.remove(&path);
            })?;
        log.mark(if self.options.sync == SyncMode::Always { commit.next } else { state.synced + 1 });
        let log = std::mem::replace(&mut commit.log, log);
        let old_path = std::mem::replace(&mut commit.log_path, path);
        // A sync of a suspect log proves nothing: what it holds lasts when its memtable is a table.
        if commit.is_suspect {
            state.suspect_until = commit.next - 1;
        } else if self.options.sync != SyncMode::Always {
            state.unsynced.push((old_path, log));
        }
        commit.is_suspect = false;
        commit.inserter = inserter;
        let old = std::mem::replace(&mut commit.memtable, Arc::clone(&memtable));
        state.logs.push(number);
        let mut view = View::clone(&state.view);
        view.frozen.push(Frozen { memtable: old, next_log: number, last_sequence: commit.next - 1 });
        view.memtable = memtable;
        self.show(state, view);
        self.work.notify_all();
        Ok(())
    }

    /// Another log, its file there as long as the sync mode wants, and a memtable.
    fn begin_log(
        &self,
        commit: &Commit,
        state: &mut State,
        (number, path): (u64, &Path),
        needed: usize,
    ) -> Result<(LogWriter, Arc<Memtable>, Inserter)> {
        let bytes = self.options.memtable_bytes.max(needed);
        // A memtable that is longer for one batch is not kept.
        let recycler = self.recycler.as_ref().filter(|_| bytes == self.options.memtable_bytes);
        let (memtable, inserter) = new_memtable(bytes, commit.memtable.common(), recycler)?;
        let log = match state.spare.take() {
            Some(spare) => {
                let old = spare_path(&self.directory, spare);
                self.vfs.rename(&old, path).map_err(|error| Error::io(&old, "rename", &error))?;
                let file = self.vfs.reuse(path).map_err(|error| Error::io(path, "open", &error))?;
                LogWriter::reused(file, tag(self.salt, number))
            }
            None => {
                let file = self.vfs.create(path).map_err(|error| Error::io(path, "create", &error))?;
                LogWriter::filled_ahead(file, tag(self.salt, number))
            }
        };
        if self.options.sync == SyncMode::Always {
            self.sync_directory()?;
        }
        Ok((log.synced_each_time(self.options.sync == SyncMode::Always), memtable, inserter))
    }

    pub(super) fn is_full(&self, view: &View) -> bool {
        view.frozen.len() >= self.options.frozen_memtables
            || view.version.levels[0].len() >= self.options.level0_stop
    }
}
