//! How does a write come to count? Those that arrive together go together: whoever comes first leads, takes all that wait, writes them to the log at once, syncs once where
//! that is promised, and inserts them; the others sleep until that is done.
//!
//! Each batch gets its own result: one that was committed returns `Ok`, whatever failed in the background
//! or in a later batch of its group. A failed write or sync of the log leaves unknown what the log holds,
//! so no batch is added to it any more (`health.rs` says when writes are taken again, `recover` how).

use super::Inner;
use super::health::Work;
use super::options::SyncMode;
use crate::error::{Error, Result};
use crate::lsm::buffer::{Buffer, LONG};
use crate::lsm::memtable::{Inserter, Memtable};
use crate::lsm::record::{Kind, Record, Sequence, Stamp};
use crate::lsm::sync::{MutexGuard, point};
use crate::lsm::wal::{LogWriter, writes};
use crate::nonblocking::NonBlocking;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Space for batches that wait is given back above it.
const KEPT: usize = 1 << 20;

/// What only the leader touches.
pub(crate) struct Commit {
    pub(crate) log: LogWriter,
    pub(crate) log_path: PathBuf,
    pub(crate) memtable: Arc<Memtable>,
    pub(crate) inserter: Inserter,
    /// The sequence number of the next write.
    pub(crate) next: Sequence,
    /// A write or a sync of a log failed: what logs hold is unknown, and no batch is added.
    pub(crate) is_suspect: bool,
}

/// Those who wait.
#[derive(Default)]
pub(crate) struct Queue {
    /// Their batches, one after the other.
    payloads: Buffer,
    /// Of each batch its end in `payloads` and its writes.
    batches: Vec<(usize, u64)>,
    pub(super) is_led: bool,
    /// By somebody who waits for nothing, and how many wait for him who do not either.
    pub(super) is_led_briefly: bool,
    pub(super) brief_waiters: usize,
    /// Writers that wait to lead, because their batches are too long to be copied into the queue.
    waiting_to_lead: usize,
    /// Groups that were begun: who waits in one sleeps until that many are done.
    begun: u64,
    done: u64,
    /// Results of groups of which not every batch was committed.
    refused: Vec<Refused>,
}

/// The end of a group that was not committed.
struct Refused {
    group: u64,
    outcome: Outcome,
    /// Waiters that have not read their result yet.
    left: usize,
}

/// What became of a group: its first batches were committed, the others failed.
#[derive(Clone)]
struct Outcome {
    committed: usize,
    error: Option<Error>,
}

