//! Block cache lookups, from RocksDB's perf context of each thread.
//!
//! RocksDB counts them on every read at its default perf level, whether somebody asks or not, so nothing is switched on
//! for this and no read gets slower. The counters are per thread: a session reads them when it begins and when it ends.

use rocksdb::perf::{PerfContext, PerfMetric};
use std::sync::atomic::{AtomicU64, Ordering};

/// Lookups of all sessions that have ended.
#[derive(Default)]
pub(crate) struct Lookups {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Lookups {
    /// The lookups of the calling thread from now on; they are added when it is dropped, by the same thread.
    pub(crate) fn session(&self) -> SessionLookups<'_> {
        let context = PerfContext::default();
        let (hits, misses) = counts(&context);
        SessionLookups { all: self, context, hits, misses }
    }

    pub(crate) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    pub(crate) fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }
}

/// Lookups of one session.
pub(crate) struct SessionLookups<'a> {
    all: &'a Lookups,
    context: PerfContext,
    hits: u64,
    misses: u64,
}

impl Drop for SessionLookups<'_> {
    fn drop(&mut self) {
        let (hits, misses) = counts(&self.context);
        self.all.hits.fetch_add(hits.saturating_sub(self.hits), Ordering::Relaxed);
        self.all.misses.fetch_add(misses.saturating_sub(self.misses), Ordering::Relaxed);
    }
}

/// Blocks found in the cache, and blocks read from tables. Indexes and filters are not in the cache: they are read when
/// a table is opened, which is seldom beside reads of data.
fn counts(context: &PerfContext) -> (u64, u64) {
    (context.metric(PerfMetric::BlockCacheHitCount), context.metric(PerfMetric::BlockReadCount))
}
