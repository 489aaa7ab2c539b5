//! Where do bytes stay that wait: the part of a request that has arrived, the replies that a socket did not take?
//!
//! A few kilobytes in pieces that the thread has had from the start, more in pages of the store, which count under the memory cap as long
//! as they wait. Nothing of it is taken from the allocator, which would keep holes in memory that nobody counts.

use plumbkv::Buffer;

use crate::shared::Shared;
use crate::warm::touched_room;

/// Bytes of one of the pieces that a thread has at hand.
pub(crate) const PIECE_BYTES: usize = 4096;

/// How many it has.
const PIECES: usize = 64;

/// Pieces that are not in use.
pub(crate) struct Pool {
    spare: Vec<Vec<u8>>,
}

/// Bytes that wait.
#[derive(Debug)]
pub(crate) enum Kept {
    /// Never longer than [`PIECE_BYTES`].
    Piece(Vec<u8>),
    Pages(Buffer),
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self { spare: (0..PIECES).map(|_| touched_room(PIECE_BYTES)).collect() }
    }

    /// One that only ever gives pages of the store.
    pub(crate) fn without_pieces() -> Self {
        Self { spare: Vec::new() }
    }

    /// Room for at least so many bytes; `None` where there is no memory for them.
    pub(crate) fn room(&mut self, shared: &Shared, bytes: usize) -> Option<Kept> {
        if bytes <= PIECE_BYTES
            && let Some(piece) = self.spare.pop()
        {
            return Some(Kept::Piece(piece));
        }
        shared.database.buffer(bytes).ok().map(Kept::Pages)
    }

    /// Takes back what is not needed any more.
    pub(crate) fn put(&mut self, kept: Kept) {
        if let Kept::Piece(mut piece) = kept {
            piece.clear();
            self.spare.push(piece);
        }
    }

    /// Makes room for so many bytes in all; what is kept stays as it is where there is no memory for them.
    pub(crate) fn grow(&mut self, shared: &Shared, kept: &mut Kept, bytes: usize) -> bool {
        if bytes <= kept.capacity() {
            return true;
        }
        if let Kept::Pages(buffer) = kept {
            return buffer.grow(bytes).is_ok();
        }
        let Ok(mut buffer) = shared.database.buffer(bytes) else { return false };
        buffer.fill(kept.bytes());
        self.put(std::mem::replace(kept, Kept::Pages(buffer)));
        true
    }
}

impl Kept {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Piece(piece) => piece,
            Self::Pages(buffer) => buffer,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes().len()
    }

    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::Piece(_) => PIECE_BYTES,
            Self::Pages(buffer) => buffer.capacity(),
        }
    }

    /// Adds as much as there is room for, and returns how much that was.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        match self {
            Self::Piece(piece) => {
                let count = bytes.len().min(PIECE_BYTES - piece.len());
                piece.extend_from_slice(&bytes[..count]);
                count
            }
            Self::Pages(buffer) => buffer.fill(bytes),
        }
    }

    /// Forgets the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        match self {
            Self::Piece(piece) => drop(piece.drain(..count)),
            Self::Pages(buffer) => buffer.consume(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::Driver;

    #[test]
    fn small_bytes_cost_the_store_nothing_and_long_ones_are_counted() {
        let driver = Driver::with_options(|options| options, 2 << 20);
        let reserved = || driver.shared.database.stats().reserved_bytes;
        let mut pool = Pool::new();
        let mut kept = pool.room(&driver.shared, 100).unwrap();
        assert_eq!((kept.fill(&[7; 5000]), reserved()), (PIECE_BYTES, 0));
        assert!(pool.grow(&driver.shared, &mut kept, 10_000));
        assert_eq!((kept.fill(&[8; 10_000]), kept.len(), reserved()), (8192, 12_288, 12_288));
        kept.consume(4000);
        assert_eq!(kept.bytes(), [vec![7; 96], vec![8; 8192]].concat());
        assert!(!pool.grow(&driver.shared, &mut kept, 4 << 20));
        assert_eq!(kept.len(), 8288);
        pool.put(kept);
        assert_eq!((pool.spare.len(), reserved()), (PIECES, 0));
        // With all pieces in use pages take their place.
        let all: Vec<Kept> = (0..=PIECES).map(|_| pool.room(&driver.shared, 1).unwrap()).collect();
        assert_eq!(reserved(), 4096);
        all.into_iter().for_each(|kept| pool.put(kept));
        assert_eq!((pool.spare.len(), reserved()), (PIECES, 0));
    }
}
