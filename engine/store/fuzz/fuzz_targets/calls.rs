//! Can any sequence of calls, under any cap and policy, make the store lose a value, mix two up, break its cap or touch memory that is not its own?
//!
//! The first bytes choose cap, policy, shards and random numbers, the rest are calls. A map says what must be found; a key that it has and the store
//! has not must have been one that the policy may evict.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run calls -- -max_len=3000 -len_control=0    (in engine/store)
//! ```
#![no_main]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use plumbkv::{
    Clock, Condition, Database, Error, ExpireCondition, Expiry, Lifetime, ManualClock, Options, Policy,
    SetOptions,
};

const CAPS: [u64; 7] = [40 << 10, 100 << 10, 300 << 10, 1 << 20, 2 << 20, 6 << 20, u64::MAX];

/// What the calls are read from; ends with zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn number(&mut self) -> u16 {
        u16::from_le_bytes([self.next(), self.next()])
    }

    fn key(&mut self) -> Vec<u8> {
        let number = self.next();
        // A few are long, and a few belong to entries of the long form.
        let len = match number % 16 {
            0 => 300,
            1 => 40,
            _ => 0,
        };
        [&vec![b'k'; len][..], &[number, self.next() % 8]].concat()
    }

    fn len(&mut self) -> usize {
        let number = usize::from(self.number());
        match self.next() % 32 {
            0..20 => number % 200,
            20..28 => number % 5000,
            28..31 => number * 4,
            _ => number * 40,
        }
    }
}

struct Entry {
    value: Vec<u8>,
    expiry: Option<u64>,
}

struct Run {
    db: Database,
    clock: Arc<ManualClock>,
    model: BTreeMap<Vec<u8>, Entry>,
    writes: u64,
    reserved: u64,
    /// Whether a cap was in force together with a policy that evicts keys that cannot expire, or such that can.
    may_evict: [bool; 2],
}

impl Run {
    fn open(bytes: &mut Bytes<'_>) -> Option<Self> {
        let clock = Arc::new(ManualClock::new(1000));
        let cap = CAPS[usize::from(bytes.next()) % CAPS.len()];
        let policy = Policy::ALL[usize::from(bytes.next()) % Policy::ALL.len()];
        let options = Options::memory(cap)
            .policy(policy)
            .samples(u32::from(bytes.next() % 10) + 1)
            .shards(Some(1 << (bytes.next() % 5)))
            .seed(bytes.next().into())
            .clock(clock.clone());
        let db = Database::open(options).ok()?;
        let mut run =
            Self { db, clock, model: BTreeMap::new(), writes: 0, reserved: 0, may_evict: [false; 2] };
        run.note_policy();
        Some(run)
    }

    fn note_policy(&mut self) {
        let stats = self.db.stats();
        if stats.cap_bytes == u64::MAX {
            return;
        }
        self.may_evict[0] |= stats.policy.name().starts_with("allkeys");
        self.may_evict[1] |= stats.policy != Policy::NoEviction;
    }

    fn value(&mut self, len: usize) -> Vec<u8> {
        self.writes += 1;
        let mut value = self.writes.to_le_bytes().repeat(len.div_ceil(8));
        value.truncate(len);
        value
    }

    /// What the model has under a key, unless it has ended.
    fn expected(&mut self, key: &[u8]) -> Option<&Entry> {
        let now = self.clock.now_ms();
        if self.model.get(key).is_some_and(|entry| entry.expiry.is_some_and(|at| at <= now)) {
            self.model.remove(key);
        }
        self.model.get(key)
    }

