//! What does a store hold? Levels, tables, bytes, versions; as its files say, without reading what is in them.

use std::process::ExitCode;

use anyhow::Context as _;
use serde::Serialize;

use super::output::{Format, write_figures};
use super::store::Store;

/// Show levels, tables and sizes of a store.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`key versions` is an upper bound of the number of keys: an overwritten or deleted key counts several times until \
compaction. A running server reports the same, and its counters since start, in `INFO storage`.

Examples:
  plumbkv stats --data /var/lib/plumbkv
  plumbkv stats --data /var/lib/plumbkv --format json | jq .levels

Exit codes: 0 success, 1 error, 64 usage error.")]
pub(super) struct Args {
    #[command(flatten)]
    store: Store,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What a store holds.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    directory: String,
    key_versions: u64,
    tables: usize,
    table_bytes: u64,
    /// Level 0 first.
    levels: Vec<Level>,
    /// Above what the levels may hold: merges that wait.
    debt_bytes: u64,
    /// Memory that indexes and filters of tables take.
    index_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Level {
    tables: usize,
    bytes: u64,
}

impl Figures {
    pub(super) fn of(store: &Store, stats: &plumbkv::StorageStats) -> Self {
        let levels = stats.levels.iter().map(|level| Level { tables: level.tables, bytes: level.bytes });
        Self {
            directory: store.directory().display().to_string(),
            key_versions: stats.versions,
            tables: stats.tables(),
            table_bytes: stats.table_bytes(),
            levels: levels.collect(),
            debt_bytes: stats.debt_bytes,
            index_bytes: stats.index_bytes,
        }
    }
}

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let database = args.store.open_to_read()?;
    let figures = Figures::of(&args.store, &database.storage_stats()?);
    database.close().context("cannot close the store")?;
    write_figures(args.format, &figures)?;
    Ok(ExitCode::SUCCESS)
}
