//! How does a write come to count? Those that arrive together go together: whoever comes first leads, takes all that wait, writes them to the log at once, syncs once where
//! that is promised, and inserts them; the others sleep until that is done.
//!
//! A write that failed in the log leaves nobody sure of what the log holds. So the first failure is the last: the tree takes no more writes, and says why.

use super::Inner;
use super::options::SyncMode;
use super::view::{Frozen, View};
use crate::error::{Error, Result};
use crate::lsm::memtable::{Inserter, Memtable};
use crate::lsm::record::{Record, Sequence, Stamp};
use crate::lsm::sync::{Instant, MutexGuard, point};
use crate::lsm::wal::{LogWriter, writes};
use crate::nonblocking::NonBlocking;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What only the leader touches.
pub(crate) struct Commit {
    pub(crate) log: LogWriter,
    pub(crate) log_path: PathBuf,
    pub(crate) memtable: Arc<Memtable>,
    pub(crate) inserter: Inserter,
    /// The sequence number of the next write.
    pub(crate) next: Sequence,
}

/// Those who wait.
#[derive(Default)]
pub(crate) struct Queue {
    /// Their batches, one after the other.
    payloads: Vec<u8>,
    /// Of each batch its end in `payloads` and its writes.
    batches: Vec<(usize, u64)>,
    pub(super) is_led: bool,
    /// By somebody who waits for nothing, and how many wait for him who do not either.
    pub(super) is_led_briefly: bool,
    pub(super) brief_waiters: usize,
    /// Groups that were begun: who waits in one sleeps until that many are done.
    begun: u64,
    done: u64,
}

impl Queue {
    /// Whether there are batches that wait.
    pub(super) fn is_awaited(&self) -> bool {
        !self.batches.is_empty()
    }
}

/// Bytes that a batch takes in a memtable at most.
pub(super) fn memtable_bytes(payload: usize, writes: u64) -> usize {
    payload + writes as usize * Memtable::bytes_of(0, 0)
}

pub(super) fn log_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:06}.log"))
}

/// A log that is to be used again. It has no log's name: one that is needed is missing then, should the manifest ever ask for it.
pub(super) fn spare_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:06}.spare"))
}

impl Inner {
    /// Writes a batch: it has so many writes, all in `payload`.
    pub(crate) fn write(&self, payload: &[u8], count: u64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if NonBlocking::is_on() {
            return self.write_now(payload, count);
        }
        self.hold_back(payload.len());
        let mut queue = self.queue.lock();
        if queue.is_led {
            queue.payloads.extend_from_slice(payload);
            let end = queue.payloads.len();
            queue.batches.push((end, count));
            let group = queue.begun + 1;
            while queue.done < group && queue.is_led {
                self.turn.wait(&mut queue);
            }
            if queue.done >= group {
                return self.look();
            }
            self.lead(queue, None);
        } else {
            self.lead(queue, Some((payload, count)));
        }
        self.look()
    }

    /// Commits what waits, after an own batch if there is one.
    fn lead(&self, mut queue: MutexGuard<Queue>, own: Option<(&[u8], u64)>) {
        queue.is_led = true;
        let (payloads, batches) = (std::mem::take(&mut queue.payloads), std::mem::take(&mut queue.batches));
        // An own batch that never waited makes no group.
        let is_group = !batches.is_empty();
        queue.begun += u64::from(is_group);
        drop(queue);
        let mut begin = 0;
        let waiting = batches.iter().map(|(end, count)| {
            let payload = &payloads[begin..*end];
            begin = *end;
            (payload, *count)
        });
        if let Err(error) = self.commit_all(own.into_iter().chain(waiting)) {
            let _ = self.failed.set(error);
        }
        let mut queue = self.queue.lock();
        queue.is_led = false;
        queue.done += u64::from(is_group);
        if queue.payloads.is_empty() {
            // The space is used again.
            queue.payloads = payloads;
            queue.payloads.clear();
        }
        let is_awaited = is_group || !queue.batches.is_empty();
        drop(queue);
        if is_awaited {
            self.turn.notify_all();
        }
    }

