//! The index of a table: which block may hold a key, without reading anything. Of each block the index keeps a key that is not before its last one, and before the
//! first one of the next, as short as it can be.
//!
//! In memory the part that all of these keys share is kept once, and the eight bytes after it, the head, as a number; most searches look at nothing else. Heads are stored in groups, each with the
//! places of its blocks, and above the groups in two thin layers: a search waits for two or three lines of memory, and for none of them twice.
//!
//! Where many neighbours have the same head, as the keys of one family beside others, they are a node of their own (`index_node.rs`), with what they share and heads behind that: a trie, of
//! which the tables of most stores have one or two levels. Keys with equal heads that are too few for a node are searched by halves.

use super::block::{BlockCursor, Damage};
use super::block_builder::BlockBuilder;
use super::index_node::{HEAD, Node, nodes};
use crate::lsm::coding::{put_varint, take_varint};
use crate::lsm::record::{Kind, Record, Stamp, shared_len};
use crate::prefetch;

/// The index of a table while that is written.
pub(crate) struct IndexBuilder {
    block: BlockBuilder,
    /// Where the last block ended.
    end: u64,
}

impl IndexBuilder {
    pub(crate) fn new() -> Self {
        // It is read from its beginning only, and what each entry would not share could be 64 KiB.
        Self { block: BlockBuilder::without_restarts(), end: 0 }
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
    /// Of each key the eight bytes after what all of its node share, filled up with zeros; the largest number where there is no block.
    heads: [u64; GROUP],
    /// Of each key its length after what all of its node share, or [`LONG`].
    lens: [u8; GROUP],
    /// Where the first block begins in the file.
    begin: u32,
    /// Where each block ends.
    ends: [u32; GROUP],
    /// Long keys of the groups before.
    longs: u32,
}

/// The length of a key that its head does not hold all of.
const LONG: u8 = 9;

/// The index of a table that is read, or of other sorted keys.
#[derive(Debug, Default, Clone)]
pub(crate) struct Index {
    /// All blocks.
    root: Node,
    /// The nodes below it, those of one node side by side.
    nodes: Vec<Node>,
    /// Of each of them the head of its last key, in the node above.
    last_heads: Vec<u64>,
    /// What the keys of each node share behind what those of the node above do.
    shared: Vec<u8>,
    groups: Vec<Group>,
    /// The first head of each group.
    tops: Vec<u64>,
    /// Every sixteenth of those: few enough to stay in a processor's cache, and what they leave to be searched is two lines of `tops`.
    peaks: Vec<u64>,
    blocks: usize,
    /// Where the tail of each long key begins in `tails`: what its head does not hold.
    longs: Vec<usize>,
    tails: Vec<u8>,
}

impl Index {
    pub(crate) fn new(bytes: &[u8]) -> Result<Self, Damage> {
        let mut before = 0_u32;
        Self::build(|add| {
            before = 0;
            let mut cursor = BlockCursor::new(bytes)?;
            cursor.first()?;
            while let Some(record) = cursor.record() {
                let len = take_varint(&mut &*record.value).ok_or("an index has an entry without a length")?;
                // A table ends soon after its target, which is far below, or with one long value.
                let end = u32::try_from(len).ok().and_then(|len| u32::checked_add(before, len));
                let end = end.ok_or("a table is longer than 4 GiB")?;
                if before == end {
                    return Err("an index has a block of nothing");
                }
                add(record.key, before, end)?;
                before = end;
                cursor.next()?;
            }
            Ok(())
        })
    }

    /// Of sorted keys that are the last ones of something else than blocks.
    pub(crate) fn of_keys<'a>(keys: impl Iterator<Item = &'a [u8]> + Clone) -> Result<Self, Damage> {
        Self::build(|add| keys.clone().try_for_each(|key| add(key, 0, 0)))
    }

    /// From keys, each with where its block begins and ends. They are gone through twice, because where
    /// they share much all of them together take far more memory than the index: first for how much
    /// neighbours share, from which the nodes follow, then for the rest.
    fn build(mut each: impl FnMut(&mut Add) -> Result<(), Damage>) -> Result<Self, Damage> {
        let (mut shares, mut last) = (Vec::new(), Vec::new());
        each(&mut |key, _, _| {
            let shared = shared_len(&last, key);
            if key.get(shared) < last.get(shared) {
                return Err("an index is out of order");
            }
            // Of the first key its length: only a node of one block reads it.
            shares.push(if shares.is_empty() { key.len() } else { shared } as u32);
            last.truncate(shared);
            last.extend_from_slice(&key[shared..]);
            Ok(())
        })?;
        let mut index = Self::default();
        (index.root, index.nodes) = nodes(&shares);
        index.last_heads = vec![0; index.nodes.len()];
        drop(shares);
        let mut filling = Filling::new(&index.nodes);
        each(&mut |key, begin, end| {
            filling.add(&mut index, key, begin, end);
            Ok(())
        })?;
        index.shrink();
        Ok(index)
    }

