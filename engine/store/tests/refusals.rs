//! What does a durable database refuse? Each refusal is an error that says why, and changes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Batch, Database, Direction, Error, Options, Policy};

#[test]
fn one_process_at_a_time_and_the_error_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path())).unwrap();
    let error = Database::open(Options::durable(directory.path())).err().unwrap();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert!(error.to_string().contains("in use by another process"), "{error}");
    drop(db);
    Database::open(Options::durable(directory.path())).unwrap();
}

#[test]
fn what_a_mode_does_not_have_is_said_so() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path())).unwrap();
    assert!(matches!(
        db.set_policy(Policy::AllkeysLru),
        Err(Error::Unsupported { call: "set_policy", mode: "durable" })
    ));
    assert!(matches!(db.scan(77, 1, &mut |_| ()), Err(Error::UnknownCursor { cursor: 77 })));
    let memory = Database::open(Options::memory(1 << 20)).unwrap();
    assert!(matches!(memory.snapshot(), Err(Error::Unsupported { call: "snapshot", mode: "memory" })));
    assert!(matches!(
        memory.ingest([("a", "b")]),
        Err(Error::Unsupported { call: "ingest", mode: "memory" })
    ));
    assert!(matches!(memory.compact(), Err(Error::Unsupported { call: "compact", mode: "memory" })));
    assert!(matches!(memory.checkpoint("x"), Err(Error::Unsupported { call: "checkpoint", mode: "memory" })));
    assert!(db.is_durable() && !memory.is_durable());
}

#[test]
fn an_entry_above_a_twelfth_of_the_budget_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).memory_budget(1 << 20)).unwrap();
    let largest = (1 << 20) / 12 - 1;
    db.set(b"k", &vec![1; largest]).unwrap();
    let error = db.set(b"k", &vec![1; largest + 1]).unwrap_err();
    assert!(
        matches!(error, Error::TooLargeForBudget { needed: 87_382, limit: 87_381, budget: 1_048_576 }),
        "{error}"
    );
    assert!(error.to_string().contains("may take 87381, a twelfth of the memory budget"), "{error}");
    assert!(matches!(db.append(b"k", b"1"), Err(Error::TooLargeForBudget { .. })));
    assert_eq!(db.value_len(b"k").unwrap(), largest);
    // A deletion and an entry in one batch.
    assert!(db.rename(b"k", b"l").unwrap());
    assert_eq!(db.value_len(b"l").unwrap(), largest);
    let tiny = Database::open(Options::durable(directory.path().join("x")).memory_budget((1 << 20) - 1))
        .err()
        .unwrap();
    assert!(matches!(tiny, Error::InvalidOption { option: "memory_budget", .. }));
}

#[test]
fn a_batch_above_a_quarter_of_the_budget_is_refused_by_name_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).memory_budget(1 << 20)).unwrap();
    let batch_of = |last: usize| {
        let mut batch = Batch::new();
        for key in 0..4_u8 {
            batch.set(&[key], &vec![key; 50_000]);
        }
        batch.set(b"last", &vec![1; last]);
        batch
    };
    // What it takes beside its values is found out by the first refusal.
    let Err(Error::BatchTooLong { len, max, unit }) = db.write(&batch_of(80_000)) else { panic!() };
    assert_eq!((max, db.len()), (1 << 18, 0), "{len} {unit}");
    let largest = 80_000 - (len - max) as usize;
    let error = db.write(&batch_of(largest + 1)).unwrap_err();
    assert!(matches!(error, Error::BatchTooLong { len: 262_145, max: 262_144, .. }), "{error}");
    assert!(error.to_string().contains("a quarter of the budget"), "{error}");
    assert_eq!(db.len(), 0);
    db.write(&batch_of(largest)).unwrap();
    assert_eq!((db.len(), db.value_len(b"last").unwrap()), (5, largest));
    let (key, value) = (|number: u32| number.to_be_bytes(), [7; 1_000]);
    let keys: Vec<_> = (0..300).map(key).collect();
    let pairs: Vec<_> = keys.iter().map(|key| (&key[..], &value[..])).collect();
    assert!(matches!(db.set_many(&pairs), Err(Error::BatchTooLong { .. })));
    assert_eq!(db.len(), 5);
    db.set_many(&pairs[..100]).unwrap();
    // One small write, whatever it deletes.
    db.delete_range(..).unwrap();
    assert!(db.snapshot().unwrap().range(.., Direction::Forward).next().is_none());
}

