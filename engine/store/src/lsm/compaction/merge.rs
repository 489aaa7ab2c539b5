//! How are tables made of runs? In one walk over all of them, or over a part of their keys: a table after the other, each about as long as asked for.

use super::output::{Open, Output};
use super::retain::{Fate, fate};
use crate::error::{Error, Result};
use crate::lsm::iter::{Merge, Run};
use crate::lsm::manifest::{LEVELS, TableFacts, Version};
use crate::lsm::record::{Kind, MAX_SEQUENCE, Record, Stamp};
use std::sync::Arc;

/// Bytes of keys and values from one question whether to go on to the next.
const STEP: usize = 256 << 10;

/// Writes what lives on of the runs. Each new file gets the number that `number` gives; `go_on` hears now and then how many bytes of keys and values were read since, and may stop
/// the work with an error. The names last when this returns; after an error none of the files is left, unless the system does not even remove them.
pub(crate) fn write_tables(
    output: &Output,
    runs: Vec<Run>,
    number: impl FnMut() -> u64,
    go_on: impl FnMut(u64) -> Result<()>,
) -> Result<Vec<TableFacts>> {
    let mut tables = Tables { output, number, done: Vec::new(), current: None };
    let done = walk(output, runs, &mut tables, go_on).and_then(|()| tables.end());
    match done {
        Ok(()) => Ok(tables.done),
        Err(error) => {
            tables.remove();
            Err(error)
        }
    }
}

fn walk(
    output: &Output,
    runs: Vec<Run>,
    tables: &mut Tables<impl FnMut() -> u64>,
    mut go_on: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let mut merge = Merge::new(runs, Arc::clone(output.common));
    let mut below = Below { version: output.version, places: [0; LEVELS] };
    let mut key: Option<Vec<u8>> = None;
    let mut read = 0;
    match output.after {
        None => merge.first()?,
        // Of all keys that are larger this one with a zero behind it comes first.
        Some(after) => merge.seek(&[after, &[0]].concat(), Stamp::newest_at(MAX_SEQUENCE))?,
    }
    while let Some(Record { key: found, stamp, value }) = merge.record() {
        if output.until.is_some_and(|until| found > until) {
            break;
        }
        output.long_values.note(value.len());
        read += found.len() + value.len();
        if read >= STEP {
            go_on(read as u64)?;
            read = 0;
        }
        let deleted = if output.ranges.is_empty() { None } else { output.ranges.piece_of(found) };
        if let Some(piece) = deleted.filter(|piece| stamp.sequence() < piece.newest()) {
            // Older versions in lower levels are hidden as well, until a merge drops them there.
            merge.pass(piece)?;
            continue;
        }
        if key.as_deref() != Some(found) {
            let kept = key.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(found);
            let fate = fate(stamp, value, output.now_ms, below.has_nothing(output.level, found));
            if stamp.kind() == Kind::SetUntil && !matches!(fate, Fate::Keep(_)) {
                output.time.note_expiry();
            }
            let record = match fate {
                // Newer than a deletion that still counts: without its number it would be hidden.
                Fate::Keep(_) if deleted.is_some() => Some(Record { key: found, stamp, value }),
                Fate::Keep(stamp) => Some(Record { key: found, stamp, value }),
                Fate::Bury(stamp) => Some(Record { key: found, stamp, value: &[] }),
                Fate::Drop => None,
            };
            if let Some(record) = record {
                tables.add(&record)?;
            }
        }
        merge.next()?;
    }
    go_on(read as u64)
}

/// Those that were written, and the one that is being written.
struct Tables<'a, N> {
    output: &'a Output<'a>,
    number: N,
    done: Vec<TableFacts>,
    current: Option<Open>,
}

impl<N: FnMut() -> u64> Tables<'_, N> {
    fn add(&mut self, record: &Record) -> Result<()> {
        let output = self.output;
        if self.current.as_ref().is_some_and(|open| open.expected_bytes() >= output.table_bytes) {
            self.end_current()?;
        }
        let open = match &mut self.current {
            Some(open) => open,
            None => self.current.insert(Open::create(output, (self.number)())?),
        };
        open.add(record)
    }

    fn end_current(&mut self) -> Result<()> {
        let Some(open) = self.current.take() else { return Ok(()) };
        let number = open.number();
        self.done.extend(open.finish().inspect_err(|_| self.output.remove(number))?);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.end_current()?;
        if self.done.is_empty() {
            return Ok(());
        }
        let Output { vfs, directory, .. } = self.output;
        vfs.sync_dir(directory).map_err(|error| Error::io(directory, "sync", &error))
    }

    fn remove(self) {
        let Self { output, done, current, .. } = self;
        let numbers = done.iter().map(|table| table.number).chain(current.map(|open| open.number()));
        numbers.for_each(|number| output.remove(number));
    }
}

/// Places in the levels below, which only move forward as keys do.
struct Below<'a> {
    version: &'a Version,
    places: [usize; LEVELS],
}

impl Below<'_> {
    /// Whether no table of a level below this one may hold the key.
    #[inline]
    fn has_nothing(&mut self, level: usize, key: &[u8]) -> bool {
        // Flushed tables overlap: an older one beside it may hold the key.
        level > 0
            && (level + 1..LEVELS).all(|level| {
                let (tables, place) = (&self.version.levels[level], &mut self.places[level]);
                while tables.get(*place).is_some_and(|table| &table.facts.last_key[..] < key) {
                    *place += 1;
                }
                tables.get(*place).is_none_or(|table| &table.facts.first_key[..] > key)
            })
    }
}
