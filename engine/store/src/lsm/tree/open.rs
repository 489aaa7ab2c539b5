//! How does a store come back? From its manifest, the tables that names, and the logs of what was not in a table yet.
//!
//! Logs are read in their order for as long as the sequence numbers go on without a gap: what lies behind a gap was written later than something that is lost, and
//! what survives is a prefix. What was read is flushed, so that an opened store has an empty log and nothing behind it.

use super::admin::Counters;
use super::admin::table_bytes;
use super::commit::{Commit, log_path, memtable_bytes, new_memtable};
use super::creation::{check_new, lock, mark_new};
use super::events::Events;
use super::health::{Health, Work};
use super::options::{SyncMode, TreeOptions};
use super::pace::Pace;
use super::view::View;
use super::work::listed;
use super::{Inner, State, Tree};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::lsm::compaction::{Output, table_path, write_tables};
use crate::lsm::file_name::{FileName, LAST_NUMBER};
use crate::lsm::iter::Run;
use crate::lsm::manifest::{Edit, Manifest, Recovered, TableFacts, TableHandle, Version};
use crate::lsm::memtable::{Inserter, Memtable, MemtableCursor};
use crate::lsm::range_deletions::Ranges;
use crate::lsm::record::{Record, Sequence, Stamp};
use crate::lsm::sync::{Condvar, Mutex, spawn};
use crate::lsm::table::{BlockCache, PageCache, Table, TableFiles};
use crate::lsm::time::StoreTime;
use crate::lsm::vfs::{Home, Owner, Spared, Vfs, absolute, create_dirs, sync_name};
use crate::lsm::wal::{Ended, LogRecord, LogWriter, read, tag, writes};
use arc_swap::ArcSwap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

impl Tree {
    /// Opens the store in a directory, or makes one there.
    #[cfg(test)]
    pub(crate) fn open(
        vfs: Arc<dyn Vfs>,
        directory: &Path,
        options: TreeOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Self::open_with(vfs, directory, options, clock, Events::default())
    }

    /// The same, with a receiver of events.
    pub(crate) fn open_with(
        vfs: Arc<dyn Vfs>,
        directory: &Path,
        options: TreeOptions,
        clock: Arc<dyn Clock>,
        events: Events,
    ) -> Result<Self> {
        let files = TableFiles::new(options.open_tables);
        let spared = Arc::clone(&files);
        let vfs: Arc<dyn Vfs> = Arc::new(Spared { vfs, close_some: move || spared.close_half() });
        let directory = &*absolute(directory)?;
        create_dirs(&*vfs, directory).map_err(|error| Error::io(directory, "create", &error))?;
        // Before `LOCK` is made: a directory of another program stays as it is.
        check_new(&*vfs, directory)?;
        let home = Home::new(lock(&*vfs, directory)?);
        let owner = Owner(Arc::clone(&home));
        let cache = (options.cache_bytes > 0)
            .then(|| Arc::new(BlockCache::new(options.cache_bytes, options.shape.block_bytes)));
        let pages = Arc::new(PageCache::new(vfs.memory()));
        let salt = draw_salt(&*vfs, directory)?;
        let mut opening = Opening {
            vfs,
            directory,
            options,
            cache,
            pages,
            files,
            time: Arc::new(StoreTime::new(clock)),
            home,
            salt,
            events,
            next_file: 1,
            version: Version::default(),
        };
        let found = opening.recover()?;
        // Readers see at least this time, and the first edit holds it.
        opening.time.now_ms();
        let first_log = opening.take_number();
        let everything = Edit {
            added: opening
                .version
                .tables()
                .map(|(level, table)| (level, TableFacts::clone(&table.facts)))
                .collect(),
            removed: Vec::new(),
            first_log: Some(first_log),
            next_file: Some(opening.next_file + 1),
            last_sequence: Some(found.last_sequence),
            closed: None,
            ranges: listed(&opening.version.ranges),
            salt: Some(salt),
            time_ms: opening.time.to_keep(&opening.version),
        };
        let manifest_file = opening.take_number();
        // Before the manifest that names it: a log that a manifest names is there.
        let first_path = log_path(directory, first_log);
        let log =
            opening.vfs.create(&first_path).map_err(|error| Error::io(&first_path, "create", &error))?;
        let mut log = LogWriter::filled_ahead(log, tag(Some(salt), first_log));
        log.mark(found.last_sequence + 1);
        let manifest = Manifest::create(&*opening.vfs, directory, manifest_file, &everything)?;
        for name in found.needless {
            // One that stays is removed next time.
            let _ = opening.vfs.remove(&directory.join(name));
        }
        opening.start(owner, manifest, (log, first_path, first_log), found.last_sequence)
    }
}

