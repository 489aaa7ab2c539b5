//! Are files of format version 1 still read, byte for byte as they were written then?
//!
//! They lie in `tests/fixtures/v1/`; `tests/fixtures.rs` opens a whole store there. A format that changes before it is released gets new ones by
//! `UPDATE_FIXTURES=1 cargo test -p plumbkv fixture`; one that has been released keeps its files for ever, and the next version gets a folder of its own.

use super::manifest::{Edit, Manifest, TableFacts};
use super::record::{Kind, Record, Stamp};
use super::table::{
    BlockCache, Compression, MOST_AHEAD, PageCache, Shape, Table, TableBuilder, TableCursor, hash,
};
use super::vfs::{Disk, Vfs};
use super::wal::{Ended, LogWriter, Write, put_write, read, writes};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LOG: u64 = 7;
const TABLE: u64 = 12;
const MANIFEST: u64 = 3;

/// The folder of these files, empty where they are to be written anew.
fn folder(of: &str) -> (PathBuf, bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1").join(of);
    let renew = std::env::var_os("UPDATE_FIXTURES").is_some();
    if renew {
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
    }
    (path, renew)
}

/// Kind, key, value.
type OwnedWrite = (Kind, Vec<u8>, Vec<u8>);

/// Batches with their first sequence numbers: writes of every kind, an empty key and value, one of more than a block.
fn batches() -> Vec<(u64, Vec<OwnedWrite>)> {
    let until = [1_800_000_000_000_u64.to_le_bytes().to_vec(), b"for a while".to_vec()].concat();
    vec![
        (1, vec![(Kind::Set, b"apple".to_vec(), b"red".to_vec()), (Kind::Set, b"".to_vec(), b"".to_vec())]),
        (3, vec![(Kind::Delete, b"apple".to_vec(), b"".to_vec())]),
        (4, vec![(Kind::SetUntil, vec![0, 255], until), (Kind::Set, b"long".to_vec(), vec![b'x'; 1_000])]),
    ]
}

#[test]
fn a_log_of_version_1_is_read() {
    let (folder, renew) = folder("log");
    let path = folder.join(format!("{LOG:06}.log"));
    if renew {
        let mut log = LogWriter::new(Disk.create(&path).unwrap(), LOG);
        log.mark(1);
        for (sequence, batch) in batches() {
            let mut payload = Vec::new();
            batch
                .iter()
                .for_each(|(kind, key, value)| put_write(&mut payload, &Write { kind: *kind, key, value }));
            log.add(sequence, &payload);
            log.write().unwrap();
        }
        log.end(6).unwrap();
    }
    let file = Disk.open(&path).unwrap();
    let (mut found, mut marks) = (Vec::new(), Vec::new());
    let ended = read(&*file, LOG, |record| {
        if record.payload.is_empty() {
            marks.push((record.sequence, record.after_sync));
        } else {
            let batch = writes(record.payload).map(Result::unwrap);
            found.push((
                record.sequence,
                batch.map(|one| (one.kind, one.key.to_vec(), one.value.to_vec())).collect(),
            ));
        }
        Ok::<_, ()>(())
    });
    assert_eq!(found, batches());
    assert_eq!(marks, [(1, true), (6, true)]);
    assert_eq!(ended.unwrap().unwrap(), Ended::Here(file.len().unwrap()));
    // It is no other log's.
    let nothing = read(&*file, LOG + 1, |_| Err(()));
    assert_eq!(nothing.unwrap().unwrap(), Ended::Here(0));
}

/// Two versions of a key, what is deleted and what ends, keys that share much, values that compress and one that does not.
fn versions() -> Vec<(Vec<u8>, Stamp, Vec<u8>)> {
    let mut all = vec![
        (b"a".to_vec(), Stamp::new(9, Kind::Delete), Vec::new()),
        (b"a".to_vec(), Stamp::new(2, Kind::Set), b"old".to_vec()),
        (
            b"b".to_vec(),
            Stamp::new(3, Kind::SetUntil),
            [&1_800_000_000_000_u64.to_le_bytes()[..], b"b"].concat(),
        ),
    ];
    for number in 0..60_u8 {
        let value = match number % 20 {
            0 => (0..=255).map(|byte: u8| byte.wrapping_mul(byte ^ number)).collect(),
            _ => vec![number; 30],
        };
        all.push((
            format!("key:{number:04}").into_bytes(),
            Stamp::new(10 + u64::from(number), Kind::Set),
            value,
        ));
    }
    all
}

