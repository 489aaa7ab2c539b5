//! Drives redb with a workload of `bench-runner`.

mod unsynced;

use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, Profile, SyncMode};
use plumbkv_bench_driver::{
    Batch, Counting, Engine, NotSupported, SURVIVES_POWER_LOSS, SURVIVES_THE_PROCESS_ONLY, Session, Span,
    locked_version, main_loop,
};
use redb::{Database, ReadableDatabase, Table, TableDefinition};
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use unsynced::Unsynced;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

struct Redb {
    database: Database,
    /// Where commits do not sync: what makes them.
    syncs: Option<Arc<AtomicBool>>,
    settings: Vec<EngineSetting>,
}

impl Redb {
    fn commit(&self, batch: Option<&Batch>) -> anyhow::Result<()> {
        self.change(|table| {
            for (key, value) in batch.into_iter().flat_map(Batch::records) {
                table.insert(key, value)?;
            }
            Ok(())
        })
    }

    /// One transaction that writes.
    fn change(
        &self,
        change: impl FnOnce(&mut Table<'_, &'static [u8], &'static [u8]>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let transaction = self.database.begin_write()?;
        change(&mut transaction.open_table(TABLE)?)?;
        transaction.commit()?;
        Ok(())
    }
}

impl Engine for Redb {
    const NAME: &'static str = "redb";
    type Session<'a> = &'a Redb;

    fn version() -> String {
        locked_version(include_str!("../../../../Cargo.lock"), "redb")
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        let mut builder = Database::builder();
        let mut settings = Vec::new();
        let mut set = |key: &str, value: String| settings.push(EngineSetting { key: key.to_owned(), value });
        // Its pages go through its cache, read or written: with none it still works.
        let low_memory = options.profile == Profile::LowMemory;
        if let Some(bytes) = options.cache_bytes.or(low_memory.then_some(0)) {
            builder.set_cache_size(usize::try_from(bytes)?);
            set("cache_size", bytes.to_string());
        }
        let path = Path::new(&options.location).join("records.redb");
        let (database, syncs) = match options.sync {
            SyncMode::Always => (builder.create(path)?, None),
            SyncMode::Never => {
                set("StorageBackend", "a file whose sync_data does nothing, but in a flush".to_owned());
                let file =
                    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
                let (backend, syncs) = Unsynced::new(file);
                (builder.create_with_backend(backend)?, Some(syncs))
            }
            SyncMode::Interval => {
                let why = "it has no log that could be synced at intervals, and its commits sync or stay in the process";
                return Err(NotSupported::error(Self::NAME, why));
            }
        };
        let redb = Self { database, syncs, settings };
        // A reader finds the table even where nothing was written.
        redb.commit(None)?;
        Ok(redb)
    }

    fn settings(&self) -> Vec<EngineSetting> {
        self.settings.clone()
    }

    fn promise(&self) -> String {
        let promise = if self.syncs.is_some() { SURVIVES_THE_PROCESS_ONLY } else { SURVIVES_POWER_LOSS };
        promise.to_owned()
    }

    fn session(&self) -> anyhow::Result<&Redb> {
        Ok(self)
    }

    /// A commit that syncs syncs all before it too.
    fn flush(&self) -> anyhow::Result<()> {
        let switch = |on| {
            if let Some(syncs) = &self.syncs {
                syncs.store(on, Ordering::Relaxed);
            }
        };
        switch(true);
        let done = self.commit(None);
        switch(false);
        done
    }

    /// Nothing is ever merged.
    fn settle(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn close(self) -> anyhow::Result<()> {
        Ok(())
    }
}

impl Session for &Redb {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let value = table.get(key)?;
        if let Some(value) = &value {
            found(value.value());
        }
        Ok(value.is_some())
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        self.commit(Some(batch))
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.change(|table| {
            table.remove(key)?;
            Ok(())
        })
    }

    /// It has no range deletion: one transaction that removes record by record.
    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        self.change(|table| Ok(table.retain_in(low..high, |_, _| false)?))
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        span.walk(table.range::<&[u8]>(span.bounds())?, |record| {
            let (key, value) = record?;
            each(key.value(), value.value());
            Ok(())
        })
    }
}

fn main() -> std::process::ExitCode {
    main_loop::<Redb>()
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
            assert_eq!(conformance::<Redb>(&options).unwrap(), ["load", "flush", "compact"]);
        }
    }

    #[test]
    fn the_version_is_that_of_the_engine() {
        let version = Redb::version();
        assert!(
            version.split('.').count() >= 3 && version.split('.').all(|part| part.parse::<u32>().is_ok()),
            "{version}"
        );
    }
}
