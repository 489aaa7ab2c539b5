//! An engine in memory, and workloads for it; what goes wrong with it is chosen by the location of its store.

#![allow(dead_code, unreachable_pub, reason = "each test program uses what it needs")]

use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, EngineWork, Level};
use plumbkv_bench_driver::{Batch, Counting, Engine, Failure, NotSupported, Session, Span, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// What stores whose location begins with `keeps` have left when they were closed.
static KEPT: Mutex<BTreeMap<String, Records>> = Mutex::new(BTreeMap::new());

/// An ordered map; what goes wrong with it is chosen by its location.
pub struct Memory {
    records: RwLock<Records>,
    /// Flushes; each makes a table that stays until all are merged.
    tables: AtomicU64,
    flushed_bytes: AtomicU64,
    hits: AtomicU64,
    fault: String,
    settings: Vec<EngineSetting>,
}

impl Engine for Memory {
    const NAME: &'static str = "memory";
    type Session<'a> = &'a Memory;

    fn version() -> String {
        "1.2.3".to_owned()
    }

    fn open(options: &EngineOptions) -> anyhow::Result<Self> {
        anyhow::ensure!(options.location != "unopenable", "no such place");
        let cache = options.cache_bytes.map(|bytes| bytes.to_string());
        let settings = cache.map(|value| EngineSetting { key: "cache".to_owned(), value });
        Ok(Self {
            records: RwLock::new(KEPT.lock().unwrap().get(&options.location).cloned().unwrap_or_default()),
            tables: AtomicU64::new(0),
            flushed_bytes: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            fault: options.location.clone(),
            settings: settings.into_iter().collect(),
        })
    }

    fn settings(&self) -> Vec<EngineSetting> {
        self.settings.clone()
    }

    fn promise(&self) -> String {
        "forgets everything".to_owned()
    }

    fn session(&self) -> anyhow::Result<&Memory> {
        Ok(self)
    }

    fn flush(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn flush_memtable(&self) -> anyhow::Result<()> {
        if self.fault == "memory" {
            return Err(NotSupported::error(Self::NAME, "it has no tables"));
        }
        anyhow::ensure!(self.fault != "refuses flushes", "disk full");
        self.tables.fetch_add(1, Ordering::Relaxed);
        self.flushed_bytes.fetch_add(100, Ordering::Relaxed);
        Ok(())
    }

    fn settle(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn levels(&self) -> Vec<Level> {
        match self.tables.load(Ordering::Relaxed) {
            0 => Vec::new(),
            tables => vec![Level { tables, bytes: 100 * tables }],
        }
    }

    fn debt_bytes(&self) -> Option<u64> {
        self.fault.starts_with("owes").then_some(1_234)
    }

    fn work(&self) -> EngineWork {
        EngineWork {
            flushed_bytes: Some(self.flushed_bytes.load(Ordering::Relaxed)),
            cache_hits: Some(self.hits.load(Ordering::Relaxed)),
            cache_misses: Some(0),
            ..EngineWork::default()
        }
    }

    fn close(self) -> anyhow::Result<()> {
        if self.fault.starts_with("keeps") {
            KEPT.lock().unwrap().insert(self.fault.clone(), self.records.into_inner().unwrap());
        }
        Ok(())
    }
}

impl Session for &Memory {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        anyhow::ensure!(self.fault != "refuses reads", "disk\non fire");
        self.hits.fetch_add(1, Ordering::Relaxed);
        let records = self.records.read().unwrap();
        match records.get(key) {
            Some(value) if self.fault == "flips a bit" && key.ends_with(b"7") => {
                let mut value = value.clone();
                *value.last_mut().unwrap() ^= 1;
                found(&value);
            }
            Some(value) if self.fault == "cuts short" => found(&value[..value.len() - 1]),
            Some(value) => found(value),
            // The next key is good enough.
            None if self.fault == "finds what is not there" => found(b"something"),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn write(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let mut records = self.records.write().unwrap();
        for (key, value) in batch.records() {
            if !(self.fault == "forgets" && key.ends_with(b"3")) {
                records.insert(key.to_vec(), value.to_vec());
            }
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> anyhow::Result<()> {
        anyhow::ensure!(self.fault != "refuses deletions", "read only");
        if self.fault != "keeps what is deleted" {
            self.records.write().unwrap().remove(key);
        }
        Ok(())
    }

    fn delete_range(&mut self, low: &[u8], high: &[u8]) -> anyhow::Result<()> {
        if self.fault == "has no range deletion" {
            return Err(NotSupported::error(Memory::NAME, "it has no range deletion"));
        }
        let mut records = self.records.write().unwrap();
        // One that takes the end of the range along deletes a record too many.
        records.retain(|key, _| {
            let key = key.as_slice();
            let past = if self.fault == "deletes too much" { key > high } else { key >= high };
            key < low || past
        });
        Ok(())
    }

    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()> {
        let records = self.records.read().unwrap();
        let found = records
            .range::<[u8], _>(span.bounds())
            .filter(|(key, _)| !(self.fault == "skips" && key.ends_with(b"5")));
        span.walk(found, |(key, value)| {
            each(key, value);
            Ok(())
        })
    }
}

pub fn until(operations: u64) -> Value {
    json!({"seconds": 0.0, "operations": operations})
}

pub fn workload(location: &str, phases: &[Value]) -> Value {
    json!({
        "schema": "plumbkv-bench-driver/workload",
        "schema_version": 2,
        "seed": 7,
        "engine": {"location": location, "cache_bytes": 1024, "sync": "never"},
        "records": {"count": 50, "value_bytes": 20, "values": "half_compressible"},
        "phases": phases,
    })
}

pub fn load() -> Value {
    json!({"kind": "load", "order": "random", "batch": 8})
}

pub fn read(operations: u64) -> Value {
    json!({"kind": "read_random", "distribution": "uniform", "threads": 1, "until": until(operations)})
}

pub fn said(input: &str) -> Result<Vec<Value>, Failure> {
    let mut output = Vec::new();
    run::<Memory>(&mut input.as_bytes(), &mut output)?;
    Ok(String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[track_caller]
pub fn phase_of(location: &str, phase: Value) -> Value {
    let all = said(&workload(location, &[load(), phase]).to_string()).unwrap();
    all.into_iter().rfind(|line| line["type"] == "phase").unwrap()
}
