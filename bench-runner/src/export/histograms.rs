//! How a histogram travels: HDR V2 with deflate in base64, read back whole, merged by adding counts.
//!
//! Percentiles over several trials only ever come from merged histograms: the mean of two 99th percentiles is
//! no percentile of anything.

use crate::model::{Distribution, Histogram, PercentilePoint, Trial};
use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use std::collections::BTreeMap;

/// Points at which a merged distribution is drawn.
const PERCENTILES: &[f64] = &[
    0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.95,
    99.99, 99.999,
];

/// Reads a stored histogram.
///
/// # Errors
/// When it is not base64, not an HDR histogram, or does not hold the samples it says.
pub fn decode(stored: &Histogram) -> anyhow::Result<hdrhistogram::Histogram<u64>> {
    let bytes = STANDARD
        .decode(&stored.hdr_v2_deflate_base64)
        .with_context(|| format!("histogram of '{}': not base64", stored.operation))?;
    let histogram: hdrhistogram::Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| anyhow::anyhow!("histogram of '{}': not HDR V2: {error}", stored.operation))?;
    ensure!(
        histogram.len() == stored.count,
        "histogram of '{}' holds {} samples, its record says {}",
        stored.operation,
        histogram.len(),
        stored.count
    );
    Ok(histogram)
}

/// The histogram as text, with its bounds.
///
/// # Errors
/// When it cannot be serialised, which its size could bring about.
pub fn encode(
    operation: &str,
    histogram: &hdrhistogram::Histogram<u64>,
    clipped: u64,
    from_intended_start: bool,
) -> anyhow::Result<Histogram> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| anyhow::anyhow!("histogram of '{operation}': {error}"))?;
    Ok(Histogram {
        operation: operation.to_owned(),
        hdr_v2_deflate_base64: STANDARD.encode(bytes),
        hdr_v2: None,
        low_ns: histogram.low(),
        high_ns: histogram.high(),
        digits: histogram.sigfig(),
        count: histogram.len(),
        clipped,
        from_intended_start,
    })
}

/// The trials' histograms merged, one per operation, by name.
///
/// # Errors
/// When one of them cannot be read, or they cannot be added.
pub fn merge<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> anyhow::Result<Vec<Histogram>> {
    let mut merged: BTreeMap<&str, (hdrhistogram::Histogram<u64>, u64, bool)> = BTreeMap::new();
    for stored in trials.into_iter().flat_map(|trial| &trial.histograms) {
        let one = decode(stored)?;
        match merged.get_mut(stored.operation.as_str()) {
            Some((sum, clipped, intended)) => {
                ensure!(
                    *intended == stored.from_intended_start,
                    "histograms of '{}' measure from different starts and cannot be merged",
                    stored.operation
                );
                sum.add(&one).map_err(|error| anyhow::anyhow!("merging histograms: {error}"))?;
                *clipped += stored.clipped;
            }
            None => {
                merged.insert(&stored.operation, (one, stored.clipped, stored.from_intended_start));
            }
        }
    }
    merged
        .into_iter()
        .map(|(operation, (sum, clipped, intended))| encode(operation, &sum, clipped, intended))
        .collect()
}

/// Rising percentiles of a merged histogram. A percentile above which fewer than one sample lies is left out:
/// it would be the maximum under another name.
///
/// # Errors
/// As [`decode`].
pub fn distribution(merged: &Histogram) -> anyhow::Result<Distribution> {
    let histogram = decode(merged)?;
    let count = histogram.len();
    let point = |percentile: f64| PercentilePoint {
        percentile,
        latency_ns: if percentile > 0.0 {
            histogram.value_at_percentile(percentile)
        } else {
            histogram.min()
        },
    };
    let mut points: Vec<_> = PERCENTILES
        .iter()
        .filter(|percentile| (100.0 - **percentile) / 100.0 * count as f64 >= 0.999_999)
        .map(|percentile| point(*percentile))
        .collect();
    if count > 0 {
        points.push(PercentilePoint { percentile: 100.0, latency_ns: histogram.max() });
    }
    Ok(Distribution { operation: merged.operation.clone(), count, points })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Counts, Status};

    fn trial(operation: &str, values: impl IntoIterator<Item = u64>) -> Trial {
        let mut histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        for value in values {
            histogram.record(value).unwrap();
        }
        Trial {
            index: 0,
            position: 0,
            status: Status::Ok,
            reason: None,
            elapsed_s: 1.0,
            counts: Counts::default(),
            values: Vec::new(),
            histograms: vec![encode(operation, &histogram, 1, false).unwrap()],
            windows: Vec::new(),
            open_loop: None,
            process: None,
            os: None,
            facts: BTreeMap::new(),
        }
    }

    #[test]
    fn merged_percentiles_are_those_of_all_samples_together() {
        let fast = trial("get", std::iter::repeat_n(100, 990));
        let slow = trial("get", std::iter::repeat_n(900, 1010));
        let merged = merge([&fast, &slow]).unwrap();
        assert_eq!((merged.len(), merged[0].count, merged[0].clipped), (1, 2000, 2));
        let drawn = distribution(&merged[0]).unwrap();
        let at = |percentile: f64| {
            drawn.points.iter().find(|point| point.percentile == percentile).map(|point| point.latency_ns)
        };
        // The mean of the two medians would be 500.
        assert_eq!((at(0.0), at(40.0), at(50.0), at(100.0)), (Some(100), Some(100), Some(900), Some(900)));
        assert_eq!(at(99.95), Some(900));
        assert_eq!(at(99.99), None, "one sample in ten thousand of two thousand is none");
    }

    #[test]
    fn operations_stay_apart() {
        let merged = merge([&trial("set", [5]), &trial("get", [7]), &trial("set", [6])]).unwrap();
        let counts: Vec<_> = merged.iter().map(|one| (one.operation.as_str(), one.count)).collect();
        assert_eq!(counts, [("get", 1), ("set", 2)]);
    }

    #[test]
    fn a_broken_histogram_is_an_error_that_names_it() {
        let mut broken = trial("get", [5]).histograms.remove(0);
        broken.count = 2;
        assert!(decode(&broken).unwrap_err().to_string().contains("holds 1 samples, its record says 2"));
        broken.hdr_v2_deflate_base64 = "!!".into();
        assert!(decode(&broken).unwrap_err().to_string().contains("not base64"));
        broken.hdr_v2_deflate_base64 = STANDARD.encode("no histogram at all");
        assert!(decode(&broken).unwrap_err().to_string().contains("not HDR V2"));
    }
}
