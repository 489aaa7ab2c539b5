//! The parts of a table, and a table as a whole with its blocks in a cache.

use criterion::Criterion;
use lsm_tree::AbstractTree as _;
use lsm_tree::table::filter::standard_bloom::{Builder, StandardBloomFilterReader};
use plumbkv::parts::{Block, Bloom, Index, Table};
use plumbkv_components::{Part, SIZES, VALUE, absent, keys, shuffled};
use std::hint::black_box;
use std::path::Path;

use crate::rival;

/// Entries of a block: as many as 2 KiB hold.
const BLOCK: usize = 16;

/// From the bytes of a key on, as a look-up asks: the key is hashed once for all tables, and that is part of it here.
pub(crate) fn filter(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "lsm-filter");
    for size in SIZES {
        let (keys, absent) = (shuffled(size), absent(size));
        let filter = Bloom::new(keys.iter().map(|key| &key[..])).expect("a filter");
        let bytes = rival::filter(&keys);
        let theirs = StandardBloomFilterReader::new(&bytes).expect("a filter");
        part.ours("present", size, |at| assert!(filter.may_hold(black_box(&keys[at]))));
        part.theirs(rival::NAME, |at| assert!(theirs.contains_hash(Builder::get_hash(black_box(&keys[at])))));
        let (mut taken, mut of_theirs) = (0_u64, 0_u64);
        part.ours("absent", size, |at| taken += u64::from(filter.may_hold(black_box(&absent[at]))));
        part.theirs(rival::NAME, |at| {
            of_theirs += u64::from(theirs.contains_hash(Builder::get_hash(black_box(&absent[at]))));
        });
        black_box((taken, of_theirs));
    }
}

/// In an index of so many blocks.
pub(crate) fn index(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "lsm-index");
    for size in SIZES {
        let (sorted, keys) = (keys(size), shuffled(size));
        let index = Index::new(sorted.iter().map(|key| &key[..])).expect("an index");
        part.ours("find", size, |at| assert!(index.find(black_box(&keys[at])) < size));
        let index = rival::index_block(&sorted);
        part.theirs(rival::NAME, |at| {
            let mut found = index.iter();
            assert!(found.seek(black_box(&keys[at]), u64::MAX) && found.next().is_some());
        });
    }
}

/// In a random one of the blocks that so many entries make.
pub(crate) fn block(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "lsm-block");
    for size in SIZES {
        let (sorted, mut order) = (keys(size), (0..size).collect::<Vec<_>>());
        fastrand::Rng::with_seed(1).shuffle(&mut order);
        let blocks: Vec<Block> = sorted
            .chunks(BLOCK)
            .map(|keys| Block::new(keys.iter().map(|key| (&key[..], &VALUE[..]))))
            .collect();
        part.ours("get", size, |at| {
            let found = blocks[order[at] / BLOCK].get(black_box(&sorted[order[at]]));
            assert!(found.is_some_and(|value| value[0] == 7));
        });
        drop(blocks);
        let blocks: Vec<_> = sorted.chunks(BLOCK).map(rival::data_block).collect();
        part.theirs(rival::NAME, |at| {
            let found = blocks[order[at] / BLOCK].point_read(black_box(&sorted[order[at]]), u64::MAX);
            assert!(found.is_some_and(|entry| entry.value[0] == 7));
        });
    }
}

/// One table with blocks of 2 KiB, lz4, ten bits a key, all of its blocks cached; and, of ours alone, without a cache, read from the page cache.
pub(crate) fn table(c: &mut Criterion, home: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut part = Part::new(c, home, "lsm-table");
    for size in SIZES {
        let (sorted, shuffled) = (keys(size), shuffled(size));
        for (operation, cache_bytes) in [("get-uncached", 0), ("get-cached", 1_u64 << 30)] {
            let path = folder.path().join(format!("{size}-{operation}"));
            let table = Table::create(&path, sorted.iter().map(|key| (&key[..], &VALUE[..])), cache_bytes)
                .expect("a table");
            // Twice, so that all of it is cached.
            for key in sorted.iter().chain(&sorted) {
                assert!(table.get(key, |_| ()).expect("read").is_some());
            }
            part.ours(operation, size, |at| {
                let found = table.get(black_box(&shuffled[at]), |value| value[0] == 7).expect("read");
                assert!(found == Some(true));
            });
        }
        let tree = rival::tree(&folder.path().join(format!("{size}-{}", rival::NAME)), &sorted, 1 << 30);
        let version = tree.current_version();
        let tables: Vec<_> = version.iter_tables().collect();
        assert_eq!(tables.len(), 1, "all of it in one table, as ours is");
        let table = tables[0];
        let get = |key: &[u8; 16]| table.get(key, u64::MAX, Builder::get_hash(key)).expect("read");
        sorted.iter().for_each(|key| assert!(get(key).is_some()));
        part.theirs(rival::NAME, |at| {
            assert!(get(black_box(&shuffled[at])).is_some_and(|entry| entry.value[0] == 7));
        });
    }
}
