//! How do sorted pairs get in without the log and the memtable? They are written to tables that nobody knows, one after the other; then one edit of the manifest makes all of them part of the
//! store.
//!
//! They count as one write that is newer than all before it. Its sequence number is known only when the edit is made, so the manifest says it, and the versions in the file have none.
//! The number takes its place in the order of the logs, too: what was written before is flushed while other writes wait, so that the log that is replayed after the edit begins behind it.

use super::health::Work;
use super::{Inner, Tree};
use crate::error::{Error, Result};
use crate::lsm::compaction::{Open, place, table_path};
use crate::lsm::manifest::{Edit, TableFacts, Version};
use crate::lsm::record::{Kind, Record, Stamp};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pairs on their way into a tree. Dropped before [`install`](Self::install), it leaves nothing.
pub(crate) struct Ingest<'a> {
    tree: &'a Tree,
    tables: Vec<TableFacts>,
    current: Option<Open>,
    /// The key that came last.
    last: Vec<u8>,
    pairs: u64,
    failure: Option<Error>,
    value: Vec<u8>,
}

impl Tree {
    pub(crate) fn ingest(&self) -> Ingest<'_> {
        Ingest {
            tree: self,
            tables: Vec::new(),
            current: None,
            last: Vec::new(),
            pairs: 0,
            failure: self.check_writable().err(),
            value: Vec::new(),
        }
    }
}

impl Ingest<'_> {
    /// Adds a pair whose key comes after all others. After an error nothing is left of any.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8], until_ms: Option<u64>) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.add_next(key, value, until_ms).inspect_err(|error| self.fail(error))
    }

    /// Gives up all of it for a pair that cannot be taken.
    pub(crate) fn fail(&mut self, error: &Error) {
        self.failure.get_or_insert_with(|| error.clone());
        self.remove();
    }

    fn add_next(&mut self, key: &[u8], value: &[u8], until_ms: Option<u64>) -> Result<()> {
        self.pairs += 1;
        if self.pairs > 1 && key <= &self.last[..] {
            return Err(Error::OutOfOrder { pair: self.pairs, is_duplicate: key == self.last });
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        let inner = &self.tree.inner;
        if self.current.as_ref().is_some_and(|open| open.expected_bytes() >= inner.options.table_bytes) {
            self.end_table()?;
            inner.is_open()?;
        }
        let open = match &mut self.current {
            Some(open) => open,
            None => {
                let number = inner.state.lock().take_number();
                let none = Version::default();
                self.current.insert(Open::create(&inner.output(0, &none, u64::MAX), number)?)
            }
        };
        let Some(until_ms) = until_ms else {
            return open.add(&Record { key, stamp: Stamp::new(0, Kind::Set), value });
        };
        self.value.clear();
        self.value.extend_from_slice(&until_ms.to_le_bytes());
        self.value.extend_from_slice(value);
        open.add(&Record { key, stamp: Stamp::new(0, Kind::SetUntil), value: &self.value })
    }

    fn end_table(&mut self) -> Result<()> {
        let Some(open) = self.current.take() else { return Ok(()) };
        let number = open.number();
        let inner = &self.tree.inner;
        let done = open.finish().inspect_err(|_| inner.remove_table(number));
        self.tables.extend(done?);
        Ok(())
    }

    /// Makes everything last that was added, and all that was written to the tree before: then it takes little to [`install`](Self::install) it.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.end_table()?;
        self.tree.inner.sync_directory()?;
        self.tree.flush()
    }

    /// Makes it part of the tree: all of it from one moment on. How many pairs it was.
    pub(crate) fn install(mut self) -> Result<u64> {
        if !self.tables.is_empty() {
            self.tree.inner.install_ingested(&mut self.tables)?;
        }
        Ok(self.pairs)
    }

    fn remove(&mut self) {
        let numbers = self.tables.drain(..).map(|table| table.number);
        let numbers = numbers.chain(self.current.take().map(|open| open.number()));
        numbers.for_each(|number| self.tree.inner.remove_table(number));
    }
}

impl Drop for Ingest<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Inner {
    /// One that stays is removed when the tree is opened.
    fn remove_table(&self, number: u64) {
        let _ = self.vfs.remove(&table_path(&self.directory, number));
    }

    /// Takes the tables, unless it fails before anything may know of them.
    fn install_ingested(&self, tables: &mut Vec<TableFacts>) -> Result<()> {
        self.look()?;
        let mut commit = self.commit.lock();
        if commit.memtable.versions() > 0 {
            self.freeze(&mut commit, 0)?;
        }
        while self.flush_oldest()? {}
        self.look()?;
        let mut state = self.state.lock();
        debug_assert!(state.view.frozen.is_empty() && state.logs == [state.first_log]);
        let sequence = commit.next;
        let bytes = tables.iter().map(|table| table.bytes).sum();
        let version = Arc::clone(&state.view.version);
        // It is newer than all of them.
        let cleaned = version.ranges.newest();
        let added = tables.iter().map(|table| {
            let level = place(&version, state.underway.as_ref(), table);
            (level, TableFacts { last_sequence: sequence, is_ingested: true, cleaned, ..table.clone() })
        });
        self.time.note_tables(tables.iter());
        let edit = Edit {
            added: added.collect(),
            next_file: Some(state.next_file),
            last_sequence: Some(sequence),
            ..Edit::default()
        };
        let version = self.edited(&state, &edit)?;
        self.gaps.clear();
        // From here on the manifest may name them, whatever the system says.
        tables.clear();
        let done = self.apply(&mut state, version, &edit, |_| {
            // Before the view is shown: who sees the tables sees their number.
            self.published.store(sequence, Ordering::Release);
        });
        done.map_err(Error::in_doubt).inspect_err(|error| {
            // A later write may not have this number.
            self.health.fail(Work::Writes, error);
        })?;
        commit.next = sequence + 1;
        state.last_sequence = sequence;
        state.synced = state.synced.max(sequence);
        self.counters.ingested.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}
