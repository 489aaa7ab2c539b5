//! Opening a store: from its manifest, the tables that it names, and the logs of what was not in a table
//! yet, which `replay.rs` reads.
//!
//! What the logs hold becomes tables; then another log and another manifest begin, and what they do not
//! name is removed. All of that needs room. Where there is none, the store opens all the same: the writes
//! of the logs stay in frozen memtables, the old logs and the old manifest count on, and writes are
//! refused until `recover` (work.rs) has done the rest. A store that is opened read-only stays like that.

#[path = "open_start.rs"]
mod start;

use super::Tree;
use super::creation::{check_new, check_there, lock, mark_new};
use super::events::Events;
use super::freeze::log_path;
use super::health::is_no_room;
use super::options::TreeOptions;
use super::replay::Replay;
use super::view::Frozen;
use super::work::listed;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::lsm::compaction::table_path;
use crate::lsm::file_name::{FileName, LAST_NUMBER};
use crate::lsm::manifest::{Edit, LEVELS, Manifest, Recovered, TableFacts, TableHandle, Version};
use crate::lsm::range_deletions::Ranges;
use crate::lsm::record::Sequence;
use crate::lsm::table::{BlockCache, PageCache, Table, TableFiles};
use crate::lsm::time::StoreTime;
use crate::lsm::vfs::{Home, Owner, ReadOnly, Spared, Vfs, absolute, create_dirs, sync_name, write_again};
use crate::lsm::wal::{LogWriter, tag};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
        let close_some = move |waits: &mut u32| spared.spare_some(waits);
        let vfs: Arc<dyn Vfs> = Arc::new(Spared { vfs, close_some });
        let vfs = if options.is_read_only { Arc::new(ReadOnly(vfs)) } else { vfs };
        let directory = &*absolute(directory)?;
        if options.is_read_only {
            check_there(&*vfs, directory)?;
        } else {
            create_dirs(&*vfs, directory).map_err(|error| Error::io(directory, "create", &error))?;
            // Before `LOCK` is made: a directory of another program stays as it is.
            check_new(&*vfs, directory)?;
        }
        let home = Home::new(lock(&*vfs, directory)?);
        let owner = Owner(Arc::clone(&home));
        let cache = (options.cache_bytes > 0)
            .then(|| Arc::new(BlockCache::new(options.cache_bytes, options.shape.block_bytes)));
        let pages = Arc::new(PageCache::new(vfs.memory()));
        let mut opening = Opening {
            vfs,
            directory,
            options,
            cache,
            pages,
            files,
            time: Arc::new(StoreTime::new(clock)),
            home,
            events,
            next_file: 1,
            version: Version::default(),
            manifest: None,
            leftovers: Vec::new(),
            no_room: None,
        };
        let mut found = opening.recover()?;
        let begun = opening.begin(&mut found)?;
        opening.start(owner, found, begun)
    }
}

/// Random bits for the tags of logs.
pub(super) fn draw_salt(vfs: &dyn Vfs, directory: &Path) -> Result<u64> {
    vfs.random().map_err(|error| Error::io(directory, "draw random bits for", &error))
}

/// What was found in the directory.
struct Found {
    last_sequence: Sequence,
    /// The newest write that the manifest has in tables, and the newest that is in one.
    in_manifest: Sequence,
    in_tables: Sequence,
    /// What could not become tables.
    kept: Vec<Frozen>,
    first_log: u64,
    logs: Vec<u64>,
    /// Of these logs.
    salt: Option<u64>,
    /// Names of files that nothing refers to once a new manifest counts.
    needless: Vec<String>,
}

/// What takes writes from now on, or cannot yet.
struct Begun {
    manifest: Manifest,
    log: LogWriter,
    log_path: PathBuf,
    logs: Vec<u64>,
    first_log: u64,
    salt: Option<u64>,
    /// Why writes are refused.
    refusal: Option<Error>,
}

pub(super) struct Opening<'a> {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) directory: &'a Path,
    pub(super) options: TreeOptions,
    cache: Option<Arc<BlockCache>>,
    pages: Arc<PageCache>,
    pub(super) files: Arc<TableFiles>,
    pub(super) time: Arc<StoreTime>,
    home: Arc<Home>,
    pub(super) events: Events,
    next_file: u64,
    pub(super) version: Version,
    /// The number of the manifest that was found; none in a new store.
    manifest: Option<u64>,
    /// Names of files that neither the manifest nor its logs need.
    leftovers: Vec<String>,
    /// Why no table, log or manifest could be made.
    pub(super) no_room: Option<Error>,
}

