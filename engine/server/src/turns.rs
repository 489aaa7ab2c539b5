//! Exclusive execution: a transaction runs while no other thread executes requests.
//!
//! Each thread takes a shared turn for the requests that it executes between two waits, and an exclusive
//! one for a transaction. That is one lock for many requests, and none where there is one thread only.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::{Duration, Instant};

/// How long a worker tries to get an exclusive turn without holding up the threads that begin a shared one.
const PATIENCE: Duration = Duration::from_millis(10);

/// Time between two attempts.
const PAUSE: Duration = Duration::from_micros(50);

/// Who may execute requests.
#[derive(Debug)]
pub(crate) struct Turns {
    /// `None`: one thread executes all requests.
    lock: Option<RwLock<()>>,
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
        Self { lock: (threads > 1).then(RwLock::default) }
    }

    /// Waits while another thread has an exclusive turn. The thread must have no turn.
    pub(crate) fn shared(&self) -> SharedTurn<'_> {
        // Nothing is left half done by a panic that this lock protects.
        SharedTurn(self.lock.as_ref().map(|lock| lock.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Waits until no other thread has a turn; those that want one meanwhile wait behind this one. The thread must have no turn.
    pub(crate) fn exclusive(&self) -> ExclusiveTurn<'_> {
        ExclusiveTurn(self.lock.as_ref().map(|lock| lock.write().unwrap_or_else(PoisonError::into_inner)))
    }

    /// As [`exclusive`](Self::exclusive), for a worker. Other workers hold shared turns while they wait for the disk, so for a
    /// while I/O threads are let in before this one.
    pub(crate) fn exclusive_for_worker(&self) -> ExclusiveTurn<'_> {
        let Some(lock) = &self.lock else { return ExclusiveTurn(None) };
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            match lock.try_write() {
                Ok(guard) => return ExclusiveTurn(Some(guard)),
                Err(TryLockError::Poisoned(poisoned)) => return ExclusiveTurn(Some(poisoned.into_inner())),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
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
    fn one_thread_needs_no_lock() {
        let turns = Turns::new(1);
        let (_one, _other) = (turns.shared(), turns.exclusive());
    }
}
