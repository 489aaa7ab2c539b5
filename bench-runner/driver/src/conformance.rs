//! Does an engine do what its driver says? Every driver's own test asks this.

use crate::engine::Engine;
use crate::main_loop::run;
use crate::protocol::{
    Distribution, EngineOptions, KeySchema, Message, Order, Phase, PhaseResult, Records, SCHEMA_VERSION,
    Until, ValueKind, WORKLOAD_SCHEMA, Workload, Ycsb,
};

const RECORDS: u64 = 1_000;
const ONCE: Until = Until { seconds: 0.0, operations: 1 };
const SOME: Until = Until { seconds: 0.0, operations: 500 };

/// Loads a store, and does every phase there is to it: in one opening, and in others that find what the one before left. Every read is checked. Returns
/// the kinds of phases of which the engine said that it does not support them, in their order.
///
/// # Errors
/// What was not as it must be, in words.
pub fn conformance<E: Engine>(options: &EngineOptions) -> Result<Vec<String>, String> {
    let read =
        |distribution, threads, absent| Phase::ReadRandom { distribution, threads, absent, until: SOME };
    let read_all = Phase::ReadOrdered { until: Until { operations: RECORDS, ..SOME } };
    let write = |threads| {
        let until = Until { operations: 100, ..SOME };
        Phase::Write { order: Order::Random, batch: 10, threads, watched: threads > 1, until }
    };
    let scan = |reverse| Phase::Scan { records: 100, reverse, until: Until { operations: 20, ..SOME } };
    let load = || Phase::Load { order: Order::Random, batch: 300, flush_every: None };
    let first = [
        load(),
        read(Distribution::Uniform, 1, false),
        read(Distribution::Zipf, 3, false),
        read(Distribution::Uniform, 2, true),
        read_all.clone(),
        scan(false),
        scan(true),
        Phase::ScanAll { reverse: false, until: ONCE },
        Phase::ScanAll { reverse: true, until: ONCE },
        Phase::ScanPrefix { digits: 1, until: SOME },
        Phase::ScanPrefix { digits: 2, until: SOME },
        write(1),
        write(3),
        Phase::Mixed {
            read_percent: 80,
            distribution: Distribution::Zipf,
            until: Until { operations: 100, ..SOME },
        },
        read_all.clone(),
    ];
    let deleting = [
        Phase::DeleteRange { first: 100, records: 800 },
        load(),
        Phase::Queue { window: 50, seconds: 60.0 },
        Phase::EmptyScan { rest_seconds: 0.0, until: ONCE },
        load(),
    ];
    let ycsb = |workload| Phase::Ycsb { workload, until: Until { operations: 100, ..SOME } };
    let second = [
        read_all.clone(),
        Phase::Load { order: Order::Random, batch: 64, flush_every: Some(250) },
        Phase::Settle,
        Phase::Flush { records: 300, until: Until { operations: 2, ..SOME } },
        Phase::Compact,
        read_all.clone(),
        Phase::Reopen { until: Until { operations: 3, ..SOME } },
        read_all,
        ycsb(Ycsb::A),
        ycsb(Ycsb::B),
        ycsb(Ycsb::C),
        ycsb(Ycsb::D),
        ycsb(Ycsb::E),
        ycsb(Ycsb::F),
        Phase::ScanAll { reverse: false, until: ONCE },
        scan(true),
    ];
    let mut missing = done::<E>(options, &first)?;
    missing.extend(done::<E>(options, &deleting)?);
    missing.extend(done::<E>(options, &second)?);
    Ok(missing)
}

/// Does a workload and looks at what came of it.
fn done<E: Engine>(options: &EngineOptions, phases: &[Phase]) -> Result<Vec<String>, String> {
    let workload = Workload {
        schema: WORKLOAD_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        seed: 7,
        draw_seed: 0,
        engine: options.clone(),
        records: Records {
            count: RECORDS,
            value_bytes: 100,
            values: ValueKind::HalfCompressible,
            keys: KeySchema::OneFamily,
        },
        phases: phases.to_vec(),
    };
    let text = serde_json::to_string(&workload).map_err(|error| error.to_string())?;
    let mut output = Vec::new();
    run::<E>(&mut text.as_bytes(), &mut output).map_err(|failure| format!("{failure:?}"))?;
    let (mut results, mut missing) = (0, Vec::new());
    for line in String::from_utf8_lossy(&output).lines() {
        let message: Message = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        match message {
            Message::Ready(ready) if ready.promise.is_empty() || ready.open_ns == 0 => {
                return Err(format!("no promise, or no time of opening: {line}"));
            }
            Message::Phase(result) => {
                let phase = phases.get(result.phase).ok_or_else(|| format!("no such phase: {line}"))?;
                if result.not_supported.is_some() {
                    missing.push(kind(phase)?);
                } else if !is_sound(phase, &result) {
                    return Err(format!("{phase:?}: {line}"));
                }
                results += 1;
            }
            _ => {}
        }
    }
    if results == phases.len() { Ok(missing) } else { Err(format!("only {results} phases were told")) }
}

fn is_sound(phase: &Phase, result: &PhaseResult) -> bool {
    let least = match phase {
        Phase::Settle | Phase::Compact | Phase::EmptyScan { .. } | Phase::DeleteRange { .. } => 1,
        Phase::Queue { .. } => RECORDS,
        Phase::Flush { .. } => 2,
        Phase::Reopen { .. } => 3,
        Phase::ScanAll { .. } => RECORDS,
        _ => 20,
    };
    let counted: u64 = result.histograms.iter().map(|histogram| histogram.count).sum();
    let absent = matches!(phase, Phase::ReadRandom { absent: true, .. });
    result.misses + result.errors == 0
        && counted > 0
        && result.operations >= least
        && !(absent && result.hits > 0)
        && result.elapsed_ns > 0
}

/// What a workload calls a phase.
fn kind(phase: &Phase) -> Result<String, String> {
    let value = serde_json::to_value(phase).map_err(|error| error.to_string())?;
    value["kind"].as_str().map(str::to_owned).ok_or_else(|| "a phase without a kind".to_owned())
}
