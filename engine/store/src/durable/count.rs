//! How many keys does a durable store hold? A walk tells; where that would take long, the number of versions tells about how many.

use super::Durable;
use crate::error::{Error, Result};
use crate::nonblocking::NonBlocking;

/// How many keys a database holds, and how many of them expire.
///
/// ```
/// use plumbkv::{Database, Options};
///
/// let db = Database::open(Options::memory(64 << 20))?;
/// db.set(b"a", b"1")?;
/// let count = db.count_keys(1_000)?;
/// assert!(count.keys == 1 && count.with_expiry == 0 && count.is_exact);
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KeyCount {
    /// Keys.
    pub keys: u64,
    /// Those of them that have an expiry; 0 where the count is not exact.
    pub with_expiry: u64,
    /// The mean time in milliseconds that those still have; 0 where there is none, where the count is not exact, and in memory mode.
    pub mean_left_ms: u64,
    /// Whether keys were counted, and not calculated from the number of versions.
    pub is_exact: bool,
}

impl KeyCount {
    /// There are none.
    pub(super) const NONE: Self = Self { keys: 0, with_expiry: 0, mean_left_ms: 0, is_exact: true };
}

/// Bytes of tables that are read for a count.
const MOST_BYTES: u64 = 64 << 20;

/// Versions that are walked over while other work of the thread waits.
pub(super) const BESIDE: u64 = 1_000;

impl Durable {
    pub(crate) fn count_keys(&self, most: u64) -> Result<KeyCount> {
        self.commit_written()?;
        if let Some(about) = self.about_as_many(most) {
            return Ok(about);
        }
        if self.tree.stats().versions > BESIDE && NonBlocking::is_on() {
            return Err(Error::WouldBlock);
        }
        let mut walk = self.tree.snapshot().walk();
        let mut counting = Counting::new(self.now_ms());
        walk.first()?;
        while walk.key().is_some() {
            counting.add(walk.until_ms());
            walk.next()?;
        }
        Ok(counting.finish())
    }

    /// What the number of versions says, where a walk would take long.
    pub(super) fn about_as_many(&self, most: u64) -> Option<KeyCount> {
        let stats = self.tree.stats();
        let table_bytes: u64 = stats.levels.iter().map(|(_, bytes)| bytes).sum();
        // A deletion is a version itself, and mostly hides another one.
        let gone = 2 * (stats.deletions + stats.memtable_deletions);
        (stats.versions > most || table_bytes > MOST_BYTES)
            .then(|| KeyCount { keys: stats.versions.saturating_sub(gone), ..KeyCount::default() })
    }
}

/// A count under way.
pub(super) struct Counting {
    count: KeyCount,
    now_ms: u64,
    // In a wider number: many times that are far away add up to more than 64 bits.
    left_ms: u128,
}

impl Counting {
    pub(super) fn new(now_ms: u64) -> Self {
        Self { count: KeyCount::NONE, now_ms, left_ms: 0 }
    }

    pub(super) fn keys(&self) -> u64 {
        self.count.keys
    }

    pub(super) fn add(&mut self, until_ms: Option<u64>) {
        self.count.keys += 1;
        if let Some(until_ms) = until_ms {
            self.count.with_expiry += 1;
            self.left_ms += u128::from(until_ms.saturating_sub(self.now_ms));
        }
    }

    pub(super) fn finish(self) -> KeyCount {
        let mean = self.left_ms.checked_div(u128::from(self.count.with_expiry)).unwrap_or(0);
        KeyCount { mean_left_ms: u64::try_from(mean).unwrap_or(u64::MAX), ..self.count }
    }
}
