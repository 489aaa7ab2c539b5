//! How is one phase done? Every read is compared with what its key must have; every operation is timed by itself.

use crate::draws::{Draw, Shuffle};
use crate::engine::{Batch, Engine, Session};
use crate::process;
use crate::protocol::{Distribution, Order, Phase, PhaseResult, Records, Until, ValueKind};
use crate::times::Times;
use crate::values::{KEY_BYTES, Values, write_key};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Barrier, PoisonError, RwLock};
use std::time::Instant;

/// What the phases of one workload share.
pub(crate) struct Store {
    records: Records,
    values: Values,
    seed: u64,
}

impl Store {
    pub(crate) fn new(records: Records, seed: u64) -> Self {
        let longest = records.value_bytes as usize;
        let values = match records.values {
            ValueKind::Incompressible => Values::new(seed, longest),
            ValueKind::HalfCompressible => Values::half_compressible(seed, longest),
        };
        Self { records, values, seed }
    }

    fn key(index: u64) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        write_key(index, &mut key);
        key
    }

    fn is_right(&self, index: u64, value: &[u8]) -> bool {
        value.len() == self.records.value_bytes as usize && self.values.is_right(index, value)
    }

    fn fill(&self, batch: &mut Batch, indices: impl Iterator<Item = u64>) {
        batch.clear(self.records.value_bytes as usize);
        for index in indices {
            batch.add(Self::key(index), |value| self.values.write(index, value));
        }
    }

    /// The index that is written as number `place`.
    fn ordered(&self, order: Order) -> impl Fn(u64) -> u64 {
        let shuffle = Shuffle::new(self.records.count, self.seed);
        move |place| match order {
            Order::Sequential => place,
            Order::Random => shuffle.at(place),
        }
    }
}

/// What one thread has counted.
struct Tally {
    operations: u64,
    hits: u64,
    misses: u64,
    errors: u64,
    first_error: Option<String>,
    /// By kind of operation, in the order in which they were first seen.
    times: Vec<(&'static str, Times)>,
    end: Instant,
}

impl Tally {
    fn new() -> Self {
        let times = Vec::new();
        Self { operations: 0, hits: 0, misses: 0, errors: 0, first_error: None, times, end: Instant::now() }
    }

    /// Counts `operations` that took one call from `begin` until now.
    fn timed(&mut self, kind: &'static str, operations: u64, begin: Instant) -> anyhow::Result<()> {
        self.end = Instant::now();
        self.operations += operations;
        let ns = u64::try_from(self.end.duration_since(begin).as_nanos()).unwrap_or(u64::MAX);
        if !self.times.iter().any(|(known, _)| *known == kind) {
            self.times.push((kind, Times::new()?));
        }
        if let Some((_, times)) = self.times.iter_mut().find(|(known, _)| *known == kind) {
            times.record(ns);
        }
        Ok(())
    }

    /// A record that should have been there.
    fn miss(&mut self, index: u64) {
        self.misses += 1;
        self.first_error.get_or_insert_with(|| format!("key:{index:012} is not there"));
    }

    fn wrong(&mut self, text: impl FnOnce() -> String) {
        self.errors += 1;
        self.first_error.get_or_insert_with(text);
    }

    fn add(&mut self, other: Self) -> anyhow::Result<()> {
        self.operations += other.operations;
        self.hits += other.hits;
        self.misses += other.misses;
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
        self.end = self.end.max(other.end);
        for (kind, theirs) in other.times {
            match self.times.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, mine)) => mine.merge(&theirs)?,
                None => self.times.push((kind, theirs)),
            }
        }
        Ok(())
    }
}

