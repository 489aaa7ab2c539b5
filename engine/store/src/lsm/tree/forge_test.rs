//! Values and keys that contain records of logs and manifests to come, which a client can compute from
//! what it knows: the numbers of files and writes. None of them is ever read as a record.

use super::tree_test::{DIRECTORY, Model, content, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::error::Error;
use crate::lsm::file_name::FileName;
use crate::lsm::record::Kind;
use crate::lsm::vfs::{Fault, SimDisk, Survival, Vfs};
use crate::lsm::wal::{LogRecord, Write, put_record, put_write};
use std::path::Path;

/// Large enough that a log that is used again is not filled with zeros first.
fn options() -> TreeOptions {
    TreeOptions { memtable_bytes: 64 << 10, ..small(SyncMode::OnCall) }
}

fn set(tree: &Tree, key: &[u8], value: &[u8]) {
    let mut batch = Batch::default();
    batch.set(key, value);
    tree.write(&batch).unwrap();
}

/// A record as the writer of a log makes it.
fn record(log: u64, sequence: u64, after_sync: bool, write: Option<(&[u8], &[u8])>) -> Vec<u8> {
    let (mut payload, mut record) = (Vec::new(), Vec::new());
    if let Some((key, value)) = write {
        put_write(&mut payload, &Write { kind: Kind::Set, key, value });
    }
    put_record(&mut record, log, &LogRecord { sequence, after_sync, payload: &payload });
    record
}

/// A record that says that all before it was synced, so often that one of them is at a multiple of
/// eight, wherever this begins.
fn at_each_phase(log: u64) -> Vec<u8> {
    let mut all = Vec::new();
    for _ in 0..8 {
        all.extend(record(log, 1 << 40, true, None));
        all.push(0);
    }
    all
}

/// The highest number of a file of a kind.
fn newest(disk: &SimDisk, is_wanted: impl Fn(FileName) -> bool) -> u64 {
    let names = disk.list(Path::new(DIRECTORY)).unwrap();
    let files = names.iter().filter_map(|name| FileName::parse(name)).filter(|file| is_wanted(*file));
    files.map(FileName::number).max().unwrap()
}

fn is_log(file: FileName) -> bool {
    matches!(file, FileName::Log(_))
}

/// The value is in a log whose file is used again, then the process is killed: what is there when the
/// store is opened, and the number of the last log.
fn used_again(value: &[u8]) -> (Result<Model, Error>, u64) {
    let disk = SimDisk::new();
    let tree = open(&disk, options()).unwrap();
    set(&tree, b"mine", value);
    tree.flush().unwrap();
    set(&tree, b"k", b"1");
    tree.flush().unwrap();
    set(&tree, b"k", &LAST);
    let log = newest(&disk, is_log);
    let reused = disk.content()[&Path::new(DIRECTORY).join(FileName::Log(log).to_string())].clone();
    assert!(
        value.is_empty() || reused.windows(64).any(|bytes| value.windows(64).any(|part| part == bytes)),
        "the log holds nothing of the earlier one"
    );
    drop(tree);
    (open(&disk, options()).and_then(|tree| content(&tree)), log)
}

/// Bytes of a log before a value of 16 KiB or more whose key has four: a mark, a header, kind and lengths.
const BEFORE: usize = 24 + 24 + 1 + 1 + 3 + 4;

/// The last write, and where the log ends behind a mark and its record.
const LAST: [u8; 20] = [b'2'; 20];
const END: usize = 24 + 24 + (1 + 1 + 1 + 1 + LAST.len());

/// The number of the write that comes after those of [`used_again`].
const NEXT: u64 = 4;

#[test]
fn a_value_never_becomes_writes_of_a_log_to_come() {
    let mut value = vec![b'x'; 20_000];
    let (plain, log) = used_again(&value);
    let mut expected = Model::from([(b"mine".to_vec(), value.clone()), (b"k".to_vec(), LAST.to_vec())]);
    assert!(plain.unwrap() == expected);
    let forged = record(log, NEXT, false, Some((b"admin", b"forged")));
    value[END - BEFORE..END - BEFORE + forged.len()].copy_from_slice(&forged);
    expected.insert(b"mine".to_vec(), value.clone());
    let found = used_again(&value).0.unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert!(found == expected);
}

#[test]
fn a_value_never_makes_a_log_to_come_look_damaged() {
    let (_, log) = used_again(&[b'x'; 20_000]);
    let mut value = vec![b'x'; 20_000];
    let forged = at_each_phase(log);
    value[9_000..9_000 + forged.len()].copy_from_slice(&forged);
    let found = used_again(&value).0.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found[&b"k"[..]], LAST);
    assert!(found[&b"mine"[..]] == value);
}

#[test]
fn a_value_never_makes_the_end_of_its_own_log_look_damaged() {
    let mut torn = 0;
    for seed in 0..60 {
        let disk = SimDisk::new();
        let tree = open(&disk, options()).unwrap();
        set(&tree, b"k", b"1");
        tree.sync().unwrap();
        let value = at_each_phase(newest(&disk, is_log)).repeat(20);
        set(&tree, b"mine", &value);
        drop(tree);
        disk.restart(Survival::Some(seed));
        let tree = open(&disk, options()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let found = content(&tree).unwrap();
        assert_eq!(found[&b"k"[..]], b"1");
        torn += u32::from(!found.contains_key(&b"mine"[..]));
    }
    assert!(torn > 30, "{torn} of 60 were torn");
}

#[test]
fn a_key_never_makes_the_end_of_its_manifest_look_damaged() {
    let operations = |cut: Option<(u64, u64)>| {
        let disk = SimDisk::new();
        let tree = open(&disk, options()).unwrap();
        let manifest = newest(&disk, |file| matches!(file, FileName::Manifest(_)));
        let key = at_each_phase(manifest).repeat(20);
        set(&tree, &key, b"1");
        tree.sync().unwrap();
        if let Some((cut, seed)) = cut {
            disk.fail(cut, Fault::PowerCut);
            let _ = tree.flush();
            drop(tree);
            disk.restart(Survival::Some(seed));
            let what = format!("cut at {cut}, seed {seed}");
            let tree = open(&disk, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(content(&tree).unwrap() == Model::from([(key, b"1".to_vec())]), "{what}");
            return (0, 0);
        }
        let before = disk.operations();
        tree.flush().unwrap();
        (before, disk.operations())
    };
    let (before, after) = operations(None);
    assert!(after > before + 5, "{before} {after}");
    for cut in before..after {
        for seed in 0..20 {
            operations(Some((cut, seed)));
        }
    }
}

#[test]
fn each_opening_and_each_log_has_a_salt_of_its_own() {
    let disk = SimDisk::new();
    let logs = |tree: &Tree| {
        set(tree, b"k", b"1");
        let name = FileName::Log(newest(&disk, is_log)).to_string();
        let first = disk.content()[&Path::new(DIRECTORY).join(name)][8..16].to_vec();
        tree.flush().unwrap();
        first
    };
    let mut seen = Vec::new();
    for _ in 0..3 {
        let tree = open(&disk, options()).unwrap();
        seen.extend([logs(&tree), logs(&tree)]);
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
    assert!(seen.iter().all(|tag| tag[4..] != [0; 4]), "a number is no salt: {seen:?}");
}
