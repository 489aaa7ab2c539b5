//! How is one phase done, and what is said of it afterwards?

mod deletion;
mod meter;
mod single;
mod step;
mod store;
mod tally;
mod threads;
mod watch;
mod whole;

pub(crate) use store::Store;

use crate::allocations::is_counting;
use crate::draws::Draw;
use crate::engine::Engine;
use crate::process;
use crate::protocol::{EngineOptions, Phase, PhaseResult};
use meter::{Stretch, Used};
use std::path::Path;
use std::time::Instant;
use step::{get, get_absent, repeat};
use tally::Tally;
use watch::Watch;

/// Does phase number `number`. What the engine refuses is counted, not returned: the phase then ends early. The engine is there again afterwards.
///
/// # Errors
/// No session could be had, the store could not be closed or opened again, or a histogram could not be made.
pub(crate) fn run<E: Engine>(
    engine: &mut Option<E>,
    options: &EngineOptions,
    store: &Store,
    number: usize,
    phase: &Phase,
) -> anyhow::Result<PhaseResult> {
    let mut used = Used::default();
    let mut watch = Watch::default();
    let tally = match phase {
        // Measures pieces of itself.
        Phase::Flush { records, until } => {
            let mut tally = Tally::new();
            whole::flush(open(engine)?, store, (*records, *until), &mut used, &mut tally)?;
            tally
        }
        Phase::Reopen { until } => {
            let stretch = Stretch::begin::<E>(None);
            let (begin, mut tally) = (Instant::now(), Tally::new());
            whole::reopen(engine, options, store, *until, &mut tally)?;
            stretch.end::<E>(None, begin, tally.end, &mut used);
            tally
        }
        _ => {
            let engine = open(engine)?;
            let stretch = Stretch::begin(Some(engine));
            let (timed, watched) =
                watch::watched(phase, store, &options.location, || timed(engine, store, phase));
            watch = watched;
            let (begin, tally) = timed?;
            stretch.end(Some(engine), begin, tally.end, &mut used);
            tally
        }
    };
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
        not_supported: tally.not_supported,
        elapsed_ns: u64::try_from(used.elapsed.as_nanos()).unwrap_or(u64::MAX),
        cpu_ns: used.cpu_ns,
        histograms,
        rss_bytes_start: used.rss_bytes_start,
        rss_bytes_peak: used.rss_bytes_peak,
        disk_bytes: process::folder_bytes(Path::new(&options.location)),
        read_bytes: used.read_bytes,
        written_bytes: used.written_bytes,
        device_read_bytes: used.device_read_bytes,
        rss_anonymous_bytes: process::rss_anonymous_bytes(),
        levels: open(engine)?.levels(),
        work: used.work,
        allocated: is_counting().then_some(tally.allocated),
        windows: watch.windows,
        disk_bytes_peak: watch.disk_bytes_peak,
        debt_bytes: open(engine)?.debt_bytes(),
    })
}

fn open<E>(engine: &Option<E>) -> anyhow::Result<&E> {
    engine.as_ref().ok_or_else(|| anyhow::anyhow!("the store is not open"))
}

/// The phases that are measured from their begin to their end.
fn timed<E: Engine>(engine: &E, store: &Store, phase: &Phase) -> anyhow::Result<(Instant, Tally)> {
    match phase {
        Phase::ReadRandom { distribution, threads, absent, until } => {
            threads::together(engine, *threads, *until, |number, session, share, tally| {
                let seed = store.draws().wrapping_add(u64::from(number) + 1);
                let mut draw = Draw::new(*distribution, store.records.count, seed, store.seed);
                repeat(share, tally, |tally| match absent {
                    false => get(session, store, draw.index(), tally),
                    true => get_absent(session, store, draw.index(), tally),
                })
            })
        }
        Phase::Write { order, batch, threads, watched, until } if *threads > 1 => {
            threads::together(engine, *threads, *until, |number, session, share, tally| {
                let what = (*order, *batch, *watched);
                single::overwrite(session, store, what, (number, *threads), share, tally)
            })
        }
        _ => {
            let mut session = engine.session()?;
            let (begin, mut tally) = (Instant::now(), Tally::new());
            by_one_thread(engine, &mut session, store, phase, &mut tally)?;
            Ok((begin, tally))
        }
    }
}

fn by_one_thread<E: Engine>(
    engine: &E,
    session: &mut E::Session<'_>,
    store: &Store,
    phase: &Phase,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    match phase {
        Phase::Load { order, batch, flush_every } => {
            single::load(engine, session, store, (*order, *batch, *flush_every), tally)
        }
        Phase::Settle => whole::once("settle", tally, || engine.settle()),
        Phase::Compact => whole::once("compact", tally, || engine.compact()),
        Phase::ReadOrdered { until } => single::read_ordered(session, store, *until, tally),
        Phase::Scan { records, reverse, until } => {
            single::scan_some(session, store, (*records, *reverse, *until), tally)
        }
        Phase::ScanAll { reverse, until } => single::scan_all(session, store, (*reverse, *until), tally),
        Phase::ScanPrefix { digits, until } => single::scan_prefix(session, store, (*digits, *until), tally),
        Phase::Write { order, batch, watched, until, .. } => {
            single::overwrite(session, store, (*order, *batch, *watched), (0, 1), *until, tally)
        }
        Phase::Queue { window, seconds } => deletion::queue(session, store, (*window, *seconds), tally),
        Phase::EmptyScan { rest_seconds, until } => {
            deletion::empty_scan(session, store, (*rest_seconds, *until), tally)
        }
        Phase::DeleteRange { first, records } => {
            deletion::delete_range(engine, session, store, (*first, *records), tally)
        }
        Phase::Mixed { read_percent, distribution, until } => {
            single::mixed(session, store, (*read_percent, *distribution, *until), tally)
        }
        Phase::Ycsb { workload, until } => single::ycsb(session, store, (*workload, *until), tally),
        // Done by whoever calls.
        Phase::ReadRandom { .. } | Phase::Reopen { .. } | Phase::Flush { .. } => Ok(()),
    }
}
