//! Drives PlumbKV's engine, without its server, with a workload of `bench-runner`.

use plumbkv::{Database, Options};
use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, EngineWork, Level, Profile, SyncMode};
use plumbkv_bench_driver::{
    Batch, Counting, Engine, SURVIVES_POWER_LOSS, SURVIVES_POWER_LOSS_BUT_THE_LAST_SECOND,
    SURVIVES_THE_PROCESS, Session, Span, main_loop,
};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tables of level 0 of a store that is settled.
const SETTLED_TABLES: usize = 4;

struct Plumbkv {
    database: Database,
    sync: SyncMode,
    settings: Vec<EngineSetting>,
}

impl Engine for Plumbkv {
    const NAME: &'static str = "plumbkv";
    type Session<'a> = PlumbkvSession<'a>;

    fn version() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        let mut settings = Vec::new();
        let mut set = |key: &str, value: String| settings.push(EngineSetting { key: key.to_owned(), value });
        let mut to_open = Options::durable(&options.location);
        if let Some(bytes) = options.cache_bytes {
            to_open = to_open.cache_bytes(bytes);
            set("cache_bytes", bytes.to_string());
        }
        match options.profile {
            Profile::Default => {}
            Profile::LowMemory => {
                to_open = to_open.profile(plumbkv::Profile::LowMemory);
                set("profile", "LowMemory".to_owned());
            }
            Profile::Throughput => {
                to_open = to_open.profile(plumbkv::Profile::Throughput);
                set("profile", "Throughput".to_owned());
            }
        }
        if options.hold_merges {
            set("merging", "not held off: it has no such option".to_owned());
        }
        let sync = match options.sync {
            SyncMode::Never => plumbkv::SyncMode::Never,
            SyncMode::Interval => plumbkv::SyncMode::Interval(Duration::from_secs(1)),
            SyncMode::Always => plumbkv::SyncMode::Always,
        };
        set("sync_mode", format!("{sync:?}"));
        Ok(Self { database: Database::open(to_open.sync_mode(sync))?, sync: options.sync, settings })
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

    fn session(&self) -> anyhow::Result<PlumbkvSession<'_>> {
        Ok(PlumbkvSession { database: &self.database, batch: plumbkv::Batch::new() })
    }

    fn flush(&self) -> anyhow::Result<()> {
        self.database.flush()?;
        self.database.sync()?;
        Ok(())
    }

    fn flush_memtable(&self) -> anyhow::Result<()> {
        Ok(self.database.flush()?)
    }

    fn settle(&self) -> anyhow::Result<()> {
        self.database.settle()?;
        let stats = self.database.storage_stats()?;
        let level0 = stats.levels.first().map_or(0, |level| level.tables);
        let is_settled = stats.frozen_memtables == 0 && level0 <= SETTLED_TABLES && stats.debt_bytes == 0;
        anyhow::ensure!(is_settled, "the store is not settled although it says so: {stats:?}");
        Ok(())
    }

    fn compact(&self) -> anyhow::Result<()> {
        Ok(self.database.compact()?)
    }

    fn levels(&self) -> Vec<Level> {
        let Ok(stats) = self.database.storage_stats() else { return Vec::new() };
        stats.levels.iter().map(|level| Level { tables: level.tables as u64, bytes: level.bytes }).collect()
    }

    fn debt_bytes(&self) -> Option<u64> {
        self.database.storage_stats().ok().map(|stats| stats.debt_bytes)
    }

    fn work(&self) -> EngineWork {
        let Ok(stats) = self.database.storage_stats() else { return EngineWork::default() };
        EngineWork {
            logged_bytes: Some(stats.logged_bytes),
            flushed_bytes: Some(stats.flushed_bytes),
            merged_bytes: Some(stats.merged_bytes),
            stalls: Some(stats.stalls),
            stalled_ns: u64::try_from(stats.stalled.as_nanos()).ok(),
            cache_hits: Some(stats.cache_hits),
            cache_misses: Some(stats.cache_misses),
        }
    }

    fn close(self) -> anyhow::Result<()> {
        Ok(self.database.close()?)
    }
}

struct PlumbkvSession<'a> {
    database: &'a Database,
    batch: plumbkv::Batch,
}

impl Session for PlumbkvSession<'_> {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        Ok(self.database.read(key, found)?.is_some())
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        self.batch.clear();
        for (key, value) in batch.records() {
            self.batch.set(key, value);
        }
        self.database.write(&self.batch)?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.database.delete(key)?;
        Ok(())
    }

    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        let _ = self.database.delete_range(low..high)?;
        Ok(())
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let direction = if span.reverse { plumbkv::Direction::Backward } else { plumbkv::Direction::Forward };
        let mut range = self.database.snapshot()?.range(span.bounds(), direction);
        for _ in 0..span.limit {
            let Some((key, value)) = range.next_pair()? else { break };
            each(key, value);
        }
        Ok(())
    }
}

fn main() -> std::process::ExitCode {
    main_loop::<Plumbkv>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbkv_bench_driver::conformance;

    #[test]
    fn every_record_is_read_back_in_every_way() {
        for (sync, cache_bytes) in
            [(SyncMode::Never, None), (SyncMode::Always, Some(1 << 20)), (SyncMode::Never, Some(0))]
        {
            let folder = tempfile::tempdir().unwrap();
            let options = EngineOptions::new(folder.path().to_str().unwrap(), cache_bytes, sync);
            assert_eq!(conformance::<Plumbkv>(&options).unwrap(), [""; 0]);
        }
    }
}
