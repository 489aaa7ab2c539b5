//! Which blocks does the system keep a copy of once they are read? All of them; but where tables take more than twice the memory there is, those that are read again.
//!
//! There, what is put into the page cache pushes out what is as likely to be read next, and making room for it and filling it is a third of the CPU time of a read from the device. Where
//! the data would fit, every copy is worth having: nothing is held back.

use super::recent::{BlockKey, Recent, hashed};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many times the memory there is tables must take.
const TIMES: u64 = 2;

/// Blocks that are remembered: as many as memory has pages, and not more than this.
const MOST: u64 = 1 << 20;

const PAGE: u64 = 4 << 10;

/// What reads of all tables of a store leave in the page cache.
#[derive(Default)]
pub(crate) struct PageCache {
    /// Bytes, as far as is known.
    memory: Option<u64>,
    is_small: AtomicBool,
    /// Made when it is needed.
    read: OnceLock<Recent>,
}

impl PageCache {
    /// For a process that may use so many bytes of memory.
    pub(crate) fn new(memory: Option<u64>) -> Self {
        Self { memory, ..Self::default() }
    }

    /// Tables take so many bytes now.
    pub(crate) fn set_stored(&self, bytes: u64) {
        let is_small = self.memory.is_some_and(|memory| bytes / TIMES > memory);
        self.is_small.store(is_small, Ordering::Relaxed);
    }

    /// Whether a block that is to be read is to leave a copy.
    #[inline]
    pub(crate) fn takes(&self, key: BlockKey) -> bool {
        !self.is_small.load(Ordering::Relaxed) || self.was_read(key)
    }

    fn was_read(&self, key: BlockKey) -> bool {
        let pages = self.memory.unwrap_or_default() / PAGE;
        let read = self.read.get_or_init(|| Recent::new(pages.clamp(1, MOST) as usize));
        hashed(key).is_some_and(|hash| read.again(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: u64 = 4 << 20;

    fn taken(memory: Option<u64>, stored: u64) -> [usize; 2] {
        let pages = PageCache::new(memory);
        pages.set_stored(stored);
        [(); 2].map(|()| (0..100).filter(|block| pages.takes((1, *block))).count())
    }

    #[test]
    fn all_leave_a_copy_until_there_is_twice_as_much_as_memory_holds() {
        assert_eq!(taken(None, u64::MAX), [100, 100]);
        assert_eq!(taken(Some(MEMORY), 0), [100, 100]);
        assert_eq!(taken(Some(MEMORY), 2 * MEMORY), [100, 100]);
        let [first, second] = taken(Some(MEMORY), 2 * MEMORY + 2);
        assert!(first == 0 && second > 70, "{first} and {second}");
    }

    #[test]
    fn all_do_again_once_there_is_less() {
        let pages = PageCache::new(Some(MEMORY));
        pages.set_stored(u64::MAX);
        assert!(!pages.takes((1, 1)));
        pages.set_stored(MEMORY);
        assert!(pages.takes((1, 2)));
    }
}
