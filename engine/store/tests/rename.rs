//! Entries that get another key, and pairs that are written together or not at all: in memory and on disk.

#![allow(clippy::unwrap_used, reason = "helpers of tests; clippy exempts only the tests themselves")]

use plumbkv::{Database, Error, Expiry, Lifetime, ManualClock, Options, RenameOptions, SetOptions, SyncMode};
use plumbkv::{RenameOutcome::*, WriteGroup};
use std::sync::Arc;

const COPY: RenameOptions = RenameOptions { keep_source: true, keep_target: false };
const IF_ABSENT: RenameOptions = RenameOptions { keep_source: false, keep_target: true };

/// Calls `test` for databases of each kind: in memory with one shard and with many, on disk with and without a sync of each write, and
/// on disk within a group.
fn each_kind(test: impl Fn(&Database, &ManualClock)) {
    let open = |options: Options| {
        let clock = Arc::new(ManualClock::new(1_000));
        (Database::open(options.clock(clock.clone())).unwrap(), clock)
    };
    for shards in [1, 64] {
        let (db, clock) = open(Options::memory(64 << 20).shards(Some(shards)));
        test(&db, &clock);
    }
    for (sync, is_grouped) in [(SyncMode::Never, false), (SyncMode::Always, false), (SyncMode::Always, true)]
    {
        let directory = tempfile::tempdir().unwrap();
        let (db, clock) = open(Options::durable(directory.path()).sync_mode(sync));
        let group = is_grouped.then(|| db.begin_group());
        test(&db, &clock);
        group.map_or(Ok(()), WriteGroup::commit).unwrap();
    }
}

fn get(db: &Database, key: &[u8]) -> Option<String> {
    db.get(key).unwrap().map(|value| String::from_utf8(value).unwrap())
}

fn set_until(db: &Database, key: &[u8], value: &[u8], unix_ms: u64) {
    db.set_with(key, value, SetOptions::new().expiry(Expiry::At(unix_ms))).unwrap();
}

#[test]
fn a_copy_has_value_and_expiry_and_leaves_the_source() {
    each_kind(|db, clock| {
        set_until(db, b"a", b"one", 5_000);
        db.set(b"b", b"two").unwrap();
        assert_eq!(db.rename_with(b"a", b"c", COPY).unwrap(), Done);
        assert_eq!(db.rename_with(b"a", b"b", RenameOptions { keep_target: true, ..COPY }).unwrap(), Exists);
        assert_eq!(get(db, b"b").as_deref(), Some("two"));
        assert_eq!(db.rename_with(b"a", b"b", COPY).unwrap(), Done);
        for key in [b"a", b"b", b"c"] {
            assert_eq!(get(db, key).as_deref(), Some("one"));
            assert_eq!(db.expiry(key).unwrap(), Lifetime::Until(5_000));
        }
        db.append(b"c", b"!").unwrap();
        assert_eq!((get(db, b"a").as_deref(), get(db, b"c").as_deref()), (Some("one"), Some("one!")));
        assert_eq!(db.rename_with(b"none", b"a", COPY).unwrap(), Missing);
        assert_eq!(db.rename_with(b"a", b"a", COPY).unwrap(), Done);
        clock.set(5_000);
        assert_eq!(db.rename_with(b"a", b"d", COPY).unwrap(), Missing);
        assert_eq!(get(db, b"d"), None);
    });
}

#[test]
fn a_key_that_is_taken_stays_until_its_time_is_over() {
    each_kind(|db, clock| {
        db.set(b"a", b"one").unwrap();
        set_until(db, b"b", b"two", 5_000);
        assert_eq!(db.rename_with(b"a", b"b", IF_ABSENT).unwrap(), Exists);
        assert_eq!(db.rename_with(b"none", b"b", IF_ABSENT).unwrap(), Missing);
        assert_eq!(db.rename_with(b"a", b"a", IF_ABSENT).unwrap(), Exists);
        assert_eq!((get(db, b"a").as_deref(), get(db, b"b").as_deref()), (Some("one"), Some("two")));
        clock.set(5_000);
        assert_eq!(db.rename_with(b"a", b"b", IF_ABSENT).unwrap(), Done);
        assert_eq!((get(db, b"a"), get(db, b"b").as_deref()), (None, Some("one")));
        assert_eq!(db.expiry(b"b").unwrap(), Lifetime::Forever);
    });
}

