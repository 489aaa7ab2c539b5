//! Range deletions: a sorted list of pieces that do not overlap, each with the numbers of the
//! deletions that cover it. A deletion hides the versions of its keys that are older than itself from
//! readers that are not.
//!
//! The list of a memtable has every number: readers of earlier moments are not to see the later ones.
//! The list that the manifest keeps has of each piece only the newest, because every reader of those tables sees it.

use crate::lsm::record::Sequence;
use std::cmp::Ordering;
use std::sync::Arc;

/// Keys from `start` on and below `end`; without an end, all that follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: Arc<[u8]>,
    pub(crate) end: Option<Arc<[u8]>>,
    /// The newest first, at least one.
    sequences: Vec<Sequence>,
}

impl Piece {
    /// Whether a key that is not below `start` belongs to it.
    fn ends_behind(&self, key: &[u8]) -> bool {
        self.end.as_ref().is_none_or(|end| key < &end[..])
    }

    /// The newest deletion.
    pub(crate) fn newest(&self) -> Sequence {
        self.sequences.first().copied().unwrap_or(0)
    }

    fn newest_at(&self, at: Sequence) -> Sequence {
        self.sequences.iter().copied().find(|sequence| *sequence <= at).unwrap_or(0)
    }

    /// Whether it has a key of a range, both ends of which are part of it.
    pub(crate) fn meets(&self, first: &[u8], last: &[u8]) -> bool {
        &self.start[..] <= last && self.ends_behind(first)
    }
}

/// Deleted ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    pieces: Vec<Piece>,
}

/// The earlier end; none is behind all keys.
fn compare_ends(one: Option<&[u8]>, other: Option<&[u8]>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => one.cmp(other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    }
}

impl Ranges {
    /// One deletion. Nothing, where the range is empty.
    pub(crate) fn one(start: &[u8], end: Option<&[u8]>, sequence: Sequence) -> Self {
        let mut one = Self::default();
        one.push(start.into(), end.map(Into::into), vec![sequence]);
        one
    }

    /// Adds a piece behind all others; joins it to the last one where that says the same.
    pub(crate) fn push(&mut self, start: Arc<[u8]>, end: Option<Arc<[u8]>>, sequences: Vec<Sequence>) {
        if end.as_ref().is_some_and(|end| *end <= start) || sequences.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(last) if last.end.as_ref() == Some(&start) && last.sequences == sequences => last.end = end,
            _ => self.pieces.push(Piece { start, end, sequences }),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter()
    }

    /// The piece that a key belongs to.
    pub(crate) fn piece_of(&self, key: &[u8]) -> Option<&Piece> {
        let behind = self.pieces.partition_point(|piece| &piece.start[..] <= key);
        self.pieces.get(behind.checked_sub(1)?).filter(|piece| piece.ends_behind(key))
    }

    /// The newest deletion of a key that a reader at this number sees; 0, where there is none.
    pub(crate) fn newest_at(&self, key: &[u8], at: Sequence) -> Sequence {
        self.piece_of(key).map_or(0, |piece| piece.newest_at(at))
    }

    /// The newest deletion of all.
    pub(crate) fn newest(&self) -> Sequence {
        self.pieces.iter().map(Piece::newest).max().unwrap_or(0)
    }

    /// Whether all keys of a range, both ends of which are part of it, are covered by a piece whose
    /// newest deletion is newer than this.
    pub(crate) fn hide_all(&self, first: &[u8], last: &[u8], sequence: Sequence) -> bool {
        self.piece_of(first).is_some_and(|piece| piece.ends_behind(last) && sequence < piece.newest())
    }

