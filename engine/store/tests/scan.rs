//! Does SCAN keep its guarantee whatever happens between its calls? Random inserts, deletes, expiries, evictions and clearings, and
//! walks with random COUNTs through them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use plumbkv::{Clock, Database, Expiry, Lifetime, ManualClock, Options, Policy, SetOptions};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Call {
    Set(u16, usize),
    SetEnding(u16, u64),
    Delete(u16),
    /// So many keys from the first on: tables grow.
    SetMany(u16, u16),
    /// As many go: tables shrink.
    DeleteMany(u16, u16),
    Advance(u64),
    ExpireCycle,
    Maintain,
    Clear,
    Scan(usize),
}

fn call() -> impl Strategy<Value = Call> {
    let number = 0..2000u16;
    let len = prop_oneof![4 => 0..100usize, 1 => 0..6000usize];
    prop_oneof![
        6 => (number.clone(), len).prop_map(|(key, len)| Call::Set(key, len)),
        2 => (number.clone(), 1..50u64).prop_map(|(key, ms)| Call::SetEnding(key, ms)),
        4 => number.clone().prop_map(Call::Delete),
        3 => (number.clone(), 1..700u16).prop_map(|(key, many)| Call::SetMany(key, many)),
        3 => (number, 1..700u16).prop_map(|(key, many)| Call::DeleteMany(key, many)),
        1 => (0..40u64).prop_map(Call::Advance),
        1 => Just(Call::ExpireCycle),
        1 => Just(Call::Maintain),
        1 => Just(Call::Clear),
        20 => prop_oneof![Just(1usize), 1..20usize, 1..500usize].prop_map(Call::Scan),
    ]
}

fn key(number: u16) -> Vec<u8> {
    format!("key:{number}").into_bytes()
}

/// A walk under way.
#[derive(Default)]
struct Walk {
    cursor: u64,
    seen: BTreeMap<Vec<u8>, u32>,
    /// What was there when it began and at every moment since.
    throughout: BTreeSet<Vec<u8>>,
}

impl Walk {
    fn begin(db: &Database) -> Self {
        let mut walk = Self::default();
        db.for_each_key(|key| assert!(walk.throughout.insert(key.to_vec()))).unwrap();
        walk
    }

    /// True if that was its end.
    fn go_on(&mut self, db: &Database, count: usize) -> bool {
        let seen = &mut self.seen;
        self.cursor =
            db.scan(self.cursor, count, &mut |key| *seen.entry(key.to_vec()).or_insert(0) += 1).unwrap();
        self.cursor == 0
    }

    fn check(&self) -> Result<(), TestCaseError> {
        for key in &self.throughout {
            let times = self.seen.get(key).copied().unwrap_or(0);
            prop_assert_eq!(times, 1, "{} was returned so often", String::from_utf8_lossy(key));
        }
        Ok(())
    }
}

/// What is written anew was not there throughout if it was gone before, be it by an eviction a moment ago.
fn set(db: &Database, walk: &mut Walk, number: u16, len: usize) {
    if db.expiry(&key(number)).unwrap() == Lifetime::Missing {
        walk.throughout.remove(&key(number));
    }
    // Without a key that may be evicted, or in a store that is too small, a write is refused: no matter.
    let _ = db.set(&key(number), &vec![b'v'; len]);
}

fn delete(db: &Database, walk: &mut Walk, number: u16) {
    db.delete(&key(number)).unwrap();
    walk.throughout.remove(&key(number));
}

fn step(db: &Database, clock: &ManualClock, walk: &mut Walk, call: &Call) -> Result<(), TestCaseError> {
    match *call {
        Call::Set(number, len) => set(db, walk, number, len),
        Call::SetEnding(number, ms) => {
            set(db, walk, number, 10);
            let options = SetOptions::new().expiry(Expiry::At(clock.now_ms() + ms));
            let _ = db.set_with(&key(number), b"ending", options);
        }
        Call::Delete(number) => delete(db, walk, number),
        Call::SetMany(first, many) => (first..first + many).for_each(|number| set(db, walk, number, 0)),
        Call::DeleteMany(first, many) => (first..first + many).for_each(|number| delete(db, walk, number)),
        Call::Advance(ms) => clock.advance(ms),
        Call::ExpireCycle => drop(db.expire_cycle(Duration::from_secs(1))),
        Call::Maintain => drop(db.maintain(Duration::from_secs(1))),
        Call::Clear => {
            db.clear().unwrap();
            walk.throughout.clear();
        }
        Call::Scan(count) => {
            if walk.go_on(db, count) {
                walk.check()?;
                *walk = Walk::begin(db);
            }
        }
    }
    walk.throughout.retain(|key| db.expiry(key).unwrap() != Lifetime::Missing);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_key_that_is_there_throughout_is_returned_exactly_once(
        calls in proptest::collection::vec(call(), 1..150),
        shards in 0..5u32,
        cap in prop_oneof![Just(48u64 << 10), Just(100 << 10), Just(1 << 20), Just(u64::MAX)],
        policy in proptest::sample::select(Policy::ALL.to_vec()),
        seed in any::<u64>(),
    ) {
        let clock = Arc::new(ManualClock::new(1000));
        let options = Options::memory(cap).shards(Some(1 << shards)).policy(policy).clock(clock.clone()).seed(seed);
        let db = Database::open(options).unwrap();
        let mut walk = Walk::begin(&db);
        for call in &calls {
            step(&db, &clock, &mut walk, call)?;
        }
        while !walk.go_on(&db, 7) {}
        walk.check()?;
    }
}
