//! How long will a step take? An estimate in seconds, for the time left and for `--budget`.
//!
//! The numbers below are round and belong to a two-core virtual machine. Starts, ends and pauses follow from recorded runs: what
//! a run took, less the times of its trials, over its processes. Rates are on the slow side, since an estimate that is too short
//! breaks a promise; few cells last by a count and not by a time. What is measured again for a disturbance is not foreseen.
//! They never enter a result.

use super::driven::{EmbeddedWork, StoreUse};
use super::knee;
use super::step::{CapLoad, Offer, Operation, Step, WirePhase, Work};
use plumbkv_bench_driver::protocol::{Order, Phase, SyncMode, Until};

/// Start, probing and end of a process, seconds.
const NATIVE_PROCESS_S: f64 = 0.07;
/// Start, probing, end and removal of a container, seconds.
const CONTAINER_PROCESS_S: f64 = 0.65;
/// One start of the `startup` scenario, seconds.
const NATIVE_START_S: f64 = 0.03;
/// One start of the `startup` scenario in a container, seconds.
const CONTAINER_START_S: f64 = 0.5;
/// Requests per second of one connection with one request in flight.
const ONE_AT_A_TIME: f64 = 12_000.0;
/// Requests per second of many connections.
const MANY: f64 = 60_000.0;
/// Requests per second with many in flight, as in preloading.
const PIPELINED: f64 = 500_000.0;
/// Bytes per second at which a stored directory is read through before it is opened.
const READ_THROUGH: f64 = 2e9;
/// Bytes per second at which a stored directory is copied and forced to the device.
const COPIED: f64 = 1e9;
/// Records per second that an embedded engine reads in order.
const ORDERED: f64 = 800_000.0;
/// Records per second that an embedded engine scans.
const SCANNED: f64 = 4e6;
/// Writes per second that are each forced to the device.
const SYNCED: f64 = 3_000.0;
/// Records per second that an engine deletes one by one in one call.
const DELETED: f64 = 400_000.0;
/// Keys per second of a store that grows beside other requests.
const GROWN: f64 = 330_000.0;
/// Requests go on for this long after what they are measured beside, in all, seconds.
const TAIL_AFTER_S: f64 = 7.0;
/// Connecting one client, seconds.
const CONNECT_S: f64 = 0.000_1;
/// Reading the counters before and after a cell, seconds.
const CELL_S: f64 = 0.015;
/// Looking at every key of a filled store, keys per second.
const LOOKS: f64 = 50_000.0;

/// Reads per second of a trace, the comparison with exact LRU included.
const TRACED: f64 = 250_000.0;
/// The short run of somebody else's program before the one that counts, seconds.
const OTHERS_FIRST_S: f64 = 0.4;
/// Between two rates of the search for the knee, seconds.
const KNEE_PAUSE_S: f64 = 0.03;
/// Until what is left behind after a load can be looked at, seconds.
const SETTLE_S: f64 = 0.6;

/// Estimated duration of one step, seconds.
#[must_use]
pub fn step_seconds(step: &Step) -> f64 {
    let native = !step.mode.is_container();
    let process = if native { NATIVE_PROCESS_S } else { CONTAINER_PROCESS_S };
    match &step.work {
        Work::Wire { phases } => {
            process + loading_seconds(phases) + phases.iter().map(phase_seconds).sum::<f64>()
        }
        Work::MemoryCap { phase } => {
            process
                + CELL_S
                + match &phase.load {
                    CapLoad::Fill { keys, .. } => *keys as f64 * (1.0 / ONE_AT_A_TIME + 1.0 / LOOKS),
                    CapLoad::Overwrite { seconds, .. } | CapLoad::TtlChurn { seconds, .. } => *seconds,
                    CapLoad::Hostile { clients, seconds, .. } => *seconds + f64::from(*clients) * CONNECT_S,
                    CapLoad::Idle { clients } => f64::from(*clients) * CONNECT_S + SETTLE_S,
                    CapLoad::Trace { requests, .. } => *requests as f64 / TRACED,
                }
        }
        Work::MemoryPerKey { phase } => process + CELL_S + phase.keys as f64 / PIPELINED + SETTLE_S,
        Work::Expiry { phase } => {
            let keys = (phase.keys + phase.kept_keys) as f64 / PIPELINED;
            process + CELL_S + keys + phase.within_ms as f64 / 1e3 + SETTLE_S
        }
        Work::Tail { phase } => {
            let keys = (phase.keys + phase.expiring_keys + phase.kept_keys) as f64 / GROWN;
            process + 3.0 * CELL_S + keys + phase.within_ms as f64 / 1e3 + TAIL_AFTER_S
        }
        Work::Startup { starts, .. } => {
            f64::from(*starts) * if native { NATIVE_START_S } else { CONTAINER_START_S }
        }
        Work::Embedded { work } => process + embedded_seconds(work),
        Work::Stock { stock } => {
            process + stock.pace.load_seconds(&stock.key.records, stock.key.order, stock.key.batch)
        }
    }
}

