//! In which order do sealed segments stand? A list through their headers, so that one leaves from anywhere without a look at the others.

use super::segment::Segment;

/// Guarded by the pool's lock, as the links in the headers are.
#[derive(Default)]
pub(super) struct Line {
    first: Option<Segment>,
    last: Option<Segment>,
    len: usize,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn first(&self) -> Option<Segment> {
        self.first
    }

    pub(super) fn push_back(&mut self, segment: Segment) {
        segment.set_neighbours(self.last, None);
        match self.last.replace(segment) {
            Some(before) => before.set_neighbours(before.neighbours().0, Some(segment)),
            None => self.first = Some(segment),
        }
        self.len += 1;
    }

    /// Takes out a segment that stands in this line.
    pub(super) fn remove(&mut self, segment: Segment) {
        let (before, after) = segment.neighbours();
        match before {
            Some(before) => before.set_neighbours(before.neighbours().0, after),
            None => self.first = after,
        }
        match after {
            Some(after) => after.set_neighbours(before, after.neighbours().1),
            None => self.last = before,
        }
        self.len -= 1;
    }
}
