//! A cache in front of something slow: how often does it hold what is asked for, beside exact LRU of the same bytes?
//!
//! Keys are drawn by Zipf's law on one connection, in small batches, and what a batch did not find is written
//! after it. The first half of the reads warms the cache and is not counted.

use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading};
use super::super::progress::Stage;
use super::super::trial::{empty, fact, invalidate, put};
use super::super::wire::{End, ZIPF_THETA, put_load, put_system};
use super::exact_lru::{Access, hit_ratio};
use super::talk::{Talk, spoken};
use super::{check_cap, put_account};
use crate::load::generator::{Stretched, thread_cpu_ns};
use crate::load::recorder::Recorder;
use crate::load::reply::Answer;
use crate::load::request::{Age, Asked, Draw, Length, Source, Workload};
use crate::load::values::{KEY_BYTES, Values};
use crate::model::{Role, Status, Trial};
use crate::plan::{CapPhase, Operation};
use crate::target::RunningTarget;
use std::time::Instant;

/// Reads per batch.
const BATCH: usize = 32;

/// What is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trace {
    pub(super) keys: u64,
    pub(super) value_bytes: (u32, u32),
    pub(super) requests: u64,
}

pub(super) fn trace(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &CapPhase,
    order: &Trace,
) -> Result<Trial, End> {
    let step = bench.step;
    let mut trial = empty(step.trial, step.position);
    let values = Values::new(step.seed, order.value_bytes.1 as usize);
    let protocol = spoken(bench.definition.protocol).ok_or_else(|| {
        End::Broken(
            Status::Skipped,
            "a trace is replayed on what speaks RESP or memcached's protocol".to_owned(),
        )
    })?;
    let workload = Workload {
        mix: vec![(Operation::Get, 1)],
        keys: order.keys,
        draw: Draw::Zipf(ZIPF_THETA),
        length: Length::Uniform(order.value_bytes.0, order.value_bytes.1),
        pipeline: 1,
        protocol,
        ..Workload::default()
    };
    let mut talk = Talk::connect(target, &workload, &values)?;
    let start = talk.told(target)?;
    bench.tell(&phase.cell.label, Stage::Measuring);
    let before = Reading::take(target.pid, &target.cpu);
    let mut replay = Replay {
        source: Source::new(&workload, &values, step.seed, 0),
        recorder: Recorder::default(),
        asked: Vec::with_capacity(order.requests as usize),
        counted_hits: 0,
        counted_from: (order.requests / 2) as usize,
        begin: Instant::now(),
    };
    let cpu_before = thread_cpu_ns();
    while (replay.asked.len() as u64) < order.requests {
        if bench.stopped() {
            return Err(End::Stopped);
        }
        let left = order.requests - replay.asked.len() as u64;
        replay.batch(&mut talk, BATCH.min(usize::try_from(left).unwrap_or(BATCH)))?;
    }
    let elapsed_ns = replay.begin.elapsed().as_nanos().max(1) as u64;
    let cpu_ns = thread_cpu_ns().saturating_sub(cpu_before);
    let after = Reading::take(target.pid, &target.cpu);
    let end = talk.told(target)?;

    let Replay { source, recorder, asked, counted_hits, counted_from, .. } = replay;
    trial.elapsed_s = elapsed_ns as f64 / 1e9;
    trial.counts = recorder.counts;
    let elapsed_s = trial.elapsed_s;
    put_load(&mut trial, &recorder, elapsed_s);
    let busy_max = cpu_ns as f64 / elapsed_ns as f64;
    let load = Stretched { elapsed_ns, cpu_ns, busy_max, ..Stretched::default() };
    let mut account = Account::default();
    account.add(&before, &after, &load);
    put_system(&mut trial, account, target);
    put_account(&mut trial, end, start, recorder.refusals);

    bench.tell(&phase.cell.label, Stage::Checking);
    let counted = asked.len().saturating_sub(counted_from).max(1);
    put(&mut trial, "hit_ratio", counted_hits as f64 / counted as f64);
    put(&mut trial, "hit_ratio_exact_lru", hit_ratio(&asked, BATCH, phase.cap_bytes, counted_from));
    // What the target really held tells its choice of victims apart from what it spends on itself.
    let payload_bytes = payload(&mut talk, &source, order.keys, &workload.length, &values)?;
    fact(&mut trial, "payload_bytes_held", payload_bytes);
    let same_payload = hit_ratio(&asked, BATCH, payload_bytes, counted_from);
    fact(&mut trial, "hit_ratio_exact_lru_same_payload", same_payload);
    if bench.definition.role == Role::Subject {
        check_cap(&mut trial, end.accounted_bytes, phase.cap_bytes);
    }
    if let Some(reason) = recorder.first_error {
        invalidate(&mut trial, reason);
    }
    Ok(trial)
}