    /// Adds a block whose key is this one behind what its node shares.
    fn add(&mut self, rest: &[u8], begin: u32, end: u32) {
        let (head, at) = (head(rest), self.blocks % GROUP);
        if at == 0 {
            if self.tops.len().is_multiple_of(GROUP) {
                self.peaks.push(head);
            }
            self.tops.push(head);
            // Long keys are at most as many as blocks, and those fewer than the bytes of a file that is shorter than 4 GiB.
            let longs = self.longs.len() as u32;
            self.groups.push(Group {
                heads: [u64::MAX; GROUP],
                lens: [0; GROUP],
                begin,
                ends: [0; GROUP],
                longs,
            });
        }
        if let Some(group) = self.groups.last_mut() {
            group.heads[at] = head;
            group.lens[at] = rest.len().min(usize::from(LONG)) as u8;
            group.ends[at] = end;
        }
        if rest.len() >= usize::from(LONG) {
            self.longs.push(self.tails.len());
            self.tails.extend_from_slice(&rest[HEAD..]);
        }
        self.blocks += 1;
    }

    fn shrink(&mut self) {
        self.groups.shrink_to_fit();
        self.tops.shrink_to_fit();
        self.peaks.shrink_to_fit();
        self.longs.shrink_to_fit();
        self.tails.shrink_to_fit();
        self.shared.shrink_to_fit();
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

    /// The only block that may hold the key, or the number of blocks where none does: the first one
    /// whose key is not below it.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> usize {
        let root = &self.root;
        let Some(rest) = key.strip_prefix(self.shared_of(root)) else {
            return if key < self.shared_of(root) { 0 } else { self.blocks };
        };
        let wanted = head(rest);
        if root.count == 0 {
            self.find_in(0, self.blocks, wanted, rest)
        } else {
            self.find_below(root, wanted, rest)
        }
    }

    /// The same in a node that has others below it.
    #[inline(never)]
    fn find_below<'s, 'k>(&'s self, mut node: &'s Node, mut wanted: u64, mut rest: &'k [u8]) -> usize {
        while node.count > 0 {
            let end = (node.first + node.count) as usize;
            let heads = &self.last_heads[node.first as usize..end];
            let mut number = node.first as usize + heads.partition_point(|head| *head < wanted);
            if number == end {
                return node.to as usize;
            }
            if !self.nodes[number].is_run {
                let Node { from, to, .. } = self.nodes[number];
                let found = self.find_in(from as usize, to as usize, wanted, rest);
                // Keys that are shorter than a head can have the one that a run behind them has.
                let is_past = found == to as usize;
                if !is_past || number + 1 == end || !self.nodes[number + 1].is_run {
                    return found;
                }
                number += 1;
            }
            let run = &self.nodes[number];
            // A key that ends within the head is a beginning of all that the run has.
            let below: Option<&'k [u8]> =
                if self.last_heads[number] == wanted { rest.get(HEAD..) } else { None };
            let Some(below) = below else { return run.from as usize };
            let shared = self.shared_of(run);
            let Some(behind) = below.strip_prefix(shared) else {
                return if below < shared { run.from } else { run.to } as usize;
            };
            (node, rest, wanted) = (run, behind, head(behind));
        }
        self.find_in(node.from as usize, node.to as usize, wanted, rest)
    }

    #[inline]
    fn shared_of(&self, node: &Node) -> &[u8] {
        &self.shared[node.shared_at..node.shared_at + node.shared_len as usize]
    }

    /// The same among the blocks of a node, from one on and up to another one. The first and the last group may have blocks of other nodes.
    #[inline(always)]
    fn find_in(&self, from: usize, to: usize, wanted: u64, rest: &[u8]) -> usize {
        if from == to {
            return to;
        }
        let count = |heads: &[u64]| heads.iter().map(|head| usize::from(*head < wanted)).sum::<usize>();
        let (first, last) = (from / GROUP, (to - 1) / GROUP);
        // Each time the last one below what is wanted, and those from there to the next. What the first group begins with may be another node's.
        let lowest = first / GROUP + 1;
        let peaks = &self.peaks[lowest..(last / GROUP + 1).max(lowest)];
        let peak = lowest + peaks.partition_point(|peak| *peak < wanted);
        let begin = if peak > lowest { (peak - 1) * GROUP } else { first };
        let number = begin + count(&self.tops[begin + 1..(last + 1).min(peak * GROUP)]);
        let group = &self.groups[number];
        // All of its lines at once.
        let line = std::ptr::from_ref(group).cast::<u8>();
        (0..size_of::<Group>()).step_by(64).for_each(|at| prefetch::read(line.wrapping_add(at)));
        let begin = number * GROUP;
        let (low, high) = (from.saturating_sub(begin), (to - begin).min(GROUP));
        // Where there is no block, there is the largest head.
        let is_whole = low == 0 && (high == GROUP || to == self.blocks);
        let before = if is_whole { count(&group.heads) } else { count(&group.heads[low..high]) };
        let at = begin + low + before;
        if at == to || self.head(at) != wanted {
            return at;
        }
        self.find_among_equal(at, to, wanted, rest)
    }