impl Opening<'_> {
    pub(super) fn take_number(&mut self) -> u64 {
        self.next_file += 1;
        self.next_file - 1
    }

    /// Removes what an earlier process left, to make room. False, where there is nothing.
    pub(super) fn remove_leftovers(&mut self) -> bool {
        let names = std::mem::take(&mut self.leftovers);
        // The manifest that makes them needless may not last yet.
        if names.is_empty() || self.sync_manifest().is_err() {
            return false;
        }
        let removed = names.iter().filter(|name| self.vfs.remove(&self.directory.join(name)).is_ok());
        removed.count() > 0
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
            return Ok(Found {
                last_sequence: 0,
                in_manifest: 0,
                in_tables: 0,
                kept: Vec::new(),
                first_log: 0,
                logs: Vec::new(),
                salt: None,
                needless: Vec::new(),
            });
        };
        self.manifest = Some(recovered.number);
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
        self.time.note_tables(facts.values());
        for ((level, number), facts) in facts {
            let table = self.open_table(level, number)?;
            self.version.levels[level].push(TableHandle { facts: Arc::new(facts), table });
        }
        self.version = self
            .version
            .edited(&Edit { ranges: Some(ranges), ..Edit::default() }, |level, facts| {
                self.open_table(level, facts.number)
            })?
            .map_err(|reason| Error::corrupt(&self.directory.join("CURRENT"), 0, reason))?;
        self.version.read_filters(self.options.filters_until)?;
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
        let kept: Vec<_> = self.version.tables().map(|(_, table)| table.facts.number).collect();
        let is_used = |file: &&FileName| match file {
            FileName::Log(number) => *number >= first_log,
            FileName::Manifest(number) => *number == recovered.number,
            _ => false,
        };
        let used: Vec<_> = files.iter().filter(is_used).map(FileName::to_string).collect();
        let needless = needless(&files, &kept);
        self.leftovers = needless.iter().filter(|name| !used.contains(name)).cloned().collect();
        let replayed = Replay::of(self, (&logs, salt), last_sequence, closed)?;
        Ok(Found {
            last_sequence: replayed.last,
            in_manifest: last_sequence,
            in_tables: replayed.in_tables,
            kept: replayed.kept,
            first_log,
            logs,
            salt,
            needless,
        })
    }

    /// Begins a log and a manifest; where that cannot be, what was found counts on.
    fn begin(&mut self, found: &mut Found) -> Result<Begun> {
        while !self.options.is_read_only && self.no_room.is_none() {
            match self.begin_files(found) {
                // Nothing can be read in a new store anyway.
                Err(error) if self.manifest.is_some() && is_no_room(&error) => {
                    if !self.remove_leftovers() {
                        self.no_room = Some(error);
                    }
                }
                done => return done,
            }
        }
        if !self.options.is_read_only {
            self.sync_old(found)?;
        }
        let last = found.logs.last().copied().unwrap_or(found.first_log);
        Ok(Begun {
            manifest: Manifest::absent(self.directory, self.manifest.unwrap_or(0)),
            log: LogWriter::absent(),
            log_path: log_path(self.directory, last),
            logs: found.logs.clone(),
            first_log: found.first_log,
            salt: found.salt,
            refusal: self.no_room.clone().or(Some(Error::ReadOnly)),
        })
    }

    /// Makes what was found last in the logs it came from: an earlier process may not have synced them.
    fn sync_old(&self, found: &Found) -> Result<()> {
        let (vfs, directory) = (&*self.vfs, self.directory);
        for number in &found.logs {
            let path = log_path(directory, *number);
            write_again(vfs, &path).map_err(|error| Error::io(&path, "sync", &error))?;
        }
        self.sync_manifest()
    }

    /// Makes the manifest that was found last, and all names.
    fn sync_manifest(&self) -> Result<()> {
        let (vfs, directory) = (&*self.vfs, self.directory);
        if let Some(number) = self.manifest {
            let path = directory.join(FileName::Manifest(number).to_string());
            write_again(vfs, &path).map_err(|error| Error::io(&path, "sync", &error))?;
        }
        vfs.sync_dir(directory).map_err(|error| Error::io(directory, "sync", &error))
    }

    fn begin_files(&mut self, found: &mut Found) -> Result<Begun> {
        let salt = Some(draw_salt(&*self.vfs, self.directory)?);
        // Readers see at least this time, and the first edit holds it.
        self.time.now_ms();
        let first_log = self.take_number();
        let everything = Edit {
            added: self
                .version
                .tables()
                .map(|(level, table)| (level, TableFacts::clone(&table.facts)))
                .collect(),
            removed: Vec::new(),
            first_log: Some(first_log),
            next_file: Some(self.next_file + 1),
            last_sequence: Some(found.last_sequence),
            closed: None,
            ranges: listed(&self.version.ranges),
            salt,
            time_ms: self.time.to_keep(),
        };
        let manifest_file = self.take_number();
        // Before the manifest that names it: a log that a manifest names is there.
        let path = log_path(self.directory, first_log);
        let log = self.vfs.create(&path).map_err(|error| Error::io(&path, "create", &error))?;
        // Where this fails late, `CURRENT` may name the manifest: the log stays until another one counts.
        found.logs.push(first_log);
        let mut log = LogWriter::filled_ahead(log, tag(salt, first_log));
        log.mark(found.last_sequence + 1);
        let manifest = Manifest::create(&*self.vfs, self.directory, manifest_file, &everything)?;
        for name in std::mem::take(&mut found.needless) {
            // One that stays is removed next time.
            let _ = self.vfs.remove(&self.directory.join(name));
        }
        (found.in_manifest, found.in_tables) = (found.last_sequence, found.last_sequence);
        let logs = vec![first_log];
        Ok(Begun { manifest, log, log_path: path, logs, first_log, salt, refusal: None })
    }

    /// A table of a level; in the lowest, without its filter.
    pub(super) fn open_table(&self, level: usize, number: u64) -> Result<Arc<Table>> {
        let path = table_path(self.directory, number);
        let (cache, files) = (self.cache.clone(), Arc::clone(&self.files));
        let table = Table::open_in(&self.vfs, &path, number, cache, files)?;
        let table = table.asking(&self.pages).owned_by(&self.home);
        Ok(Arc::new(if level == LEVELS - 1 { table } else { table.with_filter()? }))
    }
}

/// All edits of a manifest in one.
pub(super) struct Merged {
    pub(super) facts: BTreeMap<(usize, u64), TableFacts>,
    pub(super) first_log: u64,
    pub(super) next_file: u64,
    pub(super) last_sequence: Sequence,
    pub(super) closed: Sequence,
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
                if *level >= LEVELS {
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
