//! shuttle's locks under parking_lot's names.

use super::simulated_time;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use shuttle::sync::{RwLockReadGuard, RwLockWriteGuard};

thread_local! {
    /// Of so many points one is a place where threads may change, and the state of its random numbers.
    static POINTS: Cell<(u32, u64)> = const { Cell::new((1, 0)) };
}

/// From now on about one of `every` points is a place where threads may change, chosen from a seed:
/// a long run with all of them spends its time on nothing else.
#[cfg(test)]
pub(crate) fn set_points(every: u32, seed: u64) {
    POINTS.set((every.max(1), seed | 1));
}

pub(super) fn point() {
    let (every, state) = POINTS.get();
    if every > 1 {
        let next = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        POINTS.set((every, next));
        if (next >> 33) % u64::from(every) != 0 {
            return;
        }
    }
    shuttle::thread::yield_now();
}

/// As a point, but each of them is a place where threads may change.
#[cfg(test)]
pub(super) fn pause() {
    shuttle::thread::yield_now();
}

#[derive(Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

/// Without the inner guard only while its owner waits.
pub(crate) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(self.0.lock().ok())
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|guard| MutexGuard(Some(guard)))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("no thread panicked while it held the lock")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("no thread panicked while it held the lock")
    }
}

#[derive(Default)]
pub(crate) struct RwLock<T>(shuttle::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().expect("no thread panicked while it held the lock")
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().expect("no thread panicked while it held the lock")
    }

    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.0.try_read().ok()
    }

    pub(crate) fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.0.try_write().ok()
    }
}

#[derive(Default)]
pub(crate) struct Condvar(Arc<shuttle::sync::Condvar>);

/// Whether a timed wait ended by its time.
pub(crate) struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    #[allow(dead_code, reason = "as parking_lot has it")]
    pub(crate) fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.0 = guard.0.take().and_then(|guard| self.0.wait(guard).ok());
    }

    /// Ends when another thread notifies, or when simulated time has come to the end of `duration`.
    /// Where no time is simulated, it lasts until another thread notifies.
    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, duration: Duration) -> WaitTimeoutResult {
        let alarm = simulated_time::Alarm::set(duration, &self.0);
        self.wait(guard);
        WaitTimeoutResult(alarm.has_rung())
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    #[allow(dead_code, reason = "as parking_lot has it")]
    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }
}
