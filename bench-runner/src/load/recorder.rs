//! How are response times kept? In one HDR histogram per operation, whole, and in one-second windows.

use crate::model;
use crate::plan::Operation;
use base64::Engine;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::collections::BTreeMap;

/// Lowest value told apart, ns.
pub const LOW_NS: u64 = 1;
/// Highest value recorded, ns: 60 s.
pub const HIGH_NS: u64 = 60_000_000_000;
/// Significant decimal digits.
pub const DIGITS: u8 = 3;
/// Length of a window, ns.
pub const WINDOW_NS: u64 = 1_000_000_000;
/// Length of a slot, ns: what is shorter is no pause of a load.
pub const SLOT_NS: u64 = 10_000_000;

/// Response times of one operation.
#[derive(Debug, Clone)]
pub struct Times {
    histogram: hdrhistogram::Histogram<u64>,
    clipped: u64,
    sum_ns: u128,
    from_intended_start: bool,
}

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

impl Times {
    /// Empty.
    ///
    /// # Panics
    /// Never: the bounds are constants that the histogram accepts, which a test shows.
    #[must_use]
    pub fn new() -> Self {
        let histogram = match hdrhistogram::Histogram::new_with_bounds(LOW_NS, HIGH_NS, DIGITS) {
            Ok(histogram) => histogram,
            Err(error) => unreachable!("constant bounds were refused: {error}"),
        };
        Self { histogram, clipped: 0, sum_ns: 0, from_intended_start: false }
    }

    fn intended(from_intended_start: bool) -> Self {
        Self { from_intended_start, ..Self::new() }
    }

    /// Adds one sample; what lies above the highest value is recorded as it and counted.
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Adds `count` equal samples.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        self.clipped += if ns > HIGH_NS { count } else { 0 };
        self.sum_ns += u128::from(ns) * u128::from(count);
        self.histogram.saturating_record_n(ns.clamp(LOW_NS, HIGH_NS), count);
    }

    /// Adds all samples of another.
    pub fn merge(&mut self, other: &Self) {
        // Same bounds on both sides, so that nothing can be refused.
        let _ = self.histogram.add(&other.histogram);
        self.clipped += other.clipped;
        self.sum_ns += other.sum_ns;
        self.from_intended_start |= other.from_intended_start;
    }

    /// Samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Arithmetic mean of the very samples, not of their buckets, ns.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ns as f64 / self.count() as f64 }
    }

    /// The value below or at which `percentile` % of the samples lie, ns.
    #[must_use]
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        self.histogram.value_at_percentile(percentile)
    }

    /// The largest sample, to the histogram's digits, ns.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.histogram.max()
    }

    /// The record of it. `None` where it could not be encoded.
    #[must_use]
    pub fn to_record(&self, operation: &str) -> Option<model::Histogram> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes).ok()?;
        Some(model::Histogram {
            operation: operation.to_owned(),
            hdr_v2_deflate_base64: base64::engine::general_purpose::STANDARD.encode(bytes),
            hdr_v2: None,
            low_ns: LOW_NS,
            high_ns: HIGH_NS,
            digits: DIGITS,
            count: self.count(),
            clipped: self.clipped,
            from_intended_start: self.from_intended_start,
        })
    }
}

/// Everything one generator thread has seen in one stretch of load.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    times: [Option<Times>; 3],
    /// Replies per slot, from the beginning of the stretch.
    pub slots: Vec<u32>,
    /// Response times per window, of all operations together; empty unless they were asked for.
    window_times: Vec<Times>,
    /// Response times are kept per window, too.
    pub window_percentiles: bool,
    /// Response times are from the intended start, not from the send.
    pub from_intended_start: bool,
    /// Replies checked, hits, misses, errors.
    pub counts: model::Counts,
    /// Writes that the target refused for lack of memory, where that is a right answer.
    pub refusals: u64,
    /// The first wrong reply or lost connection, in words.
    pub first_error: Option<String>,
    /// The first refusal's text.
    pub first_refusal: Option<String>,
    /// Answers by their status code, where the protocol has one.
    pub statuses: BTreeMap<u16, u64>,
}

impl Recorder {
    /// Adds one reply.
    #[inline]
    pub fn record(&mut self, operation: Operation, ns: u64, since_start_ns: u64) {
        self.record_many(operation, ns, since_start_ns, 1);
    }

