//! In which level does a table belong whose versions are newer than all that are there? In the lowest one that it can sink to: past levels that hold nothing in its range of keys, and not into what
//! a merge is just writing.

use crate::lsm::manifest::{LEVELS, TableFacts, Version};

/// Where a merge writes to while it is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Underway {
    pub(crate) target: usize,
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
}

/// The level of a new table. Of level 0 each table may overlap every other.
pub(crate) fn place(version: &Version, underway: Option<&Underway>, table: &TableFacts) -> usize {
    let is_free = |level: &usize| {
        let is_written =
            underway.is_some_and(|merge| merge.target == *level && table.meets(&merge.first, &merge.last));
        !is_written
            && !version.levels[*level]
                .iter()
                .any(|other| other.facts.meets(&table.first_key, &table.last_key))
    };
    (0..LEVELS).take_while(is_free).last().unwrap_or(0)
}
