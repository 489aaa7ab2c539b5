//! In which steps does everything come to lie in one level? Level by level from the top, each a table after the other in the order of their keys, and at last those tables of the
//! lowest level that hold deletions or values whose time is over.
//!
//! Each step leaves a store that is whole, takes a table and what it overlaps in the next level that holds anything there, and can be the last. A level is passed once, so that the work
//! comes to an end however much is written meanwhile: what arrives behind it waits for the next time. Each level is about a tenth of the next, so all steps together write little
//! more than what there is. A step is done in slices: what they make counts, and what they replace leaves the disk, as soon as one is written.

use super::pick::{Choice, are_apart, target};
use crate::lsm::manifest::{LEVELS, TableFacts, Version};
use crate::lsm::record::Sequence;
use std::ops::Range;

const LOWEST: usize = LEVELS - 1;

/// How far a merge of everything has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sweep {
    level: usize,
    /// Tables that begin up to this key were passed.
    after: Option<Vec<u8>>,
    /// Tables of level 0 with later writes are left.
    until: Sequence,
    now_ms: u64,
}

impl Sweep {
    /// Of all that was written up to a sequence number, without what is over at a time.
    pub(crate) fn new(until: Sequence, now_ms: u64) -> Self {
        Self { level: 0, after: None, until, now_ms }
    }

    /// What is merged next; `None`: all was.
    pub(crate) fn pick(&mut self, version: &Version) -> Option<Choice> {
        if self.level == 0 {
            self.level = 1;
            if let Some(choice) = self.flushed(version) {
                return Some(choice);
            }
        }
        while self.level < LEVELS {
            if let Some(choice) = self.next_of_level(version) {
                return Some(choice);
            }
            self.level += 1;
            self.after = None;
        }
        None
    }

    /// What was flushed before the sweep began: of tables that overlap the older ones, without a gap.
    fn flushed(&self, version: &Version) -> Option<Choice> {
        let tables = version.levels[0].iter().map(|table| &*table.facts);
        let upper: Vec<_> = tables.filter(|table| table.last_sequence <= self.until).collect();
        let first = upper.iter().map(|table| &table.first_key).min()?;
        let last = upper.iter().map(|table| &table.last_key).max()?;
        let (target, lower) = target(version, 0, LOWEST, first, last);
        let is_apart = are_apart(upper.iter().copied());
        let upper = upper.iter().map(|table| table.number).collect();
        Some(Choice { level: 0, upper, target, lower, is_apart })
    }

    fn next_of_level(&mut self, version: &Version) -> Option<Choice> {
        let is_lowest = self.level == LOWEST;
        let tables = version.levels[self.level].iter().map(|table| &*table.facts);
        let mut ahead =
            tables.filter(|table| self.after.as_ref().is_none_or(|after| table.first_key > *after));
        let table = ahead
            .find(|table| !is_lowest || table.has_garbage(self.now_ms) || version.is_to_be_cleaned(table))?;
        self.after = Some(table.last_key.clone());
        let (target, lower) = if is_lowest {
            (LOWEST, Vec::new())
        } else {
            target(version, self.level, LOWEST, &table.first_key, &table.last_key)
        };
        Some(Choice { level: self.level, upper: vec![table.number], target, lower, is_apart: true })
    }
}

/// A part of a merge by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The lower tables that it replaces, by place.
    pub(crate) lower: Range<usize>,
    /// How long its tables are to be.
    pub(crate) table_bytes: u64,
}

/// Cuts a merge between its lower tables, into slices of about so many tables. Each ends where its last lower
/// table ends, and the last one takes the rest; the tables of a slice are made equally long, so that no splinters
/// are left at its end.
pub(crate) fn slices(upper_bytes: u64, lower: &[&TableFacts], table_bytes: u64, tables: u64) -> Vec<Slice> {
    let lower_bytes: u64 = lower.iter().map(|table| table.bytes).sum();
    let with_share = |bytes: u64| {
        bytes + (u128::from(upper_bytes) * u128::from(bytes) / u128::from(lower_bytes.max(1))) as u64
    };
    let mut parts: Vec<(Range<usize>, u64)> = Vec::new();
    for (place, table) in lower.iter().enumerate() {
        match parts.last_mut() {
            // The last table is complete at three quarters: one of the level and its share of the upper ones make it.
            Some((part, bytes)) if with_share(*bytes) < (tables - 1) * table_bytes + table_bytes / 4 * 3 => {
                part.end = place + 1;
                *bytes += table.bytes;
            }
            _ => parts.push((place..place + 1, table.bytes)),
        }
    }
    if parts.is_empty() {
        return vec![Slice { lower: 0..0, table_bytes }];
    }
    let slice = |(lower, bytes): (Range<usize>, u64)| {
        let expected = with_share(bytes);
        let tables = ((expected + table_bytes / 2) / table_bytes.max(1)).max(1);
        // An eighth more: what is expected is a guess.
        Slice { lower, table_bytes: (expected / tables + expected / tables / 8).max(table_bytes) }
    };
    parts.into_iter().map(slice).collect()
}
