//! How does a damaged store open again? Without its damaged files, which are laid aside.

use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use plumbkv::Database;
use serde::Serialize;

use super::output::{ReportArgs, write_figures};
use super::progress::Progress;
use super::store::{Store, damage};

/// Quarantine corrupt files, so that the store can be opened again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads all tables and logs, and moves corrupt ones to DIR/damaged-SECONDS (the time in Unix seconds); nothing is deleted. \
A key in a corrupt table reverts to its value in an older table, or is lost; of a corrupt log, the records before the \
corruption are kept. A store whose manifest (CURRENT, MANIFEST-…) is corrupt is not changed.

Copy the directory first if you can: a disk that lost one block may lose more.

Examples:
  plumbkv check --data /var/lib/plumbkv
  plumbkv repair --data /var/lib/plumbkv

Exit codes: 0 the store is intact now, 1 error, 64 usage error.")]
pub(super) struct Args {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    report: ReportArgs,
}

/// What was done.
#[derive(Debug, Serialize)]
struct Report {
    /// Where damaged files are now; `None` where there were none.
    moved_to: Option<String>,
    files_moved: usize,
    /// Of damaged tables, an upper bound of the keys that have an older value now or none.
    versions_lost: u64,
    elapsed_seconds: f64,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    args.store.check_is_there()?;
    let directory = args.store.directory();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let aside = directory.join(format!("damaged-{now}"));
    let mut progress = Progress::begin("tables", None, args.report.quiet);
    let laid = Database::repair(directory, &aside, |done, _| progress.at(done as u64))
        .context("cannot repair the store")?;
    drop(progress);
    for file in &laid {
        crate::log::line(format_args!("moved {}", damage(&file.reason)));
    }
    let report = Report {
        moved_to: (!laid.is_empty()).then(|| aside.display().to_string()),
        files_moved: laid.len(),
        versions_lost: laid.iter().filter_map(|file| file.versions).sum(),
        elapsed_seconds: started.elapsed().as_secs_f64(),
    };
    write_figures(args.report.format, &report)?;
    Ok(ExitCode::SUCCESS)
}
