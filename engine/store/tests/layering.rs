//! Who may name whom inside the library? `memory` is tested with a fake clock and no disk, so it must not learn of the
//! front door, its options or another storage mode.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// What a file below `src/memory` may name of the crate besides itself. `stats` is the shape it fills in.
const ALLOWED: [&str; 7] = ["bytes", "clock", "error", "keyspace", "memory", "prefetch", "stats"];

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The module after each `crate::` in code (not in comments), and each path that leaves `memory` by `super::super`.
fn outside_names(source: &str) -> Vec<String> {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or(""));
    let mut names = Vec::new();
    for line in code {
        for after in line.split("crate::").skip(1) {
            let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.push(if name.is_empty() { after.to_owned() } else { name });
        }
        if line.contains("super::super") {
            names.push("super::super".to_owned());
        }
    }
    names
}

#[test]
fn memory_names_only_bytes_clock_error_keyspace_prefetch_and_stats() {
    let files = rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/memory"));
    assert!(files.len() >= 10, "the scan found only {} files", files.len());
    let mut seen = 0;
    for file in files {
        for name in outside_names(&fs::read_to_string(&file).unwrap()) {
            assert!(ALLOWED.contains(&name.as_str()), "{} names crate::{name}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 0, "the scan recognised no `crate::` path at all");
}

#[test]
fn the_scan_finds_what_it_should() {
    assert_eq!(outside_names("use crate::options::Options;"), ["options"]);
    assert_eq!(outside_names("let x = crate::database::y(super::super::z);"), ["database", "super::super"]);
    assert_eq!(outside_names("use crate::{a, b};"), ["{a, b};"]);
    assert_eq!(outside_names("// see crate::options"), Vec::<String>::new());
}

/// The real file system, behind the trait that tests put another one behind; a slow one for tests, which sleeps; the durable store's threads; and what the system says of
/// memory.
const MAY: [(&str, &str); 6] = [
    // Tests, which `make simulate` tells what to run.
    ("simulation/", "std::env"),
    ("simulation/", "std::thread"),
    ("lsm/vfs/disk.rs", "std::fs"),
    ("lsm/vfs/slow.rs", "std::thread"),
    ("lsm/sync/", "std::thread"),
    ("memory_limit.rs", "std::fs"),
];

#[test]
fn the_library_knows_no_sockets_no_environment_and_no_async() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in rust_files(&root) {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        if name.ends_with("_test.rs") {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        for forbidden in ["std::net", "std::env", "std::fs", "std::thread", "async fn"] {
            let may = MAY.iter().any(|(place, what)| name.starts_with(place) && *what == forbidden);
            let mut code = source.lines().map(|line| line.split("//").next().unwrap_or(""));
            assert!(may || code.all(|line| !line.contains(forbidden)), "{name} uses {forbidden}");
        }
    }
}

/// Entries live in memory that the store gives out and moves itself. Who touches it is listed here, and in `docs/memory-layout.md` with the reason.
const UNSAFE: [&str; 23] = [
    "lsm/mapping.rs",
    "lsm/memtable/arena.rs",
    "lsm/memtable/node.rs",
    "lsm/memtable/page.rs",
    "lsm/table/slab.rs",
    "lsm/vfs/mapped.rs",
    "memory/buffer.rs",
    "memory/clear.rs",
    "memory/entry.rs",
    "memory/heap/clean.rs",
    "memory/heap/graves.rs",
    "memory/heap/large.rs",
    "memory/heap/map.rs",
    "memory/heap/mod.rs",
    "memory/heap/pool.rs",
    "memory/heap/runs.rs",
    "memory/heap/segment.rs",
    "memory/slot_pool.rs",
    "memory/slots.rs",
    "memory/table.rs",
    "memory/table_held.rs",
    "memory/value.rs",
    "prefetch.rs",
];

#[test]
fn few_modules_have_unsafe_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in rust_files(&root) {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&file).unwrap();
        let mut code = source.lines().map(|line| line.split("//").next().unwrap_or(""));
        let is_unsafe = code.any(|line| line.contains("unsafe "));
        assert!(
            !is_unsafe || name.ends_with("_test.rs") || UNSAFE.contains(&&*name),
            "{name} has unsafe code"
        );
    }
}
