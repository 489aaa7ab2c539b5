//! How do several writes become one? As a batch: all of it counts from one moment on, and comes back after a power cut whole or not at all.

use super::Durable;
use crate::bytes::{check_key, check_value_len};
use crate::error::Result;
use crate::lsm::Batch as TreeBatch;

/// Writes that count together. Of several to one key the last one counts.
///
/// ```
/// # fn main() -> plumbkv::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("plumbkv-doc-batch-{}", std::process::id()));
/// use plumbkv::{Batch, Database, Options};
///
/// let db = Database::open(Options::durable(&directory))?;
/// let mut batch = Batch::new();
/// batch.set(b"from", b"90").set(b"to", b"110").delete(b"pending");
/// db.write(&batch)?;
/// assert_eq!(db.get(b"to")?, Some(b"110".to_vec()));
/// # drop(db);
/// # let _ = std::fs::remove_dir_all(&directory);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Batch {
    tree: TreeBatch,
}

impl Batch {
    /// An empty one.
    ///
    /// ```
    /// assert!(plumbkv::Batch::new().is_empty());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores `value` under `key` and clears any expiry.
    ///
    /// ```
    /// let mut batch = plumbkv::Batch::new();
    /// batch.set(b"a", b"1").set(b"a", b"2");
    /// assert_eq!(batch.len(), 2);
    /// ```
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.tree.set(key, value);
        self
    }

    /// Stores `value` under `key` until `unix_ms`, milliseconds since the Unix epoch.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// let mut batch = plumbkv::Batch::new();
    /// batch.set_until(b"session", b"over", 1).set_until(b"forever", b"nearly", u64::MAX);
    /// db.write(&batch)?;
    /// assert_eq!(db.get(b"session")?, None);
    /// assert_eq!(db.get(b"forever")?, Some(b"nearly".to_vec()));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn set_until(&mut self, key: &[u8], value: &[u8], unix_ms: u64) -> &mut Self {
        self.tree.set_until(key, value, unix_ms);
        self
    }

    /// Removes `key`, whether it is there or not.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// let mut batch = plumbkv::Batch::new();
    /// batch.delete(b"a").delete(b"was never there");
    /// db.write(&batch)?;
    /// assert_eq!(db.get(b"a")?, None);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.tree.delete(key);
        self
    }

    /// Writes in it.
    ///
    /// ```
    /// let mut batch = plumbkv::Batch::new();
    /// batch.set(b"a", b"1").delete(b"b");
    /// assert_eq!(batch.len(), 2);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.tree.writes() as usize
    }

    /// Whether it has no writes.
    ///
    /// ```
    /// let mut batch = plumbkv::Batch::new();
    /// assert!(batch.is_empty());
    /// assert!(!batch.delete(b"a").is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all writes out; the memory stays for the next ones.
    ///
    /// ```
    /// let mut batch = plumbkv::Batch::new();
    /// batch.set(b"a", b"1").clear();
    /// assert!(batch.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.tree.clear();
    }
}

impl Durable {
    pub(crate) fn write(&self, batch: &Batch) -> Result<()> {
        for (key, value) in batch.tree.pairs() {
            check_key(key)?;
            check_value_len(value)?;
            self.check_entry(key.len(), value)?;
        }
        self.check_batch(&batch.tree)?;
        self.may_write()?;
        self.commit_written()?;
        let _locks = self.locks.several_shared(batch.tree.pairs().map(|(key, _)| key))?;
        self.tree.write(&batch.tree)
    }
}
