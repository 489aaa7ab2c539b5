//! How do many runs become one? The run whose version comes next is on top of a heap; when it has moved on, it sinks to where it belongs.
//!
//! Beside each run stand eight bytes of its key, those behind what most keys begin with, so the heap looks at keys only where these are equal.
//!
//! Only the run on top has a long block in memory. The others are parked, so that as many tables as there
//! are can be merged whatever their values are like.
//!
//! Walking in one direction, all runs stand at or beyond the place. To turn round each of them has to be sought again.

use super::gaps::Gap;
use super::run::Run;
use crate::error::{Error, Result};
use crate::lsm::common::Common;
use crate::lsm::range_deletions::Piece;
use crate::lsm::record::{MAX_SEQUENCE, Record, Stamp, is_before};
use std::cmp::Ordering;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// A place in the merged order of runs, or past its ends. No two runs hold the same version.
pub(crate) struct Merge {
    /// The first `live` of them stand somewhere and are a heap; the others have ended.
    runs: Vec<Run>,
    /// Of each run that stands somewhere the prefix of its key.
    prefixes: Vec<u64>,
    /// What most keys begin with.
    common: Arc<Common>,
    live: usize,
    direction: Direction,
}

impl Merge {
    /// Of these runs, most of whose keys are expected to begin so.
    pub(crate) fn new(runs: Vec<Run>, common: Arc<Common>) -> Self {
        let prefixes = vec![0; runs.len()];
        Self { runs, prefixes, common, live: 0, direction: Direction::Forward }
    }

    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        if self.live == 0 { None } else { self.runs[0].record() }
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        self.all(Direction::Forward, |run| run.seek(key, stamp))
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        self.all(Direction::Backward, |run| run.seek_before(key, stamp))
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.all(Direction::Forward, Run::first)
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.all(Direction::Backward, Run::last)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if self.direction == Direction::Backward {
            let Some((key, stamp)) = self.place() else { return Ok(()) };
            self.seek(&key, stamp)?;
        }
        self.go(Run::next)
    }

    #[inline]
    pub(crate) fn previous(&mut self) -> Result<()> {
        if self.direction == Direction::Forward {
            // Sought before the place, each run stands where it has to after the step.
            let Some((key, stamp)) = self.place() else { return Ok(()) };
            return self.seek_before(&key, stamp);
        }
        self.go(Run::previous)
    }

    /// Goes on from a version that a deleted range hides: past all of the range, where its run has nothing newer there. The walk goes forward.
    #[inline(never)]
    pub(crate) fn pass(&mut self, piece: &Piece) -> Result<()> {
        if self.direction == Direction::Backward {
            return self.next();
        }
        self.go(|run| run.pass(piece))
    }

    /// The same on the way back.
    #[inline(never)]
    pub(crate) fn pass_back(&mut self, piece: &Piece) -> Result<()> {
        if self.direction == Direction::Forward {
            return self.previous();
        }
        self.go(|run| run.pass_back(piece))
    }

    /// Goes past a gap, forward.
    pub(crate) fn skip(&mut self, gap: &Gap) -> Result<()> {
        match &gap.to {
            Some(to) => self.seek(to, Stamp::newest_at(MAX_SEQUENCE)),
            None => {
                self.live = 0;
                Ok(())
            }
        }
    }

    /// Goes past a gap on the way back.
    pub(crate) fn skip_back(&mut self, gap: &Gap) -> Result<()> {
        self.seek_before(&gap.from, Stamp::newest_at(MAX_SEQUENCE))
    }

    fn place(&self) -> Option<(Vec<u8>, Stamp)> {
        self.record().map(|record| (record.key.to_vec(), record.stamp))
    }

    /// Moves every run and makes a heap of them.
    fn all(&mut self, direction: Direction, mut go: impl FnMut(&mut Run) -> Result<()>) -> Result<()> {
        self.direction = direction;
        self.live = 0;
        self.runs.iter_mut().try_for_each(|run| {
            go(run)?;
            run.park();
            Ok::<_, Error>(())
        })?;
        for at in 0..self.runs.len() {
            if let Some(record) = self.runs[at].record() {
                self.prefixes[self.live] = self.common.prefix(record.key);
                self.runs.swap(at, self.live);
                self.live += 1;
            }
        }
        for at in (0..self.live / 2).rev() {
            self.sink(at);
        }
        self.unpark()
    }

    /// The run on top shows its value.
    #[inline]
    fn unpark(&mut self) -> Result<()> {
        if self.live == 0 {
            return Ok(());
        }
        self.runs[0].unpark().inspect_err(|_| self.live = 0)
    }

    /// Bytes of blocks that the runs hold.
    #[cfg(test)]
    pub(super) fn held_bytes(&mut self) -> Vec<usize> {
        self.runs.iter_mut().map(Run::held_bytes).collect()
    }

    /// Moves the run on top.
    #[inline]
    fn go(&mut self, go: impl FnOnce(&mut Run) -> Result<()>) -> Result<()> {
        if self.live == 0 {
            return Ok(());
        }
        let live = self.live;
        if let Err(error) = go(&mut self.runs[0]) {
            self.live = 0;
            return Err(error);
        }
        if self.live == 1 {
            // There is no order to be kept.
            self.live = usize::from(self.runs[0].is_somewhere());
            return Ok(());
        }
        match self.runs[0].record() {
            Some(record) => self.prefixes[0] = self.common.prefix(record.key),
            None => {
                self.live -= 1;
                self.runs.swap(0, self.live);
                self.prefixes.swap(0, self.live);
            }
        }
        let at = self.sink(0);
        if at == 0 && self.live == live {
            return Ok(());
        }
        self.runs[at].park();
        self.unpark()
    }

    /// Where the run is then.
    #[inline]
    fn sink(&mut self, mut at: usize) -> usize {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.live && self.comes_before(child, first) {
                    first = child;
                }
            }
            if first == at {
                return at;
            }
            self.runs.swap(at, first);
            self.prefixes.swap(at, first);
            at = first;
        }
    }

    #[inline]
    fn comes_before(&self, one: usize, other: usize) -> bool {
        match self.prefixes[one].cmp(&self.prefixes[other]) {
            Ordering::Equal => self.key_comes_before(one, other),
            order => (order == Ordering::Less) == (self.direction == Direction::Forward),
        }
    }

    fn key_comes_before(&self, one: usize, other: usize) -> bool {
        let (Some(one), Some(other)) = (self.runs[one].record(), self.runs[other].record()) else {
            return false;
        };
        is_before(one.key, one.stamp, other.key, other.stamp) == (self.direction == Direction::Forward)
    }
}
