//! Slow requests: the log of them (`SLOWLOG`), and the latency monitor (`LATENCY`).
//!
//! Both need the time of a single request, and reading the clock before and after each one costs time. So requests that are fast by their kind are timed only where a
//! threshold below a millisecond, or the latency monitor, asks for it.

mod events;
mod slow_log;

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use plumbkv::NonBlocking;
use plumbkv_resp::Request;

use crate::command::table::{Id, Spec, flag};
use crate::process;
use crate::session::{Client, Origin};
use crate::shared::Shared;
pub(crate) use events::Events;
pub(crate) use slow_log::SlowLog;

/// Default of `slowlog-log-slower-than`, in microseconds.
pub(crate) const SLOW_US: i64 = 10_000;

/// With a threshold below this every request is timed, in microseconds.
const EACH_BELOW_US: i64 = 1000;

/// Values of [`Latency::timed`].
const NOTHING: u8 = 0;
const SLOW_KINDS: u8 = 1;
const EVERYTHING: u8 = 2;

/// A request with more words is not fast, whatever its command.
const FEW_WORDS: usize = 16;

/// Copying a longer value takes its time, in bytes.
const SHORT_VALUE: usize = 64 << 10;

/// What is known of slow requests.
#[derive(Debug)]
pub(crate) struct Latency {
    /// `slowlog-log-slower-than`; negative where nothing is logged.
    slow_us: AtomicI64,
    /// `latency-monitor-threshold`; 0 where nothing is monitored.
    monitor_ms: AtomicU64,
    /// Follows from both thresholds.
    timed: AtomicU8,
    pub(crate) slow_log: SlowLog,
    pub(crate) events: Events,
}

impl Latency {
    pub(crate) fn new(slow_us: i64, monitor_ms: u64) -> Self {
        Self {
            slow_us: AtomicI64::new(slow_us),
            monitor_ms: AtomicU64::new(monitor_ms),
            timed: AtomicU8::new(timed(slow_us, monitor_ms)),
            slow_log: SlowLog::default(),
            events: Events::default(),
        }
    }

    pub(crate) fn slow_us(&self) -> i64 {
        self.slow_us.load(Ordering::Relaxed)
    }

    pub(crate) fn set_slow_us(&self, slow_us: i64) {
        self.slow_us.store(slow_us, Ordering::Relaxed);
        self.timed.store(timed(slow_us, self.monitor_ms()), Ordering::Relaxed);
    }

    pub(crate) fn monitor_ms(&self) -> u64 {
        self.monitor_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn set_monitor_ms(&self, monitor_ms: u64) {
        self.monitor_ms.store(monitor_ms, Ordering::Relaxed);
        self.timed.store(timed(self.slow_us(), monitor_ms), Ordering::Relaxed);
    }

    /// Whether a request is to be timed.
    #[inline]
    pub(crate) fn times(&self, shared: &Shared, spec: &Spec, request: &Request<'_>) -> bool {
        match self.timed.load(Ordering::Relaxed) {
            SLOW_KINDS => {
                is_slow_kind(spec, request) || shared.database.is_durable() && !NonBlocking::is_on()
            }
            timed => timed == EVERYTHING,
        }
    }

    /// Takes the time of a request that has been executed.
    #[cold]
    pub(crate) fn note(
        &self,
        shared: &Shared,
        client: &Client,
        spec: &Spec,
        request: &Request<'_>,
        took: Duration,
    ) {
        // The time of a script's commands is the script's.
        if client.origin == Origin::Script {
            return;
        }
        let (us, slow_us) = (took.as_micros(), self.slow_us());
        if u128::try_from(slow_us).is_ok_and(|slow_us| us >= slow_us) {
            self.slow_log.record(shared, client, spec, request, took);
        }
        let (ms, monitor_ms) = (took.as_millis(), self.monitor_ms());
        if monitor_ms > 0 && ms >= u128::from(monitor_ms) {
            let event = if spec.has(flag::FAST) { events::FAST_COMMAND } else { events::COMMAND };
            self.events.add(event, process::unix_time_s(), whole(ms));
        }
    }
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn timed(slow_us: i64, monitor_ms: u64) -> u8 {
    match (slow_us, monitor_ms) {
        (0..EACH_BELOW_US, _) | (_, 1..) => EVERYTHING,
        (..0, 0) => NOTHING,
        (EACH_BELOW_US.., 0) => SLOW_KINDS,
    }
}

/// Whether a request may take long in memory, too.
#[inline]
fn is_slow_kind(spec: &Spec, request: &Request<'_>) -> bool {
    let is_fast = match spec.id {
        Id::Set => request.arg(2).len() <= SHORT_VALUE,
        _ => spec.has(flag::FAST),
    };
    !is_fast || request.len() > FEW_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_decide_what_is_timed() {
        assert_eq!(timed(-1, 0), NOTHING);
        assert_eq!(timed(EACH_BELOW_US, 0), SLOW_KINDS);
        assert_eq!(timed(i64::MAX, 0), SLOW_KINDS);
        for (slow_us, monitor_ms) in [(0, 0), (EACH_BELOW_US - 1, 0), (-1, 1), (SLOW_US, 1)] {
            assert_eq!(timed(slow_us, monitor_ms), EVERYTHING, "{slow_us} {monitor_ms}");
        }
        let latency = Latency::new(SLOW_US, 0);
        latency.set_monitor_ms(5);
        assert_eq!(latency.timed.load(Ordering::Relaxed), EVERYTHING);
        latency.set_monitor_ms(0);
        latency.set_slow_us(-1);
        assert_eq!(latency.timed.load(Ordering::Relaxed), NOTHING);
    }
}
