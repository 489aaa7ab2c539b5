//! How is a driver program measured? As the target itself, on the target's CPU with an empty store of its own; or as
//! the client of a server with a protocol of its own, on the generator's CPU.

use super::lab::Bench;
use super::os_stat::{Account, Reading};
use super::progress::Stage;
use super::trial::{PERCENTILES, broken, empty, fact, invalidate, put};
use crate::model::{Counts, Histogram, Status, Trial, Value};
use crate::plan::EmbeddedPhase;
use crate::target::memory::forget_rss_peak;
use crate::target::{DriverStart, RunningDriver, RunningTarget, Silence, cpu_time, locate, locate_client};
use base64::Engine as _;
use hdrhistogram::serialization::Deserializer;
use plumbkv_bench_driver::protocol::{
    EngineOptions, Message, Phase, PhaseHistogram, PhaseResult, Ready, SCHEMA_VERSION, WORKLOAD_SCHEMA,
    Workload,
};
use std::time::{Duration, Instant};

/// Opening and closing a store may take so long.
const OPEN_WITHIN: Duration = Duration::from_secs(60);

/// Why a cell came to no figure.
enum End {
    Stopped,
    Broken(Status, String),
}

impl From<String> for End {
    fn from(reason: String) -> Self {
        Self::Broken(Status::Failed, reason)
    }
}

/// Measures the one cell of a driver process; nothing when told to stop.
pub(crate) fn measure(bench: &mut Bench<'_>, phase: &EmbeddedPhase) -> Option<Trial> {
    bench.tell(&phase.cell.label, Stage::Starting);
    let done = match locate_client(bench.definition, bench.setup) {
        Ok(None) => embedded(bench, phase),
        Ok(Some(client)) => as_client(bench, phase, &client),
        Err(reason) => Err(reason.into()),
    };
    bench.tell("", Stage::Stopping);
    match done {
        Ok(trial) => Some(trial),
        Err(End::Stopped) => None,
        Err(End::Broken(status, reason)) => {
            Some(broken(bench.step.trial, bench.step.position, status, reason))
        }
    }
}

/// An engine inside the driver: the driver is what is measured.
fn embedded(bench: &mut Bench<'_>, phase: &EmbeddedPhase) -> Result<Trial, End> {
    let program = locate(bench.definition, bench.binary_override, bench.setup)?;
    let store = tempfile::Builder::new()
        .prefix("store-")
        .tempdir_in(&bench.setup.work_dir)
        .map_err(|error| format!("no folder for the store in {}: {error}", bench.setup.work_dir.display()))?;
    let workload = workload(bench, phase, store.path().display().to_string());
    let start = DriverStart { program: &program, cpu: bench.placed.target, workload: &workload };
    let mut driver = RunningDriver::start(&start)?;
    let watched = Watched { pid: driver.pid, cpu: driver.cpu.clone() };
    let told = drive(bench, &mut driver, phase, &watched)?;
    let facts = driver.facts(told.rss_bytes_start, "the driver's own".to_owned());
    let mut trial = trial(bench, phase, &told, watched.pid, 0, 0.0);
    trial.process = Some(facts);
    put(&mut trial, "rss_bytes_peak", told.result.rss_bytes_peak as f64);
    let growth = told.result.rss_bytes_peak as f64 - told.rss_bytes_start as f64;
    put(&mut trial, "rss_bytes_growth", growth);
    if let Some(bytes) = told.result.disk_bytes {
        put(&mut trial, "disk_bytes", bytes as f64);
    }
    put_io(&mut trial, phase, &told.result);
    fact(&mut trial, "filesystem", filesystem(store.path()));
    finish(bench, driver)?;
    Ok(trial)
}

/// The client of a server, which is what is measured.
fn as_client(bench: &mut Bench<'_>, phase: &EmbeddedPhase, client: &std::path::Path) -> Result<Trial, End> {
    let mut target = bench.start()?;
    let done = served(bench, phase, client, &target);
    if let (Err(End::Broken(status, reason)), Some(words)) = (&done, target.ended()) {
        return Err(End::Broken(*status, format!("{reason}; {} ended: {words}", bench.step.target)));
    }
    target.stop();
    done
}

fn served(
    bench: &mut Bench<'_>,
    phase: &EmbeddedPhase,
    client: &std::path::Path,
    target: &RunningTarget,
) -> Result<Trial, End> {
    let workload = workload(bench, phase, target.address.endpoint.to_string());
    let start = DriverStart { program: client, cpu: bench.placed.generator, workload: &workload };
    let mut driver = RunningDriver::start(&start)?;
    let watched = Watched { pid: target.pid, cpu: target.cpu.clone() };
    let told = drive(bench, &mut driver, phase, &watched)?;
    let busy = told.result.cpu_ns as f64 / told.result.elapsed_ns.max(1) as f64;
    let mut trial = trial(bench, phase, &told, watched.pid, told.result.cpu_ns, busy);
    trial.process = Some(target.facts(bench.generator_cpus()));
    // No peak of memory: such a server has a process per client, which share most of it.
    put(&mut trial, "generator_busy", busy);
    finish(bench, driver)?;
    Ok(trial)
}

