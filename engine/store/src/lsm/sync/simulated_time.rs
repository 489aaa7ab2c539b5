//! Simulated monotonic time under shuttle. A [`TimeKeeper`] thread moves it on to the end of the next
//! timed wait whenever it runs: when the test's scheduler draws it, and when no other thread can go on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Add;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    /// Nanoseconds since the beginning.
    static NOW: Cell<u64> = const { Cell::new(0) };
    /// Timed waits, by their end and a number.
    static ALARMS: RefCell<BTreeMap<(u64, u64), Arc<shuttle::sync::Condvar>>> =
        const { RefCell::new(BTreeMap::new()) };
    static IS_KEPT: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(u64);

impl Instant {
    pub(crate) fn now() -> Self {
        Self(NOW.get())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    pub(crate) fn saturating_duration_since(&self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl std::ops::Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// A timed wait: wakes its condition variable at its end. It ends when it is dropped.
pub(super) struct Alarm(Option<(u64, u64)>);

impl Alarm {
    pub(super) fn set(duration: Duration, condvar: &Arc<shuttle::sync::Condvar>) -> Self {
        if !IS_KEPT.get() {
            return Self(None);
        }
        let (Instant(end), condvar) = (Instant::now() + duration, Arc::clone(condvar));
        Self(Some(ALARMS.with_borrow_mut(|alarms| {
            let number =
                alarms.range((end, 0)..=(end, u64::MAX)).next_back().map_or(0, |((_, number), _)| number + 1);
            alarms.insert((end, number), condvar);
            (end, number)
        })))
    }

    pub(super) fn has_rung(&self) -> bool {
        self.0.is_some_and(|(end, _)| end <= NOW.get())
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            ALARMS.with_borrow_mut(|alarms| alarms.remove(&place));
        }
    }
}

/// Waits until simulated time has moved on. Where no time is simulated, other threads may come in
/// between, and no more.
pub(crate) fn sleep(duration: Duration) {
    if !IS_KEPT.get() {
        return shuttle::thread::yield_now();
    }
    let (lock, condvar) = (shuttle::sync::Mutex::new(()), Arc::new(shuttle::sync::Condvar::new()));
    let end = Instant::now() + duration;
    let mut guard = lock.lock().expect("the lock has one owner");
    while Instant::now() < end {
        let _alarm = Alarm::set(end - Instant::now(), &condvar);
        guard = condvar.wait(guard).expect("the lock has one owner");
    }
}

/// Moves simulated time on.
#[cfg(test)]
pub(crate) struct TimeKeeper {
    thread: shuttle::thread::JoinHandle<()>,
    is_over: Arc<std::sync::atomic::AtomicBool>,
}

#[cfg(test)]
thread_local! {
    static TASK: Cell<Option<shuttle::current::TaskId>> = const { Cell::new(None) };
}

#[cfg(test)]
impl TimeKeeper {
    /// Turns in which nothing else ran and no wait was to end, after which all threads wait for each other.
    const MOST_IDLE: u32 = 1_000;

    /// From now on time passes, from its beginning.
    pub(crate) fn start() -> Self {
        use std::sync::atomic::Ordering;
        NOW.set(0);
        ALARMS.with_borrow_mut(BTreeMap::clear);
        IS_KEPT.set(true);
        let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let thread = {
            let is_over = Arc::clone(&is_over);
            shuttle::thread::spawn(move || {
                TASK.set(Some(shuttle::current::me()));
                let (mut idle, mut switches) = (0, 0);
                while !is_over.load(Ordering::Relaxed) {
                    let now = shuttle::current::context_switches();
                    idle = if Self::ring() || now > switches + 1 { 0 } else { idle + 1 };
                    switches = shuttle::current::context_switches();
                    assert!(idle < Self::MOST_IDLE, "deadlock: all threads wait for each other");
                    shuttle::thread::yield_now();
                }
            })
        };
        Self { thread, is_over }
    }

    /// The thread, once it has run: a scheduler chooses it seldom.
    pub(crate) fn task() -> Option<shuttle::current::TaskId> {
        TASK.get()
    }

    /// Forgets the thread of an earlier run.
    pub(crate) fn forget() {
        TASK.set(None);
        IS_KEPT.set(false);
    }

    pub(crate) fn stop(self) {
        self.is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        self.thread.join().expect("it does not panic");
        Self::forget();
    }

    /// Moves time on to the end of the next timed wait, and ends it. False, where there is none.
    fn ring() -> bool {
        let next = ALARMS.with_borrow_mut(BTreeMap::pop_first);
        let Some(((end, _), condvar)) = next else { return false };
        NOW.set(NOW.get().max(end));
        condvar.notify_all();
        true
    }
}
