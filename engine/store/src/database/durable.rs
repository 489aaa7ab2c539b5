//! The calls that only a durable database answers.

use super::Database;
use crate::durable::{Batch, CompactProgress, Durable, Ingest, LaidAside, Snapshot, StorageStats};
use crate::error::{Error, Result};
use std::ops::{ControlFlow, RangeBounds};
use std::path::Path;

impl Database {
    fn durable(&self, call: &'static str) -> Result<&Durable> {
        self.durable.as_deref().ok_or(Error::Unsupported { call, mode: "memory" })
    }

    pub(super) fn only_in_memory(&self, call: &'static str) -> Result<()> {
        if self.durable.is_some() {
            return Err(Error::Unsupported { call, mode: "durable" });
        }
        Ok(())
    }

    /// Whether what is acknowledged survives the end of the process.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// assert!(db.is_durable());
    /// assert!(!plumbkv::Database::open(plumbkv::Options::memory(1 << 20))?.is_durable());
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.durable.is_some()
    }

    /// Carries out all writes of a batch, or none.
    ///
    /// # Errors
    /// [`KeyTooLong`](Error::KeyTooLong), [`ValueTooLong`](Error::ValueTooLong),
    /// [`TooLargeForBudget`](Error::TooLargeForBudget), [`BatchTooLong`](Error::BatchTooLong) above a
    /// quarter of the memory budget, 2 GiB or 2^27 writes, and the [errors of a durable write](Self#errors-of-a-durable-write);
    /// [`Unsupported`](Error::Unsupported) in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// let mut batch = plumbkv::Batch::new();
    /// batch.set(b"from", b"90").set(b"to", b"110");
    /// db.write(&batch)?;
    /// assert_eq!(db.get(b"from")?, Some(b"90".to_vec()));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn write(&self, batch: &Batch) -> Result<()> {
        self.durable("write")?.write(batch)
    }

    /// The database as it is now, for as long as the snapshot is kept.
    ///
    /// # Errors
    /// [`SnapshotsHoldMemory`](Error::SnapshotsHoldMemory) while earlier snapshots and ranges keep more than
    /// half of the memory budget, and [`Unsupported`](Error::Unsupported) in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// let before = db.snapshot()?;
    /// db.set(b"a", b"1")?;
    /// assert_eq!(before.get(b"a")?, None);
    /// assert_eq!(db.snapshot()?.get(b"a")?, Some(b"1".to_vec()));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.durable("snapshot")?.snapshot_to_hold()
    }

    /// Removes the keys in `range`, at one moment and whatever there is in it: it is one small write, as durable as any other, and atomic. Snapshots that were taken before keep the keys.
    /// An empty range removes nothing.
    ///
    /// It does not read the range, so it returns no count. Disk space is freed when the memtable is flushed, or by the merges that follow;
    /// [`compact`](Self::compact) brings that forward. To remove everything, files included, there is [`clear`](Self::clear).
    ///
    /// # Errors
    /// [`KeyTooLong`](Error::KeyTooLong), and the [errors of a durable
    /// write](Self#errors-of-a-durable-write); [`Unsupported`](Error::Unsupported) in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// for key in ["a", "b", "c"] {
    ///     db.set(key.as_bytes(), b"1")?;
    /// }
    /// db.delete_range(&b"a"[..]..&b"c"[..])?;
    /// assert_eq!(db.get(b"b")?, None);
    /// assert_eq!(db.get(b"c")?, Some(b"1".to_vec()));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn delete_range<'a>(&self, range: impl RangeBounds<&'a [u8]>) -> Result<()> {
        self.durable("delete_range")?.delete_range(range)
    }

    /// Takes in pairs that come sorted by key, each key once, and returns how many they were. They go straight into tables, without the log and the memtable, and lie where they
    /// would come to lie after all merges, unless other tables hold keys between them: the way to load much data. Memory is taken for one table at a time.
    ///
    /// Nobody sees any of them before the call returns, then everybody sees all; until then other calls go on. They count as written at the end of the call: what others wrote to the
    /// same keys meanwhile is overwritten. For a moment writes wait, while what is in memory is written to tables.
    ///
    /// ```
    /// # fn main() -> plumbkv::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("plumbkv-doc-ingest-{}", std::process::id()));
    /// use plumbkv::{Database, Error, Options};
    ///
    /// let db = Database::open(Options::durable(&directory))?;
    /// let pairs = (0..10_000_u32).map(|number| (number.to_be_bytes(), format!("value {number}")));
    /// assert_eq!(db.ingest(pairs)?, 10_000);
    /// assert_eq!(db.get(&7_u32.to_be_bytes())?, Some(b"value 7".to_vec()));
    ///
    /// let unsorted = db.ingest([("b", "1"), ("a", "2")]);
    /// assert!(matches!(unsorted, Err(Error::OutOfOrder { pair: 2, .. })));
    /// assert_eq!(db.get(b"b")?, None);
    /// # drop(db);
    /// # let _ = std::fs::remove_dir_all(&directory);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Ingest::set`] and [`Ingest::finish`], and [`Unsupported`](Error::Unsupported) in memory mode.
    pub fn ingest<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64> {
        let mut ingest = self.durable("ingest")?.ingest();
        for (key, value) in pairs {
            ingest.set(key.as_ref(), value.as_ref())?;
        }
        ingest.finish()
    }

    /// Begins to take in sorted pairs, one by one: [`ingest`](Self::ingest) for sources that can fail, and for values that end.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// let mut ingest = db.begin_ingest()?;
    /// for number in 0..1_000_u32 {
    ///     ingest.set(&number.to_be_bytes(), b"1")?;
    /// }
    /// assert_eq!(ingest.finish()?, 1_000);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn begin_ingest(&self) -> Result<Ingest<'_>> {
        Ok(self.durable("ingest")?.ingest())
    }

    /// Makes everything that was acknowledged before the call last.
    ///
    /// # Errors
    /// [`Io`](Error::Io) when a log cannot be synced, and after a failure that stays its error:
    /// [`Io`](Error::Io), [`Corrupt`](Error::Corrupt) or [`Panicked`](Error::Panicked);
    /// [`Unsupported`](Error::Unsupported) in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// db.sync()?; // Whatever the sync mode: a power cut does not take it away.
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn sync(&self) -> Result<()> {
        self.durable("sync")?.sync()
    }

    /// Writes what is in memory to tables.
    ///
    /// # Errors
    /// [`Io`](Error::Io), [`Corrupt`](Error::Corrupt), and [`OutOfMemory`](Error::OutOfMemory) when
    /// the system has no memory for another memtable; after a failure that stays its error, which
    /// can also be [`Panicked`](Error::Panicked); [`ReadOnly`](Error::ReadOnly);
    /// [`Unsupported`](Error::Unsupported) in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// db.flush()?;
    /// assert_eq!(db.storage_stats()?.frozen_memtables, 0);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn flush(&self) -> Result<()> {
        self.durable("flush")?.flush()
    }

    /// Writes what is in memory to tables, and waits until no level of them holds more than it may: until the merges that go on behind the writes have caught up with them. What has just
    /// been flushed is merged, too, where that takes little: after a load, reads have fewer tables to look into. Under
    /// [`Profile::LowMemory`](crate::Profile::LowMemory), the smallest level is merged as well, because its tables have no filters.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// for number in 0..1_000_u32 {
    ///     db.set(&number.to_be_bytes(), b"1")?;
    /// }
    /// db.settle()?;
    /// assert_eq!(db.storage_stats()?.debt_bytes, 0);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn settle(&self) -> Result<()> {
        self.durable("settle")?.settle()
    }

    /// Writes what is in memory to tables and merges everything that was written before the call into one level: then each key has one version, and what was overwritten or deleted, or is
    /// over, is gone from the disk but for what snapshots hold. Reads and writes go on meanwhile.
    ///
    /// It reads and writes about as much as there is, tables apart that are in place already. On the disk it takes room for what lies above the lowest level and for a table or two, for it works
    /// table by table; each step counts at once, so a compaction that is interrupted is no loss.
    ///
    /// ```
    /// # fn main() -> plumbkv::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("plumbkv-doc-compact-{}", std::process::id()));
    /// use plumbkv::{Database, Options};
    ///
    /// let db = Database::open(Options::durable(&directory))?;
    /// for round in 0..3 {
    ///     db.set(b"key", format!("value {round}").as_bytes())?;
    ///     db.set(format!("key {round}").as_bytes(), b"")?;
    ///     db.delete(format!("key {round}").as_bytes())?;
    ///     db.flush()?;
    /// }
    /// db.compact()?;
    /// let stats = db.storage_stats()?;
    /// assert_eq!((stats.versions, stats.deletions), (1, 0));
    /// assert_eq!(stats.levels.iter().filter(|level| level.tables > 0).count(), 1);
    /// # drop(db);
    /// # let _ = std::fs::remove_dir_all(&directory);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// for number in 0..100_u32 {
    ///     db.set(&number.to_be_bytes(), b"1")?;
    /// }
    /// db.compact()?;
    /// assert_eq!(db.storage_stats()?.debt_bytes, 0);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn compact(&self) -> Result<()> {
        self.compact_with(|_| ControlFlow::Continue(())).map(drop)
    }

    /// As [`compact`](Self::compact), and asks every few hundred kilobytes whether to go on. False, where `go_on` ended it: what was merged by then stays so, and
    /// files that were not finished are removed.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// use std::ops::ControlFlow;
    ///
    /// db.set(b"a", b"1")?;
    /// assert!(db.compact_with(|_| ControlFlow::Continue(()))?);
    /// // There is nothing left that it could be ended at.
    /// assert!(db.compact_with(|_| ControlFlow::Break(())).is_ok());
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn compact_with(&self, go_on: impl FnMut(CompactProgress) -> ControlFlow<()>) -> Result<bool> {
        self.durable("compact")?.compact(go_on)
    }

    /// Makes a copy of the database in `directory`, which is made for it, on the same file system: of links to its tables, which take no more room until the
    /// original merges them away. It can be opened as any other.
    ///
    /// # Errors
    /// [`InvalidOption`](Error::InvalidOption) when the directory is not empty, and as
    /// [`flush`](Self::flush).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// use plumbkv::{Database, Options};
    ///
    /// db.set(b"a", b"1")?;
    /// let copy = directory.path().join("copy");
    /// db.checkpoint(&copy)?;
    /// db.set(b"a", b"2")?;
    /// assert_eq!(Database::open(Options::durable(&copy))?.get(b"a")?, Some(b"1".to_vec()));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn checkpoint(&self, directory: impl AsRef<Path>) -> Result<()> {
        self.durable("checkpoint")?.checkpoint(directory.as_ref())
    }

    /// Reads every block of every table and looks whether they are whole and in order; `progress` hears how many versions were read after each table. Returns their
    /// number.
    ///
    /// # Errors
    /// [`Corrupt`](Error::Corrupt) with file and offset, [`Io`](Error::Io), and [`Unsupported`](Error::Unsupported) in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// db.flush()?;
    /// assert_eq!(db.verify(|versions| println!("{versions} so far"))?, 1);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn verify(&self, progress: impl FnMut(u64)) -> Result<u64> {
        self.durable("verify")?.verify(progress)
    }

    /// Looks over the closed database in `directory`, as [`verify`](Self::verify) does, and makes it open again without the files that are damaged: they are laid in
    /// `aside`, a directory of the same file system that is made where it is needed. Nothing is deleted. A key of a damaged table has the value that an
    /// older table says, or is gone; of a damaged log what stands before the damage is kept. `progress` hears how many of how many tables were read.
    ///
    /// # Errors
    /// [`Corrupt`](Error::Corrupt) when `CURRENT` is missing or the manifest itself is damaged, for
    /// which nothing is changed; [`Io`](Error::Io) and [`InUse`](Error::InUse).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// db.close()?;
    /// let laid_aside = plumbkv::Database::repair(&path, directory.path().join("aside"), |done, all| {
    ///     println!("{done} of {all} tables");
    /// })?;
    /// assert!(laid_aside.is_empty());
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn repair(
        directory: impl AsRef<Path>,
        aside: impl AsRef<Path>,
        progress: impl FnMut(usize, usize),
    ) -> Result<Vec<LaidAside>> {
        Durable::repair(directory.as_ref(), aside.as_ref(), progress)
    }

    /// Levels, tables, bytes, cache hits, write amplification, stalls.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// let stats = db.storage_stats()?;
    /// println!("{} tables, written {:.1} times", stats.levels.iter().map(|level| level.tables).sum::<usize>(), stats.write_amplification());
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn storage_stats(&self) -> Result<StorageStats> {
        Ok(self.durable("storage_stats")?.storage_stats())
    }

    /// Syncs and closes the database. Dropped without it, what was acknowledged in the last interval survives the process, but perhaps no power cut.
    ///
    /// # Errors
    /// As [`sync`](Self::sync), but none in memory mode.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// db.close()?;
    /// let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// assert_eq!(db.get(b"a")?, Some(b"1".to_vec()));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn close(self) -> Result<()> {
        self.durable.map_or(Ok(()), |durable| durable.close())
    }
}
