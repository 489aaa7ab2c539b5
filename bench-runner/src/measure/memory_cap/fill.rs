//! A store filled past its cap in order: who survives, and what becomes of a value that cannot fit?

use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading};
use super::super::progress::Stage;
use super::super::trial::{empty, fact, invalidate, put};
use super::super::wire::{End, put_load, put_system, windows};
use super::{PATIENCE, check_cap, check_held, key_of, look, put_account};
use crate::load::client::{Answered, Client};
use crate::load::generator::{Stretched, thread_cpu_ns};
use crate::load::recorder::Recorder;
use crate::load::values::{KEY_BYTES, Values};
use crate::model::{Role, Status, Trial};
use crate::plan::{CapPhase, Operation};
use crate::target::RunningTarget;
use crate::target::memory::rss_bytes;
use std::ops::Range;
use std::time::Instant;

/// Keys whose fate is told one by one.
const EARLY_KEYS: [u64; 6] = [1, 2, 3, 10, 50, 100];
/// Slices of insertion age in the survival curve.
const SLICES: u64 = 40;
/// Keys 1 to n, once each on one connection, and then one value that cannot fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fill {
    pub(super) keys: u64,
    pub(super) value_bytes: u32,
    pub(super) oversize_bytes: u32,
}

pub(super) fn fill(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &CapPhase,
    order: &Fill,
) -> Result<Trial, End> {
    let Fill { keys, value_bytes, oversize_bytes } = *order;
    let step = bench.step;
    let label = &phase.cell.label;
    let subject = bench.definition.role == Role::Subject;
    let mut trial = empty(step.trial, step.position);
    let values = Values::new(step.seed, value_bytes.max(oversize_bytes) as usize);
    let mut client = Client::connect(&target.address, PATIENCE)?;
    let start = look(&mut client)?;

    bench.tell(label, Stage::Measuring);
    let before = Reading::take(target.pid, &target.cpu);
    let load = fill_in_order(bench, &mut client, keys, value_bytes, &values)?;
    let after = Reading::take(target.pid, &target.cpu);
    let full = look(&mut client)?;
    let elapsed_s = load.elapsed_ns as f64 / 1e9;
    trial.elapsed_s = elapsed_s;
    trial.counts = load.recorder.counts;
    trial.windows = windows(&load, 0).collect();
    put_load(&mut trial, &load.recorder, elapsed_s);
    let mut account = Account::default();
    account.add(&before, &after, &load);
    put_system(&mut trial, account, target);
    put_account(&mut trial, full, start, load.recorder.refusals);

    bench.tell(label, Stage::Checking);
    let survivors = survey(&mut client, 1..keys + 1)?;
    put_survival(&mut trial, &survivors);
    let held = survivors.iter().filter(|here| **here).count() as u64;
    let payload = held * (u64::from(value_bytes) + KEY_BYTES as u64);
    put(&mut trial, "payload_share", payload as f64 / phase.cap_bytes as f64);
    let youngest = keys.saturating_sub(4).max(1)..=keys;
    let length = value_bytes as usize;
    check_held(&mut client, &mut trial, youngest, length..=length, &values)?;
    if bench.definition.info {
        oversize(&mut client, &mut trial, subject, phase.cap_bytes, oversize_bytes, &values)?;
        let grown = rss_bytes(target.pid) as f64 - target.rss_bytes_start as f64;
        fact(&mut trial, "rss_bytes_growth_after_oversize", grown);
    }
    if subject {
        check_cap(&mut trial, full.accounted_bytes, phase.cap_bytes);
        let last = survivors.iter().rev().take(5).filter(|here| **here).count();
        if load.recorder.refusals == 0 && last < 5.min(survivors.len()) {
            invalidate(&mut trial, format!("only {last} of the last five keys are still there"));
        }
    }
    if let Some(reason) = load.recorder.first_error {
        invalidate(&mut trial, reason);
    }
    Ok(trial)
}

/// Sets keys 1 to n, one at a time on one connection, so that the order of insertion is the order of keys.
fn fill_in_order(
    bench: &Bench<'_>,
    client: &mut Client,
    keys: u64,
    value_bytes: u32,
    values: &Values,
) -> Result<Stretched, End> {
    let mut recorder = Recorder::default();
    let mut value = vec![0; value_bytes as usize];
    let cpu_before = thread_cpu_ns();
    let begin = Instant::now();
    for index in 1..=keys {
        if bench.stopped() {
            return Err(End::Stopped);
        }
        values.write(index, &mut value);
        let sent = Instant::now();
        let answered = client.call(&[b"SET", &key_of(index), &value])?;
        recorder.record(Operation::Set, sent.elapsed().as_nanos() as u64, begin.elapsed().as_nanos() as u64);
        match answered {
            Answered::Simple(text) if text == "OK" => {}
            Answered::Error(text) if text.starts_with("OOM ") => {
                recorder.refusals += 1;
                recorder.first_refusal.get_or_insert(text);
            }
            other => recorder.error(|| format!("SET of key {index} was answered by {}", other.describe())),
        }
    }
    let elapsed_ns = begin.elapsed().as_nanos().max(1) as u64;
    let cpu_ns = thread_cpu_ns().saturating_sub(cpu_before);
    let busy_max = cpu_ns as f64 / elapsed_ns as f64;
    Ok(Stretched { recorder, elapsed_ns, sent: keys, cpu_ns, busy_max, ..Stretched::default() })
}

