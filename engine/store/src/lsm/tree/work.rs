//! What is done behind the writes? Memtables become tables, the oldest first, and tables are merged when `pick` says so. Each change is one edit of the manifest, synced before
//! what it makes needless is removed.

use super::Inner;
use super::admin::table_bytes;
use super::freeze::{log_path, spare_path};
use super::health::{Work, is_no_room};
use super::view::{Frozen, View};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::lsm::compaction::{Output, table_path, write_tables};
use crate::lsm::iter::Run;
use crate::lsm::manifest::{Edit, LEVELS, Manifest, TableFacts, Version};
use crate::lsm::memtable::MemtableCursor;
use crate::lsm::range_deletions::Ranges;
use crate::lsm::sync::Instant;
use crate::lsm::table::Table;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::State;

/// Time from one attempt to find room to the next.
const RETRY: Duration = Duration::from_millis(250);

/// So long nothing is written or merged before work is looked for that could wait.
const IDLE: Duration = Duration::from_secs(1);

/// Ranges as a manifest that begins anew says them: builds that know of none read it where there are none.
pub(super) fn listed(ranges: &Arc<Ranges>) -> Option<Arc<Ranges>> {
    (!ranges.is_empty()).then(|| Arc::clone(ranges))
}

impl Inner {
    /// Flushes memtables until the tree is closed.
    pub(super) fn flush_always(&self) {
        loop {
            let mut state = self.state.lock();
            while state.view.frozen.is_empty() && !self.health.lacks_room(Work::Writes) && !state.is_closing {
                self.work.wait(&mut state);
            }
            if state.is_closing {
                return;
            }
            drop(state);
            let done = match self.health.lacks_room(Work::Writes) {
                true => self.recover(),
                false => self.flush_oldest().map(drop),
            };
            if let Err(error) = done
                && !self.waits_for_room(Work::Writes, &error)
            {
                return;
            }
        }
    }

    /// Merges tables until the tree is closed.
    pub(super) fn compact_always(&self) {
        let mut written = 0;
        loop {
            let mut state = self.state.lock();
            let mut is_idle = false;
            while !state.is_closing && !is_idle && self.choose(&state.view.version).is_none() {
                self.health.recover(Work::Merges);
                let is_over = self.work.wait_for(&mut state, IDLE).timed_out();
                let before = std::mem::replace(&mut written, self.published.load(Ordering::Acquire));
                if is_over && before == written && self.merge_bytes.swap(0, Ordering::Relaxed) > 0 {
                    self.share_cache(&state.view);
                }
                if is_over
                    && before == written
                    && let Some(recycler) = &self.recycler
                {
                    recycler.clear();
                }
                is_idle = is_over && before == written && state.view.has_deleted(&self.options.targets);
            }
            if state.is_closing {
                return;
            }
            drop(state);
            let done = if is_idle { self.tidy_deleted() } else { self.compact_next() };
            match done {
                Ok(_) => self.health.recover(Work::Merges),
                Err(_) if self.is_closing.load(Ordering::Relaxed) => return,
                Err(error) if self.waits_for_room(Work::Merges, &error) => {}
                Err(_) => return,
            }
        }
    }

    /// Notes that work of a thread failed, and waits for a moment if it is to be tried again. False, if
    /// it is not.
    fn waits_for_room(&self, work: Work, error: &Error) -> bool {
        self.health.fail(work, error);
        self.wake_all();
        if self.health.is_over() {
            return false;
        }
        let mut state = self.state.lock();
        if !state.is_closing {
            self.closing.wait_for(&mut state, RETRY);
        }
        true
    }

    /// Takes writes again after there was no room, or says why that cannot be.
    ///
    /// What a suspect log holds is unknown: perhaps a batch that was refused. So all that was acknowledged
    /// becomes tables, another log begins, and one edit of the manifest takes the suspect log away. No
    /// write is taken before that, so no sequence number is ever in two logs. If the process ends in
    /// between, the suspect log is replayed: a refused batch may be there then.
    pub(super) fn recover(&self) -> Result<()> {
        if self.health.is_over() {
            return self.look();
        }
        self.remove_spare();
        while self.flush_oldest()? {}
        let mut commit = self.commit.lock();
        if commit.is_suspect {
            self.freeze_at_once(&mut commit, &mut self.state.lock(), 0)?;
        }
        while self.flush_oldest()? {}
        let mut state = self.state.lock();
        if state.needs_manifest || state.manifest.is_broken() {
            let version = Arc::clone(&state.view.version);
            self.begin_manifest(&mut state, &version, &Edit::default())?;
        }
        drop(state);
        self.health.recover(Work::Writes);
        drop(commit);
        self.room.notify_all();
        Ok(())
    }

