//! Does what is ingested go where it belongs, all at once or not at all, whatever else is written, merged and looked at meanwhile?

use super::tree_test::{DIRECTORY, Model, content, everything, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::error::Error;
use crate::lsm::manifest::LEVELS;
use crate::lsm::vfs::{Fault, SimDisk, Vfs};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

fn ingest(tree: &Tree, keys: &[u8], value: u8) -> Result<u64, Error> {
    let mut ingest = tree.ingest();
    for key in keys {
        ingest.add(&[*key], &[value; 20], None)?;
    }
    ingest.prepare()?;
    ingest.install()
}

fn set(tree: &Tree, keys: &[u8], value: u8) {
    let mut batch = Batch::default();
    keys.iter().for_each(|key| batch.set(&[*key], &[value; 20]));
    tree.write(&batch).unwrap();
}

fn tables(tree: &Tree) -> [usize; LEVELS] {
    tree.stats().levels.map(|(tables, _)| tables)
}

fn files(disk: &SimDisk) -> Vec<String> {
    let mut names = disk.list(Path::new(DIRECTORY)).unwrap();
    names.sort();
    names
}

#[test]
fn it_goes_to_the_lowest_level_above_what_it_overlaps() {
    let disk = SimDisk::new();
    let options = small(SyncMode::OnCall);
    let tree = open(&disk, options).unwrap();
    // Nothing is there; then something aside of it; then between its ends, but behind it in the order of keys; then over it.
    let cases: [(&[u8], [usize; LEVELS]); 5] = [
        (&[10, 20], [0, 0, 0, 0, 0, 0, 1]),
        (&[30, 40], [0, 0, 0, 0, 0, 0, 2]),
        (&[15], [0, 0, 0, 0, 0, 1, 2]),
        (&[12, 16], [0, 0, 0, 0, 1, 1, 2]),
        (&[5], [0, 0, 0, 0, 1, 1, 3]),
    ];
    for (number, (keys, expected)) in (1..).zip(cases) {
        assert_eq!(ingest(&tree, keys, number).unwrap(), keys.len() as u64);
        assert_eq!(tables(&tree), expected, "{keys:?}");
    }
    // What is in memory is flushed first, and is older.
    set(&tree, &[15, 35], 77);
    ingest(&tree, &[34, 35], 78).unwrap();
    assert_eq!(tables(&tree), [2, 0, 0, 0, 1, 1, 3]);
    set(&tree, &[34], 79);
    let values = |tree: &Tree| -> Vec<(u8, u8)> {
        content(tree).unwrap().iter().map(|(key, value)| (key[0], value[0])).collect()
    };
    let expected =
        [(5, 5), (10, 1), (12, 4), (15, 77), (16, 4), (20, 1), (30, 2), (34, 79), (35, 78), (40, 2)];
    assert_eq!(values(&tree), expected);
    for (key, value) in expected {
        assert_eq!(tree.get(&[key], |live| live.value[0]).unwrap(), Some(value), "{key}");
    }
    drop(tree);
    let tree = open(&disk, options).unwrap();
    assert_eq!(values(&tree), expected, "after it was killed");
    tree.settle().unwrap();
    assert_eq!(values(&tree), expected, "after merges");
    assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap());
    assert_eq!(values(&tree), expected, "after a merge of everything");
    assert_eq!(tree.verify(|_| ()).unwrap(), expected.len() as u64);
}