/// Which of the keys are there, in one pass at the end: on some servers even a look makes a key younger.
fn survey(client: &mut Client, keys: Range<u64>) -> Result<Vec<bool>, End> {
    const BATCH: u64 = 500;
    let mut present = Vec::new();
    let mut first = keys.start;
    while first < keys.end {
        let end = (first + BATCH).min(keys.end);
        let mut batch = Vec::new();
        for index in first..end {
            plumbkv_resp::compose(&[b"EXISTS", &key_of(index)], &mut batch);
        }
        client.send(&batch, "EXISTS")?;
        for index in first..end {
            match client.receive("EXISTS")? {
                Answered::Integer(number @ 0..=1) => present.push(number == 1),
                other => {
                    let reason = format!("EXISTS of key {index} was answered by {}", other.describe());
                    return Err(End::Broken(Status::Invalid, reason));
                }
            }
        }
        first = end;
    }
    Ok(present)
}

fn put_survival(trial: &mut Trial, present: &[bool]) {
    let keys = present.len() as u64;
    let alive = |index: u64| usize::try_from(index - 1).ok().and_then(|at| present.get(at)).copied();
    let early: Vec<(u64, bool)> =
        EARLY_KEYS.iter().filter_map(|index| Some((*index, alive(*index)?))).collect();
    let first: Vec<bool> = present.iter().copied().take(1_000).collect();
    let gone = first.iter().filter(|here| !**here).count();
    put(trial, "survivors", present.iter().filter(|here| **here).count() as f64);
    put(trial, "early_gone", early.iter().filter(|(_, here)| !here).count() as f64);
    put(trial, "first_1000_gone_share", gone as f64 / first.len().max(1) as f64);
    put(trial, "last_five_present", present.iter().rev().take(5).filter(|here| **here).count() as f64);
    let slices: Vec<f64> = (0..SLICES)
        .map(|slice| {
            let (from, to) = (slice * keys / SLICES, (slice + 1) * keys / SLICES);
            let part = present.get(from as usize..to as usize).unwrap_or_default();
            part.iter().filter(|here| **here).count() as f64 / part.len().max(1) as f64
        })
        .collect();
    fact(trial, "survival_by_insertion_age", slices);
    let table: serde_json::Map<String, serde_json::Value> = early
        .into_iter()
        .map(|(index, here)| (index.to_string(), if here { "present" } else { "gone" }.into()))
        .collect();
    fact(trial, "early_keys", table);
}

/// Offers a value that cannot fit, and looks whether anything was evicted for it.
fn oversize(
    client: &mut Client,
    trial: &mut Trial,
    subject: bool,
    cap_bytes: u64,
    bytes: u32,
    values: &Values,
) -> Result<(), End> {
    let mut value = vec![0; bytes as usize];
    values.write(0, &mut value);
    let evicted_before = look(client)?.evicted;
    let held_before = client.expect_integer(&[b"DBSIZE"])?;
    let answered = client.call(&[b"SET", b"oversize", &value])?;
    let held_after = client.expect_integer(&[b"DBSIZE"])?;
    let evicted = look(client)?.evicted.saturating_sub(evicted_before);
    fact(trial, "oversize_bytes", bytes);
    fact(trial, "oversize_reply", answered.describe());
    fact(trial, "oversize_dbsize_before", held_before);
    fact(trial, "oversize_dbsize_after", held_after);
    fact(trial, "oversize_evictions", evicted);
    if subject && u64::from(bytes) > cap_bytes {
        if !matches!(answered, Answered::Error(_)) {
            let words = answered.describe();
            invalidate(
                trial,
                format!("a value of {bytes} bytes under a cap of {cap_bytes} was answered by {words}"),
            );
        }
        if held_after != held_before || evicted != 0 {
            let text = format!(
                "{evicted} keys were evicted for a value that cannot fit ({held_before} keys before, {held_after} after)"
            );
            invalidate(trial, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survival_is_told_by_age() {
        let mut trial = empty(0, 0);
        let present: Vec<bool> = (1..=4_000).map(|index| index > 2_000 || index == 10).collect();
        put_survival(&mut trial, &present);
        let value = |name: &str| trial.values.iter().find(|value| value.metric == name).unwrap().value;
        assert_eq!(value("survivors"), 2_001.0);
        assert_eq!(value("early_gone"), 5.0);
        assert_eq!(value("first_1000_gone_share"), 0.999);
        assert_eq!(value("last_five_present"), 5.0);
        let slices = trial.facts["survival_by_insertion_age"].as_array().unwrap();
        assert_eq!((slices.len(), slices[0].as_f64(), slices[39].as_f64()), (40, Some(0.01), Some(1.0)));
        assert_eq!(trial.facts["early_keys"]["10"], "present");
        assert_eq!(trial.facts["early_keys"]["100"], "gone");
    }
}