    /// Makes a table of the oldest memtable that waits. False, where none does.
    pub(super) fn flush_oldest(&self) -> Result<bool> {
        let _alone = self.flushing.lock();
        let view = Arc::clone(&self.state.lock().view);
        let Some(frozen) = view.frozen.first() else { return Ok(false) };
        let begin = Instant::now();
        self.events.send(|| Event::FlushBegun { bytes: frozen.memtable.bytes() as u64 });
        let done = self.flush_memtable(&view, frozen).inspect_err(|error| self.note_names(error));
        self.events.send(|| {
            let (tables, bytes) = done.as_ref().copied().unwrap_or_default();
            Event::FlushEnded {
                bytes,
                tables,
                duration: begin.elapsed(),
                error: done.as_ref().err().cloned(),
            }
        });
        done.map(|_| true)
    }

    /// How many tables it became, and their bytes.
    fn flush_memtable(&self, view: &View, frozen: &Frozen) -> Result<(usize, u64)> {
        let deleted = frozen.memtable.ranges();
        let ranges = view.version.ranges.with(&deleted).seen_at(frozen.last_sequence);
        let output = Output { ranges: &ranges, ..self.output(0, &view.version, u64::MAX) };
        let runs = vec![Run::Memtable(MemtableCursor::new(Arc::clone(&frozen.memtable)))];
        let tables = write_tables(
            &output,
            runs,
            || self.state.lock().take_number(),
            |_| {
                self.make_room_for_long_values();
                Ok(())
            },
        )?;
        let (count, bytes) = (tables.len(), tables.iter().map(|table| table.bytes).sum());
        self.counters.flushed.fetch_add(bytes, Ordering::Relaxed);
        if tables.is_empty() {
            // The name of the log that is the first now lasts before the manifest says that it is there.
            self.sync_directory()?;
        }
        let mut edit = Edit {
            added: tables.into_iter().map(|table| (0, table)).collect(),
            first_log: Some(frozen.next_log),
            last_sequence: Some(frozen.last_sequence),
            ..Edit::default()
        };
        let mut state = self.state.lock();
        if !deleted.is_empty() {
            let ranges = state.view.version.ranges.with(&deleted).seen_at(frozen.last_sequence);
            edit.ranges = Some(Arc::new(ranges));
        }
        self.install(&mut state, edit, |view| {
            view.frozen.remove(0);
        })?;
        self.pinned.add_memtable(&frozen.memtable);
        self.long_values.fade();
        // Not before the edit lasts: another manifest may be begun although this one could not be written.
        state.last_sequence = frozen.last_sequence;
        state.synced = state.synced.max(frozen.last_sequence);
        if frozen.last_sequence >= state.suspect_until {
            state.suspect_until = 0;
        }
        let needless = std::mem::replace(&mut state.first_log, frozen.next_log)..frozen.next_log;
        state
            .unsynced
            .retain(|(path, _)| !needless.clone().any(|number| *path == log_path(&self.directory, number)));
        let gone: Vec<_> = state.logs.iter().copied().filter(|number| needless.contains(number)).collect();
        state.logs.retain(|number| !needless.contains(number));
        let (spare, gone) = match gone.split_last() {
            Some((last, gone)) if state.spare.is_none() => (Some(*last), gone),
            _ => (None, &gone[..]),
        };
        drop(state);
        if let Some(number) = spare {
            let log = log_path(&self.directory, number);
            if self.vfs.rename(&log, &spare_path(&self.directory, number)).is_ok() {
                self.state.lock().spare = Some(number);
            }
        }
        for number in gone {
            // One that stays is removed when the tree is opened.
            let _ = self.vfs.remove(&log_path(&self.directory, *number));
        }
        Ok((count, bytes))
    }

