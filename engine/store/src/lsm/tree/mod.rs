//! The whole: a log and a memtable that take writes, tables in levels, and two threads that turn one into the other.
//!
//! Who holds what: the leader of a commit holds `commit`; whoever changes what there is holds `state`, and takes it after `commit`. Readers hold nothing: they load the view,
//! then the number of the newest write that counts. In this order, for the view has everything up to the moment it was loaded, and what is newer than
//! that lies in its memtable or is not seen; in the other order a merge between the two might have dropped what the number stands for.

mod admin;
mod commit;
mod creation;
#[cfg(test)]
mod creation_test;
#[cfg(test)]
mod damage_test;
mod events;
#[cfg(not(shuttle))]
#[cfg(test)]
mod events_test;
#[cfg(test)]
mod fault_test;
#[cfg(test)]
mod filters_test;
#[cfg(test)]
mod forge_test;
mod freeze;
#[cfg(test)]
mod gap_test;
mod health;
#[cfg(not(shuttle))]
#[cfg(test)]
mod health_test;
mod ingest;
#[cfg(test)]
mod ingest_test;
mod many;
#[cfg(test)]
mod many_test;
mod merge;
#[cfg(test)]
mod merge_test;
mod merging;
#[cfg(not(shuttle))]
#[cfg(test)]
mod merging_test;
#[cfg(test)]
mod names_test;
mod now;
mod open;
#[cfg(not(shuttle))]
#[cfg(test)]
mod open_test;
mod options;
mod pace;
#[cfg(test)]
mod pace_test;
#[cfg(not(shuttle))]
#[cfg(test)]
mod panic_test;
mod pinned;
#[cfg(test)]
mod power_test;
#[cfg(test)]
mod range_test;
#[cfg(test)]
mod recycling_test;
mod repair;
#[cfg(test)]
mod repair_test;
mod replay;
#[cfg(test)]
mod script_test;
#[cfg(test)]
mod snapshot_test;
mod sync;
#[cfg(test)]
mod time_test;
#[cfg(test)]
mod tree_test;
mod view;
mod work;

use crate::error::{Error, Result};
use crate::lsm::buffer::Buffer;
use crate::lsm::compaction::Underway;
use crate::lsm::iter::{Gaps, Live, Visible};
use crate::lsm::long_values::LongValues;
use crate::lsm::manifest::{Edit, Manifest};
use crate::lsm::memtable::Recycler;
use crate::lsm::range_deletions::put_end;
use crate::lsm::record::{Kind, MAX_SEQUENCE, Sequence};
use crate::lsm::sync::{Condvar, JoinHandle, Mutex, is_this_thread, point};
use crate::lsm::table::{BlockCache, PageCache, TableFiles};
use crate::lsm::time::StoreTime;
use crate::lsm::vfs::{Owner, Vfs};
use crate::lsm::wal::{LogWriter, MAX_PAYLOAD, Write, put_write, writes};
use admin::Counters;
use arc_swap::ArcSwap;
use commit::{Commit, Queue};
use health::{Health, Work};
use pace::Pace;
use pinned::Pinned;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use view::View;

pub(crate) use events::Events;
pub(crate) use ingest::Ingest;
pub(crate) use merge::MergeProgress;
pub(crate) use options::{SyncMode, TreeOptions};
pub(crate) use repair::repair;

/// A store in a directory.
pub(crate) struct Tree {
    inner: Arc<Inner>,
    workers: Vec<JoinHandle<()>>,
    /// The thread that delivers events.
    delivery: Option<JoinHandle<()>>,
}

struct Inner {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    /// What the tags of its logs are made of: drawn when it was opened, or where it could not begin a log
    /// then, what it had. None in a store of 0.5.0 or 0.5.1.
    salt: Option<u64>,
    options: TreeOptions,
    cache: Option<Arc<BlockCache>>,
    pages: Arc<PageCache>,
    files: Arc<TableFiles>,
    /// What readers read; `state` has the same.
    view: ArcSwap<View>,
    /// The newest write that counts.
    published: AtomicU64,
    time: Arc<StoreTime>,
    queue: Mutex<Queue>,
    turn: Condvar,
    commit: Mutex<Commit>,
    state: Mutex<State>,
    /// There may be something to flush or to merge.
    work: Condvar,
    /// There may be room for another memtable.
    room: Condvar,
    /// The tree is being closed.
    closing: Condvar,
    syncing: Mutex<()>,
    flushing: Mutex<()>,
    compacting: Mutex<()>,
    /// Callers of `settle`.
    waiting_for_merges: AtomicUsize,
    counters: Counters,
    pinned: Pinned,
    /// What a merge takes at most of late.
    merge_bytes: AtomicU64,
    pace: Pace,
    long_values: Arc<LongValues>,
    /// Memory of memtables; only where a thread gives it back.
    recycler: Option<Arc<Recycler>>,
    /// Where walks have found nothing but deleted keys.
    gaps: Arc<Gaps>,
    is_closing: AtomicBool,
    health: Health,
    events: Events,
    /// Ends after all else, so that readers that are left find the directory no longer theirs.
    owner: Owner,
}

