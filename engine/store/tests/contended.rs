//! Sixteen threads that change one key, each write synced: whatever they do, they share the syncs.
#![cfg(debug_assertions)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Condition, Database, ExpireCondition, Expiry, Options, SetOptions, SyncMode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const THREADS: u64 = 16;
const EACH: u64 = 120;
const KEY: &[u8] = b"key";

/// Runs an operation on all threads, and returns how many syncs that took. It gets the thread's number and
/// how many it has done.
fn syncs(db: &Database, operation: impl Fn(&Database, u64, u64) + Sync) -> u64 {
    let before = plumbkv::slow_disk_syncs();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let operation = &operation;
            scope.spawn(move || (0..EACH).for_each(|number| operation(db, thread, number)));
        }
    });
    plumbkv::slow_disk_syncs() - before
}

/// Operations that wait for each other share their syncs.
fn check(name: &str, db: &Database, operation: impl Fn(&Database, u64, u64) + Sync) {
    let (syncs, operations) = (syncs(db, operation), THREADS * EACH);
    println!("{name}: {syncs} syncs for {operations} operations");
    assert!(syncs > 0 && syncs <= operations / 4, "{name}: {syncs} syncs for {operations} operations");
}

fn open(name: &str) -> (tempfile::TempDir, Database) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::durable(directory.path().join(name)).sync_mode(SyncMode::Always);
    plumbkv::slow_disk(Duration::ZERO, Duration::from_millis(2));
    let db = Database::open(options).unwrap();
    (directory, db)
}

fn only_if(condition: Condition) -> SetOptions {
    SetOptions::new().condition(condition)
}

#[test]
fn every_kind_of_change_shares_syncs() {
    let (_directory, db) = open("store");
    let db = &db;
    let total = THREADS * EACH;
    check("increment", db, |db, _, _| assert!(db.increment(KEY, 1).unwrap() > 0));
    assert_eq!(db.get(KEY).unwrap(), Some(total.to_string().into_bytes()));
    db.set(KEY, b"").unwrap();
    check("append", db, |db, _, _| assert!(db.append(KEY, b"x").unwrap() > 0));
    assert_eq!(db.value_len(KEY).unwrap() as u64, total);
    check("expire", db, |db, thread, number| {
        let unix_ms = u64::MAX - thread * EACH - number;
        assert!(db.expire_at(KEY, unix_ms, ExpireCondition::Always).unwrap());
    });
    check("get and expire", db, |db, thread, number| {
        let unix_ms = u64::MAX - thread * EACH - number;
        assert!(db.get_and_expire(KEY, Expiry::At(unix_ms)).unwrap().is_some());
    });
    check("set if present", db, |db, _, _| {
        assert!(db.set_with(KEY, b"x", only_if(Condition::IfPresent)).unwrap().written);
    });
    db.set(KEY, b"0").unwrap();
    let sum = AtomicU64::new(0);
    check("set and get", db, |db, thread, number| {
        let value = (1 + thread * EACH + number).to_string();
        let options = SetOptions::new().expiry(Expiry::Keep).want_previous(true);
        let previous = db.set_with(KEY, value.as_bytes(), options).unwrap().previous.unwrap();
        sum.fetch_add(String::from_utf8_lossy(&previous).parse::<u64>().unwrap(), Ordering::Relaxed);
    });
    let last: u64 = String::from_utf8(db.get(KEY).unwrap().unwrap()).unwrap().parse().unwrap();
    assert_eq!(sum.into_inner() + last, total * (total + 1) / 2, "each previous value once");
}

/// Each thread does one of two operations that undo each other, until there were enough changes. An operation
/// says whether it changed anything; one that did not needs no sync.
fn check_pair(name: &str, db: &Database, operations: [fn(&Database) -> plumbkv::Result<bool>; 2]) {
    let before = plumbkv::slow_disk_syncs();
    let done = [AtomicU64::new(0), AtomicU64::new(0)];
    thread::scope(|scope| {
        for thread in 0..THREADS as usize {
            let done = &done;
            scope.spawn(move || {
                while done.iter().map(|done| done.load(Ordering::Relaxed)).sum::<u64>() < THREADS * EACH {
                    let is_change = operations[thread % 2](db).unwrap();
                    done[thread % 2].fetch_add(u64::from(is_change), Ordering::Relaxed);
                }
            });
        }
    });
    let syncs = plumbkv::slow_disk_syncs() - before;
    let [done, undone] = done.map(AtomicU64::into_inner);
    println!("{name}: {syncs} syncs for {done} and {undone} changes");
    assert!(syncs > 0 && syncs <= (done + undone) / 4, "{name}: {syncs} syncs for {done} and {undone}");
    assert!(done == undone || done == undone + 1, "{name}: {done} and {undone}");
    // As it was.
    if done > undone {
        assert!(operations[1](db).unwrap(), "{name}");
    }
}

#[test]
fn changes_that_undo_each_other_share_syncs() {
    let (_directory, db) = open("store");
    let put = |db: &Database| Ok(db.set_with(KEY, b"1", only_if(Condition::IfAbsent))?.written);
    check_pair("set if absent, take", &db, [put, |db| Ok(db.take(KEY)?.is_some())]);
    check_pair("set if absent, delete", &db, [put, |db| db.delete(KEY)]);
    check_pair("set if absent, delete many", &db, [put, |db| Ok(db.delete_many(&[KEY])? > 0)]);
    check_pair(
        "compare and set",
        &db,
        [|db| db.compare_and_set(KEY, None, Some(b"1")), |db| db.compare_and_set(KEY, Some(b"1"), None)],
    );
    db.set(KEY, b"1").unwrap();
    let expire = |db: &Database| db.expire_at(KEY, u64::MAX, ExpireCondition::IfNone);
    check_pair("expire, persist", &db, [expire, |db| db.persist(KEY)]);
    check_pair("rename", &db, [|db| db.rename(KEY, b"other"), |db| db.rename(b"other", KEY)]);
}
