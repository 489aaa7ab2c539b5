//! Write groups: the thread that has one sees its writes, others see all of them or none.

// Helpers fail by panicking, as tests do.
#![allow(clippy::unwrap_used)]

use plumbkv::{Database, Error, ExpireCondition, Expiry, Lifetime, Options, SetOptions, SyncMode};

fn open(path: &std::path::Path) -> Database {
    Database::open(Options::durable(path).sync_mode(SyncMode::Always)).unwrap()
}

/// What another thread finds.
fn beside(db: &Database, key: &[u8]) -> Option<Vec<u8>> {
    std::thread::scope(|scope| scope.spawn(|| db.get(key).unwrap()).join().unwrap())
}

#[test]
fn all_writes_of_a_group_count_from_its_commit_on() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    db.set(b"from", b"100").unwrap();
    db.set(b"gone", b"1").unwrap();
    let group = db.begin_group();
    assert_eq!(db.increment(b"from", -30).unwrap(), 70);
    assert_eq!(db.increment(b"to", 30).unwrap(), 30);
    assert_eq!(db.append(b"log", b"moved ").unwrap(), 6);
    assert_eq!(db.append(b"log", b"30").unwrap(), 8);
    assert!(db.delete(b"gone").unwrap() && !db.delete(b"gone").unwrap());
    db.set_many(&[(b"a", b"1"), (b"b", b"2")]).unwrap();
    assert!(db.rename(b"a", b"c").unwrap());
    assert_eq!(db.delete_many(&[b"b", b"b", b"never"]).unwrap(), 1);
    let until = db.now_ms() + 60_000;
    assert!(db.expire_at(b"to", until, ExpireCondition::Always).unwrap());
    db.set_with(b"timed", b"x", SetOptions::new().expiry(Expiry::At(until))).unwrap();
    assert_eq!(db.take(b"timed").unwrap().map(|value| value.to_vec()), Some(b"x".to_vec()));

    let keys: [&[u8]; 8] = [b"from", b"to", b"log", b"gone", b"a", b"b", b"c", b"timed"];
    let expected = [Some("70"), Some("30"), Some("moved 30"), None, None, None, Some("1"), None];
    let expected: Vec<_> =
        expected.iter().map(|value| value.map(|value| value.as_bytes().to_vec())).collect();
    assert_eq!(db.multi_get(&keys).unwrap(), expected);
    assert_eq!(db.count_many(&keys).unwrap(), 4);
    assert_eq!(db.expiry(b"to").unwrap(), Lifetime::Until(until));
    assert_eq!(db.value_len(b"log").unwrap(), 8);
    assert_eq!(
        keys.map(|key| beside(&db, key)),
        [Some(b"100".to_vec()), None, None, Some(b"1".to_vec()), None, None, None, None]
    );
    group.commit().unwrap();
    assert_eq!(keys.map(|key| beside(&db, key)).to_vec(), expected);
    drop(db);
    assert_eq!(open(folder.path()).multi_get(&keys).unwrap(), expected);
}

#[test]
fn a_group_that_is_not_committed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    drop({
        let group = db.begin_group();
        db.set(b"a", b"1").unwrap();
        group
    });
    assert_eq!(db.get(b"a").unwrap(), None);
    // Of another database nothing is kept.
    let other_folder = tempfile::tempdir().unwrap();
    let other = open(other_folder.path());
    let group = db.begin_group();
    other.set(b"a", b"2").unwrap();
    assert_eq!(beside(&other, b"a"), Some(b"2".to_vec()));
    drop(group);
}

#[test]
fn a_group_above_the_limit_of_a_batch_fails_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(folder.path()).memory_budget(1 << 20)).unwrap();
    let group = db.begin_group();
    let refused = (0..5_000_u32).filter(|number| db.set(&number.to_be_bytes(), &[7; 100]).is_err()).count();
    assert!(refused > 0 && refused < 5_000, "{refused}");
    assert!(matches!(group.commit(), Err(Error::BatchTooLong { .. })));
    assert_eq!(db.get(&0_u32.to_be_bytes()).unwrap(), None);
    db.set(b"a", b"1").unwrap();
    assert_eq!(beside(&db, b"a"), Some(b"1".to_vec()));
}

/// The writes before the call were acknowledged, so they may not be left out of a group that is committed in the end.
#[test]
fn a_group_fails_as_a_whole_when_a_part_of_it_could_not_be_committed() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(folder.path()).memory_budget(1 << 20)).unwrap();
    db.set(b"value", &[7; 50_000]).unwrap();
    let group = db.begin_group();
    let mut failures = 0;
    for number in 0..20_u32 {
        db.set(&number.to_be_bytes(), &[7; 20_000]).unwrap_or_else(|_| failures += 1);
    }
    assert!(failures > 0, "the overlay is limited while it grows, not at the end alone");
    assert!(matches!(db.get(b"value"), Err(Error::BatchTooLong { .. })));
    assert!(matches!(db.scan(0, 10, &mut |_| ()), Err(Error::BatchTooLong { .. })));
    assert!(matches!(db.set(b"a", b"1"), Err(Error::BatchTooLong { .. })));
    assert!(matches!(group.commit(), Err(Error::BatchTooLong { .. })));
    assert_eq!(db.get(b"a").unwrap(), None);
    assert_eq!(db.get(&0_u32.to_be_bytes()).unwrap(), None);
}

#[test]
fn a_call_about_the_whole_database_commits_the_writes_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    let group = db.begin_group();
    db.set(b"a", b"1").unwrap();
    let mut keys = Vec::new();
    assert_eq!(db.scan(0, 10, &mut |key| keys.push(key.to_vec())).unwrap(), 0);
    assert_eq!(keys, [b"a"]);
    db.clear().unwrap();
    db.set(b"b", b"2").unwrap();
    assert_eq!(db.get(b"a").unwrap(), None);
    group.commit().unwrap();
    assert_eq!(beside(&db, b"b"), Some(b"2".to_vec()));
}

#[test]
fn in_memory_each_write_counts_at_once() {
    let db = Database::open(Options::memory(1 << 20)).unwrap();
    let group = db.begin_group();
    db.set(b"a", b"1").unwrap();
    assert_eq!(beside(&db, b"a"), Some(b"1".to_vec()));
    group.commit().unwrap();
}
