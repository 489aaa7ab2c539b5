//! Random calls on a database, and what a plain map would answer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plumbkv::{
    Condition, Database, Error, ExpireCondition, Expiry, Lifetime, ManualClock, SetOptions, Value,
};
use proptest::prelude::*;

pub(crate) type Key = Vec<u8>;

/// A sequence that fails is kept beside the sources and run first the next time; by itself proptest finds no place for what a file in `tests/` drew.
macro_rules! config {
    ($cases:expr) => {
        ProptestConfig {
            cases: $cases,
            failure_persistence: Some(Box::new(proptest::test_runner::FileFailurePersistence::Direct(
                concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/", module_path!(), ".txt"),
            ))),
            ..ProptestConfig::default()
        }
    };
}
pub(crate) use config;

#[derive(Debug, Clone)]
pub(crate) enum Call {
    CompareAndSet(Key, Option<Vec<u8>>, Option<Vec<u8>>),
    Set(Key, Vec<u8>),
    SetWith(Key, Vec<u8>, Condition, Option<Option<u64>>, bool),
    SetMany(Vec<(Key, Vec<u8>)>),
    Take(Key),
    Delete(Key),
    Append(Key, Vec<u8>),
    Increment(Key, i64),
    ExpireAt(Key, u64, ExpireCondition),
    Persist(Key),
    GetAndExpire(Key, Option<Option<u64>>),
    Rename(Key, Key),
    Clear,
    Advance(u64),
    ExpireCycle,
}

pub(crate) const START: u64 = 1_000_000;

fn key() -> impl Strategy<Value = Key> {
    (0..30u8)
        .prop_map(|number| vec![b'k'; 1 + usize::from(number) % 3 * 20].into_iter().chain([number]).collect())
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..80),
        2 => any::<i64>().prop_map(|number| number.to_string().into_bytes()),
        1 => (0..5000usize).prop_map(|len| vec![b'x'; len]),
    ]
}

/// `None` keeps, `Some(None)` clears, `Some(Some(offset))` sets; offset 100 is now at the start.
fn expiry() -> impl Strategy<Value = Option<Option<u64>>> {
    proptest::option::of(proptest::option::of(0..300u64))
}

pub(crate) fn call() -> impl Strategy<Value = Call> {
    let condition =
        prop_oneof![Just(Condition::Always), Just(Condition::IfAbsent), Just(Condition::IfPresent)];
    let expire_condition = prop_oneof![
        Just(ExpireCondition::Always),
        Just(ExpireCondition::IfNone),
        Just(ExpireCondition::IfSome),
        Just(ExpireCondition::IfGreater),
        Just(ExpireCondition::IfLess),
    ];
    prop_oneof![
        8 => (key(), value()).prop_map(|(k, v)| Call::Set(k, v)),
        6 => (key(), value(), condition, expiry(), any::<bool>()).prop_map(|(k, v, c, e, p)| Call::SetWith(k, v, c, e, p)),
        2 => proptest::collection::vec((key(), value()), 0..6).prop_map(Call::SetMany),
        2 => key().prop_map(Call::Take),
        3 => key().prop_map(Call::Delete),
        5 => (key(), value()).prop_map(|(k, v)| Call::Append(k, v)),
        4 => (key(), prop_oneof![Just(1), Just(-1), any::<i64>()]).prop_map(|(k, d)| Call::Increment(k, d)),
        2 => (key(), proptest::option::of(value()), proptest::option::of(value())).prop_map(|(k, e, v)| Call::CompareAndSet(k, e, v)),
        4 => (key(), 0..300u64, expire_condition).prop_map(|(k, t, c)| Call::ExpireAt(k, t, c)),
        1 => key().prop_map(Call::Persist),
        2 => (key(), expiry()).prop_map(|(k, e)| Call::GetAndExpire(k, e)),
        3 => (key(), key()).prop_map(|(a, b)| Call::Rename(a, b)),
        1 => Just(Call::Clear),
        3 => (0..60u64).prop_map(Call::Advance),
        2 => Just(Call::ExpireCycle),
    ]
}

