//! Does a driver say what the protocol promises, and does it see an engine that lies? With an engine in memory.
//!
//! `UPDATE_GOLDEN=1 cargo test -p plumbkv-bench-driver --test transcript` writes the transcript anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting};
use plumbkv_bench_driver::{Batch, Engine, Failure, Session, Span, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::RwLock;

/// An ordered map; what goes wrong with it is chosen by its location.
struct Memory {
    records: RwLock<BTreeMap<Vec<u8>, Vec<u8>>>,
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
            records: RwLock::default(),
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

    fn close(self) -> anyhow::Result<()> {
        Ok(())
    }
}

impl Session for &Memory {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        anyhow::ensure!(self.fault != "refuses reads", "disk\non fire");
        let records = self.records.read().unwrap();
        match records.get(key) {
            Some(value) if self.fault == "flips a bit" && key.ends_with(b"7") => {
                let mut value = value.clone();
                *value.last_mut().unwrap() ^= 1;
                found(&value);
            }
            Some(value) if self.fault == "cuts short" => found(&value[..value.len() - 1]),
            Some(value) => found(value),
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

fn until(operations: u64) -> Value {
    json!({"seconds": 0.0, "operations": operations})
}

fn workload(location: &str, phases: &[Value]) -> Value {
    json!({
        "schema": "plumbkv-bench-driver/workload",
        "schema_version": 2,
        "seed": 7,
        "engine": {"location": location, "cache_bytes": 1024, "sync": "never"},
        "records": {"count": 50, "value_bytes": 20, "values": "half_compressible"},
        "phases": phases,
    })
}

fn load() -> Value {
    json!({"kind": "load", "order": "random", "batch": 8})
}

fn read(operations: u64) -> Value {
    json!({"kind": "read_random", "distribution": "uniform", "threads": 1, "until": until(operations)})
}

fn said(input: &str) -> Result<Vec<Value>, Failure> {
    let mut output = Vec::new();
    run::<Memory>(&mut input.as_bytes(), &mut output)?;
    Ok(String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[track_caller]
fn phase_of(location: &str, phase: Value) -> Value {
    let all = said(&workload(location, &[load(), phase]).to_string()).unwrap();
    all.into_iter().rfind(|line| line["type"] == "phase").unwrap()
}

/// What differs from run to run, replaced by what it must be at least.
fn settle(mut line: Value) -> Value {
    let object = line.as_object_mut().unwrap();
    for field in ["elapsed_ns", "cpu_ns", "rss_bytes_start", "rss_bytes_peak"] {
        if let Some(value) = object.get_mut(field) {
            assert!(value.as_u64().unwrap() > 0, "{field}");
            *value = json!("positive");
        }
    }
    for field in ["read_bytes", "written_bytes"] {
        if let Some(value) = object.get_mut(field) {
            *value = json!("a number, or null");
        }
    }
    for histogram in object.get_mut("histograms").and_then(Value::as_array_mut).into_iter().flatten() {
        histogram["hdr_v2_deflate_base64"] = json!("a histogram");
        histogram["sum_ns"] = json!("positive");
    }
    line
}

#[test]
fn the_transcript_of_every_phase_is_the_committed_one() {
    let phases = [
        load(),
        read(200),
        json!({"kind": "read_random", "distribution": "zipf", "threads": 3, "until": until(300)}),
        json!({"kind": "read_ordered", "until": until(60)}),
        json!({"kind": "scan", "records": 50, "until": until(1)}),
        json!({"kind": "write", "order": "sequential", "batch": 10, "until": until(100)}),
        json!({"kind": "mixed", "read_percent": 100, "distribution": "zipf", "until": until(30)}),
    ];
    let mut lines: Vec<String> = said(&workload("memory", &phases).to_string())
        .unwrap()
        .into_iter()
        .map(|mut line| {
            if line["phase"] == 4 && line["type"] == "phase" {
                // A scan begins anywhere, and ends at the last record.
                assert!((1..=50).contains(&line["hits"].as_u64().unwrap()));
                line["hits"] = json!("1 to 50");
            }
            settle(line).to_string()
        })
        .collect();
    lines.push(String::new());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/transcript.jsonl");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, lines.join("\n")).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(lines.join("\n"), golden, "UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn histograms_count_every_operation_and_no_other() {
    let mixed = json!({"kind": "mixed", "read_percent": 60, "distribution": "uniform", "until": until(500)});
    let line = phase_of("memory", mixed);
    let histograms = line["histograms"].as_array().unwrap();
    let count = |name: &str| {
        let found = histograms.iter().find(|histogram| histogram["operation"] == name).unwrap();
        found["count"].as_u64().unwrap()
    };
    assert_eq!(count("get") + count("set"), 500);
    assert_eq!(line["hits"].as_u64(), Some(count("get")));
    assert!((200..400).contains(&count("get")), "{}", count("get"));
}

#[test]
fn a_value_with_one_wrong_bit_is_an_error() {
    let line = phase_of("flips a bit", json!({"kind": "read_ordered", "until": until(50)}));
    assert_eq!((line["hits"].as_u64(), line["errors"].as_u64()), (Some(50), Some(5)));
    assert_eq!(line["first_error"], "key:000000000007 has a wrong value");
}

#[test]
fn a_value_that_is_too_short_is_an_error() {
    assert_eq!(phase_of("cuts short", read(40))["errors"], 40);
}

#[test]
fn a_record_that_is_gone_is_a_miss_in_reads_and_scans() {
    let line = phase_of("forgets", json!({"kind": "read_ordered", "until": until(50)}));
    assert_eq!((line["hits"].as_u64(), line["misses"].as_u64()), (Some(45), Some(5)));
    assert_eq!(line["first_error"], "key:000000000003 is not there");
    let line = phase_of("forgets", json!({"kind": "scan", "records": 50, "until": until(20)}));
    assert!(line["misses"].as_u64().unwrap() > 0 && line["errors"].as_u64().unwrap() > 0, "{line}");
}

#[test]
fn an_engine_that_refuses_ends_its_phase_with_its_words() {
    let line = phase_of("refuses reads", read(1_000));
    assert_eq!((line["operations"].as_u64(), line["errors"].as_u64()), (Some(1), Some(1)));
    assert!(line["first_error"].as_str().unwrap().starts_with("a read was refused: disk"));
}

#[test]
fn a_phase_waits_for_its_line() {
    // The driver asks before each phase; whoever writes nothing but ends the input lets it go on.
    let text = workload("memory", &[load(), read(10)]).to_string();
    let with_lines = said(&format!("{text}\ngo\ngo\n")).unwrap();
    let without = said(&text).unwrap();
    let kinds = |lines: &[Value]| lines.iter().map(|line| line["type"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&with_lines), kinds(&without));
    assert_eq!(kinds(&with_lines), ["ready", "waiting", "phase", "waiting", "phase", "waiting", "done"]);
}

#[track_caller]
fn refused(workload: &Value, part: &str) {
    match said(&workload.to_string()) {
        Err(Failure::Input(text)) => assert!(text.contains(part), "{text}"),
        other => panic!("not refused as input: {other:?}"),
    }
}

#[test]
fn input_that_cannot_be_used_is_refused_by_name() {
    let fine = workload("memory", &[load()]);
    let with = |field: &str, value: Value| {
        let mut workload = fine.clone();
        workload[field] = value;
        workload
    };
    refused(&with("schema_version", json!(1)), "schema_version");
    refused(&with("schema", json!("other")), "other");
    refused(&with("surprise", json!(1)), "unknown field `surprise`");
    refused(&with("phases", json!([{"kind": "dance"}])), "dance");
    refused(&with("phases", json!([{"kind": "load", "order": "random", "batch": 0}])), "phase 0: batch");
    refused(&with("phases", json!([{"kind": "load", "order": "random", "batch": 1, "x": 1}])), "x");
    refused(&with("records", json!({"count": 0, "value_bytes": 1, "values": "incompressible"})), "count");
    refused(&json!([1, 2]), "schema");
    assert!(matches!(said("{ not json"), Err(Failure::Input(_))));
    assert!(matches!(said(""), Err(Failure::Input(_))));
}

#[test]
fn a_store_that_cannot_be_opened_is_no_fault_of_the_input() {
    match said(&workload("unopenable", &[]).to_string()) {
        Err(Failure::Engine(error)) => {
            assert_eq!(format!("{error:#}"), "cannot open the store: no such place")
        }
        other => panic!("{other:?}"),
    }
}
