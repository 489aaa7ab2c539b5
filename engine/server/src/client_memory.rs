//! What do connections take of the memory cap? All that they hold, but for what the process had at hand for them when it started.
//!
//! Their buffers are pages of the store (`plumbkv::Buffer`) and count there; here is what the allocator gives: the connections themselves, the
//! arguments of long requests, and replies while they are made. The first few are free of charge: their memory was touched before the
//! start-up memory was taken (`warm.rs`). So a client can connect to a full store, to delete something.

use std::sync::{Mutex, PoisonError};

use plumbkv::{Database, Result};

/// Bytes that are at hand from the start.
const ALLOWANCE: u64 = 64 << 10;

/// Bytes that connections hold.
pub(crate) struct ClientMemory {
    // std Mutex: taken when a client comes, goes or asks for something long, not for every request.
    used: Mutex<u64>,
}

impl ClientMemory {
    pub(crate) fn new() -> Self {
        Self { used: Mutex::new(0) }
    }

    /// Counts so many bytes more, evicting keys for what is beyond the allowance.
    ///
    /// # Errors
    /// No key can go, or all of them would not be enough; then nothing is counted.
    pub(crate) fn take(&self, database: &Database, bytes: u64) -> Result<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let after = used.saturating_add(bytes);
        database.reserve(beyond(after) - beyond(*used))?;
        *used = after;
        Ok(())
    }

    /// Counts so many bytes less.
    pub(crate) fn give_back(&self, database: &Database, bytes: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let after = used.saturating_sub(bytes);
        database.release(beyond(*used) - beyond(after));
        *used = after;
    }

    /// Bytes that connections hold, their buffers included.
    pub(crate) fn used(&self, database: &Database) -> u64 {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        database.stats().reserved_bytes + used.min(ALLOWANCE)
    }

    #[cfg(test)]
    pub(crate) fn allowance(&self) -> u64 {
        ALLOWANCE
    }
}

fn beyond(bytes: u64) -> u64 {
    bytes.saturating_sub(ALLOWANCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbkv::Options;

    #[test]
    fn the_store_pays_only_for_what_is_beyond_the_allowance() {
        let database = Database::open(Options::memory(2 << 20)).unwrap();
        let clients = ClientMemory::new();
        clients.take(&database, ALLOWANCE).unwrap();
        assert_eq!((clients.used(&database), database.stats().reserved_bytes), (ALLOWANCE, 0));
        clients.take(&database, 100).unwrap();
        assert_eq!((clients.used(&database), database.stats().reserved_bytes), (ALLOWANCE + 100, 100));
        assert!(clients.take(&database, 3 << 20).is_err());
        assert_eq!(clients.used(&database), ALLOWANCE + 100);
        clients.give_back(&database, 200);
        assert_eq!((clients.used(&database), database.stats().reserved_bytes), (ALLOWANCE - 100, 0));
    }
}
