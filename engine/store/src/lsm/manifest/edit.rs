//! What is an edit of the manifest? Fields with tags, in any order; all of them hold or none.
//!
//! ```text
//! 1  level, number, bytes, versions, largest sequence number, first key, last key    a table is there
//! 2  level, number                                                                   a table is gone
//! 3  number                                                                          logs below it are in tables
//! 4  number                                                                          the next file has this number, or a higher one
//! 5  sequence number                                                                 that of the newest write that is in a table
//! 6  sequence number                                                                 that of the newest write when the store was closed
//! 7  deletions, first end, ingested                                                  what the table that was named last holds, where one of them is not 0
//! 8  count, then each: start, 0 or 1, the end where it is 1, sequence number              these ranges are deleted, and no others
//! 9  sequence number                                                                 up to it deletions of ranges were carried out in the table that was named last, where it is not 0
//! 10 salt                                                                            the tags of the logs, and of the later edits of this manifest, are made of it
//! 11 time                                                                            expired values may have been left out up to it, in milliseconds since the Unix epoch, where values of the store expire
//! ```
//!
//! Numbers are varints, keys have their length before them.

use crate::lsm::coding::{put_varint, take, take_varint};
use crate::lsm::range_deletions::{Piece, Ranges};
use crate::lsm::record::{Sequence, Stamp};
use std::sync::Arc;

/// What the manifest says of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TableFacts {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    pub(crate) versions: u64,
    pub(crate) last_sequence: Sequence,
    pub(crate) first_key: Vec<u8>,
    pub(crate) last_key: Vec<u8>,
    /// Versions that say that a key is gone.
    pub(crate) deletions: u64,
    /// When the first of its values is over, in milliseconds since the Unix epoch, from 1 on; `None` where all of them stay.
    pub(crate) first_end_ms: Option<u64>,
    /// Its versions count as written at `last_sequence`, whatever number they have in the file: when that was written, nobody knew which it would be.
    pub(crate) is_ingested: bool,
    /// No version in it is hidden by a deletion of a range up to this one.
    pub(crate) cleaned: Sequence,
}

impl TableFacts {
    /// Whether it overlaps a range of keys, both ends of which are part of it.
    pub(crate) fn meets(&self, first: &[u8], last: &[u8]) -> bool {
        &self.first_key[..] <= last && first <= &self.last_key[..]
    }

    /// Whether a deletion of a range is still to be carried out in it.
    pub(crate) fn needs(&self, piece: &Piece) -> bool {
        self.cleaned < piece.newest() && piece.meets(&self.first_key, &self.last_key)
    }

    /// The number by which a version in it counts.
    #[inline]
    pub(crate) fn sequence_of(&self, stamp: Stamp) -> Sequence {
        if self.is_ingested { self.last_sequence } else { stamp.sequence() }
    }

    /// Whether a merge with nothing below would leave anything out.
    pub(crate) fn has_garbage(&self, now_ms: u64) -> bool {
        self.deletions > 0 || self.first_end_ms.is_some_and(|end| end <= now_ms)
    }

    /// Deletions, first end, ingested: as they are written.
    fn contents(&self) -> [u64; 3] {
        [self.deletions, self.first_end_ms.unwrap_or(0), u64::from(self.is_ingested)]
    }
}

/// A change of what the store consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) added: Vec<(usize, TableFacts)>,
    pub(crate) removed: Vec<(usize, u64)>,
    pub(crate) first_log: Option<u64>,
    pub(crate) next_file: Option<u64>,
    pub(crate) last_sequence: Option<Sequence>,
    /// The store was closed when this was its newest write.
    pub(crate) closed: Option<Sequence>,
    /// The ranges that are deleted from then on, where they are others than before.
    pub(crate) ranges: Option<Arc<Ranges>>,
    /// What the tags of the logs and of the later edits of this manifest are made of.
    pub(crate) salt: Option<u64>,
    /// The store's time, where values of it expire: what had expired by then may have been left out.
    pub(crate) time_ms: Option<u64>,
}

