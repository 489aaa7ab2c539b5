//! Gaps: a walk that seeks past deleted keys shows exactly the live ones, beside concurrent writers.

use super::tree_test::{everything, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::lsm::vfs::SimDisk;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const KEYS: usize = 300;
const TOKENS: usize = 5;

fn key(number: usize) -> Vec<u8> {
    format!("key {number:04}").into_bytes()
}

/// Each write moves tokens from keys to others: at every moment so many keys are there.
fn move_tokens(tree: &Tree, seed: u64, times: u64, done: &AtomicU64) {
    let mut random = fastrand::Rng::with_seed(seed);
    // Each writer has keys of its own.
    let mut places: Vec<usize> = (0..TOKENS).map(|place| 2 * place + seed as usize).collect();
    for _ in 0..times {
        let mut batch = Batch::default();
        let token = random.usize(..TOKENS);
        // Mostly onward, as a queue does.
        let to = if random.u8(..8) > 0 {
            (places[token] + 2) % KEYS
        } else {
            2 * random.usize(..KEYS / 2) + seed as usize
        };
        if places.contains(&to) {
            continue;
        }
        if random.u8(..10) == 0 {
            batch.delete_range(&key(places[token]), Some(&[&key(places[token])[..], &[0]].concat()));
        } else {
            batch.delete(&key(places[token]));
        }
        batch.set(&key(to), b"token");
        places[token] = to;
        tree.write(&batch).unwrap();
        done.fetch_add(1, Ordering::Relaxed);
        // As who takes from a queue does: here gaps are found, too.
        if random.u8(..4) == 0 {
            assert_eq!(everything(&tree.snapshot()).unwrap().len(), 2 * TOKENS);
        }
    }
}

#[test]
fn a_walk_past_deleted_keys_shows_what_is_there_whoever_writes() {
    let disk = SimDisk::new();
    let options = TreeOptions { has_workers: true, memtable_bytes: 200_000, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options).unwrap();
    for seed in 0..2 {
        let mut batch = Batch::default();
        (0..TOKENS).for_each(|place| batch.set(&key(2 * place + seed), b"token"));
        tree.write(&batch).unwrap();
    }
    let (is_over, done, found_gaps) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (tree, is_over, done, found_gaps) = (&tree, &is_over, &done, &found_gaps);
        for _ in 0..2 {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let snapshot = tree.snapshot();
                    // Both ways are compared there.
                    let found = everything(&snapshot).unwrap();
                    assert_eq!(found.len(), 2 * TOKENS, "{:?}", found.keys());
                    found_gaps.fetch_add(tree.inner.gaps.list().len() as u64, Ordering::Relaxed);
                }
            });
        }
        let writers = [0, 1].map(|seed| scope.spawn(move || move_tokens(tree, seed, 10_000, done)));
        for writer in writers {
            writer.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let counts = (done.into_inner(), found_gaps.into_inner());
    assert!(counts.0 > 2_000 && counts.1 > 100, "{counts:?}");
}

/// The first key of a queue, and the last of a stack, with thousands of deleted keys before and behind.
#[test]
fn what_is_gone_is_passed_once() {
    let disk = SimDisk::new();
    let tree = open(&disk, TreeOptions { memtable_bytes: 4 << 20, ..small(SyncMode::OnCall) }).unwrap();
    for number in 0..5_000 {
        let mut batch = Batch::default();
        batch.set(&key(number), b"item");
        if number >= 10 {
            batch.delete(&key(number - 10));
        }
        tree.write(&batch).unwrap();
        let snapshot = tree.snapshot();
        let mut walk = snapshot.walk();
        walk.first().unwrap();
        assert_eq!(walk.pair().map(|(key, _)| key.to_vec()), Some(key(number.saturating_sub(9))));
        assert!(walk.last_passed() < 40, "{} at {number}", walk.last_passed());
    }
    for number in (4_990..5_000).rev() {
        let mut walk = tree.snapshot().walk();
        walk.last().unwrap();
        assert_eq!(walk.pair().map(|(key, _)| key.to_vec()), Some(key(number)));
        let mut batch = Batch::default();
        batch.delete(&key(number));
        tree.write(&batch).unwrap();
    }
    let (begin, old) = (tree.snapshot(), tree.snapshot());
    assert!(everything(&begin).unwrap().is_empty());
    let mut batch = Batch::default();
    batch.set(&key(77), b"again");
    tree.write(&batch).unwrap();
    assert_eq!(everything(&tree.snapshot()).unwrap().len(), 1);
    assert!(everything(&old).unwrap().is_empty());
}
