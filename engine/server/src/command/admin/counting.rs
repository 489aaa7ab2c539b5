//! How many keys are there? Of a durable store that takes a walk, and a walk may have to read from the disk.

use plumbkv::{Database, Error, KeyCount, NonBlocking};

use crate::databases::Keys;

/// Versions of keys up to which keys of a durable store are counted exactly: a walk over so many takes about 50 ms.
const EXACT_VERSIONS: u64 = 250_000;

/// Exactly, as far as the limits go, however long the disk takes.
///
/// # Errors
/// The store's, [`Error::WouldBlock`] among them.
pub(super) fn exactly(keys: Keys<'_>) -> Result<KeyCount, Error> {
    keys.count(EXACT_VERSIONS)
}

/// Exactly where that takes no time worth mentioning, an estimate else: for those who look at a server that may be waiting for its disk.
///
/// # Errors
/// The store's, but no [`Error::WouldBlock`].
pub(super) fn at_once(keys: Keys<'_>) -> Result<KeyCount, Error> {
    without_waiting(|most| keys.count(most))
}

/// As [`at_once`], of all databases together.
///
/// # Errors
/// As those of [`at_once`].
pub(crate) fn all_at_once(database: &Database) -> Result<KeyCount, Error> {
    without_waiting(|most| database.count_keys(most))
}

fn without_waiting(count: impl Fn(u64) -> Result<KeyCount, Error>) -> Result<KeyCount, Error> {
    let found = {
        let _nonblocking = NonBlocking::begin();
        count(EXACT_VERSIONS)
    };
    match found {
        Err(Error::WouldBlock) => count(0),
        found => found,
    }
}
