//! A trial's record, from the moment its target is asked for to its values.

use crate::load::recorder::Times;
use crate::model::{Counts, Status, Trial, Value};
use std::collections::BTreeMap;

/// Percentiles of every latency, with the names of their values.
pub(crate) const PERCENTILES: [(&str, f64); 5] = [
    ("latency_ns_p50", 50.0),
    ("latency_ns_p90", 90.0),
    ("latency_ns_p95", 95.0),
    ("latency_ns_p99", 99.0),
    ("latency_ns_p999", 99.9),
];

/// A trial that has come to nothing yet.
pub(crate) fn empty(index: u32, position: u32) -> Trial {
    Trial {
        index,
        position,
        status: Status::Ok,
        reason: None,
        elapsed_s: 0.0,
        counts: Counts::default(),
        values: Vec::new(),
        histograms: Vec::new(),
        windows: Vec::new(),
        open_loop: None,
        process: None,
        os: None,
        facts: BTreeMap::new(),
    }
}

/// A trial that broke.
pub(crate) fn broken(index: u32, position: u32, status: Status, reason: String) -> Trial {
    Trial { status, reason: Some(reason), ..empty(index, position) }
}

/// Adds a value over all operations.
pub(crate) fn put(trial: &mut Trial, metric: &str, value: f64) {
    trial.values.push(Value { metric: metric.to_owned(), operation: None, value });
}

/// Adds the percentiles of response times; of one operation where there are several.
pub(crate) fn put_times(trial: &mut Trial, operation: Option<&str>, times: &Times) {
    let mut add = |metric: &str, value: f64| {
        let operation = operation.map(str::to_owned);
        trial.values.push(Value { metric: metric.to_owned(), operation, value });
    };
    add("latency_ns_mean", times.mean_ns());
    for (metric, percentile) in PERCENTILES {
        add(metric, times.percentile_ns(percentile) as f64);
    }
    add("latency_ns_max", times.max_ns() as f64);
}

/// Marks a trial as off its plan, unless something worse is known already.
pub(crate) fn invalidate(trial: &mut Trial, reason: String) {
    if trial.status == Status::Ok {
        trial.status = Status::Invalid;
        trial.reason = Some(reason);
    }
}

/// Adds a fact that is no metric.
pub(crate) fn fact(trial: &mut Trial, name: &str, value: impl Into<serde_json::Value>) {
    trial.facts.insert(name.to_owned(), value.into());
}
