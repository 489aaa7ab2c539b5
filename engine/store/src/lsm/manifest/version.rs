//! Which tables hold the store at one moment, and in which order do they count? Level 0: as they were flushed, the newest first, overlapping. Below it each level is
//! sorted, its tables do not overlap, and what it says is older than what the levels above say of the same key.

use super::edit::{Edit, TableFacts};
use crate::lsm::common::Common;
use crate::lsm::iter::LevelTables;
use crate::lsm::range_deletions::{Piece, Ranges};
use crate::lsm::table::{Index, Table};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Levels, the one of flushed tables included.
pub(crate) const LEVELS: usize = 7;

/// Tables that say which key families there are.
const SAMPLED: usize = 1_000;

/// A table that is part of the store: what is known of it, and how it is read.
#[derive(Clone)]
pub(crate) struct TableHandle {
    pub(crate) facts: Arc<TableFacts>,
    pub(crate) table: Arc<Table>,
}

/// The tables of the store at one moment. It never changes: an edit makes another one.
#[derive(Clone, Default)]
pub(crate) struct Version {
    /// Level 0 from the newest to the oldest, the others by key.
    pub(crate) levels: [Vec<TableHandle>; LEVELS],
    /// Ranges that were deleted and in which older versions may be, of each piece the newest deletion.
    pub(crate) ranges: Arc<Ranges>,
    /// What most keys begin with.
    common: Arc<Common>,
    /// Of each table of a sorted level eight bytes of its last key, behind those: a search looks at no table until it has found its own.
    ends: [Vec<u64>; LEVELS],
    /// The same of its first key: a search looks at none that it is not in, unless these are equal.
    begins: [Vec<u64>; LEVELS],
    /// The same last keys for a search among equal ends, of which each key family has many beside others.
    lasts: [Arc<Index>; LEVELS],
    /// Of each table of level 0 the eight bytes of its first and last key.
    ranges0: Vec<(u64, u64)>,
}

