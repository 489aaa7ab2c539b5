//! Does a walk over memtables, tables and levels show what a sorted map holds, at any moment, in both directions?

use super::{Merge, Run, Visible};
use crate::lsm::common::Common;
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
    Merge::new(runs, Arc::new(Common::from(b"a")))
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

/// Walks over tables of long blocks to and fro: all of it is shown, and one block at most is in memory.
#[test]
fn long_blocks_are_in_memory_one_at_a_time_and_are_shown_whole() {
    const TABLES: u64 = 10;
    let disk = SimDisk::new();
    disk.make_dir(std::path::Path::new("/d"));
    let mut random = fastrand::Rng::with_seed(1);
    let mut all = BTreeMap::new();
    let mut runs = Vec::new();
    for number in 0..TABLES {
        let versions: Vec<_> = (0..20_u64)
            .map(|at| {
                let key = format!("{:03}", at * TABLES + (number + at * 7) % TABLES).into_bytes();
                let value = vec![number as u8; if at % 5 == 4 { 3 } else { random.usize(50..20_000) }];
                all.insert(key.clone(), value.clone());
                Version { key, kind: Kind::Set, value }
            })
            .collect();
        let versions: Vec<_> = versions.iter().map(|version| (number + 1, version)).collect();
        let handle = table(&disk, number + 1, &versions).unwrap();
        runs.push(if number % 2 == 0 { Run::table(&handle) } else { Run::level([handle].into()) });
    }
    let mut merge = Merge::new(runs, Arc::new(Common::from(b"0")));
    let all: Vec<_> = all.into_iter().collect();
    assert_eq!(all.len(), 20 * TABLES as usize);
    let mut place = 0_usize;
    merge.first().unwrap();
    for step in 0..2_000 {
        let record = merge.record().unwrap();
        assert_eq!((record.key, record.value), (&all[place].0[..], &all[place].1[..]), "step {step}");
        let held = merge.held_bytes();
        assert!(held.iter().filter(|bytes| **bytes > 200).count() <= 1, "{held:?}");
        let is_forward = if step % 500 < 400 { random.u32(..5) > 0 } else { false };
        if random.u32(..50) == 0 {
            place = random.usize(..all.len());
            merge.seek(&all[place].0, Stamp::newest_at(100)).unwrap();
        } else if is_forward && place + 1 < all.len() {
            place += 1;
            merge.next().unwrap();
        } else if place > 0 {
            place -= 1;
            merge.previous().unwrap();
        }
    }
}