    /// Removes the log that is kept to be used again. Without workers all flushes are on call, and it is kept for the next one.
    pub(super) fn remove_spare(&self) {
        if !self.options.has_workers {
            return;
        }
        if let Some(number) = self.state.lock().spare.take() {
            // One that stays is removed when the tree is opened.
            let _ = self.vfs.remove(&spare_path(&self.directory, number));
        }
    }

    pub(super) fn output<'a>(&'a self, level: usize, version: &'a Version, table_bytes: u64) -> Output<'a> {
        Output {
            vfs: &*self.vfs,
            files: &self.files,
            directory: &self.directory,
            shape: self.options.shape,
            table_bytes,
            level,
            version,
            ranges: &version.ranges,
            common: version.common(),
            now_ms: self.time.now_ms(),
            time: &self.time,
            long_values: &self.long_values,
            after: None,
            until: None,
        }
    }

    /// Writes an edit to the manifest and shows what comes of it.
    pub(super) fn install(
        &self,
        state: &mut State,
        edit: Edit,
        change: impl FnOnce(&mut View),
    ) -> Result<()> {
        let edit = Edit { next_file: Some(state.next_file), ..edit };
        let version = self.edited(state, &edit)?;
        self.apply(state, version, &edit, change)
    }

    /// The tables there are after an edit, all of them open.
    pub(super) fn edited(&self, state: &State, edit: &Edit) -> Result<Version> {
        let known = &state.view.version;
        let open = |level, facts: &TableFacts| {
            let same = known.tables().find(|(_, table)| table.facts.number == facts.number);
            same.map_or_else(|| self.open_table(level, facts), |(_, table)| Ok(Arc::clone(&table.table)))
        };
        let edited = known.edited(edit, open)?;
        let mut version = edited.map_err(|reason| Error::corrupt(&self.directory, 0, reason))?;
        let most = self.options.filters_until;
        let replaced = version.drop_filters(most);
        if !replaced.is_empty() {
            self.pinned.add_tables(replaced.iter());
        }
        version.read_filters(most)?;
        Ok(version)
    }

    /// Writes an edit to the manifest, and shows the version that it leads to.
    pub(super) fn apply(
        &self,
        state: &mut State,
        version: Version,
        edit: &Edit,
        change: impl FnOnce(&mut View),
    ) -> Result<()> {
        self.record(state, &version, edit).inspect_err(|error| {
            if self.is_of_names(error) {
                self.lose_names(&error.clone().in_doubt());
            }
            state.doubtful.extend(edit.added.iter().map(|(_, table)| table.number));
        })?;
        let mut view = View::clone(&state.view);
        view.version = Arc::new(version);
        change(&mut view);
        self.show(state, view);
        self.room.notify_all();
        self.work.notify_all();
        Ok(())
    }

    /// Writes an edit, after which there is this version, to the manifest or to a new one. Where a new one could not be begun, `CURRENT` may name it all the same: the old one
    /// is as long as it was, and is never appended to again.
    pub(super) fn record(&self, state: &mut State, version: &Version, edit: &Edit) -> Result<()> {
        self.health.check_names()?;
        let is_usable = !state.needs_manifest && !state.manifest.is_broken();
        if !is_usable || state.manifest.is_full(self.options.manifest_bytes) {
            return self.begin_manifest(state, version, edit);
        }
        // Deletions of ranges end when they are carried out in all tables.
        let is_same = version.ranges == state.view.version.ranges;
        let ranges = (!is_same).then(|| Arc::clone(&version.ranges));
        let time_ms = self.time.to_keep();
        state.manifest.append(&Edit { ranges, time_ms, ..edit.clone() })
    }

