//! Who may change a key? Whoever holds its lock: one of a few hundred, by the key's hash. Calls with several keys take theirs in ascending order.

use crate::lsm::hash;
use parking_lot::{Mutex, MutexGuard};

const LOCKS: usize = 256;

pub(super) struct Locks(Box<[Mutex<()>]>);

impl Locks {
    pub(super) fn new() -> Self {
        Self((0..LOCKS).map(|_| Mutex::new(())).collect())
    }

    pub(super) fn lock(&self, key: &[u8]) -> MutexGuard<'_, ()> {
        self.0[place(key)].lock()
    }

    pub(super) fn lock_several<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) -> Vec<MutexGuard<'_, ()>> {
        let mut places: Vec<_> = keys.map(place).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| self.0[place].lock()).collect()
    }

    /// Nobody else changes anything.
    pub(super) fn lock_all(&self) -> Vec<MutexGuard<'_, ()>> {
        self.0.iter().map(Mutex::lock).collect()
    }
}

fn place(key: &[u8]) -> usize {
    hash(key) as usize % LOCKS
}
