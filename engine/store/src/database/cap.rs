//! The calls about memory: how much is accounted for, the cap on it, and what is evicted under the cap.

use super::Database;
use crate::error::Result;
use crate::memory::{Buffer, Policy};
use std::time::Duration;

impl Database {
    /// Bytes accounted for `key`: its block, rounded to 8 or to pages, and its slot in the table; in durable mode those of key and value. Does not
    /// count as an access.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn memory_usage(&self, key: &[u8]) -> Result<Option<u64>> {
        match &self.durable {
            None => Ok(self.store.memory_usage(key)),
            Some(durable) => durable.memory_usage(key),
        }
    }

    /// The eviction policy now. Unlike [`stats`](Self::stats) it visits no shard.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.store.policy()
    }

    /// How often `key` was accessed, with old accesses counting less: the logarithmic counter from 0 to 255 by which the LFU policies
    /// choose. Says nothing under another policy. `None`: there is no such key, or the store is a durable one. Does not count as an access.
    #[must_use]
    pub fn frequency(&self, key: &[u8]) -> Option<u8> {
        match &self.durable {
            None => self.store.frequency(key),
            Some(_) => None,
        }
    }

    /// The memory cap in bytes; `u64::MAX` means none.
    #[must_use]
    pub fn cap(&self) -> u64 {
        self.store.cap()
    }

    /// Bytes accounted for, as [`stats`](Self::stats) says among others, without looking at any shard.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.store.used()
    }

    /// Gives memory that is not needed back to the system, for as long as `time`; true if there is more to do. Call it now and then, as
    /// [`expire_cycle`](Self::expire_cycle): after [`clear`](Self::clear), and after many keys have gone, memory goes back piece by piece.
    pub fn maintain(&self, time: Duration) -> bool {
        self.store.maintain(time)
    }

    /// Counts the bytes of entries afresh by visiting each. While nobody writes it equals [`Stats::entry_bytes`]; a difference is a bug
    /// in this crate.
    #[must_use]
    pub fn recount_entry_bytes(&self) -> u64 {
        self.store.recount_entry_bytes()
    }

    /// Counts `bytes` of memory that the embedding program holds, such as the buffers of its clients, against the cap. Call it before they are
    /// allocated: where they do not fit, keys are evicted for them as the policy allows.
    ///
    /// # Errors
    /// [`TooLargeForCap`](crate::Error::TooLargeForCap), for which nothing is evicted, and [`OutOfMemory`](crate::Error::OutOfMemory) when no
    /// room can be made. Nothing is counted then.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        self.store.reserve(bytes)
    }

    /// Memory of at least so many bytes for the program's own use, counted under the cap as by [`reserve`](Self::reserve) as long as it lives.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn buffer(&self, bytes: usize) -> Result<Buffer> {
        Buffer::new(&self.store, bytes)
    }

    /// Takes back what [`reserve`](Self::reserve) counted, or a part of it. Call it after the memory is freed.
    pub fn release(&self, bytes: u64) {
        self.store.release(bytes);
    }

    /// Changes the memory cap; a lower one evicts at once as the policy allows. Where it allows nothing, what is
    /// stored stays and writes are refused until there is room. The number of shards stays as it was.
    ///
    /// # Errors
    /// [`InvalidOption`](crate::Error::InvalidOption) when the cap is 0.
    pub fn set_cap(&self, cap_bytes: u64) -> Result<()> {
        self.store.set_cap(cap_bytes)
    }

    /// Bytes below which a cap would hold no key: what the store takes with nothing in it, for its shards, what the program has
    /// [reserved](Self::reserve), and a short key. A store that was opened under a large cap has many shards.
    #[must_use]
    pub fn least_cap(&self) -> u64 {
        self.store.least_cap()
    }

    /// Changes the eviction policy from the next eviction on.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) in durable mode; none in memory mode.
    pub fn set_policy(&self, policy: Policy) -> Result<()> {
        self.only_in_memory("set_policy")?;
        self.store.set_policy(policy);
        Ok(())
    }

    /// Changes how many keys an eviction chooses among.
    ///
    /// # Errors
    /// [`InvalidOption`](crate::Error::InvalidOption) when `samples` is not in 1..=64;
    /// [`Unsupported`](crate::Error::Unsupported) in durable mode.
    pub fn set_samples(&self, samples: u32) -> Result<()> {
        self.only_in_memory("set_samples")?;
        self.store.set_samples(samples)
    }
}
