//! Is a deletion of a range carried out where it has to be, and forgotten when it was?

use super::tree_test::{DIRECTORY, content, open, small};
use super::{Batch, SyncMode, Tree};
use crate::lsm::vfs::{SimDisk, Vfs};
use std::ops::ControlFlow;
use std::path::Path;

fn set(tree: &Tree, keys: std::ops::Range<u8>, value: &[u8]) {
    let mut batch = Batch::default();
    keys.for_each(|key| batch.set(&[key], value));
    tree.write(&batch).unwrap();
}

fn delete(tree: &Tree, from: u8, to: u8) {
    let mut batch = Batch::default();
    batch.delete_range(&[from], Some(&[to]));
    tree.write(&batch).unwrap();
}

fn pieces(tree: &Tree) -> usize {
    tree.inner.view.load().version.ranges.len()
}

#[test]
fn what_is_hidden_as_a_whole_goes_without_being_read_or_written() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    for key in 0..40 {
        set(&tree, 5 * key..5 * key + 5, &[1; 90]);
    }
    tree.merge_all(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(tree.stats().versions, 200);
    delete(&tree, 0, 255);
    assert!(content(&tree).unwrap().is_empty());
    tree.flush().unwrap();
    assert_eq!(pieces(&tree), 1);
    // Before a merge has come to it, and after the store was opened again.
    drop(tree);
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    assert!(content(&tree).unwrap().is_empty() && pieces(&tree) == 1 && tree.stats().versions == 200);
    tree.settle().unwrap();
    let stats = tree.stats();
    assert_eq!((stats.versions, stats.merged, pieces(&tree)), (0, 0, 0), "{:?}", stats.levels);
    let tables = disk.list(Path::new(DIRECTORY)).unwrap();
    assert!(!tables.iter().any(|name| name.ends_with(".table")), "{tables:?}");
}

#[test]
fn what_is_written_behind_a_deletion_stays_and_the_deletion_is_forgotten() {
    let disk = SimDisk::new();
    let mut tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    for round in 0..6_u8 {
        set(&tree, 0..100, &[round; 30]);
        tree.merge_all(|_| ControlFlow::Continue(())).unwrap();
        delete(&tree, 20, 60);
        set(&tree, 30..40, &[round + 100; 30]);
        tree.flush().unwrap();
        assert!(pieces(&tree) > 0);
        if round % 2 == 0 {
            drop(tree);
            tree = open(&disk, small(SyncMode::OnCall)).unwrap();
        }
        let expected: Vec<u8> = (0..20).chain(30..40).chain(60..100).collect();
        let keys = |tree: &Tree| content(tree).unwrap().into_keys().map(|key| key[0]).collect::<Vec<_>>();
        assert_eq!(keys(&tree), expected);
        tree.merge_all(|_| ControlFlow::Continue(())).unwrap();
        assert_eq!((keys(&tree), pieces(&tree)), (expected.clone(), 0));
        assert_eq!(tree.stats().versions, expected.len() as u64);
        drop(tree);
        tree = open(&disk, small(SyncMode::OnCall)).unwrap();
        assert_eq!((keys(&tree), pieces(&tree)), (expected, 0));
    }
}

/// Nothing is written for a moment: then what was deleted goes by itself.
#[test]
fn deletions_are_carried_out_when_there_is_nothing_else_to_do() {
    let disk = SimDisk::new();
    let options = super::TreeOptions { memtable_bytes: 1 << 20, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options).unwrap();
    let key = |number: u32| number.to_be_bytes();
    for number in 0..3_000 {
        let mut batch = Batch::default();
        batch.set(&key(number), &[1; 20]);
        tree.write(&batch).unwrap();
    }
    tree.merge_all(|_| ControlFlow::Continue(())).unwrap();
    for number in 0..3_000 {
        let mut batch = Batch::default();
        batch.delete(&key(number));
        tree.write(&batch).unwrap();
    }
    while tree.inner.tidy_deleted().unwrap() {}
    let stats = tree.stats();
    assert_eq!((stats.versions, stats.deletions), (0, 0), "{:?}", stats.levels);
}