#[test]
fn what_is_out_of_order_is_refused_and_leaves_nothing() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    set(&tree, &[1], 1);
    tree.flush().unwrap();
    let before = files(&disk);
    let keys: Vec<_> = (0..200).collect();
    for (wrong, is_duplicate) in [(150, false), (199, true)] {
        let mut ingest = tree.ingest();
        for key in &keys {
            ingest.add(&[*key], &[*key; 50], None).unwrap();
        }
        assert!(files(&disk).len() > before.len() + 5, "tables were written by then");
        let expected = Error::OutOfOrder { pair: 201, is_duplicate };
        assert_eq!(ingest.add(&[wrong], b"", None), Err(expected.clone()));
        assert_eq!(files(&disk), before);
        // It stays so.
        assert_eq!(ingest.add(&[255], b"", None), Err(expected.clone()));
        assert_eq!(ingest.prepare(), Err(expected.clone()));
        let text = expected.to_string();
        assert!(text.contains("pair 201") && text.contains("sort them by key"), "{text}");
    }
    let mut ingest = tree.ingest();
    ingest.add(b"a", b"b", None).unwrap();
    ingest.prepare().unwrap();
    drop(ingest);
    assert_eq!(files(&disk), before, "given up at the last moment");
    let mut ingest = tree.ingest();
    ingest.prepare().unwrap();
    assert_eq!(ingest.install(), Ok(0));
    assert_eq!(tree.ingest().install(), Ok(0));
    assert_eq!(content(&tree).unwrap().len(), 1);
    set(&tree, &[2], 2);
    assert_eq!(content(&tree).unwrap().len(), 2);
}

#[test]
fn memory_holds_a_table_at_most_and_disk_the_rest() {
    let disk = SimDisk::new();
    let options = small(SyncMode::OnCall);
    let tree = open(&disk, options).unwrap();
    let mut ingest = tree.ingest();
    let mut random = fastrand::Rng::with_seed(1);
    for number in 0..2_000_u64 {
        let value: Vec<u8> = (0..30).map(|_| random.u8(..)).collect();
        ingest.add(&number.to_be_bytes(), &value, None).unwrap();
        let on_disk = files(&disk).iter().filter(|name| name.ends_with(".table")).count() as u64;
        // A version takes at least its 30 random bytes: so many tables of 500 there must be, but for the one that is being filled.
        assert!(
            on_disk >= (number * 30 / (2 * options.table_bytes)),
            "{on_disk} tables after {number} pairs"
        );
    }
    ingest.prepare().unwrap();
    assert_eq!(ingest.install(), Ok(2_000));
    assert_eq!(tables(&tree)[..LEVELS - 1], [0; LEVELS - 1]);
    assert!(tables(&tree)[LEVELS - 1] > 100);
    assert_eq!(tree.stats().ingested, tree.stats().levels[LEVELS - 1].1);
}

#[test]
fn values_that_end_do_so() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    let mut ingest = tree.ingest();
    // The clock stands at 1,000.
    ingest.add(b"a", b"over", Some(900)).unwrap();
    ingest.add(b"b", b"stays", Some(1_100)).unwrap();
    ingest.prepare().unwrap();
    ingest.install().unwrap();
    let found = tree.get(b"b", |live| (live.value.to_vec(), live.until_ms)).unwrap();
    assert_eq!(found, Some((b"stays".to_vec(), Some(1_100))));
    assert_eq!(content(&tree).unwrap().len(), 1);
    assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap());
    assert_eq!((tree.stats().versions, content(&tree).unwrap().len()), (1, 1));
}

