//! Keyspaces: what is in one is in no other, and each is counted, walked and emptied by itself.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use plumbkv::{Database, KEYSPACES, Keyspace, Options, Policy, RenameOptions};

fn keyspace(number: u8) -> Keyspace {
    Keyspace::new(number).unwrap()
}

/// In memory with few shards and with many, and in a directory.
fn databases(directory: &tempfile::TempDir) -> Vec<(&'static str, Database)> {
    let memory = |shards| Options::memory(64 << 20).shards(Some(shards)).keyspaces(true);
    vec![
        ("1 shard", Database::open(memory(1)).unwrap()),
        ("64 shards", Database::open(memory(64)).unwrap()),
        ("disk", Database::open(Options::durable(directory.path().join("store"))).unwrap()),
    ]
}

fn listed(db: &Database, keyspace: Keyspace) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    let mut cursor = 0;
    loop {
        cursor = db
            .scan_in(keyspace, cursor, 7, &mut |key| {
                assert!(keys.insert(key.to_vec()), "{key:?} comes twice")
            })
            .unwrap();
        if cursor == 0 {
            return keys;
        }
    }
}

#[test]
fn random_steps_leave_every_keyspace_as_a_map_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    for (name, db) in databases(&directory) {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut models: BTreeMap<u8, BTreeMap<Vec<u8>, Vec<u8>>> = BTreeMap::new();
        let beginnings = [&b""[..], b"a", b"\xff", &[0xff, 0x6b, 0x73, 0x9d, 0xc4, 0x00], &[0xff; 9]];
        for step in 0..20_000_u32 {
            // Nothing is in the others at first.
            let number = if step < 2_000 { 0 } else { *rng.choice(&[0, 0, 1, 7, 15]).unwrap() };
            let one = keyspace(number);
            let key = [rng.choice(&beginnings).unwrap(), &[rng.u8(..60)][..]].concat();
            let model = models.entry(number).or_default();
            match rng.u32(..1_000) {
                0..600 => {
                    db.set(&one.key(&key), &step.to_be_bytes()).unwrap();
                    model.insert(key, step.to_be_bytes().to_vec());
                }
                600..800 => {
                    assert_eq!(
                        db.delete(&one.key(&key)).unwrap(),
                        model.remove(&key).is_some(),
                        "{name} {key:?}"
                    );
                }
                800..990 => {
                    assert_eq!(db.get(&one.key(&key)).unwrap().as_ref(), model.get(&key), "{name} {key:?}");
                }
                990..992 => {
                    db.clear_in(one).unwrap();
                    model.clear();
                }
                992..994 => {
                    let to = keyspace(*rng.choice(&[0, 1, 7, 15]).unwrap());
                    db.rename_with(&one.key(&key), &to.key(&key), RenameOptions::default()).unwrap();
                    if let Some(value) = model.remove(&key) {
                        models.entry(to.number()).or_default().insert(key, value);
                    }
                }
                _ => {
                    for one in Keyspace::all() {
                        let expected: BTreeSet<Vec<u8>> = models
                            .get(&one.number())
                            .map(|model| model.keys().cloned().collect())
                            .unwrap_or_default();
                        assert_eq!(listed(&db, one), expected, "{name}: {one:?} at step {step}");
                        let mut seen = BTreeSet::new();
                        db.for_each_key_in(one, |key| {
                            assert!(seen.insert(key.to_vec()));
                            ControlFlow::Continue(())
                        })
                        .unwrap();
                        assert_eq!(seen, expected, "{name}: {one:?} at step {step}");
                        let count = db.count_keys_in(one, u64::MAX).unwrap();
                        assert_eq!(count.keys, expected.len() as u64, "{name}: {one:?} at step {step}");
                        let random = db.random_key_in(one).unwrap();
                        assert_eq!(random.is_none(), expected.is_empty(), "{name}: {one:?}");
                        assert!(random.is_none_or(|key| expected.contains(&key)), "{name}: {one:?}");
                    }
                    let all: usize = models.values().map(BTreeMap::len).sum();
                    let mut seen = 0;
                    db.for_each_key(|_| seen += 1).unwrap();
                    assert_eq!(seen, all, "{name}");
                }
            }
        }
        db.clear().unwrap();
        for one in Keyspace::all() {
            assert_eq!(listed(&db, one), BTreeSet::new(), "{name}");
        }
    }
}

#[test]
fn every_key_of_a_keyspace_can_be_drawn() {
    let directory = tempfile::tempdir().unwrap();
    for (name, db) in databases(&directory) {
        for number in [0, 3, 4, 5, 15] {
            for key in 0..20_u8 {
                db.set(&keyspace(number).key(&[b'k', key * 7]), b"1").unwrap();
            }
        }
        for number in [0, 4, 15] {
            let mut drawn = BTreeSet::new();
            let all = listed(&db, keyspace(number));
            // The first key of a store on disk is one in 2,000.
            for _ in 0..40_000 {
                if drawn.len() < all.len() {
                    drawn.insert(db.random_key_in(keyspace(number)).unwrap().unwrap());
                }
            }
            assert_eq!(drawn, all, "{name}: {number}");
        }
        assert_eq!(db.random_key_in(keyspace(1)).unwrap(), None, "{name}");
    }
}

