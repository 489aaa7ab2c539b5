//! Are writes held back before they have to stop, and merges where that is asked for?

use super::tree_test::{content, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::lsm::vfs::SimDisk;
use std::time::{Duration, Instant};

/// Each number once, in no order: what is written in order is never merged.
fn write(tree: &Tree, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let mut batch = Batch::default();
        // A bijection: the factor is odd.
        batch.set(&number.wrapping_mul(0x9e37_79b1).to_be_bytes(), &[number as u8; 1_000]);
        tree.write(&batch).unwrap();
    }
}

/// Merges that are slow for want of permission: without writes that are held back level 0 would fill up, and all of them would stop.
#[test]
fn writes_are_slowed_down_before_they_have_to_stop() {
    let disk = SimDisk::new();
    let options = TreeOptions {
        has_workers: true,
        memtable_bytes: 40_000,
        table_bytes: 100_000,
        merge_bytes_per_second: Some(4_000_000),
        level0_stop: 12,
        ..small(SyncMode::OnCall)
    };
    let tree = open(&disk, options).unwrap();
    let mut longest = Duration::ZERO;
    let begin = Instant::now();
    let mut number = 0;
    while tree.stats().delays < 20 && begin.elapsed() < Duration::from_secs(60) {
        let one = Instant::now();
        write(&tree, number..number + 1);
        longest = longest.max(one.elapsed());
        number += 1;
    }
    let stats = tree.stats();
    println!(
        "{number} writes in {:?}: {} delays, {} µs; {} stops, {} µs; the longest write took {longest:?}",
        begin.elapsed(),
        stats.delays,
        stats.delayed_us,
        stats.stalls,
        stats.stalled_us
    );
    assert!(stats.delays >= 20 && stats.delayed_us >= 20_000, "{stats:?}");
    assert_eq!(content(&tree).unwrap().len(), number as usize);
}

#[test]
fn merges_read_no_more_than_they_may() {
    let disk = SimDisk::new();
    let options = |merge_bytes_per_second| TreeOptions {
        has_workers: true,
        memtable_bytes: 300_000,
        table_bytes: 100_000,
        merge_bytes_per_second,
        level0_stop: 100,
        ..small(SyncMode::OnCall)
    };
    let times = [None, Some(2_000_000)].map(|limit| {
        let directory = SimDisk::new();
        let tree = open(&directory, options(limit)).unwrap();
        let begin = Instant::now();
        write(&tree, 0..1_000);
        tree.flush().unwrap();
        tree.settle().unwrap();
        assert_eq!(content(&tree).unwrap().len(), 1_000);
        begin.elapsed()
    });
    println!("{times:?}");
    // A megabyte at least is read; the first piece of it waits for its own length, too.
    assert!(times[1] >= Duration::from_millis(400), "{times:?}");
    // One that is to be closed does not wait for its turn.
    let tree = open(&disk, options(Some(1_000))).unwrap();
    write(&tree, 0..1_500);
    tree.flush().unwrap();
    let begin = Instant::now();
    tree.close().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(20));
    let tree = open(&disk, options(None)).unwrap();
    assert_eq!(content(&tree).unwrap().len(), 1_500);
}
