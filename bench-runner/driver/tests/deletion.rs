//! Phases that delete and phases that are watched: their counts, and engines that return wrong results.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod memory;

use memory::{load, phase_of, said, until, workload};
use serde_json::{Value, json};

fn count(line: &Value, operation: &str) -> u64 {
    let histograms = line["histograms"].as_array().unwrap();
    let found = histograms.iter().find(|histogram| histogram["operation"] == operation);
    found.map_or(0, |histogram| histogram["count"].as_u64().unwrap())
}

/// Results of the phases of an empty store.
fn of_an_empty_store(location: &str, phases: &[Value]) -> Vec<Value> {
    let lines = said(&workload(location, phases).to_string()).unwrap();
    lines.into_iter().filter(|line| line["type"] == "phase").collect()
}

fn queue() -> Value {
    json!({"kind": "queue", "window": 10, "seconds": 60.0})
}

fn empty_scan() -> Value {
    json!({"kind": "empty_scan", "rest_seconds": 0.0, "until": until(3)})
}

#[test]
fn all_records_go_through_a_queue_and_leave_the_store_empty() {
    let lines = of_an_empty_store("memory", &[queue(), empty_scan()]);
    assert_eq!((lines[0]["operations"].as_u64(), lines[0]["errors"].as_u64()), (Some(50), Some(0)));
    // The front is read once the window is full.
    assert_eq!(
        [count(&lines[0], "insert"), count(&lines[0], "front_scan"), count(&lines[0], "delete")],
        [50, 40, 50]
    );
    assert_eq!(lines[0]["hits"], 40);
    assert_eq!((lines[1]["errors"].as_u64(), count(&lines[1], "empty_scan")), (Some(0), 3));
}

#[test]
fn a_queue_ends_when_its_time_is_over() {
    let lines =
        of_an_empty_store("memory", &[json!({"kind": "queue", "window": 10, "seconds": 0.0}), empty_scan()]);
    assert_eq!((lines[0]["operations"].as_u64(), lines[0]["errors"].as_u64()), (Some(0), Some(0)));
    assert_eq!(lines[1]["errors"], 0);
}

#[test]
fn a_queue_whose_front_stays_is_an_error_and_so_is_a_store_that_is_not_empty() {
    let lines = of_an_empty_store("keeps what is deleted", &[queue(), empty_scan()]);
    assert!(lines[0]["errors"].as_u64().unwrap() >= 39, "{}", lines[0]);
    assert!(lines[0]["first_error"].as_str().unwrap().contains("has something else"), "{}", lines[0]);
    assert!(lines[1]["first_error"].as_str().unwrap().contains("gave 50 records, not 0"), "{}", lines[1]);
}

#[test]
fn a_deletion_that_is_refused_ends_the_queue() {
    let lines = of_an_empty_store("refuses deletions", &[queue()]);
    assert_eq!((lines[0]["operations"].as_u64(), lines[0]["errors"].as_u64()), (Some(0), Some(1)));
    assert!(lines[0]["first_error"].as_str().unwrap().starts_with("a deletion was refused: read only"));
}

fn delete_range() -> Value {
    json!({"kind": "delete_range", "first": 5, "records": 40})
}

#[test]
fn a_range_is_deleted_beside_a_writer() {
    let all = [load(), delete_range(), json!({"kind": "scan", "records": 5, "until": until(0)})];
    let lines = of_an_empty_store("memory", &all);
    let line = &lines[1];
    assert_eq!((line["errors"].as_u64(), line["misses"].as_u64()), (Some(0), Some(0)), "{line}");
    assert_eq!(count(line, "delete_range"), 1);
    assert!(count(line, "set") >= 20, "{line}");
    // The ends of the range and some keys drawn at random were looked up; those outside were found.
    assert!(line["hits"].as_u64().unwrap() >= 2, "{line}");
}

#[test]
fn a_range_that_stays_or_takes_a_neighbour_along_is_found_out() {
    let line = phase_of("deletes too much", delete_range());
    assert!(line["misses"].as_u64().unwrap() > 0, "{line}");
    assert_eq!(line["first_error"], "key:000000000045 is not there");
    let line = phase_of("finds what is not there", delete_range());
    assert!(line["first_error"].as_str().unwrap().ends_with("is there, and was deleted"), "{line}");
    let line = phase_of("has no range deletion", delete_range());
    assert_eq!(line["not_supported"], "memory: it has no range deletion");
}

#[test]
fn a_watched_phase_has_windows_that_hold_all_its_writes() {
    let write = |threads: u32, watched: bool| {
        let until = json!({"seconds": 1.2, "operations": 1});
        json!({"kind": "write", "order": "random", "batch": 5, "threads": threads, "watched": watched, "until": until})
    };
    for threads in [1, 2] {
        let line = phase_of("owes", write(threads, true));
        let windows = line["windows"].as_array().unwrap();
        let sum: u64 = windows.iter().map(|window| window["operations"].as_u64().unwrap()).sum();
        assert_eq!((windows.len(), Some(sum)), (2, line["operations"].as_u64()), "{line}");
        assert!(windows.iter().all(|window| window["rss_bytes"].as_u64().unwrap() > 0));
        let length: f64 = windows.iter().map(|window| window["length_ms"].as_f64().unwrap()).sum();
        assert!(length >= 1_200.0, "{length}");
        assert_eq!(line["debt_bytes"], 1_234);
    }
    let unwatched =
        phase_of("memory", json!({"kind": "write", "order": "random", "batch": 5, "until": until(10)}));
    assert!(unwatched["windows"].is_null() && unwatched["debt_bytes"].is_null(), "{unwatched}");
}

#[test]
fn the_largest_size_of_the_files_is_seen_while_a_phase_is_watched() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::write(folder.path().join("table"), [1; 5_000]).unwrap();
    let write = json!({"kind": "write", "order": "random", "batch": 5, "watched": true, "until": until(10)});
    let location = folder.path().to_str().unwrap();
    assert_eq!(phase_of(location, write)["disk_bytes_peak"], 8_192);
    assert_eq!(phase_of(location, json!({"kind": "settle"}))["disk_bytes_peak"], 8_192);
}

#[test]
fn deletions_that_make_no_sense_are_refused() {
    for (phase, part) in [
        (json!({"kind": "queue", "window": 0, "seconds": 1.0}), "window"),
        (json!({"kind": "queue", "window": 1, "seconds": -1.0}), "seconds"),
        (json!({"kind": "delete_range", "first": 0, "records": 5}), "first"),
        (json!({"kind": "delete_range", "first": 20, "records": 31}), "past the last record"),
    ] {
        let refused = format!("{:?}", said(&workload("memory", &[phase]).to_string()).unwrap_err());
        assert!(refused.contains(part), "{refused}");
    }
}