const ADDED: u64 = 1;
const REMOVED: u64 = 2;
const FIRST_LOG: u64 = 3;
const NEXT_FILE: u64 = 4;
const LAST_SEQUENCE: u64 = 5;
const CLOSED: u64 = 6;
const CONTENTS: u64 = 7;
const RANGES: u64 = 8;
const CLEANED: u64 = 9;
const SALT: u64 = 10;
const TIME: u64 = 11;

impl Edit {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        for (level, table) in &self.added {
            let numbers =
                [ADDED, *level as u64, table.number, table.bytes, table.versions, table.last_sequence];
            numbers.iter().for_each(|number| put_varint(out, *number));
            for key in [&table.first_key, &table.last_key] {
                put_varint(out, key.len() as u64);
                out.extend_from_slice(key);
            }
            if table.contents() != [0; 3] {
                put_varint(out, CONTENTS);
                table.contents().iter().for_each(|number| put_varint(out, *number));
            }
            if table.cleaned > 0 {
                put_varint(out, CLEANED);
                put_varint(out, table.cleaned);
            }
        }
        for (level, number) in &self.removed {
            [REMOVED, *level as u64, *number].iter().for_each(|number| put_varint(out, *number));
        }
        if let Some(ranges) = &self.ranges {
            put_ranges(ranges, out);
        }
        let numbers = [
            (FIRST_LOG, self.first_log),
            (NEXT_FILE, self.next_file),
            (LAST_SEQUENCE, self.last_sequence),
            (CLOSED, self.closed),
            (SALT, self.salt),
            (TIME, self.time_ms),
        ];
        for (tag, number) in numbers {
            if let Some(number) = number {
                put_varint(out, tag);
                put_varint(out, number);
            }
        }
    }

    pub(crate) fn parse(mut bytes: &[u8]) -> Result<Self, &'static str> {
        let mut edit = Self::default();
        let rest = &mut bytes;
        while !rest.is_empty() {
            edit.take_field(rest)?;
        }
        Ok(edit)
    }

    fn take_field(&mut self, rest: &mut &[u8]) -> Result<(), &'static str> {
        const CUT: &str = "an edit of the manifest ends within a field";
        let mut number = || take_varint(rest).ok_or(CUT);
        match number()? {
            ADDED => {
                let level = number()? as usize;
                let (file, bytes, versions, last_sequence) = (number()?, number()?, number()?, number()?);
                let mut key = || {
                    let len = take_varint(rest).ok_or(CUT)?;
                    take(rest, len).map(<[u8]>::to_vec).ok_or(CUT)
                };
                let (first_key, last_key) = (key()?, key()?);
                let facts = TableFacts {
                    number: file,
                    bytes,
                    versions,
                    last_sequence,
                    first_key,
                    last_key,
                    ..TableFacts::default()
                };
                self.added.push((level, facts));
            }
            CONTENTS => {
                let (deletions, first_end_ms, ingested) = (number()?, number()?, number()?);
                let (_, table) = self
                    .added
                    .last_mut()
                    .ok_or("an edit of the manifest speaks of a table before naming it")?;
                table.deletions = deletions;
                table.first_end_ms = (first_end_ms > 0).then_some(first_end_ms);
                table.is_ingested = match ingested {
                    0 | 1 => ingested == 1,
                    _ => return Err("an edit of the manifest has a yes or no that is neither"),
                };
            }
            REMOVED => {
                let level = number()? as usize;
                self.removed.push((level, number()?));
            }
            RANGES => self.ranges = Some(Arc::new(take_ranges(rest)?)),
            CLEANED => {
                let cleaned = number()?;
                let (_, table) = self
                    .added
                    .last_mut()
                    .ok_or("an edit of the manifest speaks of a table before naming it")?;
                table.cleaned = cleaned;
            }
            FIRST_LOG => self.first_log = Some(number()?),
            NEXT_FILE => self.next_file = Some(number()?),
            CLOSED => self.closed = Some(number()?),
            SALT => self.salt = Some(number()?),
            TIME => self.time_ms = Some(number()?),
            LAST_SEQUENCE => self.last_sequence = Some(number()?),
            _ => return Err("an edit of the manifest has an unknown field: a later version wrote it"),
        }
        Ok(())
    }
}

