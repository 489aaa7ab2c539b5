//! Does a memory cap hold, for the process and not only by its own account, and who is evicted?
//!
//! Accounted bytes, evictions and expiries are what the target says of itself in `INFO`; RSS is what the kernel
//! says. A value too large for the cap must be refused without evicting anything for it. Only the subject is
//! held to this: what a rival does is recorded beside it.

mod churn;
mod exact_lru;
mod fill;
mod hostile;
mod idle;
mod talk;
mod trace;

use super::lab::Bench;
use super::trial::{broken, invalidate, put};
use super::wire::{End, nanoseconds};
use crate::load::client::{Answered, Client, ClientError, info_field};
use crate::load::request::Length;
use crate::load::values::{KEY_BYTES, Values, write_key};
use crate::model::{Status, Trial};
use crate::plan::{CapLoad, CapPhase};
use crate::target::memory::forget_rss_peak;
use crate::target::{Protocol, RunningTarget};
use churn::{Churn, churn};
use fill::{Fill, fill};
use hostile::{Hostile, hostile};
use idle::idle;
use std::ops::RangeInclusive;
use std::time::Duration;
use trace::{Trace, trace};

const PATIENCE: Duration = Duration::from_secs(30);

/// Measures the one cell of the step; nothing when told to stop.
pub(crate) fn measure(bench: &mut Bench<'_>, target: &mut RunningTarget, phase: &CapPhase) -> Option<Trial> {
    let step = bench.step;
    forget_rss_peak(target.pid);
    let resp = bench.definition.protocol == Protocol::Resp;
    let measured = match &phase.load {
        CapLoad::Fill { .. }
        | CapLoad::Overwrite { .. }
        | CapLoad::TtlChurn { .. }
        | CapLoad::Hostile { .. }
        | CapLoad::Idle { .. }
            if !resp =>
        {
            let reason =
                "this load on a cap speaks RESP, which the target does not: only a trace is replayed on it";
            Err(End::Broken(Status::Skipped, reason.to_owned()))
        }
        CapLoad::Fill { keys, value_bytes, oversize_bytes } => {
            let order = Fill { keys: *keys, value_bytes: *value_bytes, oversize_bytes: *oversize_bytes };
            fill(bench, target, phase, &order)
        }
        CapLoad::Overwrite { clients, keys, value_bytes, seconds } => {
            let length = Length::Growing(value_bytes.0, value_bytes.1, nanoseconds(*seconds));
            let order = Churn { clients: *clients, keys: *keys, length, ttl_ms: None, seconds: *seconds };
            churn(bench, target, phase, &order)
        }
        CapLoad::TtlChurn { clients, keys, value_bytes, ttl_ms, seconds } => {
            let length = Length::Fixed(*value_bytes);
            let order =
                Churn { clients: *clients, keys: *keys, length, ttl_ms: Some(*ttl_ms), seconds: *seconds };
            churn(bench, target, phase, &order)
        }
        CapLoad::Hostile { clients, keys, seconds } => {
            let order = Hostile { clients: *clients, keys: *keys, seconds: *seconds };
            hostile(bench, target, phase, order)
        }
        CapLoad::Idle { clients } => idle(bench, target, phase, *clients),
        CapLoad::Trace { keys, value_bytes, requests } => {
            let order = Trace { keys: *keys, value_bytes: *value_bytes, requests: *requests };
            trace(bench, target, phase, &order)
        }
    };
    match measured {
        Ok(mut trial) => {
            put(&mut trial, "cap_bytes", phase.cap_bytes as f64);
            put(&mut trial, "rss_bytes_start", target.rss_bytes_start as f64);
            trial.process = Some(target.facts(bench.generator_cpus()));
            Some(trial)
        }
        Err(End::Stopped) => None,
        Err(End::Broken(status, reason)) => {
            let words = target.ended().map(|words| format!("; {} ended: {words}", step.target));
            Some(broken(step.trial, step.position, status, format!("{reason}{}", words.unwrap_or_default())))
        }
    }
}

/// What a target says of its memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Told {
    accounted_bytes: u64,
    evicted: u64,
    expired: u64,
}

fn look(client: &mut Client) -> Result<Told, ClientError> {
    let info = client.info()?;
    let number = |field| info_field(&info, field).and_then(|text| text.parse().ok()).unwrap_or(0);
    Ok(Told {
        accounted_bytes: number("used_memory"),
        evicted: number("evicted_keys"),
        expired: number("expired_keys"),
    })
}

fn key_of(index: u64) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    write_key(index, &mut key);
    key
}

fn check_cap(trial: &mut Trial, accounted_bytes: u64, cap_bytes: u64) {
    if accounted_bytes > cap_bytes {
        invalidate(trial, format!("accounted for {accounted_bytes} bytes under a cap of {cap_bytes}"));
    }
}

/// Keys must hold a value of theirs of a length that was written, or be gone.
fn check_held(
    client: &mut Client,
    trial: &mut Trial,
    keys: impl Iterator<Item = u64>,
    lengths: RangeInclusive<usize>,
    values: &Values,
) -> Result<(), End> {
    for index in keys {
        match client.call(&[b"GET", &key_of(index)])? {
            Answered::Bulk(value) if lengths.contains(&value.len()) && values.is_right(index, &value) => {
                trial.counts.hits += 1;
            }
            Answered::Null => trial.counts.misses += 1,
            other => {
                trial.counts.errors += 1;
                invalidate(trial, format!("GET of key {index} was answered by {}", other.describe()));
            }
        }
    }
    Ok(())
}

fn put_account(trial: &mut Trial, now: Told, start: Told, refusals: u64) {
    put(trial, "accounted_bytes", now.accounted_bytes as f64);
    put(trial, "evictions", now.evicted.saturating_sub(start.evicted) as f64);
    put(trial, "refusals", refusals as f64);
}