impl Outcome {
    fn of(&self, batch: usize) -> Result<()> {
        match &self.error {
            Some(error) if batch >= self.committed => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

impl Queue {
    /// Batches that wait.
    #[cfg(all(test, not(shuttle)))]
    pub(super) fn waiting(&self) -> usize {
        self.batches.len()
    }

    /// Whether there are batches that wait.
    pub(super) fn is_awaited(&self) -> bool {
        !self.batches.is_empty() || self.waiting_to_lead > 0
    }

    /// The result of a batch of a group that is done, for the thread that waited for it.
    fn result(&mut self, group: u64, batch: usize) -> Result<()> {
        let Some(at) = self.refused.iter().position(|refused| refused.group == group) else { return Ok(()) };
        let refused = &mut self.refused[at];
        let result = refused.outcome.of(batch);
        refused.left -= 1;
        if refused.left == 0 {
            self.refused.swap_remove(at);
        }
        result
    }
}

/// Bytes that a batch takes in a memtable at most.
pub(super) fn memtable_bytes(payload: usize, writes: u64) -> usize {
    payload + writes as usize * Memtable::bytes_of(0, 0)
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
        // What waits is copied: where that would be much, the batch waits where it is.
        while queue.is_led && queue.payloads.len() + payload.len() > self.options.queue_bytes {
            queue.waiting_to_lead += 1;
            self.turn.wait(&mut queue);
            queue.waiting_to_lead -= 1;
        }
        if !queue.is_led {
            return self.lead(queue, Some((payload, count))).of(0);
        }
        queue.payloads.extend_from_slice(payload);
        let end = queue.payloads.len();
        let batch = queue.batches.len();
        queue.batches.push((end, count));
        let group = queue.begun + 1;
        while queue.done < group && queue.is_led {
            self.turn.wait(&mut queue);
        }
        if queue.done >= group {
            return queue.result(group, batch);
        }
        self.lead(queue, None).of(batch)
    }

    /// Commits what waits, after an own batch if there is one.
    fn lead(&self, mut queue: MutexGuard<Queue>, own: Option<(&[u8], u64)>) -> Outcome {
        queue.is_led = true;
        let (payloads, batches) = (std::mem::take(&mut queue.payloads), std::mem::take(&mut queue.batches));
        // An own batch that never waited makes no group.
        let is_group = !batches.is_empty();
        queue.begun += u64::from(is_group);
        drop(queue);
        let mut led = Led { inner: self, own: own.is_some(), payloads, batches, is_done: false };
        let outcome = if let (Some(own), false) = (own, is_group) {
            self.commit_alone(own)
        } else {
            let mut begin = 0;
            let waiting = led.batches.iter().map(|(end, count)| {
                let payload = &led.payloads[begin..*end];
                begin = *end;
                (payload, *count)
            });
            self.commit_all(own.into_iter().chain(waiting))
        };
        led.end(&outcome);
        outcome
    }

    /// An error where the tree takes no writes.
    #[inline]
    pub(crate) fn look(&self) -> Result<()> {
        self.health.check()
    }

    /// Commits a batch when no others wait.
    fn commit_alone(&self, (payload, count): (&[u8], u64)) -> Outcome {
        let commit = || {
            self.may_write()?;
            let mut commit = self.commit.lock();
            let needed = memtable_bytes(payload.len(), count);
            if !commit.memtable.fits(0, needed) {
                // Nothing, but it tells where the log is suspect.
                self.commit_group(&mut commit, &[])?;
                self.freeze(&mut commit, needed)?;
            }
            self.commit_group(&mut commit, &[(payload, count)])
        };
        match commit() {
            Ok(()) => Outcome { committed: 1, error: None },
            Err(error) => Outcome { committed: 0, error: Some(error) },
        }
    }

    fn commit_all<'a>(&self, batches: impl Iterator<Item = (&'a [u8], u64)>) -> Outcome {
        let mut committed = 0;
        let error = self.commit_each(batches, &mut committed).err();
        Outcome { committed, error }
    }

    /// Counts those that are committed; the first that fails ends it.
    fn commit_each<'a>(
        &self,
        batches: impl Iterator<Item = (&'a [u8], u64)>,
        committed: &mut usize,
    ) -> Result<()> {
        self.may_write()?;
        let mut commit = self.commit.lock();
        let mut group: Vec<(&[u8], u64)> = Vec::new();
        let mut bytes = 0;
        for (payload, count) in batches {
            let needed = memtable_bytes(payload.len(), count);
            if !commit.memtable.fits(0, bytes + needed) {
                self.commit_group(&mut commit, &group)?;
                *committed += group.len();
                group.clear();
                bytes = 0;
                if !commit.memtable.fits(0, needed) {
                    self.freeze(&mut commit, needed)?;
                }
            }
            group.push((payload, count));
            bytes += needed;
        }
        self.commit_group(&mut commit, &group)?;
        *committed += group.len();
        Ok(())
    }

    /// Whether writes are taken. Without workers, this is when room is looked for again.
    fn may_write(&self) -> Result<()> {
        if !self.options.has_workers && self.health.lacks_room(Work::Writes) {
            self.recover()?;
        }
        self.look()
    }

    /// Commits batches that fit into the memtable.
    pub(super) fn commit_group(&self, commit: &mut Commit, group: &[(&[u8], u64)]) -> Result<()> {
        if commit.is_suspect {
            // It failed since this write looked.
            self.look()?;
        }
        let appending = Appending { inner: self, commit };
        let done = self.append(&mut *appending.commit, group);
        match &done {
            Ok(()) => std::mem::forget(appending),
            Err(error) => appending.fail(error),
        }
        done?;
        point();
        self.published.store(commit.next - 1, Ordering::Release);
        Ok(())
    }

