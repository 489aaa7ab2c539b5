//! Does a section of a driver's work make sense by itself? Bounds, and keys that exclude or need each other.

use super::check_section::{Faults, LIMIT_MIN, VALUE_MAX, between, list, per_profile};
use super::embedded::{Embedded, EmbeddedOperation, StoreChoice};
use super::load::PlacementChoice;
use crate::model::Profile;
use plumbkv_bench_driver::protocol::{KeySchema, Ycsb};

/// Most records of an embedded engine: a driver keeps none of them, its disk does.
const RECORDS_MAX: u64 = 1_000_000_000;
/// Threads of a driver.
const THREADS_MAX: u32 = 1_000;
/// A tenth of the records stay before a range that is deleted, and a tenth behind it.
const DELETED_MIN: u64 = 1_000;
/// Absent keys lie between two that are there.
const WITH_ABSENT_MIN: u64 = 1_000;

pub(super) fn embedded(faults: &mut Faults, embedded: &Embedded) {
    let operation = embedded.operation;
    let least = if operation == EmbeddedOperation::ReadAbsent { WITH_ABSENT_MIN } else { 1 };
    per_profile(faults, "records", &embedded.records, least, RECORDS_MAX);
    list(faults, "value_bytes", &embedded.value_bytes, 1, VALUE_MAX);
    list(faults, "clients", &embedded.clients, 1, THREADS_MAX);
    list(faults, "batch", &embedded.batch, 1, 100_000);
    axes(faults, embedded);
    store(faults, embedded);
    let in_order_of_digits =
        operation == EmbeddedOperation::ScanPrefix || matches!(operation.ycsb(), Some(Ycsb::D | Ycsb::E));
    faults.unless(embedded.keys == KeySchema::OneFamily || !in_order_of_digits, || {
        format!("operation \"{}\" needs keys of one family", operation.name())
    });
    let several = embedded.clients.iter().any(|clients| *clients > 1);
    faults.unless(!several || operation.has_clients(), || {
        "clients above 1 belong to operation \"read_random\", \"read_absent\", \"get\", \"write\" or \"sustained_write\""
            .to_owned()
    });
    faults.unless(embedded.placement != Some(PlacementChoice::Together), || {
        "a driver is its own generator: placement is \"apart\", on one CPU, or \"unpinned\"".to_owned()
    });
    if let Some(limit) = embedded.memory_limit_bytes {
        between(faults, "memory_limit_bytes", limit, LIMIT_MIN, 1 << 40);
    }
    if let Some(seconds) = &embedded.seconds {
        per_profile(faults, "seconds", seconds, 0.02, 600.0);
    }
    if let Some(seconds) = &embedded.warmup_seconds {
        per_profile(faults, "warmup_seconds", seconds, 0.0, 600.0);
    }
    if let Some(trials) = &embedded.trials {
        per_profile(faults, "trials", trials, 1, 100);
    }
    between(faults, "window", embedded.window, 1, RECORDS_MAX);
    if let Some(rounds) = embedded.rounds {
        between(faults, "rounds", rounds, 1, 1_000);
    }
    faults.unless(embedded.rounds.is_some() == (operation == EmbeddedOperation::Overwrite), || {
        "rounds belongs to operation \"overwrite\", which needs it".to_owned()
    });
    if let Some(rest) = &embedded.rest_seconds {
        per_profile(faults, "rest_seconds", rest, 0.0, 600.0);
    }
    faults.unless(embedded.rest_seconds.is_some() == (operation == EmbeddedOperation::Queue), || {
        "rest_seconds belongs to operation \"queue\", which needs it".to_owned()
    });
    let enough = [Profile::Smoke, Profile::Quick, Profile::Release, Profile::Full];
    faults.unless(
        operation != EmbeddedOperation::DeleteRange
            || enough.iter().all(|profile| embedded.records.of(*profile) >= DELETED_MIN),
        || format!("operation \"delete_range\" needs records of at least {DELETED_MIN}"),
    );
    if let Some(records) = embedded.flush_every {
        between(faults, "flush_every", records, 1, RECORDS_MAX);
    }
}

fn axes(faults: &mut Faults, embedded: &Embedded) {
    let operation = embedded.operation;
    let optional = |faults: &mut Faults, name: &str, given: usize, wanted: bool| {
        let operation = operation.name();
        match (given > 0, wanted) {
            (false, true) => faults.0.push(format!("operation \"{operation}\" needs {name}")),
            (true, false) => faults.0.push(format!("operation \"{operation}\" takes no {name}")),
            _ => {}
        }
    };
    optional(faults, "order", embedded.order.len(), operation.has_order());
    optional(faults, "distribution", embedded.distribution.len(), operation.has_distribution());
    let mixed = operation == EmbeddedOperation::Mixed;
    optional(faults, "set_percent", embedded.set_percent.len(), mixed);
    if mixed && !embedded.set_percent.is_empty() {
        list(faults, "set_percent", &embedded.set_percent, 1, 99);
    }
    between(faults, "scan_records", embedded.scan_records, 1, 1_000_000);
    let tens = 10_u32.checked_pow(embedded.scan_records.max(1).ilog10());
    faults.unless(operation != EmbeddedOperation::ScanPrefix || tens == Some(embedded.scan_records) && tens > Some(1), || {
        "operation \"scan_prefix\" takes scan_records of 10, 100, 1000 …: keys differ in so many last digits".to_owned()
    });
    if !embedded.cache_bytes.is_empty() {
        list(faults, "cache_bytes", &embedded.cache_bytes, 0, 1 << 40);
    }
    faults.unless(!embedded.sync.is_empty(), || "sync is empty".to_owned());
    let repeated = embedded.sync.iter().enumerate().any(|(at, sync)| embedded.sync[..at].contains(sync));
    faults.unless(!repeated, || "sync holds a word twice".to_owned());
}

fn store(faults: &mut Faults, embedded: &Embedded) {
    let operation = embedded.operation;
    let name = operation.name();
    match embedded.store {
        StoreChoice::Fresh => {}
        StoreChoice::Kept => faults.unless(operation.takes_a_store() && operation.only_reads(), || {
            format!("operation \"{name}\" writes: a stored directory is only read, take store = \"copy\"")
        }),
        StoreChoice::Copy => faults.unless(operation.takes_a_store() && !operation.only_reads(), || {
            format!("operation \"{name}\" needs no copy of a stored directory")
        }),
    }
    faults.unless(
        embedded.store == StoreChoice::Fresh || embedded.flush_every.is_none() && !embedded.killed,
        || "flush_every and killed belong to a store of its own".to_owned(),
    );
    faults.unless(!embedded.killed || operation == EmbeddedOperation::Open, || {
        "killed belongs to operation \"open\"".to_owned()
    });
    faults.unless(
        !embedded.load_limited
            || embedded.store != StoreChoice::Fresh && embedded.memory_limit_bytes.is_some(),
        || "load_limited says how a stored directory is loaded under memory_limit_bytes".to_owned(),
    );
}