/// Does phase number `number`. What the engine refuses is counted, not returned: the phase then ends early.
///
/// # Errors
/// No session could be had, or a histogram could not be made.
pub(crate) fn run<E: Engine>(
    engine: &E,
    store: &Store,
    number: usize,
    phase: &Phase,
    folder: &Path,
) -> anyhow::Result<PhaseResult> {
    process::forget_rss_peak();
    let rss_bytes_start = process::rss_bytes();
    let io = process::Io::now();
    let cpu_ns = process::cpu_ns();
    let (begin, tally) = match phase {
        Phase::ReadRandom { distribution, threads, until } => {
            read_random(engine, store, *distribution, *threads, *until)?
        }
        _ => {
            let mut session = engine.session()?;
            let begin = Instant::now();
            (begin, single(engine, &mut session, store, phase)?)
        }
    };
    let cpu_ns = process::cpu_ns().saturating_sub(cpu_ns);
    let after = process::Io::now();
    let moved = io.zip(after);
    let mut histograms = Vec::new();
    for (kind, times) in &tally.times {
        histograms.push(times.to_line(kind)?);
    }
    Ok(PhaseResult {
        phase: number,
        operations: tally.operations,
        hits: tally.hits,
        misses: tally.misses,
        errors: tally.errors,
        first_error: tally.first_error,
        elapsed_ns: u64::try_from(tally.end.duration_since(begin).as_nanos()).unwrap_or(u64::MAX),
        cpu_ns,
        histograms,
        rss_bytes_start,
        rss_bytes_peak: process::rss_bytes_peak(),
        disk_bytes: process::folder_bytes(folder),
        read_bytes: moved.map(|(before, after)| after.read_bytes.saturating_sub(before.read_bytes)),
        written_bytes: moved.map(|(before, after)| after.written_bytes.saturating_sub(before.written_bytes)),
    })
}

/// The phases of one thread.
fn single<E: Engine>(
    engine: &E,
    session: &mut E::Session<'_>,
    store: &Store,
    phase: &Phase,
) -> anyhow::Result<Tally> {
    let count = store.records.count;
    let mut tally = Tally::new();
    match phase {
        Phase::Load { order, batch } => {
            let order = store.ordered(*order);
            let size = u64::from(*batch);
            let mut records = Batch::default();
            for start in (0..count).step_by(*batch as usize) {
                store.fill(&mut records, (start..count.min(start + size)).map(&order));
                if write(session, &records, &mut tally)?.is_break() {
                    return Ok(tally);
                }
            }
            if let Err(error) = engine.flush() {
                tally.wrong(|| format!("the flush was refused: {error:#}"));
            }
            tally.end = Instant::now();
        }
        Phase::ReadRandom { .. } => {}
        Phase::ReadOrdered { until } => {
            let mut index = 0;
            repeat(*until, &mut tally, |tally| {
                let step = get(session, store, index, tally);
                index = (index + 1) % count;
                step
            })?;
        }
        Phase::Scan { records, until } => {
            let mut draw = Draw::new(Distribution::Uniform, count, store.seed ^ 0x5ca0, store.seed);
            repeat(*until, &mut tally, |tally| scan(session, store, draw.index(), *records, tally))?;
        }
        Phase::Write { order, batch, until } => {
            let order = store.ordered(*order);
            let mut records = Batch::default();
            let mut place = 0;
            repeat(*until, &mut tally, |tally| {
                let indices = (place..place + u64::from(*batch)).map(|place| order(place % count));
                store.fill(&mut records, indices);
                place += u64::from(*batch);
                write(session, &records, tally)
            })?;
        }
        Phase::Mixed { read_percent, distribution, until } => {
            let mut draw = Draw::new(*distribution, count, store.seed ^ 0x0111, store.seed);
            let mut record = Batch::default();
            repeat(*until, &mut tally, |tally| {
                let index = draw.index();
                if draw.chance(*read_percent) {
                    get(session, store, index, tally)
                } else {
                    store.fill(&mut record, std::iter::once(index));
                    write(session, &record, tally)
                }
            })?;
        }
    }
    Ok(tally)
}

