//! Does a merge of everything leave one level, with nothing in it that nobody needs, and does nobody notice while it goes on?

use super::tree_test::{Model, content, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::error::Error;
use crate::lsm::compaction::tidy_base;
use crate::lsm::manifest::LEVELS;
use crate::lsm::table::Shape;
use crate::lsm::vfs::SimDisk;
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

/// A change of a key: what it gets, or that it goes.
type Change = (u8, Option<usize>);

fn write(tree: &Tree, model: &mut Model, (key, value): Change, number: usize) {
    let mut batch = Batch::default();
    let key = vec![b'k', key];
    match value {
        Some(len) => {
            let value = vec![number as u8; len];
            batch.set(&key, &value);
            model.insert(key, value);
        }
        None => {
            batch.delete(&key);
            model.remove(&key);
        }
    }
    tree.write(&batch).unwrap();
}

/// A store of this content that was written once, in order.
fn least_bytes(model: &Model) -> u64 {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    let mut batch = Batch::default();
    model.iter().for_each(|(key, value)| batch.set(key, value));
    tree.write(&batch).unwrap();
    tree.flush().unwrap();
    tree.stats().levels.iter().map(|(_, bytes)| bytes).sum()
}

fn is_in_one_level(tree: &Tree, model: &Model) {
    let stats = tree.stats();
    let above: usize = stats.levels[..LEVELS - 1].iter().map(|(tables, _)| tables).sum();
    assert_eq!((above, stats.deletions, stats.versions), (0, 0, model.len() as u64), "{:?}", stats.levels);
    tree.verify(|_| ()).unwrap();
}

#[test]
fn everything_lies_in_one_level_then_and_takes_no_more_than_it_must() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let mut model = Model::new();
    let mut looks = Vec::new();
    for number in 0..1_500 {
        let value = (random.u8(0..3) > 0).then(|| random.usize(0..100));
        write(&tree, &mut model, (random.u8(..), value), number);
        if number % 400 == 399 {
            looks.push((tree.snapshot(), model.clone()));
        }
        if number % 100 == 99 {
            tree.flush().unwrap();
        }
        if number % 200 == 199 {
            tree.settle().unwrap();
        }
    }
    let before = tree.stats();
    assert!(before.levels.iter().filter(|(tables, _)| *tables > 0).count() > 2, "{:?}", before.levels);
    assert!(before.deletions > 0);
    assert!(tree.merge_all(|_| GO_ON).unwrap());
    is_in_one_level(&tree, &model);
    let (bytes, least) = (tree.stats().levels[LEVELS - 1].1, least_bytes(&model));
    // Each of its tables has an index, a filter and a footer, and they are tiny here.
    let tables = tree.stats().levels[LEVELS - 1].0 as u64;
    assert!(bytes <= least + least / 10 + 100 * tables, "{bytes} bytes, {least} would do");
    assert_eq!(content(&tree).unwrap(), model);
    for (look, then) in &looks {
        assert_eq!(&super::tree_test::everything(look).unwrap(), then);
    }
    drop(looks);
    let on_disk: usize = disk
        .content()
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|end| end == "table"))
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert_eq!(on_disk as u64, bytes, "what was merged away is gone");
    // Once more it has nothing to do.
    let merged = tree.stats().merged;
    assert!(tree.merge_all(|_| GO_ON).unwrap());
    assert_eq!(tree.stats().merged, merged);
    drop(tree);
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    assert_eq!(content(&tree).unwrap(), model);
    is_in_one_level(&tree, &model);
}

#[test]
fn a_settled_tree_has_no_level_over_its_target() {
    for is_rising in [true, false] {
        let disk = SimDisk::new();
        let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
        let mut random = fastrand::Rng::with_seed(2);
        for flush in 0..150_u32 {
            for place in 0..5_u32 {
                let key = if is_rising { flush * 5 + place } else { random.u32(..) };
                let mut batch = Batch::default();
                batch.set(&key.to_be_bytes(), &[flush as u8; 30]);
                tree.write(&batch).unwrap();
            }
            tree.flush().unwrap();
            tree.settle().unwrap();
            let stats = tree.stats();
            assert_eq!(stats.debt_bytes, 0, "rising {is_rising}, flush {flush}: {:?}", stats.levels);
        }
    }
}