/// Unix milliseconds of an offset.
fn at(offset: u64) -> u64 {
    START - 100 + offset
}

fn to_expiry(expiry: Option<Option<u64>>) -> Expiry {
    match expiry {
        None => Expiry::Keep,
        Some(None) => Expiry::Clear,
        Some(Some(offset)) => Expiry::At(at(offset)),
    }
}

#[derive(Default)]
pub(crate) struct Model {
    pub(crate) entries: BTreeMap<Key, (Vec<u8>, Option<u64>)>,
    pub(crate) now: u64,
}

impl Model {
    pub(crate) fn drop_ended(&mut self) -> u64 {
        let before = self.entries.len();
        let now = self.now;
        self.entries.retain(|_, (_, expiry)| expiry.is_none_or(|at| at > now));
        (before - self.entries.len()) as u64
    }

    fn apply_expiry(&mut self, key: &Key, expiry: Expiry) {
        match expiry {
            Expiry::Keep => {}
            Expiry::Clear => {
                if let Some(entry) = self.entries.get_mut(key) {
                    entry.1 = None;
                }
            }
            Expiry::At(unix_ms) if unix_ms <= self.now => drop(self.entries.remove(key)),
            Expiry::At(unix_ms) => {
                if let Some(entry) = self.entries.get_mut(key) {
                    entry.1 = Some(unix_ms);
                }
            }
        }
    }
}

