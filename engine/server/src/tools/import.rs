//! How does everything come into a store? From lines of JSON as `plumbkv export` writes them, a megabyte of them at a time.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use plumbkv::{Batch, Database, MAX_KEY_BYTES};
use serde::{Deserialize, Serialize};

use super::encoding::Encoding;
use super::output::{Format, LineArgs, write_figures};
use super::progress::Progress;
use super::store::{Store, WriteArgs};
use crate::databases::{COUNT, Databases};

/// Write entries read from standard input as lines of JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is {\"key\":…,\"value\":…,\"expires_at_ms\":…}, where expires_at_ms is optional; \"database\" may be 0 to 15, and \
\"encoding\" text, hex or base64. Existing keys are overwritten; an entry that has expired already deletes its key. An invalid line ends the \
import: earlier lines are kept, and the error gives its number. Everything is synced to disk before the command exits \
with 0.

Examples:
  plumbkv import --data /var/lib/plumbkv < entries.ndjson
  plumbkv export --data old | plumbkv import --data new --create

Exit codes: 0 success, 1 error, 64 usage error.")]
pub(super) struct Args {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    lines: LineArgs,
    /// Create the store if it does not exist.
    #[arg(long)]
    create: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(default)]
    database: u8,
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
    expires_at_ms: Option<u64>,
    encoding: Option<Encoding>,
}

/// What was read.
#[derive(Debug, Default, Serialize)]
struct Report {
    imported: u64,
    /// Entries whose time was over already; their keys are removed.
    over: u64,
    /// Keys and values.
    imported_bytes: u64,
    elapsed_seconds: f64,
}

/// Bytes of keys and values that are written in one batch.
const BATCH_BYTES: usize = 1 << 20;

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    if !args.create {
        args.store.check_is_there()?;
    }
    let database = args.store.open_to_write(&args.write)?;
    let mut report = Report::default();
    let mut progress = Progress::begin("entries", None, args.lines.quiet);
    let read = import(&database, io::stdin().lock(), args.lines.encoding, &mut report, &mut progress);
    drop(progress);
    let closed = database.close().context("cannot close the store");
    read.with_context(|| format!("the import ended after {} entries", report.imported))?;
    closed?;
    report.elapsed_seconds = started.elapsed().as_secs_f64();
    write_figures(args.format, &report)?;
    Ok(ExitCode::SUCCESS)
}

fn import(
    database: &Database,
    mut input: impl BufRead,
    encoding: Encoding,
    report: &mut Report,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let databases = Databases::load(database)?;
    let mut waiting = Waiting::default();
    let mut line = Vec::new();
    let mut number = 0u64;
    let ended = loop {
        line.clear();
        number += 1;
        match input.read_until(b'\n', &mut line) {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error).context("cannot read standard input"),
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Err(error) = waiting.take(&line, encoding, &databases, database, report) {
            break Err(error.context(format!("line {number} of standard input")));
        }
        progress.at(report.imported);
    };
    // What stands before a line that cannot be used is stored.
    waiting.write(database, report)?;
    ended
}

/// Entries that are read and not written yet.
#[derive(Default)]
struct Waiting {
    batch: Batch,
    entries: u64,
    bytes: usize,
}

impl Waiting {
    fn take(
        &mut self,
        line: &[u8],
        encoding: Encoding,
        databases: &Databases,
        database: &Database,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let line: Line<'_> = serde_json::from_slice(line)?;
        let encoding = line.encoding.unwrap_or(encoding);
        let key = encoding.decode(line.key.as_bytes()).context("`key`")?;
        let value = encoding.decode(line.value.as_bytes()).context("`value`")?;
        anyhow::ensure!(
            line.database < COUNT,
            "`database` is {}, and there are 0 to {}",
            line.database,
            COUNT - 1
        );
        let key = databases.keyspace(line.database).key(&key).into_owned();
        anyhow::ensure!(key.len() <= MAX_KEY_BYTES, "`key` has more than {MAX_KEY_BYTES} bytes");
        if self.bytes > 0 && self.bytes + key.len() + value.len() > BATCH_BYTES {
            // So one that is too long for the store is alone in its batch.
            self.write(database, report)?;
        }
        match line.expires_at_ms {
            Some(end) if end <= database.now_ms() => {
                report.over += 1;
                self.batch.delete(&key);
                return Ok(());
            }
            Some(end) => self.batch.set_until(&key, &value, end),
            None => self.batch.set(&key, &value),
        };
        self.entries += 1;
        self.bytes += key.len() + value.len();
        if self.bytes >= BATCH_BYTES {
            self.write(database, report)?;
        }
        Ok(())
    }

    /// Writes what waits; where that fails nothing waits any more.
    fn write(&mut self, database: &Database, report: &mut Report) -> anyhow::Result<()> {
        let Self { batch, entries, bytes } = std::mem::take(self);
        database.write(&batch)?;
        report.imported += entries;
        report.imported_bytes += bytes as u64;
        Ok(())
    }
}
