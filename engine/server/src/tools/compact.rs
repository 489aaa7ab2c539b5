//! How does a store become as small as it can be? All tables are merged into one level, in which each key has one version.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use serde::Serialize;

use super::output::{ReportArgs, write_figures};
use super::progress::Progress;
use super::store::{Store, WriteArgs};

/// Run a major compaction: merge all tables, dropping overwritten, deleted and expired entries.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Overwritten, deleted and expired entries free their disk space when compaction rewrites their tables. A server \
compacts in the background as it writes; use this before copying a store, or for one that will not be written for long. \
It reads and writes about as many bytes as the store has, and needs free space for the upper levels and a table or two. \
It can be interrupted: finished steps are kept.

Example:
  plumbkv compact --data /var/lib/plumbkv

Exit codes: 0 success, 1 error, 64 usage error.")]
pub(super) struct Args {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    report: ReportArgs,
}

/// What has become of the store.
#[derive(Debug, Serialize)]
struct Report {
    tables_before: usize,
    tables_after: usize,
    before_bytes: u64,
    after_bytes: u64,
    /// Bytes that were written to tables for it.
    written_bytes: u64,
    elapsed_seconds: f64,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    args.store.check_is_there()?;
    let database = args.store.open_to_write(&args.write)?;
    let before = database.storage_stats()?;
    let mut progress = Progress::begin("bytes of tables written", None, args.report.quiet);
    database.compact_with(|merged| {
        progress.at(merged.written_bytes);
        ControlFlow::Continue(())
    })?;
    drop(progress);
    let after = database.storage_stats()?;
    database.close().context("cannot close the store")?;
    let report = Report {
        tables_before: before.tables(),
        tables_after: after.tables(),
        before_bytes: before.table_bytes(),
        after_bytes: after.table_bytes(),
        written_bytes: after.flushed_bytes + after.merged_bytes,
        elapsed_seconds: started.elapsed().as_secs_f64(),
    };
    write_figures(args.report.format, &report)?;
    Ok(ExitCode::SUCCESS)
}
