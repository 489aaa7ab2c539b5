//! Replay of the logs when a store is opened, into memtables and from there into tables.
//!
//! Logs are read in order for as long as the sequence numbers go on without a gap: what is behind a gap was
//! written later than something that is lost, and what survives is a prefix. Each full memtable becomes
//! tables at once. From the first one on for which there is no room, and in a store that is opened
//! read-only, they are kept as frozen memtables, within the memory that the options allow.

use super::commit::memtable_bytes;
use super::freeze::{log_path, new_memtable};
use super::health::is_no_room;
use super::open::Opening;
use super::view::Frozen;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::lsm::common::Common;
use crate::lsm::compaction::{Output, write_tables};
use crate::lsm::iter::Run;
use crate::lsm::manifest::Edit;
use crate::lsm::memtable::{Inserter, Memtable, MemtableCursor};
use crate::lsm::record::{Kind, Record, Sequence, Stamp};
use crate::lsm::wal::{Ended, LogRecord, read, tag, writes};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What logs hold, on its way into tables.
pub(super) struct Replay {
    /// The newest write that came back.
    pub(super) last: Sequence,
    /// The newest that is in a table.
    pub(super) in_tables: Sequence,
    /// What could not become tables, the oldest first.
    pub(super) kept: Vec<Frozen>,
    in_manifest: Sequence,
    memtable: Option<(Arc<Memtable>, Inserter)>,
    /// The log that is being read.
    log: u64,
    /// There was a gap: nothing behind it counts.
    is_over: bool,
    /// Writes behind it.
    dropped: u64,
    /// Where the last log ends that counts.
    end: Option<(PathBuf, u64)>,
}

impl Replay {
    /// Reads logs. A store that was closed has all writes up to `closed`.
    pub(super) fn of(
        opening: &mut Opening,
        (logs, salt): (&[u64], Option<u64>),
        in_manifest: Sequence,
        closed: Sequence,
    ) -> Result<Self> {
        let mut replay = Self {
            last: in_manifest,
            in_tables: in_manifest,
            kept: Vec::new(),
            in_manifest,
            memtable: None,
            log: 0,
            is_over: false,
            dropped: 0,
            end: None,
        };
        for number in logs {
            replay.log = *number;
            let path = log_path(opening.directory, *number);
            let file = opening.vfs.open(&path).map_err(|error| Error::io(&path, "open", &error))?;
            let ended = read(&*file, tag(salt, *number), |record| replay.take(opening, &path, record));
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
        replay.flush(opening)?;
        let (writes, dropped_writes) = (replay.last - in_manifest, replay.dropped);
        if writes + dropped_writes > 0 {
            opening.events.send(|| Event::LogRecovered { writes, dropped_writes });
        }
        Ok(replay)
    }

    fn take(&mut self, opening: &mut Opening, path: &Path, record: LogRecord) -> Result<()> {
        let count = writes(record.payload).count() as u64;
        let end = record.sequence + count;
        if end <= self.in_manifest + 1 {
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
            None => self.memtable.insert(new_memtable(
                opening.options.memtable_bytes.max(needed),
                Common::clone(opening.version.common()),
                None,
            )?),
        };
        for (sequence, write) in (record.sequence..).zip(writes(record.payload)) {
            let write = write.map_err(|reason| Error::corrupt(path, 0, reason))?;
            if write.kind == Kind::SetUntil {
                opening.time.note_expiry();
            }
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
        while !opening.options.is_read_only && opening.no_room.is_none() {
            match self.write_tables(opening, &memtable) {
                Ok(()) => {
                    self.in_tables = self.last;
                    return Ok(());
                }
                Err(error) if is_no_room(&error) => {
                    if !opening.remove_leftovers() {
                        opening.no_room = Some(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let kept: usize = self.kept.iter().map(|frozen| frozen.memtable.bytes()).sum();
        let (needed, limit) = ((kept + memtable.bytes()) as u64, opening.options.replay_bytes);
        if needed > limit {
            let why = if opening.options.is_read_only {
                "read-only"
            } else {
                "on a disk that has no room for them"
            };
            let reason = format!(
                "{limit} bytes are too few: the logs hold more than that, which does not become tables {why}; \
                 open with a larger budget"
            );
            return Err(Error::InvalidOption { option: "memory_budget", reason });
        }
        // The write that follows is in this log, or in none.
        self.kept.push(Frozen { memtable, next_log: self.log, last_sequence: self.last });
        Ok(())
    }

    fn write_tables(&self, opening: &mut Opening, memtable: &Arc<Memtable>) -> Result<()> {
        let (vfs, directory, time) = (Arc::clone(&opening.vfs), opening.directory, Arc::clone(&opening.time));
        let files = Arc::clone(&opening.files);
        let version = opening.version.clone();
        let ranges = Arc::new(version.ranges.with(&memtable.ranges()).seen_at(self.last));
        let output = Output {
            ranges: &ranges,
            vfs: &*vfs,
            files: &files,
            directory,
            shape: opening.options.shape,
            table_bytes: u64::MAX,
            level: 0,
            version: &version,
            common: version.common(),
            now_ms: time.now_ms(),
            time: &time,
            long_values: &Arc::default(),
            after: None,
            until: None,
        };
        let runs = vec![Run::Memtable(MemtableCursor::new(Arc::clone(memtable)))];
        let added = write_tables(&output, runs, || opening.take_number(), |_| Ok(()))?;
        let added = added.into_iter().map(|table| (0, table)).collect();
        let edit = Edit { added, ranges: Some(Arc::clone(&ranges)), ..Edit::default() };
        opening.version = version
            .edited(&edit, |level, facts| opening.open_table(level, facts.number))?
            .map_err(|reason| Error::corrupt(directory, 0, reason))?;
        Ok(())
    }
}
