//! How are response times kept? In one HDR histogram per operation, whole, and in one-second windows.

use crate::model;
use crate::plan::Operation;
use base64::Engine;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// Lowest value told apart, ns.
pub const LOW_NS: u64 = 1;
/// Highest value recorded, ns: 60 s.
pub const HIGH_NS: u64 = 60_000_000_000;
/// Significant decimal digits.
pub const DIGITS: u8 = 3;
/// Length of a window, ns.
pub const WINDOW_NS: u64 = 1_000_000_000;

/// Response times of one operation.
#[derive(Debug, Clone)]
pub struct Times {
    histogram: hdrhistogram::Histogram<u64>,
    clipped: u64,
    sum_ns: u128,
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
        Self { histogram, clipped: 0, sum_ns: 0 }
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
            low_ns: LOW_NS,
            high_ns: HIGH_NS,
            digits: DIGITS,
            count: self.count(),
            clipped: self.clipped,
            from_intended_start: false,
        })
    }
}

/// Everything one generator thread has seen in one stretch of load.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    times: [Option<Times>; 3],
    /// Replies per window, from the beginning of the stretch.
    pub windows: Vec<u64>,
    /// Replies checked, hits, misses, errors.
    pub counts: model::Counts,
    /// Writes that the target refused for lack of memory, where that is a right answer.
    pub refusals: u64,
    /// The first wrong reply or lost connection, in words.
    pub first_error: Option<String>,
    /// The first refusal's text.
    pub first_refusal: Option<String>,
}

impl Recorder {
    /// Adds one reply.
    pub fn record(&mut self, operation: Operation, ns: u64, since_start_ns: u64) {
        self.counts.operations += 1;
        self.times[operation as usize].get_or_insert_with(Times::new).record(ns);
        let window = (since_start_ns / WINDOW_NS) as usize;
        if window >= self.windows.len() {
            self.windows.resize(window + 1, 0);
        }
        self.windows[window] += 1;
    }

    /// Counts a wrong reply and keeps the text of the first.
    pub fn error(&mut self, text: impl FnOnce() -> String) {
        self.counts.errors += 1;
        if self.first_error.is_none() {
            self.first_error = Some(text());
        }
    }

    /// Response times of an operation, if there was one.
    #[must_use]
    pub fn times(&self, operation: Operation) -> Option<&Times> {
        self.times[operation as usize].as_ref()
    }

    /// Adds what another thread saw in the same stretch.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (None, Some(theirs)) => *mine = Some(theirs.clone()),
                (_, None) => {}
            }
        }
        if self.windows.len() < other.windows.len() {
            self.windows.resize(other.windows.len(), 0);
        }
        for (mine, theirs) in self.windows.iter_mut().zip(&other.windows) {
            *mine += theirs;
        }
        self.counts.operations += other.counts.operations;
        self.counts.hits += other.counts.hits;
        self.counts.misses += other.counts.misses;
        self.counts.errors += other.counts.errors;
        self.refusals += other.refusals;
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
        assert_eq!(one.windows, [1, 2]);
        assert_eq!(one.times(Operation::Set).unwrap().count(), 2);
        assert_eq!(one.times(Operation::Get).unwrap().count(), 1);
        assert_eq!(one.counts.operations, 3);
    }
}