#[test]
fn a_settled_tree_without_filters_has_no_more_levels_to_look_into_than_it_must() {
    for filter_bits_per_key in [0, 10] {
        let disk = SimDisk::new();
        let base = small(SyncMode::OnCall);
        let options = TreeOptions { shape: Shape { filter_bits_per_key, ..base.shape }, ..base };
        let tree = open(&disk, options).unwrap();
        let mut random = fastrand::Rng::with_seed(3);
        let mut model = Model::new();
        let mut untidy = 0;
        for round in 0..40_u8 {
            for _ in 0..40 {
                let (key, value) = (random.u32(..).to_be_bytes(), vec![round; 30]);
                let mut batch = Batch::default();
                batch.set(&key, &value);
                tree.write(&batch).unwrap();
                model.insert(key.to_vec(), value);
            }
            tree.flush().unwrap();
            tree.settle().unwrap();
            assert_eq!(tree.stats().debt_bytes, 0);
            let version = Arc::clone(&tree.inner.view.load().version);
            untidy += usize::from(tidy_base(&version, &options.targets).is_some());
        }
        assert_eq!(content(&tree).unwrap(), model);
        assert_eq!(untidy > 0, filter_bits_per_key > 0, "{untidy} of 40 rounds");
    }
}

#[test]
fn what_is_over_goes_and_so_do_deletions_that_were_handed_down() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    let mut batch = Batch::default();
    // The clock stands at 1,000.
    batch.set_until(b"a", b"over", 900);
    batch.set_until(b"b", b"stays", 1_100);
    batch.delete(b"c");
    tree.write(&batch).unwrap();
    assert!(tree.merge_all(|_| GO_ON).unwrap());
    let stats = tree.stats();
    assert_eq!((stats.versions, stats.deletions, stats.levels[LEVELS - 1].0), (1, 0, 1));
    // Nothing but deletions leaves nothing at all.
    let mut batch = Batch::default();
    batch.delete(b"b");
    tree.write(&batch).unwrap();
    assert!(tree.merge_all(|_| GO_ON).unwrap());
    assert_eq!(tree.stats().levels, [(0, 0); LEVELS]);
}

/// What lies above the lowest level is on the disk twice while it is merged, and a table or two besides: not what lies below.
#[test]
fn it_takes_little_room_on_the_disk() {
    let disk = SimDisk::new();
    let options = small(SyncMode::OnCall);
    let tree = open(&disk, options).unwrap();
    let mut model = Model::new();
    // Not in order: tables that do not overlap would only be handed down.
    for number in 0..=255_u8 {
        write(&tree, &mut model, (number.wrapping_mul(101), Some(100)), usize::from(number));
    }
    assert!(tree.merge_all(|_| GO_ON).unwrap());
    for key in (0..=255).step_by(16) {
        write(&tree, &mut model, (key, Some(100)), 7);
    }
    tree.flush().unwrap();
    let tables = |disk: &SimDisk| -> u64 {
        let content = disk.content();
        let tables = content.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "table"));
        tables.map(|(_, bytes)| bytes.len() as u64).sum()
    };
    let stats = tree.stats();
    let above: u64 = stats.levels[..LEVELS - 1].iter().map(|(_, bytes)| bytes).sum();
    let (before, mut most, mut steps) = (tables(&disk), 0, 0);
    let done = tree.merge_all(|_| {
        most = most.max(tables(&disk));
        steps += 1;
        GO_ON
    });
    assert!(done.unwrap());
    is_in_one_level(&tree, &model);
    let room = before + above + 3 * options.table_bytes;
    println!("{before} bytes, {above} of them above; {most} at most in {steps} steps, {room} allowed");
    assert!(most <= room && before > 2 * (above + 3 * options.table_bytes) && steps > 10, "{most} > {room}");
}

#[test]
fn it_ends_although_others_go_on_writing() {
    let disk = SimDisk::new();
    let options = TreeOptions { has_workers: true, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options).unwrap();
    let writes = |from: usize| {
        for number in from..from + 2_000 {
            let mut batch = Batch::default();
            batch.set(&(number as u64).to_be_bytes(), &[number as u8; 40]);
            if number % 3 == 0 {
                batch.delete(&(number as u64 / 2).to_be_bytes());
            }
            tree.write(&batch).unwrap();
        }
    };
    writes(0);
    std::thread::scope(|scope| {
        scope.spawn(|| writes(2_000));
        for _ in 0..5 {
            assert!(tree.merge_all(|_| GO_ON).unwrap());
        }
    });
    let model: Model = (0..4_000_u64)
        .filter(|number| {
            !(number * 2..number * 2 + 2).any(|later| later % 3 == 0 && later < 4_000 && later > *number)
        })
        .map(|number| (number.to_be_bytes().to_vec(), vec![number as u8; 40]))
        .collect();
    let model: Model = model.into_iter().filter(|(key, _)| key[..] != 0_u64.to_be_bytes()).collect();
    assert!(tree.merge_all(|_| GO_ON).unwrap());
    assert_eq!(content(&tree).unwrap(), model);
    is_in_one_level(&tree, &model);
    tree.close().unwrap();
}

