//! Health of a store: whether writes are refused, why, and until when.
//!
//! Two kinds of failure. *No room* (a full disk, a quota) passes: writes are refused with the error of
//! the system, reads go on, and the step that failed is tried again until it succeeds. Any other
//! failure of a log, a flush or a merge stays until the store is opened again, because what the disk
//! holds is unknown. So does a failed sync of the directory, also for want of room: names that it was to
//! make last, also those of other work that goes on beside it, may not be written by the next one.

use super::events::Events;
use crate::error::{Error, Result};
use crate::event::Event;
use parking_lot::Mutex;
use std::io::ErrorKind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which work found no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Commits, syncs and flushes: the flush thread tries again.
    Writes,
    /// Merges: the merge thread does.
    Merges,
}

#[derive(Default)]
pub(super) struct Health {
    /// Whether writes are refused: all that a healthy write looks at.
    is_ill: AtomicBool,
    failed: OnceLock<Error>,
    /// A sync of the directory failed: names of files that count may not last.
    has_lost_names: AtomicBool,
    /// No room for writes, and for merges. Never locked across a wait.
    no_room: Mutex<[Option<Error>; 2]>,
    events: Events,
}

/// Whether a failure passes when there is room again.
pub(super) fn is_no_room(error: &Error) -> bool {
    matches!(error, Error::Io { kind: ErrorKind::StorageFull | ErrorKind::QuotaExceeded, .. })
}

impl Health {
    /// Of a store whose failures the program hears of. One that is read-only has none.
    pub(super) fn new(events: Events) -> Self {
        Self { events, ..Self::default() }
    }

    /// The reason why writes are refused, if they are; a failure that stays before one that passes.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        if self.is_ill.load(Ordering::Acquire) { self.failure().map_or(Ok(()), Err) } else { Ok(()) }
    }

    #[cold]
    pub(super) fn failure(&self) -> Option<Error> {
        self.failed.get().cloned().or_else(|| self.no_room.lock().iter().flatten().next().cloned())
    }

    /// Notes a failure.
    pub(super) fn fail(&self, work: Work, error: &Error) {
        let error = &error.of_later_calls();
        // Locked until it shows: a recovery in between would hide it.
        let mut no_room = self.no_room.lock();
        // Events are sent under the lock, so that they come in the order of what they tell.
        if is_no_room(error) {
            let is_first = no_room.iter().all(Option::is_none) && self.failed.get().is_none();
            no_room[work as usize].get_or_insert_with(|| error.clone());
            if is_first {
                self.events.send(|| Event::NoRoom { error: error.clone() });
            }
        } else if self.failed.set(error.clone()).is_ok() {
            self.events.send(|| Event::Failed { error: error.clone() });
        }
        self.is_ill.store(true, Ordering::Release);
    }

    /// Notes that a sync of the directory failed: no edit of the manifest may count on a name any more.
    pub(super) fn lose_names(&self, error: &Error) {
        self.has_lost_names.store(true, Ordering::Release);
        self.fail(Work::Writes, error);
    }

    /// Why no edit of the manifest may count on the names of files, if none may.
    pub(super) fn check_names(&self) -> Result<()> {
        if self.has_lost_names.load(Ordering::Acquire) { self.failure().map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// Whether the store has to be opened again.
    pub(super) fn is_over(&self) -> bool {
        self.failed.get().is_some()
    }

    /// Whether this work waits for room.
    pub(super) fn lacks_room(&self, work: Work) -> bool {
        self.is_ill.load(Ordering::Acquire) && self.no_room.lock()[work as usize].is_some()
    }

    /// Notes that this work found room again.
    pub(super) fn recover(&self, work: Work) {
        if !self.is_ill.load(Ordering::Acquire) {
            return;
        }
        let mut no_room = self.no_room.lock();
        no_room[work as usize] = None;
        if no_room.iter().all(Option::is_none) && self.failed.get().is_none() {
            self.is_ill.store(false, Ordering::Release);
            self.events.send(|| Event::Resumed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::path::Path;

    fn error(kind: ErrorKind, call: &'static str) -> Error {
        Error::io(Path::new("/d/log"), call, &io::Error::from(kind))
    }

    #[test]
    fn no_room_passes_and_everything_else_stays() {
        let health = Health::default();
        assert_eq!(health.check(), Ok(()));
        let (full, quota) =
            (error(ErrorKind::StorageFull, "write"), error(ErrorKind::QuotaExceeded, "merge"));
        health.fail(Work::Writes, &full);
        health.fail(Work::Merges, &quota);
        assert_eq!(health.check(), Err(full.clone()));
        health.recover(Work::Writes);
        assert!(!health.lacks_room(Work::Writes) && health.lacks_room(Work::Merges));
        assert_eq!(health.check(), Err(quota));
        health.recover(Work::Merges);
        assert_eq!(health.check(), Ok(()));
        let other = error(ErrorKind::Other, "sync");
        health.fail(Work::Writes, &full);
        health.fail(Work::Writes, &other);
        health.recover(Work::Writes);
        assert!(health.is_over() && health.check() == Err(other));
    }
}
