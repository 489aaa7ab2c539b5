//! Drives RocksDB with a workload of `bench-runner`.

mod lookups;
mod options;
mod stalls;

use lookups::{Lookups, SessionLookups};
use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, EngineWork, Level, SyncMode};
use plumbkv_bench_driver::{
    Batch, Engine, EverySecond, SURVIVES_POWER_LOSS, SURVIVES_POWER_LOSS_BUT_THE_LAST_SECOND,
    SURVIVES_THE_PROCESS, Session, Span, locked_version, main_loop,
};
use rocksdb::{
    BottommostLevelCompaction, CompactOptions, DB, ReadOptions, WaitForCompactOptions, WriteBatch,
    WriteOptions, properties,
};
use std::sync::Arc;

struct RocksDb {
    // Ends before the store it syncs.
    ticker: Option<EverySecond>,
    database: Arc<DB>,
    sync: SyncMode,
    settings: Vec<EngineSetting>,
    /// What sessions that have ended found in the block cache.
    lookups: Lookups,
}

impl RocksDb {
    fn wait_for_compact(&self) -> anyhow::Result<()> {
        Ok(self.database.wait_for_compact(&WaitForCompactOptions::default())?)
    }
}

impl Engine for RocksDb {
    const NAME: &'static str = "RocksDB";
    type Session<'a> = RocksDbSession<'a>;

    /// `librocksdb-sys` is numbered with both its own version and RocksDB's.
    fn version() -> String {
        let bindings = locked_version(include_str!("../../../../Cargo.lock"), "librocksdb-sys");
        bindings.split_once('+').map_or(bindings.clone(), |(_, version)| version.to_owned())
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        // It is compiled for processors that have this (.cargo/config.toml), and would end on others by a signal.
        #[cfg(target_arch = "x86_64")]
        anyhow::ensure!(
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2"),
            "this processor lacks AVX2 or BMI2, for which RocksDB was compiled; change CXXFLAGS in .cargo/config.toml \
             and build again"
        );
        let (to_open, settings) = options::of(options);
        let database = Arc::new(DB::open(&to_open, &options.location)?);
        let ticker = match options.sync {
            SyncMode::Interval => {
                let database = Arc::clone(&database);
                Some(EverySecond::start(move || Ok(database.flush_wal(true)?))?)
            }
            _ => None,
        };
        Ok(Self { ticker, database, sync: options.sync, settings, lookups: Lookups::default() })
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

    fn session(&self) -> anyhow::Result<RocksDbSession<'_>> {
        let mut write = WriteOptions::default();
        write.set_sync(self.sync == SyncMode::Always);
        let lookups = self.lookups.session();
        Ok(RocksDbSession {
            database: &self.database,
            read: ReadOptions::default(),
            write,
            _lookups: lookups,
        })
    }

    /// It waits, and forces tables and manifest to the device.
    fn flush(&self) -> anyhow::Result<()> {
        Ok(self.database.flush()?)
    }

    fn flush_memtable(&self) -> anyhow::Result<()> {
        Ok(self.database.flush()?)
    }

    fn settle(&self) -> anyhow::Result<()> {
        self.wait_for_compact()
    }

    fn compact(&self) -> anyhow::Result<()> {
        let mut options = CompactOptions::default();
        // The last level too, once.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        self.database.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
        // The call above does not say whether it failed; this one does.
        self.wait_for_compact()
    }

    fn levels(&self) -> Vec<Level> {
        let mut levels = Vec::new();
        for file in self.database.live_files().into_iter().flatten() {
            let number = usize::try_from(file.level).unwrap_or(0);
            if levels.len() <= number {
                levels.resize(number + 1, Level::default());
            }
            if let Some(level) = levels.get_mut(number) {
                level.tables += 1;
                level.bytes += file.size as u64;
            }
        }
        levels
    }

    fn debt_bytes(&self) -> Option<u64> {
        self.database.property_int_value(properties::ESTIMATE_PENDING_COMPACTION_BYTES).ok().flatten()
    }

    fn work(&self) -> EngineWork {
        let text = |name| self.database.property_value(name).ok().flatten();
        EngineWork {
            stalls: text(properties::CFSTATS_NO_FILE_HISTOGRAM).as_deref().and_then(stalls::count),
            stalled_ns: text(properties::DBSTATS)
                .as_deref()
                .and_then(stalls::time)
                .and_then(|time| u64::try_from(time.as_nanos()).ok()),
            cache_hits: Some(self.lookups.hits()),
            cache_misses: Some(self.lookups.misses()),
            // Its statistics would tell bytes, but cost time on every read.
            ..EngineWork::default()
        }
    }

    fn close(self) -> anyhow::Result<()> {
        self.ticker.map_or(Ok(()), EverySecond::stop)
    }
}

struct RocksDbSession<'a> {
    database: &'a DB,
    read: ReadOptions,
    write: WriteOptions,
    _lookups: SessionLookups<'a>,
}

impl Session for RocksDbSession<'_> {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let value = self.database.get_pinned_opt(key, &self.read)?;
        if let Some(value) = &value {
            found(value);
        }
        Ok(value.is_some())
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        if let (1, Some((key, value))) = (batch.len(), batch.records().next()) {
            return Ok(self.database.put_opt(key, value, &self.write)?);
        }
        // Handed over whole: the bindings keep none for the next time.
        let mut together = WriteBatch::default();
        for (key, value) in batch.records() {
            together.put(key, value);
        }
        Ok(self.database.write_opt(together, &self.write)?)
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        Ok(self.database.delete_opt(key, &self.write)?)
    }

    /// `DeleteRange`: one entry for all.
    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        let mut deletion = WriteBatch::default();
        deletion.delete_range(low, high);
        Ok(self.database.write_opt(deletion, &self.write)?)
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let mut options = ReadOptions::default();
        if let Some(low) = span.low {
            options.set_iterate_lower_bound(low);
        }
        if let Some(high) = span.high {
            options.set_iterate_upper_bound(high);
        }
        let mut records = self.database.raw_iterator_opt(options);
        match (span.reverse, span.low) {
            (true, _) => records.seek_to_last(),
            (false, Some(low)) => records.seek(low),
            (false, None) => records.seek_to_first(),
        }
        let mut left = span.limit;
        while let Some((key, value)) = records.item().filter(|_| left > 0) {
            each(key, value);
            left -= 1;
            if left == 0 {
                break;
            }
            if span.reverse {
                records.prev();
            } else {
                records.next();
            }
        }
        Ok(records.status()?)
    }
}

fn main() -> std::process::ExitCode {
    main_loop::<RocksDb>()
}

#[cfg(test)]
mod tests;
