//! Drives fjall with a workload of `bench-runner`.

use fjall::config::{CompressionPolicy, FilterPolicy, FilterPolicyEntry, PinningPolicy};
use fjall::{AbstractTree as _, CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, Level, Profile, SyncMode};
use plumbkv_bench_driver::{
    Batch, Counting, Engine, EverySecond, SURVIVES_POWER_LOSS, SURVIVES_POWER_LOSS_BUT_THE_LAST_SECOND,
    SURVIVES_THE_PROCESS, Session, Span, locked_version, main_loop,
};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How long between two looks whether flushing or merging is done.
const LOOK: Duration = Duration::from_micros(200);
/// Without a flush or a merge for so long, none is about to begin: it does not tell which wait in its queue.
const QUIET: Duration = Duration::from_millis(20);
/// Keys of a batch that deletes.
const DELETIONS: usize = 1_000;
/// A flush that takes longer has failed: it tells nobody.
const FLUSH_WITHIN: Duration = Duration::from_secs(600);

struct Fjall {
    ticker: Option<EverySecond>,
    // Before the database, which waits for those who use it.
    records: Keyspace,
    database: Database,
    sync: SyncMode,
    settings: Vec<EngineSetting>,
}

impl Fjall {
    fn is_flushing(&self) -> bool {
        self.database.outstanding_flushes() > 0 || self.records.sealed_memtable_count() > 0
    }
}

/// What differs from its defaults; a store keeps for good what it was made with.
fn keyspace_options(profile: Profile) -> (KeyspaceCreateOptions, Vec<EngineSetting>) {
    let mut settings = Vec::new();
    let mut set = |key: &str, value: String| settings.push(EngineSetting { key: key.to_owned(), value });
    let memtable = match profile {
        Profile::Default => 32 << 20,
        Profile::LowMemory => 1 << 20,
        Profile::Throughput => 64 << 20,
    };
    set("max_memtable_size", memtable.to_string());
    set("data_block_compression_policy", "lz4 on every level".to_owned());
    set("index_block_pinning_policy", "every level".to_owned());
    let mut options = KeyspaceCreateOptions::default()
        .max_memtable_size(memtable)
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        .index_block_pinning_policy(PinningPolicy::all(true));
    if profile == Profile::LowMemory {
        set("filter_policy", "none".to_owned());
        options = options.filter_policy(FilterPolicy::all(FilterPolicyEntry::None));
    } else {
        set("filter_block_pinning_policy", "every level".to_owned());
        options = options.filter_block_pinning_policy(PinningPolicy::all(true));
    }
    (options, settings)
}

impl Engine for Fjall {
    const NAME: &'static str = "fjall";
    type Session<'a> = &'a Fjall;

    fn version() -> String {
        locked_version(include_str!("../../../../Cargo.lock"), "fjall")
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        let mut builder = Database::builder(&options.location);
        let (keyspace_options, mut settings) = keyspace_options(options.profile);
        let mut set = |key: &str, value: String| settings.push(EngineSetting { key: key.to_owned(), value });
        let low_memory = options.profile == Profile::LowMemory;
        if let Some(bytes) = options.cache_bytes.or(low_memory.then_some(0)) {
            builder = builder.cache_size(bytes);
            set("cache_size", bytes.to_string());
        }
        if low_memory {
            builder = builder.max_journaling_size(64 << 20);
            set("max_journaling_size", (64 << 20).to_string());
        }
        if options.hold_merges {
            set("merging", "not held off: it takes no writes any more at 30 tables of level 0".to_owned());
        }
        match options.sync {
            SyncMode::Never => {}
            SyncMode::Interval => {
                set("persist", "SyncAll every second, by a thread of the driver".to_owned())
            }
            SyncMode::Always => set("durability", "SyncAll".to_owned()),
        }
        let database = builder.open()?;
        let records = database.keyspace("records", || keyspace_options)?;
        let ticker = match options.sync {
            SyncMode::Interval => {
                let database = database.clone();
                Some(EverySecond::start(move || Ok(database.persist(PersistMode::SyncAll)?))?)
            }
            _ => None,
        };
        Ok(Self { ticker, records, database, sync: options.sync, settings })
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
        self.flush_memtable()?;
        self.database.persist(PersistMode::SyncAll)?;
        Ok(())
    }