/// Whose counters are read around the measured phase.
struct Watched {
    pid: u32,
    cpu: cpu_time::Source,
}

/// What a driver told, and what the kernel told of the target meanwhile.
struct Told {
    ready: Ready,
    rss_bytes_start: u64,
    result: PhaseResult,
    before: Reading,
    after: Reading,
}

fn workload(bench: &Bench<'_>, phase: &EmbeddedPhase, location: String) -> Workload {
    Workload {
        schema: WORKLOAD_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        seed: bench.step.seed,
        engine: EngineOptions::new(location, phase.cache_bytes, phase.sync),
        records: phase.records,
        phases: phase.before.iter().chain([&phase.measured]).cloned().collect(),
    }
}

/// Has all phases done; a phase before the measured one must be without fault.
fn drive(
    bench: &mut Bench<'_>,
    driver: &mut RunningDriver,
    phase: &EmbeddedPhase,
    watched: &Watched,
) -> Result<Told, End> {
    let patience = Duration::try_from_secs_f64(phase.timeout_s).unwrap_or(OPEN_WITHIN);
    let ready = match say(bench, driver, OPEN_WITHIN, "opening the store")? {
        Message::Ready(ready) => ready,
        other => return Err(out_of_turn(&other)),
    };
    let rss_bytes_start = driver.rss_bytes();
    for (number, before) in phase.before.iter().enumerate() {
        let loads = matches!(before, Phase::Load { .. });
        let stage = if loads { Stage::Loading } else { Stage::WarmingUp };
        bench.tell(&phase.cell.label, stage);
        await_turn(bench, driver, number, patience)?;
        driver.go_on()?;
        let result = outcome(bench, driver, number, patience, stage.name())?;
        if let Some(reason) = fault(&result) {
            return Err(End::Broken(Status::Invalid, format!("while {}: {reason}", stage.name())));
        }
    }
    let number = phase.before.len();
    bench.tell(&phase.cell.label, Stage::Measuring);
    await_turn(bench, driver, number, patience)?;
    forget_rss_peak(watched.pid);
    let before = Reading::take(watched.pid, &watched.cpu);
    driver.go_on()?;
    let result = outcome(bench, driver, number, patience, Stage::Measuring.name())?;
    // The driver waits once more before it closes its store: nothing but the phase lies between the readings.
    await_turn(bench, driver, number + 1, patience)?;
    let after = Reading::take(watched.pid, &watched.cpu);
    Ok(Told { ready, rss_bytes_start, result, before, after })
}

/// Closes the store and sees the driver end well.
fn finish(bench: &Bench<'_>, mut driver: RunningDriver) -> Result<(), End> {
    driver.go_on()?;
    match say(bench, &mut driver, OPEN_WITHIN, "closing the store")? {
        Message::Done => Ok(()),
        other => Err(out_of_turn(&other)),
    }
}

fn say(
    bench: &Bench<'_>,
    driver: &mut RunningDriver,
    patience: Duration,
    doing: &str,
) -> Result<Message, End> {
    driver.next(Instant::now() + patience, bench.stop).map_err(|silence| match silence {
        Silence::Stopped => End::Stopped,
        Silence::TimedOut => {
            let reason = format!("timed out after {:.0} s while {doing}", patience.as_secs_f64());
            End::Broken(Status::Timeout, reason)
        }
        Silence::Broken(words) => {
            End::Broken(Status::Failed, format!("the driver gave up while {doing}: {words}"))
        }
    })
}

fn await_turn(
    bench: &Bench<'_>,
    driver: &mut RunningDriver,
    number: usize,
    patience: Duration,
) -> Result<(), End> {
    match say(bench, driver, patience, "waiting for its turn")? {
        Message::Waiting { phase } if phase == number => Ok(()),
        other => Err(out_of_turn(&other)),
    }
}

fn outcome(
    bench: &Bench<'_>,
    driver: &mut RunningDriver,
    number: usize,
    patience: Duration,
    doing: &str,
) -> Result<PhaseResult, End> {
    match say(bench, driver, patience, doing)? {
        Message::Phase(result) if result.phase == number => Ok(result),
        other => Err(out_of_turn(&other)),
    }
}

fn out_of_turn(message: &Message) -> End {
    let kind = match message {
        Message::Ready(_) => "ready",
        Message::Waiting { .. } => "waiting",
        Message::Phase(_) => "phase",
        Message::Done => "done",
    };
    End::Broken(Status::Failed, format!("the driver said `{kind}` out of turn"))
}

/// Why a phase is not what was planned.
fn fault(result: &PhaseResult) -> Option<String> {
    let first = result.first_error.as_deref().unwrap_or("no reason was given");
    match (result.errors, result.misses) {
        (0, 0) if result.operations == 0 => Some("nothing was done".to_owned()),
        (0, 0) => None,
        (errors, misses) => Some(format!(
            "{errors} errors and {misses} misses in {} operations; the first: {first}",
            result.operations
        )),
    }
}

