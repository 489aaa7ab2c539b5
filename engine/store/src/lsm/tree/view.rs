//! What does a reader read? The tables and memtables of one moment. Whoever has a view keeps its files.

use crate::error::Result;
use crate::lsm::compaction::{Targets, mostly_deleted};
use crate::lsm::iter::{Live, Merge, Run, live};
use crate::lsm::manifest::{LEVELS, Version};
use crate::lsm::memtable::{Memtable, MemtableCursor};
use crate::lsm::range_deletions::Ranges;
use crate::lsm::record::{Sequence, Stamp};
use crate::lsm::table::hash;
use std::sync::Arc;

/// Tables whose filters are asked together.
const TOGETHER: usize = 12;

/// A memtable that is written to no more.
#[derive(Clone)]
pub(crate) struct Frozen {
    pub(crate) memtable: Arc<Memtable>,
    /// Logs below this number are of no use once it is a table.
    pub(crate) next_log: u64,
    /// Sequence number of its newest write.
    pub(crate) last_sequence: Sequence,
}

/// Everything there is to read. It never changes, but that its memtable grows.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) memtable: Arc<Memtable>,
    /// The oldest first.
    pub(crate) frozen: Vec<Frozen>,
    pub(crate) version: Arc<Version>,
}

impl View {
    /// Hands the value of a key, as a reader at this sequence number and time sees it, to `f`.
    pub(crate) fn get<R>(
        &self,
        key: &[u8],
        at: Sequence,
        now_ms: impl Fn() -> u64,
        f: impl FnOnce(Live) -> R,
    ) -> Result<Option<R>> {
        let mut f = Some(f);
        let mut decide = |sequence: Sequence, stamp: Stamp, value: &[u8]| {
            let is_deleted = sequence < self.deleted_at(key, at);
            let found = if is_deleted { None } else { live(stamp, value, &now_ms) };
            found.and_then(|live| f.take().map(|f| f(live)))
        };
        for memtable in self.memtables() {
            if let Some(record) = memtable.get(key, at) {
                return Ok(decide(record.stamp.sequence(), record.stamp, record.value));
            }
        }
        let (hash, newest) = (hash(key), Stamp::newest_at(at));
        let mut tables = self.version.tables_of(key);
        let mut together = [None; TOGETHER];
        loop {
            // What all of their filters need is on its way before the first one is asked.
            let mut count = 0;
            for (place, table) in together.iter_mut().zip(&mut tables) {
                table.table.prefetch_filter(hash);
                *place = Some(table);
                count += 1;
            }
            for table in together[..count].iter().flatten() {
                let decide = |stamp, value: &[u8]| decide(table.facts.sequence_of(stamp), stamp, value);
                if table.table.may_hold(hash)
                    && let Some(found) = table.table.find(key, newest, decide)?
                {
                    return Ok(found);
                }
            }
            if count < TOGETHER {
                return Ok(None);
            }
        }
    }

    /// The memtables, the newest first.
    pub(super) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        [&self.memtable].into_iter().chain(self.frozen.iter().rev().map(|frozen| &frozen.memtable))
    }

    /// The newest deletion of a range that covers a key and that a reader at this number sees; 0, where there is none. What is older is gone.
    #[inline]
    pub(crate) fn deleted_at(&self, key: &[u8], at: Sequence) -> Sequence {
        let in_memtables = self.memtables().map(|memtable| memtable.deleted_at(key, at)).max().unwrap_or(0);
        if self.version.ranges.is_empty() {
            return in_memtables;
        }
        in_memtables.max(self.version.ranges.newest_at(key, at))
    }

    /// Whether there is something in it that is mostly deletions.
    pub(super) fn has_deleted(&self, targets: &Targets) -> bool {
        self.memtable.is_mostly_deleted() || mostly_deleted(&self.version, targets).is_some()
    }

    /// All deleted ranges that a reader at this number sees.
    pub(crate) fn ranges_at(&self, at: Sequence) -> Ranges {
        let mut ranges = Ranges::clone(&self.version.ranges);
        for memtable in self.memtables().filter(|memtable| memtable.has_ranges()) {
            ranges = ranges.with(&memtable.ranges());
        }
        ranges.seen_at(at)
    }

    /// All of it in order.
    pub(crate) fn merge(&self) -> Merge {
        let frozen = self.frozen.iter().map(|frozen| &frozen.memtable);
        let memtables = [&self.memtable].into_iter().chain(frozen);
        let mut runs: Vec<_> =
            memtables.map(|memtable| Run::Memtable(MemtableCursor::new(Arc::clone(memtable)))).collect();
        runs.extend(self.version.levels[0].iter().map(Run::table));
        let levels = (1..LEVELS).filter(|level| !self.version.levels[*level].is_empty());
        runs.extend(levels.map(|level| Run::level(self.version.run(level))));
        Merge::new(runs, Arc::clone(self.version.common()))
    }
}
