//! How is one operation done? Timed by itself, and what it reads is compared with what its key must have.

use super::store::Store;
use super::tally::{Begin, Tally};
use crate::engine::{Batch, Session, Span};
use crate::protocol::Until;
use std::ops::ControlFlow;
use std::time::Instant;

pub(super) type Step = anyhow::Result<ControlFlow<()>>;

const GO_ON: Step = Ok(ControlFlow::Continue(()));

/// Repeats until both ends have been reached, or the engine refuses.
pub(super) fn repeat(
    until: Until,
    tally: &mut Tally,
    mut step: impl FnMut(&mut Tally) -> Step,
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

/// Counts what came of a call that was to find record `index`; its time is already counted.
fn found(what: &str, index: u64, right: bool, found: anyhow::Result<bool>, tally: &mut Tally) -> Step {
    match found {
        Ok(true) => {
            tally.hits += 1;
            if !right {
                tally.wrong(|| format!("key:{index:012} has a wrong value"));
            }
        }
        Ok(false) => tally.miss(index),
        Err(error) => {
            tally.refused(what, &error);
            return Ok(ControlFlow::Break(()));
        }
    }
    GO_ON
}

pub(super) fn get<S: Session>(session: &mut S, store: &Store, index: u64, tally: &mut Tally) -> Step {
    let key = store.key(index);
    let mut right = false;
    let begin = Begin::now();
    let got = session.get(&key, &mut |value| right = store.is_right(index, value));
    tally.timed("get", 1, begin)?;
    found("a read", index, right, got, tally)
}

/// A read of a key beside record `index`, which nobody wrote.
pub(super) fn get_absent<S: Session>(session: &mut S, store: &Store, index: u64, tally: &mut Tally) -> Step {
    let key = store.absent_key(index);
    let begin = Begin::now();
    let got = session.get(&key, &mut |_| {});
    tally.timed("get", 1, begin)?;
    match got {
        Ok(false) => {}
        Ok(true) => tally.wrong(|| format!("{} is there, and was never written", key.escape_ascii())),
        Err(error) => {
            tally.refused("a read", &error);
            return Ok(ControlFlow::Break(()));
        }
    }
    GO_ON
}

pub(super) fn read_modify_write<S: Session>(
    session: &mut S,
    store: &Store,
    record: &mut Batch,
    index: u64,
    tally: &mut Tally,
) -> Step {
    store.fill(record, std::iter::once(index));
    let mut right = false;
    let begin = Begin::now();
    let done = session.read_modify_write(record, &mut |value| right = store.is_right(index, value));
    tally.timed("read_modify_write", 1, begin)?;
    found("a read followed by a write", index, right, done, tally)
}

/// Writes a batch; `one` is what it is called when it holds one record.
pub(super) fn write<S: Session>(
    session: &mut S,
    batch: &Batch,
    one: &'static str,
    tally: &mut Tally,
) -> Step {
    let kind = if batch.len() == 1 { one } else { "batch" };
    let begin = Begin::now();
    let written = session.write(batch);
    tally.timed(kind, batch.len() as u64, begin)?;
    if let Err(error) = written {
        tally.refused("a write", &error);
        return Ok(ControlFlow::Break(()));
    }
    GO_ON
}

/// A scan of which every record is known: `expected` of them, from `first` on in the direction of `span`.
pub(super) struct Expected {
    pub(super) first: u64,
    pub(super) records: u64,
    /// Operations it counts for.
    pub(super) operations: u64,
    /// What it is called.
    pub(super) kind: &'static str,
}

pub(super) fn scan<S: Session>(
    session: &mut S,
    store: &Store,
    span: &Span<'_>,
    expected: &Expected,
    tally: &mut Tally,
) -> Step {
    let at =
        |place: u64| if span.reverse { expected.first.wrapping_sub(place) } else { expected.first + place };
    let (mut place, mut wrong) = (0, None);
    let begin = Begin::now();
    let done = session.scan(span, &mut |key, value| {
        let index = at(place);
        if !store.is_key(index, key) || !store.is_right(index, value) {
            wrong.get_or_insert(index);
        }
        place += 1;
    });
    tally.timed(expected.kind, expected.operations, begin)?;
    if let Err(error) = done {
        tally.refused("a scan", &error);
        return Ok(ControlFlow::Break(()));
    }
    tally.hits += place;
    let (first, there) = (expected.first, expected.records);
    if let Some(index) = wrong {
        tally.wrong(|| format!("a scan from key:{first:012} has something else at key:{index:012}"));
    }
    if place != there {
        tally.misses += there.saturating_sub(place);
        tally.wrong(|| format!("a scan from key:{first:012} gave {place} records, not {there}"));
    }
    GO_ON
}
