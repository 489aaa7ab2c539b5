//! One snapshot beside writers: forward walks, backward walks and gets agree, and see whole batches only.

use super::tree_test::{DIRECTORY, small};
use super::{Batch, SyncMode, Tree, TreeOptions, TreeSnapshot};
use crate::clock::ManualClock;
use crate::lsm::vfs::SimDisk;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ACCOUNTS: u64 = 64;
const START: u64 = 1_000;

fn account(number: u64) -> Vec<u8> {
    format!("account:{number:04}").into_bytes()
}

fn amount(value: &[u8]) -> u64 {
    u64::from_le_bytes(value.try_into().unwrap())
}

/// The last key of all; what is written goes right before it.
const LAST: &[u8] = b"zzzz";

/// Moves an amount, and writes a key beside an account, so that its versions go to other places, and one before the last.
fn transfer(tree: &Tree, amounts: &mut [u64], random: &mut fastrand::Rng, number: u64) {
    let (from, to) = (random.usize(..amounts.len()), random.usize(..amounts.len()));
    let moved = random.u64(..=amounts[from].min(50));
    amounts[from] -= moved;
    amounts[to] += moved;
    let mut batch = Batch::default();
    for at in [from, to] {
        batch.set(&account(at as u64), &amounts[at].to_le_bytes());
    }
    batch.set(&[&account(to as u64), &number.to_be_bytes()[..]].concat(), b"");
    batch.set(format!("transfer:{number:012}").as_bytes(), b"");
    tree.write(&batch).unwrap();
}

/// The balances of a snapshot, walked forward or backward.
fn walked(snapshot: &TreeSnapshot, is_backward: bool) -> Vec<u64> {
    let (mut walk, mut found) = (snapshot.walk(), Vec::new());
    if is_backward { walk.seek_before(b"b") } else { walk.first() }.unwrap();
    while let Some((key, value)) = walk.pair()
        && key.starts_with(b"account:")
    {
        if key.len() == account(0).len() {
            found.push(amount(value));
        }
        if is_backward { walk.previous() } else { walk.next() }.unwrap();
    }
    if is_backward {
        found.reverse();
    }
    found
}

#[test]
fn walks_both_ways_and_gets_of_a_snapshot_agree_beside_a_writer() {
    const TRANSFERS: u64 = 30_000;
    const LOOKS: usize = 200;
    let disk = SimDisk::new();
    disk.make_dir(Path::new(DIRECTORY));
    // One long memtable: what is walked is being written to.
    let options = TreeOptions { memtable_bytes: 64 << 20, ..small(SyncMode::OnCall) };
    let clock = Arc::new(ManualClock::new(1));
    let tree = Tree::open(Arc::new(disk), Path::new(DIRECTORY), options, clock).unwrap();
    let mut amounts = [START; ACCOUNTS as usize];
    let mut batch = Batch::default();
    (0..ACCOUNTS).for_each(|number| batch.set(&account(number), &START.to_le_bytes()));
    batch.set(LAST, b"");
    tree.write(&batch).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut rounds = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let snapshot = tree.snapshot();
                        // A look at the last key is short and meets a split more often.
                        if rounds % 8 == 0 {
                            let backward = walked(&snapshot, true);
                            let forward = walked(&snapshot, false);
                            let gets = (0..ACCOUNTS).map(|number| {
                                snapshot.get(&account(number), |live| amount(live.value)).unwrap().unwrap()
                            });
                            let gets: Vec<_> = gets.collect();
                            assert_eq!(gets.iter().sum::<u64>(), ACCOUNTS * START, "half a transfer");
                            assert_eq!(forward, gets, "forward");
                            assert_eq!(backward, gets, "backward");
                        }
                        let mut walk = snapshot.walk();
                        for _ in 0..LOOKS {
                            walk.last().unwrap();
                            assert_eq!(walk.pair().map(|(key, _)| key), Some(LAST), "the last key");
                        }
                        rounds += 1;
                    }
                    rounds
                })
            })
            .collect();
        let mut random = fastrand::Rng::with_seed(3);
        let mut number = 0;
        // Until there was enough of both.
        while number < TRANSFERS && !readers.iter().any(|reader| reader.is_finished()) {
            transfer(&tree, &mut amounts, &mut random, number);
            number += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        let rounds: u64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(rounds > 10, "{rounds} rounds beside {number} transfers");
    });
}
