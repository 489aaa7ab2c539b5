//! What is a version of a key? Its stamp: when it was written, and what it is.

/// Numbers writes in their order, from 1 on; 56 bits, which a thousand million writes a second use up in two years.
pub(crate) type Sequence = u64;

/// The largest sequence number.
pub(crate) const MAX_SEQUENCE: Sequence = (1 << 56) - 1;

/// What a version says of its key. The numbers are part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// It is gone.
    Delete = 0,
    /// It has this value.
    Set = 1,
    /// It has a value until a time: 8 bytes, milliseconds since the Unix epoch, then the value.
    SetUntil = 2,
    /// All keys from this one on and below an end are gone (`range_deletions.rs`). In logs and memtables; no table has one.
    DeleteRange = 3,
}

impl Kind {
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Delete, Self::Set, Self::SetUntil, Self::DeleteRange]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Sequence number and kind in one number; the newer is the larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(u64);

impl Stamp {
    pub(crate) fn new(sequence: Sequence, kind: Kind) -> Self {
        debug_assert!(sequence <= MAX_SEQUENCE);
        Self(sequence << 8 | kind as u64)
    }

    /// Not below any stamp that a reader at this sequence number may see.
    pub(crate) const fn newest_at(sequence: Sequence) -> Self {
        Self(sequence << 8 | 0xff)
    }

    /// `None` where this is no kind of a version in a table.
    pub(crate) fn from_raw(raw: u64) -> Option<Self> {
        Kind::from_byte(raw as u8).filter(|kind| *kind != Kind::DeleteRange).map(|_| Self(raw))
    }

    pub(crate) fn raw(self) -> u64 {
        self.0
    }

    pub(crate) fn sequence(self) -> Sequence {
        self.0 >> 8
    }

    pub(crate) fn kind(self) -> Kind {
        match self.0 as u8 {
            0 => Kind::Delete,
            2 => Kind::SetUntil,
            3 => Kind::DeleteRange,
            _ => Kind::Set,
        }
    }
}

/// A version of a key: where it stands in the order is `(key, stamp)`, keys ascending and of one key the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) stamp: Stamp,
    pub(crate) value: &'a [u8],
}

/// Does `(key, stamp)` stand before the other?
pub(crate) fn is_before(key: &[u8], stamp: Stamp, other: &[u8], other_stamp: Stamp) -> bool {
    match key.cmp(other) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => stamp > other_stamp,
        std::cmp::Ordering::Greater => false,
    }
}

/// The eight bytes of a key behind what most keys begin with, as a number that never sorts otherwise than the keys do: what sorts before all that begin so
/// is 0, what sorts behind them the largest number, and a shorter key counts as filled up with zeros.
#[inline]
pub(crate) fn prefix(key: &[u8], common: &[u8]) -> u64 {
    let Some(rest) = key.strip_prefix(common) else {
        return if key < common { 0 } else { u64::MAX };
    };
    match rest.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(first)
        }
    }
}

/// Bytes that two keys begin with alike.
#[inline]
pub(crate) fn shared_len(one: &[u8], other: &[u8]) -> usize {
    let at = if one.len().min(other.len()) < STEP { 0 } else { shared_steps(one, other) };
    at + one[at..].iter().zip(&other[at..]).take_while(|(a, b)| a == b).count()
}

/// Keys may share kilobytes: as much at once as a comparison takes without looking at each byte.
const STEP: usize = 64;

/// The same, in whole steps. A call of its own, because most keys are shorter than one.
#[inline(never)]
fn shared_steps(one: &[u8], other: &[u8]) -> usize {
    let chunks = one.chunks_exact(STEP).zip(other.chunks_exact(STEP));
    STEP * chunks.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn prefixes_never_sort_otherwise_than_keys(
            one in prop::collection::vec(0_u8..3, 0..9),
            other in prop::collection::vec(0_u8..3, 0..9),
            common in prop::collection::vec(0_u8..3, 0..4),
        ) {
            let (a, b) = (prefix(&one, &common), prefix(&other, &common));
            let is_alike = if one <= other { a <= b } else { a >= b };
            prop_assert!(is_alike);
        }
    }
}
