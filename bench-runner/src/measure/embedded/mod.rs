//! How is a driver program measured? As the target itself, on the target's CPU with a store of its own or one that was
//! loaded before; or as the client of a server with a protocol of its own, on the generator's CPU.

mod figures;
mod store;
mod talk;
mod watched;

use super::lab::Bench;
use super::progress::Stage;
use super::trial::{broken, fact, put};
use crate::environment::filesystem;
use crate::model::{Status, Trial};
use crate::plan::{EmbeddedPart, EmbeddedWork, EngineWanted, Stock};
use crate::target::{DriverStart, RunningTarget, locate, locate_client};
use plumbkv_bench_driver::protocol::{EngineOptions, Phase, SCHEMA_VERSION, WORKLOAD_SCHEMA, Workload};
use std::path::Path;
use talk::{Talk, Watched};

/// Why cells came to no figure.
enum End {
    Stopped,
    Broken(Status, String),
}

impl From<String> for End {
    fn from(reason: String) -> Self {
        // An engine that has nothing like what was asked for is left out, not at fault.
        match reason.find("not supported: ") {
            Some(at) => Self::Broken(Status::Skipped, reason[at..].to_owned()),
            None => Self::Broken(Status::Failed, reason),
        }
    }
}

/// A cell with what came of it.
type Measured = Vec<(String, Trial)>;

/// Measures the cells of a driver process; fewer of them when told to stop.
pub(super) fn measure(bench: &mut Bench<'_>, work: &EmbeddedWork) -> Measured {
    bench.tell("", Stage::Starting);
    let mut done = Vec::new();
    let end = match locate_client(bench.definition, bench.setup) {
        Ok(None) => embedded(bench, work, &mut done),
        Ok(Some(client)) => as_client(bench, work, &client, &mut done),
        Err(reason) => Err(reason.into()),
    };
    bench.tell("", Stage::Stopping);
    if let (true, Some(key)) = (work.releases, work.store.key()) {
        bench.shelf.let_go(bench.step.position, key);
    }
    conclude(bench, &work.parts, done, end)
}

/// Those that came to nothing say why. A driver that did not end well takes its last cell with it.
fn conclude(bench: &Bench<'_>, parts: &[EmbeddedPart], mut done: Measured, end: Result<(), End>) -> Measured {
    match end {
        Ok(()) | Err(End::Stopped) => {}
        Err(End::Broken(status, reason)) => {
            let (trial, position) = (bench.step.trial, bench.step.position);
            if done.len() == parts.len() {
                done.pop();
            }
            for part in parts.iter().skip(done.len()) {
                done.push((part.cell.key.clone(), broken(trial, position, status, reason.clone())));
            }
        }
    }
    done
}

/// Loads a directory that later steps read.
pub(super) fn stock(bench: &mut Bench<'_>, stock: &Stock) -> Measured {
    let loaded = store::load(bench, stock);
    bench.tell("", Stage::Stopping);
    let trial = match loaded {
        Ok(trial) => trial,
        Err(End::Stopped) => return Vec::new(),
        Err(End::Broken(status, reason)) => {
            bench.shelf.put_failure(stock.key.clone(), status, reason.clone());
            broken(bench.step.trial, bench.step.position, status, reason)
        }
    };
    vec![(stock.cell.key.clone(), trial)]
}

