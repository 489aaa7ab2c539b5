//! Many small keys, written once: how much memory does each take, by the kernel's count and by the target's own?

use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading};
use super::super::progress::Stage;
use super::super::trial::{empty, fact, invalidate, put};
use super::super::wire::{End, put_system};
use super::{PATIENCE, accounted_bytes, check_present, ended, sample};
use crate::load::client::Client;
use crate::load::generator::{Stretched, thread_cpu_ns};
use crate::load::length::Length;
use crate::load::values::Values;
use crate::model::Trial;
use crate::plan::KeysPhase;
use crate::target::RunningTarget;
use crate::target::memory::{forget_rss_peak, rss_bytes};
use std::time::{Duration, Instant};

/// Growth of a table that goes on in the background is waited for this long.
const SETTLE: Duration = Duration::from_millis(500);

/// From so many keys on, memory per key is looked at all along.
const FEWEST_KEYS: u64 = 1_000_000;

/// Measures the one cell of the step; nothing when told to stop.
pub(crate) fn measure(bench: &mut Bench<'_>, target: &mut RunningTarget, phase: &KeysPhase) -> Option<Trial> {
    let measured = fill(bench, target, phase);
    ended(bench, target, measured)
}

fn fill(bench: &mut Bench<'_>, target: &RunningTarget, phase: &KeysPhase) -> Result<Trial, End> {
    let label = &phase.cell.label;
    let mut trial = empty(bench.step.trial, bench.step.position);
    let values = Values::new(bench.step.seed, phase.value_bytes as usize);
    let mut client = Client::connect(&target.address, PATIENCE)?;
    let accounted_before = accounted_bytes(bench, &mut client)?;
    let rss_before = rss_bytes(target.pid);
    forget_rss_peak(target.pid);

    bench.tell(label, Stage::Measuring);
    let before = Reading::take(target.pid, &target.cpu);
    let (cpu_before, begin) = (thread_cpu_ns(), Instant::now());
    // In pieces, so that an interrupt does not wait for ten million keys.
    const PIECE: u64 = 100_000;
    let mut first = 0;
    let mut looks: Vec<(u64, f64)> = Vec::new();
    while first < phase.keys {
        if bench.stopped() {
            return Err(End::Stopped);
        }
        let last = (first + PIECE).min(phase.keys);
        client.fill(first..last, &Length::Fixed(phase.value_bytes), &values)?;
        first = last;
        // Tables grow by leaps: what a key costs is largest right after one.
        if first >= FEWEST_KEYS {
            looks.push((first, (rss_bytes(target.pid) as f64 - rss_before as f64) / first as f64));
        }
    }
    let elapsed_ns = begin.elapsed().as_nanos().max(1) as u64;
    let cpu_ns = thread_cpu_ns().saturating_sub(cpu_before);
    let after = Reading::take(target.pid, &target.cpu);
    std::thread::sleep(SETTLE);

    trial.elapsed_s = elapsed_ns as f64 / 1e9;
    trial.counts.operations = phase.keys;
    put(&mut trial, "ops_per_second", phase.keys as f64 / (elapsed_ns as f64 / 1e9));
    let busy_max = cpu_ns as f64 / elapsed_ns as f64;
    let load = Stretched { elapsed_ns, cpu_ns, busy_max, sent: phase.keys, ..Stretched::default() };
    let mut account = Account::default();
    account.add(&before, &after, &load);
    put_system(&mut trial, account, target);
    let keys = phase.keys.max(1) as f64;
    let grown = rss_bytes(target.pid) as f64 - rss_before as f64;
    put(&mut trial, "rss_bytes_per_key", grown / keys);
    let most = looks.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((at, bytes)) = most.filter(|_| phase.keys > FEWEST_KEYS) {
        put(&mut trial, "rss_bytes_per_key_max", bytes);
        fact(&mut trial, "rss_bytes_per_key_max_at_keys", at);
        fact(&mut trial, "rss_bytes_per_key_by_keys", serde_json::json!(looks));
    }
    if let (Some(before), Some(now)) = (accounted_before, accounted_bytes(bench, &mut client)?) {
        put(&mut trial, "accounted_bytes_per_key", (now as f64 - before as f64) / keys);
    }

    bench.tell(label, Stage::Checking);
    let held = client.expect_integer(&[b"DBSIZE"])?;
    if u64::try_from(held).ok() != Some(phase.keys) {
        invalidate(&mut trial, format!("{} keys were set, DBSIZE says {held}", phase.keys));
    }
    check_present(&mut client, &mut trial, &values, sample(0, phase.keys))?;
    Ok(trial)
}
