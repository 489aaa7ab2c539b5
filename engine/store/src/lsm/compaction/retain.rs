//! Which versions of a key live on in a merge? The newest. Readers of earlier moments hold the tables of those moments, so nobody looks for an older one here. And a
//! deletion lasts only as long as something older may lie below it.

use crate::lsm::record::{Kind, Stamp};

/// What becomes of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is written with this stamp.
    Keep(Stamp),
    /// Its time is over: a deletion takes its place, for what may lie below.
    Bury(Stamp),
    Drop,
}

/// What becomes of the newest version of a key. `is_lowest`: no level below the one that is written holds the key.
pub(crate) fn fate(stamp: Stamp, value: &[u8], now_ms: u64, is_lowest: bool) -> Fate {
    let is_over = stamp.kind() == Kind::SetUntil
        && value.first_chunk::<8>().is_some_and(|until| u64::from_le_bytes(*until) <= now_ms);
    let is_gone = is_over || stamp.kind() == Kind::Delete;
    match (is_gone, is_lowest) {
        (true, true) => Fate::Drop,
        (true, false) => Fate::Bury(Stamp::new(stamp.sequence(), Kind::Delete)),
        // There is nothing left that it could be newer than, and zero takes fewer bytes.
        (false, true) => Fate::Keep(Stamp::new(0, stamp.kind())),
        (false, false) => Fate::Keep(stamp),
    }
}
