//! Is a store whole? Every block of every table is read, and its checksum and order are looked at.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use serde::Serialize;

use super::output::{ReportArgs, write_figures};
use super::progress::Progress;
use super::store::{Store, damage};

/// Verify the checksums and key order of a whole store.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Opens the store read-only, replays its log into memory, then reads every block of every table and verifies \
checksums, key order and the number of keys. Nothing in the directory is changed.

Examples:
  plumbkv check --data /var/lib/plumbkv
  plumbkv check --data /var/lib/plumbkv --format json | jq .is_whole

Exit codes: 0 intact, 1 corrupt or cannot be opened, 64 usage error.")]
pub(super) struct Args {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    report: ReportArgs,
}

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Report {
    is_whole: bool,
    /// The first damage that was met.
    damage: Option<String>,
    tables: usize,
    table_bytes: u64,
    /// Versions of keys that were read, of `versions_expected`.
    versions_read: u64,
    versions_expected: u64,
    elapsed_seconds: f64,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut report = Report::default();
    match look(args, &mut report) {
        Ok(()) => report.is_whole = true,
        Err(error) => match error.downcast_ref() {
            Some(error @ plumbkv::Error::Corrupt { .. }) => report.damage = Some(damage(error)),
            _ => return Err(error),
        },
    }
    report.elapsed_seconds = started.elapsed().as_secs_f64();
    write_figures(args.report.format, &report)?;
    Ok(if report.is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn look(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let database = args.store.open_to_read()?;
    let stats = database.storage_stats()?;
    report.tables = stats.tables();
    report.table_bytes = stats.table_bytes();
    report.versions_expected = stats.versions;
    // Those that the log holds were read and verified when the store was opened.
    let in_log = stats.memtable_versions;
    report.versions_read = in_log;
    let mut progress = Progress::begin("versions of keys read", Some(stats.versions), args.report.quiet);
    let read = database.verify(|versions| {
        report.versions_read = in_log + versions;
        progress.at(report.versions_read);
    });
    drop(progress);
    // What is wrong is said by the table; a failure to close says nothing new then.
    let closed = database.close().context("cannot close the store");
    read?;
    closed
}
