//! Does a thread that must not wait ever wait? And is a call that would have had to really not made?

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Batch, Database, Error, ExpireCondition, Expiry, NonBlocking, Options, SetOptions, SyncMode};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

const KEYS: u32 = 5_000;

fn key(number: u32) -> Vec<u8> {
    format!("key:{number:06}").into_bytes()
}

fn fill(db: &Database, keys: u32) {
    for number in 0..keys {
        db.set(&key(number), &[number as u8; 200]).unwrap();
    }
}

fn tables(directory: &Path) -> Vec<File> {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "table"))
        .map(|path| File::open(path).unwrap())
        .collect()
}

/// Takes the tables out of the page cache; false where the file system does not let go of them.
fn drop_from_page_cache(directory: &Path) -> bool {
    tables(directory).iter().all(|file| {
        file.sync_all().unwrap();
        fadvise(file, 0, None, Advice::DontNeed).unwrap();
        let mut byte = [0];
        let first = &mut [std::io::IoSliceMut::new(&mut byte)];
        let found = rustix::io::preadv2(file, first, 0, rustix::io::ReadWriteFlags::NOWAIT);
        found == Err(rustix::io::Errno::AGAIN)
    })
}

fn check_reads(db: &Database, would_block: bool) {
    let (first, last) = (key(0), key(KEYS - 1));
    let keys = [&first[..], b"absent", &last];
    let results = [
        db.get(&first).map(drop),
        db.exists(&last).map(drop),
        db.fetch(&first, |_| ()).map(drop),
        db.multi_get(&keys).map(drop),
        db.fetch_many(&keys, |values| values.for_each(drop)),
        db.count_many(&keys).map(drop),
        db.expiry(&first).map(drop),
        db.memory_usage(&last).map(drop),
        db.scan(0, 10, &mut |_| {}).map(drop),
        db.increment(&first, 1).map(drop),
        db.append(&first, b"x").map(drop),
        db.take(&first).map(drop),
        db.delete(&last).map(drop),
        db.delete_many(&keys).map(drop),
        db.rename(&first, b"other").map(drop),
        db.set_many_if_absent(&[(&first, b"x")]).map(drop),
        db.expire_at(&first, u64::MAX, ExpireCondition::Always).map(drop),
        db.persist(&first).map(drop),
        db.get_and_expire(&first, Expiry::At(u64::MAX)).map(drop),
        db.compare_and_set(&first, None, None).map(drop),
        db.set_with(&first, b"x", SetOptions::new().want_previous(true)).map(drop),
    ];
    for (number, result) in results.iter().enumerate() {
        assert_eq!(*result == Err(Error::WouldBlock), would_block, "call {number}: {result:?}");
    }
}

#[test]
fn it_is_of_one_thread_and_lasts_as_long_as_the_longest() {
    let first = NonBlocking::begin();
    let second = NonBlocking::begin();
    drop(first);
    assert!(NonBlocking::is_on());
    std::thread::scope(|scope| drop(scope.spawn(|| assert!(!NonBlocking::is_on()))));
    drop(second);
    assert!(!NonBlocking::is_on());
}

#[test]
fn a_block_that_is_in_no_cache_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path())).unwrap();
    fill(&db, KEYS);
    db.compact().unwrap();
    if !drop_from_page_cache(directory.path()) {
        return eprintln!("left out: this file system does not let go of its pages");
    }
    let nonblocking = NonBlocking::begin();
    assert_eq!(db.get(&key(KEYS / 2)), Err(Error::WouldBlock));
    drop(nonblocking);
    assert_eq!(db.get(&key(KEYS / 2)).unwrap().unwrap(), [(KEYS / 2) as u8; 200]);
    let _nonblocking = NonBlocking::begin();
    assert!(db.get(&key(KEYS / 2)).unwrap().is_some(), "the page cache has it now");
}

/// The slow disk is not in release builds. It never has anything at hand; the real one reads ahead although the caller goes away, and has the block for the next call.
#[cfg(debug_assertions)]
#[test]
fn a_call_that_would_wait_changes_nothing_and_counts_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let options = || Options::durable(directory.path());
    let db = Database::open(options()).unwrap();
    fill(&db, KEYS);
    db.compact().unwrap();
    db.close().unwrap();
    let db = Database::open(options()).unwrap();
    plumbkv::slow_disk(Duration::from_millis(1), Duration::ZERO);
    let before = (db.stats(), db.storage_stats().unwrap());
    let nonblocking = NonBlocking::begin();
    check_reads(&db, true);
    assert_eq!(db.get(b"absent"), Ok(None), "the filter knows");
    drop(nonblocking);
    let after = (db.stats(), db.storage_stats().unwrap());
    assert_eq!((after.0.hits, after.0.misses), (before.0.hits, before.0.misses + 1));
    assert_eq!(after.1.cache_misses, before.1.cache_misses, "they will be asked for again");
    assert_eq!(after.1.logged_bytes, before.1.logged_bytes);
    for number in [0, KEYS - 1] {
        assert_eq!(db.get(&key(number)).unwrap().unwrap(), [number as u8; 200]);
    }
    assert_eq!(db.storage_stats().unwrap().cache_bytes, before.1.cache_bytes, "they were missed once");
    db.get(&key(0)).unwrap();
    let _nonblocking = NonBlocking::begin();
    assert!(db.get(&key(0)).unwrap().is_some(), "the block cache has it now");
}

