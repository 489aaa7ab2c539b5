//! Drives redb with a workload of `bench-runner`.

use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, SyncMode};
use plumbkv_bench_driver::{
    Batch, Engine, NotSupported, SURVIVES_POWER_LOSS, Session, Span, locked_version, main_loop,
};
use redb::{Database, Durability, ReadableDatabase, TableDefinition};
use std::path::Path;

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

struct Redb {
    database: Database,
    durability: Durability,
    settings: Vec<EngineSetting>,
}

impl Redb {
    fn commit(&self, durability: Durability, batch: Option<&Batch>) -> anyhow::Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for (key, value) in batch.into_iter().flat_map(Batch::records) {
                table.insert(key, value)?;
            }
        }
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
        if let Some(bytes) = options.cache_bytes {
            builder.set_cache_size(usize::try_from(bytes)?);
            set("cache_size", bytes.to_string());
        }
        let durability = match options.sync {
            SyncMode::Always => Durability::Immediate,
            SyncMode::Interval => {
                return Err(NotSupported::error(Self::NAME, "it has no log that is synced at intervals"));
            }
            SyncMode::Never => {
                set("durability", "None".to_owned());
                Durability::None
            }
        };
        let database = builder.create(Path::new(&options.location).join("records.redb"))?;
        let redb = Self { database, durability, settings };
        // A reader finds the table even where nothing was written.
        redb.commit(Durability::Immediate, None)?;
        Ok(redb)
    }

    fn settings(&self) -> Vec<EngineSetting> {
        self.settings.clone()
    }

    fn promise(&self) -> String {
        match self.durability {
            Durability::Immediate => SURVIVES_POWER_LOSS,
            _ => "may lose all since the last flush with the process",
        }
        .to_owned()
    }

    fn session(&self) -> anyhow::Result<&Redb> {
        Ok(self)
    }

    fn flush(&self) -> anyhow::Result<()> {
        self.commit(Durability::Immediate, None)
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
        self.commit(self.durability, Some(batch))
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
            assert_eq!(conformance::<Redb>(&options).unwrap(), ["load", "settle", "flush", "compact"]);
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