/// An engine inside the driver: the driver is what is measured.
fn embedded(bench: &mut Bench<'_>, work: &EmbeddedWork, done: &mut Measured) -> Result<(), End> {
    let memory_limit_bytes = bench.step.memory_limit_bytes;
    can_limit(bench, memory_limit_bytes)?;
    let program = locate(bench.definition, bench.binary_override, bench.setup)?;
    let store = store::prepare(bench, work)?;
    let location = store.path().display().to_string();
    let cpu = bench.placed.target;
    let mut before = work.before.clone();
    let label = work.parts.first().map_or("", |part| part.cell.label.as_str());
    if work.killed {
        let workload = workload(bench, work, location.clone(), before.clone());
        let start = DriverStart { program: &program, cpu, memory_limit_bytes, workload: &workload };
        let mut talk = Talk::begin(bench, &start, work.timeout_s)?;
        talk.prepare(bench, &before, label)?;
        talk.kill();
        before.clear();
    }
    let phases = before.iter().chain(of_the_cells(work)).cloned().collect();
    let workload = workload(bench, work, location, phases);
    let start = DriverStart { program: &program, cpu, memory_limit_bytes, workload: &workload };
    let mut talk = Talk::begin(bench, &start, work.timeout_s)?;
    talk.prepare(bench, &before, label)?;
    let watched = talk.watched();
    for part in &work.parts {
        let told = talk.measure(bench, part, &watched)?;
        let mut trial = figures::of_engine(bench, work, (part, &told), &talk);
        fact(&mut trial, "filesystem", filesystem(store.path()));
        if work.killed {
            fact(&mut trial, "before_opening", "loaded, written to and ended by SIGKILL");
        }
        done.push((part.cell.key.clone(), trial));
    }
    talk.finish(bench)
}

/// Whether a process can be held to a limit here, where it is to be.
fn can_limit(bench: &Bench<'_>, limit: Option<u64>) -> Result<(), End> {
    match (limit, &bench.setup.limits) {
        (Some(_), Err(reason)) => Err(End::Broken(Status::Skipped, reason.clone())),
        _ => Ok(()),
    }
}

/// The phases of all cells, in order.
fn of_the_cells(work: &EmbeddedWork) -> impl Iterator<Item = &Phase> {
    work.parts.iter().flat_map(|part| part.before.iter().chain(&part.measured))
}

/// The client of a server, which is what is measured.
fn as_client(
    bench: &mut Bench<'_>,
    work: &EmbeddedWork,
    client: &Path,
    done: &mut Measured,
) -> Result<(), End> {
    let mut target = bench.start()?;
    let ended = served(bench, work, client, &target, done);
    if let (Err(End::Broken(status, reason)), Some(words)) = (&ended, target.ended()) {
        return Err(End::Broken(*status, format!("{reason}; {} ended: {words}", bench.step.target)));
    }
    target.stop();
    ended
}

fn served(
    bench: &mut Bench<'_>,
    work: &EmbeddedWork,
    client: &Path,
    target: &RunningTarget,
    done: &mut Measured,
) -> Result<(), End> {
    let phases = work.before.iter().chain(of_the_cells(work)).cloned().collect();
    let workload = workload(bench, work, target.address.endpoint.to_string(), phases);
    let cpu = bench.placed.generator;
    let start = DriverStart { program: client, cpu, memory_limit_bytes: None, workload: &workload };
    let mut talk = Talk::begin(bench, &start, work.timeout_s)?;
    let watched = Watched { pid: target.pid, cpu: target.cpu.clone() };
    talk.prepare(bench, &work.before, work.parts.first().map_or("", |part| part.cell.label.as_str()))?;
    for part in &work.parts {
        let told = talk.measure(bench, part, &watched)?;
        let busy = told.cpu_ns() as f64 / told.elapsed_ns().max(1) as f64;
        let mut trial = figures::trial(
            bench,
            work.records,
            (part, &told),
            &talk.ready,
            (watched.pid, told.cpu_ns(), busy),
        );
        trial.process = Some(target.facts(bench.generator_cpus()));
        // No peak of memory: such a server has a process per client, which share most of it.
        put(&mut trial, "generator_busy", busy);
        done.push((part.cell.key.clone(), trial));
    }
    talk.finish(bench)
}

fn workload(bench: &Bench<'_>, work: &EmbeddedWork, location: String, phases: Vec<Phase>) -> Workload {
    let EngineWanted { cache_bytes, sync, profile, hold_merges } = work.engine;
    Workload {
        schema: WORKLOAD_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        seed: bench.step.seed,
        draw_seed: work.draw_seed,
        engine: EngineOptions { profile, hold_merges, ..EngineOptions::new(location, cache_bytes, sync) },
        records: work.records,
        phases,
    }
}