/// Estimated time left, seconds, corrected by how the estimates did so far: `done_estimated` seconds of
/// plan took `done_actual` seconds.
#[must_use]
pub fn remaining_seconds(remaining_estimated: f64, done_estimated: f64, done_actual: f64) -> f64 {
    // Until a tenth of a minute is behind us the correction would be noise.
    if done_estimated < 6.0 {
        return remaining_estimated;
    }
    remaining_estimated * (done_actual / done_estimated).clamp(0.2, 5.0)
}

fn embedded_seconds(work: &EmbeddedWork) -> f64 {
    let bytes = work.pace.disk_bytes(&work.records) as f64;
    let store = match work.store {
        StoreUse::Fresh => 0.0,
        StoreUse::Kept(_) => bytes / READ_THROUGH,
        StoreUse::Copy(_) => bytes / COPIED,
    };
    let parts = work.parts.iter().flat_map(|part| part.before.iter().chain(&part.measured));
    let all = work.before.iter().chain(parts);
    store + all.map(|each| driver_seconds(each, work)).sum::<f64>()
}

fn driver_seconds(phase: &Phase, work: &EmbeddedWork) -> f64 {
    let records = &work.records;
    // A load has its pace with merging; merging everything once more takes about a third of that.
    let load = |order, batch| work.pace.load_seconds(records, order, batch);
    let lasts = |until: &Until, rate: f64| until.seconds.max(until.operations as f64 / rate);
    match phase {
        Phase::Load { order, batch, .. } => load(*order, *batch),
        Phase::Settle => 0.0,
        Phase::Compact => load(Order::Random, 1_000) / 3.0,
        Phase::ReadOrdered { until } => lasts(until, ORDERED),
        // Each scan is whole.
        Phase::ScanAll { until, .. } => lasts(until, SCANNED).max(records.count as f64 / SCANNED),
        Phase::Reopen { until } => lasts(until, 20.0),
        Phase::Flush { until, .. } => 2.0 * lasts(until, 30.0),
        // By time, if its records do not end it before: insert, scan and deletion of each.
        Phase::Queue { seconds, .. } => seconds.min(records.count as f64 * 3.0 / ONE_AT_A_TIME),
        Phase::EmptyScan { rest_seconds, .. } => *rest_seconds,
        Phase::DeleteRange { records, .. } => *records as f64 / DELETED,
        // So many loads.
        Phase::Write { batch, watched: true, until, .. } if until.seconds == 0.0 => {
            load(Order::Random, *batch) * until.operations as f64 / records.count as f64
        }
        Phase::Write { until, .. } if work.engine.sync == SyncMode::Always => lasts(until, SYNCED),
        Phase::ReadRandom { until, .. }
        | Phase::Scan { until, .. }
        | Phase::ScanPrefix { until, .. }
        | Phase::Write { until, .. }
        | Phase::Mixed { until, .. }
        | Phase::Ycsb { until, .. } => lasts(until, ONE_AT_A_TIME),
    }
}

/// Keys are set once for all cells of a process that want the same ones, unless a cell has used them up.
fn loading_seconds(phases: &[WirePhase]) -> f64 {
    let mut held = None;
    let mut keys = 0;
    for phase in phases {
        let wanted = Some((phase.keys, phase.value_bytes, &phase.value_mix));
        if held != wanted {
            keys += phase.keys;
        }
        let used_up =
            phase.ttl_ms.is_some() || phase.mix.iter().any(|(operation, _)| *operation == Operation::Del);
        held = wanted.filter(|_| !used_up);
    }
    keys as f64 / PIPELINED
}

fn phase_seconds(phase: &WirePhase) -> f64 {
    let rate = match (phase.clients, phase.pipeline) {
        (1, 1) => ONE_AT_A_TIME,
        (_, 1) => MANY,
        _ => PIPELINED,
    };
    if let Offer::Knee { .. } = phase.offer {
        return CELL_S
            + knee::PROBES_MAX as f64 * (phase.min_seconds + KNEE_PAUSE_S)
            + f64::from(phase.clients) * CONNECT_S;
    }
    let operations = phase.min_operations.max(phase.exact_operations.unwrap_or(0));
    let measured = phase.min_seconds.max(operations as f64 / rate);
    let others = if phase.client_program.is_some() { OTHERS_FIRST_S } else { 0.0 };
    CELL_S + others + phase.warmup_s + measured + f64::from(phase.clients) * CONNECT_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(keys: u64) -> WirePhase {
        WirePhase { mix: vec![(Operation::Get, 1)], keys, value_bytes: 64, ..WirePhase::default() }
    }

    #[test]
    fn keys_are_loaded_once_unless_they_change_or_are_used_up() {
        let loads = |phases: &[WirePhase]| (loading_seconds(phases) * PIPELINED).round() as u64;
        assert_eq!(loads(&[reads(100), reads(100)]), 100);
        assert_eq!(loads(&[reads(100), reads(200), reads(100)]), 400);
        let deletes = WirePhase { mix: vec![(Operation::Del, 1)], ..reads(100) };
        assert_eq!(loads(&[deletes, reads(100), reads(100)]), 200);
        let living = WirePhase { ttl_ms: Some(5), ..reads(100) };
        assert_eq!(loads(&[living.clone(), living]), 200);
    }
}
