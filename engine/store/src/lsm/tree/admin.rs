//! What is done to a tree as a whole? It is emptied, copied, looked over and counted.

use super::freeze::{log_path, new_memtable};
use super::health::Work;
use super::open::draw_salt;
use super::options::SyncMode;
use super::view::View;
use super::work::listed;
use super::{Inner, Tree};
use crate::error::{Error, Result};
use crate::lsm::compaction::{debt_bytes, table_path};
use crate::lsm::manifest::{Edit, LEVELS, Manifest, TableFacts, Version};
use crate::lsm::record::{Stamp, is_before};
use crate::lsm::table::{MOST_AHEAD, Table, TableCursor};
use crate::lsm::vfs::{absolute, create_dirs, sync_name};
use crate::lsm::wal::{LogWriter, tag};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a tree has done since it was opened.
#[derive(Default)]
pub(super) struct Counters {
    /// Bytes of keys and values that were written.
    pub(super) written: AtomicU64,
    /// Bytes of tables that memtables became.
    pub(super) flushed: AtomicU64,
    /// Bytes of tables that merges made.
    pub(super) merged: AtomicU64,
    /// Bytes of tables that were ingested.
    pub(super) ingested: AtomicU64,
    /// Times that writes were held back, and for how long.
    pub(super) delays: AtomicU64,
    pub(super) delayed_us: AtomicU64,
    /// Times that writes stopped until there was room, and for how long.
    pub(super) stalls: AtomicU64,
    pub(super) stalled_us: AtomicU64,
}

/// What a tree holds and has done.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeStats {
    /// Tables and bytes of each level.
    pub(crate) levels: [(usize, u64); LEVELS],
    /// Bytes above what the levels may hold.
    pub(crate) debt_bytes: u64,
    /// Versions in tables and memtables.
    pub(crate) versions: u64,
    /// Those of them that are in memtables.
    pub(crate) memtable_versions: u64,
    /// Those of them in tables that say that a key is gone, and those in memtables.
    pub(crate) deletions: u64,
    pub(crate) memtable_deletions: u64,
    pub(crate) memtable_bytes: u64,
    pub(crate) frozen_memtables: usize,
    /// Bytes of memory that indexes and filters take.
    pub(crate) index_bytes: u64,
    /// Files of tables that are open, and times that one was opened.
    pub(crate) open_tables: usize,
    pub(crate) table_opens: u64,
    pub(crate) cache_bytes: u64,
    pub(crate) cache_hits: u64,
    pub(crate) cache_misses: u64,
    pub(crate) written: u64,
    pub(crate) flushed: u64,
    pub(crate) merged: u64,
    pub(crate) ingested: u64,
    pub(crate) delays: u64,
    pub(crate) delayed_us: u64,
    pub(crate) stalls: u64,
    pub(crate) stalled_us: u64,
}

impl Tree {
    /// Takes everything away, at one moment. Snapshots keep what they have.
    pub(crate) fn clear(&self) -> Result<()> {
        let inner = &self.inner;
        inner.look()?;
        // Whoever flushes or merges needs none of what is held here, and ends.
        let mut commit = inner.commit.lock();
        let _flushing = inner.flushing.lock();
        let _compacting = inner.compacting.lock();
        let mut state = inner.state.lock();
        let number = state.take_number();
        let path = log_path(&inner.directory, number);
        let done = (|| {
            let file = inner.vfs.create(&path).map_err(|error| Error::io(&path, "create", &error))?;
            inner.sync_directory()?;
            let (memtable, inserter) = new_memtable(
                inner.options.memtable_bytes,
                commit.memtable.common(),
                inner.recycler.as_ref(),
            )?;
            let removed =
                state.view.version.tables().map(|(level, table)| (level, table.facts.number)).collect();
            let edit = Edit {
                removed,
                first_log: Some(number),
                next_file: Some(state.next_file),
                last_sequence: Some(commit.next - 1),
                ..Edit::default()
            };
            inner.record(&mut state, &Version::default(), &edit).map_err(Error::in_doubt)?;
            Ok((file, memtable, inserter))
        })();
        let (file, memtable, inserter) = done.inspect_err(|error: &Error| {
            inner.health.fail(Work::Writes, error);
        })?;
        commit.log = LogWriter::filled_ahead(file, tag(inner.salt, number))
            .synced_each_time(inner.options.sync == SyncMode::Always);
        let next = commit.next;
        commit.log.mark(next);
        commit.log_path = path;
        commit.memtable = Arc::clone(&memtable);
        commit.inserter = inserter;
        let old = Arc::clone(&state.view);
        inner.show(&mut state, View { memtable, frozen: Vec::new(), version: Arc::default() });
        old.version.tables().for_each(|(_, table)| table.table.remove_when_dropped());
        state.unsynced.clear();
        state.first_log = number;
        state.last_sequence = commit.next - 1;
        state.synced = commit.next - 1;
        state.suspect_until = 0;
        for log in std::mem::replace(&mut state.logs, vec![number]) {
            // One that stays is removed when the tree is opened.
            let _ = inner.vfs.remove(&log_path(&inner.directory, log));
        }
        drop(state);
        inner.room.notify_all();
        Ok(())
    }

