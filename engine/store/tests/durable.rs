//! Does a durable database do what a plain map would, in a real directory, whatever is flushed, merged and opened again meanwhile?

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

mod calls;

use calls::{Call, Key, Model, START, call, compare, step};
use plumbkv::{
    Batch, Compression, Database, Direction, Error, Fetched, ManualClock, Options, Profile, SyncMode,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn every_kind_of_range_is_deleted_up_to_its_ends_and_no_further() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path())).unwrap();
    let longest = vec![9; plumbkv::MAX_KEY_BYTES];
    let keys: Vec<&[u8]> = vec![b"", b"a", b"a\0", b"b", b"b\0", b"c", &longest, &[255; 9]];
    let mut keys = keys;
    keys.sort_unstable();
    let bounds = || keys.iter().flat_map(|key| [Included(*key), Excluded(*key)]).chain([Unbounded]);
    for (from, to) in bounds().flat_map(|from| bounds().map(move |to| (from, to))) {
        for key in &keys {
            db.set(key, b"value").unwrap();
        }
        let before = db.snapshot().unwrap();
        db.delete_range((from, to)).unwrap();
        let is_within = |key: &[u8]| {
            let is_above = match from {
                Included(from) => from <= key,
                Excluded(from) => from < key,
                Unbounded => true,
            };
            is_above
                && match to {
                    Included(to) => key <= to,
                    Excluded(to) => key < to,
                    Unbounded => true,
                }
        };
        for key in &keys {
            assert_eq!(db.get(key).unwrap().is_none(), is_within(key), "{key:?} of {from:?}..{to:?}");
            assert!(before.get(key).unwrap().is_some());
        }
    }
    let too_long = vec![9; plumbkv::MAX_KEY_BYTES + 2];
    assert!(matches!(db.delete_range(&too_long[..]..), Err(Error::KeyTooLong { .. })));
}

#[derive(Debug, Clone)]
enum Step {
    Call(Call),
    Batch(Vec<(Key, Option<Vec<u8>>)>),
    DeleteRange(Key, Key),
    Ingest(BTreeMap<Key, (Vec<u8>, Option<u64>)>),
    Flush,
    Compact,
    Sync,
    Drop,
    Close,
}

fn key() -> impl Strategy<Value = Key> {
    (0..30u8)
        .prop_map(|number| vec![b'k'; 1 + usize::from(number) % 3 * 20].into_iter().chain([number]).collect())
}

fn any_step() -> impl Strategy<Value = Step> {
    let write = (key(), proptest::option::of(proptest::collection::vec(any::<u8>(), 0..90)));
    prop_oneof![
        20 => call().prop_map(Step::Call),
        2 => proptest::collection::vec(write, 0..6).prop_map(Step::Batch),
        1 => (key(), key()).prop_map(|(from, to)| Step::DeleteRange(from, to)),
        1 => proptest::collection::btree_map(key(), (proptest::collection::vec(any::<u8>(), 0..90), proptest::option::of(1_u64..50)), 0..9).prop_map(Step::Ingest),
        2 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Sync),
        1 => Just(Step::Drop),
        1 => Just(Step::Close),
    ]
}

fn options(path: &Path, clock: &Arc<ManualClock>, profile: Profile) -> Options {
    Options::durable(path)
        .profile(profile)
        .memory_budget(1 << 20)
        .sync_mode(SyncMode::Never)
        .clock(clock.clone())
}