struct State {
    view: Arc<View>,
    manifest: Manifest,
    next_file: u64,
    /// Logs that are there, and the first that is needed.
    logs: Vec<u64>,
    first_log: u64,
    /// The newest write that is in a table.
    last_sequence: Sequence,
    /// Writes up to this one last.
    synced: Sequence,
    /// Writes up to this number may be lost although they were acknowledged, until they are in tables: a write
    /// or a sync of their log failed. 0, where there are none.
    suspect_until: Sequence,
    /// A log that is not needed any more, to be written anew: what overwrites a file is synced sooner than what makes it longer.
    spare: Option<u64>,
    /// Logs that are written to no more and were not synced yet.
    unsynced: Vec<(PathBuf, LogWriter)>,
    is_closing: bool,
    /// Another manifest has to be begun: the last attempt failed, and `CURRENT` may name either.
    needs_manifest: bool,
    /// Tables that an edit named which could not be written: the manifest may have it all the same, so
    /// they stay until another manifest counts.
    doubtful: Vec<u64>,
    /// The merge that is being done.
    underway: Option<Underway>,
}

impl State {
    fn take_number(&mut self) -> u64 {
        self.next_file += 1;
        self.next_file - 1
    }
}

/// The most writes in a batch: a memtable has addresses for so many in one with [`MAX_PAYLOAD`].
const MAX_WRITES: u64 = 1 << 27;

/// Writes that count together or not at all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    payload: Buffer,
    writes: u64,
}

impl Batch {
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) {
        self.put(Kind::Set, key, value);
    }

    /// A value until a time, in milliseconds since the Unix epoch.
    pub(crate) fn set_until(&mut self, key: &[u8], value: &[u8], until_ms: u64) {
        self.put(Kind::SetUntil, key, &[&until_ms.to_le_bytes()[..], value].concat());
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.put(Kind::Delete, key, b"");
    }

    /// A value and the end of its time, if it has one; without a value, a deletion.
    pub(crate) fn put_timed(&mut self, key: &[u8], value: Option<(&[u8], Option<u64>)>) {
        match value {
            Some((value, Some(until_ms))) => self.set_until(key, value, until_ms),
            Some((value, None)) => self.set(key, value),
            None => self.delete(key),
        }
    }

    /// All keys from `start` on and below `end`, or without one all that follow.
    pub(crate) fn delete_range(&mut self, start: &[u8], end: Option<&[u8]>) {
        self.put(Kind::DeleteRange, start, &put_end(end));
    }

    /// Bytes of it.
    pub(crate) fn bytes(&self) -> usize {
        self.payload.len()
    }

    /// Bytes that it takes in a memtable at most.
    pub(crate) fn memory_bytes(&self) -> u64 {
        commit::memtable_bytes(self.payload.len(), self.writes) as u64
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// Each key, and the length of its value.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&[u8], usize)> {
        let len = |write: &Write| match write.kind {
            // The time before the value is no part of it.
            Kind::SetUntil => write.value.len().saturating_sub(size_of::<u64>()),
            _ => write.value.len(),
        };
        writes(&self.payload).filter_map(|write| write.ok()).map(move |write| (write.key, len(&write)))
    }

    pub(crate) fn clear(&mut self) {
        self.payload.clear();
        self.writes = 0;
    }

    /// Whether it can be carried out at once.
    fn check(&self) -> Result<()> {
        let (bytes, writes) = (self.payload.len() as u64, self.writes);
        for (len, max, unit) in [(bytes, MAX_PAYLOAD as u64, "bytes"), (writes, MAX_WRITES, "writes")] {
            if len > max {
                return Err(Error::BatchTooLong { len, max, unit });
            }
        }
        Ok(())
    }

    fn put(&mut self, kind: Kind, key: &[u8], value: &[u8]) {
        put_write(&mut self.payload, &Write { kind, key, value });
        self.writes += 1;
    }
}

impl Tree {
    /// Carries out a batch. How long it lasts once this returned is the sync mode's promise.
    pub(crate) fn write(&self, batch: &Batch) -> Result<()> {
        batch.check()?;
        self.inner.write(&batch.payload, batch.writes)
    }

    /// Hands the value of a key to `f`.
    pub(crate) fn get<R>(&self, key: &[u8], f: impl FnOnce(Live) -> R) -> Result<Option<R>> {
        let view = self.inner.view.load();
        point();
        let at = self.inner.published.load(Ordering::Acquire);
        view.get(key, at, || self.inner.time.now_ms(), f)
    }

