//! Does a sweep pass no table that overlaps what it moves, come to an end, and are slices about a table long?

use super::full::{Slice, Sweep, slices};
use super::pick_test::any_table;
use crate::lsm::manifest::{LEVELS, TableFacts, TableHandle, Version};
use proptest::prelude::*;
use std::sync::Arc;

fn facts(number: u64, first: u8, last: u8, deletions: u64) -> TableFacts {
    let (first_key, last_key) = (vec![first], vec![last]);
    TableFacts {
        number,
        bytes: 100,
        versions: 1,
        last_sequence: number,
        first_key,
        last_key,
        deletions,
        ..TableFacts::default()
    }
}

fn version(levels: &[Vec<TableFacts>]) -> Version {
    let mut version = Version::default();
    let table = any_table();
    for (level, tables) in levels.iter().enumerate() {
        let handles = tables
            .iter()
            .map(|facts| TableHandle { facts: Arc::new(facts.clone()), table: Arc::clone(&table) });
        version.levels[level].extend(handles);
    }
    version
}

/// Steps as level, first keys of the upper tables, target, first keys of the lower ones; each is carried out as if it left what it took, in the target.
fn steps(mut levels: Vec<Vec<TableFacts>>, until: u64) -> Vec<String> {
    levels.resize(LEVELS, Vec::new());
    let (mut sweep, mut steps, mut next) = (Sweep::new(until, 0), Vec::new(), 1_000);
    while let Some(choice) = sweep.pick(&version(&levels)) {
        let mut take = |level: usize, numbers: &[u64]| -> Vec<TableFacts> {
            let (taken, kept) =
                levels[level].drain(..).partition(|table: &TableFacts| numbers.contains(&table.number));
            levels[level] = kept;
            taken
        };
        let (upper, lower) = (take(choice.level, &choice.upper), take(choice.target, &choice.lower));
        let keys = |tables: &[TableFacts]| tables.iter().map(|table| table.first_key[0]).collect::<Vec<_>>();
        steps.push(format!("{} {:?} -> {} {:?}", choice.level, keys(&upper), choice.target, keys(&lower)));
        let all: Vec<_> = upper.iter().chain(&lower).collect();
        let first = all.iter().map(|table| table.first_key[0]).min().unwrap();
        let last = all.iter().map(|table| table.last_key[0]).max().unwrap();
        let mut between = levels.iter().take(choice.target).skip(choice.level + 1).flatten();
        let is_passed =
            between.any(|other| upper.iter().any(|table| other.meets(&table.first_key, &table.last_key)));
        assert!(!is_passed, "{steps:?}");
        next += 1;
        let target = &mut levels[choice.target];
        target.push(facts(next, first, last, 0));
        target.sort_by(|one, other| one.first_key.cmp(&other.first_key));
        assert!(target.windows(2).all(|pair| pair[0].last_key < pair[1].first_key), "{steps:?}");
        assert!(steps.len() < 10_000, "it goes on for ever");
    }
    let left: usize = levels[1..LEVELS - 1].iter().map(Vec::len).sum();
    assert_eq!(left, 0, "{steps:?}");
    assert!(levels[0].iter().all(|table| table.last_sequence > until), "{steps:?}");
    assert!(levels[LEVELS - 1].iter().all(|table| table.deletions == 0), "{steps:?}");
    steps
}

#[test]
fn each_level_is_swept_from_the_first_key_to_the_last() {
    let lowest = || vec![facts(1, 0, 9, 0), facts(2, 20, 29, 0), facts(3, 40, 49, 3)];
    let with = |level0: Vec<TableFacts>, level4: Vec<TableFacts>| {
        vec![level0, vec![], vec![], vec![], level4, vec![], lowest()]
    };
    let cases: [(Vec<Vec<TableFacts>>, &[&str]); 4] = [
        (vec![], &[]),
        (with(vec![], vec![]), &["6 [40] -> 6 []"]),
        (
            with(vec![], vec![facts(10, 5, 25, 0), facts(11, 30, 35, 0), facts(12, 45, 60, 0)]),
            &["4 [5] -> 6 [0, 20]", "4 [30] -> 6 []", "4 [45] -> 6 [40]"],
        ),
        // What was flushed after the sweep began stays, and the rest meets the fourth level before the lowest.
        (
            with(vec![facts(30, 0, 99, 0), facts(20, 26, 41, 0)], vec![facts(10, 30, 35, 0)]),
            &["0 [26] -> 4 [30]", "4 [26] -> 6 [20, 40]"],
        ),
    ];
    for (levels, expected) in cases {
        assert_eq!(steps(levels, 25), expected);
    }
}

proptest! {
    #[test]
    fn it_ends_with_one_level(widths in prop::collection::vec(prop::collection::vec((0_u8..40, 0_u8..40, 0_u64..2), 0..6), LEVELS)) {
        let mut number = 0;
        let levels = widths.into_iter().enumerate().map(|(level, widths)| {
            let mut begin = 0_u8;
            widths.into_iter().filter_map(|(gap, width, deletions)| {
                number += 1;
                let first = if level == 0 { gap } else { begin.checked_add(gap)? };
                let last = first.checked_add(width)?;
                begin = last.saturating_add(1);
                (level == 0 || last < u8::MAX).then(|| facts(number, first, last, deletions))
            }).collect()
        });
        steps(levels.collect(), u64::MAX);
    }
}

#[test]
fn slices_are_about_as_long_as_asked_for() {
    let tables = |bytes: &[u64]| -> Vec<TableFacts> {
        bytes.iter().map(|bytes| TableFacts { bytes: *bytes, ..TableFacts::default() }).collect()
    };
    let slice = |lower, table_bytes| Slice { lower, table_bytes };
    // Upper bytes, bytes of the lower tables, tables of a slice, and what comes of them where a table has 100.
    let cases: [(u64, &[u64], u64, Vec<Slice>); 11] = [
        (500, &[], 1, vec![slice(0..0, 100)]),
        (10, &[100], 1, vec![slice(0..1, 123)]),
        (20, &[100, 100], 1, vec![slice(0..1, 123), slice(1..2, 123)]),
        // Small ones go together, and many small ones make no long slice.
        (0, &[10; 16], 1, vec![slice(0..8, 100), slice(8..16, 100)]),
        // The upper tables are far more than the lower one: it is the longest that they let it be.
        (900, &[100], 1, vec![slice(0..1, 112)]),
        (100, &[100, 300], 1, vec![slice(0..1, 140), slice(1..2, 104)]),
        (0, &[100; 5], 2, vec![slice(0..2, 112), slice(2..4, 112), slice(4..5, 112)]),
        (0, &[100; 5], 9, vec![slice(0..5, 112)]),
        // The upper tables count, so that two of the level and their share of them make three.
        (200, &[100; 4], 2, vec![slice(0..2, 112), slice(2..4, 112)]),
        (100, &[90; 3], 2, vec![slice(0..2, 138), slice(2..3, 138)]),
        (0, &[900, 10, 10, 80], 2, vec![slice(0..1, 112), slice(1..4, 112)]),
    ];
    for (upper, lower, each, expected) in cases {
        let lower = tables(lower);
        let found = slices(upper, &lower.iter().collect::<Vec<_>>(), 100, each);
        assert_eq!(found, expected, "{upper} over {}, {each} each", lower.len());
    }
}