proptest! {
    #![proptest_config(calls::config!(60))]

    #[test]
    fn a_durable_database_behaves_like_a_map(
        steps in proptest::collection::vec(any_step(), 1..120),
        profile in prop::sample::select(vec![Profile::Default, Profile::LowMemory]),
        // Where writes are synced, read-modify-writes are combined.
        sync in prop::sample::select(vec![SyncMode::Never, SyncMode::Always]),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let open = || Database::open(options(directory.path(), &clock, profile).sync_mode(sync)).unwrap();
        let mut db = open();
        let mut model = Model { now: START, ..Model::default() };
        for one in steps {
            match one {
                Step::Call(call) => step(&db, &clock, &mut model, call)?,
                Step::Batch(writes) => {
                    let mut batch = Batch::new();
                    for (key, value) in writes {
                        match value {
                            Some(value) => {
                                batch.set(&key, &value);
                                model.entries.insert(key, (value, None));
                            }
                            None => {
                                batch.delete(&key);
                                model.entries.remove(&key);
                            }
                        }
                    }
                    db.write(&batch).unwrap();
                }
                Step::DeleteRange(from, to) => {
                    model.drop_ended();
                    let gone: Vec<_> = if from < to { model.entries.range(from.clone()..to.clone()).map(|(key, _)| key.clone()).collect() } else { Vec::new() };
                    db.delete_range(&from[..]..&to[..]).unwrap();
                    gone.iter().for_each(|key| drop(model.entries.remove(key)));
                }
                Step::Ingest(pairs) => {
                    let mut ingest = db.begin_ingest().unwrap();
                    for (key, (value, lasts)) in pairs {
                        let until = lasts.map(|lasts| model.now + lasts);
                        match until {
                            Some(until) => ingest.set_until(&key, &value, until).unwrap(),
                            None => ingest.set(&key, &value).unwrap(),
                        }
                        model.entries.insert(key, (value, until));
                    }
                    ingest.finish().unwrap();
                }
                Step::Flush => db.flush().unwrap(),
                Step::Compact => db.compact().unwrap(),
                Step::Sync => db.sync().unwrap(),
                Step::Drop => {
                    drop(db);
                    db = open();
                }
                Step::Close => {
                    db.close().unwrap();
                    db = open();
                }
            }
        }
        compare(&db, &mut model)?;
        let snapshot = db.snapshot().unwrap();
        let everything: Vec<_> = model.entries.iter().map(|(key, (value, _))| (key.clone(), value.clone())).collect();
        let walked = |direction| snapshot.range(.., direction).collect::<Result<Vec<_>, _>>().unwrap();
        prop_assert_eq!(&walked(Direction::Forward), &everything);
        let mut backward = walked(Direction::Backward);
        backward.reverse();
        prop_assert_eq!(&backward, &everything);
        prop_assert!(db.verify(|_| ()).is_ok());
        let (mut cursor, mut scanned) = (0, Vec::new());
        loop {
            cursor = db.scan(cursor, 7, &mut |key| scanned.push(key.to_vec())).unwrap();
            if cursor == 0 {
                break;
            }
        }
        prop_assert!(scanned.iter().eq(model.entries.keys()));
    }
}

fn open(path: &Path) -> Database {
    Database::open(Options::durable(path)).unwrap()
}

#[test]
fn a_checkpoint_is_a_database_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("one"));
    for number in 0..5_000_u32 {
        db.set(&number.to_be_bytes(), &[7; 100]).unwrap();
    }
    let copy = directory.path().join("copy");
    db.checkpoint(&copy).unwrap();
    assert!(matches!(db.checkpoint(&copy), Err(Error::InvalidOption { option: "checkpoint", .. })));
    db.clear().unwrap();
    db.set(b"new", b"value").unwrap();
    let copy = open(&copy);
    assert_eq!(copy.snapshot().unwrap().range(.., Direction::Forward).count(), 5_000);
    assert_eq!(copy.get(b"new").unwrap(), None);
    copy.set(b"other", b"value").unwrap();
    assert_eq!(db.get(b"other").unwrap(), None);
    assert_eq!(db.verify(|_| ()).unwrap(), 0);
}

#[test]
fn a_snapshot_stays_what_it_was_while_everything_changes() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).memory_budget(1 << 20)).unwrap();
    for number in 0..2_000_u32 {
        db.set(&number.to_be_bytes(), b"old").unwrap();
    }
    let snapshot = db.snapshot().unwrap();
    for number in 0..20_000_u32 {
        db.set(&(number % 2_000).to_be_bytes(), &[1; 100]).unwrap();
    }
    db.compact().unwrap();
    db.clear().unwrap();
    let found: Result<Vec<_>, _> = snapshot.range(.., Direction::Forward).collect();
    let found = found.unwrap();
    assert!(found.len() == 2_000 && found.iter().all(|(_, value)| value == b"old"));
    assert!(db.snapshot().unwrap().range(.., Direction::Backward).next().is_none());
}

#[test]
fn ranges_and_prefixes_have_the_bounds_that_were_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let keys: [&[u8]; 7] = [b"", b"a", b"a\0", b"ab", b"b", b"\xff", b"\xff\xff"];
    for key in keys {
        db.set(key, b"").unwrap();
    }
    let snapshot = db.snapshot().unwrap();
    let of = |range: plumbkv::Range| range.map(|pair| pair.unwrap().0).collect::<Vec<_>>();
    for direction in [Direction::Forward, Direction::Backward] {
        let check = |found: Vec<Vec<u8>>, mut expected: Vec<&[u8]>| {
            if direction == Direction::Backward {
                expected.reverse();
            }
            assert_eq!(found, expected);
        };
        check(of(snapshot.range(.., direction)), keys.to_vec());
        check(of(snapshot.range(&b"a"[..]..&b"b"[..], direction)), keys[1..4].to_vec());
        check(of(snapshot.range(&b"a"[..]..=&b"b"[..], direction)), keys[1..5].to_vec());
        check(of(snapshot.range(&b"b"[..].., direction)), keys[4..].to_vec());
        check(of(snapshot.range(..=&b"a"[..], direction)), keys[..2].to_vec());
        check(of(snapshot.prefix(b"a", direction)), keys[1..4].to_vec());
        check(of(snapshot.prefix(b"\xff", direction)), keys[5..].to_vec());
        check(of(snapshot.prefix(b"", direction)), keys.to_vec());
        check(of(snapshot.prefix(b"zz", direction)), vec![]);
    }
}

