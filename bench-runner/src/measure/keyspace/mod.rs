//! What does a key cost while it lives, and what is left of it when its time is over?

mod expiry;
mod per_key;
mod tail;

pub(super) use expiry::measure as expiry;
pub(super) use per_key::measure as per_key;
pub(super) use tail::measure as tail;

use super::lab::Bench;
use super::trial::{broken, invalidate};
use super::wire::End;
use crate::load::client::{Answered, Client, info_field};
use crate::load::values::{KEY_BYTES, Values, write_key};
use crate::model::Trial;
use crate::target::RunningTarget;
use std::time::Duration;

/// How long one reply may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Keys that are looked at one by one afterwards.
const SAMPLE: u64 = 200;

/// The trial of a step that has one cell; none when the runner was told to stop.
fn ended(bench: &Bench<'_>, target: &mut RunningTarget, measured: Result<Trial, End>) -> Option<Trial> {
    let step = bench.step;
    match measured {
        Ok(mut trial) => {
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

/// Bytes that the target accounts for; none where it does not tell.
fn accounted_bytes(bench: &Bench<'_>, client: &mut Client) -> Result<Option<u64>, End> {
    if !bench.definition.info {
        return Ok(None);
    }
    let info = client.info()?;
    Ok(info_field(&info, "used_memory").and_then(|text| text.parse().ok()))
}

fn key_of(index: u64) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    write_key(index, &mut key);
    key
}

/// About [`SAMPLE`] indices, evenly spread.
fn sample(from: u64, count: u64) -> impl Iterator<Item = u64> {
    let step = usize::try_from(count / SAMPLE).unwrap_or(1).max(1);
    (from..from + count).step_by(step)
}

/// A few keys must be there with their own value.
fn check_present(
    client: &mut Client,
    trial: &mut Trial,
    values: &Values,
    indices: impl Iterator<Item = u64>,
) -> Result<(), End> {
    for index in indices {
        match client.call(&[b"GET", &key_of(index)])? {
            Answered::Bulk(value) if values.is_right(index, &value) => trial.counts.hits += 1,
            other => {
                trial.counts.errors += 1;
                invalidate(trial, format!("GET of key {index} was answered by {}", other.describe()));
            }
        }
    }
    Ok(())
}
