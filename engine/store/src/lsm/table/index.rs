//! Which block of a table may hold a key? Always known without reading anything: of each block the index keeps a key that is not before its last one, and before the
//! first one of the next, as short as it can be.
//!
//! In memory the part that all of these keys share is kept once, and the eight bytes after it as a number; most searches look at nothing else. They lie in groups, each with the
//! places of its blocks, and above the groups in two thin layers: a search waits for two or three lines of memory, and for none of them twice.

use super::block::{BlockCursor, Damage};
use super::block_builder::{BlockBuilder, shared_len};
use crate::lsm::coding::{put_varint, take_varint};
use crate::lsm::record::{Kind, Record, Stamp};
use crate::prefetch;

/// The index of a table while that is written.
pub(crate) struct IndexBuilder {
    block: BlockBuilder,
    /// Where the last block ended.
    end: u64,
}

impl IndexBuilder {
    pub(crate) fn new() -> Self {
        Self { block: BlockBuilder::new(usize::MAX), end: 0 }
    }

    /// Adds a block that ends at an offset, between its last key and the first one of the next block.
    pub(crate) fn add(&mut self, last: &[u8], next: Option<&[u8]>, end: u64) {
        let key = next.map_or(last, |next| separator(last, next));
        let mut value = Vec::with_capacity(10);
        put_varint(&mut value, end - self.end);
        self.end = end;
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

/// Blocks of a group.
const GROUP: usize = 16;

/// Blocks that follow each other: what a search needs of them lies side by side, so that it waits for memory once.
#[derive(Debug, Clone)]
struct Group {
    /// Of each key the eight bytes after what all share, filled up with zeros; the largest number where there is no block.
    heads: [u64; GROUP],
    /// Of each key its length after what all share, or [`LONG`].
    lens: [u8; GROUP],
    /// Where the first block begins in the file.
    begin: u32,
    /// Where each block ends.
    ends: [u32; GROUP],
}

/// The length of a key that its head does not hold all of.
const LONG: u8 = 9;

/// The index of a table that is read.
#[derive(Debug)]
pub(crate) struct Index {
    /// What all keys begin with.
    shared: Vec<u8>,
    groups: Vec<Group>,
    /// The first head of each group.
    tops: Vec<u64>,
    /// Every sixteenth of those: few enough to stay in a processor's cache, and what they leave to be searched is two lines of `tops`.
    peaks: Vec<u64>,
    blocks: usize,
    /// The keys that are longer than a head, without what all share: of each the number of its block.
    long: Vec<(u32, Box<[u8]>)>,
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
            groups: Vec::new(),
            tops: Vec::new(),
            peaks: Vec::new(),
            blocks: 0,
            long: Vec::new(),
        };
        let mut before = 0_u32;
        while let Some(record) = cursor.record() {
            let key = record.key.strip_prefix(&index.shared[..]).ok_or("an index is out of order")?;
            let len = take_varint(&mut &*record.value).ok_or("an index has an entry without a length")?;
            // A table ends soon after its target, which is far below, or with one long value.
            let end = u32::try_from(len).ok().and_then(|len| u32::checked_add(before, len));
            let end = end.ok_or("a table is longer than 4 GiB")?;
            if before == end {
                return Err("an index has a block of nothing");
            }
            index.add(key, before, end);
            before = end;
            cursor.next()?;
        }
        index.shrink();
        Ok(index)
    }

    fn add(&mut self, key: &[u8], begin: u32, end: u32) {
        let (head, at) = (head(key), self.blocks % GROUP);
        if at == 0 {
            if self.tops.len().is_multiple_of(GROUP) {
                self.peaks.push(head);
            }
            self.tops.push(head);
            self.groups.push(Group { heads: [u64::MAX; GROUP], lens: [0; GROUP], begin, ends: [0; GROUP] });
        }
        if let Some(group) = self.groups.last_mut() {
            group.heads[at] = head;
            group.lens[at] = key.len().min(usize::from(LONG)) as u8;
            group.ends[at] = end;
        }
        if key.len() >= usize::from(LONG) {
            // Blocks are fewer than the bytes of a file that is shorter than 4 GiB.
            self.long.push((self.blocks as u32, key.into()));
        }
        self.blocks += 1;
    }

    fn shrink(&mut self) {
        self.groups.shrink_to_fit();
        self.tops.shrink_to_fit();
        self.long.shrink_to_fit();
    }

    /// Blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Where a block begins and ends in the file.
    #[inline]
    pub(crate) fn range(&self, block: usize) -> (u64, u64) {
        let (group, at) = (&self.groups[block / GROUP], block % GROUP);
        let begin = at.checked_sub(1).map_or(group.begin, |before| group.ends[before]);
        (u64::from(begin), u64::from(group.ends[at]))
    }

    /// The only block that may hold the key, or the number of blocks where none does.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> usize {
        let Some(rest) = key.strip_prefix(&self.shared[..]) else {
            return if key < &self.shared[..] { 0 } else { self.blocks() };
        };
        let wanted = head(rest);
        let count = |heads: &[u64]| heads.iter().map(|head| usize::from(*head < wanted)).sum::<usize>();
        // Each time the last one below what is wanted, and those from there to the next.
        let from = self.peaks.partition_point(|peak| *peak < wanted).saturating_sub(1) * GROUP;
        let to = self.tops.len().min(from + GROUP);
        let number = (from + count(&self.tops[from..to])).saturating_sub(1);
        let Some(group) = self.groups.get(number) else { return self.blocks() };
        // All of its lines at once.
        let first = std::ptr::from_ref(group).cast::<u8>();
        (0..size_of::<Group>()).step_by(64).for_each(|line| prefetch::read(first.wrapping_add(line)));
        let mut at = (number * GROUP + count(&group.heads)).min(self.blocks());
        while at < self.blocks() && self.head(at) == wanted && self.is_before(at, rest) {
            at += 1;
        }
        at
    }

    fn head(&self, at: usize) -> u64 {
        self.groups[at / GROUP].heads[at % GROUP]
    }

    /// Whether the key of a block stands before another one with the same head.
    fn is_before(&self, at: usize, rest: &[u8]) -> bool {
        match self.groups[at / GROUP].lens[at % GROUP] {
            LONG => {
                let long = self.long.partition_point(|(block, _)| (*block as usize) < at);
                self.long.get(long).is_some_and(|(_, key)| &key[..] < rest)
            }
            // Equal as far as they go, but for zeros that fill up the shorter one.
            len => usize::from(len) < rest.len(),
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.shared.capacity()
            + self.long.iter().map(|(_, key)| size_of::<(u32, Box<[u8]>)>() + key.len()).sum::<usize>()
            + size_of::<Group>() * self.groups.capacity()
            + 8 * (self.tops.capacity() + self.peaks.capacity())
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
