//! Where do new tables go, and what is known of one when it is written?

use crate::error::{Error, Result};
use crate::lsm::buffer::LONG;
use crate::lsm::common::Common;
use crate::lsm::file_name::FileName;
use crate::lsm::long_values::LongValues;
use crate::lsm::manifest::{TableFacts, Version};
use crate::lsm::range_deletions::Ranges;
use crate::lsm::record::{Kind, Record, Sequence};
use crate::lsm::table::{Shape, TableBuilder, TableFiles, Writing};
use crate::lsm::time::StoreTime;
use crate::lsm::vfs::Vfs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where new tables go, and what they are like.
#[derive(Clone, Copy)]
pub(crate) struct Output<'a> {
    pub(crate) vfs: &'a dyn Vfs,
    /// Those of the store.
    pub(crate) files: &'a Arc<TableFiles>,
    pub(crate) directory: &'a Path,
    pub(crate) shape: Shape,
    /// A table ends with the first key at which it is at least so long.
    pub(crate) table_bytes: u64,
    /// The level they are for, and the tables that there are, for deletions.
    pub(crate) level: usize,
    pub(crate) version: &'a Version,
    /// Ranges that were deleted, and whose deletion lasts when the tables do.
    pub(crate) ranges: &'a Ranges,
    /// What most of the keys begin with.
    pub(crate) common: &'a Arc<Common>,
    pub(crate) now_ms: u64,
    /// The store's, to tell it of expired values that are left out.
    pub(crate) time: &'a StoreTime,
    /// The store's, to tell it of long values.
    pub(crate) long_values: &'a Arc<LongValues>,
    /// Only keys above this one are written, and up to that one.
    pub(crate) after: Option<&'a [u8]>,
    pub(crate) until: Option<&'a [u8]>,
}

impl Output<'_> {
    /// Takes away a file that came to nothing. One that stays is removed when the tree is opened.
    pub(crate) fn remove(&self, number: u64) {
        let _ = self.vfs.remove(&table_path(self.directory, number));
    }
}

/// The file of a table.
pub(crate) fn table_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(FileName::Table(number).to_string())
}

/// A table that is being written.
pub(crate) struct Open {
    path: PathBuf,
    number: u64,
    builder: TableBuilder,
    /// Dropped behind `builder`, which has the descriptor.
    writing: Writing,
    deletions: u64,
    first_end_ms: Option<u64>,
    cleaned: Sequence,
    long_values: Arc<LongValues>,
}

impl Open {
    pub(crate) fn create(output: &Output, number: u64) -> Result<Self> {
        let path = table_path(output.directory, number);
        let file = output.vfs.create(&path).map_err(|error| Error::io(&path, "create", &error))?;
        let builder = TableBuilder::new(file, number, output.shape);
        let writing = output.files.begin_writing();
        let (cleaned, long_values) = (output.ranges.newest(), Arc::clone(output.long_values));
        Ok(Self { path, number, builder, writing, deletions: 0, first_end_ms: None, cleaned, long_values })
    }

    /// Adds the only version of a key that the table gets.
    pub(crate) fn add(&mut self, record: &Record) -> Result<()> {
        match record.stamp.kind() {
            Kind::Set => {}
            Kind::Delete | Kind::DeleteRange => self.deletions += 1,
            Kind::SetUntil => {
                let end = record.value.first_chunk::<8>().map_or(0, |end| u64::from_le_bytes(*end)).max(1);
                self.first_end_ms = Some(self.first_end_ms.map_or(end, |first| first.min(end)));
            }
        }
        let done = if record.value.len() >= LONG {
            let _alone = self.long_values.make_alone();
            self.builder.add_alone(record)
        } else {
            self.builder.add(record)
        };
        done.map_err(|error| Error::io(&self.path, "write", &error))
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of the file if it ended here, about.
    pub(crate) fn expected_bytes(&self) -> u64 {
        self.builder.expected_bytes()
    }

    /// Ends the table and syncs it; its name does not last yet. `None`, where there was no version.
    pub(crate) fn finish(self) -> Result<Option<TableFacts>> {
        let Self { path, number, builder, writing, deletions, first_end_ms, cleaned, .. } = self;
        let finished = builder.finish().map_err(|error| Error::io(&path, "write", &error))?;
        drop(writing);
        Ok(finished.map(|finished| TableFacts {
            number,
            bytes: finished.bytes,
            versions: finished.versions,
            last_sequence: finished.last_sequence,
            first_key: finished.first_key,
            last_key: finished.last_key,
            deletions,
            first_end_ms,
            is_ingested: false,
            cleaned,
        }))
    }
}
