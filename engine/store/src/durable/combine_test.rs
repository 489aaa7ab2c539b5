//! Combined read-modify-writes: the results of groups against the same operations one by one, groups of
//! which the write fails, and leaders that panic.

#![allow(clippy::unwrap_used, reason = "helpers of tests; clippy exempts only the tests themselves")]

use super::change::own;
use super::{Durable, Limits, TreeOptions, TreeSyncMode};
use crate::clock::{Clock, ManualClock};
use crate::error::{Error, Result};
use crate::lsm::{Fault, SimDisk};
use crate::memory::{Condition, ExpireCondition, Expiry, RenameOptions, SetOptions};
use crate::{Database, Options, Value};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const NOW: u64 = 1_000;
const MOVE: RenameOptions = RenameOptions { keep_source: false, keep_target: false };

#[derive(Debug, Clone)]
enum Op {
    SetWith(&'static str, Condition, Expiry, bool),
    CompareAndSet(Option<&'static str>, Option<&'static str>),
    Take,
    Delete,
    Append(&'static str),
    Increment(i64),
    ExpireAt(u64, ExpireCondition),
    Persist,
    GetAndExpire(Expiry),
    Rename(&'static str, &'static str, RenameOptions),
    SetManyIfAbsent(&'static [(&'static str, &'static str)]),
    DeleteMany(&'static [&'static str]),
}

fn show<T: std::fmt::Debug>(result: Result<T>) -> String {
    format!("{result:?}")
}

/// Carries out an operation on either kind of database, and says what it returned.
macro_rules! apply {
    ($db:expr, $op:expr) => {{
        let key = &b"key"[..];
        let copied = |result: Result<Option<Value>>| show(result.map(|value| value.map(Value::into_vec)));
        match $op {
            Op::SetWith(value, condition, expiry, want_previous) => {
                let options = SetOptions { condition, expiry, want_previous };
                let done = $db.set_with(key, value.as_bytes(), options);
                show(done.map(|outcome| (outcome.written, outcome.previous.map(Value::into_vec))))
            }
            Op::CompareAndSet(expected, value) => {
                show($db.compare_and_set(key, expected.map(str::as_bytes), value.map(str::as_bytes)))
            }
            Op::Take => copied($db.take(key)),
            Op::Delete => show($db.delete(key)),
            Op::Append(suffix) => show($db.append(key, suffix.as_bytes())),
            Op::Increment(delta) => show($db.increment(key, delta)),
            Op::ExpireAt(unix_ms, condition) => show($db.expire_at(key, unix_ms, condition)),
            Op::Persist => show($db.persist(key)),
            Op::GetAndExpire(expiry) => copied($db.get_and_expire(key, expiry)),
            Op::Rename(from, to, options) => show($db.rename_with(from.as_bytes(), to.as_bytes(), options)),
            Op::SetManyIfAbsent(pairs) => {
                let pairs: Vec<_> =
                    pairs.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
                show($db.set_many_if_absent(&pairs))
            }
            Op::DeleteMany(keys) => {
                show($db.delete_many(&keys.iter().map(|key| key.as_bytes()).collect::<Vec<_>>()))
            }
        }
    }};
}

fn open(disk: &SimDisk, clock: Arc<dyn Clock>) -> Durable {
    let options = TreeOptions { sync: TreeSyncMode::Always, has_workers: false, ..TreeOptions::default() };
    Durable::open_as(Arc::new(disk.clone()), Path::new("/d"), options, Limits::of(1 << 20), clock).unwrap()
}

fn manual() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(NOW))
}

/// Makes one group of these operations, in this order: the locks of their keys are held until all wait.
/// `None` for an operation whose thread panicked.
fn grouped(db: &Durable, keys: &[&str], operations: &[Op]) -> Vec<Option<String>> {
    let keys = own(keys.iter().map(|key| key.as_bytes()));
    let locks = db.locks.several_alone(keys.iter().map(|key| &**key)).unwrap();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for operation in operations {
            let operation = operation.clone();
            threads.push(scope.spawn(move || apply!(db, operation)));
            while !db.combining.is_led(&keys) || db.combining.waiting(&keys) + 1 < threads.len() {
                thread::yield_now();
            }
        }
        drop(locks);
        threads.into_iter().map(|thread| thread.join().ok()).collect()
    })
}

