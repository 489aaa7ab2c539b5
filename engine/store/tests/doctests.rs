//! Does every public item of the durable store show how it is used? Each has an example, which `cargo test` compiles and runs.
//!
//! What is public is read from the sources: types, functions and methods of `src/durable/`, the calls in `src/database/durable.rs`, and the options of a durable store.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::path::Path;

/// Public items without an example, as `file: signature`.
fn lacking(file: &str, source: &str, is_meant: impl Fn(&str) -> bool) -> (usize, Vec<String>) {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let (mut items, mut lacking) = (0, Vec::new());
    for (at, line) in lines.iter().enumerate() {
        let kinds = ["pub fn ", "pub struct ", "pub enum ", "pub trait ", "pub const fn "];
        if !kinds.iter().any(|kind| line.starts_with(kind)) || !is_meant(line) {
            continue;
        }
        items += 1;
        let above = lines[..at].iter().rev();
        let doc: Vec<_> =
            above.take_while(|line| line.starts_with("///") || line.starts_with("#[")).collect();
        if doc.iter().filter(|line| line.starts_with("/// ```")).count() < 2 {
            lacking.push(format!("{file}: {line}"));
        }
    }
    (items, lacking)
}

#[test]
fn every_public_item_of_the_durable_store_has_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<_> =
        std::fs::read_dir(root.join("durable")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.extend([root.join("database/durable.rs"), root.join("options.rs")]);
    let (mut items, mut without) = (0, Vec::new());
    for path in files {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        // The options above this one are those of both modes, or of the memory store alone.
        let durable =
            ["durable", "sync_mode", "profile", "memory_budget", "cache_bytes", "compression", "client_cap"];
        let is_option =
            |line: &str| durable.iter().any(|option| line.starts_with(&format!("pub fn {option}(")));
        let (count, lacking) = lacking(&name, &source, |line| name != "options.rs" || is_option(line));
        items += count;
        without.extend(lacking);
    }
    assert!(items > 40, "the scan found only {items} items");
    assert!(without.is_empty(), "without an example:\n{}", without.join("\n"));
}

#[test]
fn the_scan_tells_an_example_from_a_description() {
    let source = "/// Text.\n///\n/// ```\n/// 1;\n/// ```\n#[must_use]\npub fn shown() {}\n\n/// Text.\npub fn told() {}\nfn own() {}\n";
    assert_eq!(lacking("f", source, |_| true), (2, vec!["f: pub fn told() {}".to_owned()]));
}
