//! Does an engine do what its driver says? Every driver's own test asks this.

use crate::engine::Engine;
use crate::main_loop::run;
use crate::protocol::{
    Distribution, EngineOptions, Message, Order, Phase, Records, SCHEMA_VERSION, SyncMode, Until, ValueKind,
    WORKLOAD_SCHEMA, Workload,
};

const RECORDS: u64 = 1_000;

/// Loads a store at `location`, reads it in every way, overwrites it and reads it again; every read is checked.
///
/// # Errors
/// What was not as it must be, in words.
pub fn conformance<E: Engine>(
    location: &str,
    sync: SyncMode,
    cache_bytes: Option<u64>,
) -> Result<(), String> {
    let until = Until { seconds: 0.0, operations: 500 };
    let read = |distribution, threads| Phase::ReadRandom { distribution, threads, until };
    let workload = Workload {
        schema: WORKLOAD_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        seed: 7,
        engine: EngineOptions { location: location.to_owned(), cache_bytes, sync },
        records: Records { count: RECORDS, value_bytes: 100, values: ValueKind::HalfCompressible },
        phases: vec![
            Phase::Load { order: Order::Random, batch: 300 },
            read(Distribution::Uniform, 1),
            read(Distribution::Zipf, 3),
            Phase::ReadOrdered { until: Until { operations: RECORDS, ..until } },
            Phase::Scan { records: 100, until: Until { operations: 20, ..until } },
            Phase::Write { order: Order::Random, batch: 10, until: Until { operations: 100, ..until } },
            Phase::Mixed {
                read_percent: 80,
                distribution: Distribution::Zipf,
                until: Until { operations: 100, ..until },
            },
            Phase::ReadOrdered { until: Until { operations: RECORDS, ..until } },
        ],
    };
    let text = serde_json::to_string(&workload).map_err(|error| error.to_string())?;
    let mut output = Vec::new();
    run::<E>(&mut text.as_bytes(), &mut output).map_err(|failure| format!("{failure:?}"))?;
    let mut results = 0;
    for line in String::from_utf8_lossy(&output).lines() {
        let message: Message = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let Message::Phase(result) = message else { continue };
        let counted: u64 = result.histograms.iter().map(|histogram| histogram.count).sum();
        let sound = result.misses + result.errors == 0 && counted > 0 && result.operations >= 20;
        if !sound {
            return Err(format!("{:?}: {line}", workload.phases.get(result.phase)));
        }
        results += 1;
    }
    if results == workload.phases.len() { Ok(()) } else { Err(format!("only {results} phases were told")) }
}
