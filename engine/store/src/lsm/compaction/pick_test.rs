//! Does `pick` leave each level as small as it may be, in few steps, and never let a table pass another one that overlaps it?

use super::pick::{Targets, allowed, overlapping, pick, tidy_base};
use crate::lsm::manifest::{LEVELS, TableFacts, TableHandle, Version};
use crate::lsm::record::{Kind, Record, Stamp};
use crate::lsm::table::{Compression, Shape, Table, TableBuilder};
use crate::lsm::vfs::{SimDisk, Vfs};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

const TARGETS: Targets = Targets { level0_tables: 4, base_bytes: 100, multiplier: 10 };

/// Some table: what is in it makes no difference here.
pub(crate) fn any_table() -> Arc<Table> {
    let disk = SimDisk::new();
    disk.make_dir(Path::new("/d"));
    let shape =
        Shape { block_bytes: 100, compression: Compression::None, filter_bits_per_key: 0, piece_bytes: 100 };
    let mut builder = TableBuilder::new(disk.create(Path::new("/d/1")).unwrap(), 1, shape);
    builder.add(&Record { key: b"k", stamp: Stamp::new(1, Kind::Set), value: b"v" }).unwrap();
    builder.finish().unwrap();
    Arc::new(Table::open(&vfs(&disk), Path::new("/d/1"), 1, None).unwrap())
}

fn facts(number: u64, first: u32, last: u32, bytes: u64) -> TableFacts {
    let key = |number: u32| number.to_be_bytes().to_vec();
    TableFacts {
        number,
        bytes,
        versions: 1,
        last_sequence: number,
        first_key: key(first),
        last_key: key(last),
        ..TableFacts::default()
    }
}

struct Store {
    version: Version,
    table: Arc<Table>,
    next: u64,
    merged_bytes: u64,
}

impl Store {
    fn new() -> Self {
        Self { version: Version::default(), table: any_table(), next: 1, merged_bytes: 0 }
    }

    fn put(&mut self, level: usize, first: u32, last: u32, bytes: u64) {
        let facts = Arc::new(facts(self.next, first, last, bytes));
        self.next += 1;
        let tables = &mut self.version.levels[level];
        tables.push(TableHandle { facts, table: Arc::clone(&self.table) });
        if level > 0 {
            tables.sort_by(|one, other| one.facts.first_key.cmp(&other.facts.first_key));
            assert!(tables.windows(2).all(|pair| pair[0].facts.last_key < pair[1].facts.first_key));
        }
    }

    fn take(&mut self, level: usize, numbers: &[u64]) -> Vec<Arc<TableFacts>> {
        let (taken, kept): (Vec<_>, Vec<_>) =
            self.version.levels[level].drain(..).partition(|table| numbers.contains(&table.facts.number));
        self.version.levels[level] = kept;
        assert_eq!(taken.len(), numbers.len());
        taken.into_iter().map(|table| table.facts).collect()
    }