    /// The same among keys of one node that have the same head, from a place on.
    fn find_among_equal(&self, from: usize, to: usize, wanted: u64, rest: &[u8]) -> usize {
        // Mostly there is one.
        if !self.is_before(from, rest) {
            return from;
        }
        let (first, last) = (from / GROUP, (to - 1) / GROUP);
        let number = first + self.tops[first + 1..=last].partition_point(|top| *top <= wanted);
        let begin = number * GROUP;
        let (low, high) = (from.saturating_sub(begin), (to - begin).min(GROUP));
        let mut behind =
            begin + low + self.groups[number].heads[low..high].partition_point(|head| *head <= wanted);
        let mut at = from + 1;
        while at < behind {
            let middle = at + (behind - at) / 2;
            if self.is_before(middle, rest) { at = middle + 1 } else { behind = middle }
        }
        at
    }

    fn head(&self, at: usize) -> u64 {
        self.groups[at / GROUP].heads[at % GROUP]
    }

    /// Whether the key of a block sorts before another one with the same head.
    fn is_before(&self, at: usize, rest: &[u8]) -> bool {
        #[cfg(test)]
        COMPARED.set(COMPARED.get() + 1);
        let (group, at) = (&self.groups[at / GROUP], at % GROUP);
        match group.lens[at] {
            LONG => {
                let before: usize = group.lens[..at].iter().map(|len| usize::from(*len == LONG)).sum();
                let long = group.longs as usize + before;
                let end = self.longs.get(long + 1).map_or(self.tails.len(), |end| *end);
                self.tails[self.longs[long]..end] < *rest.get(HEAD..).unwrap_or_default()
            }
            // Equal as far as they go, but for zeros that fill up the shorter one.
            len => usize::from(len) < rest.len(),
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.shared.capacity()
            + self.tails.capacity()
            + size_of::<usize>() * self.longs.capacity()
            + size_of::<Group>() * self.groups.capacity()
            + (size_of::<Node>() + 8) * self.nodes.capacity()
            + 8 * (self.tops.capacity() + self.peaks.capacity())
    }
}

#[cfg(test)]
thread_local! {
    /// Keys that were compared beyond their heads.
    static COMPARED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Is handed each key, and where its block begins and ends.
type Add<'a> = dyn FnMut(&[u8], u32, u32) -> Result<(), Damage> + 'a;

/// How far the keys of an index have been put into its nodes.
struct Filling {
    /// Nodes by their first block; those that contain others come before them.
    by_first: std::iter::Peekable<std::vec::IntoIter<usize>>,
    /// Nodes by their last block.
    by_last: std::iter::Peekable<std::vec::IntoIter<usize>>,
    /// Bytes before the heads of the node that is being filled.
    base: usize,
}

impl Filling {
    fn new(nodes: &[Node]) -> Self {
        let (mut by_first, mut by_last): (Vec<_>, Vec<_>) = (0..nodes.len()).map(|at| (at, at)).unzip();
        // Stable: a node is behind the one above it.
        by_first.sort_by_key(|at| nodes[*at].from);
        by_last.sort_by_key(|at| nodes[*at].to);
        Self { by_first: by_first.into_iter().peekable(), by_last: by_last.into_iter().peekable(), base: 0 }
    }

    fn add(&mut self, index: &mut Index, key: &[u8], begin: u32, end: u32) {
        let block = index.blocks;
        if block == 0 {
            index.root.shared_len = index.root.base;
            self.base = index.root.base as usize;
            index.shared.extend_from_slice(&key[..self.base]);
        }
        while let Some(at) = self.by_first.next_if(|at| index.nodes[*at].from as usize == block) {
            let node = &mut index.nodes[at];
            let shared = &key[node.skipped as usize..node.base as usize];
            (node.shared_at, node.shared_len) = (index.shared.len(), shared.len() as u32);
            index.shared.extend_from_slice(shared);
            self.base = node.base as usize;
        }
        index.add(&key[self.base..], begin, end);
        while let Some(at) = self.by_last.next_if(|at| index.nodes[*at].to as usize == block + 1) {
            let node = &index.nodes[at];
            let before_head = if node.is_run { node.skipped as usize - HEAD } else { node.base as usize };
            index.last_heads[at] = head(&key[before_head..]);
        }
    }
}

/// The first eight bytes as a number that sorts as they do.
#[inline]
fn head(key: &[u8]) -> u64 {
    match key.first_chunk::<HEAD>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(first)
        }
    }
}

#[cfg(test)]
#[path = "index_test.rs"]
mod index_test;
