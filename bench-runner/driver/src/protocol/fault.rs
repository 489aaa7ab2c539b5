//! Which workloads make no sense, although they can be read?

use super::{KeySchema, Phase, Until, Workload, Ycsb};
use crate::values::LEAST_WITH_ABSENT;

/// What does not make sense.
pub(crate) fn fault(workload: &Workload) -> Option<String> {
    if !(1..=999_999_999_999).contains(&workload.records.count) {
        return Some(format!("records.count must be 1 to 999999999999, not {}", workload.records.count));
    }
    if !(1..=64 << 20).contains(&workload.records.value_bytes) {
        return Some(format!(
            "records.value_bytes must be 1 to 67108864, not {}",
            workload.records.value_bytes
        ));
    }
    let families = workload.records.keys == KeySchema::FiveFamilies;
    workload.phases.iter().enumerate().find_map(|(number, phase)| {
        let zero = |name: &str, value: u64| (value == 0).then(|| format!("{name} must be at least 1"));
        let fault = match phase {
            Phase::ScanPrefix { .. } | Phase::Ycsb { workload: Ycsb::D | Ycsb::E, .. } if families => Some(
                "keys of five families have no last digits that count, and none comes after the last"
                    .to_owned(),
            ),
            Phase::Load { batch, flush_every, .. } => {
                zero("batch", u64::from(*batch)).or_else(|| zero("flush_every", flush_every.unwrap_or(1)))
            }
            Phase::Settle | Phase::Compact => None,
            Phase::ReadRandom { threads, absent, until, .. } => zero("threads", u64::from(*threads))
                .or_else(|| {
                    (*absent && workload.records.count < LEAST_WITH_ABSENT)
                        .then(|| format!("absent keys need records.count of at least {LEAST_WITH_ABSENT}"))
                })
                .or_else(|| endless(*until)),
            Phase::ReadOrdered { until }
            | Phase::ScanAll { until, .. }
            | Phase::Ycsb { until, .. }
            | Phase::Reopen { until } => endless(*until),
            Phase::Scan { records, until, .. } => {
                zero("records", u64::from(*records)).or_else(|| endless(*until))
            }
            Phase::ScanPrefix { digits, until } => (!(1..=11).contains(digits))
                .then(|| format!("digits must be 1 to 11, not {digits}"))
                .or_else(|| endless(*until)),
            Phase::Write { batch, threads, until, .. } => zero("batch", u64::from(*batch))
                .or_else(|| zero("threads", u64::from(*threads)))
                .or_else(|| endless(*until)),
            Phase::Queue { window, seconds } => {
                zero("window", *window).or_else(|| endless(Until { seconds: *seconds, operations: 0 }))
            }
            Phase::EmptyScan { rest_seconds, until } => {
                endless(Until { seconds: *rest_seconds, operations: 0 }).or_else(|| endless(*until))
            }
            Phase::DeleteRange { first, records } => {
                zero("first", *first).or_else(|| zero("records", *records)).or_else(|| {
                    (first.saturating_add(*records) > workload.records.count)
                        .then(|| "first and records go past the last record".to_owned())
                })
            }
            Phase::Mixed { read_percent, until, .. } => (*read_percent > 100)
                .then(|| "read_percent is above 100".to_owned())
                .or_else(|| endless(*until)),
            Phase::Flush { records, until } => zero("records", *records).or_else(|| endless(*until)),
        };
        fault.map(|fault| format!("phase {number}: {fault}"))
    })
}

fn endless(until: Until) -> Option<String> {
    let fine = (0.0..=86_400.0).contains(&until.seconds);
    (!fine).then(|| format!("until.seconds must be 0 to 86400, not {}", until.seconds))
}
