//! Who may change a key? Whoever has its lock: one of a few thousand, by the key's hash. A write that depends on what is there has it alone, from the look to the write.
//! Writes that do not look share it, so that those of one key wait for one sync together; which of them is the last is what the log says. Calls with several keys
//! take theirs in ascending order.
//!
//! A thread that does not wait for others ([`NonBlocking`]) does not wait here either: whoever has a lock may be waiting for the disk.

use crate::error::{Error, Result};
use crate::lsm::hash;
use crate::lsm::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::nonblocking::NonBlocking;

/// As many threads as may wait for a sync seldom meet in one of them. The few threads of a simulation
/// are to meet.
const LOCKS: usize = if cfg!(shuttle) { 8 } else { 2048 };

pub(super) struct Locks(Box<[RwLock<()>]>);

/// The right to change a key, or several, by what is there.
pub(super) type Alone<'a> = RwLockWriteGuard<'a, ()>;

/// The right to overwrite a key, or several.
pub(super) type Shared<'a> = RwLockReadGuard<'a, ()>;

impl Locks {
    pub(super) fn new() -> Self {
        Self((0..LOCKS).map(|_| RwLock::new(())).collect())
    }

    pub(super) fn alone(&self, key: &[u8]) -> Result<Alone<'_>> {
        take(self.0[place(key)].try_write(), || self.0[place(key)].write())
    }

    pub(super) fn several_alone<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Alone<'_>>> {
        let places = places(keys).into_iter();
        places.map(|place| take(self.0[place].try_write(), || self.0[place].write())).collect()
    }

    pub(super) fn shared(&self, key: &[u8]) -> Result<Shared<'_>> {
        take(self.0[place(key)].try_read(), || self.0[place(key)].read())
    }

    pub(super) fn several_shared<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Shared<'_>>> {
        let places = places(keys).into_iter();
        places.map(|place| take(self.0[place].try_read(), || self.0[place].read())).collect()
    }

    /// Nobody else changes anything.
    pub(super) fn all_alone(&self) -> Vec<Alone<'_>> {
        self.0.iter().map(RwLock::write).collect()
    }
}

/// What was had at once, or what may be waited for.
fn take<T>(at_once: Option<T>, wait: impl FnOnce() -> T) -> Result<T> {
    match at_once {
        Some(guard) => Ok(guard),
        None if NonBlocking::is_on() => Err(Error::WouldBlock),
        None => Ok(wait()),
    }
}

fn place(key: &[u8]) -> usize {
    hash(key) as usize % LOCKS
}

fn places<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut places: Vec<_> = keys.map(place).collect();
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_wait_is_told_where_somebody_has_the_lock() {
        let locks = Locks::new();
        let keys = || [&b"a"[..], b"b", b"a"].into_iter();
        let overwriting = locks.shared(b"a").unwrap();
        assert!(locks.shared(b"a").is_ok(), "those that do not look share it");
        let _nonblocking = NonBlocking::begin();
        assert_eq!(locks.alone(b"a").err(), Some(Error::WouldBlock));
        assert_eq!(locks.several_alone(keys()).err(), Some(Error::WouldBlock));
        assert_eq!(locks.several_shared(keys()).map(|guards| guards.len()), Ok(2));
        drop(overwriting);
        assert_eq!(locks.several_alone(keys()).map(|guards| guards.len()), Ok(2));
        let _changing = locks.alone(b"a").unwrap();
        assert_eq!(locks.shared(b"a").err(), Some(Error::WouldBlock));
    }
}
