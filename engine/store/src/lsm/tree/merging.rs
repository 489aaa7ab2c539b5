//! Carrying out one merge: in one step by several threads, each with a part of the keys, or slice by
//! slice. Each edit of the manifest leaves a whole store: what a slice has written below, the tables
//! above still say, until the last slice takes them away.

use super::Inner;
use super::merge::Chosen;
use crate::error::{Error, Result};
use crate::lsm::common::Common;
use crate::lsm::compaction::{Choice, Output, Slice, slices, write_tables};
use crate::lsm::iter::Run;
use crate::lsm::manifest::{Edit, TableFacts, TableHandle, Version};
use crate::lsm::sync::{Mutex, together};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tables that a thread writes at least before another one may share the compaction.
const TABLES_OF_PART: u64 = 2;

/// How a merge is carried out, with a function that hears how many bytes were read and may end it.
pub(super) enum Way<'a> {
    /// In one edit. One thread begins, because a write of the program is worth more than a compaction that ends
    /// sooner. All threads that the options allow share what is left of it as soon as a caller waits for
    /// compaction to finish, or much waits to be compacted.
    AtOnce(&'a (dyn Fn(u64) -> Result<()> + Sync)),
    /// One edit for each slice, so that it needs little room on the disk.
    Sliced(&'a mut dyn FnMut(u64) -> Result<()>),
}

pub(super) struct Merging<'a> {
    pub(super) inner: &'a Inner,
    pub(super) choice: &'a Choice,
    /// Tables in the levels below, and ranges that were deleted.
    pub(super) below: &'a Version,
    pub(super) common: &'a Arc<Common>,
}

/// A part of the keys: those of its lower tables and those up to the next part.
struct Part {
    lower: Arc<[TableHandle]>,
    after: Option<Vec<u8>>,
    until: Option<Vec<u8>>,
    table_bytes: u64,
}