    /// An error where the tree takes no more writes.
    pub(crate) fn look(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    fn commit_all<'a>(&self, batches: impl Iterator<Item = (&'a [u8], u64)>) -> Result<()> {
        self.look()?;
        let mut commit = self.commit.lock();
        let mut group: Vec<(&[u8], u64)> = Vec::new();
        let mut bytes = 0;
        for (payload, count) in batches {
            let needed = memtable_bytes(payload.len(), count);
            if !commit.memtable.fits(0, bytes + needed) {
                self.commit_group(&mut commit, &group)?;
                group.clear();
                bytes = 0;
                if !commit.memtable.fits(0, needed) {
                    self.freeze(&mut commit, needed)?;
                }
            }
            group.push((payload, count));
            bytes += needed;
        }
        self.commit_group(&mut commit, &group)
    }

    /// Commits batches that fit into the memtable.
    pub(super) fn commit_group(&self, commit: &mut Commit, group: &[(&[u8], u64)]) -> Result<()> {
        let mut next = commit.next;
        let mut bytes = 0;
        for (payload, count) in group {
            commit.log.add(next, payload);
            next += count;
            bytes += payload.len() as u64;
        }
        self.counters.written.fetch_add(bytes, Ordering::Relaxed);
        let failed = |error| Error::io(&commit.log_path, "append to", &error);
        commit.log.write().map_err(failed)?;
        if self.options.sync == SyncMode::Always {
            commit.log.sync().map_err(failed)?;
        }
        for write in group.iter().flat_map(|(payload, _)| writes(payload)) {
            let write = write.map_err(|reason| Error::corrupt(&commit.log_path, commit.log.len(), reason))?;
            let record =
                Record { key: write.key, stamp: Stamp::new(commit.next, write.kind), value: write.value };
            if !commit.memtable.insert(&mut commit.inserter, &record) {
                return Err(Error::corrupt(
                    &commit.log_path,
                    commit.log.len(),
                    "a batch is longer than it said",
                ));
            }
            commit.next += 1;
        }
        point();
        self.published.store(commit.next - 1, Ordering::Release);
        Ok(())
    }

    /// Begins a new memtable and log; the old ones wait to be flushed. Waits while there are too many of them.
    pub(crate) fn freeze(&self, commit: &mut Commit, needed: usize) -> Result<()> {
        let mut state = self.state.lock();
        if self.is_full(&state.view) && self.options.has_workers {
            let begin = Instant::now();
            while self.is_full(&state.view) {
                self.look()?;
                self.room.wait(&mut state);
            }
            self.counters.stalls.fetch_add(1, Ordering::Relaxed);
            self.counters.stalled_us.fetch_add(begin.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
        let number = state.take_number();
        let path = log_path(&self.directory, number);
        let mut log = match state.spare.take() {
            Some(spare) => {
                let old = spare_path(&self.directory, spare);
                self.vfs.rename(&old, &path).map_err(|error| Error::io(&old, "rename", &error))?;
                let file = self.vfs.reuse(&path).map_err(|error| Error::io(&path, "open", &error))?;
                LogWriter::reused(file, number)
            }
            None => {
                let file = self.vfs.create(&path).map_err(|error| Error::io(&path, "create", &error))?;
                LogWriter::filled_ahead(file, number)
            }
        };
        if self.options.sync == SyncMode::Always {
            self.sync_directory()?;
        }
        let (memtable, inserter) =
            new_memtable(self.options.memtable_bytes.max(needed), commit.memtable.common())?;
        log.mark(if self.options.sync == SyncMode::Always { commit.next } else { state.synced + 1 });
        let log = std::mem::replace(&mut commit.log, log);
        if self.options.sync != SyncMode::Always {
            state.unsynced.push((std::mem::replace(&mut commit.log_path, path), log));
        } else {
            commit.log_path = path;
        }
        commit.inserter = inserter;
        let old = std::mem::replace(&mut commit.memtable, Arc::clone(&memtable));
        state.logs.push(number);
        let mut view = View::clone(&state.view);
        view.frozen.push(Frozen { memtable: old, next_log: number, last_sequence: commit.next - 1 });
        view.memtable = memtable;
        self.show(&mut state, view);
        self.work.notify_all();
        Ok(())
    }

    fn is_full(&self, view: &View) -> bool {
        view.frozen.len() >= self.options.frozen_memtables
            || view.version.levels[0].len() >= self.options.level0_stop
    }
}

pub(super) fn new_memtable(bytes: usize, common: &[u8]) -> Result<(Arc<Memtable>, Inserter)> {
    let (memtable, inserter) = Memtable::new(bytes, common).ok_or(Error::OutOfMemory)?;
    Ok((Arc::new(memtable), inserter))
}
