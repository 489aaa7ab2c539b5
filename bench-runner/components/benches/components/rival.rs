//! fjall's `lsm-tree`: how its parts are made from the same entries as ours.

use lsm_tree::config::{BlockSizePolicy, CompressionPolicy, FilterPolicy, PinningPolicy};
use lsm_tree::table::block::BlockType;
use lsm_tree::table::filter::BloomConstructionPolicy;
use lsm_tree::table::{Block, BlockHandle, BlockOffset, DataBlock, IndexBlock, KeyedBlockHandle};
use lsm_tree::{
    AbstractTree as _, AnyTree, Cache, CompressionType, Config, InternalValue, SequenceNumberCounter,
    ValueType,
};
use plumbkv_components::VALUE;
use std::path::Path;
use std::sync::Arc;

pub(crate) const NAME: &str = "lsm-tree";

pub(crate) fn value(key: &[u8; 16]) -> InternalValue {
    InternalValue::from_components(*key, VALUE, 1, ValueType::Value)
}

/// A block as it is when it has been read.
fn read(bytes: &[u8], kind: BlockType) -> Block {
    let mut written = Vec::new();
    Block::write_into(&mut written, bytes, kind, CompressionType::None).expect("written to memory");
    Block::from_reader(&mut &written[..], CompressionType::None).expect("what was just written")
}

/// With a restart at every sixteenth key and no hash index, as its tables have them by default.
pub(crate) fn data_block(keys: &[[u8; 16]]) -> DataBlock {
    let entries: Vec<_> = keys.iter().map(value).collect();
    DataBlock::new(read(&DataBlock::encode_into_vec(&entries, 16, 0.0).expect("entries"), BlockType::Data))
}

pub(crate) fn index_block(last_keys: &[[u8; 16]]) -> IndexBlock {
    let handle = |(number, key): (u64, &[u8; 16])| {
        KeyedBlockHandle::new((*key).into(), 1, BlockHandle::new(BlockOffset(number), 1))
    };
    let handles: Vec<_> = (0..).zip(last_keys).map(handle).collect();
    IndexBlock::new(read(&IndexBlock::encode_into_vec(&handles).expect("handles"), BlockType::Index))
}

/// With ten bits a key.
pub(crate) fn filter(keys: &[[u8; 16]]) -> Vec<u8> {
    let mut filter = BloomConstructionPolicy::BitsPerKey(10.0).init(keys.len());
    keys.iter().for_each(|key| {
        filter.set_with_hash(lsm_tree::table::filter::standard_bloom::Builder::get_hash(key))
    });
    filter.build()
}

/// A tree of one table, with the shape of ours: blocks of 2 KiB, lz4, ten bits a key, index and filter in memory.
pub(crate) fn tree(path: &Path, keys: &[[u8; 16]], cache_bytes: u64) -> AnyTree {
    let config = Config::new(path, SequenceNumberCounter::default(), SequenceNumberCounter::default())
        .use_cache(Arc::new(Cache::with_capacity_bytes(cache_bytes)))
        .data_block_size_policy(BlockSizePolicy::all(2 << 10))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        .filter_policy(FilterPolicy::all(lsm_tree::config::FilterPolicyEntry::Bloom(
            BloomConstructionPolicy::BitsPerKey(10.0),
        )))
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .index_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_partitioning_policy(PinningPolicy::all(false))
        .index_block_partitioning_policy(PinningPolicy::all(false));
    let tree = config.open().expect("a tree");
    for key in keys {
        tree.insert(*key, VALUE, 1);
    }
    tree.flush_active_memtable(0).expect("flushed");
    tree
}