impl Merging<'_> {
    /// Bytes of memory that it takes: indexes and filters of what it writes, which are there beside those of what it reads for a moment, and hashes of the keys of tables that are
    /// being written. What it reads ahead is always the same.
    pub(super) fn bytes(&self, chosen: &Chosen) -> u64 {
        let options = &self.inner.options;
        let resident = chosen.tables().map(|table| table.table.resident_bytes() as u64).sum::<u64>();
        if options.shape.filter_bits_per_key == 0 {
            return resident;
        }
        let sum = |of: fn(&TableFacts) -> u64| chosen.tables().map(|table| of(&table.facts)).sum::<u64>();
        let (versions, bytes) = (sum(|facts| facts.versions), sum(|facts| facts.bytes));
        let of_table = u128::from(versions) * u128::from(options.table_bytes) / u128::from(bytes.max(1));
        resident + versions.min(of_table as u64 * options.merge_threads as u64) * size_of::<u64>() as u64
    }

    /// Counts into `written` the bytes of the tables that it has written.
    pub(super) fn carry_out(&self, chosen: Chosen, way: Way, written: &mut u64) -> Result<()> {
        let Chosen { upper, lower } = chosen;
        let facts: Vec<_> = lower.iter().map(|table| &*table.facts).collect();
        let upper_bytes: u64 = upper.iter().map(|table| table.facts.bytes).sum();
        let table_bytes = self.inner.options.table_bytes;
        match way {
            Way::Sliced(go_on) => {
                let slices = slices(upper_bytes, &facts, table_bytes, 1);
                let (mut parts, count) = (parts(lower, slices).into_iter(), upper.len());
                while let Some(part) = parts.next() {
                    let tables = self.write(&upper, &part, &mut *go_on)?;
                    *written += bytes(&tables);
                    let above = if parts.len() == 0 { count } else { 0 };
                    self.install(tables, upper[..above].iter().chain(&*part.lower))?;
                }
                Ok(())
            }
            Way::AtOnce(go_on) => {
                let slices = slices(upper_bytes, &facts, table_bytes, TABLES_OF_PART);
                let parts = parts(lower, slices);
                let tables = self.write_all(&upper, &parts, go_on)?;
                *written += bytes(&tables);
                self.install(tables, upper.iter().chain(parts.iter().flat_map(|part| &*part.lower)))
            }
        }
    }

    /// Writes all parts: one after the other, and several at once from the moment on when more threads may. If
    /// one fails, the others end, and nothing is left of any.
    fn write_all(
        &self,
        upper: &[TableHandle],
        parts: &[Part],
        go_on: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<Vec<TableFacts>> {
        let has_failed = AtomicBool::new(false);
        let write = |part: &Part| {
            let go_on =
                |bytes| if has_failed.load(Ordering::Relaxed) { Err(Error::Closed) } else { go_on(bytes) };
            // Of a part that is begun after another one failed nothing is written.
            let written = go_on(0).and_then(|()| self.write(upper, part, go_on));
            written.inspect_err(|_| has_failed.store(true, Ordering::Relaxed))
        };
        let (mut written, mut left) = (Vec::new(), parts);
        while let Some((part, others)) = left.split_first() {
            let threads = self.inner.threads_now().min(left.len());
            if threads > 1 {
                written.extend(write_together(&write, left, threads));
                break;
            }
            written.push(write(part));
            left = others;
        }
        let (mut tables, mut failure) = (Vec::new(), None);
        for part in written {
            match part {
                Ok(part) => tables.extend(part),
                // The others were ended because of it.
                Err(error) if failure.is_none() || error != Error::Closed => failure = Some(error),
                Err(_) => {}
            }
        }
        let Some(error) = failure else { return Ok(tables) };
        let output = self.output();
        tables.iter().for_each(|table| output.remove(table.number));
        Err(error)
    }

    fn output(&self) -> Output<'_> {
        let options = &self.inner.options;
        Output {
            common: self.common,
            ..self.inner.output(self.choice.target, self.below, options.table_bytes)
        }
    }

    fn write(
        &self,
        upper: &[TableHandle],
        part: &Part,
        mut go_on: impl FnMut(u64) -> Result<()>,
    ) -> Result<Vec<TableFacts>> {
        let output = Output {
            table_bytes: part.table_bytes,
            after: part.after.as_deref(),
            until: part.until.as_deref(),
            ..self.output()
        };
        // What a deleted range hides as a whole need not be read.
        let is_read = |table: &&TableHandle| {
            let facts = &table.facts;
            !self.below.ranges.hide_all(&facts.first_key, &facts.last_key, facts.last_sequence)
        };
        let is_level0 = self.choice.level == 0;
        let count = if is_level0 { upper.len() } else { 1 } + 1;
        let options = &self.inner.options;
        let ahead = options.merge_ahead_bytes as usize / (count * options.merge_threads);
        let mut runs: Vec<_> = if is_level0 {
            upper.iter().filter(is_read).map(|table| Run::table_reading(table, ahead)).collect()
        } else {
            vec![Run::level_reading(upper.iter().filter(is_read).cloned().collect(), ahead)]
        };
        runs.push(Run::level_reading(part.lower.iter().filter(is_read).cloned().collect(), ahead));
        let go_on = |bytes| {
            self.inner.make_room_for_long_values();
            go_on(bytes)
        };
        let tables = write_tables(&output, runs, || self.inner.state.lock().take_number(), go_on)?;
        self.inner.counters.merged.fetch_add(bytes(&tables), Ordering::Relaxed);
        Ok(tables)
    }

    /// Replaces tables by those that were made of them.
    fn install<'a>(
        &self,
        tables: Vec<TableFacts>,
        replaced: impl Iterator<Item = &'a TableHandle> + Clone,
    ) -> Result<()> {
        let Choice { level, target, upper, .. } = self.choice;
        let added = tables.into_iter().map(|table| (*target, table)).collect();
        let removed = replaced.clone().map(|table| {
            let number = table.facts.number;
            (if upper.contains(&number) { *level } else { *target }, number)
        });
        let edit = Edit { added, removed: removed.collect(), ..Edit::default() };
        self.inner.install(&mut self.inner.state.lock(), edit, |_| {})?;
        self.inner.pinned.add_tables(replaced.clone().map(|table| &table.table));
        replaced.for_each(|table| table.table.remove_when_dropped());
        Ok(())
    }
}

/// Writes parts in so many threads, of which each takes the next one when it is done with one.
fn write_together<T: Send>(write: &(impl Fn(&Part) -> T + Sync), parts: &[Part], threads: usize) -> Vec<T> {
    let (first, others) = parts.split_at(threads);
    let others = &Mutex::new(others.iter());
    let thread = |first| {
        let own = std::iter::once(first).chain(std::iter::from_fn(|| others.lock().next()));
        move || own.map(write).collect::<Vec<_>>()
    };
    together("plumbkv-merge-part", first.iter().map(thread).collect()).into_iter().flatten().collect()
}

fn bytes(tables: &[TableFacts]) -> u64 {
    tables.iter().map(|table| table.bytes).sum()
}

/// Each part ends where its last lower table ends, and the last one takes the rest.
fn parts(mut lower: Vec<TableHandle>, slices: Vec<Slice>) -> Vec<Part> {
    let count = slices.len();
    let mut after: Option<Vec<u8>> = None;
    let part = |(number, slice): (usize, Slice)| {
        let lower: Arc<[TableHandle]> = lower.drain(..slice.lower.len()).collect();
        let until = lower.last().filter(|_| number + 1 < count).map(|table| table.facts.last_key.clone());
        Part {
            after: std::mem::replace(&mut after, until.clone()),
            lower,
            until,
            table_bytes: slice.table_bytes,
        }
    };
    slices.into_iter().enumerate().map(part).collect()
}
