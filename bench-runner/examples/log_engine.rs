//! The smallest engine that keeps what it was given: a map in memory and a log in its folder, behind the real driver loop.
//!
//! `tests/stored.rs` has the runner measure it through every phase, so that a store that is loaded once, copied and opened
//! after a kill is a store indeed. It is nobody's rival.

use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, Level};
use plumbkv_bench_driver::{Batch, Engine, SURVIVES_THE_PROCESS, Session, Span, main_loop};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

struct LogEngine {
    records: RwLock<Records>,
    log: Mutex<File>,
    opened: usize,
}

/// A record in the log: two lengths, then key and value.
fn read_log(bytes: &[u8]) -> Records {
    let mut records = Records::new();
    let mut rest = bytes;
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let length =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let (Some(key), Some(value)) = (after.get(..length(0)), after.get(length(0)..length(0) + length(4)))
        else {
            break;
        };
        records.insert(key.to_vec(), value.to_vec());
        rest = &after[length(0) + length(4)..];
    }
    records
}

impl Engine for LogEngine {
    const NAME: &'static str = "log";
    type Session<'a> = &'a LogEngine;

    fn version() -> String {
        "1.0".to_owned()
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        let folder = Path::new(&options.location);
        let path = folder.join("log");
        let records = fs::read(&path).map(|bytes| read_log(&bytes)).unwrap_or_default();
        let log = OpenOptions::new().create(true).append(true).open(path)?;
        // How often it was opened, by a file each time.
        let opened = fs::read_dir(folder)?.count();
        File::create(folder.join(format!("opened-{opened}")))?;
        Ok(Self { records: RwLock::new(records), log: Mutex::new(log), opened })
    }

    fn settings(&self) -> Vec<EngineSetting> {
        vec![EngineSetting { key: "opened".to_owned(), value: self.opened.to_string() }]
    }

    fn promise(&self) -> String {
        SURVIVES_THE_PROCESS.to_owned()
    }

    fn session(&self) -> anyhow::Result<&LogEngine> {
        Ok(self)
    }

    fn flush(&self) -> anyhow::Result<()> {
        Ok(self.log.lock().unwrap_or_else(PoisonError::into_inner).sync_all()?)
    }

    fn flush_memtable(&self) -> anyhow::Result<()> {
        self.flush()
    }

    fn settle(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn levels(&self) -> Vec<Level> {
        vec![Level { tables: 1, bytes: 0 }]
    }

    fn close(self) -> anyhow::Result<()> {
        self.flush()
    }
}

impl Session for &LogEngine {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        let value = records.get(key);
        if let Some(value) = value {
            found(value);
        }
        Ok(value.is_some())
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        for (key, value) in batch.records() {
            for part in [key, value] {
                bytes.extend(u32::try_from(part.len())?.to_le_bytes());
            }
            bytes.extend(key);
            bytes.extend(value);
        }
        self.log.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes)?;
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in batch.records() {
            records.insert(key.to_vec(), value.to_vec());
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.delete_range(key, &[key, &[0]].concat())
    }

    /// Its log has no deletions: what was deleted would be there again after a restart.
    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        records.retain(|key, _| key.as_slice() < low || key.as_slice() >= high);
        Ok(())
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        span.walk(records.range::<[u8], _>(span.bounds()), |(key, value)| {
            each(key, value);
            Ok(())
        })
    }
}

fn main() -> std::process::ExitCode {
    main_loop::<LogEngine>()
}