fn trial(
    bench: &Bench<'_>,
    phase: &EmbeddedPhase,
    told: &Told,
    pid: u32,
    generator_cpu_ns: u64,
    generator_busy: f64,
) -> Trial {
    let result = &told.result;
    let mut trial = empty(bench.step.trial, bench.step.position);
    let elapsed_s = result.elapsed_ns as f64 / 1e9;
    trial.elapsed_s = elapsed_s;
    trial.counts = Counts {
        operations: result.operations,
        hits: result.hits,
        misses: result.misses,
        errors: result.errors,
    };
    put(&mut trial, "ops_per_second", result.operations as f64 / elapsed_s.max(1e-9));
    put_histograms(&mut trial, &result.histograms, elapsed_s);
    let moved = result.hits.max(result.operations) * u64::from(phase.records.value_bytes);
    put(&mut trial, "bytes_per_second", moved as f64 / elapsed_s.max(1e-9));
    let mut account = Account::default();
    account.add_program(&told.before, &told.after, generator_cpu_ns, generator_busy);
    let stat = account.finish(pid);
    put(&mut trial, "server_cpu_ns_per_op", stat.server_cpu_ns as f64 / result.operations.max(1) as f64);
    trial.os = Some(stat);
    let ready = &told.ready;
    fact(&mut trial, "engine", format!("{} {}", ready.engine, ready.version));
    fact(&mut trial, "engine_allocator", ready.allocator.clone());
    let settings: Vec<String> = ready.settings.iter().map(|it| format!("{}={}", it.key, it.value)).collect();
    fact(&mut trial, "engine_settings", settings);
    if let Some(reason) = fault(result) {
        invalidate(&mut trial, reason);
    }
    trial
}

/// Response times: of all operations together, and apart where there are several kinds. A transaction of many
/// records is kept as a histogram only: its time is not the response time of an operation that is counted.
fn put_histograms(trial: &mut Trial, told: &[PhaseHistogram], elapsed_s: f64) {
    let mut all: Option<(hdrhistogram::Histogram<u64>, u64)> = None;
    let single: Vec<_> = told.iter().filter(|one| one.operation != "batch").collect();
    for one in told {
        trial.histograms.push(Histogram {
            operation: one.operation.clone(),
            hdr_v2_deflate_base64: one.hdr_v2_deflate_base64.clone(),
            low_ns: one.low_ns,
            high_ns: one.high_ns,
            digits: one.digits,
            count: one.count,
            clipped: one.clipped,
            from_intended_start: false,
        });
    }
    for one in &single {
        let Some(histogram) = decode(one).filter(|histogram| histogram.len() == one.count) else {
            invalidate(trial, format!("the histogram of {} cannot be read", one.operation));
            continue;
        };
        if single.len() > 1 {
            trial.values.push(Value {
                metric: "ops_per_second".to_owned(),
                operation: Some(one.operation.clone()),
                value: one.count as f64 / elapsed_s.max(1e-9),
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
    if let Some((histogram, sum_ns)) = all {
        put_times(trial, None, &histogram, sum_ns);
    }
}

fn decode(told: &PhaseHistogram) -> Option<hdrhistogram::Histogram<u64>> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(&told.hdr_v2_deflate_base64).ok()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

fn put_times(trial: &mut Trial, operation: Option<&str>, times: &hdrhistogram::Histogram<u64>, sum_ns: u64) {
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

/// What was read and written for what was asked: by calls, so that pages mapped into memory are not in it.
fn put_io(trial: &mut Trial, phase: &EmbeddedPhase, result: &PhaseResult) {
    let record_bytes = 16.0 + f64::from(phase.records.value_bytes);
    let operations = result.operations.max(1) as f64;
    match (&phase.measured, result.read_bytes, result.written_bytes) {
        (Phase::Load { .. } | Phase::Write { .. }, _, Some(written)) => {
            put(trial, "write_amplification_ratio", written as f64 / (operations * record_bytes));
        }
        (Phase::ReadRandom { .. } | Phase::ReadOrdered { .. } | Phase::Scan { .. }, Some(read), _) => {
            put(trial, "read_bytes_per_op", read as f64 / operations);
        }
        _ => {}
    }
}

/// The kind of file system a store lay on, by the number the kernel gives it (statfs(2)).
fn filesystem(path: &std::path::Path) -> String {
    match rustix::fs::statfs(path).map(|about| about.f_type as u64) {
        Ok(0xEF53) => "ext4".to_owned(),
        Ok(0x0102_1994) => "tmpfs".to_owned(),
        Ok(0x794c_7630) => "overlay".to_owned(),
        Ok(0x5846_5342) => "xfs".to_owned(),
        Ok(0x9123_683E) => "btrfs".to_owned(),
        Ok(other) => format!("{other:#x}"),
        Err(_) => "unknown".to_owned(),
    }
}
