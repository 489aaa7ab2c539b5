//! From what a driver told of a cell to the values, histograms and facts of its trial.

use super::talk::{Talk, Told, fault};
use super::watched;
use crate::measure::lab::Bench;
use crate::measure::os_stat::Account;
use crate::measure::trial::{PERCENTILES, empty, fact, invalidate, put};
use crate::model::{Counts, Histogram, Status, Trial, Value};
use crate::plan::{EmbeddedPart, EmbeddedWork, EngineWanted};
use base64::Engine as _;
use hdrhistogram::serialization::Deserializer;
use plumbkv_bench_driver::protocol::{
    EngineWork, Phase, PhaseHistogram, PhaseResult, Profile, Ready, Records,
};

/// The trial of an engine inside the driver.
pub(super) fn of_engine(
    bench: &Bench<'_>,
    work: &EmbeddedWork,
    (part, told): (&EmbeddedPart, &Told),
    talk: &Talk,
) -> Trial {
    let pid = talk.watched().pid;
    let mut trial = trial(bench, work.records, (part, told), &talk.ready, (pid, 0, 0.0));
    trial.process = Some(talk.facts());
    put_memory(&mut trial, (part, told), talk);
    put_io(&mut trial, work, (part, told));
    trial
}

/// The trial of a cell; of the target `pid`, whose generator used `generator_cpu_ns` and was `busy`.
pub(super) fn trial(
    bench: &Bench<'_>,
    records: Records,
    (part, told): (&EmbeddedPart, &Told),
    ready: &Ready,
    (pid, generator_cpu_ns, busy): (u32, u64, f64),
) -> Trial {
    let mut trial = empty(bench.step.trial, bench.step.position);
    let mut account = Account::default();
    account.add_program(&told.before, &told.after, generator_cpu_ns, busy);
    let stat = account.finish(pid);
    match told.results.first() {
        // The opening itself.
        None => {
            trial.elapsed_s = ready.open_ns as f64 / 1e9;
            trial.counts.operations = 1;
            put(&mut trial, "open_ms", ready.open_ns as f64 / 1e6);
        }
        Some(result) => {
            trial.elapsed_s = told.elapsed_ns() as f64 / 1e9;
            trial.counts = Counts {
                operations: result.operations,
                hits: result.hits,
                misses: result.misses,
                errors: result.errors,
            };
            put_pace(&mut trial, records, part, result);
            // Of a single call beside a writer it would be the CPU time of both.
            if !matches!(part.measured.first(), Some(Phase::DeleteRange { .. })) {
                let ns = stat.server_cpu_ns as f64 / result.operations.max(1) as f64;
                put(&mut trial, "server_cpu_ns_per_op", ns);
            }
        }
    }
    if let (Some(Phase::Load { .. }), Some(loaded), Some(settled)) =
        (part.measured.first(), told.results.first(), told.results.get(1))
    {
        put_settling(&mut trial, loaded, settled);
    }
    trial.os = Some(stat);
    trial.windows = watched::windows(told);
    watched::put_windows(&mut trial);
    watched::put_space(&mut trial, records, part, told);
    watched::put_empty_scan(&mut trial, told);
    put_facts(&mut trial, told, ready);
    for (phase, result) in part.measured.iter().zip(&told.results) {
        judge(&mut trial, phase, result);
    }
    trial
}

/// A phase that is off its plan; one that the engine has nothing for leaves the cell out.
fn judge(trial: &mut Trial, phase: &Phase, result: &PhaseResult) {
    match (&result.not_supported, phase) {
        (Some(missing), Phase::Settle) => fact(trial, "settling", format!("not told: {missing}")),
        (Some(missing), _) => {
            trial.status = Status::Skipped;
            trial.reason = Some(format!("not supported: {missing}"));
        }
        (None, _) => {
            if let Some(reason) = fault(result) {
                invalidate(trial, reason);
            }
        }
    }
}

/// Operations per second, or the time of one where it takes milliseconds.
fn put_pace(trial: &mut Trial, records: Records, part: &EmbeddedPart, result: &PhaseResult) {
    let elapsed_s = (result.elapsed_ns as f64 / 1e9).max(1e-9);
    let alone = match part.measured.first() {
        Some(Phase::Reopen { .. }) => Some("open_ms"),
        Some(Phase::Flush { .. }) => Some("flush_ms"),
        Some(Phase::Compact) => Some("compact_ms"),
        Some(Phase::DeleteRange { .. }) => return watched::put_deletion(trial, result),
        _ => None,
    };
    if alone.is_none() {
        put(trial, "ops_per_second", result.operations as f64 / elapsed_s);
        let moved = result.hits.max(result.operations) * u64::from(records.value_bytes);
        put(trial, "bytes_per_second", moved as f64 / elapsed_s);
    }
    put_histograms(trial, &result.histograms, elapsed_s, alone);
    if matches!(part.measured.first(), Some(Phase::Scan { .. } | Phase::ScanPrefix { .. })) {
        put(trial, "records_per_second", result.hits as f64 / elapsed_s);
    }
}

