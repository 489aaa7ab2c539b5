//! A relative directory after a change of the working directory: the store stays where it was opened.
//!
//! One test in a binary of its own, because the working directory is one for all threads.

#![allow(clippy::unwrap_used, reason = "helpers of tests; clippy exempts only the tests themselves")]

use plumbkv::{Database, Options};

const KEYS: u32 = 4_000;

fn open(path: &str) -> Database {
    Database::open(Options::durable(path).memory_budget(1 << 20)).unwrap()
}

fn fill(db: &Database, value: &[u8]) {
    for number in 0..KEYS {
        db.set(format!("key:{number:06}").as_bytes(), value).unwrap();
    }
}

fn holds(db: &Database, value: &[u8]) -> u64 {
    let key = |number: u32| format!("key:{number:06}");
    (0..KEYS).filter(|number| db.get(key(*number).as_bytes()).unwrap().as_deref() == Some(value)).count()
        as u64
}

#[test]
fn a_store_with_a_relative_path_stays_where_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    for place in [&one, &two] {
        std::fs::create_dir(place).unwrap();
    }
    std::env::set_current_dir(&two).unwrap();
    let other = open("db");
    fill(&other, &[2; 500]);
    other.close().unwrap();

    std::env::set_current_dir(&one).unwrap();
    let db = open("db");
    std::env::set_current_dir(&two).unwrap();
    fill(&db, &[1; 500]);
    db.compact().unwrap();
    db.checkpoint("copy").unwrap();
    db.close().unwrap();
    drop(Database::repair("db", "aside", |_, _| ()).unwrap());

    assert_eq!(holds(&open(one.join("db").to_str().unwrap()), &[1; 500]), u64::from(KEYS));
    assert_eq!(holds(&open("db"), &[2; 500]), u64::from(KEYS));
    assert_eq!(holds(&open(two.join("copy").to_str().unwrap()), &[1; 500]), u64::from(KEYS));
}
