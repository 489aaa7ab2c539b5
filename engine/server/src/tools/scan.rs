//! Which keys are there? In order, from one key to another, forward or backward, with their values or without.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write as _};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use anyhow::Context as _;
use plumbkv::{Direction, Keyspace, Range, Snapshot};

use super::encoding::Encoding;
use super::output::{Format, write_entry};
use super::place::Number;
use super::store::Store;

/// List keys in order.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Keys are sorted by their bytes and printed one per line; bytes that are not printable ASCII are escaped, for example \
\\xff. `--format json` prints key, value and expiry time of each as a line of JSON.

Examples:
  plumbkv scan --data /var/lib/plumbkv --prefix user: --limit 10
  plumbkv scan --data /var/lib/plumbkv --from 2026-01 --to 2026-02 --values
  plumbkv scan --data /var/lib/plumbkv --reverse --limit 1       the last key

Exit codes: 0 success, 1 error, 64 usage error.")]
pub(super) struct Args {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    database: Number,
    /// Only keys with this prefix.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["from", "to"])]
    prefix: Option<OsString>,
    /// First key (inclusive).
    #[arg(long, value_name = "KEY")]
    from: Option<OsString>,
    /// Last key (exclusive).
    #[arg(long, value_name = "KEY")]
    to: Option<OsString>,
    /// Descending order.
    #[arg(long)]
    reverse: bool,
    /// Maximum number of keys.
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
    /// Print values too, after a tab.
    #[arg(long)]
    values: bool,
    /// Encoding of keys and values.
    #[arg(long, value_enum, default_value_t)]
    encoding: Encoding,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let database = args.store.open_to_read()?;
    let keyspace = args.database.keyspace(&database)?;
    let mut range = range(args, keyspace, &database.snapshot()?)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = args.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(entry) = range.next_entry()? else { break };
        let (found, key) = Keyspace::split(entry.key);
        if found != keyspace {
            continue;
        }
        left -= 1;
        match args.format {
            Format::Json => {
                write_entry(
                    &mut out,
                    args.encoding,
                    args.database.number(),
                    key,
                    entry.value,
                    entry.expires_at_ms,
                )?;
            }
            Format::Human if args.values => {
                let (key, value) = (args.encoding.show(key), args.encoding.show(entry.value));
                writeln!(out, "{key}\t{value}")?;
            }
            Format::Human => writeln!(out, "{}", args.encoding.show(key))?,
        }
    }
    out.flush()?;
    drop(range);
    database.close().context("cannot close the store")?;
    Ok(ExitCode::SUCCESS)
}

fn range(args: &Args, keyspace: Keyspace, snapshot: &Snapshot) -> anyhow::Result<Range> {
    let decode = |bound: &Option<OsString>, what: &str| {
        let decoded = bound.as_ref().map(|bytes| args.encoding.decode(bytes.as_bytes()));
        decoded.transpose().with_context(|| what.to_owned())
    };
    // In the first keyspace most keys are stored as they are, so a bound is one, too.
    let stored = |key: &[u8]| match keyspace == Keyspace::default() {
        true => key.to_vec(),
        false => [&keyspace.prefix()[..], key].concat(),
    };
    let direction = if args.reverse { Direction::Backward } else { Direction::Forward };
    if let Some(prefix) = decode(&args.prefix, "--prefix")? {
        return Ok(snapshot.prefix(&stored(&prefix), direction));
    }
    let (from, to) = (decode(&args.from, "--from")?, decode(&args.to, "--to")?);
    if from.is_none() && to.is_none() {
        return Ok(snapshot.prefix(&stored(b""), direction));
    }
    let from = stored(&from.unwrap_or_default());
    let to = to.map(|to| stored(&to)).or_else(|| behind(keyspace));
    let to = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    Ok(snapshot.range((Bound::Included(from.as_slice()), to), direction))
}

/// The key behind all that a keyspace with a mark may have; `None` for the first one, which ends where the store does.
fn behind(keyspace: Keyspace) -> Option<Vec<u8>> {
    let mut prefix = keyspace.prefix().to_vec();
    *prefix.last_mut()? += 1;
    (keyspace != Keyspace::default()).then_some(prefix)
}
