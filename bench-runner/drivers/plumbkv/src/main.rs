//! Drives PlumbKV's engine, without its server, with a workload of `bench-runner`.

use plumbkv::{Database, Options};
use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, SyncMode};
use plumbkv_bench_driver::{Batch, Engine, Session, main_loop};

struct Plumbkv {
    database: Database,
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
        let sync = match options.sync {
            SyncMode::Never => plumbkv::SyncMode::Never,
            SyncMode::Always => plumbkv::SyncMode::Always,
        };
        set("sync_mode", format!("{sync:?}"));
        Ok(Self { database: Database::open(to_open.sync_mode(sync))?, settings })
    }

    fn settings(&self) -> Vec<EngineSetting> {
        self.settings.clone()
    }

    fn session(&self) -> anyhow::Result<PlumbkvSession<'_>> {
        Ok(PlumbkvSession { database: &self.database, batch: plumbkv::Batch::new() })
    }

    fn flush(&self) -> anyhow::Result<()> {
        self.database.flush()?;
        self.database.sync()?;
        Ok(())
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

    fn scan(&mut self, from: &[u8], limit: u32, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let mut range = self.database.snapshot()?.range(from.., plumbkv::Direction::Forward);
        for _ in 0..limit {
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
            conformance::<Plumbkv>(folder.path().to_str().unwrap(), sync, cache_bytes).unwrap();
        }
    }
}
