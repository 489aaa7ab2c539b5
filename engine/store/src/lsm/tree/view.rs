//! What does a reader read? The tables and memtables of one moment. Whoever has a view keeps its files.

use crate::error::Result;
use crate::lsm::iter::{Live, Merge, Run, live};
use crate::lsm::manifest::{LEVELS, Version};
use crate::lsm::memtable::{Memtable, MemtableCursor};
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
        let mut decide = |stamp: Stamp, value: &[u8]| {
            live(stamp, value, &now_ms).and_then(|live| f.take().map(|f| f(live)))
        };
        let memtables =
            [&self.memtable].into_iter().chain(self.frozen.iter().rev().map(|frozen| &frozen.memtable));
        for memtable in memtables {
            if let Some(record) = memtable.get(key, at) {
                return Ok(decide(record.stamp, record.value));
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
                if table.table.may_hold(hash)
                    && let Some(found) = table.table.find(key, newest, &mut decide)?
                {
                    return Ok(found);
                }
            }
            if count < TOGETHER {
                return Ok(None);
            }
        }
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
        Merge::new(runs, self.version.common())
    }
}
