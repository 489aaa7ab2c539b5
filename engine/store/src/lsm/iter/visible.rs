//! What does a reader see? Of each key the newest version up to its sequence number, if that is a value whose time is not over.

use super::gaps::{Gaps, List, MANY, Span, gap_of};
use super::merge::Merge;
use crate::error::Result;
use crate::lsm::range_deletions::{Piece, Ranges};
use crate::lsm::record::{Kind, Record, Sequence, Stamp};
use std::sync::Arc;

/// A value that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Live<'a> {
    pub(crate) value: &'a [u8],
    /// When it ends, in milliseconds since the Unix epoch.
    pub(crate) until_ms: Option<u64>,
}

/// What a version is at a time, in milliseconds since the Unix epoch, which is asked for only where it matters. `None`: it is gone.
#[inline]
pub(crate) fn live(stamp: Stamp, value: &[u8], now_ms: impl FnOnce() -> u64) -> Option<Live<'_>> {
    match stamp.kind() {
        Kind::Set => Some(Live { value, until_ms: None }),
        Kind::Delete | Kind::DeleteRange => None,
        Kind::SetUntil => {
            let (until, value) = value.split_first_chunk::<8>()?;
            let until_ms = u64::from_le_bytes(*until);
            (now_ms() < until_ms).then_some(Live { value, until_ms: Some(until_ms) })
        }
    }
}

/// Where the pair lies that is shown.
enum Shown {
    Nowhere,
    /// Where the merge stands; the value begins so far behind the version's beginning.
    InMerge(usize),
    /// In `key` and `value`: walking backward a key's versions are passed before it is known which one counts.
    Copied,
}

/// A place among what a reader sees, or past its ends.
pub(crate) struct Visible {
    merge: Merge,
    at: Sequence,
    now_ms: u64,
    shown: Shown,
    /// The key that was decided last.
    key: Vec<u8>,
    value: Vec<u8>,
    /// Deleted ranges, as its reader sees them.
    ranges: Ranges,
    /// Where nothing is, as far as that is known, and whom to tell of more.
    gaps: Arc<List>,
    source: Option<Arc<Gaps>>,
    passed: Passed,
    /// No key from here on is wanted on the way forward, none below it on the way back.
    bound: Option<Vec<u8>>,
    /// When the pair that is shown ends.
    until_ms: Option<u64>,
}

impl Visible {
    /// What is seen at a sequence number and a time.
    pub(crate) fn new(merge: Merge, at: Sequence, now_ms: u64) -> Self {
        Self {
            merge,
            at,
            now_ms,
            shown: Shown::Nowhere,
            key: Vec::new(),
            value: Vec::new(),
            ranges: Ranges::default(),
            gaps: Arc::default(),
            source: None,
            passed: Passed::default(),
            bound: None,
            until_ms: None,
        }
    }

    /// Without what these deletions of ranges hide, each of which its reader sees.
    pub(crate) fn without(self, ranges: Ranges) -> Self {
        Self { ranges, ..self }
    }

    /// Seeks past gaps that are known, and tells of more. Its number was loaded before.
    pub(crate) fn passing(self, gaps: &Arc<Gaps>) -> Self {
        Self { gaps: gaps.list(), source: Some(Arc::clone(gaps)), ..self }
    }

    /// Deleted keys that the last move passed, a seek counted as some.
    #[cfg(test)]
    pub(crate) fn last_passed(&self) -> usize {
        self.passed.last
    }

    /// Leaves no wish.
    pub(crate) fn quietly(self) -> Self {
        Self { source: None, ..self }
    }

    /// Does not look for a key from this one on, on the way forward, or below it, on the way back.
    pub(crate) fn set_bound(&mut self, bound: Option<Vec<u8>>) {
        self.bound = bound;
    }