fn put_ranges(ranges: &Ranges, out: &mut Vec<u8>) {
    put_varint(out, RANGES);
    put_varint(out, ranges.len() as u64);
    let key = |out: &mut Vec<u8>, key: &[u8]| {
        put_varint(out, key.len() as u64);
        out.extend_from_slice(key);
    };
    for piece in ranges.pieces() {
        key(out, &piece.start);
        put_varint(out, u64::from(piece.end.is_some()));
        piece.end.iter().for_each(|end| key(out, end));
        put_varint(out, piece.newest());
    }
}

fn take_ranges(rest: &mut &[u8]) -> Result<Ranges, &'static str> {
    const CUT: &str = "an edit of the manifest ends within a range";
    let mut ranges = Ranges::default();
    let mut last: Option<Arc<[u8]>> = Some(Arc::from(&[][..]));
    let key = |rest: &mut &[u8]| {
        let len = take_varint(rest).ok_or(CUT)?;
        take(rest, len).map(Arc::<[u8]>::from).ok_or(CUT)
    };
    for _ in 0..take_varint(rest).ok_or(CUT)? {
        let start = key(rest)?;
        let end = match take_varint(rest).ok_or(CUT)? {
            0 => None,
            1 => Some(key(rest)?),
            _ => return Err("an edit of the manifest has a yes or no that is neither"),
        };
        if last.as_ref().is_none_or(|last| start < *last) || end.as_ref().is_some_and(|end| *end <= start) {
            return Err("an edit of the manifest has ranges out of order");
        }
        last.clone_from(&end);
        ranges.push(start, end, vec![take_varint(rest).ok_or(CUT)?]);
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn facts() -> impl Strategy<Value = TableFacts> {
        let key = || prop::collection::vec(any::<u8>(), 0..200);
        let contents = (prop_oneof![Just(0), any::<u64>()], prop::option::of(1_u64..), any::<bool>());
        (any::<[u64; 4]>(), key(), key(), contents).prop_map(
            |([number, bytes, versions, last_sequence], first_key, last_key, contents)| TableFacts {
                number,
                bytes,
                versions,
                last_sequence,
                first_key,
                last_key,
                deletions: contents.0,
                first_end_ms: contents.1,
                is_ingested: contents.2,
                cleaned: contents.0 / 2,
            },
        )
    }

    proptest! {
        #[test]
        fn edits_come_back_and_no_bytes_are_a_panic(
            added in prop::collection::vec((0_usize..7, facts()), 0..4),
            removed in prop::collection::vec((0_usize..7, any::<u64>()), 0..4),
            numbers in any::<[Option<u64>; 6]>(),
            ranges in prop::option::of(prop::collection::vec((prop::collection::vec(0_u8..3, 0..3), prop::option::of(prop::collection::vec(0_u8..3, 0..3))), 0..5)),
            noise in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let ranges = ranges.map(|ranges| {
                let all = (1..).zip(&ranges).fold(Ranges::default(), |all, (sequence, (start, end))| {
                    all.with(&Ranges::one(start, end.as_deref(), sequence))
                });
                Arc::new(all.seen_at(u64::MAX))
            });
            let [first_log, next_file, last_sequence, closed, salt, time_ms] = numbers;
            let edit = Edit { added, removed, first_log, next_file, last_sequence, closed, ranges, salt, time_ms };
            let mut bytes = Vec::new();
            edit.put(&mut bytes);
            prop_assert_eq!(Edit::parse(&bytes), Ok(edit));
            let _ = Edit::parse(&noise);
            if !bytes.is_empty() {
                let _ = Edit::parse(&bytes[..bytes.len() - 1]);
            }
        }
    }
}
