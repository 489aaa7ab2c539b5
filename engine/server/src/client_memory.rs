//! What do connections and their buffers take of the memory cap? A small allowance is set aside for them at the start; what they take beyond
//! it, keys are evicted for.
//!
//! Without the allowance a client that connects, or sends a request in two pieces, would cost a full store a key.

use std::sync::{Mutex, PoisonError};

use plumbkv::{Database, Result};

/// The allowance is this part of the cap, within bounds.
const SHARE: u64 = 128;
const LEAST: u64 = 16 << 10;
const MOST: u64 = 1 << 20;

/// Bytes that connections hold, and how many of them the store need not be asked for.
pub(crate) struct ClientMemory {
    allowance: u64,
    // std Mutex: taken when a buffer is made or given back, not for every request.
    used: Mutex<u64>,
}

impl ClientMemory {
    /// Sets the allowance aside; a store too small for it gives none.
    pub(crate) fn new(database: &Database) -> Self {
        let wanted = (database.cap() / SHARE).clamp(LEAST, MOST);
        let allowance =
            if wanted <= database.cap() / 8 && database.reserve(wanted).is_ok() { wanted } else { 0 };
        Self { allowance, used: Mutex::new(0) }
    }

    /// Counts so many bytes more, evicting keys for what is beyond the allowance.
    ///
    /// # Errors
    /// No key can go, or all of them would not be enough; then nothing is counted.
    pub(crate) fn take(&self, database: &Database, bytes: u64) -> Result<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let after = used.saturating_add(bytes);
        database.reserve(self.beyond(after) - self.beyond(*used))?;
        *used = after;
        Ok(())
    }

    /// Counts so many bytes less.
    pub(crate) fn give_back(&self, database: &Database, bytes: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let after = used.saturating_sub(bytes);
        database.release(self.beyond(*used) - self.beyond(after));
        *used = after;
    }

    /// Bytes that connections hold.
    pub(crate) fn used(&self) -> u64 {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beyond(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.allowance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbkv::Options;

    #[test]
    fn the_store_pays_only_for_what_is_beyond_the_allowance() {
        let database = Database::open(Options::memory(2 << 20)).unwrap();
        let clients = ClientMemory::new(&database);
        assert_eq!(database.stats().reserved_bytes, LEAST);
        clients.take(&database, LEAST).unwrap();
        assert_eq!((clients.used(), database.stats().reserved_bytes), (LEAST, LEAST));
        clients.take(&database, 100).unwrap();
        assert_eq!((clients.used(), database.stats().reserved_bytes), (LEAST + 100, LEAST + 100));
        assert!(clients.take(&database, 3 << 20).is_err());
        assert_eq!(clients.used(), LEAST + 100);
        clients.give_back(&database, 200);
        assert_eq!((clients.used(), database.stats().reserved_bytes), (LEAST - 100, LEAST));
        clients.give_back(&database, LEAST - 100);
        assert_eq!((clients.used(), database.stats().reserved_bytes), (0, LEAST));
    }

    #[test]
    fn a_store_too_small_for_an_allowance_gives_none() {
        let database = Database::open(Options::memory(64 << 10)).unwrap();
        assert_eq!((ClientMemory::new(&database).allowance, database.stats().reserved_bytes), (0, 0));
        let boundless = Database::open(Options::memory(u64::MAX)).unwrap();
        assert_eq!(ClientMemory::new(&boundless).allowance, MOST);
    }
}
