//! Asking a cache for a block that it holds, and putting one in for which another has to go.
//!
//! Blocks of 2 KiB: 256 of them, or 32,768, which are 64 MiB. Each cache has room for as many. Ours hands a block to whoever reads it under its lock, quick_cache and lsm-tree's, which
//! stands on it, hand out a counted reference. A block that is put in is copied, as it lies in space that whoever read it needs again. quick_cache has its defaults, its own hash among
//! them, and a capacity in blocks.

use criterion::Criterion;
use lsm_tree::table::block::BlockType;
use lsm_tree::table::{Block, BlockOffset};
use lsm_tree::{CompressionType, GlobalTableId, Slice};
use plumbkv::parts::Cache;
use plumbkv_components::Part;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use crate::rival;

const BLOCK: usize = 2 << 10;

fn order(count: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut order);
    order
}

pub(crate) fn cache(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "lsm-cache");
    let block = [7; BLOCK];
    let mut bytes = Vec::new();
    Block::write_into(&mut bytes, &block, BlockType::Data, CompressionType::None).expect("written to memory");
    let theirs =
        || Block::from_reader(&mut &bytes[..], CompressionType::None).expect("what was just written");
    let id = GlobalTableId::from((1, 1));
    for blocks in [256_u32, 32_768] {
        let (count, weight) = (blocks as usize, u64::from(blocks) * (BLOCK as u64 + 64));
        // Twice the room, so that all of them stay.
        let order = order(blocks);
        let (all, some) = (
            (
                Cache::new(2 * weight, BLOCK),
                quick_cache::sync::Cache::<(u64, u32), Arc<[u8]>>::new(2 * count),
                lsm_tree::Cache::with_capacity_bytes(2 * weight),
            ),
            (
                Cache::new(weight, BLOCK),
                quick_cache::sync::Cache::<(u64, u32), Arc<[u8]>>::new(count),
                lsm_tree::Cache::with_capacity_bytes(weight),
            ),
        );
        for number in &order {
            all.0.set(1, *number, &block);
            all.1.insert((1, *number), vec![7; BLOCK].into());
            all.2.insert_block(id, BlockOffset(u64::from(*number)), theirs());
        }
        part.ours("get", count, |at| {
            assert!(all.0.read(1, black_box(order[at]), |block| block[0] == 7) == Some(true));
        });
        part.theirs("quick_cache", |at| {
            assert!(all.1.get(&(1, black_box(order[at]))).is_some_and(|block| block[0] == 7));
        });
        part.theirs(rival::NAME, |at| {
            let found = all.2.get_block(id, BlockOffset(u64::from(black_box(order[at]))));
            assert!(found.is_some_and(|block| block.data[0] == 7));
        });
        drop(all);
        // Always a block that was never there: all caches are full before it is counted.
        let mut number = 0_u32;
        let mut next = move || {
            number = number.wrapping_add(1);
            number
        };
        (0..2 * blocks).for_each(|_| {
            let number = next();
            some.0.set(1, number, &block);
            some.1.insert((1, number), Arc::from(black_box(&block[..])));
            some.2.insert_block(id, BlockOffset(u64::from(number)), theirs());
        });
        part.ours("set", count, |_| some.0.set(1, black_box(next()), &block));
        part.theirs("quick_cache", |_| {
            some.1.insert((1, black_box(next())), Arc::from(black_box(&block[..])))
        });
        let header = theirs().header;
        part.theirs(rival::NAME, |_| {
            let one = Block { header, data: Slice::from(black_box(&block[..])) };
            some.2.insert_block(id, BlockOffset(u64::from(black_box(next()))), one);
        });
    }
}
