//! Where does a driver's store lie, and how does it come to be there?
//!
//! A store of its own is an empty folder. A stored directory was loaded by an earlier step, and again here where that step
//! belonged to a part of the campaign that was broken off. It is read through before it is opened, so that no read waits
//! for the device; under a memory limit it is put out of the page cache, so that its pages are charged to the driver.

use super::talk::Talk;
use super::{End, can_limit, figures, workload};
use crate::environment::filesystem;
use crate::measure::lab::Bench;
use crate::measure::progress::Stage;
use crate::measure::trial::fact;
use crate::model::{Status, Trial};
use crate::plan::{EmbeddedPart, EmbeddedWork, EngineWanted, Stock, StoreKey, StoreUse};
use crate::target::{DriverStart, locate, page_cache};
use plumbkv_bench_driver::protocol::Phase;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where a store lies.
pub(super) enum Home {
    /// Removed with the driver.
    Own(TempDir),
    /// Stays.
    Stored(PathBuf),
}

impl Home {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Own(folder) => folder.path(),
            Self::Stored(path) => path,
        }
    }
}

/// The store that a driver is to open.
pub(super) fn prepare(bench: &mut Bench<'_>, work: &EmbeddedWork) -> Result<Home, End> {
    let home = match &work.store {
        StoreUse::Fresh => return Ok(Home::Own(folder(bench)?)),
        StoreUse::Kept(key) => Home::Stored(stored(bench, work, key)?),
        StoreUse::Copy(key) => {
            let from = stored(bench, work, key)?;
            let to = folder(bench)?;
            page_cache::copy(&from, to.path()).map_err(|error| told_of("copy", &from, &error))?;
            Home::Own(to)
        }
    };
    let path = home.path();
    match bench.step.memory_limit_bytes {
        Some(_) => {
            page_cache::put_out(path).map_err(|error| told_of("put out of the page cache", path, &error))?
        }
        None => page_cache::read_through(path).map_err(|error| told_of("read", path, &error))?,
    }
    Ok(home)
}

fn told_of(what: &str, path: &Path, error: &io::Error) -> End {
    End::from(format!("cannot {what} the stored directory {}: {error}", path.display()))
}

fn folder(bench: &Bench<'_>) -> Result<TempDir, End> {
    let made = tempfile::Builder::new().prefix("store-").tempdir_in(&bench.setup.work_dir);
    made.map_err(|error| {
        format!("no folder for the store in {}: {error}", bench.setup.work_dir.display()).into()
    })
}

fn stored(bench: &mut Bench<'_>, work: &EmbeddedWork, key: &StoreKey) -> Result<PathBuf, End> {
    if let Some(found) = bench.shelf.find(key) {
        return Ok(found);
    }
    if let Some((status, reason)) = bench.shelf.failure(key) {
        return Err(End::Broken(status, format!("the stored directory could not be loaded: {reason}")));
    }
    let part = work.parts.first().map(|part| part.cell.clone()).unwrap_or_default();
    load(bench, &Stock { cell: part, key: key.clone(), pace: work.pace, timeout_s: work.timeout_s })?;
    bench.shelf.find(key).ok_or_else(|| "the stored directory is not there after its load".to_owned().into())
}

/// Loads a directory in the order of its engine, waits until merging is done, closes it well and keeps it.
pub(super) fn load(bench: &mut Bench<'_>, stock: &Stock) -> Result<Trial, End> {
    let program = locate(bench.definition, bench.binary_override, bench.setup)?;
    let StoreKey { records, order, batch, profile, memory_limit_bytes, .. } = stock.key;
    can_limit(bench, memory_limit_bytes)?;
    let home = folder(bench)?;
    let load = Phase::Load { order, batch, flush_every: None };
    let part =
        EmbeddedPart { cell: stock.cell.clone(), before: Vec::new(), measured: vec![load, Phase::Settle] };
    let work = EmbeddedWork {
        engine: EngineWanted { profile, ..EngineWanted::default() },
        records,
        store: StoreUse::Fresh,
        releases: false,
        draw_seed: 0,
        before: Vec::new(),
        killed: false,
        parts: vec![part.clone()],
        pace: stock.pace,
        timeout_s: stock.timeout_s,
    };
    let workload = workload(bench, &work, home.path().display().to_string(), part.measured.clone());
    bench.tell(&stock.cell.label, Stage::Loading);
    // Under the limit of the directory, which is not always that of the step that reads it, and on all CPUs.
    let start = DriverStart { program: &program, cpu: None, memory_limit_bytes, workload: &workload };
    let mut talk = Talk::begin(bench, &start, work.timeout_s)?;
    let watched = talk.watched();
    let told = talk.measure(bench, &part, &watched)?;
    let mut trial = figures::of_engine(bench, &work, (&part, &told), &talk);
    fact(&mut trial, "filesystem", filesystem(home.path()));
    talk.finish(bench)?;
    if let (true, Some(reason)) = (trial.status != Status::Ok, &trial.reason) {
        return Err(End::Broken(trial.status, format!("while loading: {reason}")));
    }
    page_cache::sync(home.path()).map_err(|error| told_of("force to the device", home.path(), &error))?;
    bench.shelf.put(stock.key.clone(), home);
    Ok(trial)
}