/// Of a load: what the rate is when the time counts until merging is done.
fn put_settling(trial: &mut Trial, loaded: &PhaseResult, settled: &PhaseResult) {
    if settled.not_supported.is_some() {
        return;
    }
    let ns = (loaded.elapsed_ns + settled.elapsed_ns).max(1);
    put(trial, "settled_ops_per_second", loaded.operations as f64 / (ns as f64 / 1e9));
    put(trial, "settle_ms", settled.elapsed_ns as f64 / 1e6);
}

/// Response times: of all operations together, and apart where there are several kinds. A transaction of many
/// records is kept as a histogram only: its time is not the response time of an operation that is counted. What takes
/// milliseconds has its median under the name `alone`.
fn put_histograms(trial: &mut Trial, told: &[PhaseHistogram], elapsed_s: f64, alone: Option<&str>) {
    let mut all: Option<(hdrhistogram::Histogram<u64>, u64)> = None;
    let single: Vec<_> = told.iter().filter(|one| one.operation != "batch").collect();
    keep_histograms(trial, told);
    for one in &single {
        let Some(histogram) = decode(one).filter(|histogram| histogram.len() == one.count) else {
            invalidate(trial, format!("the histogram of {} cannot be read", one.operation));
            continue;
        };
        if single.len() > 1 {
            trial.values.push(Value {
                metric: "ops_per_second".to_owned(),
                operation: Some(one.operation.clone()),
                value: one.count as f64 / elapsed_s,
            });
            put_times(trial, Some(&one.operation), &histogram, one.sum_ns);
        }
        match &mut all {
            None => all = Some((histogram, one.sum_ns)),
            Some((sum, ns)) => {
                *ns += one.sum_ns;
                if sum.add(&histogram).is_err() {
                    invalidate(trial, format!("the histogram of {} has other bounds", one.operation));
                }
            }
        }
    }
    match (all, alone) {
        (Some((histogram, _)), Some(name)) => {
            put(trial, name, histogram.value_at_quantile(0.5) as f64 / 1e6);
        }
        (Some((histogram, sum_ns)), None) => put_times(trial, None, &histogram, sum_ns),
        (None, _) => {}
    }
}

/// Stores histograms whole.
pub(super) fn keep_histograms(trial: &mut Trial, told: &[PhaseHistogram]) {
    trial.histograms.extend(told.iter().map(|one| Histogram {
        operation: one.operation.clone(),
        hdr_v2_deflate_base64: one.hdr_v2_deflate_base64.clone(),
        hdr_v2: None,
        low_ns: one.low_ns,
        high_ns: one.high_ns,
        digits: one.digits,
        count: one.count,
        clipped: one.clipped,
        from_intended_start: false,
    }));
}

pub(super) fn decode(told: &PhaseHistogram) -> Option<hdrhistogram::Histogram<u64>> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(&told.hdr_v2_deflate_base64).ok()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

pub(super) fn put_times(
    trial: &mut Trial,
    operation: Option<&str>,
    times: &hdrhistogram::Histogram<u64>,
    sum_ns: u64,
) {
    let mut add = |metric: &str, value: f64| {
        let operation = operation.map(str::to_owned);
        trial.values.push(Value { metric: metric.to_owned(), operation, value });
    };
    add("latency_ns_mean", sum_ns as f64 / times.len().max(1) as f64);
    for (metric, percentile) in PERCENTILES {
        add(metric, times.value_at_percentile(percentile) as f64);
    }
    add("latency_ns_max", times.max() as f64);
}

/// The peak, what it grew by, and what of it is the engine's own where it maps its files.
fn put_memory(trial: &mut Trial, (part, told): (&EmbeddedPart, &Told), talk: &Talk) {
    let Some(last) = told.results.last() else {
        put(trial, "rss_bytes_peak", talk.ready.rss_bytes_after_open as f64);
        put_growth(trial, talk.ready.rss_bytes_before_open, talk.ready.rss_bytes_after_open);
        return;
    };
    let peak = told.results.iter().map(|result| result.rss_bytes_peak).max().unwrap_or(0);
    put(trial, "rss_bytes_peak", peak as f64);
    match part.measured.first() {
        // What the opening took, and what a flush takes besides what is there already.
        Some(Phase::Reopen { .. }) => {
            put_growth(trial, talk.ready.rss_bytes_before_open, talk.ready.rss_bytes_after_open);
        }
        Some(Phase::Flush { .. }) => put_growth(trial, last.rss_bytes_start, peak),
        _ => put_growth(trial, talk.rss_bytes_start, peak),
    }
    if last.rss_anonymous_bytes > 0 {
        put(trial, "rss_anonymous_bytes", last.rss_anonymous_bytes as f64);
    }
}

fn put_growth(trial: &mut Trial, from: u64, to: u64) {
    put(trial, "rss_bytes_growth", to as f64 - from as f64);
}

