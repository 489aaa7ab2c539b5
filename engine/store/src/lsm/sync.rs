//! By which locks do the durable store's threads meet? By parking_lot's; under `--cfg shuttle` by ones that hand every decision of who runs next to a test.
//!
//! [shuttle](https://docs.rs/shuttle) runs a test again and again, one thread at a time, and draws at each lock, wait and [`point`] who goes on. `make test-shuttle` builds so;
//! nothing else does. What it does not show is reordered memory: its atomics are in sequence, as the ones here are without it.

#[cfg(not(shuttle))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};

#[cfg(shuttle)]
pub(crate) use checked::{Condvar, Mutex, MutexGuard};

/// Where another thread may come in between, though there is no lock: before a step that readers and the writer of a memtable take without one.
#[inline(always)]
pub(crate) fn point() {
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
}

/// shuttle's locks under parking_lot's names.
#[cfg(shuttle)]
mod checked {
    use std::ops::{Deref, DerefMut};
    use std::time::Duration;

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
    pub(crate) struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            guard.0 = guard.0.take().and_then(|guard| self.0.wait(guard).ok());
        }

        /// There is no time under shuttle: it lasts until somebody wakes it.
        pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
            self.wait(guard);
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        #[allow(dead_code, reason = "as parking_lot has it")]
        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }
    }
}
