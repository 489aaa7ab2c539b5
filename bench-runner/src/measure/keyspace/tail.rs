//! How long do requests take that come at a given rate while a store grows, while keys run out, and while it is emptied?
//!
//! An open loop asks for a few keys that were there first. Beside it, from connections of their own: every other key is
//! set as fast as replies come; then keys are set whose lifetimes end together, and time passes; then FLUSHALL. The
//! three cells share a process, since what grows is what is emptied.
//!
//! Both loads share a CPU. The one that fills gives way: it runs at the lowest priority, and the open loop sleeps until
//! a request is due instead of looking at the clock.

use super::super::lab::{Bench, fail_all};
use super::super::os_stat::{Account, Reading};
use super::super::progress::Stage;
use super::super::trial::{broken, empty, fact, invalidate, put};
use super::super::wire::{End, put_load, put_system, seconds, settle, windows};
use super::PATIENCE;
use super::expiry::{Lives, set_expiring};
use crate::load::arrivals::{Arrival, Open, Sender};
use crate::load::client::{Client, info_field};
use crate::load::generator::{Connections, Generator, Pace, Stretch, Stretched};
use crate::load::length::Length;
use crate::load::request::{Draw, Protocol, Workload};
use crate::load::values::Values;
use crate::model::{Status, Trial};
use crate::plan::{CellKey, Operation, TailPhase};
use crate::target::RunningTarget;
use crate::target::memory::forget_rss_peak;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Connections that fill, and requests in flight on each.
const FILLERS: u32 = 8;
const FILL_DEPTH: u32 = 32;
/// The open loop runs alone for so long before what it is measured beside begins.
const BEFORE: Duration = Duration::from_millis(300);
/// It goes on for so long after that.
const AFTER: Duration = Duration::from_millis(1_000);
/// Longest time that filling may take, s.
const FILL_S: f64 = 240.0;
/// As many requests may wait as are due in this time, s.
const IN_FLIGHT_S: f64 = 3.0;
/// The first key that expires does so this long after all should be set, at this many per second.
const EXPIRING_BEGIN: Duration = Duration::from_millis(500);
const EXPIRING_SET: f64 = 200_000.0;
/// The lowest priority.
const GIVES_WAY: i32 = 19;
/// Where a server tells what its longest command took since CONFIG RESETSTAT, µs.
const SLOWEST_COMMAND: &str = "slowest_command_usec";

/// Measures the three cells of the step.
pub(crate) fn measure(
    bench: &mut Bench<'_>,
    target: &mut RunningTarget,
    phase: &TailPhase,
) -> Vec<(String, Trial)> {
    let mut trials = Vec::new();
    for (number, (cell, event)) in
        [(&phase.grow, Event::Grow), (&phase.expire, Event::Expire), (&phase.flush, Event::Flush)]
            .into_iter()
            .enumerate()
    {
        match beside(bench, target, phase, cell, event) {
            Ok(mut trial) => {
                trial.process = Some(target.facts(bench.generator_cpus()));
                trials.push((cell.key.clone(), trial));
            }
            Err(End::Stopped) => break,
            Err(End::Broken(status, reason)) => {
                let words = target.ended().map(|words| format!("; {} ended: {words}", bench.step.target));
                let reason = format!("{reason}{}", words.unwrap_or_default());
                let step = bench.step;
                trials.push((cell.key.clone(), broken(step.trial, step.position, status, reason)));
                let reason = "an earlier cell of this process broke";
                trials.extend(fail_all(step, number + 1, Status::Failed, reason));
                break;
            }
        }
    }
    trials
}

/// What goes on beside the open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Grow,
    Expire,
    Flush,
}

/// The same with what it needs.
#[derive(Debug)]
enum Planned {
    Grow { keys: u64, value_bytes: u32 },
    Expire { until: Instant },
    Flush,
}

/// What it came to.
#[derive(Debug, Default)]
struct Happened {
    took: Duration,
    cpu_ns: u64,
    busy: f64,
}