#[test]
fn tables_of_version_1_are_read_compressed_and_not() {
    let (folder, renew) = folder("table");
    for (name, compression, filter_bits_per_key) in [
        ("lz4", Compression::Lz4, 10),
        ("none", Compression::None, 10),
        ("no-filter", Compression::Lz4, 0),
        ("zstd", Compression::Zstd, 10),
    ] {
        let path = folder.join(format!("{name}.table"));
        if renew {
            let shape = Shape { block_bytes: 512, compression, filter_bits_per_key, piece_bytes: 4_096 };
            let mut builder = TableBuilder::new(Disk.create(&path).unwrap(), TABLE, shape);
            for (key, stamp, value) in &versions() {
                builder.add(&Record { key, stamp: *stamp, value }).unwrap();
            }
            builder.finish().unwrap();
        }
        let vfs: Arc<dyn Vfs> = Arc::new(Disk);
        let table = Table::open(&vfs, &path, TABLE, Some(Arc::new(BlockCache::new(1 << 20, 512)))).unwrap();
        // As in a store that is far larger than memory.
        let pages = Arc::new(PageCache::new(Some(1)));
        pages.set_stored(u64::MAX);
        let table = Arc::new(table.asking(&pages));
        assert_eq!(table.versions(), versions().len() as u64);
        let mut cursor = TableCursor::new(Arc::clone(&table), MOST_AHEAD);
        let mut found = Vec::new();
        cursor.first().unwrap();
        while let Some(record) = cursor.record() {
            found.push((record.key.to_vec(), record.stamp, record.value.to_vec()));
            cursor.next().unwrap();
        }
        assert_eq!(found, versions(), "{name}");
        for (key, stamp, value) in versions() {
            let get = |key: &[u8]| {
                table.get(key, hash(key), stamp, |stamp, value| (stamp, value.to_vec())).unwrap()
            };
            assert_eq!(get(&key), Some((stamp, value)), "{name}");
            assert_eq!(get(&[&key[..], b"!"].concat()), None, "{name}");
        }
        assert!(Table::open(&vfs, &path, TABLE + 1, None).is_err(), "{name}: it passes for another's");
    }
}

fn edits() -> Vec<Edit> {
    let facts = |number: u64, first: &[u8], last: &[u8]| TableFacts {
        number,
        bytes: 1_000 * number,
        versions: 10 * number,
        last_sequence: 100 * number,
        first_key: first.to_vec(),
        last_key: last.to_vec(),
        deletions: number % 3,
        first_end_ms: (number > 1).then_some(1_800_000_000_000),
        is_ingested: number == 300,
        cleaned: 0,
    };
    vec![
        Edit {
            added: vec![(0, facts(1, b"a", b"m")), (1, facts(2, b"", &[255; 20]))],
            first_log: Some(4),
            next_file: Some(6),
            last_sequence: Some(200),
            ..Edit::default()
        },
        Edit { added: vec![(6, facts(300, b"k", b"k"))], removed: vec![(0, 1), (1, 2)], ..Edit::default() },
        Edit { closed: Some(1 << 50), ..Edit::default() },
    ]
}

#[test]
fn a_manifest_of_version_1_is_read() {
    let (folder, renew) = folder("manifest");
    if renew {
        let mut manifest = Manifest::create(&Disk, &folder, MANIFEST, &edits()[0]).unwrap();
        edits()[1..].iter().for_each(|edit| manifest.append(edit).unwrap());
    }
    let found = Manifest::recover(&Disk, &folder).unwrap().unwrap();
    assert_eq!((found.number, found.edits), (MANIFEST, edits()));
}
