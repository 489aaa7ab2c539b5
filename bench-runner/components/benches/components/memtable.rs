//! Inserting into a memtable that is nearly full, and looking a key up.
//!
//! crossbeam-skiplist has keys and values of fixed lengths here, in its nodes: more than a store could use, and the faster for it. lsm-tree's memtable is a crossbeam-skiplist of
//! slices with sequence numbers, as ours has them.
//!
//! The last eighth of the entries is counted. In a memtable of less than 16 MiB, ours, all memory that they take is resident by then, 256 KiB at a time, and what that took is left out;
//! crossbeam-skiplist asks for memory with each entry.

use criterion::Criterion;
use crossbeam_skiplist::SkipMap;
use plumbkv::parts::Memtable;
use plumbkv_components::{Filling, Part, SIZES, VALUE, common, shuffled};
use std::hint::black_box;
use std::path::Path;

use crate::rival;

pub(crate) fn memtable(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "lsm-memtable");
    for size in SIZES {
        let (keys, common) = (shuffled(size), common(size));
        let new = || Memtable::new(size * 300 + (1 << 20), &common).expect("memory");
        let set = |table: &mut Memtable, at: usize| assert!(table.set(black_box(&keys[at]), &VALUE));
        part.ours_prepared("set", size, Filling::new(size, new, set));
        let set = |table: &mut SkipMap<_, _>, at: usize| drop(table.insert(*black_box(&keys[at]), VALUE));
        part.theirs_prepared("crossbeam-skiplist", Filling::new(size, SkipMap::new, set));
        let new = || lsm_tree::Memtable::new(0);
        let set = |table: &mut lsm_tree::Memtable, at: usize| {
            table.insert(rival::value(black_box(&keys[at])));
        };
        part.theirs_prepared(rival::NAME, Filling::new(size, new, set));

        let table = new_filled(size, &common, &keys);
        part.ours("get", size, |at| {
            assert!(table.get(black_box(&keys[at])).is_some_and(|value| value[0] == 7))
        });
        drop(table);
        let table: SkipMap<[u8; 16], [u8; 100]> = keys.iter().map(|key| (*key, VALUE)).collect();
        part.theirs("crossbeam-skiplist", |at| {
            assert!(table.get(black_box(&keys[at])).is_some_and(|entry| entry.value()[0] == 7));
        });
        drop(table);
        let table = lsm_tree::Memtable::new(0);
        for key in &keys {
            table.insert(rival::value(key));
        }
        part.theirs(rival::NAME, |at| {
            assert!(table.get(black_box(&keys[at]), u64::MAX).is_some_and(|entry| entry.value[0] == 7));
        });
    }
}

fn new_filled(size: usize, common: &[u8], keys: &[[u8; 16]]) -> Memtable {
    let mut table = Memtable::new(size * 300 + (1 << 20), common).expect("memory");
    keys.iter().for_each(|key| assert!(table.set(key, &VALUE)));
    table
}
