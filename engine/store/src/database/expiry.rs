//! The calls about the time at which a key ends.

use super::Database;
use crate::error::Result;
use crate::memory::{ExpireCondition, Expiry, Lifetime, Value};
use std::time::Duration;

impl Database {
    /// Lets `key` end at `unix_ms` (milliseconds since the Unix epoch) if `condition` holds; true if it did. A
    /// time that is not in the future removes the key at once and returns true.
    ///
    /// # Errors
    /// In memory mode [`OutOfMemory`](crate::Error::OutOfMemory) or
    /// [`TooLargeForCap`](crate::Error::TooLargeForCap) when the 8 bytes of a first expiry make the
    /// entry move and there is no room for it. In durable mode the [errors of a durable
    /// write](Self#errors-of-a-durable-write), and
    /// [`TooLargeForBudget`](crate::Error::TooLargeForBudget) for an entry of a time when the
    /// budget was larger.
    pub fn expire_at(&self, key: &[u8], unix_ms: u64, condition: ExpireCondition) -> Result<bool> {
        match &self.durable {
            None => self.store.expire_at(key, unix_ms, condition),
            Some(durable) => durable.expire_at(key, unix_ms, condition),
        }
    }

    /// The time that expiries are compared with, in milliseconds since the Unix epoch. In memory mode that of
    /// [`Options::clock`](crate::Options::clock); in durable mode the same, but it never goes back: see
    /// [`Clock`](crate::Clock). Add a lifetime to it for [`Expiry::At`](crate::Expiry::At) and
    /// [`expire_at`](Self::expire_at).
    ///
    /// ```
    /// use plumbkv::{Database, Expiry, Options, SetOptions};
    ///
    /// let db = Database::open(Options::memory(1 << 20))?;
    /// let in_ten_seconds = Expiry::At(db.now_ms() + 10_000);
    /// db.set_with(b"session", b"1", SetOptions::new().expiry(in_ten_seconds))?;
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        match &self.durable {
            None => self.store.now_ms(),
            Some(durable) => durable.now_ms(),
        }
    }

    /// How long `key` still lives. Does not count as an access.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn expiry(&self, key: &[u8]) -> Result<Lifetime> {
        match &self.durable {
            None => Ok(self.store.lifetime(key)),
            Some(durable) => durable.lifetime(key),
        }
    }

    /// Takes the expiry off `key`; true if it had one.
    ///
    /// # Errors
    /// None in memory mode; as [`expire_at`](Self::expire_at) in durable mode.
    pub fn persist(&self, key: &[u8]) -> Result<bool> {
        match &self.durable {
            None => Ok(self.store.persist(key)),
            Some(durable) => durable.persist(key),
        }
    }

    /// A copy of the value of `key`, after changing its expiry as `expiry` says. A time that is not in the
    /// future removes the key after copying its value.
    ///
    /// # Errors
    /// As [`expire_at`](Self::expire_at).
    pub fn get_and_expire(&self, key: &[u8], expiry: Expiry) -> Result<Option<Value>> {
        match &self.durable {
            None => self.store.get_and_expire(key, expiry),
            Some(durable) => durable.get_and_expire(key, expiry),
        }
    }

    /// Removes keys whose time is over, for about `budget`, and returns how many. Call it on a timer: without
    /// it such keys go only when somebody asks for them or eviction meets them. A cycle ends early where little was
    /// over, so none removed does not mean that none is left: the next one goes on behind it.
    pub fn expire_cycle(&self, budget: Duration) -> u64 {
        if self.durable.is_some() {
            // What is over goes when tables are merged.
            return 0;
        }
        self.store.expire_cycle(budget)
    }
}
