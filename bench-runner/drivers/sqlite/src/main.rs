//! Drives SQLite with a workload of `bench-runner`.

use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, SyncMode};
use plumbkv_bench_driver::values::KEY_BYTES;
use plumbkv_bench_driver::{
    Batch, Engine, NotSupported, SURVIVES_POWER_LOSS, SURVIVES_THE_PROCESS_ONLY, Session, Span, main_loop,
};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;

const GET: &str = "SELECT value FROM records WHERE key = ?1";
const SET: &str = "INSERT INTO records (key, value) VALUES (?1, ?2) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const DELETE: &str = "DELETE FROM records WHERE key = ?1";
const DELETE_RANGE: &str = "DELETE FROM records WHERE key >= ?1 AND key < ?2";
const SCAN: &str = "SELECT key, value FROM records WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3";
const SCAN_DOWN: &str =
    "SELECT key, value FROM records WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3";

struct Sqlite {
    file: PathBuf,
    promise: &'static str,
    pragmas: Vec<(&'static str, String)>,
}

impl Sqlite {
    fn connect(&self) -> anyhow::Result<Connection> {
        let connection = Connection::open(&self.file)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        for (name, value) in &self.pragmas {
            connection.pragma_update(None, name, value)?;
        }
        Ok(connection)
    }
}

impl Engine for Sqlite {
    const NAME: &'static str = "SQLite";
    type Session<'a> = Statements;

    fn version() -> String {
        rusqlite::version().to_owned()
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        let synchronous = match options.sync {
            SyncMode::Never => "OFF",
            SyncMode::Interval => {
                return Err(NotSupported::error(Self::NAME, "it syncs at checkpoints and not by time"));
            }
            SyncMode::Always => "FULL",
        };
        let mut pragmas = vec![("journal_mode", "WAL".to_owned()), ("synchronous", synchronous.to_owned())];
        if let Some(bytes) = options.cache_bytes {
            // Below zero it counts KiB, above it pages; zero is no cache either way.
            pragmas.push(("cache_size", format!("-{}", bytes / 1024)));
        }
        let promise =
            if options.sync == SyncMode::Always { SURVIVES_POWER_LOSS } else { SURVIVES_THE_PROCESS_ONLY };
        let sqlite = Self { file: Path::new(&options.location).join("records.sqlite"), promise, pragmas };
        sqlite.connect()?.execute_batch(
            "CREATE TABLE IF NOT EXISTS records (key BLOB PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
        )?;
        Ok(sqlite)
    }

    fn settings(&self) -> Vec<EngineSetting> {
        let setting = |(key, value): &(&'static str, String)| EngineSetting {
            key: (*key).to_owned(),
            value: value.clone(),
        };
        self.pragmas.iter().map(setting).collect()
    }

    fn promise(&self) -> String {
        self.promise.to_owned()
    }

    fn session(&self) -> anyhow::Result<Statements> {
        Ok(Statements(self.connect()?))
    }

    fn flush(&self) -> anyhow::Result<()> {
        let connection = self.connect()?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        anyhow::ensure!(busy == 0, "the checkpoint could not finish: the log is in use");
        Ok(())
    }

    /// Nothing is ever merged.
    fn settle(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn close(self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A connection, which keeps its prepared statements.
struct Statements(Connection);

impl Session for Statements {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let mut statement = self.0.prepare_cached(GET)?;
        let mut rows = statement.query([key])?;
        let row = rows.next()?;
        if let Some(row) = row {
            found(row.get_ref(0)?.as_blob()?);
        }
        Ok(row.is_some())
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let transaction = self.0.transaction()?;
        {
            let mut statement = transaction.prepare_cached(SET)?;
            for (key, value) in batch.records() {
                statement.execute([key, value])?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.0.prepare_cached(DELETE)?.execute([key])?;
        Ok(())
    }

    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        self.0.prepare_cached(DELETE_RANGE)?.execute([low, high])?;
        Ok(())
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let mut statement = self.0.prepare_cached(if span.reverse { SCAN_DOWN } else { SCAN })?;
        // No key is below the empty one, and none of sixteen bytes above this one.
        let (low, high) = (span.low.unwrap_or_default(), span.high.unwrap_or(&[0xff; KEY_BYTES]));
        let mut rows = statement.query(rusqlite::params![low, high, limit(span)])?;
        while let Some(row) = rows.next()? {
            each(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
        }
        Ok(())
    }
}

/// As many as the engine can count.
fn limit(span: &Span<'_>) -> i64 {
    i64::try_from(span.limit).unwrap_or(i64::MAX)
}

fn main() -> std::process::ExitCode {
    main_loop::<Sqlite>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbkv_bench_driver::conformance;

    #[test]
    fn every_record_is_read_back_in_every_way() {
        for (sync, cache_bytes) in [(SyncMode::Never, None), (SyncMode::Always, Some(1 << 20))] {
            let folder = tempfile::tempdir().unwrap();
            let options = EngineOptions::new(folder.path().to_str().unwrap(), cache_bytes, sync);
            assert_eq!(conformance::<Sqlite>(&options).unwrap(), ["load", "flush", "compact"]);
        }
    }

    #[test]
    fn the_version_is_that_of_the_engine() {
        let version = Sqlite::version();
        assert!(
            version.split('.').count() >= 3 && version.split('.').all(|part| part.parse::<u32>().is_ok()),
            "{version}"
        );
    }
}
