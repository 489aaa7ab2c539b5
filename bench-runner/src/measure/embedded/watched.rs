//! Figures of phases that are watched or delete: windows of throughput, space on the disk, compaction debt, the wait of
//! a writer beside a range deletion, the scan of an empty store.

use super::figures::{decode, keep_histograms, put_times};
use super::talk::Told;
use crate::measure::trial::{invalidate, put};
use crate::model::{Trial, Window};
use crate::plan::EmbeddedPart;
use plumbkv_bench_driver::protocol::{Phase, PhaseResult, PhaseWindow, Records};

/// Seconds of a window by which the evenness of a throughput is judged; a tenth of the phase where that is shorter, but
/// never less than the one second that the driver counts.
const WINDOW_S: f64 = 10.0;
/// Windows without which a median says nothing.
const WINDOWS_MIN: usize = 3;

/// The seconds that the driver counted, else those in which the runner looked at its memory.
pub(super) fn windows(told: &Told) -> Vec<Window> {
    let counted: Vec<Window> =
        told.results.iter().flat_map(|result| &result.windows).map(window_of).collect();
    if counted.is_empty() { told.windows.clone() } else { counted }
}

fn window_of(one: &PhaseWindow) -> Window {
    Window {
        start_ms: one.start_ms,
        length_ms: one.length_ms,
        operations: one.operations,
        rss_bytes: Some(one.rss_bytes),
        ..Window::default()
    }
}

/// The slowest of the ten-second windows, over their median.
pub(super) fn put_windows(trial: &mut Trial) {
    if let Some(ratio) = slowest_over_median(&trial.windows) {
        put(trial, "slowest_window_ratio", ratio);
    }
}

fn slowest_over_median(windows: &[Window]) -> Option<f64> {
    let end_ms = windows.last().map(|last| last.start_ms + last.length_ms)?;
    let width_ms = (WINDOW_S * 1e3).min(end_ms / 10.0);
    let (mut rates, mut operations, mut length_ms) = (Vec::new(), 0, 0.0);
    for window in windows {
        operations += window.operations;
        length_ms += window.length_ms;
        // The last one is left out where it is not whole.
        if length_ms >= width_ms * 0.95 {
            rates.push(operations as f64 / length_ms);
            (operations, length_ms) = (0, 0.0);
        }
    }
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    let median = match rates.len() {
        few if few < WINDOWS_MIN => return None,
        odd if odd % 2 == 1 => rates[middle],
        _ => f64::midpoint(rates[middle - 1], rates[middle]),
    };
    (median > 0.0).then(|| rates[0] / median)
}

/// Files at their largest and at the end, over the bytes of keys and values; and the compaction that is owed.
pub(super) fn put_space(trial: &mut Trial, records: Records, part: &EmbeddedPart, told: &Told) {
    let Some((Phase::Write { watched: true, .. }, first)) = part.measured.first().zip(told.results.first())
    else {
        return;
    };
    if let Some(debt) = first.debt_bytes {
        put(trial, "debt_bytes", debt as f64);
    }
    let peak = told.results.iter().filter_map(|result| result.disk_bytes_peak).max();
    if let Some(peak) = peak {
        put(trial, "disk_bytes_peak", peak as f64);
    }
    // Over the data only where every record is there, and compaction was waited for.
    if first.operations < records.count || told.results.len() < 2 {
        return;
    }
    let bytes = records.count as f64 * (records.key_bytes() + f64::from(records.value_bytes));
    if let Some(peak) = peak {
        put(trial, "space_amplification_peak_ratio", peak as f64 / bytes);
    }
    if let Some(rest) = told.results.last().and_then(|last| last.disk_bytes) {
        put(trial, "space_amplification_ratio", rest as f64 / bytes);
    }
}

/// The deletion of a range by the clock, and what a writer beside it waited.
pub(super) fn put_deletion(trial: &mut Trial, result: &PhaseResult) {
    keep_histograms(trial, &result.histograms);
    for one in &result.histograms {
        let Some(histogram) = decode(one).filter(|histogram| histogram.len() == one.count) else {
            invalidate(trial, format!("the histogram of {} cannot be read", one.operation));
            continue;
        };
        match one.operation.as_str() {
            // One sample, which may be longer than a histogram goes.
            "delete_range" => put(trial, "delete_range_ms", one.sum_ns as f64 / 1e6),
            _ => {
                put_times(trial, None, &histogram, one.sum_ns);
                put(trial, "write_wait_ms", histogram.max() as f64 / 1e6);
            }
        }
    }
}

/// The median of the scans that find nothing.
pub(super) fn put_empty_scan(trial: &mut Trial, told: &Told) {
    let scans = told.results.iter().flat_map(|result| &result.histograms);
    for scan in scans.filter(|one| one.operation == "empty_scan") {
        keep_histograms(trial, std::slice::from_ref(scan));
        match decode(scan).filter(|histogram| histogram.len() == scan.count) {
            Some(histogram) => put(trial, "empty_scan_ms", histogram.value_at_quantile(0.5) as f64 / 1e6),
            None => invalidate(trial, "the histogram of empty_scan cannot be read".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(operations: impl IntoIterator<Item = u64>) -> Vec<Window> {
        let window = |(start, operations): (usize, u64)| Window {
            start_ms: start as f64 * 1e3,
            length_ms: 1e3,
            operations,
            ..Window::default()
        };
        operations.into_iter().enumerate().map(window).collect()
    }

    #[test]
    fn the_slowest_window_is_told_against_the_median() {
        // Ten windows of ten seconds each, one of them at a quarter of the rate of the others.
        let slow = |second: u64| if (30..40).contains(&second) { 25 } else { 100 };
        assert_eq!(slowest_over_median(&seconds((0..100).map(slow))), Some(0.25));
        // A single slow second is one of ten.
        let second = |second: u64| if second == 30 { 0 } else { 100 };
        let ratio = slowest_over_median(&seconds((0..100).map(second))).unwrap();
        assert!((ratio - 0.9).abs() < 1e-9, "{ratio}");
        // Of twenty seconds a window has two.
        let short = |second: u64| if second < 2 { 50 } else { 100 };
        assert_eq!(slowest_over_median(&seconds((0..20).map(short))), Some(0.5));
    }

    #[test]
    fn nothing_is_told_of_windows_that_are_too_few_or_hold_nothing() {
        assert_eq!(slowest_over_median(&[]), None);
        assert_eq!(slowest_over_median(&seconds([100, 100])), None);
        assert_eq!(slowest_over_median(&seconds([0; 30])), None);
    }

    #[test]
    fn a_last_window_that_is_not_whole_is_left_out() {
        let mut windows = seconds([100; 100]);
        windows.push(Window { start_ms: 100_000.0, length_ms: 30.0, operations: 0, ..Window::default() });
        assert_eq!(slowest_over_median(&windows), Some(1.0));
    }
}
