//! How do many sorted pairs get in at once? Past the log and the memtable, into tables that become part of the store together.

use super::Durable;
use crate::bytes::{check_key, check_value_len};
use crate::error::Result;
use crate::lsm::Ingest as TreeIngest;
use crate::nonblocking::NonBlocking;

/// Sorted pairs on their way into a database, of which nobody sees anything before [`finish`](Self::finish): see [`Database::ingest`](crate::Database::ingest). For sources that can fail,
/// and for values that end. Dropped before it is finished, it leaves nothing.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = std::env::temp_dir().join(format!("plumbkv-doc-begin-ingest-{}", std::process::id()));
/// use plumbkv::{Database, Options};
///
/// let db = Database::open(Options::durable(&directory))?;
/// let mut ingest = db.begin_ingest()?;
/// for line in "1 one\n2 two\n3 three".lines() {
///     let (key, value) = line.split_once(' ').ok_or("a line without a space")?;
///     ingest.set(key.as_bytes(), value.as_bytes())?;
/// }
/// assert_eq!(db.get(b"1")?, None);
/// assert_eq!(ingest.finish()?, 3);
/// assert_eq!(db.get(b"1")?, Some(b"one".to_vec()));
/// # drop(db);
/// # let _ = std::fs::remove_dir_all(&directory);
/// # Ok(())
/// # }
/// ```
pub struct Ingest<'a> {
    durable: &'a Durable,
    tree: TreeIngest<'a>,
}

impl Durable {
    pub(crate) fn ingest(&self) -> Ingest<'_> {
        Ingest { durable: self, tree: self.tree.ingest() }
    }
}

impl Ingest<'_> {
    /// Adds a pair whose key is larger than that of the pair before.
    ///
    /// # Errors
    /// [`OutOfOrder`](crate::Error::OutOfOrder), [`KeyTooLong`](crate::Error::KeyTooLong), [`ValueTooLong`](crate::Error::ValueTooLong),
    /// [`TooLargeForBudget`](crate::Error::TooLargeForBudget) and [`Io`](crate::Error::Io). Nothing is ingested then, of pairs before it either.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// let mut ingest = db.begin_ingest()?;
    /// ingest.set(b"a", b"1")?;
    /// ingest.set(b"b", b"2")?;
    /// assert_eq!(ingest.finish()?, 2);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(key, value, None)
    }

    /// As [`set`](Self::set), until `unix_ms`, milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// let mut ingest = db.begin_ingest()?;
    /// ingest.set_until(b"session", b"of yesterday", 1)?;
    /// ingest.finish()?;
    /// assert_eq!(db.get(b"session")?, None);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn set_until(&mut self, key: &[u8], value: &[u8], unix_ms: u64) -> Result<()> {
        self.add(key, value, Some(unix_ms))
    }

    fn add(&mut self, key: &[u8], value: &[u8], until_ms: Option<u64>) -> Result<()> {
        let checked = check_key(key)
            .and_then(|()| check_value_len(value.len()))
            .and_then(|()| self.durable.check_entry(key.len(), value.len()));
        checked.inspect_err(|error| self.tree.fail(error))?;
        self.tree.add(key, value, until_ms)
    }

    /// Makes all pairs part of the database at one moment, and returns how many they are. They survive a power cut then, and so does all that was written before.
    ///
    /// # Errors
    /// The error of a pair, if there was one; otherwise as
    /// [`Database::flush`](crate::Database::flush). [`Io`](crate::Error::Io) of the last step
    /// leaves undecided whether the pairs are there after the next opening;
    /// [`StorageStats::failure`](crate::StorageStats::failure) says whether the database takes
    /// writes after it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// let mut ingest = db.begin_ingest()?;
    /// ingest.set(b"a", b"1")?;
    /// assert_eq!(db.get(b"a")?, None);
    /// assert_eq!(ingest.finish()?, 1);
    /// assert_eq!(db.get(b"a")?, Some(b"1".to_vec()));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn finish(mut self) -> Result<u64> {
        NonBlocking::refuse()?;
        self.tree.prepare()?;
        // Whoever has looked at a key and is about to write it has done so, or looks again.
        let _locks = self.durable.locks.all_alone();
        self.tree.install()
    }
}

impl std::fmt::Debug for Ingest<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Ingest").finish_non_exhaustive()
    }
}
