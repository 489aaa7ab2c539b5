//! Does every phase count what it did, and see an engine that lies?

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod memory;

use memory::{load, phase_of, read, said, until, workload};
use serde_json::{Value, json};

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
fn an_absent_key_that_is_found_is_an_error() {
    let absent = json!({"kind": "read_random", "distribution": "zipf", "threads": 2, "absent": true, "until": until(40)});
    let line = phase_of("memory", absent.clone());
    assert_eq!(
        (line["operations"].as_u64(), line["hits"].as_u64(), line["misses"].as_u64()),
        (Some(40), Some(0), Some(0))
    );
    assert_eq!(line["errors"], 0);
    let line = phase_of("finds what is not there", absent);
    assert_eq!(line["errors"], 40);
    assert!(line["first_error"].as_str().unwrap().ends_with("is there, and was never written"), "{line}");
}

#[test]
fn scans_in_every_direction_miss_no_record() {
    for (phase, hits) in [
        (json!({"kind": "scan_all", "until": until(60)}), 100),
        (json!({"kind": "scan_all", "reverse": true, "until": until(50)}), 50),
        (json!({"kind": "scan_prefix", "digits": 1, "until": until(3)}), 30),
        (json!({"kind": "scan_prefix", "digits": 2, "until": until(3)}), 150),
    ] {
        let line = phase_of("memory", phase.clone());
        assert_eq!((line["errors"].as_u64(), line["hits"].as_u64()), (Some(0), Some(hits)), "{line}");
        let line = phase_of("skips", phase);
        assert!(line["errors"].as_u64().unwrap() > 0 && line["misses"].as_u64().unwrap() > 0, "{line}");
    }
    let down = json!({"kind": "scan", "records": 10, "reverse": true, "until": until(30)});
    assert_eq!(phase_of("memory", down.clone())["errors"], 0);
    assert!(phase_of("skips", down)["errors"].as_u64().unwrap() > 0);
}

#[test]
fn what_an_engine_does_not_have_is_told_and_not_faked() {
    let line = phase_of("memory", json!({"kind": "compact"}));
    assert_eq!(line["not_supported"], "memory: it has no call that merges everything");
    assert_eq!((line["operations"].as_u64(), line["errors"].as_u64()), (Some(0), Some(1)));
    let line = phase_of("memory", json!({"kind": "flush", "records": 10, "until": until(2)}));
    assert_eq!(line["not_supported"], "memory: it has no tables");
    assert_eq!(line["operations"], 0);
    // A fault is no lack.
    let line = phase_of("refuses flushes", json!({"kind": "flush", "records": 10, "until": until(2)}));
    assert!(line["not_supported"].is_null() && line["errors"] == 1, "{line}");
}

#[test]
fn small_tables_are_made_where_they_are_asked_for() {
    let small = json!({"kind": "load", "order": "random", "batch": 8, "flush_every": 20});
    let all = said(&workload("tables", &[small, json!({"kind": "scan_all", "until": until(1)})]).to_string())
        .unwrap();
    let results: Vec<&Value> = all.iter().filter(|line| line["type"] == "phase").collect();
    // 20, 20 and 10 records in batches of 8 + 8 + 4, 8 + 8 + 4 and 8 + 2. The last ten are the final flush's.
    assert_eq!(
        (results[0]["levels"][0]["tables"].as_u64(), results[0]["histograms"][0]["count"].as_u64()),
        (Some(2), Some(8))
    );
    assert_eq!(results[0]["work"]["flushed_bytes"], 200);
    assert_eq!(results[1]["work"]["flushed_bytes"], 0);
    assert_eq!(results[1]["hits"], 50);
}

#[test]
fn a_flush_is_timed_without_what_filled_the_buffer() {
    let line = phase_of("tables", json!({"kind": "flush", "records": 40, "until": until(3)}));
    assert_eq!((line["operations"].as_u64(), line["errors"].as_u64()), (Some(3), Some(0)));
    let histograms = line["histograms"].as_array().unwrap();
    assert_eq!((histograms.len(), histograms[0]["operation"].as_str()), (1, Some("flush")));
    assert_eq!(line["work"]["flushed_bytes"], 300);
    assert_eq!(line["levels"][0]["tables"], 4);
}

#[test]
fn a_store_that_forgets_when_it_is_closed_is_found_out() {
    let reopen = json!({"kind": "reopen", "until": until(4)});
    let line = phase_of("keeps all", reopen.clone());
    assert_eq!(
        (line["operations"].as_u64(), line["hits"].as_u64(), line["errors"].as_u64()),
        (Some(4), Some(4), Some(0))
    );
    assert_eq!(line["histograms"][0]["operation"], "open");
    let line = phase_of("memory", reopen);
    assert_eq!((line["hits"].as_u64(), line["misses"].as_u64()), (Some(0), Some(4)));
}

