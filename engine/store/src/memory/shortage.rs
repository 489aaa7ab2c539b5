//! Why does a call under the lock of a shard not finish? Memory is missing, and of which kind, or the call failed.

use super::heap::NoRoom;
use crate::error::Error;

/// Memory is missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortage {
    pub(super) wants: Wants,
    /// Bytes that the call would hold at its peak if every other key were gone, the heap's own needs aside.
    pub(super) alone: u64,
}

/// What memory is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    /// So many empty segments.
    Segments(usize),
    /// So many bytes less of live entries: there are more than segments can well hold.
    LessLive(u64),
    /// So many bytes of the budget, for entries with pages of their own.
    Mappings(u64),
    /// Of a call with several keys: so many segments, and bytes for entries with pages of their own.
    Both { segments: usize, mappings: u64 },
    /// So many bytes of the budget, for what is not an entry: a larger table, or what the embedding program holds.
    Beside(u64),
}

/// Why a call under the lock did not finish.
#[derive(Debug)]
pub(super) enum Stop {
    Short(Shortage),
    Failed(Error),
}

impl Stop {
    pub(super) fn from_heap(none: NoRoom, alone: u64) -> Self {
        match none {
            NoRoom::Segment => Self::Short(Shortage { wants: Wants::Segments(1), alone }),
            NoRoom::Mapping(bytes) => Self::Short(Shortage { wants: Wants::Mappings(bytes), alone }),
            NoRoom::Beside(bytes) => Self::Short(Shortage { wants: Wants::Beside(bytes), alone }),
            NoRoom::System => Self::Failed(Error::OutOfMemory),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