pub(crate) fn step(
    db: &Database,
    clock: &ManualClock,
    model: &mut Model,
    call: Call,
) -> Result<(), TestCaseError> {
    model.drop_ended();
    match call {
        Call::Set(k, v) => {
            db.set(&k, &v).unwrap();
            model.entries.insert(k, (v, None));
        }
        Call::SetWith(k, v, condition, expiry, want_previous) => {
            let expiry = to_expiry(expiry);
            let outcome = db.set_with(&k, &v, SetOptions { condition, expiry, want_previous }).unwrap();
            let old = model.entries.get(&k).cloned();
            let written = match condition {
                Condition::Always => true,
                Condition::IfAbsent => old.is_none(),
                Condition::IfPresent => old.is_some(),
            };
            let previous = old.clone().map(|(value, _)| value).filter(|_| want_previous);
            prop_assert_eq!(outcome.written, written);
            prop_assert_eq!(outcome.previous.map(Value::into_vec), previous);
            if written {
                model.entries.insert(k.clone(), (v, old.and_then(|(_, expiry)| expiry)));
                model.apply_expiry(&k, expiry);
            }
        }
        Call::CompareAndSet(k, guess, v) => {
            let found = model.entries.get(&k).map(|(value, _)| value.clone());
            // A guess would hardly ever be right.
            let expected =
                if guess.as_ref().is_some_and(|guess| guess.len() % 2 == 0) { found.clone() } else { guess };
            prop_assert_eq!(
                db.compare_and_set(&k, expected.as_deref(), v.as_deref()).unwrap(),
                found == expected
            );
            if found == expected {
                match v {
                    Some(v) => model.entries.entry(k).or_default().0 = v,
                    None => drop(model.entries.remove(&k)),
                }
            }
        }
        Call::SetMany(pairs) => {
            let slices: Vec<(&[u8], &[u8])> = pairs.iter().map(|(k, v)| (&k[..], &v[..])).collect();
            db.set_many(&slices).unwrap();
            model.entries.extend(pairs.into_iter().map(|(k, v)| (k, (v, None))));
        }
        Call::Take(k) => {
            prop_assert_eq!(
                db.take(&k).unwrap().map(Value::into_vec),
                model.entries.remove(&k).map(|(value, _)| value)
            )
        }
        Call::Delete(k) => prop_assert_eq!(db.delete(&k).unwrap(), model.entries.remove(&k).is_some()),
        Call::Append(k, suffix) => {
            let entry = model.entries.entry(k.clone()).or_default();
            entry.0.extend_from_slice(&suffix);
            prop_assert_eq!(db.append(&k, &suffix).unwrap(), entry.0.len());
        }
        Call::Increment(k, delta) => {
            let old = model.entries.get(&k).map_or(&b"0"[..], |(value, _)| value);
            let number = std::str::from_utf8(old).ok().and_then(|text| text.parse::<i64>().ok());
            // `+0`, `007` and `-0` are numbers to Rust, and none here.
            let number = number.filter(|number| number.to_string().as_bytes() == old);
            let expected = number
                .ok_or(Error::NotAnInteger)
                .and_then(|old| old.checked_add(delta).ok_or(Error::Overflow));
            prop_assert_eq!(db.increment(&k, delta), expected.clone());
            if let Ok(sum) = expected {
                model.entries.entry(k).or_default().0 = sum.to_string().into_bytes();
            }
        }
        Call::ExpireAt(k, offset, condition) => {
            let unix_ms = at(offset);
            let current = model.entries.get(&k).map(|(_, expiry)| *expiry);
            let expected = current.is_some_and(|current| match condition {
                ExpireCondition::Always => true,
                ExpireCondition::IfNone => current.is_none(),
                ExpireCondition::IfSome => current.is_some(),
                ExpireCondition::IfGreater => unix_ms > current.unwrap_or(u64::MAX),
                ExpireCondition::IfLess => unix_ms < current.unwrap_or(u64::MAX),
            });
            prop_assert_eq!(db.expire_at(&k, unix_ms, condition).unwrap(), expected);
            if expected {
                model.apply_expiry(&k, Expiry::At(unix_ms));
            }
        }
        Call::Persist(k) => {
            let had_one = model.entries.get(&k).is_some_and(|(_, expiry)| expiry.is_some());
            prop_assert_eq!(db.persist(&k).unwrap(), had_one);
            model.apply_expiry(&k, Expiry::Clear);
        }
        Call::GetAndExpire(k, expiry) => {
            let expiry = to_expiry(expiry);
            let value = model.entries.get(&k).map(|(value, _)| value.clone());
            prop_assert_eq!(db.get_and_expire(&k, expiry).unwrap().map(Value::into_vec), value);
            model.apply_expiry(&k, expiry);
        }
        Call::Rename(from, to) => {
            let entry = model.entries.remove(&from);
            prop_assert_eq!(db.rename(&from, &to).unwrap(), entry.is_some());
            if let Some(entry) = entry {
                model.entries.insert(to, entry);
            }
        }
        Call::Clear => {
            db.clear().unwrap();
            model.entries.clear();
        }
        Call::Advance(by_ms) => {
            clock.advance(by_ms);
            model.now += by_ms;
        }
        Call::ExpireCycle => {
            db.expire_cycle(Duration::from_secs(5));
        }
    }
    Ok(())
}

pub(crate) fn compare(db: &Database, model: &mut Model) -> Result<(), TestCaseError> {
    model.drop_ended();
    let mut listed = BTreeSet::new();
    db.for_each_key(|key| assert!(listed.insert(key.to_vec()), "listed twice")).unwrap();
    prop_assert!(listed.iter().eq(model.entries.keys()));
    for (key, (value, expiry)) in &model.entries {
        prop_assert_eq!(db.expiry(key).unwrap(), expiry.map_or(Lifetime::Forever, Lifetime::Until));
        prop_assert_eq!(db.get(key).unwrap(), Some(value.clone()));
        prop_assert_eq!(db.value_len(key).unwrap(), value.len());
    }
    let keys: Vec<&[u8]> = model.entries.keys().map(|key| &key[..]).collect();
    let values: Vec<Option<Vec<u8>>> = model.entries.values().map(|(value, _)| Some(value.clone())).collect();
    prop_assert_eq!(db.multi_get(&keys).unwrap(), values);
    Ok(())
}
