//! Which blocks of a part of the cache stay? Those that were read since their turn last came. They stand in two lines: a long one, and a short one of those that came when all room was
//! taken and had not been here lately. Whoever is first in the long line loses a mark and goes to its end, or has none and leaves; whoever is first in the short one goes over to the long
//! one, or leaves ([S3-FIFO](https://dl.acm.org/doi/10.1145/3600006.3613147)).
//!
//! What exact least recent use would cost is a line that every reader changes, so that none could read beside another. A mark is a byte, and only set where it is not. What is never read
//! again passes through the short line alone, whose memory stays in the processor's cache.

use super::recent::HASH;
use super::slab::{Piece, Pieces, Slab};
use crate::lsm::buffer::Buffer;
use hashbrown::HashTable;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What an entry costs besides its bytes: its places in the table and in the line.
pub(super) const ENTRY: u64 = 64;

/// As many turns as a block outlasts without being read, at most.
const MOST_MARKS: u8 = 3;

/// Of the capacity one part in so many is for the short line.
const SHORT: u64 = 20;

/// Where a block lies.
enum Block {
    Piece(Piece),
    /// One that is longer than others.
    Own(Buffer),
}

/// A block, in the table itself: a look waits for memory once less than it would with a number there.
struct Entry {
    key: u64,
    block: Block,
    marks: AtomicU8,
}

/// Some of the blocks of a cache.
#[derive(Default)]
pub(super) struct Shard {
    /// Where blocks are to lie; without it each is allocated.
    pieces: Option<Pieces>,
    entries: HashTable<Entry>,
    /// Keys of those that came lately, and of the others: each stands in one of the two.
    short: VecDeque<u64>,
    long: VecDeque<u64>,
    bytes: u64,
    /// Of those in the short line.
    short_bytes: u64,
}

/// What a block counts for.
fn weight(block: &Block, pieces: Option<&Pieces>) -> u64 {
    let room = match block {
        Block::Own(bytes) => bytes.len(),
        Block::Piece(_) => pieces.map_or(0, Pieces::room),
    };
    room as u64 + ENTRY
}

impl Shard {
    pub(super) fn new(slab: Option<Arc<Slab>>) -> Self {
        Self { pieces: slab.map(Pieces::of), ..Self::default() }
    }

    /// Whether its blocks lie in this slab, or are allocated where there is none.
    pub(super) fn is_of(&self, slab: Option<&Arc<Slab>>) -> bool {
        match (&self.pieces, slab) {
            (Some(pieces), Some(slab)) => pieces.are_of(slab),
            (pieces, slab) => pieces.is_none() && slab.is_none(),
        }
    }

    /// Bytes of its blocks, with what they cost.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The block of a key, which counts as read.
    #[inline]
    pub(super) fn get(&self, hash: u64, key: u64) -> Option<&[u8]> {
        let entry = self.entries.find(hash, |entry| entry.key == key)?;
        let marks = entry.marks.load(Ordering::Relaxed);
        if marks < MOST_MARKS {
            entry.marks.store(marks + 1, Ordering::Relaxed);
        }
        match (&entry.block, &self.pieces) {
            (Block::Own(bytes), _) => Some(bytes),
            (Block::Piece(piece), pieces) => pieces.as_ref().map(|pieces| pieces.block(piece)),
        }
    }

    /// Puts a block in that takes no more than `capacity`, and takes others away until all do.
    pub(super) fn insert(&mut self, hash: u64, key: u64, block: &[u8], is_back: bool, capacity: u64) {
        let room = self.pieces.as_ref().map_or(0, Pieces::room);
        let more = block.len().max(room) as u64 + ENTRY;
        // Whoever missed it at the same time may have been quicker. Blocks of a key do not differ.
        if more > capacity || self.get(hash, key).is_some() {
            return;
        }
        // As long as there is room for all, nothing has to be said for staying.
        let is_short = self.bytes > capacity - more && !is_back;
        self.shrink(capacity - more, capacity);
        let piece = self.pieces.as_mut().and_then(|pieces| pieces.copy(block));
        let block = piece.map_or_else(|| Block::Own(Buffer::from(block)), Block::Piece);
        let more = weight(&block, self.pieces.as_ref());
        self.bytes += more;
        if is_short {
            self.short_bytes += more;
            self.short.push_back(key);
        } else {
            self.long.push_back(key);
        }
        let entry = Entry { key, block, marks: AtomicU8::new(0) };
        self.entries.insert_unique(hash, entry, |entry| HASH.hash_one(entry.key));
    }

    /// Takes blocks away until the rest are no more than so many bytes, of a capacity of so many.
    pub(super) fn shrink(&mut self, bytes: u64, capacity: u64) {
        while self.bytes > bytes {
            let is_short = self.long.is_empty() || self.short_bytes > capacity / SHORT;
            let line = if is_short { &mut self.short } else { &mut self.long };
            let Some(key) = line.pop_front() else { return };
            let Ok(mut place) = self.entries.find_entry(HASH.hash_one(key), |entry| entry.key == key) else {
                continue;
            };
            let entry = place.get_mut();
            let weight = weight(&entry.block, self.pieces.as_ref());
            if is_short {
                self.short_bytes -= weight;
            }
            let marks = entry.marks.get_mut();
            if *marks > 0 {
                *marks -= 1;
                self.long.push_back(key);
                continue;
            }
            self.bytes -= weight;
            if let (Block::Piece(piece), Some(pieces)) = (place.remove().0.block, &mut self.pieces) {
                pieces.give_back(piece);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 1000;

    fn hash(key: u64) -> u64 {
        HASH.hash_one(key)
    }

    fn block(len: usize) -> Vec<u8> {
        vec![0; len]
    }

    fn capacity(blocks: u64) -> u64 {
        blocks * (BLOCK as u64 + ENTRY)
    }

    fn holds(shard: &Shard, key: u64) -> bool {
        shard.get(hash(key), key).is_some()
    }

    #[test]
    fn what_is_read_outlives_what_is_not() {
        let mut shard = Shard::default();
        for key in 0..1_000 {
            shard.insert(hash(key), key, &block(BLOCK), false, capacity(10));
            assert!(holds(&shard, 0), "after {key}");
            assert!(shard.bytes() <= capacity(10));
        }
        assert!(!holds(&shard, 1));
        assert_eq!(shard.bytes(), capacity(10));
        assert_eq!((shard.short.len() + shard.long.len(), shard.entries.len()), (10, 10));
    }

    #[test]
    fn a_block_that_fills_the_shard_takes_all_others_away_and_a_larger_one_none() {
        let mut shard = Shard::default();
        (0..10).for_each(|key| shard.insert(hash(key), key, &block(BLOCK), false, capacity(10)));
        let most = capacity(10) - ENTRY;
        shard.insert(hash(10), 10, &block(most as usize + 1), false, capacity(10));
        assert!(!holds(&shard, 10) && holds(&shard, 9));
        shard.insert(hash(11), 11, &block(most as usize), false, capacity(10));
        assert!(holds(&shard, 11) && !holds(&shard, 9));
        assert_eq!(shard.bytes(), capacity(10));
        shard.shrink(0, 0);
        assert!(!holds(&shard, 11) && shard.bytes() == 0 && shard.entries.is_empty());
    }

    #[test]
    fn a_key_that_is_put_in_twice_counts_once() {
        let mut shard = Shard::default();
        (0..2).for_each(|_| shard.insert(hash(1), 1, &block(BLOCK), false, capacity(10)));
        assert_eq!(shard.bytes(), capacity(1));
    }
}
