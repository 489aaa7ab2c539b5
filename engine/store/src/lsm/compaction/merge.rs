//! How are tables made of runs? In one walk over all of them, a table after the other, each about as long as asked for.

use super::retain::{Fate, fate};
use crate::error::{Error, Result};
use crate::lsm::iter::{Merge, Run};
use crate::lsm::manifest::{LEVELS, TableFacts, Version};
use crate::lsm::record::Record;
use crate::lsm::table::{Shape, TableBuilder};
use crate::lsm::vfs::Vfs;
use std::path::{Path, PathBuf};

/// Where new tables go, and what they are like.
pub(crate) struct Output<'a> {
    pub(crate) vfs: &'a dyn Vfs,
    pub(crate) directory: &'a Path,
    pub(crate) shape: Shape,
    /// A table ends with the first key at which it is at least so long.
    pub(crate) table_bytes: u64,
    /// The level they are for, and the tables that there are, for deletions.
    pub(crate) level: usize,
    pub(crate) version: &'a Version,
    pub(crate) now_ms: u64,
}

/// The file of a table.
pub(crate) fn table_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:06}.table"))
}

/// Writes what lives on of the runs. Each new file gets the number that `number` gives; `go_on` is asked now and then and may stop the work with an
/// error. The names last when this returns.
pub(crate) fn write_tables(
    output: &Output,
    runs: Vec<Run>,
    mut number: impl FnMut() -> u64,
    mut go_on: impl FnMut(u64) -> Result<()>,
) -> Result<Vec<TableFacts>> {
    let mut merge = Merge::new(runs);
    let mut below = Below { version: output.version, places: [0; LEVELS] };
    let mut tables = Vec::new();
    let mut current: Option<Open> = None;
    let mut key: Option<Vec<u8>> = None;
    merge.first()?;
    while let Some(Record { key: found, stamp, value }) = merge.record() {
        if key.as_deref() != Some(found) {
            let kept = key.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(found);
            let record = match fate(stamp, value, output.now_ms, below.has_nothing(output.level, found)) {
                Fate::Keep(stamp) => Some(Record { key: found, stamp, value }),
                Fate::Bury(stamp) => Some(Record { key: found, stamp, value: &[] }),
                Fate::Drop => None,
            };
            if let Some(record) = record {
                if current.as_ref().is_some_and(|open| open.builder.expected_bytes() >= output.table_bytes)
                    && let Some(full) = current.take()
                {
                    tables.extend(full.finish()?);
                    go_on(output.table_bytes)?;
                }
                let open = match &mut current {
                    Some(open) => open,
                    None => current.insert(Open::create(output, number())?),
                };
                open.builder.add(&record).map_err(|error| Error::io(&open.path, "write", &error))?;
            }
        }
        merge.next()?;
    }
    if let Some(last) = current {
        tables.extend(last.finish()?);
    }
    if !tables.is_empty() {
        let synced = output.vfs.sync_dir(output.directory);
        synced.map_err(|error| Error::io(output.directory, "sync", &error))?;
    }
    Ok(tables)
}

/// A table that is being written.
struct Open {
    path: PathBuf,
    number: u64,
    builder: TableBuilder,
}

impl Open {
    fn create(output: &Output, number: u64) -> Result<Self> {
        let path = table_path(output.directory, number);
        let file = output.vfs.create(&path).map_err(|error| Error::io(&path, "create", &error))?;
        Ok(Self { path, number, builder: TableBuilder::new(file, number, output.shape) })
    }

    fn finish(self) -> Result<Option<TableFacts>> {
        let Self { path, number, builder } = self;
        let finished = builder.finish().map_err(|error| Error::io(&path, "write", &error))?;
        Ok(finished.map(|finished| TableFacts {
            number,
            bytes: finished.bytes,
            versions: finished.versions,
            last_sequence: finished.last_sequence,
            first_key: finished.first_key,
            last_key: finished.last_key,
        }))
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
