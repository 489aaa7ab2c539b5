//! Drives LMDB with a workload of `bench-runner`.

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions};
use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, Profile, SyncMode};
use plumbkv_bench_driver::{
    Batch, Engine, NotSupported, SURVIVES_POWER_LOSS, SURVIVES_THE_PROCESS_ONLY, Session, Span, main_loop,
};
use std::ops::Bound;

/// Addresses that are set aside for the file, which takes no more than it holds: room for 100M records and their superseded pages.
const MAP_BYTES: usize = 128 << 30;
/// Transactions that may read at once.
const READERS: u32 = 256;

struct Lmdb {
    environment: Env,
    records: Database<'static, Bytes, Bytes>,
    sync: SyncMode,
    settings: Vec<EngineSetting>,
}

impl Engine for Lmdb {
    const NAME: &'static str = "LMDB";
    type Session<'a> = &'a Lmdb;

    fn version() -> String {
        let version = heed::lmdb_version();
        format!("{}.{}.{}", version.major, version.minor, version.patch)
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        let mut settings = Vec::new();
        let mut set = |key: &str, value: &str| {
            settings.push(EngineSetting { key: key.to_owned(), value: value.to_owned() });
        };
        set("mapsize", &MAP_BYTES.to_string());
        set("MDB_NORDAHEAD", "true");
        if options.cache_bytes.is_some() {
            set(
                "cache",
                "the page cache, of whatever size: the file is mapped, and it has no cache of its own",
            );
        }
        if options.profile != Profile::Default {
            set("profile", "as default: it has no memory of its own to set");
        }
        let mut flags = EnvFlags::NO_READ_AHEAD;
        match options.sync {
            SyncMode::Always => {}
            SyncMode::Never => {
                flags |= EnvFlags::NO_SYNC;
                set("MDB_NOSYNC", "true");
            }
            SyncMode::Interval => {
                let why =
                    "between two syncs nothing keeps the order of its writes, so a power cut may spoil all";
                return Err(NotSupported::error(Self::NAME, why));
            }
        }
        let mut to_open = EnvOpenOptions::new();
        to_open.map_size(MAP_BYTES).max_readers(READERS);
        // SAFETY: flags may break the file when power fails, which is what `promise` says, and two of them (NO_LOCK, WRITE_MAP) memory;
        // neither is set.
        unsafe { to_open.flags(flags) };
        // SAFETY: the file is this store's alone: its folder is the driver's, no other process changes it, and one environment at a time is open here.
        let environment = unsafe { to_open.open(&options.location)? };
        let made =
            environment.create_databases_and_commit(environment.write_txn()?, |opener, transaction| {
                opener.create_database(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
            })?;
        let records = made.commit().ok_or_else(|| anyhow::anyhow!("LMDB did not commit its tree"))?;
        Ok(Self { environment, records, sync: options.sync, settings })
    }

    fn settings(&self) -> Vec<EngineSetting> {
        self.settings.clone()
    }

    fn promise(&self) -> String {
        let promise = match self.sync {
            SyncMode::Always => SURVIVES_POWER_LOSS,
            SyncMode::Never | SyncMode::Interval => SURVIVES_THE_PROCESS_ONLY,
        };
        promise.to_owned()
    }

    fn session(&self) -> anyhow::Result<&Lmdb> {
        Ok(self)
    }

    fn flush(&self) -> anyhow::Result<()> {
        Ok(self.environment.force_sync()?)
    }

    /// Nothing is ever merged.
    fn settle(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn close(self) -> anyhow::Result<()> {
        // Open until nobody holds it any more; a second opening before that would be refused.
        self.environment.prepare_for_closing().wait();
        Ok(())
    }
}

impl Session for &Lmdb {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let transaction = self.environment.read_txn()?;
        let value = self.records.get(&transaction, key)?;
        if let Some(value) = value {
            found(value);
        }
        Ok(value.is_some())
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let mut transaction = self.environment.write_txn()?;
        for (key, value) in batch.records() {
            self.records.put(&mut transaction, key, value)?;
        }
        Ok(transaction.commit()?)
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        let mut transaction = self.environment.write_txn()?;
        self.records.delete(&mut transaction, key)?;
        Ok(transaction.commit()?)
    }

    /// It has no range deletion: one transaction in which a cursor removes record by record.
    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        let mut transaction = self.environment.write_txn()?;
        self.records.delete_range(&mut transaction, &(Bound::Included(low), Bound::Excluded(high)))?;
        Ok(transaction.commit()?)
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let transaction = self.environment.read_txn()?;
        // Its iterators go one way each.
        if span.reverse {
            hand_over(self.records.rev_range(&transaction, &span.bounds())?, span.limit, each)
        } else {
            hand_over(self.records.range(&transaction, &span.bounds())?, span.limit, each)
        }
    }
}

fn hand_over<'t>(
    mut records: impl Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
    limit: u64,
    each: &mut dyn FnMut(&[u8], &[u8]),
) -> anyhow::Result<()> {
    for _ in 0..limit {
        let Some(record) = records.next() else { break };
        let (key, value) = record?;
        each(key, value);
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    main_loop::<Lmdb>()
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
            assert_eq!(conformance::<Lmdb>(&options).unwrap(), ["load", "flush", "compact"]);
        }
    }

    #[test]
    fn an_interval_is_not_pretended() {
        let folder = tempfile::tempdir().unwrap();
        let options = EngineOptions::new(folder.path().to_str().unwrap(), None, SyncMode::Interval);
        let error = Lmdb::open(&options).map(|_| ()).unwrap_err();
        assert!(error.downcast_ref::<NotSupported>().is_some(), "{error:#}");
    }
}
