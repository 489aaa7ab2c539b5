//! How is a walk over all keys continued later? By a cursor: the number of a remembered position. Calls that end at the same key
//! have one cursor, so that those who only begin walks take no room. A position is kept until it was not used for ten minutes, or until
//! there is no room: then the one that was not used for the longest time goes.

use super::Durable;
use crate::error::{Error, Result};
use crate::keyspace::Keyspace;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes that positions take at most, the latest one apart.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// What a position takes beside its key: its places in three maps.
const OVERHEAD: usize = 200;

/// How long a position that is not used is remembered.
const LIFETIME_MS: u64 = 10 * 60 * 1_000;

#[derive(Default)]
pub(super) struct Positions {
    /// The last number that was given to a cursor, and to a use.
    last: u64,
    known: HashMap<u64, Position>,
    by_key: HashMap<Arc<[u8]>, u64>,
    /// Cursors by their last use: numbers of uses only rise.
    by_use: BTreeMap<u64, u64>,
    bytes: usize,
}

struct Position {
    next: Arc<[u8]>,
    used: u64,
    used_ms: u64,
}

impl Positions {
    pub(super) fn remember(&mut self, next: &[u8], now_ms: u64) -> u64 {
        if let Some(cursor) = self.by_key.get(next).copied() {
            self.touch(cursor, now_ms);
            return cursor;
        }
        self.last += 1;
        let (cursor, next) = (self.last, Arc::<[u8]>::from(next));
        self.bytes += next.len() + OVERHEAD;
        self.by_key.insert(Arc::clone(&next), cursor);
        self.by_use.insert(cursor, cursor);
        self.known.insert(cursor, Position { next, used: cursor, used_ms: now_ms });
        self.forget(now_ms);
        cursor
    }

    /// The position stays: a reply may be lost, and the call be made again.
    pub(super) fn find(&mut self, cursor: u64, now_ms: u64) -> Option<Arc<[u8]>> {
        self.forget(now_ms);
        self.touch(cursor, now_ms);
        self.known.get(&cursor).map(|position| Arc::clone(&position.next))
    }

    fn touch(&mut self, cursor: u64, now_ms: u64) {
        let Some(position) = self.known.get_mut(&cursor) else { return };
        self.last += 1;
        self.by_use.remove(&position.used);
        self.by_use.insert(self.last, cursor);
        (position.used, position.used_ms) = (self.last, now_ms);
    }

    /// Forgets what was not used for long, and what there is no room for, but never the latest one.
    fn forget(&mut self, now_ms: u64) {
        while let Some((_, cursor)) = self.by_use.first_key_value()
            && let Some(position) = self.known.get(cursor)
            && (position.used_ms.saturating_add(LIFETIME_MS) < now_ms
                || (self.bytes > MAX_BYTES && self.known.len() > 1))
        {
            let (_, cursor) = self.by_use.pop_first().unwrap_or_default();
            if let Some(position) = self.known.remove(&cursor) {
                self.by_key.remove(&position.next);
                self.bytes -= position.next.len() + OVERHEAD;
            }
        }
    }
}