#[test]
fn snapshots_that_keep_too_much_memory_are_exact_and_the_last_one_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).memory_budget(1 << 20)).unwrap();
    let mut held = Vec::new();
    let error = loop {
        for place in 0..110_u32 {
            db.set(&place.to_be_bytes(), &vec![held.len() as u8; 1_000]).unwrap();
        }
        match db.snapshot() {
            Ok(snapshot) => held.push(snapshot),
            Err(error) => break error,
        }
        assert!(held.len() < 20, "none is refused");
    };
    let Error::SnapshotsHoldMemory { held: bytes, limit } = error else { panic!("{error}") };
    assert!((limit, 2 * limit > bytes, bytes > limit) == (1 << 19, true, true), "{error}");
    assert!(error.to_string().contains("may keep 524288, half of the memory budget"), "{error}");
    assert!(held.len() > 1, "{}", held.len());
    // A key written before the limit is reached is read and walked as ever.
    assert_eq!(db.value_len(&0_u32.to_be_bytes()).unwrap(), 1_000);
    for (round, snapshot) in held.iter().enumerate() {
        for place in 0..110_u32 {
            let value = snapshot.get(&place.to_be_bytes()).unwrap();
            assert_eq!(value, Some(vec![round as u8; 1_000]), "{place} in {round}");
        }
        assert_eq!(snapshot.range(.., Direction::Backward).count(), 110);
    }
    // A range keeps as much as its snapshot.
    let range = held[0].range(.., Direction::Forward);
    let ranges: Vec<_> = held.iter().map(|snapshot| snapshot.range(.., Direction::Forward)).collect();
    drop(held);
    assert!(matches!(db.snapshot(), Err(Error::SnapshotsHoldMemory { .. })));
    drop((range, ranges));
    db.flush().unwrap();
    assert_eq!(db.snapshot().unwrap().range(.., Direction::Forward).count(), 110);
}

#[test]
fn more_memory_than_the_machine_has_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for bytes in [1 << 44, 1 << 60, u64::MAX] {
        let budget = Database::open(Options::durable(&path).memory_budget(bytes)).err().unwrap();
        assert!(matches!(budget, Error::InvalidOption { option: "memory_budget", .. }), "{budget}");
        assert!(budget.to_string().contains("more than the memory of this machine"), "{budget}");
        let cache = Database::open(Options::durable(&path).cache_bytes(bytes)).err().unwrap();
        assert!(matches!(cache, Error::InvalidOption { option: "cache_bytes", .. }), "{cache}");
    }
    assert!(!path.exists());
}

#[test]
fn an_ingest_is_checked_and_leaves_nothing_when_it_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).memory_budget(1 << 20)).unwrap();
    let names = || {
        let names = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    let pair = |number: u32| (number.to_be_bytes().to_vec(), vec![7; 1_000]);
    let many = || (0..10_000).map(pair);
    let refused = [
        db.ingest(many().chain([pair(9_999)])),
        db.ingest(many().chain([pair(5)])),
        db.ingest(many().chain([(vec![255; 70_000], vec![])])),
        db.ingest(many().chain([(vec![255; 7], vec![0; 300_000])])),
    ];
    assert!(matches!(refused[0], Err(Error::OutOfOrder { pair: 10_001, is_duplicate: true })), "{refused:?}");
    assert!(matches!(refused[1], Err(Error::OutOfOrder { pair: 10_001, is_duplicate: false })));
    assert!(matches!(refused[2], Err(Error::KeyTooLong { .. })));
    assert!(matches!(refused[3], Err(Error::TooLargeForBudget { .. })));
    assert_eq!((names(), db.len()), (before, 0));
    let mut ingest = db.begin_ingest().unwrap();
    ingest.set(b"a", b"").unwrap();
    assert!(ingest.set(&[0; 70_000], b"").is_err());
    assert!(matches!(ingest.set(b"b", b""), Err(Error::KeyTooLong { .. })), "the first error stays");
    assert!(matches!(ingest.finish(), Err(Error::KeyTooLong { .. })));
    assert_eq!(db.ingest(many()).unwrap(), 10_000);
    assert_eq!((db.len(), db.verify(|_| ()).unwrap()), (10_000, 10_000));
    let stats = db.storage_stats().unwrap();
    assert_eq!(stats.ingested_bytes, stats.levels.last().unwrap().bytes);
}
