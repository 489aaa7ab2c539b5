//! What are the values of several keys at one moment? Looked up in their order, so that each memtable and each table is gone through once, and each block of a table is read once.

use super::TreeSnapshot;
use super::view::View;
use crate::error::Result;
use crate::lsm::iter::{Live, live};
use crate::lsm::manifest::{LEVELS, TableHandle};
use crate::lsm::record::{Sequence, Stamp};
use crate::lsm::table::hash;

/// A key, its hash, and its place among those that were asked for.
#[derive(Clone, Copy)]
struct Wanted<'k> {
    key: &'k [u8],
    hash: u64,
    place: usize,
    /// The newest deletion of a range that covers it.
    deleted: Sequence,
}

impl TreeSnapshot {
    /// Hands the place and the value of each key that is there to `f`, in no particular order.
    pub(crate) fn get_many(&self, keys: &[&[u8]], f: impl FnMut(usize, Live)) -> Result<()> {
        let wanted = keys.iter().enumerate();
        let mut wanted: Vec<_> = wanted
            .map(|(place, key)| Wanted {
                key,
                hash: hash(key),
                place,
                deleted: self.view.deleted_at(key, self.at),
            })
            .collect();
        wanted.sort_unstable_by_key(|wanted| wanted.key);
        Search { at: self.at, now_ms: self.now_ms, wanted, f }.run(&self.view)
    }
}

/// Keys that nothing was said of yet, in ascending order.
struct Search<'k, F> {
    at: Sequence,
    now_ms: u64,
    wanted: Vec<Wanted<'k>>,
    f: F,
}

impl<F: FnMut(usize, Live)> Search<'_, F> {
    fn run(mut self, view: &View) -> Result<()> {
        let frozen = view.frozen.iter().rev().map(|frozen| &frozen.memtable);
        for memtable in [&view.memtable].into_iter().chain(frozen) {
            let Self { at, now_ms, wanted, f } = &mut self;
            wanted.retain(|wanted| match memtable.get(wanted.key, *at) {
                Some(record) => {
                    if record.stamp.sequence() >= wanted.deleted {
                        decide(f, *now_ms, wanted.place, record.stamp, record.value);
                    }
                    false
                }
                None => true,
            });
        }
        for table in &view.version.levels[0] {
            self.look_into(table)?;
        }
        for level in 1..LEVELS {
            let tables = &view.version.levels[level];
            let mut next = 0;
            // From each key on to the table that may hold it; the keys that lie before the table are not in this level.
            while let Some(wanted) = self.wanted.get(next) {
                let place = tables.partition_point(|table| &table.facts.last_key[..] < wanted.key);
                let Some(table) = tables.get(place) else { break };
                let above = self.look_into(table)?;
                next = above.max(next);
            }
        }
        Ok(())
    }

    /// Looks up what lies in the range of a table. Where the first key stands that lies behind it.
    fn look_into(&mut self, table: &TableHandle) -> Result<usize> {
        let first = self.wanted.partition_point(|wanted| wanted.key < &table.facts.first_key[..]);
        let above = self.wanted.partition_point(|wanted| wanted.key <= &table.facts.last_key[..]);
        if first >= above {
            return Ok(above);
        }
        let within: Vec<_> =
            self.wanted[first..above].iter().map(|wanted| (wanted.key, wanted.hash)).collect();
        let mut is_decided = vec![false; within.len()];
        let Self { at, now_ms, wanted, f } = self;
        table.table.get_many(&within, Stamp::newest_at(*at), |place, stamp, value| {
            is_decided[place] = true;
            let wanted = &wanted[first + place];
            if table.facts.sequence_of(stamp) >= wanted.deleted {
                decide(f, *now_ms, wanted.place, stamp, value);
            }
        })?;
        let mut place = 0;
        wanted.retain(|_| {
            let is_kept = !(first..above).contains(&place) || !is_decided[place - first];
            place += 1;
            is_kept
        });
        Ok(above - is_decided.iter().filter(|is_decided| **is_decided).count())
    }
}

fn decide(f: &mut impl FnMut(usize, Live), now_ms: u64, place: usize, stamp: Stamp, value: &[u8]) {
    if let Some(live) = live(stamp, value, || now_ms) {
        f(place, live);
    }
}