    /// What both say.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut all = Self::default();
        let (mut ones, mut others) = (self.pieces.iter().cloned(), other.pieces.iter().cloned());
        let (mut one, mut other) = (ones.next(), others.next());
        loop {
            let (Some(a), Some(b)) = (&mut one, &mut other) else {
                let rest = one.into_iter().chain(ones).chain(other).chain(others);
                rest.for_each(|piece| all.push(piece.start, piece.end, piece.sequences));
                return all;
            };
            match a.start.cmp(&b.start) {
                Ordering::Less => {
                    if all.take(a, Some(Arc::clone(&b.start))) {
                        one = ones.next();
                    }
                }
                Ordering::Greater => {
                    if all.take(b, Some(Arc::clone(&a.start))) {
                        other = others.next();
                    }
                }
                Ordering::Equal => {
                    let order = compare_ends(a.end.as_deref(), b.end.as_deref());
                    let end = if order == Ordering::Less { a.end.clone() } else { b.end.clone() };
                    let mut sequences = [&a.sequences[..], &b.sequences].concat();
                    sequences.sort_unstable_by(|one, other| other.cmp(one));
                    sequences.dedup();
                    all.push(Arc::clone(&a.start), end.clone(), sequences);
                    // Without an end both are over.
                    if let Some(end) = end {
                        a.start = Arc::clone(&end);
                        b.start = end;
                    }
                    if order != Ordering::Greater {
                        one = ones.next();
                    }
                    if order != Ordering::Less {
                        other = others.next();
                    }
                }
            }
        }
    }

    /// Takes what a piece has below `until`, or all of it where it ends before; whether that was all.
    fn take(&mut self, piece: &mut Piece, until: Option<Arc<[u8]>>) -> bool {
        let is_all = compare_ends(piece.end.as_deref(), until.as_deref()) != Ordering::Greater;
        let end = if is_all { piece.end.clone() } else { until };
        self.push(Arc::clone(&piece.start), end.clone(), piece.sequences.clone());
        if let Some(end) = end {
            piece.start = end;
        }
        is_all
    }

    /// What a reader at this number sees, of each key the newest deletion alone.
    pub(crate) fn seen_at(&self, at: Sequence) -> Self {
        let mut seen = Self::default();
        for Piece { start, end, sequences } in &self.pieces {
            let newest = sequences.iter().copied().find(|sequence| *sequence <= at);
            seen.push(Arc::clone(start), end.clone(), newest.into_iter().collect());
        }
        seen
    }

    /// The pieces that are still needed.
    pub(crate) fn retain(&mut self, is_needed: impl FnMut(&Piece) -> bool) {
        self.pieces.retain(is_needed);
    }
}

/// The end of a range as the value of a write: nothing for no end.
pub(crate) fn put_end(end: Option<&[u8]>) -> Vec<u8> {
    end.map_or_else(Vec::new, |end| [&[1], end].concat())
}

/// The end that a value encodes.
pub(crate) fn take_end(value: &[u8]) -> Option<&[u8]> {
    value.split_first().map(|(_, end)| end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![0_u8, 1, 255]), 0..4)
    }

    proptest! {
        #[test]
        fn each_key_has_the_newest_deletion_that_its_reader_sees(
            ranges in prop::collection::vec((key(), prop::option::of(key()), any::<bool>()), 0..20),
            keys in prop::collection::vec(key(), 1..30),
            at in 0_u64..25,
        ) {
            let (mut one, mut other) = (Ranges::default(), Ranges::default());
            let model = |key: &[u8], at: Sequence| {
                let covering = (1..).zip(&ranges).filter(|(sequence, (start, end, _))| {
                    *sequence <= at && &start[..] <= key && end.as_ref().is_none_or(|end| key < &end[..])
                });
                covering.map(|(sequence, _)| sequence).last().unwrap_or(0)
            };
            for (sequence, (start, end, is_one)) in (1..).zip(&ranges) {
                let into = if *is_one { &mut one } else { &mut other };
                *into = into.with(&Ranges::one(start, end.as_deref(), sequence));
            }
            let both = one.with(&other);
            prop_assert_eq!(&both, &other.with(&one));
            let seen = both.seen_at(at);
            for pieces in [&both, &seen] {
                prop_assert!(pieces.pieces.windows(2).all(|pair| pair[0].end.as_ref().is_some_and(|end| *end <= pair[1].start)));
            }
            for key in &keys {
                prop_assert_eq!(both.newest_at(key, at), model(key, at));
                prop_assert_eq!(seen.newest_at(key, u64::MAX), model(key, at));
                for last in &keys {
                    if key <= last && seen.hide_all(key, last, 3) {
                        let within = keys.iter().filter(|other| (key..=last).contains(other));
                        within.for_each(|key| assert!(model(key, at) > 3));
                    }
                    let meets = seen.pieces().any(|piece| piece.meets(key, key));
                    prop_assert_eq!(meets, model(key, at) > 0);
                }
            }
        }
    }

    #[test]
    fn an_end_is_told_from_none() {
        for end in [None, Some(&b""[..]), Some(b"x")] {
            assert_eq!(take_end(&put_end(end)), end);
        }
        assert!(Ranges::one(b"b", Some(b"b"), 1).is_empty() && Ranges::one(b"b", Some(b"a"), 1).is_empty());
        assert_eq!(Ranges::one(b"", None, 1).newest_at(&[255; 9], 1), 1);
    }
}
