//! When do keys end? Lazily when they are met, actively on a timer, and exactly at their millisecond.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::sync::Arc;
use std::time::Duration;

use plumbkv::{Database, ExpireCondition, Expiry, Lifetime, ManualClock, Options, SetOptions};
use rustix::time::{ClockId, clock_gettime};

const LONG: Duration = Duration::from_secs(10);

fn open() -> (Database, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(1000));
    (Database::open(Options::memory(64 << 20).clock(clock.clone()).seed(1)).unwrap(), clock)
}

fn set_until(db: &Database, key: &[u8], unix_ms: u64) {
    db.set_with(key, b"value", SetOptions::new().expiry(Expiry::At(unix_ms))).unwrap();
}

#[test]
fn a_key_ends_at_its_millisecond_and_not_before() {
    let (db, clock) = open();
    set_until(&db, b"k", 2000);
    clock.set(1999);
    assert_eq!(db.get(b"k").unwrap(), Some(b"value".to_vec()));
    assert_eq!(db.expiry(b"k").unwrap(), Lifetime::Until(2000));
    clock.set(2000);
    assert_eq!(db.get(b"k").unwrap(), None);
    assert_eq!((db.len(), db.stats().expired), (0, 1), "met and removed");
}

#[test]
fn an_ended_key_is_listed_by_nothing_and_blocks_nothing() {
    let (db, clock) = open();
    set_until(&db, b"k", 2000);
    clock.set(3000);
    let mut listed = 0;
    db.for_each_key(|_| listed += 1).unwrap();
    db.scan(0, 10, &mut |_| listed += 1).unwrap();
    assert_eq!(listed, 0);
    assert!(!db.rename(b"k", b"other").unwrap());
    set_until(&db, b"k", 4000);
    clock.set(5000);
    assert_eq!(db.increment(b"k", 1).unwrap(), 1);
    assert_eq!(db.expiry(b"k").unwrap(), Lifetime::Forever, "a new life, not the old expiry");
}

#[test]
fn thirty_days_and_thirty_thousand_years_do_not_overflow() {
    let (db, clock) = open();
    set_until(&db, b"month", 1000 + 30 * 86_400_000);
    set_until(&db, b"long", u64::MAX);
    clock.set(1000 + 29 * 86_400_000);
    assert_eq!(db.expire_cycle(LONG), 0);
    assert_eq!(db.len(), 2);
    clock.set(u64::MAX - 1);
    assert_eq!(db.expire_cycle(LONG), 1);
    assert!(db.exists(b"long").unwrap());
}

#[test]
fn the_timer_removes_what_nobody_asks_for() {
    let (db, clock) = open();
    for number in 0..100_000u32 {
        set_until(&db, &number.to_be_bytes(), 2000 + u64::from(number));
        db.set(&[&number.to_be_bytes()[..], b"forever"].concat(), b"value").unwrap();
    }
    assert_eq!(db.expire_cycle(LONG), 0, "nothing has ended");
    let mut removed = 0;
    for now in [1999, 2000, 30_000, 60_000, 101_999] {
        clock.set(now);
        // A round that finds less than a tenth stops early: a few rounds go all the way.
        for _ in 0..40 {
            removed += db.expire_cycle(LONG);
        }
        assert_eq!(removed, (now + 1).saturating_sub(2000), "at {now}");
    }
    assert_eq!(db.len(), 100_000);
    assert_eq!(db.stats().keys_with_expiry, 0);
    assert_eq!(db.recount_entry_bytes(), db.stats().entry_bytes);
}

#[test]
fn a_round_keeps_to_its_budget_and_the_next_goes_on() {
    let (db, clock) = open();
    for number in 0..200_000u32 {
        set_until(&db, &number.to_be_bytes(), 2000);
    }
    clock.set(2000);
    // CPU time, to which other programs add nothing.
    let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let start = used();
    let first = db.expire_cycle(Duration::from_micros(200));
    let first_used = used() - start;
    assert!(first_used < Duration::from_millis(50), "{first_used:?}");
    assert!((1..200_000).contains(&first), "{first}");
    let mut rounds = 1;
    while db.expire_cycle(Duration::from_micros(200)) > 0 {
        rounds += 1;
    }
    assert_eq!((db.len(), db.stats().expired), (0, 200_000));
    assert!(rounds > 5, "{rounds} rounds of 200 µs");
}

#[test]
fn keys_that_come_during_a_sweep_are_not_forgotten() {
    let clock = Arc::new(ManualClock::new(1000));
    // One shard, so that every round goes on with the same sweep; each is cut short after a stride, and in between
    // come keys that end earlier than all others, some of them behind the sweep.
    let db = Database::open(Options::memory(64 << 20).clock(clock.clone()).shards(Some(1)).seed(1)).unwrap();
    for number in 0..20_000u32 {
        set_until(&db, &number.to_be_bytes(), 1_000_000);
    }
    set_until(&db, b"bait", 1500);
    clock.set(1500);
    // Each ends before those that came before it, so that the last one, almost certainly behind the sweep, is alone.
    for number in 0..250 {
        db.expire_cycle(Duration::ZERO);
        set_until(&db, &(20_000 + number as u32).to_be_bytes(), 2000 - number);
    }
    // The sweep comes to its end, and only then do they end.
    db.expire_cycle(LONG);
    assert!(db.len() >= 20_250, "the sweep was over too early for this test");
    for now in 1751..=2000 {
        clock.set(now);
        assert_eq!(db.expire_cycle(LONG), 1, "at {now}");
    }
    assert_eq!(db.len(), 20_000);
}

#[test]
fn append_and_increment_keep_the_expiry_and_set_clears_it() {
    let (db, _) = open();
    set_until(&db, b"k", 2000);
    db.append(b"k", &[b'x'; 500]).unwrap();
    assert_eq!(db.expiry(b"k").unwrap(), Lifetime::Until(2000));
    db.set(b"k", b"41").unwrap();
    assert_eq!(db.expiry(b"k").unwrap(), Lifetime::Forever);
    db.get_and_expire(b"k", Expiry::At(3000)).unwrap();
    assert_eq!(db.increment(b"k", 1).unwrap(), 42);
    assert_eq!(db.expiry(b"k").unwrap(), Lifetime::Until(3000));
    db.set_with(b"k", b"x", SetOptions::new().expiry(Expiry::Keep)).unwrap();
    assert_eq!(db.expiry(b"k").unwrap(), Lifetime::Until(3000));
}

#[test]
fn a_key_that_gets_its_expiry_by_any_call_is_met_by_the_timer() {
    let calls: [fn(&Database, &[u8]); 5] = [
        // In place, in another block, as a new key, with EXPIRE and with GETEX.
        |db, key| set_until(db, key, 2000),
        |db, key| {
            let until = SetOptions::new().expiry(Expiry::At(2000));
            drop(db.set_with(key, &[b'x'; 500], until).unwrap());
        },
        |db, key| {
            db.delete(key).unwrap();
            set_until(db, key, 2000);
        },
        |db, key| assert!(db.expire_at(key, 2000, ExpireCondition::Always).unwrap()),
        |db, key| drop(db.get_and_expire(key, Expiry::At(2000)).unwrap()),
    ];
    for (number, call) in calls.into_iter().enumerate() {
        let (db, clock) = open();
        // 8 bytes of lengths, 1 of key, 5 of value: there is room for an expiry in a block of 24.
        db.set(b"k", b"first").unwrap();
        call(&db, b"k");
        clock.set(2000);
        assert_eq!(db.expire_cycle(LONG), 1, "call {number}");
    }
}