    /// Appends a long batch to the log. It is not copied.
    #[cold]
    fn append_long(&self, commit: &mut Commit, next: Sequence, (payload, count): (&[u8], u64)) -> Result<()> {
        // About: the flush notes each value.
        self.long_values.note(payload.len() / count.max(1) as usize);
        self.make_room_for_long_values();
        commit.log.write_long(next, payload).map_err(|error| Error::append(&commit.log_path, &error))
    }

    fn append(&self, commit: &mut Commit, group: &[(&[u8], u64)]) -> Result<()> {
        let mut next = commit.next;
        let mut bytes = 0;
        for (payload, count) in group {
            if payload.len() < LONG {
                commit.log.add(next, payload);
            } else {
                self.append_long(commit, next, (payload, *count))?;
            }
            next += count;
            bytes += payload.len() as u64;
        }
        self.counters.written.fetch_add(bytes, Ordering::Relaxed);
        let failed = |error| Error::append(&commit.log_path, &error);
        commit.log.write().map_err(failed)?;
        if self.options.sync == SyncMode::Always {
            commit.log.sync().map_err(failed)?;
        }
        // Gaps are listed under the lock of commits: none comes before the group is inserted.
        let has_gaps = !self.gaps.is_empty();
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
            if has_gaps && matches!(write.kind, Kind::Set | Kind::SetUntil) {
                self.gaps.cut(write.key);
            }
            if write.kind == Kind::SetUntil {
                self.time.note_expiry();
            }
            commit.next += 1;
        }
        Ok(())
    }
}

/// A batch on its way into the log and the memtable. Dropped, its thread panicked: how far it came is
/// unknown.
struct Appending<'a> {
    inner: &'a Inner,
    commit: &'a mut Commit,
}

impl Appending<'_> {
    /// While the log is locked: a writer that finds it suspect finds the reason.
    fn note(&mut self, error: &Error) {
        self.commit.is_suspect = true;
        self.inner.health.fail(Work::Writes, error);
        self.inner.wake_all();
    }

    #[cold]
    fn fail(mut self, error: &Error) {
        self.note(error);
        std::mem::forget(self);
    }
}

impl Drop for Appending<'_> {
    fn drop(&mut self) {
        self.note(&Error::Panicked { thread: "a writer" });
    }
}

/// The batches of a leader. Dropped, they are done: also where the leader panicked, so that the threads
/// that wait for it do not wait for ever.
struct Led<'a> {
    inner: &'a Inner,
    own: bool,
    payloads: Buffer,
    batches: Vec<(usize, u64)>,
    is_done: bool,
}

impl Led<'_> {
    #[inline]
    fn end(&mut self, outcome: &Outcome) {
        self.is_done = true;
        let is_group = !self.batches.is_empty();
        let mut queue = self.inner.queue.lock();
        queue.is_led = false;
        queue.done += u64::from(is_group);
        // A leader that waited before is one of the group, and has its result.
        let left = self.batches.len() - usize::from(!self.own && is_group);
        if outcome.error.is_some() && left > 0 {
            let group = queue.done;
            let committed = outcome.committed.saturating_sub(usize::from(self.own));
            let error = outcome.error.clone();
            queue.refused.push(Refused { group, outcome: Outcome { committed, error }, left });
        }
        if queue.payloads.is_empty() {
            // The space is used again.
            queue.payloads = std::mem::take(&mut self.payloads);
            queue.payloads.clear();
            if queue.payloads.capacity() > KEPT {
                queue.payloads = Buffer::new();
            }
        }
        let is_awaited = is_group || queue.is_awaited();
        drop(queue);
        if is_awaited {
            self.inner.turn.notify_all();
        }
    }

    #[cold]
    fn end_in_panic(&mut self) {
        let error = Error::Panicked { thread: "a writer" };
        self.inner.health.fail(Work::Writes, &error);
        self.end(&Outcome { committed: 0, error: Some(error) });
    }
}

impl Drop for Led<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_done {
            self.end_in_panic();
        }
    }
}
