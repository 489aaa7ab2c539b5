//! What is done to a durable database as a whole?

use super::Durable;
use super::snapshot::Direction;
use crate::error::Result;
use crate::lsm::MergeProgress;
use crate::nonblocking::NonBlocking;
use std::ops::{ControlFlow, RangeBounds};
use std::path::Path;

/// Bytes of keys that are deleted in one batch.
const PIECE: usize = 1 << 20;

/// How far [`Database::compact_with`](crate::Database::compact_with) has come.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
/// use std::ops::ControlFlow;
///
/// for number in 0..1_000_u32 {
///     db.set(&number.to_be_bytes(), b"1")?;
/// }
/// db.compact_with(|progress: plumbkv::CompactProgress| {
///     println!("{} bytes written, {} left", progress.written_bytes, progress.left_bytes);
///     ControlFlow::Continue(())
/// })?;
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactProgress {
    /// Bytes of tables that it has written.
    pub written_bytes: u64,
    /// Bytes of tables that do not lie in the lowest level yet.
    pub left_bytes: u64,
}

impl Durable {
    pub(crate) fn delete_range<'a>(&self, range: impl RangeBounds<&'a [u8]>) -> Result<u64> {
        NonBlocking::refuse()?;
        let _locks = self.locks.all_alone();
        let mut found = self.snapshot().range(range, Direction::Forward);
        let (mut deleted, mut is_over) = (0, false);
        while !is_over {
            let mut result = Ok(());
            self.write_batch(|batch| {
                while batch.bytes() < PIECE {
                    match found.next_pair() {
                        Ok(Some((key, _))) => batch.delete(key),
                        Ok(None) => return is_over = true,
                        Err(error) => {
                            result = Err(error);
                            return;
                        }
                    }
                    deleted += 1;
                }
            })?;
            result?;
        }
        Ok(deleted)
    }

    pub(crate) fn clear(&self) -> Result<()> {
        NonBlocking::refuse()?;
        let _locks = self.locks.all_alone();
        self.tree.clear()
    }

    pub(crate) fn sync(&self) -> Result<()> {
        NonBlocking::refuse()?;
        self.tree.sync()
    }

    pub(crate) fn flush(&self) -> Result<()> {
        NonBlocking::refuse()?;
        self.tree.flush()
    }

    pub(crate) fn settle(&self) -> Result<()> {
        NonBlocking::refuse()?;
        self.tree.flush()?;
        self.tree.settle()
    }

    pub(crate) fn compact(&self, mut go_on: impl FnMut(CompactProgress) -> ControlFlow<()>) -> Result<bool> {
        NonBlocking::refuse()?;
        self.tree.merge_all(|MergeProgress { written, left }| {
            go_on(CompactProgress { written_bytes: written, left_bytes: left })
        })
    }

    pub(crate) fn checkpoint(&self, directory: &Path) -> Result<()> {
        NonBlocking::refuse()?;
        self.tree.checkpoint(directory)
    }

    pub(crate) fn verify(&self, progress: impl FnMut(u64)) -> Result<u64> {
        NonBlocking::refuse()?;
        self.tree.verify(progress)
    }

    pub(crate) fn close(self) -> Result<()> {
        self.tree.close()
    }
}
