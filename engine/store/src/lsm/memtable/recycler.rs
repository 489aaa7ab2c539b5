//! Recycler: the memory of a flushed memtable, reused by the next one, so that writers take no page faults.
//!
//! A page fault of a large page zeroes 2 MiB. On a virtual machine whose hypervisor takes back free
//! memory it takes up to 5 ms, and the clients of a server wait meanwhile. At most one mapping is kept,
//! so a store that writes holds no more memory than while it flushes. An idle store returns it
//! ([`Recycler::clear`]).

use crate::lsm::mapping::Mapping;
use parking_lot::Mutex;

/// Memory of one flushed memtable at most.
#[derive(Default)]
pub(crate) struct Recycler {
    kept: Mutex<Option<Recycled>>,
}

/// The memory of an arena that is no more.
pub(super) struct Recycled {
    pub(super) mapping: Mapping,
    /// Up to here pages are resident, or become so by themselves.
    pub(super) resident: usize,
    /// Up to here something may have been written.
    pub(super) dirty: usize,
}

impl Recycler {
    /// The kept memory, if it is so long.
    pub(super) fn take(&self, len: usize) -> Option<Recycled> {
        self.kept.lock().take_if(|kept| kept.mapping.len() == len)
    }

    /// Keeps this; what was kept before goes back to the system.
    pub(super) fn put(&self, recycled: Recycled) {
        let before = self.kept.lock().replace(recycled);
        drop(before);
    }

    /// Returns the kept memory to the system.
    pub(crate) fn clear(&self) {
        let kept = self.kept.lock().take();
        drop(kept);
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.lock().is_none()
    }
}
