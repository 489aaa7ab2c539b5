//! What is on disk? Tables: sorted, written once, read by blocks.

mod block;
mod block_builder;
#[cfg(test)]
mod block_test;
mod builder;
mod cache;
mod cursor;
mod files;
mod filter;
mod footer;
mod frame;
mod index;
mod index_node;
mod many;
mod page_cache;
mod reader;
mod recent;
mod shard;
mod slab;
#[cfg(test)]
mod slab_test;
#[cfg(test)]
mod table_test;
mod zstd;

pub(crate) use builder::{Shape, TableBuilder};
pub(crate) use cache::BlockCache;
pub(crate) use cursor::{MOST_AHEAD, TableCursor};
pub(crate) use files::{TableFiles, Writing};
pub(crate) use filter::hash;
pub(crate) use frame::Compression;
pub(crate) use page_cache::PageCache;
pub(crate) use reader::Table;
pub(crate) use zstd::IS_BUILT_IN as HAS_ZSTD;

pub(crate) use index::Index;
#[cfg(feature = "parts")]
pub(crate) use {
    block::{Block, BlockCursor},
    block_builder::BlockBuilder,
    filter::{Filter, FilterBuilder},
    index::IndexBuilder,
};