fn any(random: &mut fastrand::Rng) -> Op {
    let values = ["", "1", "7", "a word", "9223372036854775807", "77"];
    let value = |random: &mut fastrand::Rng| values[random.usize(..values.len())];
    let expiries = [Expiry::Keep, Expiry::Clear, Expiry::At(NOW), Expiry::At(NOW + 1), Expiry::At(u64::MAX)];
    let conditions = [Condition::Always, Condition::IfAbsent, Condition::IfPresent];
    let expire_conditions = [
        ExpireCondition::Always,
        ExpireCondition::IfNone,
        ExpireCondition::IfSome,
        ExpireCondition::IfGreater,
        ExpireCondition::IfLess,
    ];
    let expiry = expiries[random.usize(..expiries.len())];
    match random.u32(..9) {
        0 => {
            let condition = conditions[random.usize(..3)];
            // Without a condition it is no read-modify-write, unless the expiry is to be kept.
            let expiry = if condition == Condition::Always { Expiry::Keep } else { expiry };
            Op::SetWith(value(random), condition, expiry, random.bool())
        }
        1 => {
            let expected = random.bool().then(|| value(random));
            Op::CompareAndSet(expected, random.u32(..4).gt(&0).then(|| value(random)))
        }
        2 => Op::Take,
        3 => Op::Delete,
        4 => Op::Append(value(random)),
        5 => Op::Increment(random.i64(-2..3)),
        6 => Op::ExpireAt(NOW + random.u64(..3), expire_conditions[random.usize(..5)]),
        7 => Op::Persist,
        _ => Op::GetAndExpire(expiry),
    }
}

#[test]
fn a_group_returns_what_its_operations_return_one_by_one() {
    let disk = SimDisk::new();
    let clock = manual();
    let db = open(&disk, clock.clone());
    let mut random = fastrand::Rng::with_seed(7);
    let mut took = 0;
    for round in 0..150 {
        let model = Database::open(Options::memory(1 << 20).clock(clock.clone())).unwrap();
        db.delete(b"key").unwrap();
        if random.bool() {
            db.set(b"key", b"7").unwrap();
            model.set(b"key", b"7").unwrap();
        }
        let operations: Vec<_> = (0..random.usize(1..9)).map(|_| any(&mut random)).collect();
        let before = disk.operations();
        let found = grouped(&db, &["key"], &operations);
        took += disk.operations() - before;
        for (operation, found) in operations.iter().zip(found) {
            let expected = apply!(model, operation.clone());
            assert_eq!(found, Some(expected), "{operation:?} of {operations:?} in round {round}");
        }
        assert_eq!(db.read(b"key", <[u8]>::to_vec).unwrap(), model.get(b"key").unwrap(), "{operations:?}");
        assert_eq!(db.lifetime(b"key"), model.expiry(b"key"), "{operations:?}");
    }
    // A write and a sync of each group, and a few writes that fill the log ahead.
    assert!(took < 2 * 150 + 30, "{took} operations of the disk");
}

#[test]
fn calls_with_several_keys_share_a_write_as_well() {
    let disk = SimDisk::new();
    let db = open(&disk, manual());
    db.set(b"a", b"1").unwrap();
    let operations = [
        Op::Rename("a", "b", MOVE),
        Op::Rename("a", "b", MOVE),
        Op::Rename("b", "a", RenameOptions { keep_target: true, ..MOVE }),
        Op::Rename("a", "b", RenameOptions { keep_source: true, ..MOVE }),
        Op::Rename("a", "b", RenameOptions { keep_source: true, keep_target: true }),
        Op::SetManyIfAbsent(&[("a", "2"), ("b", "2")]),
        Op::DeleteMany(&["b", "a", "b"]),
        Op::SetManyIfAbsent(&[("b", "1"), ("a", "3"), ("b", "4")]),
        Op::DeleteMany(&["b", "a", "b"]),
        Op::Rename("b", "a", MOVE),
    ];
    let before = disk.operations();
    let found = grouped(&db, &["a", "b"], &operations);
    assert_eq!(disk.operations() - before, 2);
    let expected = [
        "Ok(Done)",
        "Ok(Missing)",
        "Ok(Done)",
        "Ok(Done)",
        "Ok(Exists)",
        "Ok(false)",
        "Ok(2)",
        "Ok(true)",
        "Ok(2)",
        "Ok(Missing)",
    ];
    assert!(found.iter().map(|found| found.as_deref()).eq(expected.map(Some)), "{found:?}");
    assert!(db.read(b"a", |_| ()).unwrap().is_none() && db.read(b"b", |_| ()).unwrap().is_none());
}

