//! What does a reader see? Of each key the newest version up to its sequence number, if that is a value whose time is not over.

use super::merge::Merge;
use crate::error::Result;
use crate::lsm::record::{Kind, Record, Sequence, Stamp};

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
        Kind::Delete => None,
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
    /// When the pair that is shown ends.
    until_ms: Option<u64>,
}

impl Visible {
    /// What is seen at a sequence number and a time.
    pub(crate) fn new(merge: Merge, at: Sequence, now_ms: u64) -> Self {
        Self { merge, at, now_ms, shown: Shown::Nowhere, key: Vec::new(), value: Vec::new(), until_ms: None }
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
    fn forward(&mut self, mut decided: bool) -> Result<()> {
        self.shown = Shown::Nowhere;
        while let Some(Record { key, stamp, value }) = self.merge.record() {
            if stamp.sequence() <= self.at && !(decided && *key == *self.key) {
                decided = true;
                self.key.clear();
                self.key.extend_from_slice(key);
                if let Some(live) = live(stamp, value, || self.now_ms) {
                    self.shown = Shown::InMerge(value.len() - live.value.len());
                    self.until_ms = live.until_ms;
                    return Ok(());
                }
            }
            self.merge.next()?;
        }
        Ok(())
    }

    /// From where the merge stands back to the next key that is seen.
    fn backward(&mut self) -> Result<()> {
        self.shown = Shown::Nowhere;
        while let Some(record) = self.merge.record() {
            self.key.clear();
            self.key.extend_from_slice(record.key);
            let mut lives = false;
            while let Some(Record { key, stamp, value }) = self.merge.record()
                && *key == *self.key
            {
                if stamp.sequence() <= self.at {
                    let live = live(stamp, value, || self.now_ms);
                    lives = live.is_some();
                    self.until_ms = live.and_then(|live| live.until_ms);
                    self.value.clear();
                    self.value.extend_from_slice(live.map_or(b"", |live| live.value));
                }
                self.merge.previous()?;
            }
            if lives {
                self.shown = Shown::Copied;
                return Ok(());
            }
        }
        Ok(())
    }
}