#[test]
fn a_second_process_reads_what_the_first_left() {
    assert_eq!(phase_of("keeps for another", read(10))["hits"], 10);
    let all = said(
        &workload("keeps for another", &[json!({"kind": "read_ordered", "until": until(50)})]).to_string(),
    );
    assert_eq!(all.unwrap()[2]["hits"], 50);
}

#[test]
fn writers_share_the_work() {
    let write = json!({"kind": "write", "order": "random", "batch": 5, "threads": 4, "until": until(200)});
    let read_all = json!({"kind": "read_ordered", "until": until(50)});
    let all = said(&workload("memory", &[load(), write, read_all]).to_string()).unwrap();
    let results: Vec<&Value> = all.iter().filter(|line| line["type"] == "phase").collect();
    assert_eq!((results[1]["operations"].as_u64(), results[1]["errors"].as_u64()), (Some(200), Some(0)));
    assert_eq!(results[1]["histograms"][0]["count"], 40);
    assert_eq!((results[2]["hits"].as_u64(), results[2]["errors"].as_u64()), (Some(50), Some(0)));
}

#[test]
fn each_of_ycsbs_workloads_does_what_it_is_made_of() {
    for (letter, kinds) in [
        ("a", vec!["get", "set"]),
        ("b", vec!["get", "set"]),
        ("c", vec!["get"]),
        ("d", vec!["get", "insert"]),
        ("e", vec!["insert", "scan"]),
        ("f", vec!["get", "read_modify_write"]),
    ] {
        let ycsb = json!({"kind": "ycsb", "workload": letter, "until": until(400)});
        // What was inserted is there for the next phase.
        let all = [load(), ycsb, json!({"kind": "scan_all", "until": until(1)})];
        let all = said(&workload("memory", &all).to_string()).unwrap();
        let results: Vec<&Value> = all.iter().filter(|line| line["type"] == "phase").collect();
        let line = results[1];
        assert_eq!((line["errors"].as_u64(), line["misses"].as_u64()), (Some(0), Some(0)), "{line}");
        let histograms = line["histograms"].as_array().unwrap();
        let mut found: Vec<&str> = histograms.iter().map(|one| one["operation"].as_str().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, kinds, "{letter}");
        let inserted = histograms.iter().find(|one| one["operation"] == "insert");
        let inserted = inserted.map_or(0, |one| one["count"].as_u64().unwrap());
        assert_eq!(
            (results[2]["errors"].as_u64(), results[2]["hits"].as_u64()),
            (Some(0), Some(50 + inserted))
        );
    }
}

#[test]
fn what_writes_allocate_is_counted_and_what_the_driver_allocates_is_not() {
    let phase = |batch: u32| {
        let write = json!({"kind": "write", "order": "random", "batch": batch, "until": until(1_000)});
        let line = phase_of("memory", write);
        let count = |name: &str| line["allocated"][name].as_u64().unwrap();
        (line["operations"].as_u64().unwrap(), count("calls"), count("bytes"))
    };
    // The engine copies key and value of each record, and frees what it replaces.
    let (records, calls, bytes) = phase(1);
    assert_eq!((calls, bytes), (records * 2, records * (16 + 20)));
    let (records, calls, _) = phase(50);
    assert_eq!(calls, records * 2);
}

#[test]
fn reads_count_their_lookups_in_the_cache_and_those_of_other_phases_are_not_theirs() {
    for (threads, reads) in [(1, 40_u64), (2, 60)] {
        let read = json!({"kind": "read_random", "distribution": "uniform", "threads": threads, "until": until(reads)});
        let line = phase_of("memory", read);
        assert_eq!(
            (line["work"]["cache_hits"].as_u64(), line["work"]["cache_misses"].as_u64()),
            (Some(reads), Some(0))
        );
    }
    assert_eq!(phase_of("memory", json!({"kind": "scan_all", "until": until(1)}))["work"]["cache_hits"], 0);
}

#[test]
fn keys_of_five_families_are_read_back_in_every_way() {
    let until = until(60);
    let phases = [
        load(),
        read(200),
        json!({"kind": "read_random", "distribution": "zipf", "threads": 2, "absent": true, "until": until}),
        json!({"kind": "read_ordered", "until": until}),
        json!({"kind": "scan", "records": 20, "until": until}),
        json!({"kind": "scan", "records": 20, "reverse": true, "until": until}),
        json!({"kind": "scan_all", "until": until}),
        json!({"kind": "write", "order": "random", "batch": 10, "until": until}),
        json!({"kind": "read_ordered", "until": until}),
    ];
    let mut workload = workload("memory", &phases);
    workload["records"]["keys"] = json!("five_families");
    let lines = said(&workload.to_string()).unwrap();
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "phase").collect();
    assert_eq!(results.len(), phases.len());
    for result in results {
        assert_eq!((result["misses"].as_u64(), result["errors"].as_u64()), (Some(0), Some(0)), "{result}");
    }
    workload["phases"] = json!([{"kind": "scan_prefix", "digits": 1, "until": until}]);
    assert!(format!("{:?}", said(&workload.to_string()).unwrap_err()).contains("five families"));
}
