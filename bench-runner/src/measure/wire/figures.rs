//! Which values, histograms and windows does a stretch of load leave in a trial?

use super::super::os_stat::Account;
use super::super::trial::{put, put_times};
use crate::load::generator::Stretched;
use crate::load::recorder::{Recorder, Times, WINDOW_NS};
use crate::model::{Histogram, Trial, Value, Window};
use crate::plan::Operation;
use crate::target::RunningTarget;
use crate::target::cpu_time::Source;

/// The windows of a stretch that began `offset_ns` after the beginning of the cell.
pub(crate) fn windows(load: &Stretched, offset_ns: u64) -> impl Iterator<Item = Window> {
    load.recorder.windows().enumerate().map(move |(number, operations)| {
        let start_ns = number as u64 * WINDOW_NS;
        let length_ns = load.elapsed_ns.saturating_sub(start_ns).min(WINDOW_NS);
        Window {
            start_ms: (offset_ns + start_ns) as f64 / 1e6,
            length_ms: length_ns as f64 / 1e6,
            operations,
            latency_ns_p50: load.recorder.window_times(number).map(|times| times.percentile_ns(50.0)),
            latency_ns_p99: load.recorder.window_times(number).map(|times| times.percentile_ns(99.0)),
            ..Window::default()
        }
    })
}

/// Values that crossed the wire, in either direction.
pub(super) fn values_moved(recorder: &Recorder) -> u64 {
    let sets = recorder.times(Operation::Set).map_or(0, Times::count);
    sets + recorder.counts.hits
}

/// Adds throughput and response times: of all operations together, and apart where there are several.
/// Returns the times of all operations together.
pub(crate) fn put_load(trial: &mut Trial, recorder: &Recorder, elapsed_s: f64) -> Times {
    put(trial, "ops_per_second", recorder.counts.operations as f64 / elapsed_s.max(1e-9));
    let present: Vec<_> = [Operation::Set, Operation::Get, Operation::Del]
        .into_iter()
        .filter_map(|operation| Some((operation, recorder.times(operation)?)))
        .collect();
    let all = recorder.all_times();
    for (operation, times) in &present {
        let record = times.to_record(operation.name());
        trial
            .histograms
            .extend(record.map(|one| Histogram { from_intended_start: recorder.from_intended_start, ..one }));
    }
    put_times(trial, None, &all);
    if present.len() > 1 {
        for (operation, times) in present {
            trial.values.push(Value {
                metric: "ops_per_second".to_owned(),
                operation: Some(operation.name().to_owned()),
                value: times.count() as f64 / elapsed_s.max(1e-9),
            });
            put_times(trial, Some(operation.name()), times);
        }
    }
    all
}

/// Adds what the system did meanwhile.
pub(crate) fn put_system(trial: &mut Trial, account: Account, target: &RunningTarget) {
    let stat = account.finish(target.pid);
    let operations = trial.counts.operations.max(1) as f64;
    // Of a server that is not ours nothing is known but what it says of itself.
    if stat.server_cpu_ns > 0 || target.has_process() {
        put(trial, "server_cpu_ns_per_op", stat.server_cpu_ns as f64 / operations);
    }
    if !tells_others_apart(&target.cpu) {
        put(trial, "generator_busy", stat.generator_busy_max);
        return;
    }
    if target.has_process() {
        put(trial, "rss_bytes_peak", stat.rss_bytes_peak as f64);
        put(trial, "rss_bytes_growth", stat.rss_bytes_peak as f64 - target.rss_bytes_start as f64);
    }
    put(trial, "generator_busy", stat.generator_busy_max);
    put(trial, "foreign_cpu_cores", stat.foreign_cpu_cores);
    trial.os = Some(stat);
}

/// Whether what others used can be told from what the target used. Where it cannot, nothing is said of others, rather than nought: a server
/// that says in `INFO` what it used may run on another machine, and its CPU time taken off what this one used would hide others.
fn tells_others_apart(source: &Source) -> bool {
    !matches!(source, Source::Unknown | Source::Info(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::client::Address;

    #[test]
    fn of_a_server_that_may_be_elsewhere_nothing_is_said_of_others() {
        let address = Address::tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 6379)));
        assert!(!tells_others_apart(&Source::Info(Box::new(address))));
        assert!(!tells_others_apart(&Source::Unknown));
        assert!(tells_others_apart(&Source::Processes(1)));
    }
}
