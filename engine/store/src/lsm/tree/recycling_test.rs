//! The memory of flushed memtables: reused while writes go on, returned when the store is idle.

use super::tree_test::{open, small};
use super::{Batch, SyncMode, TreeOptions};
use crate::lsm::vfs::SimDisk;
use std::time::{Duration, Instant};

fn write(tree: &super::Tree, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let mut batch = Batch::default();
        batch.set(&number.to_be_bytes(), &[number as u8; 100]);
        tree.write(&batch).unwrap();
    }
}

#[test]
fn a_flushed_memtable_leaves_its_memory_to_the_next_one() {
    let tree = open(&SimDisk::new(), small(SyncMode::OnCall)).unwrap();
    let recycler = tree.inner.recycler.as_ref().unwrap();
    assert!(recycler.is_empty());
    for round in 0..3 {
        write(&tree, round..round + 1);
        tree.flush().unwrap();
        assert!(!recycler.is_empty(), "round {round}");
    }
    // A snapshot holds its memtable, and the memory with it.
    write(&tree, 3..4);
    let snapshot = tree.snapshot();
    tree.flush().unwrap();
    assert!(recycler.is_empty());
    drop(snapshot);
    write(&tree, 4..5);
    tree.flush().unwrap();
    assert!(!recycler.is_empty());
}

#[test]
fn an_idle_store_returns_the_memory() {
    let options = TreeOptions { has_workers: true, ..small(SyncMode::OnCall) };
    let tree = open(&SimDisk::new(), options).unwrap();
    let recycler = tree.inner.recycler.as_ref().unwrap();
    write(&tree, 0..1_000);
    tree.flush().unwrap();
    let begin = Instant::now();
    while !recycler.is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it has the memory still");
        std::thread::sleep(Duration::from_millis(10));
    }
}