#[test]
fn many_threads_count_to_the_same_sum_and_all_of_it_is_there_afterwards() {
    for sync in [SyncMode::Always, SyncMode::Interval(Duration::from_millis(1)), SyncMode::Never] {
        let directory = tempfile::tempdir().unwrap();
        let options = || {
            Options::durable(directory.path())
                .sync_mode(sync)
                .memory_budget(1 << 20)
                .compression(Compression::None)
        };
        let db = Database::open(options()).unwrap();
        let rounds = if sync == SyncMode::Always { 50 } else { 2_000 };
        std::thread::scope(|scope| {
            for thread in 0..8_u64 {
                let db = &db;
                scope.spawn(move || {
                    for round in 0..rounds {
                        db.increment(b"sum", 1).unwrap();
                        db.set(&(thread * 1_000_000 + round).to_be_bytes(), &[thread as u8; 50]).unwrap();
                    }
                });
            }
        });
        drop(db);
        let db = Database::open(options()).unwrap();
        assert_eq!(db.get(b"sum").unwrap(), Some((8 * rounds).to_string().into_bytes()));
        assert_eq!(db.snapshot().unwrap().range(.., Direction::Forward).count() as u64, 8 * rounds + 1);
    }
}

/// A write that depends on what is there may not have looked before the ingest and write behind it.
#[test]
fn an_ingest_does_not_come_between_a_look_and_the_write_that_follows_it() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let floor = AtomicI64::new(0);
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut counted = 0;
            while floor.load(Ordering::SeqCst) < 200_000_000 {
                let least = floor.load(Ordering::SeqCst);
                let sum = db.increment(b"counter", 1).unwrap();
                assert!(sum > least, "{sum} after {least} had been ingested");
                counted += 1;
            }
            counted
        });
        for round in 1..=200 {
            db.ingest([("counter", (round * 1_000_000).to_string())]).unwrap();
            floor.store(round * 1_000_000, Ordering::SeqCst);
        }
        assert!(counting.join().unwrap() > 200);
    });
    assert!(db.increment(b"counter", 0).unwrap() >= 200_000_000);
}

#[test]
fn compressions_can_be_changed_and_zstd_makes_the_smallest_files() {
    let directory = tempfile::tempdir().unwrap();
    let open = |compression| {
        let options = Options::durable(directory.path()).memory_budget(1 << 20).compression(compression);
        Database::open(options).unwrap()
    };
    let value = |number: u32| {
        format!(
            "{{\"name\": \"user {number}\", \"mail\": \"user{number}@example.org\", \"age\": {}}}",
            number % 90
        )
    };
    let mut sizes = Vec::new();
    for (round, compression) in (0..).zip([Compression::None, Compression::Lz4, Compression::Zstd]) {
        let db = open(compression);
        // What the last round left is read, and written anew.
        if round > 0 {
            assert_eq!(db.get(&7_u32.to_be_bytes()).unwrap(), Some(value(7 + round - 1).into_bytes()));
        }
        for number in 0..5_000_u32 {
            db.set(&number.to_be_bytes(), value(number + round).as_bytes()).unwrap();
        }
        db.compact().unwrap();
        assert_eq!(db.verify(|_| ()).unwrap(), 5_000);
        sizes.push(db.storage_stats().unwrap().levels.iter().map(|level| level.bytes).sum::<u64>());
        db.close().unwrap();
    }
    println!("{sizes:?} bytes without, with lz4, with zstd");
    assert!(sizes[1] < sizes[0] / 2 && sizes[2] < sizes[1] * 4 / 5, "{sizes:?}");
    let db = open(Compression::None);
    let found: Vec<_> = db.snapshot().unwrap().range(.., Direction::Forward).map(Result::unwrap).collect();
    assert!(
        found.len() == 5_000
            && (2..).zip(&found).all(|(number, (_, found))| *found == value(number).into_bytes())
    );
}