/// Random bits for the tags of logs.
pub(super) fn draw_salt(vfs: &dyn Vfs, directory: &Path) -> Result<u64> {
    vfs.random().map_err(|error| Error::io(directory, "draw random bits for", &error))
}

/// What was found in the directory.
struct Found {
    last_sequence: Sequence,
    /// Names of files that nothing refers to once a new manifest counts.
    needless: Vec<String>,
}

struct Opening<'a> {
    vfs: Arc<dyn Vfs>,
    directory: &'a Path,
    options: TreeOptions,
    cache: Option<Arc<BlockCache>>,
    pages: Arc<PageCache>,
    files: Arc<TableFiles>,
    time: Arc<StoreTime>,
    home: Arc<Home>,
    /// Of the logs to come.
    salt: u64,
    events: Events,
    next_file: u64,
    version: Version,
}

impl Opening<'_> {
    fn take_number(&mut self) -> u64 {
        self.next_file += 1;
        self.next_file - 1
    }

    fn recover(&mut self) -> Result<Found> {
        let names =
            self.vfs.list(self.directory).map_err(|error| Error::io(self.directory, "list", &error))?;
        let files: Vec<_> = names.iter().filter_map(|name| FileName::parse(name)).collect();
        let Some(recovered) = Manifest::recover(&*self.vfs, self.directory)? else {
            mark_new(&*self.vfs, self.directory)?;
            // The directory may be new, too: nothing in it lasts longer than its name.
            sync_name(&*self.vfs, self.directory)
                .map_err(|error| Error::io(self.directory, "sync the directory above", &error))?;
            return Ok(Found { last_sequence: 0, needless: Vec::new() });
        };
        // No name is used again, not even one that a power cut left behind.
        let highest = files.iter().map(|file| file.number()).max();
        self.next_file = highest.map_or(1, |highest| highest + 1);
        let Merged { facts, first_log, next_file, last_sequence, closed, ranges, salt, time_ms } =
            Merged::of(&recovered)
                .map_err(|reason| Error::corrupt(&self.directory.join("CURRENT"), 0, reason))?;
        self.next_file = self.next_file.max(next_file);
        if let Some(kept_ms) = time_ms {
            self.time.resume(kept_ms);
        }
        for ((level, number), facts) in facts {
            let table = self.open_table(number)?;
            self.version.levels[level].push(TableHandle { facts: Arc::new(facts), table });
        }
        self.version = self
            .version
            .edited(&Edit { ranges: Some(ranges), ..Edit::default() }, |facts| self.open_table(facts.number))?
            .map_err(|reason| Error::corrupt(&self.directory.join("CURRENT"), 0, reason))?;
        let logs = files.iter().filter_map(|file| match file {
            FileName::Log(number) if *number >= first_log => Some(*number),
            _ => None,
        });
        let mut logs: Vec<_> = logs.collect();
        logs.sort_unstable();
        if !logs.contains(&first_log) {
            let path = log_path(self.directory, first_log);
            return Err(Error::corrupt(
                &path,
                0,
                "it is missing, and the manifest says that writes may be in it",
            ));
        }
        let last_sequence = self.replay((&logs, salt), last_sequence, closed)?;
        let kept: Vec<_> = self.version.tables().map(|(_, table)| table.facts.number).collect();
        Ok(Found { last_sequence, needless: needless(&files, &kept) })
    }

    fn open_table(&self, number: u64) -> Result<Arc<Table>> {
        let path = table_path(self.directory, number);
        let (cache, files) = (self.cache.clone(), Arc::clone(&self.files));
        let table = Table::open_in(&self.vfs, &path, number, cache, files)?;
        Ok(Arc::new(table.asking(&self.pages).owned_by(&self.home)))
    }

    /// Reads logs and makes tables of what they hold. The sequence number of the last write that came back.
    /// A store that was closed has all writes up to `closed`.
    fn replay(
        &mut self,
        (logs, salt): (&[u64], Option<u64>),
        in_tables: Sequence,
        closed: Sequence,
    ) -> Result<Sequence> {
        let mut replay =
            Replay { last: in_tables, in_tables, memtable: None, is_over: false, dropped: 0, end: None };
        for number in logs {
            let path = log_path(self.directory, *number);
            let file = self.vfs.open(&path).map_err(|error| Error::io(&path, "open", &error))?;
            let ended = read(&*file, tag(salt, *number), |record| replay.take(self, &path, record));
            match ended.map_err(|error| Error::io(&path, "read", &error))?? {
                Ended::Damaged(at) => {
                    return Err(Error::corrupt(&path, at, "a record that had been synced is damaged"));
                }
                Ended::Here(at) if !replay.is_over => replay.end = Some((path, at)),
                Ended::Here(_) => {}
            }
        }
        if let Some((path, at)) = replay.end.as_ref().filter(|_| replay.last < closed) {
            return Err(Error::corrupt(
                path,
                *at,
                "the log ends here, and the store was closed with more in it",
            ));
        }
        replay.flush(self)?;
        let (writes, dropped_writes) = (replay.last - in_tables, replay.dropped);
        if writes + dropped_writes > 0 {
            self.events.send(|| Event::LogRecovered { writes, dropped_writes });
        }
        Ok(replay.last)
    }

    fn start(
        self,
        owner: Owner,
        manifest: Manifest,
        (log, log_path, first_log): (LogWriter, PathBuf, u64),
        last_sequence: Sequence,
    ) -> Result<Tree> {
        let (memtable, inserter) = new_memtable(self.options.memtable_bytes, self.version.common())?;
        let view =
            View { memtable: Arc::clone(&memtable), frozen: Vec::new(), version: Arc::new(self.version) };
        self.pages.set_stored(table_bytes(&view.version));
        let view = Arc::new(view);
        let inner = Arc::new(Inner {
            vfs: self.vfs,
            directory: self.directory.to_owned(),
            salt: self.salt,
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
                is_suspect: false,
            }),
            state: Mutex::new(State {
                view,
                manifest,
                next_file: self.next_file,
                logs: vec![first_log],
                first_log,
                last_sequence,
                synced: last_sequence,
                spare: None,
                unsynced: Vec::new(),
                is_closing: false,
                needs_manifest: false,
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
            counters: Counters::default(),
            pinned: super::pinned::Pinned::default(),
            pace: Pace::default(),
            health: Health::new(self.events.clone()),
            events: self.events,
            owner,
        });
        let delivery = inner.events.start().map_err(|error| no_thread(&inner.directory, &error))?;
        let mut tree = Tree { inner: Arc::clone(&inner), workers: Vec::new(), delivery };
        if inner.options.has_workers {
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

/// All edits of a manifest in one.
pub(super) struct Merged {
    pub(super) facts: BTreeMap<(usize, u64), TableFacts>,
    pub(super) first_log: u64,
    pub(super) next_file: u64,
    pub(super) last_sequence: Sequence,
    closed: Sequence,
    pub(super) ranges: Arc<Ranges>,
    /// None in a store of 0.5.0 or 0.5.1.
    pub(super) salt: Option<u64>,
    /// The highest that an edit has.
    pub(super) time_ms: Option<u64>,
}

impl Merged {
    pub(super) fn of(recovered: &Recovered) -> std::result::Result<Self, &'static str> {
        let mut merged = Self {
            facts: BTreeMap::new(),
            first_log: 0,
            next_file: 1,
            last_sequence: 0,
            closed: 0,
            ranges: Arc::default(),
            salt: None,
            time_ms: None,
        };
        for edit in &recovered.edits {
            for key in &edit.removed {
                merged.facts.remove(key).ok_or("the manifest removes a table that is not there")?;
            }
            for (level, facts) in &edit.added {
                if *level >= crate::lsm::manifest::LEVELS {
                    return Err("the manifest names a level that does not exist");
                }
                if facts.number > LAST_NUMBER {
                    return Err(TOO_HIGH);
                }
                merged.facts.insert((*level, facts.number), facts.clone());
            }
            merged.first_log = edit.first_log.unwrap_or(merged.first_log);
            merged.next_file = edit.next_file.unwrap_or(merged.next_file);
            merged.last_sequence = edit.last_sequence.unwrap_or(merged.last_sequence);
            merged.closed = edit.closed.unwrap_or(merged.closed);
            merged.salt = edit.salt.or(merged.salt);
            merged.time_ms = merged.time_ms.max(edit.time_ms);
            if let Some(ranges) = &edit.ranges {
                merged.ranges = Arc::clone(ranges);
            }
        }
        if merged.first_log > LAST_NUMBER || merged.next_file > LAST_NUMBER {
            return Err(TOO_HIGH);
        }
        Ok(merged)
    }
}

const TOO_HIGH: &str = "the manifest has a file's number that no store reaches";

/// Files of ours that a manifest to come will not name.
fn needless(files: &[FileName], tables: &[u64]) -> Vec<String> {
    let is_kept = |file: &FileName| matches!(file, FileName::Table(number) if tables.contains(number));
    files.iter().filter(|file| !is_kept(file)).map(FileName::to_string).collect()
}

/// What logs hold, on its way into tables.
struct Replay {
    last: Sequence,
    in_tables: Sequence,
    memtable: Option<(Arc<Memtable>, Inserter)>,
    /// There was a gap: nothing behind it counts.
    is_over: bool,
    /// Writes behind it.
    dropped: u64,
    /// Where the last log ends that counts.
    end: Option<(PathBuf, u64)>,
}

impl Replay {
    fn take(&mut self, opening: &mut Opening, path: &Path, record: LogRecord) -> Result<()> {
        let count = writes(record.payload).count() as u64;
        let end = record.sequence + count;
        if end <= self.in_tables + 1 {
            return Ok(());
        }
        if record.after_sync && record.sequence > self.last + 1 {
            let (path, at) = self.end.as_ref().map_or((path, 0), |(path, at)| (&**path, *at));
            return Err(Error::corrupt(
                path,
                at,
                "writes are missing that had been synced before later ones",
            ));
        }
        if count == 0 {
            return Ok(());
        }
        if record.sequence != self.last + 1 || self.is_over {
            self.is_over = true;
            self.dropped += count;
            return Ok(());
        }
        let needed = memtable_bytes(record.payload.len(), count);
        if self.memtable.as_ref().is_some_and(|(memtable, _)| !memtable.fits(0, needed)) {
            self.flush(opening)?;
        }
        let (memtable, inserter) = match &mut self.memtable {
            Some(memtable) => memtable,
            None => self
                .memtable
                .insert(new_memtable(opening.options.memtable_bytes.max(needed), opening.version.common())?),
        };
        for (sequence, write) in (record.sequence..).zip(writes(record.payload)) {
            let write = write.map_err(|reason| Error::corrupt(path, 0, reason))?;
            let stamp = Stamp::new(sequence, write.kind);
            if !memtable.insert(inserter, &Record { key: write.key, stamp, value: write.value }) {
                return Err(Error::OutOfMemory);
            }
        }
        self.last = end - 1;
        Ok(())
    }

    fn flush(&mut self, opening: &mut Opening) -> Result<()> {
        let Some((memtable, _)) = self.memtable.take() else { return Ok(()) };
        let (vfs, directory, time) = (Arc::clone(&opening.vfs), opening.directory, Arc::clone(&opening.time));
        let version = opening.version.clone();
        let ranges = Arc::new(version.ranges.with(&memtable.ranges()).seen_at(self.last));
        let output = Output {
            ranges: &ranges,
            vfs: &*vfs,
            directory,
            shape: opening.options.shape,
            table_bytes: u64::MAX,
            level: 0,
            version: &version,
            common: version.common(),
            now_ms: time.now_ms(),
            time: &time,
            after: None,
            until: None,
        };
        let runs = vec![Run::Memtable(MemtableCursor::new(memtable))];
        let added = write_tables(&output, runs, || opening.take_number(), |_| Ok(()))?;
        let added = added.into_iter().map(|table| (0, table)).collect();
        let edit = Edit { added, ranges: Some(Arc::clone(&ranges)), ..Edit::default() };
        opening.version = version
            .edited(&edit, |facts| opening.open_table(facts.number))?
            .map_err(|reason| Error::corrupt(directory, 0, reason))?;
        Ok(())
    }
}
