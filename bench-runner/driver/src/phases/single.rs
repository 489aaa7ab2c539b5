//! Which phases does one thread do, and how? By Ycsb's workloads too.

use super::step::{Expected, Step, get, read_modify_write, repeat, scan, write};
use super::store::Store;
use super::tally::Tally;
use crate::draws::Draw;
use crate::engine::{Batch, Engine, Session, Span};
use crate::protocol::{Distribution, Order, Until, Ycsb};
use std::time::Instant;

/// Longest scan of YCSB's workload E.
const YCSB_SCAN: u64 = 100;

pub(super) fn load<E: Engine>(
    engine: &E,
    session: &mut E::Session<'_>,
    store: &Store,
    (order, batch, flush_every): (Order, u32, Option<u64>),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let order = store.ordered(order);
    let count = store.records.count;
    let mut records = Batch::default();
    let mut start = 0;
    while start < count {
        // A transaction ends where a table is to end.
        let table_end = flush_every.map_or(count, |every| (start / every + 1) * every);
        let end = count.min(start + u64::from(batch)).min(table_end);
        store.fill(&mut records, (start..end).map(&order));
        if write(session, &records, "set", tally)?.is_break() {
            return Ok(());
        }
        if end == table_end
            && flush_every.is_some()
            && let Err(error) = engine.flush_memtable()
        {
            tally.refused("a table", &error);
            return Ok(());
        }
        start = end;
    }
    if let Err(error) = engine.flush() {
        tally.refused("the flush", &error);
    }
    tally.end = Instant::now();
    Ok(())
}

pub(super) fn read_ordered<S: Session>(
    session: &mut S,
    store: &Store,
    until: Until,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut index = 0;
    repeat(until, tally, |tally| {
        let step = get(session, store, index, tally);
        index = (index + 1) % store.count();
        step
    })
}

/// So many records from key `from` on, or down from it.
fn some<S: Session>(
    session: &mut S,
    store: &Store,
    (from, limit, reverse): (u64, u64, bool),
    tally: &mut Tally,
) -> Step {
    let (low, high) = (store.key(from), store.key(from + 1));
    let (low, high) = if reverse { (None, Some(&high[..])) } else { (Some(&low[..]), None) };
    let there = if reverse { from + 1 } else { store.count() - from };
    let expected = Expected { first: from, records: limit.min(there), operations: 1, kind: "scan" };
    scan(session, store, &Span { low, high, reverse, limit }, &expected, tally)
}

pub(super) fn scan_some<S: Session>(
    session: &mut S,
    store: &Store,
    (records, reverse, until): (u32, bool, Until),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut draw = Draw::new(Distribution::Uniform, store.records.count, store.draws() ^ 0x5ca0, store.seed);
    repeat(until, tally, |tally| some(session, store, (draw.index(), u64::from(records), reverse), tally))
}

pub(super) fn scan_all<S: Session>(
    session: &mut S,
    store: &Store,
    (reverse, until): (bool, Until),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let count = store.count();
    let first = if reverse { count - 1 } else { 0 };
    // No limit: it is the engine that has to see where its records end.
    let span = Span { low: None, high: None, reverse, limit: u64::MAX };
    repeat(until, tally, |tally| {
        scan(
            session,
            store,
            &span,
            &Expected { first, records: count, operations: count, kind: "scan" },
            tally,
        )
    })
}

pub(super) fn scan_prefix<S: Session>(
    session: &mut S,
    store: &Store,
    (digits, until): (u32, Until),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let alike = 10_u64.saturating_pow(digits);
    let mut draw = Draw::new(Distribution::Uniform, store.records.count, store.draws() ^ 0x9ef1, store.seed);
    repeat(until, tally, |tally| {
        let first = draw.index() / alike * alike;
        let (low, high) = (store.key(first), store.key(first + alike));
        let (low, high) = (Some(&low[..low.len() - digits as usize]), Some(&high[..]));
        let span = Span { low, high, reverse: false, limit: u64::MAX };
        let there = alike.min(store.count() - first);
        scan(session, store, &span, &Expected { first, records: there, operations: 1, kind: "scan" }, tally)
    })
}

/// Overwrites, as thread `thread` of so many: each takes every so manieth batch.
pub(super) fn overwrite<S: Session>(
    session: &mut S,
    store: &Store,
    (order, batch, watched): (Order, u32, bool),
    (thread, threads): (u32, u32),
    until: Until,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let order = store.ordered(order);
    let count = store.records.count;
    let size = u64::from(batch);
    let mut records = Batch::default();
    let mut place = u64::from(thread) * size;
    repeat(until, tally, |tally| {
        store.fill(&mut records, (place..place + size).map(|place| order(place % count)));
        place += size * u64::from(threads);
        let step = write(session, &records, "set", tally);
        if watched {
            store.has_written(size);
        }
        step
    })
}

pub(super) fn mixed<S: Session>(
    session: &mut S,
    store: &Store,
    (read_percent, distribution, until): (u32, Distribution, Until),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut draw = Draw::new(distribution, store.records.count, store.draws() ^ 0x0111, store.seed);
    let mut record = Batch::default();
    repeat(until, tally, |tally| {
        let index = draw.index();
        if draw.chance(read_percent) {
            get(session, store, index, tally)
        } else {
            store.fill(&mut record, std::iter::once(index));
            write(session, &record, "set", tally)
        }
    })
}

pub(super) fn ycsb<S: Session>(
    session: &mut S,
    store: &Store,
    (workload, until): (Ycsb, Until),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let seed = store.draws() ^ 0x7c5b;
    let mut draw = Draw::new(Distribution::Zipf, store.records.count, seed, store.seed);
    let mut record = Batch::default();
    repeat(until, tally, |tally| {
        let read = match workload {
            Ycsb::A | Ycsb::F => draw.chance(50),
            Ycsb::B | Ycsb::D | Ycsb::E => draw.chance(95),
            Ycsb::C => true,
        };
        match (workload, read) {
            (Ycsb::D, true) => {
                let back = draw.rank() - 1;
                get(session, store, store.count() - 1 - back, tally)
            }
            (Ycsb::E, true) => {
                let (from, length) = (draw.index(), 1 + draw.below(YCSB_SCAN));
                some(session, store, (from, length, false), tally)
            }
            (_, true) => get(session, store, draw.index(), tally),
            (Ycsb::D | Ycsb::E, false) => {
                store.fill(&mut record, std::iter::once(store.count()));
                let step = write(session, &record, "insert", tally)?;
                if step.is_continue() {
                    store.inserted();
                }
                Ok(step)
            }
            (Ycsb::F, false) => read_modify_write(session, store, &mut record, draw.index(), tally),
            (_, false) => {
                store.fill(&mut record, std::iter::once(draw.index()));
                write(session, &record, "set", tally)
            }
        }
    })
}
