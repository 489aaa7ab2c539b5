//! What is done to a durable database as a whole?

use super::Durable;
use crate::bytes::check_key;
use crate::error::Result;
use crate::lsm::MergeProgress;
use crate::nonblocking::NonBlocking;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::path::Path;

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

/// A bound may be as long as a key, and a byte longer if it is the key directly behind one.
fn check_bound(bound: &[u8]) -> Result<()> {
    check_key(bound.strip_suffix(&[0]).unwrap_or(bound))
}

impl Durable {
    /// One write. A call that writes what it has read of a key is wholly before it or wholly after it:
    /// it has its key's lock from the look to the write, and this call has all locks for the moment
    /// of its write.
    pub(crate) fn delete_range<'a>(&self, range: impl RangeBounds<&'a [u8]>) -> Result<()> {
        NonBlocking::refuse()?;
        let after = |key: &[u8]| [key, &[0]].concat();
        let start = match range.start_bound() {
            Bound::Included(key) => key.to_vec(),
            Bound::Excluded(key) => after(key),
            Bound::Unbounded => Vec::new(),
        };
        let end = match range.end_bound() {
            Bound::Included(key) => Some(after(key)),
            Bound::Excluded(key) => Some(key.to_vec()),
            Bound::Unbounded => None,
        };
        if end.as_ref().is_some_and(|end| *end <= start) {
            return Ok(());
        }
        [Some(&start), end.as_ref()].into_iter().flatten().try_for_each(|key| check_bound(key))?;
        self.commit_written()?;
        let _locks = self.locks.all_alone();
        self.write_batch(0, |batch| batch.delete_range(&start, end.as_deref()))
    }

    pub(crate) fn clear(&self) -> Result<()> {
        NonBlocking::refuse()?;
        self.commit_written()?;
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