    /// Compares what the store has under a key with the model, and lets the model forget what was evicted.
    fn see(&mut self, key: &[u8], found: Option<&[u8]>) {
        let may_evict = self.may_evict;
        let expected = self.expected(key).map(|entry| (&entry.value[..], entry.expiry));
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some((value, _))) => assert!(found == value, "another value"),
            (Some(_), None) => panic!("a key that was removed is there"),
            (None, Some((_, expiry))) => {
                assert!(may_evict[usize::from(expiry.is_some())], "a key is gone that must not be evicted");
                self.model.remove(key);
            }
        }
    }

    fn look(&mut self, key: &[u8]) {
        let found = self.db.get(key).expect("reading does not fail");
        self.see(key, found.as_deref());
    }

    fn refused(error: &Error) {
        assert!(
            matches!(
                error,
                Error::OutOfMemory | Error::TooLargeForCap { .. } | Error::NotAnInteger | Error::Overflow
            ),
            "{error}"
        );
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>, expiry: Option<u64>) {
        if expiry.is_some_and(|at| at <= self.clock.now_ms()) {
            self.model.remove(&key);
        } else {
            self.model.insert(key, Entry { value, expiry });
        }
    }

    fn call(&mut self, bytes: &mut Bytes<'_>) {
        let now = self.clock.now_ms();
        match bytes.next() % 32 {
            0..8 => {
                let (key, len) = (bytes.key(), bytes.len());
                let value = self.value(len);
                match self.db.set(&key, &value) {
                    Ok(()) => self.put(key, value, None),
                    Err(error) => Self::refused(&error),
                }
            }
            8 | 9 => {
                let (key, len, ms) = (bytes.key(), bytes.len(), bytes.next());
                self.look(&key);
                let value = self.value(len);
                let condition =
                    [Condition::Always, Condition::IfAbsent, Condition::IfPresent][usize::from(ms) % 3];
                let at = now + u64::from(ms);
                let options =
                    SetOptions::new().condition(condition).expiry(Expiry::At(at)).want_previous(true);
                match self.db.set_with(&key, &value, options) {
                    Ok(outcome) => {
                        let before = self.expected(&key).map(|entry| entry.value.clone());
                        // Making room may have evicted it in between.
                        let previous = outcome.previous.map(plumbkv::Value::into_vec);
                        assert!(previous.is_none() || previous == before);
                        if outcome.written {
                            self.put(key, value, Some(at));
                        }
                    }
                    Err(error) => Self::refused(&error),
                }
            }
            10 | 11 => {
                let many = usize::from(bytes.next() % 40);
                let pairs: Vec<(Vec<u8>, Vec<u8>)> = (0..many)
                    .map(|_| {
                        let (key, len) = (bytes.key(), bytes.len() % 3000);
                        (key, self.value(len))
                    })
                    .collect();
                let borrowed: Vec<(&[u8], &[u8])> =
                    pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
                match self.db.set_many(&borrowed) {
                    Ok(()) => pairs.into_iter().for_each(|(key, value)| self.put(key, value, None)),
                    Err(error) => Self::refused(&error),
                }
            }
            12..15 => {
                let (key, len) = (bytes.key(), bytes.len());
                self.look(&key);
                let suffix = self.value(len);
                match self.db.append(&key, &suffix) {
                    Ok(total) => {
                        let before = self.expected(&key).map(|entry| (entry.value.clone(), entry.expiry));
                        let (mut value, expiry) = before.unwrap_or_default();
                        if total == suffix.len() {
                            // It was not there, or was evicted while room was made.
                            self.put(key, suffix, expiry.filter(|_| value.is_empty()));
                        } else {
                            value.extend(&suffix);
                            assert_eq!(total, value.len());
                            self.put(key, value, expiry);
                        }
                    }
                    Err(error) => Self::refused(&error),
                }
            }
            15 => {
                let (key, delta) = (bytes.key(), i64::from(bytes.number()));
                self.look(&key);
                match self.db.increment(&key, delta) {
                    Ok(sum) => {
                        let expiry = self.expected(&key).and_then(|entry| entry.expiry);
                        let expiry =
                            expiry.filter(|_| sum != delta || self.db.expiry(&key) != Ok(Lifetime::Forever));
                        self.put(key, sum.to_string().into_bytes(), expiry);
                    }
                    Err(error) => Self::refused(&error),
                }
            }
            16 | 17 => {
                let key = bytes.key();
                self.look(&key);
                assert_eq!(self.db.delete(&key), Ok(self.model.remove(&key).is_some()));
            }
            18 => {
                let key = bytes.key();
                let taken = self.db.take(&key).expect("taking does not fail");
                self.see(&key, taken.as_deref());
                self.model.remove(&key);
            }
            19 => {
                let (from, to) = (bytes.key(), bytes.key());
                self.look(&from);
                match self.db.rename(&from, &to) {
                    Ok(existed) => {
                        let entry = self.model.remove(&from);
                        assert!(!existed || entry.is_some());
                        if let Some(entry) = entry.filter(|_| existed) {
                            self.model.insert(to, entry);
                        }
                    }
                    Err(error) => Self::refused(&error),
                }
            }
            20 | 21 => {
                let (key, at) = (bytes.key(), now + u64::from(bytes.next()));
                self.look(&key);
                match self.db.expire_at(&key, at, ExpireCondition::Always) {
                    Ok(true) => {
                        let value = self.expected(&key).map(|entry| entry.value.clone());
                        self.put(key, value.expect("there was such a key"), Some(at));
                    }
                    Ok(false) => drop(self.model.remove(&key)),
                    Err(error) => Self::refused(&error),
                }
            }
            22 => {
                let key = bytes.key();
                self.look(&key);
                let had_one = self.expected(&key).is_some_and(|entry| entry.expiry.is_some());
                assert_eq!(self.db.persist(&key), Ok(had_one));
                if let Some(entry) = self.model.get_mut(&key) {
                    entry.expiry = None;
                }
            }
            23 => self.clock.advance(bytes.next().into()),
            24 => drop(self.db.expire_cycle(Duration::from_millis(5))),
            25 => drop(self.db.maintain(Duration::from_micros(200))),
            26 => {
                let more = u64::from(bytes.number()) * 8;
                match self.db.reserve(more) {
                    Ok(()) => self.reserved += more,
                    Err(error) => Self::refused(&error),
                }
            }
            27 => self.db.release(std::mem::take(&mut self.reserved)),
            28 => {
                let number = bytes.next();
                if number < 8 {
                    self.db.clear().expect("clearing does not fail");
                    self.model.clear();
                } else if number < 24 {
                    let policy = Policy::ALL[usize::from(number) % Policy::ALL.len()];
                    self.db.set_policy(policy).expect("a policy can be changed");
                    self.note_policy();
                } else if number < 40 {
                    self.db.set_cap(CAPS[usize::from(number) % CAPS.len()]).expect("none of them is 0");
                    self.note_policy();
                } else {
                    let keys: Vec<Vec<u8>> = (0..number % 20).map(|_| bytes.key()).collect();
                    let borrowed: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
                    let found = self.db.multi_get(&borrowed).expect("reading does not fail");
                    keys.iter().zip(found).for_each(|(key, found)| self.see(key, found.as_deref()));
                }
            }
            _ => {
                let key = bytes.key();
                self.look(&key);
            }
        }
    }

    fn check(&mut self, is_lowered: bool) {
        let stats = self.db.stats();
        // A cap that was lowered below what the policy lets go is kept from the next write on.
        assert!(is_lowered || stats.accounted_bytes <= stats.cap_bytes, "{stats:?}");
        assert_eq!(self.db.recount_entry_bytes(), stats.entry_bytes);
        assert_eq!(stats.reserved_bytes, self.reserved);
    }

    fn compare(mut self) {
        let (mut cursor, mut listed) = (0, HashSet::new());
        loop {
            cursor =
                self.db.scan(cursor, 7, &mut |key| assert!(listed.insert(key.to_vec()))).expect("no failure");
            if cursor == 0 {
                break;
            }
        }
        for key in &listed {
            assert!(self.model.contains_key(key), "a key that was removed is listed");
        }
        let keys: Vec<Vec<u8>> = self.model.keys().cloned().collect();
        for key in keys {
            assert_eq!(self.expected(&key).is_some() && listed.contains(&key), listed.contains(&key));
            self.look(&key);
        }
        self.db.clear().expect("clearing does not fail");
        self.db.release(self.reserved);
        while self.db.maintain(Duration::from_millis(1)) {}
        assert_eq!((self.db.stats().entry_bytes, self.db.len()), (0, 0));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes);
    let Some(mut run) = Run::open(&mut bytes) else { return };
    let (mut least_cap, mut calls) = (run.db.cap(), 0u32);
    let mut is_lowered = false;
    while !bytes.0.is_empty() {
        run.call(&mut bytes);
        calls += 1;
        is_lowered |= run.db.cap() < least_cap;
        least_cap = run.db.cap();
        if calls % 8 == 0 {
            run.check(is_lowered);
        }
    }
    run.check(is_lowered);
    run.compare();
});
