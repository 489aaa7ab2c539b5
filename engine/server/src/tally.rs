//! How often was each command called, and which errors were answered? For INFO's Commandstats and Errorstats, and for `/metrics`.
//!
//! Each thread adds to cells of its own, and a session only when another command follows or its batch ends: a pipeline of a thousand GETs is
//! one addition. So is their time: the clock is read where the command changes, not for each request. It contains reading the requests and
//! writing the replies.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::command::table::{self, COUNT, Id, Spec};
use crate::stripe::{self, STRIPES};

/// What happened to the requests for one command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Executed, those included that failed.
    pub(crate) calls: u64,
    /// Not executed: a wrong number of arguments, no password given, or no permission.
    pub(crate) rejected: u64,
    /// Executed, and answered by an error.
    pub(crate) failed: u64,
    /// Time that those executed took, in nanoseconds.
    pub(crate) time_ns: u64,
}

/// Counters of every command and of every error code.
#[derive(Debug)]
pub(crate) struct CommandStats {
    stripes: Box<[Stripe; STRIPES]>,
    // std Mutex: taken for error replies only. The codes are those of our own texts, so they are few.
    errors: Mutex<BTreeMap<String, u64>>,
}

/// The cells of one thread, with no cache line that is another's too.
#[derive(Debug)]
#[repr(align(128))]
struct Stripe([Cell; COUNT]);

#[derive(Debug, Default)]
struct Cell {
    calls: AtomicU64,
    rejected: AtomicU64,
    failed: AtomicU64,
    time_ns: AtomicU64,
}

/// Calls of one session that are not counted yet: those of the last command.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Cells of the thread that the session began on.
    stripe: u8,
    /// The last command as [`Id`] numbers it, or [`NO_COMMAND`].
    last: u8,
    calls: u32,
    /// When the first of them began.
    since: Instant,
}

const NO_COMMAND: u8 = u8::MAX;

impl Tally {
    pub(crate) fn new() -> Self {
        Self { stripe: stripe::own() as u8, last: NO_COMMAND, calls: 0, since: Instant::now() }
    }

    /// A batch of calls begins.
    #[inline]
    pub(crate) fn begin(&mut self, now: Instant) {
        self.since = now;
    }

    /// One call more; true if it is of another command than the last one.
    #[inline]
    pub(crate) fn call(&mut self, stats: &CommandStats, id: Id) -> bool {
        let is_other = self.last != id as u8;
        if is_other {
            if self.calls > 0 {
                self.flush(stats, Instant::now());
            }
            self.last = id as u8;
        }
        self.calls += 1;
        is_other
    }

    /// One call less than [`call`](Self::call) has just counted.
    #[cold]
    pub(crate) fn take_back(&mut self) {
        self.calls = self.calls.saturating_sub(1);
    }

