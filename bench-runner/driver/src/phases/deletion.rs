//! Phases that delete: a queue, a scan of the store that it leaves empty, and the deletion of a range beside a writer.

use super::step::{Expected, Step, repeat, scan, write};
use super::store::Store;
use super::tally::{Begin, Tally};
use crate::draws::Draw;
use crate::engine::{Batch, Engine, Session, Span};
use crate::protocol::{Distribution, Until};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Writes beside a range deletion before it begins, so that it meets a writer at work.
const WRITES_BEFORE: u64 = 20;
/// Pause of that writer after each write: it is a neighbour, not a load.
const WRITER_PAUSE: Duration = Duration::from_micros(200);
/// The writer goes on for so long after the deletion, which may leave work behind.
const WRITER_AFTER: Duration = Duration::from_millis(100);
/// Keys that are looked up after a range deletion, inside and outside the range.
const CHECKED: u64 = 100;

/// Deletes one record, timed.
fn delete<S: Session>(session: &mut S, store: &Store, index: u64, tally: &mut Tally) -> Step {
    let key = store.key(index);
    let begin = Begin::now();
    let done = session.delete(&key);
    tally.timed("delete", u64::from(done.is_ok()), begin)?;
    if let Err(error) = done {
        tally.refused("a deletion", &error);
        return Ok(ControlFlow::Break(()));
    }
    Ok(ControlFlow::Continue(()))
}

/// A queue: records come in at the end and leave at the front, of which only the engine knows where it is.
pub(super) fn queue<S: Session>(
    session: &mut S,
    store: &Store,
    (window, seconds): (u64, f64),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let front = Span { low: None, high: None, reverse: false, limit: 1 };
    let mut record = Batch::default();
    let (begin, mut first, mut next) = (Instant::now(), 0, 0);
    while next < store.records.count && begin.elapsed().as_secs_f64() < seconds {
        store.fill(&mut record, std::iter::once(next));
        // A record counts once it has left.
        let inserted = Begin::now();
        let done = session.write(&record);
        tally.timed("insert", 0, inserted)?;
        if let Err(error) = done {
            tally.refused("a write", &error);
            return Ok(());
        }
        next += 1;
        if next - first > window {
            let expected = Expected { first, records: 1, operations: 0, kind: "front_scan" };
            if scan(session, store, &front, &expected, tally)?.is_break()
                || delete(session, store, first, tally)?.is_break()
            {
                return Ok(());
            }
            first += 1;
        }
    }
    for index in first..next {
        if delete(session, store, index, tally)?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Scans of a store that must be empty, after a rest.
pub(super) fn empty_scan<S: Session>(
    session: &mut S,
    store: &Store,
    (rest_seconds, until): (f64, Until),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    std::thread::sleep(Duration::try_from_secs_f64(rest_seconds).unwrap_or_default());
    let everything = Span { low: None, high: None, reverse: false, limit: u64::MAX };
    let nothing = Expected { first: 0, records: 0, operations: 1, kind: "empty_scan" };
    repeat(until, tally, |tally| scan(session, store, &everything, &nothing, tally))
}

/// Deletes `records` records from `first` on in one call, while another thread overwrites those below `first`. Afterwards
/// some keys are looked up: those of the range must be gone and the others there, which is not timed.
pub(super) fn delete_range<E: Engine>(
    engine: &E,
    session: &mut E::Session<'_>,
    store: &Store,
    (first, records): (u64, u64),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let (low, high) = (store.key(first), store.key(first + records));
    let (stop, writes) = (AtomicBool::new(false), AtomicU64::new(0));
    let beside = || -> anyhow::Result<Tally> {
        let (mut session, mut tally) = (engine.session()?, Tally::new());
        let mut record = Batch::default();
        while !stop.load(Ordering::Relaxed) {
            store.fill(&mut record, std::iter::once(writes.load(Ordering::Relaxed) % first));
            if write(&mut session, &record, "set", &mut tally)?.is_break() {
                break;
            }
            writes.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(WRITER_PAUSE);
        }
        Ok(tally)
    };
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let writer = scope.spawn(beside);
        while writes.load(Ordering::Relaxed) < WRITES_BEFORE && !writer.is_finished() {
            std::thread::sleep(WRITER_PAUSE);
        }
        let begin = Begin::now();
        let done = session.delete_range(&low, &high);
        let timed = tally.timed("delete_range", u64::from(done.is_ok()), begin);
        std::thread::sleep(WRITER_AFTER);
        stop.store(true, Ordering::Relaxed);
        match writer.join() {
            Ok(beside) => tally.add(beside?)?,
            Err(_) => anyhow::bail!("the thread that writes beside the deletion ended before its time"),
        }
        timed?;
        if let Err(error) = done {
            tally.refused("the deletion of a range", &error);
        }
        Ok(())
    })?;
    if tally.errors == 0 {
        look(session, store, (first, records), tally);
    }
    Ok(())
}

/// Looks up keys at both ends of the range and some others.
fn look<S: Session>(session: &mut S, store: &Store, (first, records): (u64, u64), tally: &mut Tally) {
    let mut draw = Draw::new(Distribution::Uniform, store.records.count, store.draws(), store.seed);
    let last = first + records - 1;
    let ends = [first - 1, first, last, (last + 1).min(store.records.count - 1)];
    for index in ends.into_iter().chain((0..CHECKED).map(|_| draw.index())) {
        let mut right = false;
        let found = session.get(&store.key(index), &mut |value| right = store.is_right(index, value));
        match (found, (first..=last).contains(&index)) {
            (Ok(false), true) => {}
            (Ok(true), true) => tally.wrong(|| format!("key:{index:012} is there, and was deleted")),
            (Ok(true), false) if right => tally.hits += 1,
            (Ok(true), false) => tally.wrong(|| format!("key:{index:012} has a wrong value")),
            (Ok(false), false) => tally.miss(index),
            (Err(error), _) => return tally.refused("a read", &error),
        }
    }
}
