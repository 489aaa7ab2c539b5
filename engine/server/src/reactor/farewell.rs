//! Why are connections not closed where they end? To close a socket and to give back what a connection held takes some ten microseconds, and
//! thousands may end at once: the others are served in between.

use std::collections::VecDeque;

/// Connections closed in one turn, when few wait: what others wait for it is 0.1 ms.
const FEW: usize = 8;

/// With many a turn closes this part of them, so that the last is closed after some thousand turns.
const PART: usize = 512;

/// Connections that are over, or what is left of them.
pub(crate) struct Farewell<T>(VecDeque<T>);

impl<T> Default for Farewell<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Farewell<T> {
    pub(crate) fn add(&mut self, ended: T) {
        self.0.push_back(ended);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are to be closed in this turn.
    pub(crate) fn share(&self) -> usize {
        FEW.max(self.0.len() / PART).min(self.0.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The one that has waited longest.
    pub(crate) fn next(&mut self) -> Option<T> {
        let next = self.0.pop_front();
        if self.0.is_empty() {
            self.0 = VecDeque::new();
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_closed_in_the_end_and_few_at_once() {
        let mut farewell = Farewell::default();
        (0..10_000).for_each(|number| farewell.add(number));
        assert_eq!(farewell.share(), 19);
        let (mut turns, mut closed) = (0, Vec::new());
        while !farewell.is_empty() {
            let share = farewell.share();
            assert!((1..20).contains(&share));
            closed.extend((0..share).filter_map(|_| farewell.next()));
            turns += 1;
        }
        assert!(closed.into_iter().eq(0..10_000) && turns < 1500, "{turns} turns");
        assert_eq!((farewell.share(), farewell.next()), (0, None));
    }
}
