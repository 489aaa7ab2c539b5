//! Exclusive execution: a transaction or a script runs while no other thread executes requests.
//!
//! Each thread takes a shared turn for the requests that it executes between two waits, and an exclusive
//! one for a transaction. That is one lock for many requests, and none while there is one thread only.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How long a worker tries to get an exclusive turn without holding up the threads that begin a shared one.
const PATIENCE: Duration = Duration::from_millis(10);

/// Time between two attempts.
const PAUSE: Duration = Duration::from_micros(50);

/// Who may execute requests.
#[derive(Debug)]
pub(crate) struct Turns {
    // parking_lot: a thread that waits for a script looks up now and then, to tell its clients that the server is busy.
    lock: RwLock<()>,
    /// False: one thread executes all requests.
    is_shared: AtomicBool,
}

/// The right to execute requests beside those of other threads.
#[derive(Debug)]
pub(crate) struct SharedTurn<'a>(
    #[allow(dead_code, reason = "held for its drop")] Option<RwLockReadGuard<'a, ()>>,
);

/// The right to execute requests alone.
#[derive(Debug)]
pub(crate) struct ExclusiveTurn<'a>(
    #[allow(dead_code, reason = "held for its drop")] Option<RwLockWriteGuard<'a, ()>>,
);

impl Turns {
    /// `threads` is how many may execute requests, workers included.
    pub(crate) fn new(threads: usize) -> Self {
        Self { lock: RwLock::new(()), is_shared: AtomicBool::new(threads > 1) }
    }

    /// From now on other threads execute requests, too. The thread that calls this is the only one that has done so, and has no turn.
    pub(crate) fn share(&self) {
        self.is_shared.store(true, Ordering::Release);
    }

    fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Acquire)
    }

    /// Waits while another thread has an exclusive turn. The thread must have no turn.
    pub(crate) fn shared(&self) -> SharedTurn<'_> {
        SharedTurn(self.is_shared().then(|| self.lock.read()))
    }

    /// As [`shared`](Self::shared), but waits no longer than `time`.
    #[inline]
    pub(crate) fn shared_within(&self, time: Duration) -> Option<SharedTurn<'_>> {
        if !self.is_shared() {
            return Some(SharedTurn(None));
        }
        self.lock.try_read().or_else(|| self.lock.try_read_for(time)).map(|turn| SharedTurn(Some(turn)))
    }

    /// Waits until no other thread has a turn; those that want one meanwhile wait behind this one. The thread must have no turn.
    pub(crate) fn exclusive(&self) -> ExclusiveTurn<'_> {
        ExclusiveTurn(self.is_shared().then(|| self.lock.write()))
    }

    /// As [`exclusive`](Self::exclusive), for a worker. Other workers hold shared turns while they wait for the disk, so for a
    /// while I/O threads are let in before this one.
    pub(crate) fn exclusive_for_worker(&self) -> ExclusiveTurn<'_> {
        if !self.is_shared() {
            return ExclusiveTurn(None);
        }
        for _ in 0..PATIENCE.as_micros() / PAUSE.as_micros() {
            if let Some(turn) = self.lock.try_write() {
                return ExclusiveTurn(Some(turn));
            }
            std::thread::sleep(PAUSE);
        }
        self.exclusive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn an_exclusive_turn_is_alone() {
        let turns = Turns::new(4);
        let (shared, exclusive) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let _turn = turns.shared();
                        shared.fetch_add(1, Ordering::SeqCst);
                        assert_eq!(exclusive.load(Ordering::SeqCst), 0);
                        shared.fetch_sub(1, Ordering::SeqCst);
                    }
                });
                scope.spawn(|| {
                    for round in 0..200 {
                        let _turn =
                            if round % 2 == 0 { turns.exclusive() } else { turns.exclusive_for_worker() };
                        assert_eq!(exclusive.fetch_add(1, Ordering::SeqCst), 0);
                        assert_eq!(shared.load(Ordering::SeqCst), 0);
                        exclusive.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
    }

    #[test]
    fn one_thread_needs_no_lock_until_it_shares() {
        let turns = Turns::new(1);
        let unlocked = (turns.shared(), turns.exclusive());
        drop(unlocked);
        turns.share();
        let alone = turns.exclusive();
        assert!(turns.shared_within(Duration::from_millis(1)).is_none());
        drop(alone);
        assert!(turns.shared_within(Duration::ZERO).is_some());
    }
}