#[test]
fn a_tree_that_is_being_closed_stops_it_and_keeps_everything() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    let mut model = Model::new();
    for number in 0..600 {
        write(&tree, &mut model, ((number % 256) as u8, Some(50)), number);
        if number == 300 {
            assert!(tree.merge_all(|_| GO_ON).unwrap());
        }
    }
    let mut asked = 0;
    let done = tree.merge_all(|_| {
        asked += 1;
        if asked == 4 {
            tree.inner.is_closing.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        GO_ON
    });
    assert_eq!(done, Err(Error::Closed));
    tree.close().unwrap();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    assert_eq!(content(&tree).unwrap(), model);
}

proptest! {
    #[test]
    fn nobody_notices_it_and_it_can_be_ended_at_any_step(
        parts in prop::collection::vec((prop::collection::vec((0_u8..60, prop::option::of(0_usize..120)), 1..60), 0_u8..3), 1..8),
        last in 0_usize..30,
    ) {
        let disk = SimDisk::new();
        let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
        let mut model = Model::new();
        for (changes, then) in parts {
            for (number, change) in changes.into_iter().enumerate() {
                write(&tree, &mut model, change, number);
            }
            match then {
                0 => {}
                1 => tree.flush().unwrap(),
                _ => tree.settle().unwrap(),
            }
        }
        let look = tree.snapshot();
        let mut steps = 0;
        let done = tree.merge_all(|_| {
            assert_eq!(&content(&tree).unwrap(), &model, "step {steps}");
            steps += 1;
            if steps > last { ControlFlow::Break(()) } else { GO_ON }
        });
        let done = done.unwrap();
        prop_assert_eq!(done, steps <= last);
        if done {
            is_in_one_level(&tree, &model);
        }
        let files = disk.content().keys().filter(|path| path.extension().is_some_and(|end| end == "table")).count();
        let held: usize = tree.stats().levels.iter().map(|(tables, _)| tables).sum();
        prop_assert_eq!(&super::tree_test::everything(&look).unwrap(), &model);
        drop(look);
        let left = disk.content().keys().filter(|path| path.extension().is_some_and(|end| end == "table")).count();
        prop_assert!(left == held && files >= held, "{} files of {} tables", left, held);
        prop_assert_eq!(&content(&tree).unwrap(), &model);
        drop(tree);
        let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
        prop_assert_eq!(&content(&tree).unwrap(), &model);
    }
}

/// Gets of keys in families, from many tables of each level, and after the store is opened again.
#[test]
fn keys_of_families_are_found_in_every_level() {
    const FAMILIES: [&str; 4] = ["account:", "account:eu:berlin:", "orderline:", "session:"];
    let key = |number: u32| format!("{}{:04}", FAMILIES[number as usize % 4], number / 4 * 2).into_bytes();
    let disk = SimDisk::new();
    let mut tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    for round in 0..3_u32 {
        for at in 0..1_600 {
            let mut batch = Batch::default();
            batch.set(&key(at * 7 % 1_600), &(round * 10_000 + at).to_le_bytes());
            tree.write(&batch).unwrap();
        }
        if round == 1 {
            tree.merge_all(|_| ControlFlow::Continue(())).unwrap();
        }
        for is_opened_again in [false, true] {
            if is_opened_again {
                tree.close().unwrap();
                tree = open(&disk, small(SyncMode::OnCall)).unwrap();
            }
            for at in 0..1_600 {
                let (key, expected) = (key(at * 7 % 1_600), (round * 10_000 + at).to_le_bytes());
                assert_eq!(tree.get(&key, |live| live.value.to_vec()).unwrap(), Some(expected.to_vec()));
                let absent = [&key[..key.len() - 1], &[key[key.len() - 1] + 1]].concat();
                assert_eq!(tree.get(&absent, |_| ()).unwrap(), None);
            }
        }
    }
}
