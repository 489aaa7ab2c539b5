//! How is a durable database opened? By a profile, whose parts can be set one by one.

use crate::error::{Error, Result};
use crate::lsm::{self, Shape, Targets, TreeOptions};
use crate::memory_limit::MemoryLimit;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When is a write on the disk? In every mode an acknowledged write has been handed to the kernel, so it survives the end of the process, however that comes; and
/// what survives a power cut is a prefix of what was acknowledged.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// use plumbkv::{Database, Options, SyncMode};
///
/// let db = Database::open(Options::durable(&path).sync_mode(SyncMode::Never))?;
/// db.set(b"a", b"survives the process")?;
/// db.sync()?; // and now a power cut
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// Before it is acknowledged: a power cut loses nothing.
    Always,
    /// At intervals: a power cut loses what was acknowledged in the last one at most.
    Interval(Duration),
    /// When the system gets round to it, or [`Database::sync`](crate::Database::sync) is called.
    Never,
}

impl Default for SyncMode {
    fn default() -> Self {
        Self::Interval(Duration::from_secs(1))
    }
}

/// What a durable database is made for.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// use plumbkv::{Database, Options, Profile};
///
/// let db = Database::open(Options::durable(&path).profile(Profile::LowMemory))?;
/// assert_eq!(db.storage_stats()?.cache_bytes, 0);
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Profile {
    /// 256 MiB of memory, filters on every level.
    #[default]
    Default,
    /// 16 MiB of memory, no cache, no filters.
    LowMemory,
    /// 1 GiB of memory, longer memtables.
    Throughput,
}

impl Profile {
    /// The memory budget in bytes, where none is set.
    ///
    /// ```
    /// assert_eq!(plumbkv::Profile::LowMemory.memory_budget(), 16 << 20);
    /// ```
    #[must_use]
    pub fn memory_budget(self) -> u64 {
        match self {
            Self::Default => 256 << 20,
            Self::LowMemory => 16 << 20,
            Self::Throughput => 1 << 30,
        }
    }
}

/// How blocks of tables are made smaller.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// use plumbkv::{Compression, Database, Options};
///
/// // For values that are compressed already. Tables that are there keep what they have.
/// let db = Database::open(Options::durable(&path).compression(Compression::None))?;
/// # drop(db);
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// [LZ4](https://lz4.org): quick to read.
    #[default]
    Lz4,
    /// [Zstandard](https://facebook.github.io/zstd/), level 3: smaller files than with LZ4, at several times its CPU time. Flushes and merges take it when they write, reads when a
    /// block is not in the cache. Needs the feature `zstd` of the crate, which is on by default.
    Zstd,
}

/// Snapshots may pin this part of the budget.
const PINNED_PART: u64 = 2;

/// Bytes that the cache leaves to code, stacks and buffers, and the largest part of a small budget for them.
const OTHERS: u64 = 4 << 20;
const OTHERS_PART: u64 = 6;

/// The least memory that a durable database can do with.
const LEAST_BUDGET: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DurableOptions {
    pub(crate) path: PathBuf,
    pub(crate) sync: SyncMode,
    pub(crate) profile: Profile,
    pub(crate) budget: Option<u64>,
    pub(crate) cache: Option<u64>,
    pub(crate) compression: Compression,
    pub(crate) merge_bytes_per_second: Option<u64>,
    pub(crate) max_open_files: Option<usize>,
    pub(crate) merge_threads: Option<usize>,
    pub(crate) is_read_only: bool,
}

