//! Starting a store that has been opened: what its calls share, and the threads that work behind them.

use super::{Begun, Found, Opening};
use crate::error::{Error, Result};
use crate::lsm::common::Common;
use crate::lsm::sync::{Condvar, Mutex, spawn};
use crate::lsm::tree::admin::{Counters, table_bytes};
use crate::lsm::tree::commit::Commit;
use crate::lsm::tree::freeze::new_memtable;
use crate::lsm::tree::health::{Health, Work};
use crate::lsm::tree::options::SyncMode;
use crate::lsm::tree::pace::Pace;
use crate::lsm::tree::pinned::Pinned;
use crate::lsm::tree::view::View;
use crate::lsm::tree::{Inner, State, Tree};
use crate::lsm::vfs::Owner;
use arc_swap::ArcSwap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

impl Opening<'_> {
    pub(super) fn start(self, owner: Owner, found: Found, begun: Begun) -> Result<Tree> {
        let Begun { manifest, log, log_path, logs, first_log, salt, refusal } = begun;
        let log = log.synced_each_time(self.options.sync == SyncMode::Always);
        let last_sequence = found.last_sequence;
        // One that takes no writes needs no memory.
        let memtable_bytes = if self.options.is_read_only { 0 } else { self.options.memtable_bytes };
        // A thread of this store gives the memory back when the store is idle.
        let recycler = (self.options.has_workers || cfg!(test)).then(Arc::default);
        let common = Common::clone(self.version.common());
        let (memtable, inserter) = new_memtable(memtable_bytes, common, recycler.as_ref())?;
        let version = Arc::new(self.version);
        let view = View { memtable: Arc::clone(&memtable), frozen: found.kept, version };
        self.pages.set_stored(table_bytes(&view.version));
        let view = Arc::new(view);
        let inner = Arc::new(Inner {
            vfs: self.vfs,
            directory: self.directory.to_owned(),
            salt,
            options: self.options,
            cache: self.cache,
            pages: self.pages,
            files: self.files,
            view: ArcSwap::new(Arc::clone(&view)),
            published: AtomicU64::new(last_sequence),
            time: self.time,
            queue: Mutex::default(),
            turn: Condvar::new(),
            commit: Mutex::new(Commit {
                log,
                log_path,
                memtable,
                inserter,
                next: last_sequence + 1,
                is_suspect: refusal.is_some(),
            }),
            state: Mutex::new(State {
                view,
                manifest,
                next_file: self.next_file,
                logs,
                first_log,
                last_sequence: found.in_tables,
                synced: found.in_manifest,
                suspect_until: 0,
                spare: None,
                unsynced: Vec::new(),
                is_closing: false,
                needs_manifest: refusal.is_some(),
                doubtful: Vec::new(),
                underway: None,
            }),
            work: Condvar::new(),
            room: Condvar::new(),
            closing: Condvar::new(),
            syncing: Mutex::new(()),
            flushing: Mutex::new(()),
            compacting: Mutex::new(()),
            gaps: Arc::default(),
            is_closing: AtomicBool::new(false),
            waiting_for_merges: AtomicUsize::new(0),
            counters: Counters::default(),
            pinned: Pinned::default(),
            merge_bytes: AtomicU64::new(0),
            pace: Pace::default(),
            long_values: Arc::default(),
            recycler,
            health: if self.options.is_read_only {
                Health::default()
            } else {
                Health::new(self.events.clone())
            },
            events: self.events,
            owner,
        });
        let delivery = inner.events.start().map_err(|error| no_thread(&inner.directory, &error))?;
        let mut tree = Tree { inner: Arc::clone(&inner), workers: Vec::new(), delivery };
        inner.share_cache(&inner.view.load());
        if let Some(refusal) = refusal {
            inner.health.fail(Work::Writes, &refusal);
        }
        if inner.options.has_workers && !inner.options.is_read_only {
            tree.start("plumbkv-flush", Inner::flush_always)?;
            tree.start("plumbkv-merge", Inner::compact_always)?;
            if let SyncMode::Interval(interval) = inner.options.sync {
                tree.start("plumbkv-sync", move |inner| inner.sync_always(interval))?;
            }
        }
        Ok(tree)
    }
}

impl Tree {
    /// A thread that works behind the writes. If it panics, as a clock of the program may let it, writes
    /// are refused; else the threads that wait for it would wait for ever.
    fn start(&mut self, name: &'static str, work: impl FnOnce(&Inner) + Send + 'static) -> Result<()> {
        let inner = Arc::clone(&self.inner);
        let worker = spawn(name, move || {
            let ending = Ending { inner: &inner, thread: name };
            work(&inner);
            std::mem::forget(ending);
        });
        self.workers.push(worker.map_err(|error| no_thread(&self.inner.directory, &error))?);
        Ok(())
    }
}

fn no_thread(directory: &Path, error: &std::io::Error) -> Error {
    Error::io(directory, "start a thread for", error)
}

/// Dropped when its thread panics.
struct Ending<'a> {
    inner: &'a Inner,
    thread: &'static str,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.inner.health.fail(Work::Writes, &Error::Panicked { thread: self.thread });
        self.inner.wake_all();
    }
}