    /// Makes a copy of the tree in a new directory on the same file system, of links to its tables. It holds what was written before the call.
    pub(crate) fn checkpoint(&self, directory: &Path) -> Result<()> {
        self.check_writable()?;
        let inner = &self.inner;
        let vfs = &*inner.vfs;
        let directory = &*absolute(directory)?;
        create_dirs(vfs, directory).map_err(|error| Error::io(directory, "create", &error))?;
        let names = vfs.list(directory).map_err(|error| Error::io(directory, "list", &error))?;
        if !names.is_empty() {
            return Err(Error::InvalidOption {
                option: "checkpoint",
                reason: format!(
                    "{} is not empty; name a directory that is not there yet",
                    directory.display()
                ),
            });
        }
        self.flush()?;
        // As long as it is held, its tables are there.
        let view = inner.view.load_full();
        let last_sequence = inner.published.load(Ordering::Acquire);
        let mut added = Vec::new();
        for (level, table) in view.version.tables() {
            let number = table.facts.number;
            let (from, to) = (table_path(&inner.directory, number), table_path(directory, number));
            vfs.link(&from, &to).map_err(|error| Error::io(&to, "link", &error))?;
            added.push((level, TableFacts::clone(&table.facts)));
        }
        vfs.sync_dir(directory).map_err(|error| Error::io(directory, "sync", &error))?;
        let highest = added.iter().map(|(_, table)| table.number).max().unwrap_or(0);
        let everything = Edit {
            added,
            removed: Vec::new(),
            first_log: Some(highest + 2),
            next_file: Some(highest + 3),
            last_sequence: Some(last_sequence),
            closed: None,
            ranges: listed(&view.version.ranges),
            salt: Some(draw_salt(vfs, directory)?),
            time_ms: inner.time.to_keep(),
        };
        let log = log_path(directory, highest + 2);
        vfs.create(&log).map_err(|error| Error::io(&log, "create", &error))?;
        sync_name(vfs, directory)
            .map_err(|error| Error::io(directory, "sync the directory above", &error))?;
        Manifest::create(vfs, directory, highest + 1, &everything).map(drop)
    }

    /// Reads every block of every table, and looks whether they are whole and in order. Versions read.
    pub(crate) fn verify(&self, mut progress: impl FnMut(u64)) -> Result<u64> {
        let view = self.inner.view.load_full();
        let mut versions = 0;
        for (_, table) in view.version.tables() {
            let path = table_path(&self.inner.directory, table.facts.number);
            let found = verify_table(&path, &table.table, &table.facts)?;
            versions += found;
            progress(versions);
        }
        Ok(versions)
    }

    pub(crate) fn stats(&self) -> TreeStats {
        self.inner.stats()
    }

    /// Why the tree takes no more writes, if it does not.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.inner.look().err()
    }
}

impl Inner {
    pub(super) fn stats(&self) -> TreeStats {
        let view = self.view.load_full();
        let version = &view.version;
        let memtables = [&view.memtable].into_iter().chain(view.frozen.iter().map(|frozen| &frozen.memtable));
        let [in_memtables, memtable_deletions, memtable_bytes] = memtables.fold([0; 3], |sums, table| {
            [sums[0] + table.versions(), sums[1] + table.deletions(), sums[2] + table.bytes() as u64]
        });
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut levels = [(0, 0); LEVELS];
        for (level, tables) in levels.iter_mut().enumerate() {
            *tables = (version.levels[level].len(), version.bytes(level));
        }
        let (cache, counters) = (self.cache.as_deref(), &self.counters);
        TreeStats {
            levels,
            debt_bytes: debt_bytes(version, &self.options.targets),
            versions: in_memtables + version.tables().map(|(_, table)| table.facts.versions).sum::<u64>(),
            memtable_versions: in_memtables,
            deletions: version.tables().map(|(_, table)| table.facts.deletions).sum(),
            memtable_deletions,
            memtable_bytes,
            frozen_memtables: view.frozen.len(),
            index_bytes: version.index_bytes(),
            open_tables: self.files.open_files(),
            table_opens: self.files.opened(),
            cache_bytes: cache.map_or(0, super::BlockCache::bytes),
            cache_hits: cache.map_or(0, super::BlockCache::hits),
            cache_misses: cache.map_or(0, super::BlockCache::misses),
            written: of(&counters.written),
            flushed: of(&counters.flushed),
            merged: of(&counters.merged),
            ingested: of(&counters.ingested),
            delays: of(&counters.delays),
            delayed_us: of(&counters.delayed_us),
            stalls: of(&counters.stalls),
            stalled_us: of(&counters.stalled_us),
        }
    }
}

/// Bytes on the disk that tables take.
pub(super) fn table_bytes(version: &Version) -> u64 {
    version.tables().map(|(_, table)| table.facts.bytes).sum()
}

/// Reads every block of a table, and looks whether they are whole and in order. Versions read.
pub(super) fn verify_table(path: &Path, table: &Arc<Table>, facts: &TableFacts) -> Result<u64> {
    let mut cursor = TableCursor::new(Arc::clone(table), MOST_AHEAD);
    let mut last: Option<(Vec<u8>, Stamp)> = None;
    let mut found = 0;
    cursor.first()?;
    while let Some(record) = cursor.record() {
        if let Some((key, stamp)) = &last
            && !is_before(key, *stamp, record.key, record.stamp)
        {
            return Err(Error::corrupt(path, 0, "the keys are out of order"));
        }
        let (key, stamp) = last.get_or_insert_with(|| (Vec::new(), record.stamp));
        key.clear();
        key.extend_from_slice(record.key);
        *stamp = record.stamp;
        found += 1;
        cursor.next()?;
    }
    if found != facts.versions || found != table.versions() {
        return Err(Error::corrupt(path, 0, "there are fewer or more versions than the manifest says"));
    }
    Ok(found)
}
