//! How does everything come out of a store? As lines of JSON, by database and in the order of the keys, as of one moment.

use std::io::{self, BufWriter, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use plumbkv::Entry;

use super::output::{LineArgs, write_entry};
use super::place::for_each_entry;
use super::progress::Progress;
use super::store::Store;
use crate::databases::{COUNT, Databases};

/// Print all entries as lines of JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is {\"key\":…,\"value\":…,\"expires_at_ms\":…}; expires_at_ms is in milliseconds since the Unix epoch, or null. \
Lines of databases 1 to 15 begin with {\"database\":…. \
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
    /// Only this database, 0 to 15; without it, all of them.
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(..i64::from(COUNT)))]
    database: Option<u8>,
    /// Only keys with this prefix, as text.
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let database = args.store.open_to_read()?;
    let total = (args.prefix.is_empty() && args.database.is_none()).then_some(database.len());
    let mut progress = Progress::begin("entries", total, args.lines.quiet);
    let snapshot = database.snapshot()?;
    let databases = Databases::load(&database)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut count = 0u64;
    let mut write = |number: u8, key: &[u8], entry: &Entry<'_>| {
        write_entry(&mut out, args.lines.encoding, number, key, entry.value, entry.expires_at_ms)?;
        count += 1;
        progress.at(count);
        Ok(())
    };
    let mut wanted = (0..COUNT).filter(|number| args.database.is_none_or(|only| only == *number));
    let written = wanted.try_for_each(|number| {
        let keyspace = databases.keyspace(number);
        for_each_entry(&snapshot, keyspace, args.prefix.as_bytes(), |key, entry| write(number, key, entry))
    });
    written.with_context(|| format!("after {count} entries"))?;
    out.flush()?;
    drop((snapshot, progress));
    database.close().context("cannot close the store")?;
    if !args.lines.quiet {
        crate::log::line(format_args!("exported {count} entries"));
    }
    Ok(ExitCode::SUCCESS)
}
