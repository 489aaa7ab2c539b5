//! How many keys are there? Of a durable store that takes a walk, and a walk may have to read from the disk.

use plumbkv::{Error, KeyCount, NonBlocking};

use crate::shared::Shared;

/// Versions of keys up to which keys of a durable store are counted exactly: a walk over so many takes about 50 ms.
const EXACT_VERSIONS: u64 = 250_000;

/// Exactly, as far as the limits go, however long the disk takes.
///
/// # Errors
/// The store's, [`Error::WouldBlock`] among them.
pub(super) fn exactly(shared: &Shared) -> Result<KeyCount, Error> {
    shared.database.count_keys(EXACT_VERSIONS)
}

/// Exactly where that takes no time worth mentioning, an estimate else: for those who look at a server that may be waiting for its disk.
///
/// # Errors
/// The store's, but no [`Error::WouldBlock`].
pub(crate) fn at_once(shared: &Shared) -> Result<KeyCount, Error> {
    let found = {
        let _nonblocking = NonBlocking::begin();
        shared.database.count_keys(EXACT_VERSIONS)
    };
    match found {
        Err(Error::WouldBlock) => shared.database.count_keys(0),
        found => found,
    }
}
