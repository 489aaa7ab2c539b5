//! What does a durable database hold on disk and in memory, and what has it done?

use super::Durable;
use crate::error::Error;
use crate::memory::Policy;
use crate::stats::Stats;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A level of tables.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
/// db.set(b"a", b"1")?;
/// db.flush()?;
/// let level0 = db.storage_stats()?.levels[0];
/// assert!(level0.tables <= 1 && level0.bytes < 1_000);
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LevelStats {
    /// Tables in it.
    pub tables: usize,
    /// Bytes of their files.
    pub bytes: u64,
}

/// What a durable database holds, and what it has done since it was opened.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
/// db.set(b"a", b"1")?;
/// let stats = db.storage_stats()?;
/// assert!(stats.versions == 1 && stats.memtable_bytes > 0 && stats.logged_bytes > 0);
/// assert_eq!(stats.failure, None);
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StorageStats {
    /// Level 0, of tables as they were flushed, and those below it.
    pub levels: Vec<LevelStats>,
    /// Bytes above what the levels may hold: merges that wait.
    pub debt_bytes: u64,
    /// Versions of keys in tables and memtables; an upper bound of the number of keys.
    pub versions: u64,
    /// Those of them that are in memtables, and in no table yet.
    pub memtable_versions: u64,
    /// Those of them in tables that only say that a key is gone; none, once [`Database::compact`](crate::Database::compact) is through.
    pub deletions: u64,
    /// Bytes of memtables, those that wait to be flushed included.
    pub memtable_bytes: u64,
    /// Memtables that wait to be flushed.
    pub frozen_memtables: usize,
    /// Bytes of memory that indexes and filters take.
    pub index_bytes: u64,
    /// Files of tables that are open; [`Options::max_open_files`](crate::Options::max_open_files) limits them.
    pub open_files: usize,
    /// Times that a file of a table was opened: far more than there are tables where that limit is too
    /// low for what is read.
    pub file_opens: u64,
    /// Bytes of the block cache.
    pub cache_bytes: u64,
    /// Blocks that were found there.
    pub cache_hits: u64,
    /// Blocks that were not.
    pub cache_misses: u64,
    /// Bytes that were written to the log.
    pub logged_bytes: u64,
    /// Bytes of tables that memtables became.
    pub flushed_bytes: u64,
    /// Bytes of tables that were merged from others.
    pub merged_bytes: u64,
    /// Bytes of tables that were ingested.
    pub ingested_bytes: u64,
    /// Times that writers were held back for a moment, because flushes or merges fell behind.
    pub delays: u64,
    /// How long in all, each writer by itself.
    pub delayed: Duration,
    /// Times that writes had to stop until a flush or a merge was through.
    pub stalls: u64,
    /// How long in all.
    pub stalled: Duration,
    /// Why no writes are taken any more; `None` where all is well. The database has to be opened again.
    pub failure: Option<Error>,
}

impl StorageStats {
    /// Tables of all levels.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// assert_eq!(db.storage_stats()?.tables(), 0);
    /// db.flush()?;
    /// assert_eq!(db.storage_stats()?.tables(), 1);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn tables(&self) -> usize {
        self.levels.iter().map(|level| level.tables).sum()
    }

    /// Bytes of their files.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// assert_eq!(db.storage_stats()?.table_bytes(), 0);
    /// db.set(b"a", b"1")?;
    /// db.flush()?;
    /// assert!(db.storage_stats()?.table_bytes() > 0);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes).sum()
    }

    /// Bytes written to tables for each byte that was logged; 0 where nothing was.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// assert_eq!(db.storage_stats()?.write_amplification(), 0.0);
    /// db.set(b"a", &[7; 1_000])?;
    /// db.flush()?;
    /// assert!(db.storage_stats()?.write_amplification() > 0.0);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        if self.logged_bytes == 0 {
            return 0.0;
        }
        (self.flushed_bytes + self.merged_bytes) as f64 / self.logged_bytes as f64
    }
}

impl Durable {
    pub(crate) fn storage_stats(&self) -> StorageStats {
        let stats = self.tree.stats();
        let levels = stats.levels.iter().map(|(tables, bytes)| LevelStats { tables: *tables, bytes: *bytes });
        StorageStats {
            levels: levels.collect(),
            debt_bytes: stats.debt_bytes,
            versions: stats.versions,
            memtable_versions: stats.memtable_versions,
            deletions: stats.deletions,
            memtable_bytes: stats.memtable_bytes,
            frozen_memtables: stats.frozen_memtables,
            index_bytes: stats.index_bytes,
            open_files: stats.open_tables,
            file_opens: stats.table_opens,
            cache_bytes: stats.cache_bytes,
            cache_hits: stats.cache_hits,
            cache_misses: stats.cache_misses,
            logged_bytes: stats.written,
            flushed_bytes: stats.flushed,
            merged_bytes: stats.merged,
            ingested_bytes: stats.ingested,
            delays: stats.delays,
            delayed: Duration::from_micros(stats.delayed_us),
            stalls: stats.stalls,
            stalled: Duration::from_micros(stats.stalled_us),
            failure: self.tree.failure(),
        }
    }

    /// Puts what is known of keys into the figures of the store that counts the program's memory.
    pub(crate) fn complete(&self, stats: Stats) -> Stats {
        Stats {
            keys: self.len(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            policy: Policy::NoEviction,
            ..stats
        }
    }

    /// Versions of keys: an upper bound of their number.
    pub(crate) fn len(&self) -> u64 {
        self.tree.stats().versions
    }
}
