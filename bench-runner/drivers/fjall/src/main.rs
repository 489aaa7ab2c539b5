//! Drives fjall with a workload of `bench-runner`.

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, SyncMode};
use plumbkv_bench_driver::{
    Batch, Engine, SURVIVES_POWER_LOSS, SURVIVES_POWER_LOSS_BUT_THE_LAST_SECOND, SURVIVES_THE_PROCESS,
    Session, Span, locked_version, main_loop,
};

struct Fjall {
    database: Database,
    records: Keyspace,
    persist: Option<PersistMode>,
    sync: SyncMode,
    settings: Vec<EngineSetting>,
}

impl Engine for Fjall {
    const NAME: &'static str = "fjall";
    type Session<'a> = &'a Fjall;

    fn version() -> String {
        locked_version(include_str!("../../../../Cargo.lock"), "fjall")
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        let mut builder = Database::builder(&options.location);
        let mut settings = Vec::new();
        let mut set = |key: &str, value: String| settings.push(EngineSetting { key: key.to_owned(), value });
        if let Some(bytes) = options.cache_bytes {
            builder = builder.cache_size(bytes);
            set("cache_size", bytes.to_string());
        }
        // Without one, a commit is handed to the operating system: the engine's default.
        let persist = match options.sync {
            SyncMode::Never | SyncMode::Interval => None,
            SyncMode::Always => {
                set("durability", "SyncAll".to_owned());
                Some(PersistMode::SyncAll)
            }
        };
        let database = builder.open()?;
        let records = database.keyspace("records", KeyspaceCreateOptions::default)?;
        Ok(Self { database, records, persist, sync: options.sync, settings })
    }

    fn settings(&self) -> Vec<EngineSetting> {
        self.settings.clone()
    }

    fn promise(&self) -> String {
        let promise = match self.sync {
            SyncMode::Never => SURVIVES_THE_PROCESS,
            SyncMode::Interval => SURVIVES_POWER_LOSS_BUT_THE_LAST_SECOND,
            SyncMode::Always => SURVIVES_POWER_LOSS,
        };
        promise.to_owned()
    }

    fn session(&self) -> anyhow::Result<&Fjall> {
        Ok(self)
    }

    fn flush(&self) -> anyhow::Result<()> {
        self.records.rotate_memtable_and_wait()?;
        self.database.persist(PersistMode::SyncAll)?;
        Ok(())
    }

    fn close(self) -> anyhow::Result<()> {
        Ok(())
    }
}

impl Session for &Fjall {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let value = self.records.get(key)?;
        if let Some(value) = &value {
            found(value);
        }
        Ok(value.is_some())
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let mut transaction = self.database.batch().durability(self.persist);
        for (key, value) in batch.records() {
            transaction.insert(&self.records, key, value);
        }
        transaction.commit()?;
        Ok(())
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        span.walk(self.records.range::<&[u8], _>(span.bounds()), |record| {
            let (key, value) = record.into_inner()?;
            each(&key, &value);
            Ok(())
        })
    }
}

fn main() -> std::process::ExitCode {
    main_loop::<Fjall>()
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
            assert_eq!(conformance::<Fjall>(&options).unwrap(), ["load", "settle", "flush", "compact"]);
        }
    }

    #[test]
    fn the_version_is_that_of_the_engine() {
        let version = Fjall::version();
        assert!(
            version.split('.').count() >= 3 && version.split('.').all(|part| part.parse::<u32>().is_ok()),
            "{version}"
        );
    }
}