impl Version {
    /// After an edit, whose added tables are open: from `open`, which is told their levels.
    pub(crate) fn edited(
        &self,
        edit: &Edit,
        mut open: impl FnMut(usize, &TableFacts) -> crate::error::Result<Arc<Table>>,
    ) -> crate::error::Result<Result<Self, &'static str>> {
        let mut version = self.clone();
        for (level, number) in &edit.removed {
            let Some(tables) = version.levels.get_mut(*level) else {
                return Ok(Err("a level that does not exist"));
            };
            let Some(at) = tables.iter().position(|table| table.facts.number == *number) else {
                return Ok(Err("an edit removes a table that is not there"));
            };
            tables.remove(at);
        }
        for (level, facts) in &edit.added {
            let Some(tables) = version.levels.get_mut(*level) else {
                return Ok(Err("a level that does not exist"));
            };
            tables.push(TableHandle { facts: Arc::new(facts.clone()), table: open(*level, facts)? });
        }
        version.levels[0]
            .sort_by_key(|table| std::cmp::Reverse((table.facts.last_sequence, table.facts.number)));
        for tables in &mut version.levels[1..] {
            tables.sort_by(|one, other| one.facts.first_key.cmp(&other.facts.first_key));
            if tables.windows(2).any(|pair| pair[0].facts.last_key >= pair[1].facts.first_key) {
                return Ok(Err("tables of a level overlap"));
            }
        }
        let removed = edit.removed.iter().map(|(level, _)| *level);
        let changed: BTreeSet<_> = removed.chain(edit.added.iter().map(|(level, _)| *level)).collect();
        // Those of level 0 have no order. When a store is opened, tables come without an edit.
        for level in 1..LEVELS {
            let tables = &version.levels[level];
            if changed.contains(&level) || version.lasts[level].blocks() != tables.len() {
                let lasts = Index::of_keys(tables.iter().map(|table| &table.facts.last_key[..]));
                let Ok(lasts) = lasts else { return Ok(Err("tables of a level overlap")) };
                version.lasts[level] = Arc::new(lasts);
            }
        }
        version.note_ends();
        if let Some(ranges) = &edit.ranges {
            version.ranges = Arc::clone(ranges);
        }
        if !version.ranges.is_empty() {
            let mut ranges = Ranges::clone(&version.ranges);
            ranges.retain(|piece| version.may_have_older(piece));
            version.ranges = Arc::new(ranges);
        }
        Ok(Ok(version))
    }

    /// Bytes of memory that indexes and filters of all tables take.
    pub(crate) fn index_bytes(&self) -> u64 {
        self.tables().map(|(_, table)| table.table.resident_bytes() as u64).sum()
    }

    /// Drops filters of the lowest level until indexes and filters take no more than this. A read of a key
    /// that is there asks that level last, so only reads of absent keys become slower.
    /// Returns the tables that others took the place of.
    pub(crate) fn drop_filters(&mut self, most: u64) -> Vec<Arc<Table>> {
        let (mut bytes, mut replaced) = (self.index_bytes(), Vec::new());
        for handle in &mut self.levels[LEVELS - 1] {
            if bytes <= most {
                break;
            }
            if let Some((table, saved)) = handle.table.without_filter() {
                bytes = bytes.saturating_sub(saved);
                replaced.push(std::mem::replace(&mut handle.table, Arc::new(table)));
            }
        }
        replaced
    }

    /// Reads filters of tables of the lowest level, before readers can find this version, as long as indexes
    /// and filters take no more than this. So there are never more of them in memory.
    pub(crate) fn read_filters(&mut self, most: u64) -> crate::error::Result<()> {
        let mut bytes = self.index_bytes();
        for handle in &mut self.levels[LEVELS - 1] {
            let more = handle.table.unread_filter_bytes();
            if more > 0
                && bytes + more <= most
                && let Some(table) = Arc::get_mut(&mut handle.table)
            {
                table.read_filter()?;
                bytes += more;
            }
        }
        Ok(())
    }

    /// Whether a table may hold a version that the newest deletion of a piece hides.
    fn may_have_older(&self, piece: &Piece) -> bool {
        let may = |table: &TableHandle| table.facts.needs(piece);
        self.levels[0].iter().any(may)
            || self.levels[1..].iter().any(|tables| {
                let first = tables.partition_point(|table| table.facts.last_key[..] < piece.start[..]);
                let within = tables[first..].iter();
                within
                    .take_while(|table| {
                        piece.end.as_ref().is_none_or(|end| table.facts.first_key[..] < end[..])
                    })
                    .any(may)
            })
    }

    /// Whether a deletion of a range is still to be carried out in a table.
    pub(crate) fn is_to_be_cleaned(&self, table: &TableFacts) -> bool {
        table.cleaned < self.ranges.newest() && self.ranges.pieces().any(|piece| table.needs(piece))
    }

    fn note_ends(&mut self) {
        self.common = Arc::new(self.shared_by_most());
        let of = |key: &[u8]| self.common.prefix(key);
        let ranges = self.levels[0].iter();
        self.ranges0 = ranges.map(|table| (of(&table.facts.first_key), of(&table.facts.last_key))).collect();
        for (level, tables) in self.levels.iter().enumerate().skip(1) {
            self.ends[level] = tables.iter().map(|table| of(&table.facts.last_key)).collect();
            self.begins[level] = tables.iter().map(|table| of(&table.facts.first_key)).collect();
        }
    }

    /// The tables that may hold a key by their range, in the order in which they count.
    #[inline]
    pub(crate) fn tables_of<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = &'a TableHandle> {
        let wanted = self.common.prefix(key);
        let flushed = self.levels[0].iter().zip(&self.ranges0);
        let flushed = flushed.filter(move |(table, (first, last))| {
            let is_behind = *first < wanted || *first == wanted && &table.facts.first_key[..] <= key;
            is_behind && (wanted < *last || *last == wanted && key <= &table.facts.last_key[..])
        });
        flushed
            .map(|(table, _)| table)
            .chain((1..LEVELS).filter_map(move |level| self.table_at(level, wanted, key)))
    }

    /// The table of a sorted level that may hold a key.
    #[inline]
    fn table_at(&self, level: usize, wanted: u64, key: &[u8]) -> Option<&TableHandle> {
        let tables = &self.levels[level];
        let mut at = self.ends[level].partition_point(|end| *end < wanted);
        if self.ends[level].get(at) == Some(&wanted) {
            at = self.lasts[level].find(key);
        }
        let begin = *self.begins[level].get(at)?;
        if begin > wanted {
            return None;
        }
        tables.get(at).filter(|table| begin < wanted || &table.facts.first_key[..] <= key)
    }

    /// What most keys begin with.
    pub(crate) fn common(&self) -> &Arc<Common> {
        &self.common
    }

    fn shared_by_most(&self) -> Common {
        let first = self.tables().map(|(_, table)| &table.facts.first_key).min();
        let last = self.tables().map(|(_, table)| &table.facts.last_key).max();
        let (Some(first), Some(last)) = (first, last) else { return Common::default() };
        let step = self.tables().count().div_ceil(SAMPLED);
        let facts = self.tables().step_by(step).map(|(_, table)| &*table.facts);
        let mut between: Vec<_> = facts.flat_map(|facts| [&facts.first_key[..], &facts.last_key]).collect();
        between.sort_unstable();
        Common::of(first, last, &between)
    }

    /// Bytes in a level.
    pub(crate) fn bytes(&self, level: usize) -> u64 {
        self.levels[level].iter().map(|table| table.facts.bytes).sum()
    }

    /// A sorted level as one run.
    pub(crate) fn run(&self, level: usize) -> LevelTables {
        self.levels[level].iter().cloned().collect()
    }

    /// Every table, with its level.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (usize, &TableHandle)> {
        self.levels
            .iter()
            .enumerate()
            .flat_map(|(level, tables)| tables.iter().map(move |table| (level, table)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::compaction::any_table;
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        let family = prop::sample::select(vec!["account:", "account:eu:berlin:", "session:", "a", ""]);
        (family, 0_u16..60).prop_map(|(family, number)| format!("{family}{number:03}").into_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_tables_of_a_key_are_those_whose_range_has_it(
            keys in prop::collection::btree_set(key(), 0..120),
            flushed in prop::collection::vec((key(), key()), 0..6),
            probes in prop::collection::vec(key(), 1..60),
            is_opened in any::<bool>(),
        ) {
            let facts = |number: u64, first: &[u8], last: &[u8]| {
                let (first_key, last_key) = (first.min(last).to_vec(), first.max(last).to_vec());
                TableFacts { number, first_key, last_key, ..TableFacts::default() }
            };
            let keys: Vec<_> = keys.into_iter().collect();
            let sorted = keys.chunks(2).map(|pair| (&pair[0], pair.last().unwrap()));
            let sorted = sorted.enumerate().map(|(at, (first, last))| (1 + at % 2, facts(at as u64, first, last)));
            let flushed = flushed.iter().zip(1_000..).map(|((one, other), at)| (0, facts(at, one, other)));
            let added: Vec<_> = sorted.chain(flushed).collect();
            let (table, mut version) = (any_table(), Version::default());
            let mut edits = vec![Edit { added: added.clone(), ..Edit::default() }];
            if is_opened {
                // As `open` does, then a change of one level.
                for (level, facts) in &added {
                    let handle = TableHandle { facts: Arc::new(facts.clone()), table: Arc::clone(&table) };
                    version.levels[*level].push(handle);
                }
                let removed = added.iter().filter(|(level, facts)| (*level, facts.number) == (1, 2));
                let removed = removed.map(|(level, facts)| (*level, facts.number)).collect();
                edits = vec![Edit::default(), Edit { removed, ..Edit::default() }];
            }
            for edit in edits {
                version = version.edited(&edit, |_, _| Ok(Arc::clone(&table))).unwrap().unwrap();
                for probe in keys.iter().chain(&probes) {
                    let found: Vec<_> = version.tables_of(probe).map(|table| table.facts.number).collect();
                    let all = version.tables().map(|(_, table)| &table.facts);
                    let all = all.filter(|facts| facts.meets(probe, probe));
                    prop_assert_eq!(found, all.map(|facts| facts.number).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn tables_of_many_families_are_told_apart_by_their_ends() {
        let families = ["account:", "invoice:", "orderline:", "product:", "session:"];
        let bounds = families.iter().flat_map(|family| {
            (0..20).map(move |at| [0, 9].map(|end| format!("{family}{:016x}", at * 10 + end).into_bytes()))
        });
        let added = bounds.zip(0..).map(|([first_key, last_key], number)| {
            (1, TableFacts { number, first_key, last_key, ..TableFacts::default() })
        });
        let edit = Edit { added: added.collect(), ..Edit::default() };
        let table = any_table();
        let version = Version::default().edited(&edit, |_, _| Ok(Arc::clone(&table))).unwrap().unwrap();
        let (ends, begins) = (&version.ends[1], &version.begins[1]);
        assert_eq!(ends.len(), 100);
        assert!(ends.is_sorted_by(|one, other| one < other), "{ends:x?}");
        assert!(begins.iter().zip(ends).all(|(begin, end)| begin < end), "{begins:x?} {ends:x?}");
    }
}