    /// As [`snapshot`](Self::snapshot), for a client that may hold it: an error where what is held already
    /// pins too much memory.
    pub(crate) fn snapshot_to_hold(&self) -> Result<TreeSnapshot> {
        let (held, limit) = (self.inner.pinned.bytes(), self.inner.options.pinned_bytes);
        if held > limit {
            return Err(Error::SnapshotsHoldMemory { held, limit });
        }
        Ok(self.snapshot())
    }

    /// The store as it is now, for as long as it is held.
    pub(crate) fn snapshot(&self) -> TreeSnapshot {
        if self.inner.gaps.has_wish() {
            self.inner.look_for_gap();
        }
        let view = self.inner.view.load_full();
        point();
        TreeSnapshot {
            gaps: Arc::clone(&self.inner.gaps),
            view,
            at: self.inner.published.load(Ordering::Acquire),
            now_ms: self.inner.time.now_ms(),
        }
    }

    /// The time that ends of values are compared with, in milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        self.inner.time.now_ms()
    }

    /// Makes all that was acknowledged last, while others go on writing.
    pub(crate) fn sync(&self) -> Result<()> {
        if self.inner.options.is_read_only {
            // Nothing was acknowledged that could be lost.
            return Ok(());
        }
        self.inner.sync()
    }

    /// An error where the tree takes no changes at all.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.inner.options.is_read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// Makes tables of all memtables.
    pub(crate) fn flush(&self) -> Result<()> {
        self.check_writable()?;
        if self.inner.health.lacks_room(Work::Writes) {
            self.inner.recover()?;
        }
        // Whoever asks for it may not write again for long: no log is kept to be used again, and none that is used again begins.
        self.inner.remove_spare();
        let mut commit = self.inner.commit.lock();
        if commit.memtable.versions() > 0 {
            self.inner.freeze(&mut commit, 0)?;
        }
        drop(commit);
        while self.inner.flush_oldest()? {}
        self.inner.remove_spare();
        Ok(())
    }

    /// Syncs and ends; what was acknowledged lasts.
    pub(crate) fn close(mut self) -> Result<()> {
        if self.inner.options.is_read_only {
            return Ok(());
        }
        let synced = self.sync().and_then(|()| {
            let mut commit = self.inner.commit.lock();
            let next = commit.next;
            commit.log.end(next).map_err(|error| Error::io(&commit.log_path, "sync", &error))?;
            Ok(next - 1)
        });
        self.stop();
        // The mark in the log tells of a manifest that is cut off, this one of a log that is.
        let closed = Edit { closed: Some(synced?), ..Edit::default() };
        let mut state = self.inner.state.lock();
        let version = Arc::clone(&state.view.version);
        self.inner.record(&mut state, &version, &closed)
    }

    fn stop(&mut self) {
        self.inner.is_closing.store(true, Ordering::Relaxed);
        self.inner.state.lock().is_closing = true;
        self.inner.wake_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
        self.inner.events.end();
        // The function of the program may hold the last handle of the store, and be what drops it.
        if let Some(delivery) = self.delivery.take().filter(|delivery| !is_this_thread(delivery)) {
            let _ = delivery.join();
        }
    }
}

impl Inner {
    /// Looks again where a walk has passed many deleted keys: if none has come there meanwhile, later walks seek past them. It is left to a later snapshot while a commit holds the lock.
    #[cold]
    fn look_for_gap(&self) {
        let Some(commit) = self.commit.try_lock() else { return };
        let Some(span) = self.gaps.take_wish() else { return };
        let look = self.gaps.begin(&span);
        drop(commit);
        let view = self.view.load_full();
        point();
        let at = self.published.load(Ordering::Acquire);
        let snapshot = TreeSnapshot { view, at, now_ms: 0, gaps: Arc::clone(&self.gaps) };
        let (from, to) = span;
        let mut walk = snapshot.walk().quietly();
        walk.set_bound(to.clone());
        let done = walk.seek(&from);
        let is_empty = walk.pair().is_none_or(|(key, _)| to.as_ref().is_some_and(|to| key >= &to[..]));
        self.gaps.end(look, (done.is_ok() && is_empty).then_some(at));
    }

    fn wake_all(&self) {
        let _state = self.state.lock();
        self.work.notify_all();
        self.room.notify_all();
        self.closing.notify_all();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A store at one moment. Its files stay as long as it is held.
#[derive(Clone)]
pub(crate) struct TreeSnapshot {
    view: Arc<View>,
    at: Sequence,
    now_ms: u64,
    gaps: Arc<Gaps>,
}

impl TreeSnapshot {
    pub(crate) fn get<R>(&self, key: &[u8], f: impl FnOnce(Live) -> R) -> Result<Option<R>> {
        self.view.get(key, self.at, || self.now_ms, f)
    }

    /// A walk through it.
    pub(crate) fn walk(&self) -> Visible {
        debug_assert!(self.at <= MAX_SEQUENCE);
        Visible::new(self.view.merge(), self.at, self.now_ms)
            .without(self.view.ranges_at(self.at))
            .passing(&self.gaps)
    }
}