#[test]
fn pairs_are_written_only_if_all_keys_are_absent() {
    each_kind(|db, clock| {
        set_until(db, b"b", b"old", 5_000);
        assert!(!db.set_many_if_absent(&[(b"a", b"1"), (b"b", b"2")]).unwrap());
        assert_eq!((get(db, b"a"), get(db, b"b").as_deref()), (None, Some("old")));
        clock.set(5_000);
        assert!(db.set_many_if_absent(&[(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]).unwrap());
        assert_eq!((get(db, b"a").as_deref(), get(db, b"b").as_deref()), (Some("3"), Some("2")));
        assert_eq!(db.expiry(b"b").unwrap(), Lifetime::Forever);
        assert!(db.set_many_if_absent(&[]).unwrap());
    });
}

/// Many entries of many sizes: the count of bytes stays true, and a copy that cannot fit changes nothing.
#[test]
fn copies_count_under_the_cap() {
    let db = Database::open(Options::memory(8 << 20).shards(Some(4))).unwrap();
    for number in 0..600_u32 {
        let len = if number % 50 == 0 { 100_000 } else { (number as usize * 37) % 3_000 };
        db.set(&number.to_be_bytes(), &vec![b'v'; len]).unwrap();
        let copy = (number + 1_000).to_be_bytes();
        assert_eq!(db.rename_with(&number.to_be_bytes(), &copy, COPY).unwrap(), Done);
        assert_eq!(db.value_len(&copy).unwrap(), len);
        assert_eq!(db.recount_entry_bytes(), db.stats().entry_bytes);
    }
    db.set(b"long", &vec![1; 5 << 20]).unwrap();
    let refused = db.rename_with(b"long", b"copy", COPY);
    assert!(matches!(refused, Err(Error::TooLargeForCap { .. })), "{refused:?}");
    assert_eq!((db.value_len(b"long").unwrap(), db.value_len(b"copy").unwrap()), (5 << 20, 0));
}

/// Of threads that each want all keys for themselves one gets them.
#[test]
fn one_of_many_gets_all_keys() {
    for durable in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let options = if durable { Options::durable(directory.path()) } else { Options::memory(16 << 20) };
        let db = Database::open(options).unwrap();
        for round in 0..200_u32 {
            let keys: Vec<String> = (0..4).map(|number| format!("{round}:{number}")).collect();
            let won: usize = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4_usize)
                    .map(|thread| {
                        let (db, keys) = (&db, &keys);
                        scope.spawn(move || {
                            let value = thread.to_string();
                            // Each names them in another order.
                            let pairs: Vec<_> = (0..4)
                                .map(|place| (keys[(place + thread) % 4].as_bytes(), value.as_bytes()))
                                .collect();
                            usize::from(db.set_many_if_absent(&pairs).unwrap())
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!(won, 1);
            let first = get(&db, keys[0].as_bytes());
            assert!(first.is_some() && keys.iter().all(|key| get(&db, key.as_bytes()) == first));
        }
    }
}

#[test]
fn every_key_can_be_drawn_and_nothing_else() {
    each_kind(|db, clock| {
        assert_eq!(db.random_key().unwrap(), None);
        for number in 0..20 {
            db.set(format!("key:{number:03}").as_bytes(), b"v").unwrap();
        }
        db.set(b"gone", b"v").unwrap();
        db.delete(b"gone").unwrap();
        db.set_with(b"over", b"v", SetOptions::new().expiry(Expiry::At(2_000))).unwrap();
        clock.set(3_000);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            seen.insert(db.random_key().unwrap().unwrap());
        }
        assert!(seen.len() == 20 && seen.iter().all(|key| key.starts_with(b"key:")), "{seen:?}");
    });
}