    fn flush_memtable(&self) -> anyhow::Result<()> {
        // Its own call that waits looks every ten milliseconds, which would be the time of a small flush.
        self.records.rotate_memtable()?;
        let begin = Instant::now();
        while self.is_flushing() {
            anyhow::ensure!(
                begin.elapsed() < FLUSH_WITHIN,
                "the memtable was not flushed within ten minutes"
            );
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn settle(&self) -> anyhow::Result<()> {
        let mut busy = Instant::now();
        while busy.elapsed() < QUIET {
            if self.is_flushing() || self.database.active_compactions() > 0 {
                busy = Instant::now();
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn compact(&self) -> anyhow::Result<()> {
        self.flush_memtable()?;
        Ok(self.records.major_compact()?)
    }

    fn levels(&self) -> Vec<Level> {
        let version = self.records.tree.current_version();
        let mut levels: Vec<Level> = version
            .iter_levels()
            .map(|level| Level { tables: level.table_count() as u64, bytes: level.size() })
            .collect();
        while levels.last().is_some_and(|level| level.tables == 0) {
            levels.pop();
        }
        levels
    }

    fn close(self) -> anyhow::Result<()> {
        self.ticker.map_or(Ok(()), EverySecond::stop)
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
        let always = self.sync == SyncMode::Always;
        if let (1, false, Some((key, value))) = (batch.len(), always, batch.records().next()) {
            return Ok(self.records.insert(key, value)?);
        }
        // Its own default is the first of these. `None` would leave a commit in the process, and a kill would lose it.
        let persist = if always { PersistMode::SyncAll } else { PersistMode::Buffer };
        let mut transaction = self.database.batch().durability(Some(persist));
        for (key, value) in batch.records() {
            transaction.insert(&self.records, key, value);
        }
        transaction.commit()?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.records.remove(key)?;
        if self.sync == SyncMode::Always {
            self.database.persist(PersistMode::SyncAll)?;
        }
        Ok(())
    }

    /// It has no range deletion that is exact: tombstone by tombstone, in batches as its users would have them.
    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        let persist = if self.sync == SyncMode::Always { PersistMode::SyncAll } else { PersistMode::Buffer };
        let batch = || self.database.batch().durability(Some(persist));
        let (mut deletions, mut size) = (batch(), 0);
        for record in self.records.range(low..high) {
            deletions.remove(&self.records, record.key()?);
            size += 1;
            if size == DELETIONS {
                std::mem::replace(&mut deletions, batch()).commit()?;
                size = 0;
            }
        }
        Ok(deletions.commit()?)
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
        use Profile::{Default, LowMemory, Throughput};
        for (sync, cache_bytes, profile) in [
            (SyncMode::Never, None, Default),
            (SyncMode::Interval, Some(0), LowMemory),
            (SyncMode::Always, Some(1 << 20), Throughput),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let options = EngineOptions::new(folder.path().to_str().unwrap(), cache_bytes, sync);
            let options = EngineOptions { profile, ..options };
            assert_eq!(conformance::<Fjall>(&options).unwrap(), [""; 0], "{options:?}");
        }
    }

    #[test]
    fn a_flush_makes_a_table_and_a_compaction_one_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let options = EngineOptions::new(folder.path().to_str().unwrap(), None, SyncMode::Never);
        let engine = Fjall::open(&options).unwrap();
        for round in 1..=3_u8 {
            engine.records.insert([round], [round; 100]).unwrap();
            engine.flush_memtable().unwrap();
            assert_eq!(engine.levels().iter().map(|level| level.tables).sum::<u64>(), u64::from(round));
        }
        engine.compact().unwrap();
        let levels = engine.levels();
        assert_eq!((levels[0].tables, levels.iter().map(|level| level.tables).sum::<u64>()), (0, 1));
        assert!(levels.last().unwrap().bytes > 0);
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
