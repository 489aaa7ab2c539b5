//! How does everything come out of a store? As lines of JSON, in the order of the keys, as of one moment.

use std::io::{self, BufWriter, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use plumbkv::Direction;

use super::output::{LineArgs, write_entry};
use super::progress::Progress;
use super::store::Store;

/// Print all entries as lines of JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is {\"key\":…,\"value\":…,\"expires_at_ms\":…}; expires_at_ms is in milliseconds since the Unix epoch, or null. \
If the key or the value is not UTF-8, both are encoded in base64 and the line has \"encoding\":\"base64\". `plumbkv import` \
reads this format.

Examples:
  plumbkv export --data /var/lib/plumbkv > entries.ndjson
  plumbkv export --data old | plumbkv import --data new --create

Exit codes: 0 success, 1 error, 64 usage error.")]
pub(super) struct Args {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    lines: LineArgs,
    /// Only keys with this prefix, as text.
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let database = args.store.open_to_read()?;
    let total = args.prefix.is_empty().then_some(database.len());
    let mut progress = Progress::begin("entries", total, args.lines.quiet);
    let mut range = database.snapshot()?.prefix(args.prefix.as_bytes(), Direction::Forward);
    let mut out = BufWriter::new(io::stdout().lock());
    let mut count = 0u64;
    while let Some(entry) = range.next_entry().with_context(|| format!("after {count} entries"))? {
        write_entry(&mut out, args.lines.encoding, entry.key, entry.value, entry.expires_at_ms)?;
        count += 1;
        progress.at(count);
    }
    out.flush()?;
    drop((range, progress));
    database.close().context("cannot close the store")?;
    if !args.lines.quiet {
        crate::log::line(format_args!("exported {count} entries"));
    }
    Ok(ExitCode::SUCCESS)
}
