//! Latency monitor (`LATENCY`): when commands took longer than `latency-monitor-threshold`, and how long.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Samples that an event keeps, as in Redis.
const SAMPLES: usize = 160;

/// The event of a command that is fast by its kind.
pub(super) const FAST_COMMAND: &str = "fast-command";
/// The event of any other command.
pub(super) const COMMAND: &str = "command";

/// The samples of each event.
#[derive(Debug, Default)]
pub(crate) struct Events {
    // std Mutex: taken for slow commands, and by LATENCY.
    series: Mutex<BTreeMap<&'static str, Series>>,
}

#[derive(Debug, Default)]
struct Series {
    /// From the oldest on.
    samples: VecDeque<Sample>,
    longest_ms: u64,
}

/// The longest time of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Unix time.
    pub(crate) second: u64,
    pub(crate) ms: u64,
}

/// An event as `LATENCY LATEST` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latest {
    pub(crate) event: &'static str,
    pub(crate) sample: Sample,
    pub(crate) longest_ms: u64,
}

impl Events {
    fn series(&self) -> MutexGuard<'_, BTreeMap<&'static str, Series>> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, event: &'static str, second: u64, ms: u64) {
        let mut all = self.series();
        let series = all.entry(event).or_default();
        series.longest_ms = series.longest_ms.max(ms);
        match series.samples.back_mut() {
            Some(last) if last.second == second => last.ms = last.ms.max(ms),
            _ => {
                if series.samples.len() == SAMPLES {
                    series.samples.pop_front();
                }
                series.samples.push_back(Sample { second, ms });
            }
        }
    }

    /// The last sample of each event, and its longest time.
    pub(crate) fn latest(&self) -> Vec<Latest> {
        let latest = |(event, series): (&&'static str, &Series)| {
            let sample = *series.samples.back()?;
            Some(Latest { event, sample, longest_ms: series.longest_ms })
        };
        self.series().iter().filter_map(latest).collect()
    }

    /// All samples of an event; none of one that never happened.
    pub(crate) fn history(&self, event: &[u8]) -> Vec<Sample> {
        let all = self.series();
        let found = all.iter().find(|(name, _)| name.as_bytes() == event);
        found.map(|(_, series)| series.samples.iter().copied().collect()).unwrap_or_default()
    }

    /// Forgets the events that `is_wanted` names. Returns how many there were.
    pub(crate) fn reset(&self, is_wanted: impl Fn(&[u8]) -> bool) -> usize {
        let mut all = self.series();
        let before = all.len();
        all.retain(|event, _| !is_wanted(event.as_bytes()));
        before - all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_one_sample_and_an_event_so_many_seconds() {
        let events = Events::default();
        assert!(events.latest().is_empty() && events.history(b"command").is_empty());
        for (second, ms) in [(1, 5), (1, 9), (1, 7), (2, 3)] {
            events.add(COMMAND, second, ms);
        }
        assert_eq!(events.history(b"command"), [Sample { second: 1, ms: 9 }, Sample { second: 2, ms: 3 }]);
        let sample = Sample { second: 2, ms: 3 };
        assert_eq!(events.latest(), [Latest { event: COMMAND, sample, longest_ms: 9 }]);
        for second in 3..1000 {
            events.add(COMMAND, second, 1);
        }
        let history = events.history(b"command");
        assert_eq!((history.len(), history[0].second), (SAMPLES, 1000 - SAMPLES as u64));
        assert_eq!(events.latest()[0].longest_ms, 9);
    }

    #[test]
    fn events_are_forgotten_by_name() {
        let events = Events::default();
        events.add(COMMAND, 1, 1);
        events.add(FAST_COMMAND, 1, 1);
        assert_eq!(events.reset(|event| event == b"nosuch"), 0);
        assert_eq!(events.reset(|event| event == b"command"), 1);
        assert_eq!(events.reset(|_| true), 1);
        assert!(events.latest().is_empty());
    }
}