fn beside(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &TailPhase,
    cell: &CellKey,
    event: Event,
) -> Result<Trial, End> {
    let step = bench.step;
    let mut trial = empty(step.trial, step.position);
    let values = Values::new(step.seed, phase.value_bytes as usize);
    let length = Length::Fixed(phase.value_bytes);
    let mut client = Client::connect(&target.address, PATIENCE)?;
    // Flushing takes the keys of the open loop with it: there it writes.
    let operation = if event == Event::Flush { Operation::Set } else { Operation::Get };
    let workload = Workload {
        mix: vec![(operation, 1)],
        keys: phase.kept_keys,
        length: length.clone(),
        ..Workload::default()
    };
    bench.tell(&cell.label, Stage::Loading);
    let planned = match event {
        Event::Grow => {
            client.fill(0..phase.kept_keys, &length, &values)?;
            Planned::Grow { keys: phase.keys, value_bytes: phase.value_bytes }
        }
        Event::Expire => {
            // None ends before the last is set.
            let from = Instant::now() + EXPIRING_BEGIN + seconds(phase.expiring_keys as f64 / EXPIRING_SET);
            let lives = Lives { from, within_ms: phase.within_ms };
            let keys = phase.keys..phase.keys + phase.expiring_keys;
            set_expiring(bench, &mut client, keys, lives, phase.value_bytes, &values)?;
            Planned::Expire { until: from + Duration::from_millis(phase.within_ms) }
        }
        Event::Flush => Planned::Flush,
    };
    bench.tell(&cell.label, Stage::Connecting);
    let connections = |clients| Connections { clients, threads: 1, cpus: &[], protocol: &Protocol::Resp2 };
    let mut generator = Generator::connect(&target.address, &connections(phase.clients))?;
    let mut filler = match event {
        Event::Grow => Some(Generator::connect(&target.address, &connections(FILLERS))?),
        Event::Expire | Event::Flush => None,
    };
    // A server that cannot forget its longest command has none to tell.
    let resets = client.expect_simple(&[b"CONFIG", b"RESETSTAT"], "OK").is_ok();
    forget_rss_peak(target.pid);

    bench.tell(&cell.label, Stage::Measuring);
    let begin = Instant::now();
    let over = AtomicBool::new(false);
    let stretch = |limit| Stretch {
        min_ns: u64::MAX,
        min_operations: 0,
        limit,
        pace: Pace::Closed,
        deadline: begin + seconds(FILL_S + phase.within_ms as f64 / 1e3),
        seed: step.seed,
        first: 0,
        window_percentiles: false,
    };
    let stop = bench.stop;
    let before = Reading::take(target.pid, &target.cpu);
    let (load, happened) = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let fill = stretch(Some(phase.keys));
            let happened = happen(stop, &planned, &mut client, filler.as_mut(), &values, &fill);
            std::thread::sleep(AFTER);
            over.store(true, Ordering::Relaxed);
            happened
        });
        let load = in_pieces(phase, &mut generator, &workload, &values, &stretch(None), &over, stop);
        (load, other.join().unwrap_or_else(|_| Err(End::Broken(Status::Failed, "a helper died".to_owned()))))
    });
    let after = Reading::take(target.pid, &target.cpu);
    let happened = happened?;
    settle(&load)?;

    let elapsed_s = load.elapsed_ns as f64 / 1e9;
    trial.elapsed_s = elapsed_s;
    trial.counts = load.recorder.counts;
    trial.windows = windows(&load, 0).collect();
    put_load(&mut trial, &load.recorder, elapsed_s);
    let open = load.open.clone();
    if let Some(open) = &open {
        put(&mut trial, "offered_per_second", open.offered_per_second);
        put(&mut trial, "achieved_per_second", open.achieved_per_second);
        put(&mut trial, "skipped_share", open.skipped as f64 / open.due.max(1) as f64);
    }
    if let Some(delays) = &load.send_delays {
        fact(&mut trial, "send_delay_ns_p99", delays.percentile_ns(99.0));
        fact(&mut trial, "send_delay_ns_p999", delays.percentile_ns(99.9));
    }
    trial.open_loop = open;
    if let Some(reason) = &load.recorder.first_error {
        invalidate(&mut trial, reason.clone());
    }
    let both = Stretched {
        cpu_ns: load.cpu_ns + happened.cpu_ns,
        busy_max: load.busy_max.max(happened.busy),
        ..load
    };
    let mut account = Account::default();
    account.add(&before, &after, &both);
    put_system(&mut trial, account, target);
    // Of the operations of two loads, which no figure per operation is of.
    trial.values.retain(|value| value.metric != "server_cpu_ns_per_op");
    fact(&mut trial, "event_ms", happened.took.as_secs_f64() * 1e3);
    if event == Event::Grow {
        put(&mut trial, "grown_keys_per_second", phase.keys as f64 / happened.took.as_secs_f64().max(1e-9));
    }
    if resets && bench.definition.info {
        let info = client.info()?;
        let slowest: Option<f64> = info_field(&info, SLOWEST_COMMAND).and_then(|text| text.parse().ok());
        if let Some(us) = slowest {
            put(&mut trial, "command_ns_max", us * 1e3);
        }
    }
    bench.tell(&cell.label, Stage::Checking);
    check(&mut client, &mut trial, phase, &planned)?;
    Ok(trial)
}

