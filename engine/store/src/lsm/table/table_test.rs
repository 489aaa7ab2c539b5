//! Does a table give back what a sorted map holds, through a cache and without, and is every damaged byte noticed?

use super::{BlockCache, Compression, MOST_AHEAD, Shape, Table, TableBuilder, TableCursor, hash};
use crate::error::Error;
use crate::lsm::record::{Kind, Record, Stamp};
use crate::lsm::vfs::{SimDisk, Vfs};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

type Model = BTreeMap<(Vec<u8>, Reverse<Stamp>), Vec<u8>>;
type Owned = (Vec<u8>, Stamp, Vec<u8>);

const PATH: &str = "/d/7.table";

fn model(most: usize) -> impl Strategy<Value = Model> {
    let key = prop::collection::vec(prop::sample::select(vec![0_u8, 1, b'a', 255]), 0..9);
    let stamp = (0_u64..40, 0_u8..3)
        .prop_map(|(sequence, kind)| Reverse(Stamp::new(sequence, Kind::from_byte(kind).unwrap())));
    prop::collection::btree_map((key, stamp), prop::collection::vec(any::<u8>(), 0..40), 1..most)
}

fn written(model: &Model, shape: Shape) -> SimDisk {
    let disk = SimDisk::new();
    disk.make_dir(Path::new("/d"));
    let mut builder = TableBuilder::new(disk.create(Path::new(PATH)).unwrap(), 7, shape);
    for ((key, stamp), value) in model {
        builder.add(&Record { key, stamp: stamp.0, value }).unwrap();
    }
    let finished = builder.finish().unwrap().unwrap();
    let (first, last) = (&model.keys().next().unwrap().0, &model.keys().next_back().unwrap().0);
    assert_eq!((&finished.first_key, &finished.last_key), (first, last));
    assert_eq!(finished.versions, model.len() as u64);
    assert_eq!(finished.bytes, disk.content()[Path::new(PATH)].len() as u64);
    assert_eq!(finished.last_sequence, model.keys().map(|(_, stamp)| stamp.0.sequence()).max().unwrap());
    disk
}

fn expected((key, value): (&(Vec<u8>, Reverse<Stamp>), &Vec<u8>)) -> Owned {
    (key.0.clone(), key.1.0, value.clone())
}

fn shown(record: Record) -> Owned {
    (record.key.to_vec(), record.stamp, record.value.to_vec())
}

fn get(table: &Table, key: &[u8], stamp: Stamp) -> Result<Option<(Stamp, Vec<u8>)>, Error> {
    table.get(key, hash(key), stamp, |stamp, value| (stamp, value.to_vec()))
}

fn all(table: &Arc<Table>) -> Result<Vec<Owned>, Error> {
    let mut cursor = TableCursor::new(Arc::clone(table), MOST_AHEAD);
    let mut found = Vec::new();
    cursor.first()?;
    while let Some(record) = cursor.record() {
        found.push(shown(record));
        cursor.next()?;
    }
    Ok(found)
}

proptest! {
    #[test]
    fn a_table_is_a_sorted_map(
        model in model(300),
        block_bytes in 1_usize..600,
        compression in prop::sample::select(vec![Compression::None, Compression::Lz4, Compression::Zstd]),
        filter_bits_per_key in prop::sample::select(vec![0_u32, 10]),
        cache_bytes in prop::sample::select(vec![0_u64, 2_000, 1 << 20]),
        probes in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..45, 0_usize..3), 1..30),
    ) {
        let disk = written(&model, Shape { block_bytes, compression, filter_bits_per_key, piece_bytes: 1_000 });
        let cache = (cache_bytes > 0).then(|| Arc::new(BlockCache::new(cache_bytes, block_bytes)));
        let table = Arc::new(Table::open(&vfs(&disk), Path::new(PATH), 7, cache).unwrap());
        let everything: Vec<_> = model.iter().map(expected).collect();
        prop_assert_eq!(&all(&table).unwrap(), &everything);
        let mut cursor = TableCursor::new(Arc::clone(&table), MOST_AHEAD);
        let mut backward = Vec::new();
        cursor.last().unwrap();
        while let Some(record) = cursor.record() {
            backward.push(shown(record));
            cursor.previous().unwrap();
        }
        backward.reverse();
        prop_assert_eq!(&backward, &everything);
        for (index, sequence, change) in probes {
            let mut key = index.get(&everything).0.clone();
            match change {
                1 => key.push(0),
                2 => drop(key.pop()),
                _ => {}
            }
            let stamp = Stamp::newest_at(sequence);
            let from = (key.clone(), Reverse(stamp));
            let next = model.range(from.clone()..).next().map(expected);
            let newest = next.clone().filter(|(found, ..)| *found == key).map(|(_, stamp, value)| (stamp, value));
            prop_assert_eq!(get(&table, &key, stamp).unwrap(), newest);
            cursor.seek(&key, stamp).unwrap();
            prop_assert_eq!(cursor.record().map(shown), next);
            cursor.seek_before(&key, stamp).unwrap();
            prop_assert_eq!(cursor.record().map(shown), model.range(..from).next_back().map(expected));
        }
    }
}

#[test]
fn every_flipped_or_missing_byte_is_an_error_with_file_and_offset() {
    let model: Model = (0..120_u64)
        .map(|number| ((number.to_be_bytes().to_vec(), Reverse(Stamp::new(number, Kind::Set))), vec![7; 20]))
        .collect();
    let shape = Shape {
        block_bytes: 500,
        compression: Compression::Lz4,
        filter_bits_per_key: 10,
        piece_bytes: 1_000,
    };
    let disk = written(&model, shape);
    let len = disk.content()[Path::new(PATH)].len();
    let everything: Vec<_> = model.iter().map(expected).collect();
    let read = || all(&Arc::new(Table::open(&vfs(&disk), Path::new(PATH), 7, None)?));
    for at in 0..len {
        disk.flip(Path::new(PATH), at, 1 << (at % 8));
        let Err(Error::Corrupt { path, offset, .. }) = read() else { panic!("byte {at} of {len}") };
        assert!(path.ends_with("7.table") && offset <= at as u64, "byte {at}: {offset}");
        disk.flip(Path::new(PATH), at, 1 << (at % 8));
    }
    assert_eq!(read().unwrap(), everything);
    for cut in (0..len).rev() {
        disk.truncate(Path::new(PATH), cut);
        assert!(matches!(read(), Err(Error::Corrupt { .. })), "{cut} of {len}");
    }
}

fn vfs(disk: &SimDisk) -> Arc<dyn Vfs> {
    Arc::new(disk.clone())
}
