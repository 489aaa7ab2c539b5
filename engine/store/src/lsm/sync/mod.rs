//! Threads, locks and monotonic time of the durable store: the standard library's and parking_lot's.
//! Under `--cfg shuttle` each of them hands the decision who runs next to a test.
//!
//! [shuttle](https://docs.rs/shuttle) runs a test again and again, one thread at a time, and draws at
//! each lock, wait and [`point`] which thread goes on. `make test-shuttle` and `make simulate` build
//! so; nothing else does. Reordered memory is not shown: all atomics are in sequence.
//!
//! Everything that waits for another thread has to come from here. Under shuttle all threads share one
//! thread of the system, so a lock of another kind that is held across a wait, a lock or a [`point`]
//! would block all of them. A lock that is never held across one may be of any kind.

#[cfg(shuttle)]
mod checked;
#[cfg(shuttle)]
mod simulated_time;

#[cfg(not(shuttle))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(shuttle))]
pub(crate) use std::{
    thread::{JoinHandle, ThreadId, sleep},
    time::Instant,
};

#[cfg(shuttle)]
pub(crate) use checked::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(shuttle)]
pub(crate) use shuttle::{
    thread::{JoinHandle, ThreadId},
    thread_local,
};
#[cfg(shuttle)]
pub(crate) use simulated_time::{Instant, sleep};
#[cfg(all(test, shuttle))]
pub(crate) use {checked::set_points, simulated_time::TimeKeeper};

/// Where another thread may come in between, though there is no lock: before a step that readers and
/// the writer of a memtable take without one.
#[inline(always)]
pub(crate) fn point() {
    #[cfg(shuttle)]
    checked::point();
}

/// Where a simulated disk lets other threads come in between.
#[cfg(test)]
pub(crate) fn pause() {
    #[cfg(shuttle)]
    checked::pause();
}

/// The thread that asks.
pub(crate) fn this_thread() -> ThreadId {
    #[cfg(shuttle)]
    use shuttle::thread::current;
    #[cfg(not(shuttle))]
    use std::thread::current;
    current().id()
}

/// Whether a handle is of the thread that asks.
pub(crate) fn is_this_thread<T>(handle: &JoinHandle<T>) -> bool {
    handle.thread().id() == this_thread()
}

/// Starts a thread with a name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    #[cfg(shuttle)]
    use shuttle::thread::Builder;
    #[cfg(not(shuttle))]
    use std::thread::Builder;
    Builder::new().name(name.to_owned()).spawn(work)
}

/// Does several things at once, the last one in this thread, and returns what came of each. What no
/// thread can be started for is done in this one. A panic in one of them goes on in this thread.
#[cfg(not(shuttle))]
pub(crate) fn together<T: Send, W: FnOnce() -> T + Send>(name: &str, mut work: Vec<W>) -> Vec<T> {
    fn run<T, W: FnOnce() -> T>(work: &Mutex<Option<W>>) -> Option<T> {
        let work = work.lock().take();
        work.map(|work| work())
    }
    let Some(own) = work.pop() else { return Vec::new() };
    let work: Vec<_> = work.into_iter().map(|work| Mutex::new(Some(work))).collect();
    std::thread::scope(|scope| {
        let start = |work| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn_scoped(scope, move || run(work)).ok()
        };
        let threads: Vec<_> = work.iter().map(start).collect();
        let own = own();
        let others = threads.into_iter().zip(&work).filter_map(|(thread, work)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => run(work),
        });
        let mut done: Vec<_> = others.collect();
        done.push(own);
        done
    })
}

/// The same. This thread does nothing meanwhile: shuttle wakes it when the others have ended, whatever it
/// waits for.
#[cfg(shuttle)]
pub(crate) fn together<T: Send, W: FnOnce() -> T + Send>(_: &str, mut work: Vec<W>) -> Vec<T> {
    if work.len() == 1 {
        return work.pop().map(|work| work()).into_iter().collect();
    }
    shuttle::thread::scope(|scope| {
        let threads: Vec<_> = work.into_iter().map(|work| scope.spawn(work)).collect();
        let join = |thread: shuttle::thread::ScopedJoinHandle<T>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}
