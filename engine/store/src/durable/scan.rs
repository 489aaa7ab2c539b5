//! How is a walk over all keys continued later? By a cursor: the number of a remembered position. There is room for a thousand of them, and one that is not used for ten minutes is
//! forgotten.

use super::Durable;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// Positions that are remembered.
pub(super) const MAX_POSITIONS: usize = 1_000;

/// How long a position is remembered.
const LIFETIME_MS: u64 = 10 * 60 * 1_000;

#[derive(Default)]
pub(super) struct Positions {
    last: u64,
    /// The oldest first: numbers only rise.
    known: BTreeMap<u64, Position>,
}

struct Position {
    next: Vec<u8>,
    made_ms: u64,
}

impl Positions {
    fn remember(&mut self, next: Vec<u8>, now_ms: u64) -> u64 {
        let is_old = |position: &Position| position.made_ms.saturating_add(LIFETIME_MS) < now_ms;
        while let Some((_, oldest)) = self.known.first_key_value()
            && (self.known.len() >= MAX_POSITIONS || is_old(oldest))
        {
            self.known.pop_first();
        }
        self.last += 1;
        self.known.insert(self.last, Position { next, made_ms: now_ms });
        self.last
    }

    /// The position stays: a reply may be lost, and the call be made again.
    fn find(&self, cursor: u64, now_ms: u64) -> Option<&[u8]> {
        let position = self.known.get(&cursor)?;
        (position.made_ms.saturating_add(LIFETIME_MS) >= now_ms).then_some(&position.next)
    }
}

impl Durable {
    pub(crate) fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8])) -> Result<u64> {
        self.commit_written()?;
        let now_ms = self.now_ms();
        let mut walk = self.tree.snapshot().walk();
        if cursor == 0 {
            walk.first()?;
        } else {
            let from =
                self.positions.lock().find(cursor, now_ms).ok_or(Error::UnknownCursor { cursor })?.to_vec();
            walk.seek(&from)?;
        }
        for _ in 0..count.max(1) {
            let Some((key, _)) = walk.pair() else { return Ok(0) };
            f(key);
            walk.next()?;
        }
        match walk.pair() {
            Some((key, _)) => Ok(self.positions.lock().remember(key.to_vec(), now_ms)),
            None => Ok(0),
        }
    }

    pub(crate) fn for_each_key(&self, f: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.commit_written()?;
        let mut walk = self.tree.snapshot().walk();
        walk.first()?;
        while let Some((key, _)) = walk.pair() {
            f(key);
            walk.next()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_positions_are_forgotten_first_and_old_ones_in_any_case() {
        let mut positions = Positions::default();
        let cursors: Vec<_> =
            (0..=MAX_POSITIONS as u32).map(|n| positions.remember(n.to_be_bytes().to_vec(), 5)).collect();
        assert_eq!(positions.find(cursors[0], 5), None);
        assert_eq!(positions.find(cursors[1], 5), Some(&1_u32.to_be_bytes()[..]));
        assert_eq!(positions.find(cursors[1], 5 + LIFETIME_MS), Some(&1_u32.to_be_bytes()[..]));
        assert_eq!(positions.find(cursors[1], 6 + LIFETIME_MS), None);
        positions.remember(Vec::new(), 6 + LIFETIME_MS);
        assert_eq!(positions.known.len(), 1);
    }
}
