//! Are several keys that are looked up together what they are one by one, and is a block read once for all that it holds?

use super::tree_test::{open, small};
use super::{Batch, SyncMode, TreeOptions};
use crate::lsm::table::{Compression, Shape};
use crate::lsm::vfs::SimDisk;
use proptest::prelude::*;

type Found = Option<(Vec<u8>, Option<u64>)>;

/// What becomes of a key: a value that stays, one until a time, or a deletion.
fn write() -> impl Strategy<Value = (u8, Option<(usize, Option<u64>)>)> {
    (0_u8..80, prop::option::weighted(0.8, (0_usize..60, prop::option::weighted(0.3, 900_u64..1_100))))
}

proptest! {
    #[test]
    fn keys_together_are_what_they_are_one_by_one(
        parts in prop::collection::vec((prop::collection::vec(write(), 1..50), 0_u8..4), 1..8),
        asked in prop::collection::vec(0_u8..90, 0..60),
        cache_bytes in prop::sample::select(vec![0_u64, 1 << 20]),
        filter_bits_per_key in prop::sample::select(vec![0_u32, 10]),
    ) {
        let disk = SimDisk::new();
        let base = small(SyncMode::OnCall);
        let options = TreeOptions { cache_bytes, shape: Shape { filter_bits_per_key, ..base.shape }, ..base };
        let tree = open(&disk, options).unwrap();
        let mut early = None;
        for (writes, then) in parts {
            let mut batch = Batch::default();
            for (number, (key, value)) in writes.into_iter().enumerate() {
                match value {
                    Some((len, Some(until_ms))) => batch.set_until(&[key], &vec![number as u8; len], until_ms),
                    Some((len, None)) => batch.set(&[key], &vec![number as u8; len]),
                    None => batch.delete(&[key]),
                }
            }
            tree.write(&batch).unwrap();
            match then {
                0 => {}
                1 => tree.flush().unwrap(),
                2 => tree.settle().unwrap(),
                _ => {
                    let mut ingest = tree.ingest();
                    for key in [3, 33, 66] {
                        ingest.add(&[key], b"ingested", None).unwrap();
                    }
                    ingest.prepare().unwrap();
                    ingest.install().unwrap();
                }
            }
            early.get_or_insert_with(|| tree.snapshot());
        }
        let keys: Vec<[u8; 1]> = asked.iter().map(|key| [*key]).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        for snapshot in [Some(tree.snapshot()), early].into_iter().flatten() {
            let one_by_one: Vec<Found> = keys
                .iter()
                .map(|key| snapshot.get(key, |live| (live.value.to_vec(), live.until_ms)).unwrap())
                .collect();
            let mut together: Vec<Found> = vec![None; keys.len()];
            snapshot
                .get_many(&keys, |place, live| {
                    let before = together[place].replace((live.value.to_vec(), live.until_ms));
                    assert_eq!(before, None, "a key is answered once");
                })
                .unwrap();
            prop_assert_eq!(together, one_by_one);
        }
    }
}

#[test]
fn a_block_is_read_once_for_all_keys_in_it() {
    let disk = SimDisk::new();
    let shape = Shape {
        block_bytes: 1_000,
        compression: Compression::None,
        filter_bits_per_key: 10,
        piece_bytes: 1_000,
    };
    let options = TreeOptions {
        cache_bytes: 0,
        shape,
        open_tables: 100,
        table_bytes: 20_000,
        ..small(SyncMode::OnCall)
    };
    let tree = open(&disk, options).unwrap();
    let keys: Vec<_> = (0..1_000_u32).map(u32::to_be_bytes).collect();
    let mut ingest = tree.ingest();
    keys.iter().for_each(|key| ingest.add(key, &[7; 80], None).unwrap());
    ingest.prepare().unwrap();
    ingest.install().unwrap();
    let tables = tree.stats().levels.iter().map(|(tables, _)| tables).sum::<usize>();
    // From the last to the first, and as one would ask for them.
    for step in [1, 2, 7, 100] {
        let asked: Vec<&[u8]> = keys.iter().rev().step_by(step).map(|key| &key[..]).collect();
        let snapshot = tree.snapshot();
        let (before, mut found) = (disk.operations(), 0);
        snapshot.get_many(&asked, |_, _| found += 1).unwrap();
        let reads = disk.operations() - before;
        // A block ends with the key at which it has 1,000 bytes: twelve keys of some 87.
        let blocks = (1_000 / 11 + tables).min(asked.len()) as u64;
        println!("{} keys in {tables} tables: {reads} reads, {blocks} expected at most", asked.len());
        assert!(found == asked.len() && reads <= blocks, "{reads} reads for {} keys, {blocks}", asked.len());
        assert!(step > 7 || reads < asked.len() as u64);
    }
}
