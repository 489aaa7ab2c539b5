//! Do the modules keep to their layer? Cargo holds packages apart; this test holds modules apart.
//!
//! `stats`, `scenario` and `plan` are pure: the hard half of measuring (what, in which order, what it came to)
//! can then be tested as tables of cases.

use std::fs;
use std::path::{Path, PathBuf};

/// What a pure module may not name: files, clocks, network, processes, SQLite.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "Instant",
    "SystemTime",
    "jiff",
    "mio",
    "rusqlite",
    "rustix",
    "socket2",
    "tempfile",
    "signal_hook",
    "libc",
];

/// Module, and the modules of this crate that it may name.
const PURE: &[(&str, &[&str])] = &[
    ("stats", &["model", "stats"]),
    ("compare", &["model", "scenario", "stats", "compare"]),
    ("claims", &["model", "scenario", "stats", "claims"]),
    ("gate", &["model", "stats", "gate"]),
    ("scenario", &["model", "scenario"]),
    ("plan", &["model", "scenario", "plan"]),
    ("release", &["model", "scenario", "plan", "release"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && !name.ends_with("_test.rs") {
            found.push(path);
        }
    }
    found
}

/// The code without comments and without its test module.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whole words only: `mio` is not in `admission`.
fn names(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        edge(code[..at].chars().next_back()) && edge(code[at + word.len()..].chars().next())
    })
}

/// The modules behind `crate::`.
fn edges(code: &str) -> Vec<String> {
    code.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            None => vec![word(rest)],
            Some(list) => {
                list.split('}').next().unwrap_or("").split(',').map(|item| word(item.trim())).collect()
            }
        })
        .collect()
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn faults(module: &str, file: &str, code: &str, may: &[&str]) -> Vec<String> {
    let impure = IMPURE.iter().filter(|word| names(code, word));
    let mut faults: Vec<String> = impure.map(|word| format!("{file}: `{module}` names {word}")).collect();
    for edge in edges(code) {
        if !may.contains(&edge.as_str()) {
            faults.push(format!("{file}: `{module}` names crate::{edge}"));
        }
    }
    faults
}

#[test]
fn pure_modules_name_no_files_clocks_network_or_sqlite() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    for (module, may) in PURE {
        let files = sources(&source.join(module));
        assert!(!files.is_empty(), "{module} has no sources: has it moved?");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            all.extend(faults(module, &file.display().to_string(), &code(&text), may));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn only_the_program_names_the_command_line_and_nobody_names_the_engine() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in sources(&source) {
        let code = code(&fs::read_to_string(&file).unwrap());
        let in_cli = file.starts_with(source.join("cli")) || file.ends_with("main.rs");
        assert!(in_cli || !edges(&code).contains(&"cli".to_owned()), "{} names crate::cli", file.display());
        for engine in ["plumbkv", "plumbkv_documents", "plumbkv_server"] {
            assert!(!code.contains(&format!("use {engine}::")), "{} names {engine}", file.display());
        }
    }
}

#[test]
fn the_test_itself_sees_a_fault() {
    let bad = "use std::fs;\nuse crate::db::store;\nuse crate::{model, export::write};\nfn f() { std::time::Instant::now(); }";
    let found = faults("plan", "x.rs", &code(bad), &["model"]);
    for part in ["names std::fs", "names Instant", "names crate::db", "names crate::export"] {
        assert!(found.iter().any(|fault| fault.ends_with(part)), "{part} not in {found:?}");
    }
    let fine = "//! std::fs\nuse crate::model::Mode; // rusqlite\nfn admission() {}\n#[cfg(test)]\nmod tests {\n use std::fs; }";
    assert!(faults("plan", "x.rs", &code(fine), &["model"]).is_empty());
}