struct Replay<'a> {
    source: Source<'a>,
    recorder: Recorder,
    asked: Vec<Access>,
    counted_hits: u64,
    counted_from: usize,
    begin: Instant,
}

impl Replay<'_> {
    fn batch(&mut self, talk: &mut Talk<'_>, count: usize) -> Result<(), End> {
        let mut bytes = Vec::new();
        let batch: Vec<_> = (0..count).map(|_| self.source.ask(0, &mut bytes)).collect();
        let mut missed: Vec<Asked> = Vec::new();
        let sent = self.begin.elapsed();
        talk.send(&bytes)?;
        for asked in &batch {
            let answer = talk.answer(asked)?;
            let now = self.begin.elapsed();
            self.recorder.record(
                Operation::Get,
                now.saturating_sub(sent).as_nanos() as u64,
                now.as_nanos() as u64,
            );
            match answer {
                Answer::Right(_) => {
                    self.recorder.counts.hits += 1;
                    self.counted_hits += u64::from(self.asked.len() >= self.counted_from);
                }
                Answer::Missed(_) => {
                    self.recorder.counts.misses += 1;
                    if !missed.iter().any(|other| other.index == asked.index) {
                        missed.push(Asked { operation: Operation::Set, ..*asked });
                    }
                }
                other => self.recorder.error(|| told(other)),
            }
            let bytes = u64::from(asked.length) + KEY_BYTES as u64;
            self.asked.push(Access { key: asked.index, bytes });
        }
        self.write(talk, &missed)
    }

    fn write(&mut self, talk: &mut Talk<'_>, missed: &[Asked]) -> Result<(), End> {
        let mut bytes = Vec::new();
        for asked in missed {
            self.source.write(asked.operation, asked.index, asked.length, &mut bytes);
        }
        let sent = self.begin.elapsed();
        talk.send(&bytes)?;
        for asked in missed {
            let answer = talk.answer(asked)?;
            let now = self.begin.elapsed();
            self.recorder.record(
                Operation::Set,
                now.saturating_sub(sent).as_nanos() as u64,
                now.as_nanos() as u64,
            );
            match answer {
                Answer::Right(_) => {}
                Answer::Refused(_, text) => {
                    self.recorder.refusals += 1;
                    self.recorder.first_refusal.get_or_insert(text);
                }
                other => self.recorder.error(|| told(other)),
            }
        }
        Ok(())
    }
}

/// What was wrong with an answer that is neither right nor expected.
fn told(answer: Answer) -> String {
    match answer {
        Answer::Wrong(_, text) | Answer::Refused(_, text) | Answer::Broken(text) => text,
        Answer::Right(_) | Answer::Missed(_) | Answer::Incomplete => "an answer to something else".to_owned(),
    }
}

/// Bytes of the keys that are there, and of their values: every key is read once more.
fn payload(
    talk: &mut Talk<'_>,
    source: &Source<'_>,
    keys: u64,
    length: &Length,
    values: &Values,
) -> Result<u64, End> {
    let mut held = 0;
    let all: Vec<u64> = (0..keys).collect();
    for batch in all.chunks(BATCH) {
        let ask = |index: &u64| Asked {
            operation: Operation::Get,
            index: *index,
            length: length.of(*index, 0, values),
            age: Age::Newest,
        };
        let asked: Vec<Asked> = batch.iter().map(ask).collect();
        let mut bytes = Vec::new();
        asked.iter().for_each(|each| source.write(each.operation, each.index, each.length, &mut bytes));
        talk.send(&bytes)?;
        for each in &asked {
            match talk.answer(each)? {
                Answer::Right(_) => held += u64::from(each.length) + KEY_BYTES as u64,
                Answer::Missed(_) => {}
                other => return Err(End::Broken(Status::Invalid, told(other))),
            }
        }
    }
    Ok(held)
}
