//! Which block of a table may hold a key? Always known without reading anything: of each block the index keeps a key that is not before its last one, and before the
//! first one of the next, as short as it can be.
//!
//! In memory the part that all of these keys share is kept once, and the eight bytes after it as a number; most searches look at nothing else.

use super::block::{BlockCursor, Damage};
use super::block_builder::{BlockBuilder, shared_len};
use crate::lsm::coding::{put_varint, take_varint};
use crate::lsm::record::{Kind, Record, Stamp};

/// The index of a table while that is written.
pub(crate) struct IndexBuilder {
    block: BlockBuilder,
}

impl IndexBuilder {
    pub(crate) fn new() -> Self {
        Self { block: BlockBuilder::new() }
    }

    /// Adds a block that ends at an offset, between its last key and the first one of the next block.
    pub(crate) fn add(&mut self, last: &[u8], next: Option<&[u8]>, end: u64) {
        let key = next.map_or(last, |next| separator(last, next));
        let mut value = Vec::with_capacity(10);
        put_varint(&mut value, end);
        self.block.add(&Record { key, stamp: Stamp::new(0, Kind::Set), value: &value });
    }

    pub(crate) fn len(&self) -> usize {
        self.block.len()
    }

    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        self.block.finish(out);
    }
}

/// The shortest beginning of `next` that is not before `last`, or `last`: it separates them.
fn separator<'a>(last: &'a [u8], next: &'a [u8]) -> &'a [u8] {
    // The shortest key above `last` that begins as `next` does is `next` up to where they differ; it is below `next` only where that goes on.
    let shared = shared_len(last, next);
    match next.get(..=shared) {
        Some(short) if short.len() < next.len() && short.len() < last.len() => short,
        _ => last,
    }
}

/// Heads from one top to the next.
const TOP: usize = 16;

/// The index of a table that is read.
#[derive(Debug)]
pub(crate) struct Index {
    /// What all keys begin with.
    shared: Vec<u8>,
    /// Of each key the eight bytes after that, filled up with zeros.
    heads: Vec<u64>,
    /// Every sixteenth of them: few enough to stay in a processor's cache, and what they leave to be searched is two lines of it.
    tops: Vec<u64>,
    /// Where each key ends in `keys`.
    key_ends: Vec<u32>,
    /// The keys, without what they share.
    keys: Vec<u8>,
    /// Where each block ends in the file.
    block_ends: Vec<u64>,
}

impl Index {
    pub(crate) fn new(bytes: &[u8]) -> Result<Self, Damage> {
        let mut cursor = BlockCursor::new(bytes)?;
        cursor.last()?;
        let last = cursor.record().map_or_else(Vec::new, |record| record.key.to_vec());
        cursor.first()?;
        let shared = cursor.record().map_or(0, |record| shared_len(record.key, &last));
        let mut index = Self {
            shared: last[..shared].to_vec(),
            heads: Vec::new(),
            tops: Vec::new(),
            key_ends: Vec::new(),
            keys: Vec::new(),
            block_ends: Vec::new(),
        };
        while let Some(record) = cursor.record() {
            let key = record.key.strip_prefix(&index.shared[..]).ok_or("an index is out of order")?;
            let end = take_varint(&mut &*record.value).ok_or("an index has an entry without an offset")?;
            if index.block_ends.last().copied().unwrap_or(0) >= end {
                return Err("an index has blocks out of order");
            }
            if index.heads.len().is_multiple_of(TOP) {
                index.tops.push(head(key));
            }
            index.heads.push(head(key));
            index.keys.extend_from_slice(key);
            index
                .key_ends
                .push(u32::try_from(index.keys.len()).map_err(|_| "an index is longer than 4 GiB")?);
            index.block_ends.push(end);
            cursor.next()?;
        }
        Ok(index)
    }

