//! Which tables are merged because of what was deleted? At once those of which a deleted range hides everything: they go without being read. When there is nothing else to do, those that hold more deletions
//! than half of their versions, from level to level down to the lowest, where a deletion ends, and those in which a deletion of a range is still to be carried out.

use super::pick::{Choice, Targets, allowed, level0_choice, target};
use crate::lsm::manifest::{LEVELS, TableFacts, Version};

const LOWEST: usize = LEVELS - 1;

/// Tables of a level that hold nothing but what a deleted range hides. They are merged with nothing, into nothing.
pub(crate) fn hidden(version: &Version) -> Option<Choice> {
    if version.ranges.is_empty() {
        return None;
    }
    let is_hidden =
        |table: &TableFacts| version.ranges.hide_all(&table.first_key, &table.last_key, table.last_sequence);
    (0..LEVELS).find_map(|level| {
        let tables = version.levels[level].iter().map(|table| &*table.facts);
        let upper: Vec<_> = tables.filter(|table| is_hidden(table)).map(|table| table.number).collect();
        let choice = Choice { level, upper, target: level, lower: Vec::new(), is_apart: true };
        (!choice.upper.is_empty()).then_some(choice)
    })
}

/// What may be merged when nothing has to be: the uppermost table that is mostly deletions, or in which a deletion of a range is left. `None`, when no deletion is worth it.
pub(crate) fn mostly_deleted(version: &Version, targets: &Targets) -> Option<Choice> {
    let is_mostly = |table: &TableFacts| table.deletions > table.versions / 2;
    let is_wanted = |table: &TableFacts| is_mostly(table) || version.is_to_be_cleaned(table);
    if version.levels[0].iter().any(|table| is_wanted(&table.facts)) {
        return Some(level0_choice(version, allowed(version, targets).1));
    }
    (1..LEVELS).find_map(|level| {
        let mut tables = version.levels[level].iter().map(|table| &*table.facts);
        let table = tables.find(|table| is_wanted(table))?;
        let (target, lower) = if level < LOWEST && is_mostly(table) {
            target(version, level, LOWEST, &table.first_key, &table.last_key)
        } else {
            (level, Vec::new())
        };
        Some(Choice { level, upper: vec![table.number], target, lower, is_apart: true })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::range_deletions::Ranges;
    use std::sync::Arc;

    const TARGETS: Targets = Targets { level0_tables: 4, base_bytes: 1_000, multiplier: 10 };

    fn version(tables: &[(usize, u64, u8, u8, u64)], ranges: Ranges) -> Version {
        use crate::lsm::compaction::any_table;
        use crate::lsm::manifest::Edit;
        let added = tables.iter().map(|&(level, number, first, last, deletions)| {
            let facts = TableFacts {
                number,
                bytes: 100,
                versions: 10,
                last_sequence: number,
                first_key: vec![first],
                last_key: vec![last],
                deletions,
                ..TableFacts::default()
            };
            (level, facts)
        });
        let edit = Edit { added: added.collect(), ranges: Some(Arc::new(ranges)), ..Edit::default() };
        Version::default().edited(&edit, |_, _| Ok(any_table())).unwrap().unwrap()
    }

    #[test]
    fn hidden_tables_go_at_once_and_those_that_hold_a_key_more_do_not() {
        let range = Ranges::one(b"b", Some(b"d"), 9);
        let tables =
            [(0, 1, b'b', b'c', 0), (0, 2, b'b', b'd', 0), (3, 3, b'a', b'a', 0), (3, 4, b'b', b'b', 0)];
        let chosen = hidden(&version(&tables, range.clone())).unwrap();
        assert_eq!((chosen.level, chosen.upper, chosen.target), (0, vec![1], 0));
        let chosen = hidden(&version(&tables[1..], range.clone())).unwrap();
        assert_eq!((chosen.level, chosen.upper, chosen.target), (3, vec![4], 3));
        assert_eq!(hidden(&version(&tables[1..3], range.clone())), None);
        // What was written behind the deletion stays.
        assert_eq!(hidden(&version(&[(0, 10, b'b', b'c', 0)], range)), None);
    }

    #[test]
    fn deletions_go_down_to_the_lowest_level_and_are_over_there() {
        let none = Ranges::default();
        let chosen = |tables: &[_]| mostly_deleted(&version(tables, none.clone()), &TARGETS);
        assert_eq!(chosen(&[(0, 1, b'a', b'c', 5), (6, 2, b'b', b'd', 5)]), None);
        let choice = chosen(&[(0, 1, b'a', b'c', 6), (6, 2, b'b', b'd', 0)]).unwrap();
        assert_eq!((choice.level, choice.upper, choice.lower), (0, vec![1], vec![2]));
        let choice = chosen(&[(4, 1, b'a', b'c', 6), (6, 2, b'b', b'd', 0)]).unwrap();
        assert_eq!((choice.level, choice.target, choice.upper, choice.lower), (4, 6, vec![1], vec![2]));
        let choice = chosen(&[(6, 1, b'a', b'c', 6)]).unwrap();
        assert_eq!((choice.level, choice.target, choice.upper), (6, 6, vec![1]));
        let range = Ranges::one(b"b", Some(b"d"), 9);
        let choice = mostly_deleted(&version(&[(4, 1, b'a', b'b', 0)], range), &TARGETS).unwrap();
        assert_eq!((choice.level, choice.target, choice.upper), (4, 4, vec![1]));
    }
}
