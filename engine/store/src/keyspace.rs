//! Keyspaces: sixteen sets of keys in one database, each with its own count, its own walk and its own end. A write can still concern several of them.
//!
//! The key says which one it is in: those of the first keyspace are stored as they are, those of the others behind a mark and a number. So they lie side by
//! side in the order of keys, and each has shards of its own in memory (`memory/others.rs`).

use std::borrow::Cow;

/// Keyspaces of a database.
pub const KEYSPACES: u8 = 16;

/// What a stored key begins with that has a number in front of it. A key of the first keyspace that happens to begin like this gets one, too.
const MARK: [u8; 6] = [0xff, 0x6b, 0x73, 0x9d, 0xc4, 0x00];

/// One of the sets of keys in a database. The default is the first one, in which a program is that does not know of the others.
///
/// ```
/// use plumbkv::{Database, Keyspace, Options};
///
/// let db = Database::open(Options::memory(64 << 20).keyspaces(true))?;
/// let jobs = Keyspace::new(3).expect("there are 16");
/// db.set(b"a", b"1")?;
/// db.set(&jobs.key(b"a"), b"2")?;
/// assert_eq!(db.get(b"a")?, Some(b"1".to_vec()));
/// assert_eq!(db.count_keys_in(jobs, 1_000)?.keys, 1);
/// db.clear_in(jobs)?;
/// assert_eq!(db.get(&jobs.key(b"a"))?, None);
/// assert_eq!(db.len(), 1);
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Keyspace(u8);

impl Keyspace {
    /// One more, for what a program notes about the others: [`all`](Self::all) leaves it out.
    pub const INTERNAL: Self = Self(KEYSPACES);

    /// Bytes that a key has in front of it, where its keyspace is not the first.
    pub const PREFIX_BYTES: usize = MARK.len() + 1;

    /// The keyspace with a number below [`KEYSPACES`].
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < KEYSPACES { Some(Self(number)) } else { None }
    }

    /// All of them, by their numbers.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..KEYSPACES).map(Self)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The key under which a database has `key` of this keyspace.
    #[must_use]
    pub fn key(self, key: &[u8]) -> Cow<'_, [u8]> {
        if self.is_bare(key) { Cow::Borrowed(key) } else { Cow::Owned([&self.prefix(), key].concat()) }
    }

    /// Whether `key` of this keyspace is stored as it is.
    #[must_use]
    #[inline]
    pub fn is_bare(self, key: &[u8]) -> bool {
        self.0 == 0 && (key.first() != Some(&MARK[0]) || !key.starts_with(&MARK))
    }

    /// What is in front of keys that are not [bare](Self::is_bare).
    #[must_use]
    pub fn prefix(self) -> [u8; Self::PREFIX_BYTES] {
        let mut prefix = [self.0; Self::PREFIX_BYTES];
        prefix[..MARK.len()].copy_from_slice(&MARK);
        prefix
    }

    /// The keyspace of a stored key, and the key.
    #[must_use]
    #[inline]
    pub fn split(stored: &[u8]) -> (Self, &[u8]) {
        match stored.strip_prefix(&MARK) {
            Some([number, key @ ..]) if *number <= KEYSPACES => (Self(*number), key),
            _ => (Self(0), stored),
        }
    }

    /// The keyspace of a stored key.
    #[inline]
    pub(crate) fn of(stored: &[u8]) -> Self {
        if stored.first() == Some(&MARK[0]) { Self::split(stored).0 } else { Self(0) }
    }

    /// Where its keys are in the order of all: from a key to the one before another, which is the end where there is none.
    pub(crate) fn spans(self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let start_of = |number| Self(number).prefix().to_vec();
        match self.0 {
            0 => vec![(Vec::new(), Some(start_of(1))), (start_of(KEYSPACES + 1), None)],
            number => vec![(start_of(number), Some(start_of(number + 1)))],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_every_keyspace_is_stored_under_one_key_and_found_again() {
        let mut long = MARK.to_vec();
        long.extend([KEYSPACES + 1, b'x']);
        let keys = [&b""[..], b"a", b"\xff", &MARK[..5], &MARK, &long, &[0xff; 20]];
        let mut stored = std::collections::BTreeSet::new();
        for keyspace in Keyspace::all().chain([Keyspace::INTERNAL]) {
            for key in keys {
                let one = keyspace.key(key);
                assert_eq!(Keyspace::split(&one), (keyspace, key));
                assert_eq!(Keyspace::of(&one), keyspace);
                assert_eq!(one.len() == key.len(), keyspace.is_bare(key));
                assert!(stored.insert(one.to_vec()), "{keyspace:?} {key:?}");
            }
        }
        assert_eq!(Keyspace::new(KEYSPACES), None);
    }

    #[test]
    fn the_spans_have_every_key_once_and_their_own() {
        let mut long = MARK.to_vec();
        long.extend([KEYSPACES + 1, b'x']);
        for keyspace in Keyspace::all().chain([Keyspace::INTERNAL]) {
            for key in [&b""[..], b"a", &MARK[..5], &MARK, &long, &[0xff; 20]] {
                let stored = keyspace.key(key);
                for other in Keyspace::all() {
                    let holds = |(start, end): &(Vec<u8>, Option<Vec<u8>>)| {
                        start.as_slice() <= &*stored
                            && end.as_ref().is_none_or(|end| &*stored < end.as_slice())
                    };
                    let count = other.spans().iter().filter(|span| holds(span)).count();
                    assert_eq!(count, usize::from(other == keyspace), "{stored:?} in {other:?}");
                }
            }
        }
    }
}
