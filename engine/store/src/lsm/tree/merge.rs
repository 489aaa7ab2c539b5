//! Which tables are merged when: behind the writes, on call, and when there is nothing else to do.

use super::health::Work;
use super::merging::{Merging, Way};
use super::{Inner, Tree};
use crate::error::{Error, Result};
use crate::lsm::compaction::{
    Choice, Sweep, Underway, debt_bytes, hidden, mostly_deleted, pick, tidy, tidy_base,
};
use crate::lsm::manifest::{Edit, LEVELS, TableFacts, TableHandle, Version};
use crate::lsm::mapping::return_freed;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How far a merge of everything has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MergeProgress {
    /// Bytes of tables that it has written.
    pub(crate) written: u64,
    /// Bytes of tables above the lowest level.
    pub(crate) left: u64,
}

/// The tables of a choice.
pub(super) struct Chosen {
    pub(super) upper: Vec<TableHandle>,
    pub(super) lower: Vec<TableHandle>,
}

impl Chosen {
    fn of(version: &Version, choice: &Choice) -> Self {
        let of = |level: usize, numbers: &[u64]| -> Vec<_> {
            let tables = version.levels[level].iter();
            tables.filter(|table| numbers.contains(&table.facts.number)).cloned().collect()
        };
        Self { upper: of(choice.level, &choice.upper), lower: of(choice.target, &choice.lower) }
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &TableHandle> {
        self.upper.iter().chain(&self.lower)
    }

    fn facts(&self) -> impl Iterator<Item = &TableFacts> {
        self.tables().map(|table| &*table.facts)
    }

    fn underway(&self, target: usize) -> Option<Underway> {
        let first = self.facts().map(|table| &table.first_key).min()?.clone();
        let last = self.facts().map(|table| &table.last_key).max()?.clone();
        Some(Underway { target, first, last })
    }
}

/// A caller that waits for compactions.
pub(super) struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    pub(super) fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Tree {
    /// Waits until no compaction is due, then compacts level 0 if that rewrites little data. Without filters
    /// the base level is compacted too, because every level costs a lookup a block read.
    pub(crate) fn settle(&self) -> Result<()> {
        self.check_writable()?;
        let options = &self.inner.options;
        let has_filters = options.shape.filter_bits_per_key > 0;
        let mut optional = [tidy, tidy_base].into_iter().take(if has_filters { 1 } else { 2 });
        let _waiting = Waiting::begin(&self.inner.waiting_for_merges);
        loop {
            let version = Arc::clone(&self.inner.state.lock().view.version);
            if self.inner.choose(&version).is_none() {
                // An optional compaction can push the level below over its target, which makes another one due.
                let Some(choose) = optional.next() else { return self.inner.look() };
                let choose = |version: &Version| choose(version, &options.targets);
                self.inner.compact(choose, Way::AtOnce(&|_| self.inner.is_open()))?;
                continue;
            }
            if self.inner.options.has_workers {
                let mut state = self.inner.state.lock();
                self.inner.look()?;
                self.inner.room.wait_for(&mut state, std::time::Duration::from_millis(100));
            } else {
                self.inner.compact_next()?;
            }
        }
    }

    /// Merges everything that was written before the call into the lowest level, where a key has one version and no deletion is left. `go_on` is asked now and then; false, where it
    /// ended the work, which leaves what was done by then.
    pub(crate) fn merge_all(&self, mut go_on: impl FnMut(MergeProgress) -> ControlFlow<()>) -> Result<bool> {
        self.flush()?;
        let inner = &self.inner;
        let begin = inner.counters.merged.load(Ordering::Relaxed);
        let mut sweep = Sweep::new(inner.published.load(Ordering::Acquire), inner.time.now_ms());
        let is_ended = Cell::new(false);
        let mut ask = |_| {
            let version = Arc::clone(&inner.view.load().version);
            let written = inner.counters.merged.load(Ordering::Relaxed) - begin;
            let left = (0..LEVELS - 1).map(|level| version.bytes(level)).sum();
            is_ended.set(go_on(MergeProgress { written, left }).is_break());
            if is_ended.get() { Err(Error::Closed) } else { inner.is_open() }
        };
        loop {
            inner.look()?;
            match inner.compact(|version| sweep.pick(version), Way::Sliced(&mut ask)) {
                Ok(true) => {}
                Ok(false) => return Ok(true),
                Err(Error::Closed) if is_ended.get() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Inner {
    /// An error where the tree is being closed.
    pub(super) fn is_open(&self) -> Result<()> {
        if self.is_closing.load(Ordering::Relaxed) {
            return Err(Error::Closed);
        }
        Ok(())
    }

    /// Merges what is most in need of it. False, where nothing is.
    pub(super) fn compact_next(&self) -> Result<bool> {
        self.compact_behind(|version| self.choose(version))
    }

    /// Merges behind the writes. One for which there was no room is carried out in slices: each needs
    /// room for its own tables only, and makes room for the next one.
    pub(super) fn compact_behind(&self, pick: impl FnOnce(&Version) -> Option<Choice>) -> Result<bool> {
        let mut go_on = |bytes| self.hold_back_merge(bytes);
        if self.health.lacks_room(Work::Merges) {
            self.compact(pick, Way::Sliced(&mut go_on))
        } else {
            self.compact(pick, Way::AtOnce(&go_on))
        }
    }

    /// Threads for the parts of a compaction that are left now. A second one takes CPU time from the writers, and level 0 is
    /// compacted more often, each time together with all of the next level: both make writes slower.
    pub(super) fn threads_now(&self) -> usize {
        let is_awaited = self.waiting_for_merges.load(Ordering::Relaxed) > 0;
        let debt = debt_bytes(&self.view.load().version, &self.options.targets);
        if is_awaited || debt > self.options.debt_share { self.options.merge_threads } else { 1 }
    }

    /// What has to be merged next.
    pub(super) fn choose(&self, version: &Version) -> Option<Choice> {
        hidden(version).or_else(|| pick(version, &self.options.targets))
    }

    /// Flushes and merges what was deleted, as far as that is worth it, when there is nothing else to do.
    /// False, where nothing is left.
    pub(super) fn tidy_deleted(&self) -> Result<bool> {
        // The log that begins may be the last for long: it is not as long as one that was full.
        self.remove_spare();
        // A writer that holds the lock may wait for room, which only this thread may make: it waits for
        // neither.
        if let Some(mut commit) = self.commit.try_lock()
            && commit.memtable.is_mostly_deleted()
            && !commit.is_suspect
        {
            let mut state = self.state.lock();
            if !self.is_full(&state.view) {
                self.freeze_at_once(&mut commit, &mut state, 0)?;
            }
        }
        while self.flush_oldest()? {}
        self.remove_spare();
        self.compact_behind(|version| {
            self.choose(version).or_else(|| mostly_deleted(version, &self.options.targets))
        })
    }

    /// Merges what `pick` chooses. False, where it chooses nothing.
    pub(super) fn compact(&self, pick: impl FnOnce(&Version) -> Option<Choice>, way: Way) -> Result<bool> {
        let _alone = self.compacting.lock();
        let mut state = self.state.lock();
        let version = Arc::clone(&state.view.version);
        let Some(choice) = pick(&version) else { return Ok(false) };
        let chosen = Chosen::of(&version, &choice);
        let removed = chosen.upper.iter().map(|table| (choice.level, table.facts.number));
        let has_garbage =
            |table: &TableFacts| table.has_garbage(self.time.now_ms()) || version.is_to_be_cleaned(table);
        let lowest_garbage = choice.target == LEVELS - 1 && chosen.facts().any(has_garbage);
        if choice.is_move() && choice.level != choice.target && !lowest_garbage {
            let facts = chosen.upper.iter().map(|table| TableFacts::clone(&table.facts));
            let added = facts.map(|facts| (choice.target, facts)).collect();
            self.install(&mut state, Edit { added, removed: removed.collect(), ..Edit::default() }, |_| {})?;
            return Ok(true);
        }
        state.underway = chosen.underway(choice.target);
        drop(state);
        // What is merged is held by `chosen` alone, so that its files go slice by slice.
        let mut below = Version::default();
        let deeper = choice.target + 1..LEVELS;
        deeper.for_each(|level| below.levels[level].clone_from(&version.levels[level]));
        below.ranges = Arc::clone(&version.ranges);
        let common = Arc::clone(version.common());
        let resident: usize = chosen.tables().map(|table| table.table.resident_bytes()).sum();
        drop(version);
        let read = chosen.facts().fold((0, 0), |(tables, bytes), table| (tables + 1, bytes + table.bytes));
        let merge = Merging { inner: self, choice: &choice, below: &below, common: &common };
        self.make_room_for_merge(merge.bytes(&chosen));
        let done = self
            .events
            .merge((choice.level, choice.target), read, |written| merge.carry_out(chosen, way, written));
        self.state.lock().underway = None;
        if resident as u64 >= self.options.trim_bytes {
            // Indexes and filters are small allocations, freed now or when the last reader is done.
            return_freed();
        }
        done.map(|()| true).inspect_err(|error| self.note_names(error))
    }
}