    /// Does what `pick` says, as a merge would: the same bytes in the same range, in tables of fifty.
    fn settle(&mut self) -> usize {
        for step in 0..10_000 {
            let Some(choice) = pick(&self.version, &TARGETS) else { return step };
            assert!(choice.target > choice.level && !choice.upper.is_empty(), "{choice:?}");
            let range = |table: &TableFacts| {
                let number = |key: &[u8]| u32::from_be_bytes(key.try_into().unwrap());
                (number(&table.first_key), number(&table.last_key))
            };
            let hull = |tables: &[Arc<TableFacts>]| {
                let first = tables.iter().map(|table| range(table).0).min().unwrap();
                (first, tables.iter().map(|table| range(table).1).max().unwrap())
            };
            let mut tables = self.take(choice.level, &choice.upper);
            let (first, last) = hull(&tables);
            for level in choice.level + 1..choice.target {
                let passed = self.version.levels[level].iter().map(|table| range(&table.facts));
                assert!({ passed }.all(|(from, to)| to < first || last < from), "{choice:?} passes a table");
            }
            tables.extend(self.take(choice.target, &choice.lower));
            let (first, last) = hull(&tables);
            let bytes: u64 = tables.iter().map(|table| table.bytes).sum();
            if choice.is_move() {
                for table in &tables {
                    let (first, last) = range(table);
                    self.put(choice.target, first, last, table.bytes);
                }
                continue;
            }
            self.merged_bytes += bytes;
            let pieces = bytes.div_ceil(50).clamp(1, u64::from(last - first) / 2 + 1) as u32;
            let width = (last - first) / pieces;
            for piece in 0..pieces {
                let from = first + piece * width;
                let to = if piece + 1 == pieces { last } else { from + width - 1 };
                self.put(choice.target, from, to.max(from), bytes / u64::from(pieces));
            }
        }
        panic!("it goes on for ever");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn it_comes_to_rest_with_every_level_in_bounds(
        flushes in prop::collection::vec((0_u32..1_000_000, 1_u32..1_000_000, 10_u64..100), 1..80),
    ) {
        let mut store = Store::new();
        for (first, width, bytes) in flushes {
            store.put(0, first, first + width, bytes);
            store.settle();
            let (allowed, _) = allowed(&store.version, &TARGETS);
            prop_assert!(store.version.levels[0].len() < TARGETS.level0_tables);
            for (level, allowed) in allowed.iter().enumerate().skip(1) {
                prop_assert!(store.version.bytes(level) <= *allowed, "level {}", level);
            }
        }
    }
}

proptest! {
    /// A store that has shrunk, or was ingested into, holds something in levels that it would not begin to use.
    #[test]
    fn no_table_passes_another_whatever_the_levels_hold(
        tables in prop::collection::vec((0_usize..LEVELS, 0_u32..1_000, 1_u32..100, 10_u64..200), 1..60),
    ) {
        let mut store = Store::new();
        for (level, first, width, bytes) in tables {
            let facts = facts(0, first, first + width, bytes);
            let is_met = overlapping(&store.version, level, &facts.first_key, &facts.last_key);
            if level == 0 || is_met.is_empty() {
                store.put(level, first, first + width, bytes);
            }
        }
        store.settle();
    }
}

#[test]
fn a_load_in_order_is_handed_down_without_being_written_again() {
    let mut store = Store::new();
    for number in 0..400 {
        store.put(0, number * 100, number * 100 + 99, 50);
        store.settle();
    }
    let bytes: u64 = (0..LEVELS).map(|level| store.version.bytes(level)).sum();
    assert_eq!(bytes, 400 * 50);
    assert_eq!(store.merged_bytes, 0);
}

#[test]
fn nothing_is_picked_of_nothing() {
    assert_eq!(pick(&Version::default(), &TARGETS), None);
    assert_eq!(tidy_base(&Version::default(), &TARGETS), None);
}

#[test]
fn the_base_is_handed_down_as_a_whole_where_that_takes_little_and_never_into_the_last_level() {
    let last = LEVELS - 1;
    let store = |base: u64, below: u64| {
        let mut store = Store::new();
        (0..4).for_each(|part| store.put(last - 2, part * 100, part * 100 + 99, base / 4));
        (0..8).for_each(|part| store.put(last - 1, part * 50, part * 50 + 49, below / 8));
        store.put(last, 0, 1_000, 10_000);
        store
    };
    let tidied = |store: &Store| tidy_base(&store.version, &TARGETS);
    let choice = tidied(&store(64, 1_024)).unwrap();
    assert_eq!((choice.level, choice.target), (last - 2, last - 1));
    assert_eq!((choice.upper.len(), choice.lower.len()), (4, 8));
    assert_eq!(tidied(&store(60, 1_024)), None, "more than sixteen bytes for each");
    let mut two_levels = store(64, 1_024);
    two_levels.version.levels[last].clear();
    assert_eq!(tidied(&two_levels), None, "the last level is most of the store");
}

fn vfs(disk: &SimDisk) -> Arc<dyn Vfs> {
    Arc::new(disk.clone())
}