    /// The piece of a deleted range that hides a version.
    #[inline]
    fn hiding<'a>(ranges: &'a Ranges, key: &[u8], sequence: Sequence) -> Option<&'a Piece> {
        if ranges.is_empty() {
            return None;
        }
        ranges.piece_of(key).filter(|piece| sequence < piece.newest())
    }

    /// The key at the place.
    #[inline]
    pub(crate) fn key(&self) -> Option<&[u8]> {
        (!matches!(self.shown, Shown::Nowhere)).then_some(&self.key[..])
    }

    /// Key and value at the place.
    #[inline]
    pub(crate) fn pair(&self) -> Option<(&[u8], &[u8])> {
        match self.shown {
            Shown::Nowhere => None,
            Shown::InMerge(begin) => self.merge.record().map(|record| (record.key, &record.value[begin..])),
            Shown::Copied => Some((&self.key, &self.value)),
        }
    }

    /// When that pair ends, in milliseconds since the Unix epoch.
    pub(crate) fn until_ms(&self) -> Option<u64> {
        self.until_ms
    }

    /// Goes to the first key at or after this one.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.shown = Shown::Nowhere;
        self.merge.seek(key, Stamp::newest_at(u64::MAX >> 8))?;
        self.forward(false)
    }

    /// Goes to the last key before this one.
    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.shown = Shown::Nowhere;
        self.merge.seek_before(key, Stamp::newest_at(u64::MAX >> 8))?;
        self.backward()
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.shown = Shown::Nowhere;
        self.merge.first()?;
        self.forward(false)
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.shown = Shown::Nowhere;
        self.merge.last()?;
        self.backward()
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self.shown {
            Shown::Nowhere => return Ok(()),
            Shown::InMerge(_) => self.merge.next()?,
            Shown::Copied => self.merge.seek(&self.key, Stamp::newest_at(0))?,
        }
        self.forward(true)
    }

    pub(crate) fn previous(&mut self) -> Result<()> {
        match self.shown {
            Shown::Nowhere => return Ok(()),
            Shown::InMerge(_) => self.merge.seek_before(&self.key, Stamp::newest_at(u64::MAX >> 8))?,
            Shown::Copied => {}
        }
        self.backward()
    }

    /// From where the merge stands on to the next key that is seen. `decided`: versions of `self.key` are older than one that was shown.
    #[inline]
    fn forward(&mut self, decided: bool) -> Result<()> {
        // Mostly it is right there.
        if self.ranges.is_empty()
            && let Some(Record { key, stamp, value }) = self.merge.record()
            && stamp.sequence() <= self.at
            && !(decided && *key == *self.key)
            && let Some(live) = live(stamp, value, || self.now_ms)
        {
            self.key.clear();
            self.key.extend_from_slice(key);
            self.shown = Shown::InMerge(value.len() - live.value.len());
            self.until_ms = live.until_ms;
            #[cfg(test)]
            {
                self.passed.last = 0;
            }
            return Ok(());
        }
        self.forward_on(decided)
    }

    /// The same, however far it is.
    #[inline(never)]
    fn forward_on(&mut self, mut decided: bool) -> Result<()> {
        self.shown = Shown::Nowhere;
        self.passed.end();
        while let Some(Record { key, stamp, value }) = self.merge.record() {
            if let Some(piece) = Self::hiding(&self.ranges, key, stamp.sequence()) {
                if !self.is_within(key) {
                    self.passed.leave_wish(self.source.as_ref(), |from| (from.to_vec(), self.bound.clone()));
                    return Ok(());
                }
                self.passed.note(key);
                match gap_of(&self.gaps, key, self.at) {
                    Some(gap) => self.merge.skip(gap)?,
                    None => self.merge.pass(piece)?,
                }
                continue;
            }
            if stamp.sequence() <= self.at && !(decided && *key == *self.key) {
                decided = true;
                self.key.clear();
                self.key.extend_from_slice(key);
                if let Some(live) = live(stamp, value, || self.now_ms) {
                    self.shown = Shown::InMerge(value.len() - live.value.len());
                    self.until_ms = live.until_ms;
                    self.passed.leave_wish(self.source.as_ref(), |from| (from.to_vec(), Some(key.to_vec())));
                    return Ok(());
                }
                if !self.is_within(&self.key) {
                    self.passed.leave_wish(self.source.as_ref(), |from| (from.to_vec(), self.bound.clone()));
                    return Ok(());
                }
                self.passed.note_unless_over(key, stamp);
                if let Some(gap) = gap_of(&self.gaps, key, self.at) {
                    self.passed.skip();
                    self.merge.skip(gap)?;
                    continue;
                }
            }
            self.merge.next()?;
        }
        self.passed.leave_wish(self.source.as_ref(), |from| (from.to_vec(), None));
        Ok(())
    }

    /// From where the merge stands back to the next key that is seen.
    fn backward(&mut self) -> Result<()> {
        self.shown = Shown::Nowhere;
        self.passed.end();
        while let Some(mut record) = self.merge.record() {
            self.key.clear();
            self.key.extend_from_slice(record.key);
            let mut lives = false;
            let mut is_over = false;
            loop {
                let Record { key, stamp, value } = record;
                if let Some(piece) = Self::hiding(&self.ranges, key, stamp.sequence()) {
                    self.merge.pass_back(piece)?;
                } else {
                    if stamp.sequence() <= self.at {
                        let live = live(stamp, value, || self.now_ms);
                        lives = live.is_some();
                        is_over = !lives && stamp.kind() == Kind::SetUntil;
                        self.until_ms = live.and_then(|live| live.until_ms);
                        self.value.clear();
                        self.value.extend_from_slice(live.map_or(b"", |live| live.value));
                    }
                    self.merge.previous()?;
                }
                match self.merge.record() {
                    Some(next) if *next.key == *self.key => record = next,
                    _ => break,
                }
            }
            if lives {
                self.shown = Shown::Copied;
                let after = |key: &[u8]| [key, &[0]].concat();
                self.passed.leave_wish(self.source.as_ref(), |last| (after(&self.key), Some(after(last))));
                return Ok(());
            }
            if let Some(bound) = self.bound.as_ref().filter(|bound| self.key < **bound) {
                self.passed
                    .leave_wish(self.source.as_ref(), |last| (bound.clone(), Some([last, &[0]].concat())));
                return Ok(());
            }
            if is_over {
                self.passed.end();
                continue;
            }
            self.passed.note(&self.key);
            if let Some(gap) = gap_of(&self.gaps, &self.key, self.at) {
                self.passed.skip();
                self.merge.skip_back(gap)?;
            }
        }
        self.passed.leave_wish(self.source.as_ref(), |last| (Vec::new(), Some([last, &[0]].concat())));
        Ok(())
    }

    /// Whether a deleted key is before the bound of a forward walk.
    fn is_within(&self, key: &[u8]) -> bool {
        self.bound.as_ref().is_none_or(|bound| key < &bound[..])
    }
}

/// Deleted keys that were passed since the last one that is there.
#[derive(Default)]
struct Passed {
    count: usize,
    first: Vec<u8>,
    #[cfg(test)]
    last: usize,
}

impl Passed {
    fn end(&mut self) {
        self.count = 0;
    }

    #[inline]
    fn note(&mut self, key: &[u8]) {
        if self.count == 0 {
            self.first.clear();
            self.first.extend_from_slice(key);
        }
        self.count += 1;
    }

    /// An expired value is visible to readers with an earlier time.
    #[inline]
    fn note_unless_over(&mut self, key: &[u8], stamp: Stamp) {
        match stamp.kind() {
            Kind::SetUntil => self.end(),
            _ => self.note(key),
        }
    }

    /// To seek costs as much as to pass some keys.
    fn skip(&mut self) {
        self.count += 15;
    }

    #[inline]
    fn leave_wish(&mut self, gaps: Option<&Arc<Gaps>>, span: impl FnOnce(&[u8]) -> Span) {
        if self.count >= MANY
            && let Some(gaps) = gaps
        {
            gaps.wish(span(&self.first));
        }
        #[cfg(test)]
        {
            self.last = self.count;
        }
        self.end();
    }
}