    /// Counts what is not counted yet.
    #[inline]
    pub(crate) fn flush(&mut self, stats: &CommandStats, now: Instant) {
        if self.calls > 0 {
            let cell = &stats.stripes[usize::from(self.stripe)].0[usize::from(self.last)];
            cell.calls.fetch_add(u64::from(self.calls), Ordering::Relaxed);
            cell.time_ns.fetch_add(nanoseconds(now.saturating_duration_since(self.since)), Ordering::Relaxed);
            self.calls = 0;
        }
        self.since = now;
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    // Of 584 years.
    duration.as_nanos() as u64
}

impl Default for CommandStats {
    fn default() -> Self {
        let stripe = |_| Stripe(std::array::from_fn(|_| Cell::default()));
        Self { stripes: Box::new(std::array::from_fn(stripe)), errors: Mutex::default() }
    }
}

impl CommandStats {
    pub(crate) fn reject(&self, tally: &Tally, id: Id) {
        self.stripes[usize::from(tally.stripe)].0[id as usize].rejected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fail(&self, tally: &Tally, id: Id) {
        self.stripes[usize::from(tally.stripe)].0[id as usize].failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an error reply by its code, the first word of its text.
    pub(crate) fn answer_error(&self, text: &[u8]) {
        let code = text.split(|&byte| byte == b' ').next().unwrap_or_default();
        let code = String::from_utf8_lossy(code);
        let mut errors = self.errors();
        match errors.get_mut(code.as_ref()) {
            Some(count) => *count += 1,
            None => {
                errors.insert(code.into_owned(), 1);
            }
        }
    }

    fn errors(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every command that was asked for, in the order of the table.
    pub(crate) fn commands(&self) -> Vec<(&'static Spec, Calls)> {
        let sum = |spec: &Spec, which: fn(&Cell) -> &AtomicU64| -> u64 {
            self.stripes.iter().map(|stripe| which(&stripe.0[spec.id as usize]).load(Ordering::Relaxed)).sum()
        };
        let calls = |spec| Calls {
            calls: sum(spec, |cell| &cell.calls),
            rejected: sum(spec, |cell| &cell.rejected),
            failed: sum(spec, |cell| &cell.failed),
            time_ns: sum(spec, |cell| &cell.time_ns),
        };
        let all = table::SPECS.iter().map(|spec| (spec, calls(spec)));
        all.filter(|(_, calls)| *calls != Calls::default()).collect()
    }

    /// Requests executed, of all commands.
    pub(crate) fn total_calls(&self) -> u64 {
        let cells = self.stripes.iter().flat_map(|stripe| &stripe.0);
        cells.map(|cell| cell.calls.load(Ordering::Relaxed)).sum()
    }

    /// Every error code that was answered, and how often.
    pub(crate) fn error_codes(&self) -> Vec<(String, u64)> {
        self.errors().iter().map(|(code, count)| (code.clone(), *count)).collect()
    }

    /// Error replies of all codes.
    pub(crate) fn error_replies(&self) -> u64 {
        self.errors().values().sum()
    }

    /// CONFIG RESETSTAT.
    pub(crate) fn reset(&self) {
        for cell in self.stripes.iter().flat_map(|stripe| &stripe.0) {
            for number in [&cell.calls, &cell.rejected, &cell.failed, &cell.time_ns] {
                number.store(0, Ordering::Relaxed);
            }
        }
        self.errors().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_all_threads_are_added_up() {
        let stats = CommandStats::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * STRIPES {
                scope.spawn(|| {
                    let mut tally = Tally::new();
                    let begin = Instant::now();
                    tally.begin(begin);
                    for id in [Id::Get, Id::Get, Id::Set, Id::Get] {
                        tally.call(&stats, id);
                    }
                    tally.call(&stats, Id::Get);
                    tally.take_back();
                    let end = begin + Duration::from_secs(3600);
                    tally.flush(&stats, end);
                    tally.flush(&stats, end + Duration::from_secs(1));
                    stats.fail(&tally, Id::Set);
                });
            }
        });
        let threads = 2 * STRIPES as u64;
        let found: Vec<_> = stats.commands().into_iter().map(|(spec, calls)| (spec.name, calls)).collect();
        let [("get", get), ("set", set)] = found[..] else { panic!("{found:?}") };
        assert_eq!((get.calls, get.failed), (3 * threads, 0));
        assert_eq!((set.calls, set.failed, set.rejected), (threads, threads, 0));
        // An hour for the last GETs of each, and what passed until then for the others.
        let hours = threads * 3_600_000_000_000;
        assert!(set.time_ns > 0 && get.time_ns + set.time_ns >= hours && get.time_ns < hours + hours / 10);
        stats.reset();
        assert!(stats.commands().is_empty());
    }

    #[test]
    fn errors_are_counted_by_their_first_word() {
        let stats = CommandStats::default();
        for text in ["ERR syntax error", "OOM no", "ERR no such key", "ERR"] {
            stats.answer_error(text.as_bytes());
        }
        assert_eq!(stats.error_codes(), [("ERR".to_owned(), 3), ("OOM".to_owned(), 1)]);
        assert_eq!(stats.error_replies(), 4);
    }
}
