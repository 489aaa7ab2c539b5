//! How is something done to a store as a whole: merging, flushing, closing and opening?

use super::meter::{Stretch, Used};
use super::step::repeat;
use super::store::Store;
use super::tally::{Begin, Tally};
use crate::engine::{Batch, Engine, NotSupported, Session};
use crate::protocol::{EngineOptions, Order, Until};
use anyhow::Context as _;
use std::ops::ControlFlow;
use std::time::Instant;

/// Records per transaction of what is written before a flush.
const FILL_BATCH: u64 = 100;

/// One call of which only the whole is timed.
pub(super) fn once(
    kind: &'static str,
    tally: &mut Tally,
    call: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let begin = Begin::now();
    let done = call();
    tally.timed(kind, 1, begin)?;
    if let Err(error) = done {
        tally.operations = 0;
        tally.refused(kind, &error);
    }
    Ok(())
}

/// Fills the write buffer and has it made into tables, again and again; only the latter is measured.
pub(super) fn flush<E: Engine>(
    engine: &E,
    store: &Store,
    (records, until): (u64, Until),
    used: &mut Used,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut session = engine.session()?;
    let order = store.ordered(Order::Random);
    let mut batch = Batch::default();
    let mut place = 0;
    // What other phases left in the write buffer is not these records'.
    if let Err(error) = engine.flush_memtable() {
        tally.refused("a flush", &error);
        return Ok(());
    }
    let begun = Instant::now();
    loop {
        if begun.elapsed().as_secs_f64() >= until.seconds && tally.operations >= until.operations {
            return Ok(());
        }
        let end = place + records;
        while place < end {
            let next = end.min(place + FILL_BATCH);
            store.fill(&mut batch, (place..next).map(|place| order(place % store.records.count)));
            if let Err(error) = session.write(&batch) {
                tally.refused("a write", &error);
                return Ok(());
            }
            place = next;
        }
        let stretch = Stretch::begin(Some(engine));
        let (start, begin) = (Instant::now(), Begin::now());
        let done = engine.flush_memtable();
        tally.timed("flush", 1, begin)?;
        stretch.end(Some(engine), start, tally.end, used);
        if let Err(error) = done {
            tally.refused("a flush", &error);
            return Ok(());
        }
    }
}

/// Closes and opens the store again and again, and reads the first record after each opening.
pub(super) fn reopen<E: Engine>(
    engine: &mut Option<E>,
    options: &EngineOptions,
    store: &Store,
    until: Until,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    if !E::IS_IN_PROCESS {
        tally.refused(
            "an opening",
            &NotSupported::error(E::NAME, "it is a server, which this process only talks to"),
        );
        return Ok(());
    }
    repeat(until, tally, |tally| {
        if let Some(open) = engine.take() {
            open.close().context("cannot close the store")?;
        }
        let begin = Begin::now();
        let opened = E::open(options);
        tally.timed("open", 1, begin)?;
        let opened = engine.insert(opened.context("cannot open the store again")?);
        let mut right = false;
        let there = opened.session()?.get(&store.key(0), &mut |value| right = store.is_right(0, value));
        match there {
            Ok(true) if right => tally.hits += 1,
            Ok(true) => tally.wrong(|| "key:000000000000 has a wrong value".to_owned()),
            Ok(false) => tally.miss(0),
            Err(error) => {
                tally.refused("a read", &error);
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}