/// A manifest that may name the tables or not is the end of writing: a later write with their number would be lost.
#[test]
fn after_an_edit_that_failed_nothing_is_written_and_nothing_is_lost() {
    let mut refused = 0;
    for fault in [Fault::Error(ErrorKind::StorageFull), Fault::PowerCut] {
        for at in 0..100 {
            let disk = SimDisk::new();
            let tree = open(&disk, small(SyncMode::Always)).unwrap();
            set(&tree, &[1, 2], 1);
            disk.fail(disk.operations() + at, fault);
            let done = ingest(&tree, &[2, 3], 2);
            if done.is_ok() {
                assert!(at > 10);
                break;
            }
            let mut batch = Batch::default();
            batch.set(&[4], b"later");
            let later = tree.write(&batch);
            refused += u32::from(later.is_err());
            drop(tree);
            disk.restart(crate::lsm::vfs::Survival::Everything);
            let found = content(&open(&disk, small(SyncMode::Always)).unwrap()).unwrap();
            let keys: Vec<_> = found.iter().map(|(key, value)| (key[0], value[0])).collect();
            let mut allowed = vec![vec![(1, 1), (2, 1)], vec![(1, 1), (2, 2), (3, 2)]];
            if later.is_ok() {
                allowed = allowed.drain(..1).map(|keys| [keys, vec![(4, b'l')]].concat()).collect();
            }
            assert!(allowed.contains(&keys), "{fault:?} at {at}: {keys:?}, then {later:?}");
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn it_goes_along_with_writers_merges_and_readers() {
    const ROUNDS: u8 = 60;
    let disk = SimDisk::new();
    let options = TreeOptions { has_workers: true, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options).unwrap();
    std::thread::scope(|scope| {
        let tree = &tree;
        let writer = scope.spawn(move || {
            let mut random = fastrand::Rng::with_seed(2);
            for number in 0..6_000_u32 {
                let mut batch = Batch::default();
                batch.set(&[b'w', random.u8(..), random.u8(0..4)], &number.to_be_bytes());
                tree.write(&batch).unwrap();
            }
        });
        scope.spawn(move || {
            let mut random = fastrand::Rng::with_seed(3);
            for round in 1..=ROUNDS {
                // Keys over all that is written, each round another part, and one of every tenth that all rounds have.
                let mut ingest = tree.ingest();
                let begin = random.u8(0..200);
                for key in begin..begin + 40 {
                    ingest.add(&[b'w', key, 9], &[round; 30], None).unwrap();
                }
                ingest.add(b"x", &[round], None).unwrap();
                ingest.prepare().unwrap();
                ingest.install().unwrap();
            }
        });
        scope.spawn(move || {
            let mut last = 0;
            while !writer.is_finished() {
                let found = everything(&tree.snapshot()).unwrap();
                let round = found.get(&b"x"[..]).map_or(0, |value| value[0]);
                assert!(round >= last, "a reader goes back from {last} to {round}");
                // All of a round or nothing: of its forty keys all are there that no later one has.
                let newest = found.iter().filter(|(key, value)| key.get(2) == Some(&9) && value[0] == round);
                assert!(round == 0 || newest.count() == 40, "round {round} is there in part");
                let later = found.iter().filter(|(key, value)| key.get(2) == Some(&9) && value[0] > round);
                assert_eq!(later.count(), 0);
                last = round;
            }
        });
    });
    tree.settle().unwrap();
    let before: Model = content(&tree).unwrap();
    assert_eq!(before[&b"x"[..]], [ROUNDS]);
    assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap());
    assert_eq!(content(&tree).unwrap(), before);
    tree.close().unwrap();
    let tree = open(&disk, options).unwrap();
    assert_eq!(content(&tree).unwrap(), before);
}

/// A merge of tables that overlap makes one that spans what lies between them and a third.
#[test]
fn nothing_is_put_where_a_merge_is_writing() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    for keys in [[10, 20], [15, 25], [80, 90]] {
        set(&tree, &keys, 1);
        tree.flush().unwrap();
    }
    let mut steps = 0;
    let done = tree.merge_all(|_| {
        if steps == 0 {
            ingest(&tree, &[50], 2).unwrap();
            assert_eq!(tables(&tree), [3, 0, 0, 0, 0, 1, 0]);
            ingest(&tree, &[95], 2).unwrap();
            assert_eq!(tables(&tree), [3, 0, 0, 0, 0, 1, 1], "aside of it there is room");
        }
        steps += 1;
        ControlFlow::Continue(())
    });
    assert!(done.unwrap() && steps > 0);
    let found: Vec<_> = content(&tree).unwrap().into_iter().map(|(key, value)| (key[0], value[0])).collect();
    assert_eq!(found, [(10, 1), (15, 1), (20, 1), (25, 1), (50, 2), (80, 1), (90, 1), (95, 2)]);
    assert_eq!(tables(&tree)[..LEVELS - 1], [0; LEVELS - 1]);
}
