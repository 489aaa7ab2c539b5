//! Does a walk over memtables, tables and levels show what a sorted map holds, at any moment, in both directions?

use super::{Merge, Run, Visible};
use crate::lsm::manifest::{TableFacts, TableHandle};
use crate::lsm::memtable::{Memtable, MemtableCursor};
use crate::lsm::range_deletions::Ranges;
use crate::lsm::record::{Kind, Record, Sequence, Stamp};
use crate::lsm::table::{Compression, Shape, Table, TableBuilder};
use crate::lsm::vfs::{SimDisk, Vfs};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const NOW_MS: u64 = 1_000;

#[derive(Debug, Clone)]
struct Version {
    key: Vec<u8>,
    kind: Kind,
    value: Vec<u8>,
}

fn version() -> impl Strategy<Value = Version> {
    let key = prop::collection::vec(prop::sample::select(vec![0_u8, b'a', 255]), 0..4);
    (key, 0_u8..3, prop::collection::vec(any::<u8>(), 0..9), 900_u64..1_100).prop_map(
        |(key, kind, value, until)| {
            let kind = Kind::from_byte(kind).unwrap();
            let value = match kind {
                Kind::Delete => Vec::new(),
                Kind::Set => value,
                Kind::SetUntil => [&until.to_le_bytes()[..], &value].concat(),
                Kind::DeleteRange => unreachable!(),
            };
            Version { key, kind, value }
        },
    )
}

fn table(disk: &SimDisk, number: u64, versions: &[(Sequence, &Version)]) -> Option<TableHandle> {
    let path = PathBuf::from(format!("/d/{number}"));
    let shape =
        Shape { block_bytes: 30, compression: Compression::None, filter_bits_per_key: 0, piece_bytes: 100 };
    let mut builder = TableBuilder::new(disk.create(&path).unwrap(), number, shape);
    for (sequence, Version { key, kind, value }) in versions {
        builder.add(&Record { key, stamp: Stamp::new(*sequence, *kind), value }).unwrap();
    }
    let finished = builder.finish().unwrap()?;
    let facts = TableFacts {
        first_key: finished.first_key,
        last_key: finished.last_key,
        last_sequence: finished.last_sequence,
        ..TableFacts::default()
    };
    let table = Arc::new(Table::open(&vfs(disk), &path, number, None).unwrap());
    Some(TableHandle { facts: Arc::new(facts), table })
}

/// Versions dealt out to a memtable, a table, and a level of tables of three keys each.
fn merge(versions: &[(Version, u8)]) -> Merge {
    let disk = SimDisk::new();
    disk.make_dir(std::path::Path::new("/d"));
    let mut parts: [Vec<(Sequence, &Version)>; 3] = Default::default();
    for (sequence, (version, part)) in (1..).zip(versions) {
        parts[usize::from(*part)].push((sequence, version));
    }
    let (memtable, mut inserter) = Memtable::new(1 << 16, b"").unwrap();
    for (sequence, Version { key, kind, value }) in &parts[0] {
        assert!(memtable.insert(&mut inserter, &Record { key, stamp: Stamp::new(*sequence, *kind), value }));
    }
    for part in &mut parts[1..] {
        part.sort_by(|(a, one), (b, other)| one.key.cmp(&other.key).then(b.cmp(a)));
    }
    let mut runs = vec![Run::Memtable(MemtableCursor::new(Arc::new(memtable)))];
    runs.extend(table(&disk, 1, &parts[1]).map(|table| Run::table(&table)));
    let keys: Vec<_> = parts[2].chunk_by(|(_, one), (_, other)| one.key == other.key).collect();
    let groups = keys.chunks(3).enumerate();
    let level: Vec<_> =
        groups.filter_map(|(number, keys)| table(&disk, 10 + number as u64, &keys.concat())).collect();
    runs.push(Run::level(level.into()));
    // What the keys of many tests begin with, and many do not.
    Merge::new(runs, b"a")
}

/// From where to where, and when.
type Deleted = (Vec<u8>, Option<Vec<u8>>, Sequence);

fn range() -> impl Strategy<Value = Deleted> {
    let key = || prop::collection::vec(prop::sample::select(vec![0_u8, b'a', 255]), 0..4);
    (key(), prop::option::of(key()), 1_u64..70)
}

/// What is seen at a sequence number.
fn model(versions: &[(Version, u8)], ranges: &[Deleted], at: Sequence) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut model = BTreeMap::new();
    for (number, (Version { key, kind, value }, _)) in (1..=at).zip(versions) {
        let is_hidden = ranges.iter().any(|(start, end, sequence)| {
            let is_within = start <= key && end.as_ref().is_none_or(|end| key < end);
            is_within && number < *sequence && *sequence <= at
        });
        let lives = match kind {
            _ if is_hidden => None,
            Kind::Delete | Kind::DeleteRange => None,
            Kind::Set => Some(value.clone()),
            Kind::SetUntil => {
                let until = u64::from_le_bytes(*value.first_chunk().unwrap());
                (NOW_MS < until).then(|| value[8..].to_vec())
            }
        };
        match lives {
            Some(value) => model.insert(key.clone(), value),
            None => model.remove(key),
        };
    }
    model
}

fn owned((key, value): (&[u8], &[u8])) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), value.to_vec())
}

fn pair((key, value): (&Vec<u8>, &Vec<u8>)) -> (Vec<u8>, Vec<u8>) {
    (key.clone(), value.clone())
}

proptest! {
    #[test]
    fn a_walk_shows_what_a_reader_sees(
        versions in prop::collection::vec((version(), 0_u8..3), 0..60),
        ranges in prop_oneof![Just(Vec::new()), prop::collection::vec(range(), 0..4)],
        at in 0_u64..70,
        steps in prop::collection::vec((0_u8..6, prop::collection::vec(prop::sample::select(vec![0_u8, b'a', 255]), 0..4)), 0..40),
    ) {
        let model = model(&versions, &ranges, at);
        let deleted = ranges.iter().fold(Ranges::default(), |all, (start, end, sequence)| {
            all.with(&Ranges::one(start, end.as_deref(), *sequence))
        });
        let mut walk = Visible::new(merge(&versions), at, NOW_MS).without(deleted.seen_at(at));
        let mut place: Option<Vec<u8>> = None;
        for (step, key) in steps {
            let expected = match step {
                0 => { walk.first().unwrap(); model.iter().next() }
                1 => { walk.last().unwrap(); model.iter().next_back() }
                2 => { walk.seek(&key).unwrap(); model.range(key..).next() }
                3 => { walk.seek_before(&key).unwrap(); model.range(..key).next_back() }
                4 => {
                    walk.next().unwrap();
                    place.and_then(|place| model.range(place..).nth(1))
                }
                _ => {
                    walk.previous().unwrap();
                    place.and_then(|place| model.range(..place).next_back())
                }
            };
            prop_assert_eq!(walk.pair().map(owned), expected.map(pair));
            place = expected.map(|(key, _)| key.clone());
        }
        let mut all = Vec::new();
        walk.first().unwrap();
        while let Some(found) = walk.pair() {
            all.push(owned(found));
            walk.next().unwrap();
        }
        prop_assert_eq!(all, model.into_iter().collect::<Vec<_>>());
    }
}

fn vfs(disk: &SimDisk) -> Arc<dyn Vfs> {
    Arc::new(disk.clone())
}
