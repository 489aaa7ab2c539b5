//! Many keys run out within a while: how long do reads of others take meanwhile, and what is still held afterwards?

use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading};
use super::super::progress::Stage;
use super::super::trial::{empty, fact, invalidate, put};
use super::super::wire::{End, put_load, put_system, seconds, settle, windows};
use super::{PATIENCE, accounted_bytes, check_present, ended, key_of, sample};
use crate::load::client::{Address, Answered, Client};
use crate::load::generator::{Connections, Generator, Pace, Stretch};
use crate::load::length::Length;
use crate::load::request::{Protocol, Workload};
use crate::load::values::Values;
use crate::model::Trial;
use crate::plan::{ExpiryPhase, Operation};
use crate::target::RunningTarget;
use crate::target::memory::{forget_rss_peak, rss_bytes};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Reads go on for this long after the last lifetime has ended.
const AFTER: Duration = Duration::from_millis(500);
/// How often the number of keys is asked for meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Requests of one write: small enough for the socket buffers of both sides.
const BATCH: u64 = 500;

/// Measures the one cell of the step; nothing when told to stop.
pub(crate) fn measure(
    bench: &mut Bench<'_>,
    target: &mut RunningTarget,
    phase: &ExpiryPhase,
) -> Option<Trial> {
    let measured = run_out(bench, target, phase);
    ended(bench, target, measured)
}

fn run_out(bench: &mut Bench<'_>, target: &RunningTarget, phase: &ExpiryPhase) -> Result<Trial, End> {
    let (step, label) = (bench.step, &phase.cell.label);
    let mut trial = empty(step.trial, step.position);
    let values = Values::new(step.seed, phase.value_bytes as usize);
    let mut client = Client::connect(&target.address, PATIENCE)?;
    let workload = Workload {
        mix: vec![(Operation::Get, 1)],
        keys: phase.kept_keys,
        length: Length::Fixed(phase.value_bytes),
        pipeline: 1,
        ..Workload::default()
    };
    bench.tell(label, Stage::Connecting);
    let connections = Connections {
        clients: phase.clients,
        threads: bench.setup.generator_threads,
        cpus: &[],
        protocol: &Protocol::Resp2,
    };
    let mut generator = Generator::connect(&target.address, &connections)?;

    bench.tell(label, Stage::Loading);
    client.fill(0..phase.kept_keys, &workload.length, &values)?;
    let (rss_before, accounted_before) = (rss_bytes(target.pid), accounted_bytes(bench, &mut client)?);
    let begin = Instant::now();
    let keys = phase.kept_keys..phase.kept_keys + phase.keys;
    let lives = Lives { from: begin, within_ms: phase.within_ms };
    set_expiring(bench, &mut client, keys, lives, phase.value_bytes, &values)?;
    let filled = begin.elapsed();
    let (rss_full, accounted_full) = (rss_bytes(target.pid), accounted_bytes(bench, &mut client)?);
    forget_rss_peak(target.pid);

    bench.tell(label, Stage::Measuring);
    // The last lifetime began when the last key was set.
    let stretch = Stretch {
        min_ns: phase.within_ms * 1_000_000 + AFTER.as_nanos() as u64,
        min_operations: 1,
        limit: None,
        pace: Pace::Closed,
        deadline: Instant::now() + seconds(phase.within_ms as f64 / 1e3 * 2.0 + 20.0),
        seed: step.seed,
        first: 0,
        window_percentiles: true,
    };
    let before = Reading::take(target.pid, &target.cpu);
    let (load, left) = watch(&target.address, || generator.run(&workload, &values, &stretch, bench.stop));
    let after = Reading::take(target.pid, &target.cpu);
    settle(&load)?;
    let elapsed_s = load.elapsed_ns as f64 / 1e9;
    trial.elapsed_s = elapsed_s;
    trial.counts = load.recorder.counts;
    trial.windows = windows(&load, 0).collect();
    put_load(&mut trial, &load.recorder, elapsed_s);
    let mut account = Account::default();
    account.add(&before, &after, &load);
    put_system(&mut trial, account, target);
    if let Some(reason) = load.recorder.first_error {
        invalidate(&mut trial, reason);
    }

    bench.tell(label, Stage::Checking);
    let held = client.expect_integer(&[b"DBSIZE"])? - i64::try_from(phase.kept_keys).unwrap_or(i64::MAX);
    put(&mut trial, "keys_held", held as f64);
    put(&mut trial, "rss_bytes_held", rss_bytes(target.pid) as f64 - rss_before as f64);
    fact(&mut trial, "rss_bytes_of_expiring", rss_full as f64 - rss_before as f64);
    if let (Some(before), Some(full), Some(now)) =
        (accounted_before, accounted_full, accounted_bytes(bench, &mut client)?)
    {
        put(&mut trial, "accounted_bytes_held", now as f64 - before as f64);
        fact(&mut trial, "accounted_bytes_of_expiring", full as f64 - before as f64);
    }
    fact(&mut trial, "fill_ms", filled.as_secs_f64() * 1e3);
    fact(&mut trial, "looks_every_ms", LOOK_EVERY.as_millis() as u64);
    fact(&mut trial, "keys_by_look", left);
    for index in sample(phase.kept_keys, phase.keys) {
        if client.expect_integer(&[b"EXISTS", &key_of(index)])? != 0 {
            trial.counts.errors += 1;
            invalidate(&mut trial, format!("key {index} is still seen after its time"));
        }
    }
    check_present(&mut client, &mut trial, &values, sample(0, phase.kept_keys))?;
    Ok(trial)
}

