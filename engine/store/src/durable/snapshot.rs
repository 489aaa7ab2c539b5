//! What did the database hold at one moment? A snapshot answers, and ranges walk through it in either direction.

use super::Durable;
use crate::error::Result;
use crate::lsm::{TreeSnapshot, Visible};
use std::ops::{Bound, RangeBounds};

/// The database at one moment. It costs nothing to take; as long as it is kept, so are the files and memtables of that moment.
///
/// Memtables that were flushed since, and indexes and filters of tables that were merged since, count against
/// the memory budget. While snapshots and ranges keep more than half of it, no more snapshots are taken
/// ([`Error::SnapshotsHoldMemory`](crate::Error::SnapshotsHoldMemory)); those that are held stay exact.
///
/// It may outlive its database, and reads on then, where no more tables are needed than
/// [`Options::max_open_files`](crate::Options::max_open_files): files that are closed by then are not
/// opened again, and a read of one returns [`Error::Io`](crate::Error::Io). Files that it alone needed are removed when it is
/// dropped; after the database was closed, when the store is opened again.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
/// db.set(b"a", b"then")?;
/// let snapshot = db.snapshot()?;
/// db.set(b"a", b"now")?;
/// assert_eq!(snapshot.get(b"a")?, Some(b"then".to_vec()));
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    tree: TreeSnapshot,
}

/// Which way a range is walked.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
/// use plumbkv::Direction;
///
/// for key in [b"a", b"b"] {
///     db.set(key, b"1")?;
/// }
/// let last = db.snapshot()?.range(.., Direction::Backward).next().transpose()?;
/// assert_eq!(last, Some((b"b".to_vec(), b"1".to_vec())));
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// From the smallest key to the largest.
    #[default]
    Forward,
    /// From the largest key to the smallest.
    Backward,
}

/// Keys and values between two bounds, in order: by [`next_pair`](Self::next_pair) without copying, or as an iterator of copies.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
/// use plumbkv::Direction;
///
/// db.set(b"a", b"1")?;
/// let mut pairs = db.snapshot()?.range(.., Direction::Forward);
/// assert_eq!(pairs.next_pair()?, Some((&b"a"[..], &b"1"[..])));
/// assert_eq!(pairs.next_pair()?, None);
/// # Ok::<(), plumbkv::Error>(())
/// ```
pub struct Range {
    walk: Visible,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    direction: Direction,
    has_begun: bool,
    is_over: bool,
}

/// A key, its value, and when it ends.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
/// use plumbkv::{Direction, Expiry, SetOptions};
///
/// db.set_with(b"a", b"1", SetOptions::new().expiry(Expiry::At(u64::MAX)))?;
/// let mut entries = db.snapshot()?.range(.., Direction::Forward);
/// let entry = entries.next_entry()?.expect("there is one");
/// assert_eq!((entry.key, entry.value, entry.expires_at_ms), (&b"a"[..], &b"1"[..], Some(u64::MAX)));
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// When it ends, in milliseconds since the Unix epoch; `None`: it stays.
    pub expires_at_ms: Option<u64>,
}

impl Durable {
    /// A snapshot for a client: it counts against the budget as long as it is held.
    pub(crate) fn snapshot_to_hold(&self) -> Result<Snapshot> {
        self.commit_written()?;
        Ok(Snapshot { tree: self.tree.snapshot_to_hold()? })
    }

    #[cfg(all(test, shuttle))]
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot { tree: self.tree.snapshot() }
    }
}

impl Snapshot {
    /// Hands the value of `key` to `f` without copying it.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"12345")?;
    /// let mut buffer = [0; 5];
    /// let len = db.snapshot()?.read(b"a", |value| {
    ///     buffer.copy_from_slice(value);
    ///     value.len()
    /// })?;
    /// assert!(len == Some(5) && buffer == *b"12345");
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn read<R>(&self, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        self.tree.get(key, |live| f(live.value))
    }

    /// A walk that may turn round, for simulations.
    #[cfg(all(test, shuttle))]
    pub(crate) fn walk(&self) -> Visible {
        self.tree.walk()
    }