/// Several threads, each with a session of its own, that begin at the same moment.
fn read_random<E: Engine>(
    engine: &E,
    store: &Store,
    distribution: Distribution,
    threads: u32,
    until: Until,
) -> anyhow::Result<(Instant, Tally)> {
    let share = Until { operations: until.operations.div_ceil(u64::from(threads.max(1))), ..until };
    let ready = Barrier::new(threads as usize + 1);
    let begun = RwLock::new(Instant::now());
    std::thread::scope(|scope| {
        let one = |number: u32| {
            let (ready, begun) = (&ready, &begun);
            scope.spawn(move || -> anyhow::Result<Tally> {
                let session = engine.session();
                ready.wait();
                // Held by the thread that opened the barrier until it has read the clock: nobody begins before.
                drop(begun.read());
                let mut session = session?;
                let seed = store.seed.wrapping_add(u64::from(number) + 1);
                let mut draw = Draw::new(distribution, store.records.count, seed, store.seed);
                let mut tally = Tally::new();
                repeat(share, &mut tally, |tally| get(&mut session, store, draw.index(), tally))?;
                Ok(tally)
            })
        };
        let workers: Vec<_> = (0..threads).map(one).collect();
        let mut start = begun.write().unwrap_or_else(PoisonError::into_inner);
        ready.wait();
        *start = Instant::now();
        let begin = *start;
        drop(start);
        let mut all = Tally::new();
        for worker in workers {
            match worker.join() {
                Ok(tally) => all.add(tally?)?,
                Err(_) => anyhow::bail!("a reading thread ended before its time"),
            }
        }
        Ok((begin, all))
    })
}

/// Repeats until both ends have been reached, or the engine refuses.
fn repeat(
    until: Until,
    tally: &mut Tally,
    mut step: impl FnMut(&mut Tally) -> anyhow::Result<ControlFlow<()>>,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    tally.end = begin;
    loop {
        let elapsed_s = tally.end.duration_since(begin).as_secs_f64();
        if elapsed_s >= until.seconds && tally.operations >= until.operations {
            return Ok(());
        }
        if step(tally)?.is_break() {
            return Ok(());
        }
    }
}

fn get<S: Session>(
    session: &mut S,
    store: &Store,
    index: u64,
    tally: &mut Tally,
) -> anyhow::Result<ControlFlow<()>> {
    let key = Store::key(index);
    let mut right = false;
    let begin = Instant::now();
    let found = session.get(&key, &mut |value| right = store.is_right(index, value));
    tally.timed("get", 1, begin)?;
    match found {
        Ok(true) => {
            tally.hits += 1;
            if !right {
                tally.wrong(|| format!("key:{index:012} has a wrong value"));
            }
        }
        Ok(false) => tally.miss(index),
        Err(error) => {
            tally.wrong(|| format!("a read was refused: {error:#}"));
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn write<S: Session>(session: &mut S, batch: &Batch, tally: &mut Tally) -> anyhow::Result<ControlFlow<()>> {
    let kind = if batch.len() == 1 { "set" } else { "batch" };
    let begin = Instant::now();
    let written = session.write(batch);
    tally.timed(kind, batch.len() as u64, begin)?;
    if let Err(error) = written {
        tally.wrong(|| format!("a write was refused: {error:#}"));
        return Ok(ControlFlow::Break(()));
    }
    Ok(ControlFlow::Continue(()))
}

fn scan<S: Session>(
    session: &mut S,
    store: &Store,
    from: u64,
    records: u32,
    tally: &mut Tally,
) -> anyhow::Result<ControlFlow<()>> {
    let there = u64::from(records).min(store.records.count - from);
    let mut next = from;
    let mut wrong = None;
    let begin = Instant::now();
    let done = session.scan(&Store::key(from), records, &mut |key, value| {
        if key != Store::key(next) || !store.is_right(next, value) {
            wrong.get_or_insert(next);
        }
        next += 1;
    });
    tally.timed("scan", 1, begin)?;
    if let Err(error) = done {
        tally.wrong(|| format!("a scan was refused: {error:#}"));
        return Ok(ControlFlow::Break(()));
    }
    tally.hits += next - from;
    if let Some(index) = wrong {
        tally.wrong(|| format!("a scan from key:{from:012} has something else at key:{index:012}"));
    }
    if next - from != there {
        tally.misses += there.saturating_sub(next - from);
        tally.wrong(|| format!("a scan from key:{from:012} gave {} records, not {there}", next - from));
    }
    Ok(ControlFlow::Continue(()))
}