#[test]
fn the_cap_holds_for_all_keyspaces_together_and_the_oldest_keys_go_first_wherever_they_are() {
    let db = Database::open(Options::memory(8 << 20).policy(Policy::AllkeysLru).keyspaces(true)).unwrap();
    let write = |number: u8, from: u32, count: u32| {
        for key in from..from + count {
            db.set(&keyspace(number).key(&key.to_be_bytes()), &[1; 500]).unwrap();
            assert!(db.stats().accounted_bytes <= 8 << 20);
        }
    };
    let count = |number| db.count_keys_in(keyspace(number), 0).unwrap().keys;
    write(2, 0, 6_000);
    let before = count(2);
    assert!(before > 5_000, "{before}");
    // All of the store's worth is written to another one: what was there before is gone.
    write(0, 0, 30_000);
    let (old, new) = (count(2), count(0));
    assert!(old < before / 100, "{old} of {before} are left, beside {new}");
    write(9, 0, 30_000);
    assert!(count(0) < new / 100, "{} of {new}", count(0));
}

#[test]
fn keyspaces_come_into_use_and_are_emptied_beside_each_other() {
    let options = Options::memory(64 << 20).shards(Some(16)).keyspaces(true);
    let db = Arc::new(Database::open(options).unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    let others: Vec<_> = (0..2_u8)
        .map(|own| {
            let (db, is_over) = (Arc::clone(&db), Arc::clone(&is_over));
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    match own {
                        0 => db.clear().unwrap(),
                        _ => {
                            let all = Keyspace::all().map(|one| db.clear_in(one));
                            all.for_each(|cleared| cleared.unwrap());
                        }
                    }
                    let pairs: Vec<_> = Keyspace::all().map(|one| one.key(b"x").into_owned()).collect();
                    let pairs: Vec<_> = pairs.iter().map(|key| (key.as_slice(), &b"1"[..])).collect();
                    db.set_many(&pairs).unwrap();
                }
            })
        })
        .collect();
    for round in 0..500_u32 {
        for number in 0..KEYSPACES {
            for key in 0..10_u8 {
                let key = [key, number];
                db.set(&keyspace(number).key(&key), &round.to_be_bytes()).unwrap();
                let found = db.get(&keyspace(number).key(&key)).unwrap();
                assert!(found.is_none_or(|found| found == round.to_be_bytes()));
            }
        }
    }
    is_over.store(true, Ordering::Relaxed);
    others.into_iter().for_each(|thread| thread.join().unwrap());
    db.clear().unwrap();
    db.maintain(std::time::Duration::from_secs(5));
    assert_eq!(db.len(), 0);
    assert_eq!(db.stats().entry_bytes, 0);
}

/// Two threads begin at the same time, again and again: one brings keyspace 1 into use, the other empties the first.
#[test]
fn a_key_stays_whose_keyspace_comes_into_use_while_another_is_emptied() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(Database::open(Options::durable(directory.path().join("store"))).unwrap());
    let memory = || Arc::new(Database::open(Options::memory(8 << 20).keyspaces(true)).unwrap());
    for round in 0..2_000 {
        let db = if round % 4 == 0 { Arc::clone(&disk) } else { memory() };
        db.clear().unwrap();
        db.set(b"here", b"1").unwrap();
        let key = keyspace(1).key(b"there");
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                both.wait();
                db.set(&key, b"1").unwrap();
            });
            both.wait();
            db.clear_in(Keyspace::default()).unwrap();
        });
        assert_eq!(db.get(b"here").unwrap(), None);
        assert_eq!(db.get(&key).unwrap(), Some(b"1".to_vec()), "round {round}");
    }
}

#[test]
fn several_keyspaces_are_emptied_at_one_moment() {
    let directory = tempfile::tempdir().unwrap();
    for (name, db) in databases(&directory) {
        let emptied: Vec<Keyspace> = [9, 0, 15, 4].map(keyspace).to_vec();
        let keys: Vec<_> = emptied.iter().map(|one| one.key(b"x").into_owned()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (*key, &b"1"[..])).collect();
        db.set(&keyspace(3).key(b"stays"), b"1").unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..500 {
                    db.set_many(&pairs).unwrap();
                    db.clear_all_in(&emptied).unwrap();
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                let found = db.fetch_many(&keys, |found| found.flatten().count()).unwrap();
                assert!(found == 0 || found == keys.len(), "{name}: {found} of {}", keys.len());
            }
        });
        for one in emptied {
            assert_eq!(listed(&db, one), BTreeSet::new(), "{name}");
        }
        db.clear_all_in(&[]).unwrap();
        assert_eq!(listed(&db, keyspace(3)), BTreeSet::from([b"stays".to_vec()]), "{name}");
    }
}