    /// Adds `count` replies that came at the same time and took as long.
    #[inline]
    pub fn record_many(&mut self, operation: Operation, ns: u64, since_start_ns: u64, count: u64) {
        self.counts.operations += count;
        let intended = self.from_intended_start;
        self.times[operation as usize]
            .get_or_insert_with(|| Times::intended(intended))
            .record_many(ns, count);
        let slot = (since_start_ns / SLOT_NS) as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, 0);
        }
        self.slots[slot] = self.slots[slot].saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        if self.window_percentiles {
            let window = (since_start_ns / WINDOW_NS) as usize;
            if window >= self.window_times.len() {
                self.window_times.resize_with(window + 1, || Times::intended(intended));
            }
            self.window_times[window].record_many(ns, count);
        }
    }

    /// Replies per window, from the beginning of the stretch.
    pub fn windows(&self) -> impl Iterator<Item = u64> {
        let of_window = |slots: &[u32]| slots.iter().copied().map(u64::from).sum();
        self.slots.chunks((WINDOW_NS / SLOT_NS) as usize).map(of_window)
    }

    /// Response times of the replies in a window, where they were kept.
    #[must_use]
    pub fn window_times(&self, window: usize) -> Option<&Times> {
        self.window_times.get(window).filter(|times| times.count() > 0)
    }

    /// Counts a wrong reply and keeps the text of the first.
    pub fn error(&mut self, text: impl FnOnce() -> String) {
        self.counts.errors += 1;
        if self.first_error.is_none() {
            self.first_error = Some(text());
        }
    }

    /// Counts an answer by its status code.
    #[inline]
    pub fn status(&mut self, code: u16) {
        *self.statuses.entry(code).or_default() += 1;
    }

    /// Response times of an operation, if there was one.
    #[must_use]
    pub fn times(&self, operation: Operation) -> Option<&Times> {
        self.times[operation as usize].as_ref()
    }

    /// Response times of all operations together.
    #[must_use]
    pub fn all_times(&self) -> Times {
        let mut all = Times::new();
        self.times.iter().flatten().for_each(|times| all.merge(times));
        all
    }

    /// Adds what another thread saw in the same stretch.
    pub fn merge(&mut self, other: &Self) {
        self.from_intended_start |= other.from_intended_start;
        for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (None, Some(theirs)) => *mine = Some(theirs.clone()),
                (_, None) => {}
            }
        }
        if self.slots.len() < other.slots.len() {
            self.slots.resize(other.slots.len(), 0);
        }
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            *mine = mine.saturating_add(*theirs);
        }
        for (window, theirs) in other.window_times.iter().enumerate() {
            match self.window_times.get_mut(window) {
                Some(mine) => mine.merge(theirs),
                None => self.window_times.push(theirs.clone()),
            }
        }
        self.counts.operations += other.counts.operations;
        self.counts.hits += other.counts.hits;
        self.counts.misses += other.counts.misses;
        self.counts.errors += other.counts.errors;
        self.refusals += other.refusals;
        for (code, count) in &other.statuses {
            *self.statuses.entry(*code).or_default() += count;
        }
        if self.first_error.is_none() {
            self.first_error.clone_from(&other.first_error);
        }
        if self.first_refusal.is_none() {
            self.first_refusal.clone_from(&other.first_refusal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn a_sample_above_the_highest_is_counted_as_clipped_and_kept_at_the_edge() {
        let mut times = Times::new();
        times.record(HIGH_NS + 1);
        times.record(1_000);
        assert_eq!((times.count(), times.clipped), (2, 1));
        assert!(times.max_ns() >= HIGH_NS);
    }

    #[test]
    fn the_record_holds_the_whole_histogram() {
        let mut times = Times::new();
        for ns in [100, 2_000, 2_000, 30_000_000] {
            times.record(ns);
        }
        let record = times.to_record("get").unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(record.hdr_v2_deflate_base64).unwrap();
        let back: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(back.len(), 4);
        assert_eq!(back.count_at(2_000), 2);
        assert_eq!(times.mean_ns(), 7_501_025.0);
    }

    #[test]
    fn merging_adds_samples_and_windows() {
        let mut one = Recorder::default();
        one.record(Operation::Set, 10, 0);
        let mut two = Recorder::default();
        two.record(Operation::Set, 20, 1_500_000_000);
        two.record(Operation::Get, 30, 1_600_000_000);
        one.merge(&two);
        assert!(one.windows().eq([1, 2]));
        assert_eq!((one.slots.len(), one.slots[0], one.slots[150], one.slots[160]), (161, 1, 1, 1));
        assert_eq!(one.times(Operation::Set).unwrap().count(), 2);
        assert_eq!(one.times(Operation::Get).unwrap().count(), 1);
        assert_eq!(one.counts.operations, 3);
        assert!(one.window_times(0).is_none(), "nobody asked for them");
    }

    #[test]
    fn windows_have_percentiles_of_their_own_when_asked() {
        let recorder = |ns, at| {
            let mut recorder = Recorder { window_percentiles: true, ..Recorder::default() };
            recorder.record_many(Operation::Get, ns, at, 10);
            recorder
        };
        let mut one = recorder(1_000, 500_000_000);
        one.merge(&recorder(3_000, 2_500_000_000));
        one.merge(&recorder(5_000, 2_600_000_000));
        assert!(one.windows().eq([10, 0, 20]));
        let p99 = |window| one.window_times(window).map(|times| times.percentile_ns(99.0) / 100 * 100);
        assert_eq!([p99(0), p99(1), p99(2), p99(3)], [Some(1_000), None, Some(5_000), None]);
    }

    #[test]
    fn a_recorder_of_intended_starts_says_so_in_the_record() {
        let mut recorder = Recorder { from_intended_start: true, ..Recorder::default() };
        recorder.record(Operation::Get, 10, 0);
        let mut merged = Recorder::default();
        merged.merge(&recorder);
        assert!(merged.times(Operation::Get).unwrap().to_record("get").unwrap().from_intended_start);
        assert!(merged.from_intended_start, "who asks the whole is told the same as who asks its times");
    }
}