    /// A copy of the value of `key`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// assert_eq!(db.snapshot()?.get(b"a")?, Some(b"1".to_vec()));
    /// assert_eq!(db.snapshot()?.get(b"b")?, None);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(key, <[u8]>::to_vec)
    }

    /// The pairs whose keys lie in `range`.
    ///
    /// ```
    /// # fn main() -> plumbkv::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("plumbkv-doc-range-{}", std::process::id()));
    /// use plumbkv::{Database, Direction, Options};
    ///
    /// let db = Database::open(Options::durable(&directory))?;
    /// for key in ["apple", "banana", "cherry"] {
    ///     db.set(key.as_bytes(), b"fruit")?;
    /// }
    /// let keys: plumbkv::Result<Vec<_>> =
    ///     db.snapshot()?.range(&b"b"[..].., Direction::Backward).map(|pair| pair.map(|(key, _)| key)).collect();
    /// assert_eq!(keys?, [b"cherry".to_vec(), b"banana".to_vec()]);
    /// # drop(db);
    /// # let _ = std::fs::remove_dir_all(&directory);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn range<'a>(&self, range: impl RangeBounds<&'a [u8]>, direction: Direction) -> Range {
        let own = |bound: Bound<&&[u8]>| bound.map(|key| key.to_vec());
        Range {
            walk: self.tree.walk(),
            from: own(range.start_bound()),
            to: own(range.end_bound()),
            direction,
            has_begun: false,
            is_over: false,
        }
    }

    /// The pairs whose keys begin with `prefix`.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// use plumbkv::Direction;
    ///
    /// for key in ["user:1", "user:2", "visit:1"] {
    ///     db.set(key.as_bytes(), b"")?;
    /// }
    /// assert_eq!(db.snapshot()?.prefix(b"user:", Direction::Forward).count(), 2);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn prefix(&self, prefix: &[u8], direction: Direction) -> Range {
        match after_prefix(prefix) {
            Some(end) => self.range((Bound::Included(prefix), Bound::Excluded(&end[..])), direction),
            None => self.range((Bound::Included(prefix), Bound::Unbounded), direction),
        }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Range {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Range").field("direction", &self.direction).finish_non_exhaustive()
    }
}

/// The smallest key that is larger than all that begin so. `None` where every key is smaller.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// The smallest key that is larger.
fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

impl Range {
    /// The next pair, as long as the range is not moved on.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt); the range is over then.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// use plumbkv::Direction;
    ///
    /// db.set(b"a", b"123")?;
    /// db.set(b"b", b"4")?;
    /// let (mut pairs, mut bytes) = (db.snapshot()?.range(.., Direction::Forward), 0);
    /// while let Some((_, value)) = pairs.next_pair()? {
    ///     bytes += value.len();
    /// }
    /// assert_eq!(bytes, 4);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn next_pair(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.is_over {
            return Ok(None);
        }
        if let Err(error) = self.go() {
            self.is_over = true;
            return Err(error);
        }
        self.is_over = self.walk.key().is_none_or(|key| !self.is_within(key));
        Ok(if self.is_over { None } else { self.walk.pair() })
    }

    /// As [`next_pair`](Self::next_pair), with the end of the key's time.
    ///
    /// # Errors
    /// As [`next_pair`](Self::next_pair).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
    /// use plumbkv::Direction;
    ///
    /// db.set(b"a", b"1")?;
    /// let mut entries = db.snapshot()?.range(.., Direction::Forward);
    /// assert_eq!(entries.next_entry()?.and_then(|entry| entry.expires_at_ms), None);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>> {
        if self.next_pair()?.is_none() {
            return Ok(None);
        }
        let expires_at_ms = self.walk.until_ms();
        Ok(self.walk.pair().map(|(key, value)| Entry { key, value, expires_at_ms }))
    }

    fn go(&mut self) -> Result<()> {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        if !has_begun {
            self.walk.set_bound(self.bound());
        }
        match (self.direction, has_begun) {
            (Direction::Forward, true) => self.walk.next(),
            (Direction::Backward, true) => self.walk.previous(),
            (Direction::Forward, false) => match &self.from {
                Bound::Included(key) => self.walk.seek(key),
                Bound::Excluded(key) => self.walk.seek(&after(key)),
                Bound::Unbounded => self.walk.first(),
            },
            (Direction::Backward, false) => match &self.to {
                Bound::Included(key) => self.walk.seek_before(&after(key)),
                Bound::Excluded(key) => self.walk.seek_before(key),
                Bound::Unbounded => self.walk.last(),
            },
        }
    }

    /// The key from which on none is in the range, on the way forward; below which, on the way back.
    fn bound(&self) -> Option<Vec<u8>> {
        match (self.direction, &self.from, &self.to) {
            (Direction::Forward, _, Bound::Included(key))
            | (Direction::Backward, Bound::Excluded(key), _) => Some(after(key)),
            (Direction::Forward, _, Bound::Excluded(key))
            | (Direction::Backward, Bound::Included(key), _) => Some(key.clone()),
            _ => None,
        }
    }

    fn is_within(&self, key: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => match &self.to {
                Bound::Included(end) => key <= &end[..],
                Bound::Excluded(end) => key < &end[..],
                Bound::Unbounded => true,
            },
            Direction::Backward => match &self.from {
                Bound::Included(begin) => key >= &begin[..],
                Bound::Excluded(begin) => key > &begin[..],
                Bound::Unbounded => true,
            },
        }
    }
}

impl Iterator for Range {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_pair().map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec()))).transpose()
    }
}
