//! Writes from many connections against the cap, with values that grow or keys that expire.

use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading};
use super::super::progress::Stage;
use super::super::trial::{empty, fact, invalidate, put};
use super::super::wire::{End, nanoseconds, put_load, put_system, seconds, settle, windows};
use super::{PATIENCE, Told, check_cap, check_held, key_of, look, put_account};
use crate::load::client::{Address, Client};
use crate::load::generator::{Connections, Generator, Pace, Stretch};
use crate::load::request::{Draw, Length, Protocol, Workload};
use crate::load::values::Values;
use crate::model::{Role, Trial};
use crate::plan::{CapPhase, Operation};
use crate::target::RunningTarget;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the account is looked at while load runs.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Writes from many connections against the cap.
#[derive(Debug, Clone)]
pub(super) struct Churn {
    pub(super) clients: u32,
    pub(super) keys: u64,
    pub(super) length: Length,
    pub(super) ttl_ms: Option<u64>,
    pub(super) seconds: f64,
}

pub(super) fn churn(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &CapPhase,
    churn: &Churn,
) -> Result<Trial, End> {
    let step = bench.step;
    let label = &phase.cell.label;
    let subject = bench.definition.role == Role::Subject;
    let mut trial = empty(step.trial, step.position);
    let values = Values::new(step.seed, churn.length.longest() as usize);
    let mut client = Client::connect(&target.address, PATIENCE)?;
    let start = look(&mut client)?;
    bench.tell(label, Stage::Connecting);
    let begin = Instant::now();
    let connections = Connections {
        clients: churn.clients,
        threads: bench.setup.generator_threads,
        cpus: &[],
        protocol: &Protocol::Resp2,
    };
    let mut generator = Generator::connect(&target.address, &connections)?;
    put(&mut trial, "connect_ms", begin.elapsed().as_secs_f64() * 1e3);
    let workload = Workload {
        mix: vec![(Operation::Set, 1)],
        keys: churn.keys,
        draw: Draw::Uniform,
        length: churn.length.clone(),
        expiry_ms: churn.ttl_ms,
        pipeline: 1,
        refusals_are_right: true,
        ..Workload::default()
    };
    let stretch = Stretch {
        min_ns: nanoseconds(churn.seconds),
        min_operations: 1,
        limit: None,
        pace: Pace::Closed,
        deadline: Instant::now() + seconds(churn.seconds * 4.0 + 10.0),
        seed: step.seed,
        first: 0,
        window_percentiles: false,
    };
    bench.tell(label, Stage::Measuring);
    let before = Reading::take(target.pid, &target.cpu);
    let (load, watched) = watch(&target.address, || generator.run(&workload, &values, &stretch, bench.stop));
    let after = Reading::take(target.pid, &target.cpu);
    settle(&load)?;
    let end = look(&mut client)?;
    let most = watched.accounted_bytes.max(end.accounted_bytes);

    let elapsed_s = load.elapsed_ns as f64 / 1e9;
    trial.elapsed_s = elapsed_s;
    trial.counts = load.recorder.counts;
    trial.windows = windows(&load, 0).collect();
    put_load(&mut trial, &load.recorder, elapsed_s);
    let mut account = Account::default();
    account.add(&before, &after, &load);
    put_system(&mut trial, account, target);
    put_account(&mut trial, Told { accounted_bytes: most, ..end }, start, load.recorder.refusals);
    fact(&mut trial, "accounted_bytes_at_end", end.accounted_bytes);
    fact(&mut trial, "looks_at_the_account", watched.looks);
    if let Some(text) = &load.recorder.first_refusal {
        fact(&mut trial, "first_refusal", text.as_str());
    }
    bench.tell(label, Stage::Checking);
    match churn.ttl_ms {
        Some(ttl_ms) => check_expiry(bench, &mut client, &mut trial, churn.keys, ttl_ms)?,
        None => {
            let (from, to) = churn.length.bounds();
            check_held(&mut client, &mut trial, sample(churn.keys), from as usize..=to as usize, &values)?;
        }
    }
    let expired = look(&mut client)?.expired.saturating_sub(start.expired);
    fact(&mut trial, "expired", expired);
    if subject {
        check_cap(&mut trial, most, phase.cap_bytes);
    }
    if let Some(reason) = load.recorder.first_error {
        invalidate(&mut trial, reason);
    }
    Ok(trial)
}

/// The most that was seen while something else ran.
#[derive(Debug, Default)]
struct Watched {
    accounted_bytes: u64,
    looks: u32,
}

/// Does something, and meanwhile looks at the target's account from a connection of its own.
fn watch<T>(address: &Address, work: impl FnOnce() -> T) -> (T, Watched) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut watched = Watched::default();
            let Ok(mut client) = Client::connect(address, PATIENCE) else { return watched };
            while !over.load(Ordering::Relaxed) {
                let Ok(account) = look(&mut client) else { break };
                watched.accounted_bytes = watched.accounted_bytes.max(account.accounted_bytes);
                watched.looks += 1;
                std::thread::sleep(LOOK_EVERY);
            }
            watched
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (done, watcher.join().unwrap_or_default())
    })
}

/// After their lifetime no key may be seen any more, collected or not.
fn check_expiry(
    bench: &Bench<'_>,
    client: &mut Client,
    trial: &mut Trial,
    keys: u64,
    ttl_ms: u64,
) -> Result<(), End> {
    let end = Instant::now() + Duration::from_millis(ttl_ms + 50);
    while Instant::now() < end {
        if bench.stopped() {
            return Err(End::Stopped);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    fact(trial, "dbsize_after_expiry", client.expect_integer(&[b"DBSIZE"])?);
    for index in sample(keys) {
        let seen = client.expect_integer(&[b"EXISTS", &key_of(index)])?;
        if seen != 0 {
            trial.counts.errors += 1;
            invalidate(
                trial,
                format!("key {index} is still seen {ttl_ms} ms after the last write could have set it"),
            );
        }
    }
    Ok(())
}

/// About two hundred keys, evenly spread.
fn sample(keys: u64) -> impl Iterator<Item = u64> {
    let step = usize::try_from(keys / 200).unwrap_or(1).max(1);
    (0..keys).step_by(step)
}