impl DurableOptions {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            sync: SyncMode::default(),
            profile: Profile::default(),
            budget: None,
            cache: None,
            compression: Compression::default(),
            merge_bytes_per_second: None,
            max_open_files: None,
            merge_threads: None,
            is_read_only: false,
        }
    }

    pub(super) fn budget(&self) -> u64 {
        self.budget.unwrap_or(self.profile.memory_budget())
    }

    pub(crate) fn tree_options(&self) -> Result<TreeOptions> {
        let budget = self.budget();
        if budget < LEAST_BUDGET {
            let reason = format!("{budget} bytes are too few; a durable database needs {LEAST_BUDGET}");
            return Err(Error::InvalidOption { option: "memory_budget", reason });
        }
        let machine = MemoryLimit::of_machine(Path::new("/")).map(|limit| limit.bytes);
        for (option, bytes) in [("memory_budget", self.budget), ("cache_bytes", self.cache)] {
            check_memory(option, bytes, machine)?;
        }
        if let SyncMode::Interval(interval) = self.sync
            && interval.is_zero()
        {
            let reason = "an interval of nothing; say SyncMode::Always".to_owned();
            return Err(Error::InvalidOption { option: "sync", reason });
        }
        if self.merge_bytes_per_second == Some(0) {
            let reason =
                "merges that do not go on stop all writes in the end; leave it out for no limit".to_owned();
            return Err(Error::InvalidOption { option: "merge_bytes_per_second", reason });
        }
        if self.merge_threads == Some(0) {
            let reason = "merges need a thread; allow at least 1".to_owned();
            return Err(Error::InvalidOption { option: "merge_threads", reason });
        }
        if self.max_open_files == Some(0) {
            let reason = "a table cannot be read without a file that is open; allow at least 1".to_owned();
            return Err(Error::InvalidOption { option: "max_open_files", reason });
        }
        if self.compression == Compression::Zstd && !lsm::HAS_ZSTD {
            let reason = "this build is without the feature `zstd`; build with it, or use Lz4".to_owned();
            return Err(Error::InvalidOption { option: "compression", reason });
        }
        // One is written to, this many wait to be flushed.
        let frozen_memtables = 1;
        let largest = if self.profile == Profile::LowMemory { 1 << 20 } else { 64 << 20 };
        let memtable_bytes = (budget / 10).min(largest);
        let table_bytes = (budget / 8).min(largest).max(2 << 20);
        let cache_bytes = match (self.cache, self.profile) {
            (Some(bytes), _) => bytes,
            (None, Profile::LowMemory) => 0,
            (None, _) => {
                let others = (budget / OTHERS_PART).min(OTHERS);
                budget - (1 + frozen_memtables as u64) * memtable_bytes - others
            }
        };
        // The more tables there are in level 0 when it is merged, the fewer times the levels below are written anew. A read asks the filter of each, where there are filters.
        let level0_stop = if self.profile == Profile::LowMemory { 20 } else { 48 };
        let base_bytes = (budget / 2).min(4 * largest).max(4 << 20);
        Ok(TreeOptions {
            sync: match self.sync {
                SyncMode::Always => lsm::SyncMode::Always,
                SyncMode::Interval(interval) => lsm::SyncMode::Interval(interval),
                SyncMode::Never => lsm::SyncMode::OnCall,
            },
            memtable_bytes: memtable_bytes as usize,
            frozen_memtables,
            cache_bytes,
            pinned_bytes: budget / PINNED_PART,
            is_cache_shared: self.cache.is_none(),
            shape: Shape {
                block_bytes: 2 << 10,
                compression: match self.compression {
                    Compression::None => lsm::Compression::None,
                    Compression::Lz4 => lsm::Compression::Lz4,
                    Compression::Zstd => lsm::Compression::Zstd,
                },
                filter_bits_per_key: if self.profile == Profile::LowMemory { 0 } else { 10 },
                // A power of two, so that each piece begins where a folio of its length may.
                piece_bytes: 1 << (table_bytes / 16).clamp(64 << 10, 2 << 20).ilog2(),
            },
            table_bytes,
            targets: Targets { level0_tables: 5, base_bytes, multiplier: 10 },
            level0_stop,
            merge_bytes_per_second: self.merge_bytes_per_second,
            queue_bytes: memtable_bytes as usize / 4,
            merge_ahead_bytes: budget / 16,
            trim_bytes: (budget / 64).max(1 << 20),
            filters_until: budget / 4,
            merge_threads: self.merge_threads.unwrap_or(MERGE_THREADS),
            debt_share: 2 * base_bytes,
            debt_slow: base_bytes * 5 / 2,
            debt_stop: 4 * base_bytes,
            open_tables: open_tables(self.max_open_files, descriptors()),
            manifest_bytes: 4 << 20,
            replay_bytes: budget,
            is_read_only: self.is_read_only,
            has_workers: true,
        })
    }
}

/// An error where an option wants more memory than the machine has. What a profile says by itself is used
/// on any machine.
fn check_memory(option: &'static str, bytes: Option<u64>, machine: Option<u64>) -> Result<()> {
    if let (Some(bytes), Some(machine)) = (bytes, machine)
        && bytes > machine
    {
        let reason =
            format!("{bytes} bytes are more than the memory of this machine, {machine}; allow at most that");
        return Err(Error::InvalidOption { option, reason });
    }
    Ok(())
}

/// File descriptors that the process may have; `None` where they are not limited.
fn descriptors() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Open files of tables where nothing else is said.
const OPEN_FILES: usize = 1024;

/// Threads that share a large merge, where nothing else is said.
const MERGE_THREADS: usize = 2;

/// Files of tables that may be open at once, in a process that may have so many descriptors. Logs, the
/// manifest, tables being written and the rest of the program need some as well.
fn open_tables(wanted: Option<usize>, descriptors: Option<u64>) -> usize {
    let of_limit = |part: u64, of: u64| {
        descriptors.map_or(usize::MAX, |all| usize::try_from(all / of * part).unwrap_or(usize::MAX))
    };
    let most = match wanted {
        Some(wanted) => wanted.min(of_limit(3, 4)),
        None => OPEN_FILES.min(of_limit(1, 2)),
    };
    most.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_memory_is_allowed_than_the_machine_has() {
        let cases = [
            (None, Some(1), true),
            (Some(5), None, true),
            (Some(5), Some(5), true),
            (Some(6), Some(5), false),
            (Some(u64::MAX), Some(5), false),
        ];
        for (bytes, machine, is_allowed) in cases {
            let found = check_memory("cache_bytes", bytes, machine);
            assert_eq!(found.is_ok(), is_allowed, "{bytes:?} of {machine:?}: {found:?}");
        }
    }

    #[test]
    fn tables_take_no_more_descriptors_than_the_process_can_spare() {
        // The option, the limit of the process, and what tables get.
        let cases = [
            (None, None, 1024),
            (None, Some(1 << 20), 1024),
            (None, Some(1024), 512),
            (None, Some(64), 32),
            (None, Some(1), 1),
            (Some(5_000), None, 5_000),
            (Some(5_000), Some(1 << 20), 5_000),
            (Some(5_000), Some(1024), 768),
            (Some(10), Some(1024), 10),
            (Some(10), Some(2), 1),
        ];
        for (wanted, descriptors, expected) in cases {
            assert_eq!(open_tables(wanted, descriptors), expected, "{wanted:?} of {descriptors:?}");
        }
    }
}