    /// Begins another manifest, which says what the old one says after an edit.
    fn begin_manifest(&self, state: &mut State, version: &Version, edit: &Edit) -> Result<()> {
        state.needs_manifest = true;
        let number = state.take_number();
        let last_sequence = edit.last_sequence.unwrap_or(state.last_sequence);
        let everything = Edit {
            added: version.tables().map(|(level, table)| (level, TableFacts::clone(&table.facts))).collect(),
            removed: Vec::new(),
            first_log: Some(edit.first_log.unwrap_or(state.first_log)),
            next_file: Some(state.next_file),
            last_sequence: Some(last_sequence),
            closed: edit.closed,
            ranges: listed(&version.ranges),
            salt: self.salt,
            time_ms: self.time.to_keep(),
        };
        let old = std::mem::replace(
            &mut state.manifest,
            Manifest::create(&*self.vfs, &self.directory, number, &everything)?,
        );
        state.needs_manifest = false;
        // One that stays is removed when the tree is opened.
        let _ = self.vfs.remove(old.path());
        for number in std::mem::take(&mut state.doubtful) {
            if !version.tables().any(|(_, table)| table.facts.number == number) {
                let _ = self.vfs.remove(&table_path(&self.directory, number));
            }
        }
        Ok(())
    }

    /// A table of a level; in the lowest, without its filter.
    fn open_table(&self, level: usize, facts: &TableFacts) -> Result<Arc<Table>> {
        let path = table_path(&self.directory, facts.number);
        let (cache, files) = (self.cache.clone(), Arc::clone(&self.files));
        let table = Table::open_in(&self.vfs, &path, facts.number, cache, files)?;
        let table = table.asking(&self.pages).owned_by(&self.owner.0);
        Ok(Arc::new(if level == LEVELS - 1 { table } else { table.with_filter()? }))
    }

    /// Lets readers see a view.
    pub(super) fn show(&self, state: &mut State, view: View) {
        self.pages.set_stored(table_bytes(&view.version));
        self.share_cache(&view);
        self.feel(&view);
        let view = Arc::new(view);
        state.view = Arc::clone(&view);
        self.view.store(view);
    }

    /// Leaves the cache what indexes, filters, long values and more memtables than usual do not take.
    pub(super) fn share_cache(&self, view: &View) {
        if let Some(cache) = self.cache.as_ref().filter(|_| self.options.is_cache_shared) {
            // Memtables may be longer than they were planned, for long batches, and more of them where there
            // was no room when the store was opened.
            let planned = (1 + self.options.frozen_memtables) * self.options.memtable_bytes;
            let capacity: usize = view.memtables().map(|memtable| memtable.capacity()).sum();
            let others = capacity.saturating_sub(planned) as u64
                + self.pinned.bytes()
                + self.merge_bytes.load(Ordering::Relaxed)
                + self.long_values.buffer_bytes(self.options.merge_threads);
            let rest = self.options.cache_bytes.saturating_sub(view.version.index_bytes() + others);
            cache.set_capacity(rest.max(self.options.cache_bytes / 16));
        }
    }

    /// Lets the cache yield to a merge that takes so many bytes, and to all that follow until nothing is
    /// merged or written for a moment: a cache that becomes smaller may begin anew. In steps, so that merges
    /// of about one size change it once.
    pub(super) fn make_room_for_merge(&self, bytes: u64) {
        let step = (self.options.cache_bytes / 32).max(1);
        let bytes = bytes.next_multiple_of(step);
        if self.merge_bytes.fetch_max(bytes, Ordering::Relaxed) < bytes {
            self.share_cache(&self.view.load());
        }
    }

    /// Lets the cache yield to values that are longer than those before.
    #[inline]
    pub(super) fn make_room_for_long_values(&self) {
        if self.long_values.is_news() {
            self.share_cache(&self.view.load());
        }
    }

    pub(super) fn sync_directory(&self) -> Result<()> {
        let done = self.vfs.sync_dir(&self.directory);
        done.map_err(|error| Error::io(&self.directory, "sync", &error))
            .inspect_err(|error| self.note_names(error))
    }

    /// Ends writes if this is the error of a sync of the directory.
    pub(super) fn note_names(&self, error: &Error) {
        if self.is_of_names(error) {
            self.lose_names(error);
        }
    }

    /// Whether it is one of a sync of the directory that was attempted.
    fn is_of_names(&self, error: &Error) -> bool {
        matches!(error, Error::Io { path, call: "sync", .. } if *path == self.directory.display().to_string())
            && !is_no_room(error)
    }

    fn lose_names(&self, error: &Error) {
        self.health.lose_names(error);
        // Perhaps under the lock of the state. The thread whose work failed wakes those that wait for it.
        self.work.notify_all();
        self.room.notify_all();
    }
}