/// When keys run out: within a time that begins at a moment, or where that has passed when they are set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lives {
    pub(super) from: Instant,
    pub(super) within_ms: u64,
}

/// Sets keys that run out, each with a lifetime drawn evenly from the whole time.
pub(super) fn set_expiring(
    bench: &Bench<'_>,
    client: &mut Client,
    keys: Range<u64>,
    lives: Lives,
    value_bytes: u32,
    values: &Values,
) -> Result<(), End> {
    let mut random = fastrand::Rng::with_seed(bench.step.seed);
    let mut value = vec![0; value_bytes as usize];
    let (mut index, end) = (keys.start, keys.end);
    while index < end {
        if bench.stopped() {
            return Err(End::Stopped);
        }
        let last = (index + BATCH).min(end);
        let mut batch = Vec::new();
        let before_ms = lives.from.saturating_duration_since(Instant::now()).as_millis() as u64;
        for key in index..last {
            values.write(key, &mut value);
            let ttl_ms = (before_ms + random.u64(1..=lives.within_ms)).to_string();
            plumbkv_resp::compose(&[b"SET", &key_of(key), &value, b"PX", ttl_ms.as_bytes()], &mut batch);
        }
        client.send(&batch, "SET")?;
        for key in index..last {
            match client.receive("SET")? {
                Answered::Simple(text) if text == "OK" => {}
                other => {
                    let reason =
                        format!("SET of key {key} with a lifetime was answered by {}", other.describe());
                    return Err(End::Broken(crate::model::Status::Invalid, reason));
                }
            }
        }
        index = last;
    }
    Ok(())
}

/// Does something, and meanwhile asks for the number of keys from a connection of its own.
fn watch<T>(address: &Address, work: impl FnOnce() -> T) -> (T, Vec<i64>) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut left = Vec::new();
            let Ok(mut client) = Client::connect(address, PATIENCE) else { return left };
            while !over.load(Ordering::Relaxed) {
                let Ok(keys) = client.expect_integer(&[b"DBSIZE"]) else { break };
                left.push(keys);
                std::thread::sleep(LOOK_EVERY);
            }
            left
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (done, watcher.join().unwrap_or_default())
    })
}
