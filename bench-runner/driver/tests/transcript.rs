//! Does a driver say what the protocol promises, and does it see an engine that lies? With an engine in memory.
//!
//! `UPDATE_GOLDEN=1 cargo test -p plumbkv-bench-driver --test transcript` writes the transcript anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod memory;

use memory::{load, read, said, until, workload};
use plumbkv_bench_driver::Failure;
use serde_json::{Value, json};

/// What differs from run to run, replaced by what it must be at least.
fn settle(mut line: Value) -> Value {
    let object = line.as_object_mut().unwrap();
    for field in [
        "elapsed_ns",
        "cpu_ns",
        "open_ns",
        "rss_bytes_start",
        "rss_bytes_peak",
        "rss_bytes_before_open",
        "rss_bytes_after_open",
        "rss_anonymous_bytes",
    ] {
        if let Some(value) = object.get_mut(field) {
            assert!(value.as_u64().unwrap() > 0, "{field}");
            *value = json!("positive");
        }
    }
    if let Some(value) = object.get_mut("allocated") {
        *value = json!("a count");
    }
    for field in ["read_bytes", "written_bytes", "device_read_bytes"] {
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
        json!({"kind": "scan_all", "until": until(100)}),
        json!({"kind": "settle"}),
        json!({"kind": "compact"}),
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
    let read = |fields: Value| {
        let mut read =
            json!({"kind": "read_random", "distribution": "uniform", "threads": 1, "until": until(1)});
        read.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!([read])
    };
    refused(&with("phases", read(json!({"threads": 0}))), "phase 0: threads");
    refused(&with("phases", json!([{"kind": "scan_prefix", "digits": 12, "until": until(1)}])), "digits");
    refused(&with("phases", json!([{"kind": "flush", "records": 0, "until": until(1)}])), "records");
    let few = json!({"count": 10, "value_bytes": 1, "values": "incompressible"});
    let mut absent = with("phases", read(json!({"absent": true})));
    absent["records"] = few;
    refused(&absent, "absent keys need records.count");
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