/// What lies on the disk, and what was read and written for what was asked: by calls, so that pages mapped into memory
/// are in what came from the device only.
fn put_io(trial: &mut Trial, work: &EmbeddedWork, (part, told): (&EmbeddedPart, &Told)) {
    let (Some(first), Some(last)) = (told.results.first(), told.results.last()) else { return };
    if let Some(bytes) = last.disk_bytes {
        put(trial, "disk_bytes", bytes as f64);
    }
    if let (Some(bytes), true) = (first.disk_bytes, told.results.len() > 1) {
        put(trial, "disk_bytes_before_settling", bytes as f64);
    }
    let operations = first.operations.max(1) as f64;
    let sum = |of: fn(&PhaseResult) -> Option<u64>| {
        told.results.iter().map(of).try_fold(0, |sum, bytes| Some(sum + bytes?))
    };
    match part.measured.first() {
        Some(Phase::Load { .. } | Phase::Write { .. }) => {
            if let Some(written) = sum(|result| result.written_bytes) {
                let bytes = operations * (work.records.key_bytes() + f64::from(work.records.value_bytes));
                put(trial, "write_amplification_ratio", written as f64 / bytes);
            }
        }
        Some(_) if reads(part) => {
            if let Some(read) = sum(|result| result.read_bytes) {
                put(trial, "read_bytes_per_op", read as f64 / operations);
            }
            if let Some(read) = sum(|result| result.device_read_bytes) {
                put(trial, "device_read_bytes_per_op", read as f64 / operations);
            }
        }
        _ => {}
    }
    put_allocations(trial, part, first);
    let done = told.work();
    if let (true, Some(ratio)) = (reads(part) && has_cache(work.engine), hit_ratio(done)) {
        put(trial, "cache_hit_ratio", ratio);
    }
    if let Some(stalls) = done.stalls {
        put(trial, "stalls", stalls as f64);
    }
    if let Some(ns) = done.stalled_ns {
        put(trial, "stalled_ms", ns as f64 / 1e6);
    }
}

/// Whether the engine has a block cache: none where the cell says so, and none by default in little memory.
fn has_cache(engine: EngineWanted) -> bool {
    engine.cache_bytes.map_or(engine.profile != Profile::LowMemory, |bytes| bytes > 0)
}

/// Share of the lookups in the block cache that found their block.
fn hit_ratio(done: EngineWork) -> Option<f64> {
    let (hits, misses) = (done.cache_hits?, done.cache_misses?);
    (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
}

/// Whether a cell only reads.
fn reads(part: &EmbeddedPart) -> bool {
    matches!(
        part.measured.first(),
        Some(
            Phase::ReadRandom { .. }
                | Phase::ReadOrdered { .. }
                | Phase::Scan { .. }
                | Phase::ScanPrefix { .. }
                | Phase::ScanAll { .. }
        )
    )
}

/// What one get or put requests from the allocator, on the thread that calls. Records written in batches share requests.
fn put_allocations(trial: &mut Trial, part: &EmbeddedPart, result: &PhaseResult) {
    let one_by_one = matches!(
        part.measured.first(),
        Some(Phase::Load { batch: 1, .. } | Phase::Write { batch: 1, .. } | Phase::ReadRandom { .. })
    );
    if let (Some(allocated), true) = (result.allocated, one_by_one) {
        let operations = result.operations.max(1) as f64;
        put(trial, "allocations_per_op", allocated.calls as f64 / operations);
        put(trial, "allocated_bytes_per_op", allocated.bytes as f64 / operations);
    }
}

fn put_facts(trial: &mut Trial, told: &Told, ready: &Ready) {
    fact(trial, "engine", format!("{} {}", ready.engine, ready.version));
    fact(trial, "engine_allocator", ready.allocator.clone());
    let settings: Vec<String> = ready.settings.iter().map(|it| format!("{}={}", it.key, it.value)).collect();
    fact(trial, "engine_settings", settings);
    if !ready.promise.is_empty() {
        fact(trial, "sync_promise", ready.promise.clone());
    }
    let levels = told.results.last().map(|result| result.levels.as_slice()).unwrap_or_default();
    if !levels.is_empty() {
        let tables: Vec<u64> = levels.iter().map(|level| level.tables).collect();
        fact(trial, "tables_per_level", tables);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_ratio_needs_lookups_and_a_cache() {
        let of = |cache_hits, cache_misses| {
            hit_ratio(EngineWork { cache_hits, cache_misses, ..EngineWork::default() })
        };
        assert_eq!(of(Some(3), Some(1)), Some(0.75));
        assert_eq!(of(Some(0), Some(0)), None);
        assert_eq!(of(None, Some(1)), None);
        let engine = |cache_bytes, profile| EngineWanted { cache_bytes, profile, ..EngineWanted::default() };
        assert!(has_cache(engine(None, Profile::Default)) && has_cache(engine(Some(1), Profile::LowMemory)));
        assert!(
            !has_cache(engine(Some(0), Profile::Default)) && !has_cache(engine(None, Profile::LowMemory))
        );
    }
}
