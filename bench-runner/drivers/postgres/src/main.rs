//! Is PostgreSQL's client in a workload of `bench-runner`: the server is the runner's to start.

use anyhow::Context as _;
use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, Profile, SyncMode};
use plumbkv_bench_driver::values::KEY_BYTES;
use plumbkv_bench_driver::{
    Batch, Engine, NotSupported, SURVIVES_POWER_LOSS, Session, Span, locked_version, main_loop,
};
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Statement};
use std::net::SocketAddr;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS records (key bytea PRIMARY KEY, value bytea NOT NULL)";
const GET: &str = "SELECT value FROM records WHERE key = $1";
const SET: &str = "INSERT INTO records (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const DELETE: &str = "DELETE FROM records WHERE key = $1";
const DELETE_RANGE: &str = "DELETE FROM records WHERE key >= $1 AND key < $2";
const SCAN: &str = "SELECT key, value FROM records WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3";
const SCAN_DOWN: &str =
    "SELECT key, value FROM records WHERE key >= $1 AND key < $2 ORDER BY key DESC LIMIT $3";

struct Postgres {
    config: Config,
    synchronous_commit: &'static str,
    server_version: String,
}

impl Postgres {
    fn connect(&self) -> anyhow::Result<Client> {
        let mut client = self.config.connect(NoTls).context("cannot connect to PostgreSQL")?;
        client.batch_execute(&format!("SET synchronous_commit = {}", self.synchronous_commit))?;
        Ok(client)
    }
}

impl Engine for Postgres {
    const NAME: &'static str = "postgres-client";
    const IS_IN_PROCESS: bool = false;
    type Session<'a> = Rows;

    fn version() -> String {
        locked_version(include_str!("../../../../Cargo.lock"), "postgres")
    }

    /// The location is `HOST:PORT` of a server that trusts the user `postgres`.
    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        let address: SocketAddr = options
            .location
            .parse()
            .with_context(|| format!("the location must be HOST:PORT, not {:?}", options.location))?;
        anyhow::ensure!(
            options.cache_bytes.is_none(),
            "the cache is the server's to choose, not its client's"
        );
        if options.profile != Profile::Default {
            return Err(NotSupported::error(
                Self::NAME,
                "memory is the server's to choose, not its client's",
            ));
        }
        let mut config = Config::new();
        config.host(&address.ip().to_string()).port(address.port()).user("postgres").dbname("postgres");
        let synchronous_commit = match options.sync {
            // Its log is written and synced within three times 200 ms, whatever else it does.
            SyncMode::Never | SyncMode::Interval => "off",
            SyncMode::Always => "on",
        };
        let mut postgres = Self { config, synchronous_commit, server_version: String::new() };
        let mut client = postgres.connect()?;
        postgres.server_version = client.query_one("SHOW server_version", &[])?.get(0);
        client.batch_execute(CREATE)?;
        Ok(postgres)
    }

    fn settings(&self) -> Vec<EngineSetting> {
        let setting = |key: &str, value: &str| EngineSetting { key: key.to_owned(), value: value.to_owned() };
        vec![
            setting("server_version", &self.server_version),
            setting("synchronous_commit", self.synchronous_commit),
        ]
    }

    fn promise(&self) -> String {
        let promise = if self.synchronous_commit == "on" {
            SURVIVES_POWER_LOSS
        } else {
            "may lose the last 0.6 s with the server"
        };
        promise.to_owned()
    }

    fn session(&self) -> anyhow::Result<Rows> {
        let mut client = self.connect()?;
        let (get, set) = (client.prepare(GET)?, client.prepare(SET)?);
        let (scan, scan_down) = (client.prepare(SCAN)?, client.prepare(SCAN_DOWN)?);
        Ok(Rows { client, get, set, scan, scan_down })
    }

    fn flush(&self) -> anyhow::Result<()> {
        let mut client = self.connect()?;
        // Without it the first reads would mark rows as committed, which writes pages.
        client.batch_execute("VACUUM (ANALYZE) records")?;
        client.batch_execute("CHECKPOINT")?;
        Ok(())
    }

    /// Nothing is ever merged.
    fn settle(&self) -> anyhow::Result<()> {
        Ok(())
    }

    /// The table stays, for whoever opens it next: it goes with the server's folder.
    fn close(self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A connection with its prepared statements.
struct Rows {
    client: Client,
    get: Statement,
    set: Statement,
    scan: Statement,
    scan_down: Statement,
}

impl Session for Rows {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let row = self.client.query_opt(&self.get, &[&key])?;
        if let Some(row) = &row {
            found(row.try_get(0)?);
        }
        Ok(row.is_some())
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let (keys, values): (Vec<&[u8]>, Vec<&[u8]>) = batch.records().unzip();
        self.client.execute(&self.set, &[&keys, &values])?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.client.execute(DELETE, &[&key])?;
        Ok(())
    }

    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        self.client.execute(DELETE_RANGE, &[&low, &high])?;
        Ok(())
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let statement = if span.reverse { &self.scan_down } else { &self.scan };
        // No key is below the empty one, and none of sixteen bytes above this one.
        let (low, high) = (span.low.unwrap_or_default(), span.high.unwrap_or(&[0xff; KEY_BYTES]));
        let limit = i64::try_from(span.limit).unwrap_or(i64::MAX);
        // Row by row: all at once would be a copy of the table in this process.
        let mut rows = self.client.query_raw(statement, [&low as &(dyn ToSql + Sync), &high, &limit])?;
        while let Some(row) = rows.next()? {
            each(row.try_get(0)?, row.try_get(1)?);
        }
        Ok(())
    }
}

fn main() -> std::process::ExitCode {
    main_loop::<Postgres>()
}

#[cfg(test)]
mod tests;