impl Durable {
    pub(crate) fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8])) -> Result<u64> {
        self.scan_stored(None, cursor, count, f)
    }

    pub(crate) fn scan_in(
        &self,
        keyspace: Keyspace,
        cursor: u64,
        count: usize,
        f: &mut dyn FnMut(&[u8]),
    ) -> Result<u64> {
        self.scan_stored(Some(keyspace), cursor, count, &mut |stored| f(Keyspace::split(stored).1))
    }

    fn scan_stored(
        &self,
        keyspace: Option<Keyspace>,
        cursor: u64,
        count: usize,
        f: &mut dyn FnMut(&[u8]),
    ) -> Result<u64> {
        let now_ms = self.now_ms();
        let mut walk = self.walk(keyspace)?;
        if cursor == 0 {
            walk.first()?;
        } else {
            let from = self.positions.lock().find(cursor, now_ms).ok_or(Error::UnknownCursor { cursor })?;
            walk.seek(&from)?;
        }
        for _ in 0..count.max(1) {
            let Some(stored) = walk.stored() else { return Ok(0) };
            f(stored);
            walk.next()?;
        }
        Ok(walk.stored().map_or(0, |stored| self.positions.lock().remember(stored, now_ms)))
    }

    pub(crate) fn for_each_key(&self, f: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.for_each_stored(None, &mut |stored| {
            f(stored);
            ControlFlow::Continue(())
        })
    }

    pub(crate) fn for_each_key_in(
        &self,
        keyspace: Keyspace,
        f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.for_each_stored(Some(keyspace), &mut |stored| f(Keyspace::split(stored).1))
    }

    fn for_each_stored(
        &self,
        keyspace: Option<Keyspace>,
        f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut walk = self.walk(keyspace)?;
        walk.first()?;
        while let Some(stored) = walk.stored() {
            if f(stored).is_break() {
                break;
            }
            walk.next()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(positions: &mut Positions, cursor: u64, now_ms: u64) -> Option<Vec<u8>> {
        positions.find(cursor, now_ms).map(|next| next.to_vec())
    }

    /// All three maps tell of the same positions.
    fn check(positions: &Positions) {
        let bytes: usize = positions.known.values().map(|position| position.next.len() + OVERHEAD).sum();
        assert_eq!(bytes, positions.bytes);
        assert_eq!(positions.by_key.len(), positions.known.len());
        assert_eq!(positions.by_use.len(), positions.known.len());
        for (used, cursor) in &positions.by_use {
            let position = &positions.known[cursor];
            assert_eq!((position.used, positions.by_key[&position.next]), (*used, *cursor));
        }
    }

    #[test]
    fn what_ends_at_the_same_key_has_one_cursor() {
        let mut positions = Positions::default();
        let first = positions.remember(b"m", 5);
        for time in 0..100_000 {
            assert_eq!(positions.remember(b"m", time), first);
        }
        assert_ne!(positions.remember(b"n", 5), first);
        assert_eq!(positions.known.len(), 2);
        check(&positions);
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes_first_where_there_is_no_room() {
        let mut positions = Positions::default();
        let most = MAX_BYTES / (OVERHEAD + 4);
        let cursors: Vec<u64> =
            (0..most as u32).map(|number| positions.remember(&number.to_be_bytes(), 5)).collect();
        assert!(known(&mut positions, cursors[0], 5).is_some(), "there is room for all of them");
        for number in 0..10 {
            positions.remember(&(u32::MAX - number).to_be_bytes(), 5);
        }
        assert_eq!(known(&mut positions, cursors[0], 5), Some(vec![0; 4]), "it was used since");
        assert_eq!(known(&mut positions, cursors[1], 5), None);
        assert!(known(&mut positions, cursors[100], 5).is_some());
        check(&positions);
    }

    #[test]
    fn the_latest_is_remembered_however_long_it_is() {
        let mut positions = Positions::default();
        let short = positions.remember(b"short", 5);
        let long = positions.remember(&vec![b'x'; MAX_BYTES], 5);
        assert_eq!(known(&mut positions, short, 5), None);
        assert_eq!(known(&mut positions, long, 5).map(|next| next.len()), Some(MAX_BYTES));
        check(&positions);
    }

    #[test]
    fn what_is_not_used_for_long_is_forgotten() {
        let mut positions = Positions::default();
        let (used, unused) = (positions.remember(b"used", 5), positions.remember(b"unused", 5));
        assert!(known(&mut positions, used, LIFETIME_MS).is_some());
        assert!(known(&mut positions, unused, 5 + LIFETIME_MS).is_some(), "to the last millisecond");
        let later = 6 + 2 * LIFETIME_MS;
        assert_eq!(known(&mut positions, used, later), None);
        assert!(positions.known.is_empty() && positions.bytes == 0);
        check(&positions);
    }
}
