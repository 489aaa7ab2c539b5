//! The length of long values that are written and merged, so that the block cache leaves room for them.
//!
//! A long value is in memory several times while it is written, flushed and merged. These buffers live for
//! moments, and the cache cannot become smaller and larger that often: it yields to the longest value of
//! the last flushes and merges, and takes the room again step by step when no such value has come.

use super::buffer::LONG;
use super::sync::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering};

/// Copies of a value: the batch of the one long write that is under way, a lookup, and the block that is
/// being made, raw and compressed.
const COPIES: u64 = 4;

/// Copies in each thread that merges: the block that it reads, compressed and raw.
const COPIES_IN_MERGE: u64 = 2;

/// The longest values of late.
#[derive(Default)]
pub(crate) struct LongValues {
    /// Since the last flush.
    recent: AtomicU64,
    /// Before it, and less with each flush.
    before: AtomicU64,
    /// What the cache leaves room for.
    shared: AtomicU64,
    /// Held while a block of a long value is made and written. Nothing else is locked meanwhile.
    making: Mutex<()>,
}

/// In steps of a quarter or less, so that values of growing length seldom change the cache.
fn rounded(len: u64) -> u64 {
    len.next_multiple_of((len.next_power_of_two() / 8).max(1))
}

impl LongValues {
    /// Notes a value that is written or merged.
    #[inline]
    pub(crate) fn note(&self, len: usize) {
        if len >= LONG {
            self.recent.fetch_max(rounded(len as u64), Ordering::Relaxed);
        }
    }

    /// Waits until no other flush or part of a merge makes a long block.
    pub(crate) fn make_alone(&self) -> MutexGuard<'_, ()> {
        self.making.lock()
    }

    fn longest(&self) -> u64 {
        self.recent.load(Ordering::Relaxed).max(self.before.load(Ordering::Relaxed))
    }

    /// Whether values are longer than the cache leaves room for.
    #[inline]
    pub(crate) fn is_news(&self) -> bool {
        self.recent.load(Ordering::Relaxed) > self.shared.load(Ordering::Relaxed)
    }

    /// Bytes that their buffers may take, with so many threads that merge. The cache is told of it.
    pub(crate) fn buffer_bytes(&self, merge_threads: usize) -> u64 {
        let longest = self.longest();
        self.shared.store(longest, Ordering::Relaxed);
        longest * (COPIES + COPIES_IN_MERGE * merge_threads as u64)
    }

    /// Forgets a part of what was before, after a flush.
    pub(crate) fn fade(&self) {
        let longest = self.longest();
        let rest = longest - longest / 8;
        let before = self.recent.swap(0, Ordering::Relaxed).max(if rest < LONG as u64 { 0 } else { rest });
        self.before.store(before, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_left_for_the_longest_value_and_given_back_when_none_comes() {
        let values = LongValues::default();
        values.note(LONG - 1);
        assert!(!values.is_news());
        assert_eq!(values.buffer_bytes(2), 0);
        values.note(200_000);
        values.note(150_000);
        assert!(values.is_news());
        let bytes = values.buffer_bytes(2);
        assert!((8 * 200_000..10 * 200_000).contains(&bytes), "{bytes}");
        values.note(200_001);
        assert!(!values.is_news(), "it is within the same step");
        values.fade();
        assert_eq!(values.buffer_bytes(2), bytes, "it came since the last flush");
        let mut last = bytes;
        let mut flushes = 0;
        while last > 0 {
            values.fade();
            let now = values.buffer_bytes(2);
            assert!(now < last && now >= last / 8 * 7 - 10 || now == 0, "{now} after {last}");
            (last, flushes) = (now, flushes + 1);
        }
        assert!((5..100).contains(&flushes), "{flushes}");
    }
}
