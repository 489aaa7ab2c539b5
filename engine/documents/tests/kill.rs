//! A process that is killed in the middle of writes, commits, merges and rebuilds: every acknowledged
//! write is there after the next open, and each document is found by exactly its own fields.
//!
//! The test starts itself as a child that reports each write before and after it, kills it at a random
//! moment and compares. `PLUMBKV_DOCUMENT_KILLS` says how often.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use plumbkv::SyncMode;
use plumbkv_documents::{Collections, Condition, Kind, Options, Schema, Search, Wait};

const CHILD: &str = "PLUMBKV_DOCUMENT_KILL_CHILD";
const IDS: usize = 300;
const SCHEMAS: [&str; 2] = [
    r#"{"primary":"id","fields":{"n":"i64","word":"text","tag":"keyword"}}"#,
    r#"{"primary":"id","fields":{"n":"u64","word":"text","tag":"keyword","extra":"bool"}}"#,
];

fn json(id: usize, number: u64) -> String {
    format!(r#"{{"id":"d{id}","n":{number},"word":"some w{number} words","tag":["t{}","all"]}}"#, number % 7)
}

fn open(directory: &Path, sync: SyncMode) -> Collections {
    Collections::open(Options::new(directory).sync_mode(sync).memory_budget(32 << 20)).unwrap()
}

/// Reports `begin|end NUMBER put|delete|schema IDS…`.
fn work(directory: &Path, seed: u64) {
    let sync = if seed.is_multiple_of(2) { SyncMode::Always } else { SyncMode::default() };
    let collections = open(directory, sync);
    let shop = match collections.get("shop") {
        Ok(shop) => shop,
        Err(_) => collections.create("shop", Schema::parse(SCHEMAS[0].as_bytes()).unwrap()).unwrap(),
    };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut out = std::io::stdout().lock();
    // Numbers grow over all children, so that each write differs from those before.
    let first = seed * 1_000_000;
    for number in first.. {
        let id = random.usize(..IDS);
        let (kind, ids) = match random.u8(..100) {
            0 => ("schema", vec![]),
            1..20 => ("delete", vec![id]),
            20..40 => ("put", (id..IDS.min(id + 50)).collect()),
            _ => ("put", vec![id]),
        };
        let list: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let line = format!("{number} {kind} {}", list.join(" "));
        writeln!(out, "begin {line}").unwrap();
        match kind {
            "put" => {
                let documents: Vec<String> = ids.iter().map(|id| json(*id, number)).collect();
                let bytes: Vec<&[u8]> = documents.iter().map(|json| json.as_bytes()).collect();
                shop.put_many(&bytes, true).unwrap();
            }
            "delete" => drop(shop.delete(&format!("d{id}"), &Condition::None).unwrap()),
            _ => {
                let schema = SCHEMAS[random.usize(..SCHEMAS.len())];
                collections.change("shop", Schema::parse(schema.as_bytes()).unwrap()).unwrap();
            }
        }
        writeln!(out, "end {line}").unwrap();
    }
}

/// What the store must hold: of each id the number of its document.
type State = BTreeMap<usize, u64>;

fn apply(state: &mut State, line: &str) {
    let mut words = line.split(' ');
    let number: u64 = words.next().unwrap().parse().unwrap();
    let kind = words.next().unwrap();
    for id in words.filter(|word| !word.is_empty()).map(|word| word.parse().unwrap()) {
        match kind {
            "put" => drop(state.insert(id, number)),
            _ => drop(state.remove(&id)),
        }
    }
}

/// Reads back all documents and looks each up by its fields. Returns what is there.
fn verified(directory: &Path) -> State {
    let collections = open(directory, SyncMode::default());
    let shop = match collections.get("shop") {
        Ok(shop) => shop,
        Err(error) => {
            assert_eq!(error.kind(), Kind::NotFound);
            return State::new();
        }
    };
    let mut state = State::new();
    for document in shop.list(None, 1_000).unwrap().documents {
        let value: serde_json::Value = serde_json::from_slice(&document.json).unwrap();
        let id: usize = document.id[1..].parse().unwrap();
        let number = value["n"].as_u64().unwrap();
        assert_eq!(document.json, json(id, number).as_bytes());
        state.insert(id, number);
    }
    let after = Some(Wait { version: shop.status().version, timeout: Duration::from_secs(60) });
    let find = |words: &str, filter: &str| {
        let (words, filter) = (words.to_owned(), Some(filter.to_owned()));
        let sort = Some("_id".to_owned());
        let found =
            shop.search(&Search { words, filter, sort, after, limit: 1_000, ..Search::default() }).unwrap();
        assert_eq!(found.total, found.hits.len() as u64);
        found.hits.into_iter().map(|hit| hit.id[1..].parse().unwrap()).collect::<Vec<usize>>()
    };
    let mut all = find("", "tag = all");
    all.sort_unstable();
    assert_eq!(all, state.keys().copied().collect::<Vec<_>>());
    let mut by_number: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    state.iter().for_each(|(id, number)| by_number.entry(*number).or_default().push(*id));
    for (number, ids) in by_number {
        let mut found =
            find(&format!("\"w{number} words\""), &format!("n = {number} AND tag = t{}", number % 7));
        found.sort_unstable();
        assert_eq!(found, ids, "{number}");
    }
    state
}

#[test]
fn no_acknowledged_write_is_lost_and_each_document_is_found_by_its_fields() {
    if let Some(child) = std::env::var_os(CHILD) {
        let child = child.into_string().unwrap();
        let (seed, directory) = child.split_once(' ').unwrap();
        return work(Path::new(directory), seed.parse().unwrap());
    }
    let kills =
        std::env::var("PLUMBKV_DOCUMENT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12);
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(kills);
    let (mut state, mut writes, mut in_doubt) = (State::new(), 0_u64, 0_u64);
    for seed in 1..=kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "no_acknowledged_write_is_lost_and_each_document_is_found_by_its_fields",
            ])
            .env(CHILD, format!("{seed} {}", directory.path().display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let life = Duration::from_millis(random.u64(20..700));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(life);
            child.kill().unwrap();
            child.wait().unwrap()
        });
        // The last line may be cut.
        let mut begun = None;
        for line in lines.map_while(Result::ok) {
            if let Some(what) = line.strip_prefix("begin ") {
                begun = Some(what.to_owned());
            } else if let Some(what) = line.strip_prefix("end ")
                && begun.as_deref() == Some(what)
            {
                apply(&mut state, what);
                writes += 1;
                begun = None;
            }
        }
        assert!(!killer.join().unwrap().success());
        let found = verified(directory.path());
        if found != state {
            // Only the write that was under way may be there as well.
            let what =
                begun.unwrap_or_else(|| panic!("kill {seed}: acknowledged writes are not what is there"));
            apply(&mut state, &what);
            in_doubt += 1;
            assert_eq!(found, state, "kill {seed}");
        }
    }
    println!("{kills} kills, {writes} acknowledged writes, {in_doubt} writes kept that were under way");
}