#[test]
fn a_refused_write_refuses_all_that_may_have_seen_it_and_nothing_before() {
    // The write, and its sync.
    for step in 0..2 {
        let disk = SimDisk::new();
        let db = open(&disk, manual());
        db.set(b"key", b"old").unwrap();
        let operations = [
            Op::CompareAndSet(Some("new"), Some("x")),
            Op::Increment(1),
            Op::Append("er"),
            // They change nothing, because of what is lost.
            Op::SetWith("x", Condition::IfAbsent, Expiry::Clear, true),
            Op::CompareAndSet(Some("old"), Some("x")),
            Op::Increment(1),
            Op::Take,
        ];
        disk.fail(disk.operations() + step, Fault::Error(ErrorKind::Other));
        let found: Vec<_> = grouped(&db, &["key"], &operations).into_iter().flatten().collect();
        assert_eq!(found[..2], ["Ok(false)", "Err(NotAnInteger)"]);
        assert_eq!(found.len(), operations.len());
        assert!(found[2..].iter().all(|found| found.starts_with("Err(Io")), "{found:?}");
        assert_eq!(db.read(b"key", <[u8]>::to_vec).unwrap(), Some(b"old".to_vec()), "nothing is seen of it");
        // Later ones see what there was, and cannot change it.
        assert_eq!(db.compare_and_set(b"key", Some(b"older"), None), Ok(false));
        let later = db.append(b"key", b"x").unwrap_err();
        assert!(matches!(later, Error::Io { .. }) && !later.is_in_doubt(), "{later}");
    }
}

/// Panics once when it is told to.
#[derive(Default)]
struct Faulty(AtomicBool);

impl Clock for Faulty {
    fn now_ms(&self) -> u64 {
        assert!(!self.0.swap(false, Ordering::Relaxed), "the clock of the program panics");
        NOW
    }
}

#[test]
fn a_leader_that_panics_carries_out_nothing_and_leaves_the_others_to_the_next() {
    let disk = SimDisk::new();
    let clock = Arc::new(Faulty::default());
    let db = open(&disk, clock.clone());
    db.set(b"key", b"").unwrap();
    clock.0.store(true, Ordering::Relaxed);
    let operations = [
        Op::Append("lost"),
        Op::Append("a"),
        Op::ExpireAt(NOW + 1, ExpireCondition::Always),
        Op::Append("b"),
    ];
    let found = grouped(&db, &["key"], &operations);
    assert!(!clock.0.load(Ordering::Relaxed) && found[0].is_none(), "{found:?}");
    assert_eq!(found[2].as_deref(), Some("Ok(true)"));
    // Which of the others leads is up to the system.
    let mut lengths = [&found[1], &found[3]].map(|found| found.as_deref().unwrap());
    lengths.sort_unstable();
    assert_eq!(lengths, ["Ok(1)", "Ok(2)"]);
    assert_eq!(db.read(b"key", <[u8]>::len).unwrap(), Some(2));
    assert_eq!(db.append(b"key", b"c"), Ok(3));
}

#[test]
fn operations_of_a_leader_that_panics_while_it_writes_get_an_error() {
    // The write, and its sync.
    for step in 0..2 {
        let disk = SimDisk::new();
        let db = open(&disk, manual());
        db.set(b"key", b"1").unwrap();
        let operations = [Op::Increment(1), Op::Increment(1), Op::Append("0"), Op::Delete];
        disk.before(disk.operations() + step, || panic!("the file system panics"));
        let found = grouped(&db, &["key"], &operations);
        assert_eq!(found[0], None, "the leader did not panic");
        let is_told =
            |found: &Option<String>| found.as_ref().is_some_and(|found| found.starts_with("Err(Panicked"));
        assert!(found[1..].iter().all(is_told), "{found:?}");
        // Nothing hangs, and nothing of the group is seen.
        assert_eq!(db.read(b"key", <[u8]>::to_vec).unwrap(), Some(b"1".to_vec()));
        assert!(matches!(db.increment(b"key", 1), Err(Error::Panicked { .. })));
        assert!(matches!(db.set(b"other", b"1"), Err(Error::Panicked { .. })));
        assert_eq!(db.compare_and_set(b"key", Some(b"2"), None), Ok(false));
        drop(db);
        disk.restart(crate::lsm::Survival::Some(step));
        // All of the group or nothing: its last operation deletes the key.
        let number = open(&disk, manual()).increment(b"key", 0);
        assert!(matches!(number, Ok(0 | 1)), "{number:?}");
    }
}
