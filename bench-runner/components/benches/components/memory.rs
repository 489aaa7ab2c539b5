//! The memory store: a get, a set over a value of the same length, and a set for which one key has to be evicted.

use criterion::Criterion;
use plumbkv::{Database, Options};
use plumbkv_components::{Part, SIZES, VALUE, shuffled};
use std::hint::black_box;
use std::path::Path;

fn open(cap: u64) -> Database {
    Database::open(Options::memory(cap).seed(1)).expect("valid options")
}

pub(crate) fn get_and_set(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "memory-store");
    for size in SIZES {
        let keys = shuffled(size);
        let db = open(1 << 30);
        keys.iter().for_each(|key| db.set(key, &VALUE).expect("room for all keys"));
        part.ours("get", size, |at| {
            let found = db.read(black_box(&keys[at]), |value| value[0] == 7).expect("readable");
            assert!(found == Some(true), "a miss");
        });
        part.ours("set", size, |at| db.set(black_box(&keys[at]), black_box(&VALUE)).expect("room"));
        assert!(db.stats().evicted == 0 && db.len() == size as u64);
    }
}

/// In a store with room for about so many: always a new key, and about one that goes for it.
pub(crate) fn evict(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "memory-store");
    for size in SIZES {
        let db = open(size as u64 * 128);
        let mut number = 0_u64;
        let mut set = || {
            number += 1;
            let mut key = *b"key:000000000000";
            key[4..12].copy_from_slice(&number.to_be_bytes());
            db.set(black_box(&key), black_box(&VALUE)).expect("room");
        };
        while db.stats().evicted == 0 {
            (0..1_000).for_each(|_| set());
        }
        let before = db.stats().evicted;
        let mut sets = 0_u64;
        part.ours("evict-one", size, |_| {
            set();
            sets += 1;
        });
        let evicted = (db.stats().evicted - before) as f64;
        assert!((0.9..1.1).contains(&(evicted / sets as f64)), "{evicted} evictions in {sets} sets");
    }
}
