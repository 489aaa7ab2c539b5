//! Filters of the lowest level yield where indexes and filters take more memory than they may, and the cache
//! to what merges take beside what they merge.

use super::tree_test::{DIRECTORY, Model, content, everything, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::lsm::compaction::table_path;
use crate::lsm::manifest::{LEVELS, Version};
use crate::lsm::table::Table;
use crate::lsm::vfs::{SimDisk, Vfs};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const KEYS: u32 = 3_000;

/// Tables of the lowest level with a filter, those without, and bytes of all indexes and filters.
fn filters(tree: &Tree) -> (usize, usize, u64) {
    let version = &tree.inner.view.load().version;
    let lowest = &version.levels[LEVELS - 1];
    let with = lowest.iter().filter(|handle| handle.table.without_filter().is_some()).count();
    for (_, handle) in version.tables().filter(|(level, _)| *level < LEVELS - 1) {
        assert!(handle.table.without_filter().is_some(), "only the lowest level yields");
    }
    (with, lowest.len() - with, version.index_bytes())
}

fn load(tree: &Tree, round: u32) -> Model {
    let mut model = Model::new();
    for number in 0..KEYS {
        // In no order, so that levels are merged.
        let key = number.wrapping_mul(0x9e37_79b1).to_be_bytes();
        let mut batch = Batch::default();
        batch.set(&key, &(number + round).to_be_bytes());
        tree.write(&batch).unwrap();
        model.insert(key.to_vec(), (number + round).to_be_bytes().to_vec());
    }
    tree.flush().unwrap();
    tree.settle().unwrap();
    model
}

fn files(disk: &SimDisk) -> usize {
    let names = disk.list(Path::new(DIRECTORY)).unwrap();
    names.iter().filter(|name| name.ends_with(".table")).count()
}

#[test]
fn filters_of_the_lowest_level_yield_above_the_limit() {
    let all = {
        let tree = open(&SimDisk::new(), small(SyncMode::OnCall)).unwrap();
        load(&tree, 0);
        let (with, without, all) = filters(&tree);
        assert!(with > 20 && without == 0, "{with} {without}");
        all
    };
    let disk = SimDisk::new();
    let limit = all - all / 10;
    let options = TreeOptions { filters_until: limit, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options).unwrap();
    let first = load(&tree, 0);
    let (with, without, bytes) = filters(&tree);
    assert!(with > 0 && without > 0 && bytes <= limit, "{with} with, {without} without, {bytes} of {limit}");
    // Absent keys, which a filter would tell.
    for number in 0..KEYS {
        let key = [&number.to_be_bytes()[..], b"x"].concat();
        assert_eq!(tree.get(&key, |_| ()).unwrap(), None);
    }
    let snapshot = tree.snapshot();
    let second = load(&tree, 7);
    assert_eq!(everything(&snapshot).unwrap(), first, "files stay while one of their tables is read");
    let held = files(&disk);
    drop(snapshot);
    assert!(files(&disk) < held, "and go then");
    assert_eq!(files(&disk), tree.stats().levels.iter().map(|(tables, _)| tables).sum::<usize>());
    assert_eq!(content(&tree).unwrap(), second);
    tree.close().unwrap();
    for filters_until in [0, limit] {
        let tree = open(&disk, TreeOptions { filters_until, ..options }).unwrap();
        let (with, _, bytes) = filters(&tree);
        assert!(bytes <= filters_until || with == 0, "{bytes} of {filters_until}, {with} with");
        assert_eq!(content(&tree).unwrap(), second);
        tree.verify(|_| ()).unwrap();
    }
}

#[test]
fn what_a_merge_writes_has_no_more_filters_than_fit_before_it_is_published() {
    let tree = open(&SimDisk::new(), small(SyncMode::OnCall)).unwrap();
    load(&tree, 0);
    let known = Arc::clone(&tree.inner.view.load().version);
    let (all, with) = (known.index_bytes(), known.levels[LEVELS - 1].len());
    // As if all tables of the lowest level had just been written.
    let read = |most: u64| {
        let mut version = Version::clone(&known);
        for handle in &mut version.levels[LEVELS - 1] {
            let path = table_path(Path::new(DIRECTORY), handle.facts.number);
            let files = Arc::clone(&tree.inner.files);
            let table = Table::open_in(&tree.inner.vfs, &path, handle.facts.number, None, files);
            handle.table = Arc::new(table.unwrap());
        }
        version.read_filters(most).unwrap();
        let lowest = version.levels[LEVELS - 1].iter();
        (version.index_bytes(), lowest.filter(|handle| handle.table.unread_filter_bytes() == 0).count())
    };
    let (least, none) = read(0);
    assert!(least < all && none == 0, "{least} of {all}");
    assert_eq!(read(u64::MAX), (all, with));
    let most = least + (all - least) / 2;
    let (bytes, some) = read(most);
    assert!(bytes <= most && some > with / 3 && some < with, "{bytes} of {most}, {some} of {with}");
}

#[test]
fn the_cache_yields_to_a_merge_until_nothing_is_written_or_merged() {
    const CACHE: u64 = 1 << 20;
    let options = TreeOptions { cache_bytes: CACHE, has_workers: true, ..small(SyncMode::OnCall) };
    let tree = open(&SimDisk::new(), options).unwrap();
    let cache = tree.inner.cache.as_ref().unwrap();
    load(&tree, 0);
    let index_bytes = || tree.inner.view.load().version.index_bytes();
    tree.inner.make_room_for_merge(CACHE / 3);
    let capacity = cache.capacity();
    assert!(capacity <= CACHE * 2 / 3 - index_bytes(), "{capacity}");
    // A smaller one changes nothing.
    tree.inner.make_room_for_merge(CACHE / 4);
    assert_eq!(cache.capacity(), capacity);
    let begin = Instant::now();
    while cache.capacity() < CACHE - index_bytes() - 1_000 {
        assert!(begin.elapsed() < Duration::from_secs(30), "{} of {CACHE}", cache.capacity());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Each merge asks for what it takes.
    load(&tree, 1);
    assert!(tree.inner.merge_bytes.load(Ordering::Relaxed) > 0);
    tree.close().unwrap();
}