#[test]
fn many_keys_at_once_are_what_they_are_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let db = Database::open(options(directory.path(), &clock, Profile::Default)).unwrap();
    let key = |number: u32| number.to_be_bytes();
    let mut batch = Batch::new();
    for number in 0..500_u32 {
        // Long and short ones, some that end, and some that are not there.
        let value = vec![number as u8; if number % 7 == 0 { 10_000 } else { 20 }];
        match number % 5 {
            0 => {}
            1 => drop(batch.set_until(&key(number), &value, START + u64::from(number))),
            _ => drop(batch.set(&key(number), &value)),
        }
        if number % 100 == 99 {
            db.write(&batch).unwrap();
            batch.clear();
            db.flush().unwrap();
        }
    }
    clock.set(START + 200);
    // Not in their order, and some twice.
    let keys: Vec<_> = (0..600_u32).map(|number| key(number * 7 % 599)).chain([key(3), key(3)]).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let one_by_one: Vec<_> = keys.iter().map(|key| db.get(key).unwrap()).collect();
    let hits = one_by_one.iter().flatten().count();
    let before = db.stats();
    assert_eq!(db.multi_get(&keys).unwrap(), one_by_one);
    assert_eq!(db.count_many(&keys).unwrap(), hits);
    let fetched = db.fetch_many(&keys, |values| {
        let copy = |value: Fetched<'_>| match value {
            Fetched::Bytes(bytes) => bytes.to_vec(),
            Fetched::Value(value) => value.to_vec(),
        };
        values.map(|value| value.map(copy)).collect::<Vec<_>>()
    });
    assert_eq!(fetched.unwrap(), one_by_one);
    let after = db.stats();
    let counted = (after.hits - before.hits, after.misses - before.misses);
    assert_eq!(counted, (3 * hits as u64, 3 * (keys.len() - hits) as u64));
    assert!(hits > 300 && hits < 500);
    assert_eq!(db.multi_get(&[]).unwrap(), Vec::<Option<Vec<u8>>>::new());
}

/// Neither tables nor logs keep room for what was deleted, once nothing is written for a while.
#[test]
fn a_store_whose_keys_are_all_deleted_gives_its_room_back() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).memory_budget(16 << 20)).unwrap();
    let bytes = || -> u64 {
        let files = std::fs::read_dir(directory.path()).unwrap();
        files.filter_map(|file| file.ok()?.metadata().ok()).map(|file| file.len()).sum()
    };
    for number in 0..60_000_u32 {
        db.set(&number.to_be_bytes(), &[7; 100]).unwrap();
    }
    for number in 0..60_000_u32 {
        assert!(db.delete(&number.to_be_bytes()).unwrap());
    }
    let full = bytes();
    assert!(full > 2 << 20, "{full} bytes");
    let begin = Instant::now();
    while bytes() > 64 << 10 {
        assert!(begin.elapsed().as_secs() < 60, "{} bytes of {full} are left", bytes());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(db.snapshot().unwrap().range(.., Direction::Forward).count(), 0);
}

/// Keys are counted as they are, and estimated from their versions where there are more of those than asked for.
#[test]
fn keys_are_counted_by_a_walk_or_estimated() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(1_000));
    let db = Database::open(Options::durable(directory.path()).clock(clock.clone())).unwrap();
    let count = |most| {
        let count = db.count_keys(most).unwrap();
        (count.keys, count.with_expiry, count.mean_left_ms, count.is_exact)
    };
    assert_eq!(count(0), (0, 0, 0, true));
    for key in 0..10_u8 {
        db.set(&[key], b"1").unwrap();
        db.set(&[key], b"2").unwrap();
    }
    for key in 5..10_u8 {
        db.delete(&[key]).unwrap();
    }
    let until = |unix_ms| plumbkv::SetOptions::new().expiry(plumbkv::Expiry::At(unix_ms));
    db.set_with(b"soon", b"1", until(2_000)).unwrap();
    db.set_with(b"later", b"1", until(4_000)).unwrap();
    db.set_with(b"never", b"1", until(u64::MAX >> 1)).unwrap();
    let (keys, with_expiry, mean, is_exact) = count(28);
    assert_eq!((keys, with_expiry, is_exact), (8, 3, true));
    assert!(mean > 1 << 60, "no sum overflows: {mean}");
    db.delete(b"never").unwrap();
    // 20 of the first keys and 5 deletions of them, 3 with an expiry and a deletion of one.
    assert_eq!(db.storage_stats().unwrap().versions, 29);
    assert_eq!(count(29), (7, 2, 2_000, true));
    assert_eq!(count(28), (29 - 12, 0, 0, false));
    clock.set(2_000);
    assert_eq!(count(29), (6, 1, 2_000, true));
    db.compact().unwrap();
    assert_eq!(count(5), (6, 0, 0, false));
    assert_eq!(count(6), (6, 1, 2_000, true));
    db.clear().unwrap();
    assert_eq!(count(0), (0, 0, 0, true));
}