#[test]
fn what_is_in_memory_is_read_and_written_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path())).unwrap();
    let _nonblocking = NonBlocking::begin();
    fill(&db, KEYS);
    check_reads(&db, false);
    let mut batch = Batch::new();
    db.write(batch.set(b"a", b"1").set(b"b", b"2")).unwrap();
    db.set_many(&[(b"c", b"3")]).unwrap();
    assert_eq!(db.count_many(&[b"a", b"b", b"c"]), Ok(3));
    for (call, result) in [
        ("clear", db.clear()),
        ("sync", db.sync()),
        ("flush", db.flush()),
        ("compact", db.compact()),
        ("checkpoint", db.checkpoint(directory.path().join("copy"))),
        ("delete_range", db.delete_range(..)),
        ("verify", db.verify(|_| {}).map(drop)),
    ] {
        assert_eq!(result, Err(Error::WouldBlock), "{call}");
    }
}

#[test]
fn no_write_is_synced_by_it() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).sync_mode(SyncMode::Always)).unwrap();
    db.set(b"a", b"1").unwrap();
    let nonblocking = NonBlocking::begin();
    let mut batch = Batch::new();
    for result in [
        db.set(b"a", b"2"),
        db.set_with(b"a", b"2", SetOptions::new()).map(drop),
        db.set_many(&[(b"a", b"2")]),
        db.set_many_if_absent(&[(b"c", b"2")]).map(drop),
        db.write(batch.set(b"a", b"2")),
        db.increment(b"a", 1).map(drop),
        db.delete(b"a").map(drop),
        db.delete_many(&[b"a", b"b"]).map(drop),
        db.rename(b"a", b"b").map(drop),
    ] {
        assert_eq!(result, Err(Error::WouldBlock));
    }
    assert_eq!(db.get(b"a"), Ok(Some(b"1".to_vec())));
    drop(nonblocking);
    assert_eq!(db.increment(b"a", 1), Ok(2));
}

#[test]
fn a_full_memtable_is_somebody_elses_to_replace() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).memory_budget(1 << 20)).unwrap();
    let mut refused = 0;
    for number in 0..20_000 {
        let nonblocking = NonBlocking::begin();
        let begun = Instant::now();
        let done = db.set(&key(number), &[7; 100]);
        let elapsed = begun.elapsed();
        drop(nonblocking);
        // A busy machine may take the CPU away meanwhile.
        assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
        if done == Err(Error::WouldBlock) {
            refused += 1;
            db.set(&key(number), &[7; 100]).unwrap();
        } else {
            done.unwrap();
        }
    }
    assert!((10..2_000).contains(&refused), "{refused}");
    assert!((0..20_000).all(|number| db.exists(&key(number)).unwrap()));
}

#[test]
fn several_threads_write_beside_some_that_wait() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(Options::durable(directory.path()).memory_budget(2 << 20)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6u32 {
            let db = &db;
            scope.spawn(move || {
                let mut nonblocking = (thread < 3).then(NonBlocking::begin);
                for number in 0..3_000 {
                    let (name, value) = (key(thread * 10_000 + number), [thread as u8; 60]);
                    if db.set(&name, &value) == Err(Error::WouldBlock) {
                        drop(nonblocking.take());
                        db.set(&name, &value).unwrap();
                        nonblocking = (thread < 3).then(NonBlocking::begin);
                    }
                    db.increment(b"counter", 1)
                        .or_else(|_| {
                            drop(nonblocking.take());
                            let done = db.increment(b"counter", 1);
                            nonblocking = (thread < 3).then(NonBlocking::begin);
                            done
                        })
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(db.get(b"counter"), Ok(Some(b"18000".to_vec())));
    let there = (0..6).flat_map(|thread| (0..3_000).map(move |number| key(thread * 10_000 + number)));
    assert_eq!(there.filter(|name| db.exists(name).unwrap()).count(), 18_000);
}

/// The slow disk is not in release builds.
#[cfg(debug_assertions)]
#[test]
fn writers_of_one_key_share_a_sync_and_who_does_not_wait_writes_beside_one() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sync = Duration::from_millis(200);
    let db = Database::open(Options::durable(directory.path()).sync_mode(SyncMode::Always)).unwrap();
    let unsynced = Database::open(Options::durable(other.path()).sync_mode(SyncMode::Never)).unwrap();
    plumbkv::slow_disk(Duration::ZERO, sync);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..40 {
            let db = &db;
            scope.spawn(move || db.set(b"one", &[thread]).unwrap());
        }
    });
    let elapsed = begun.elapsed();
    // The first alone, the others together; one by one they would take eight seconds.
    assert!(elapsed < 10 * sync, "{elapsed:?}");

    unsynced.set(b"a", b"1").unwrap();
    std::thread::scope(|scope| {
        let syncing = scope.spawn(|| unsynced.sync().unwrap());
        let _nonblocking = NonBlocking::begin();
        let mut written = 0;
        while !syncing.is_finished() {
            // Only while the sync begins and ends it is in the way.
            written += u32::from(unsynced.set(b"b", b"2").is_ok());
        }
        assert!(written > 100, "{written}");
    });
}