/// The open loop until it is `over`, as one stretch: the stretch itself knows only a time or a count.
fn in_pieces(
    phase: &TailPhase,
    generator: &mut Generator,
    workload: &Workload,
    values: &Values,
    stretch: &Stretch,
    over: &AtomicBool,
    stop: &AtomicBool,
) -> Stretched {
    let ended = AtomicBool::new(false);
    let pace = Pace::Open(Open {
        per_second: phase.per_second as f64,
        arrival: Arrival::Poisson,
        in_flight_bound: ((phase.per_second as f64 * IN_FLIGHT_S) as u64).max(1_000),
        sender: Sender::Sleeps,
    });
    let stretch = Stretch { pace, window_percentiles: true, ..*stretch };
    let mut load = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            ended.store(true, Ordering::Relaxed);
        });
        let load = generator.run(workload, values, &stretch, &ended);
        ended.store(true, Ordering::Relaxed);
        over.store(true, Ordering::Relaxed);
        load
    });
    // It was told to end, which is how it ends.
    load.stopped = stop.load(Ordering::Relaxed);
    load
}

/// What the open loop is measured beside; on a thread of its own.
fn happen(
    stop: &AtomicBool,
    event: &Planned,
    client: &mut Client,
    filler: Option<&mut Generator>,
    values: &Values,
    fill: &Stretch,
) -> Result<Happened, End> {
    std::thread::sleep(BEFORE);
    let begin = Instant::now();
    let mut happened = Happened::default();
    match (event, filler) {
        (Planned::Grow { keys, value_bytes }, Some(filler)) => {
            // Only of this thread and those it starts; where it is refused, both loads are equals.
            let _ = rustix::process::setpriority_process(None, GIVES_WAY);
            let workload = Workload {
                mix: vec![(Operation::Set, 1)],
                keys: *keys,
                draw: Draw::Sequential,
                length: Length::Fixed(*value_bytes),
                pipeline: FILL_DEPTH,
                ..Workload::default()
            };
            let load = filler.run(&workload, values, fill, stop);
            settle(&load)?;
            if let Some(reason) = load.recorder.first_error {
                return Err(End::Broken(Status::Invalid, format!("while the store grew: {reason}")));
            }
            (happened.cpu_ns, happened.busy) = (load.cpu_ns, load.busy_max);
        }
        (Planned::Expire { until }, _) => {
            while Instant::now() < *until && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        (Planned::Flush, _) => client.expect_simple(&[b"FLUSHALL"], "OK")?,
        (Planned::Grow { .. }, None) => {}
    }
    happened.took = begin.elapsed();
    Ok(happened)
}

/// Whether the store holds what it should afterwards.
fn check(client: &mut Client, trial: &mut Trial, phase: &TailPhase, event: &Planned) -> Result<(), End> {
    let held = u64::try_from(client.expect_integer(&[b"DBSIZE"])?).unwrap_or(0);
    let fine = match event {
        Planned::Grow { keys, .. } => held == *keys,
        // What has run out but was not collected yet may still be counted.
        Planned::Expire { .. } => (phase.keys..=phase.keys + phase.expiring_keys).contains(&held),
        Planned::Flush => held <= phase.kept_keys,
    };
    put(trial, "keys_held", held as f64);
    if !fine {
        invalidate(trial, format!("DBSIZE says {held} afterwards"));
    }
    if let Planned::Expire { .. } = event {
        for index in super::sample(phase.keys, phase.expiring_keys) {
            if client.expect_integer(&[b"EXISTS", &super::key_of(index)])? != 0 {
                trial.counts.errors += 1;
                invalidate(trial, format!("key {index} is still seen after its time"));
            }
        }
    }
    Ok(())
}