    /// Blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.block_ends.len()
    }

    /// Where a block begins and ends in the file.
    #[inline]
    pub(crate) fn range(&self, block: usize) -> (u64, u64) {
        (block.checked_sub(1).map_or(0, |before| self.block_ends[before]), self.block_ends[block])
    }

    /// The only block that may hold the key, or the number of blocks where none does.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> usize {
        let Some(rest) = key.strip_prefix(&self.shared[..]) else {
            return if key < &self.shared[..] { 0 } else { self.blocks() };
        };
        let wanted = head(rest);
        // The last top below what is wanted, and the heads from there to the next one.
        let from = self.tops.partition_point(|top| *top < wanted).saturating_sub(1) * TOP;
        let to = self.heads.len().min(from + TOP + 1);
        let mut at = from + self.heads[from..to].partition_point(|head| *head < wanted);
        while self.heads.get(at) == Some(&wanted) && self.key(at) < rest {
            at += 1;
        }
        at
    }

    fn key(&self, at: usize) -> &[u8] {
        let begin = at.checked_sub(1).map_or(0, |before| self.key_ends[before] as usize);
        &self.keys[begin..self.key_ends[at] as usize]
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.shared.capacity()
            + self.keys.capacity()
            + 8 * (self.heads.capacity() + self.tops.capacity())
            + 4 * self.key_ends.capacity()
            + 8 * self.block_ends.capacity()
    }
}

/// The first eight bytes as a number that sorts as they do.
#[inline]
fn head(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(first)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_separator_separates(keys in prop::collection::btree_set(prop::collection::vec(0_u8..4, 0..6), 2..3)) {
            let keys: Vec<_> = keys.into_iter().collect();
            let found = separator(&keys[0], &keys[1]);
            prop_assert!(*keys[0] <= *found && *found < *keys[1], "{found:?}");
            prop_assert!(found.len() <= keys[0].len());
        }

        #[test]
        fn a_key_s_block_is_found(
            keys in prop::collection::btree_set(prop::collection::vec(prop::sample::select(vec![0_u8, 1, 7, 255]), 0..14), 1..60),
            shared in prop::collection::vec(any::<u8>(), 0..5),
            per_block in 1_usize..5,
            probes in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![0_u8, 1, 7, 255]), 0..14), 0..20),
        ) {
            let with = |key: &[u8]| [&shared[..], key].concat();
            let keys: Vec<_> = keys.iter().map(|key| with(key)).collect();
            let blocks: Vec<_> = keys.chunks(per_block).collect();
            let mut builder = IndexBuilder::new();
            for (number, block) in blocks.iter().enumerate() {
                let next = blocks.get(number + 1).map(|next| &next[0][..]);
                builder.add(block.last().unwrap(), next, (number as u64 + 1) * 100);
            }
            let mut bytes = Vec::new();
            builder.finish(&mut bytes);
            let index = Index::new(&bytes).unwrap();
            prop_assert_eq!(index.blocks(), blocks.len());
            for (number, block) in blocks.iter().enumerate() {
                prop_assert_eq!(index.range(number), (number as u64 * 100, (number as u64 + 1) * 100));
                for key in *block {
                    prop_assert_eq!(index.find(key), number);
                }
            }
            // A key that is not there: nothing at or after it lies in an earlier block than the one that is found.
            let all: BTreeSet<_> = keys.iter().cloned().collect();
            for probe in probes.iter().flat_map(|probe| [with(probe), probe.clone()]) {
                let found = index.find(&probe);
                let before = keys.iter().take(found * per_block);
                let is_behind = { before }.all(|key| *key < probe);
                prop_assert!(is_behind);
                prop_assert!(all.range(probe.clone()..).next().is_none_or(|next| index.find(next) >= found));
            }
        }

        #[test]
        fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), key in prop::collection::vec(any::<u8>(), 0..9)) {
            if let Ok(index) = Index::new(&bytes) {
                let _ = index.find(&key);
            }
        }
    }
}
