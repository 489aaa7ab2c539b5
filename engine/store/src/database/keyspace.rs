//! The calls on one keyspace: keys go to `f` and come back as their keyspace has them, without what is in front of them in the store.

use std::ops::ControlFlow;

use super::Database;
use crate::durable::KeyCount;
use crate::error::Result;
use crate::keyspace::Keyspace;

impl Database {
    /// As [`scan`](Self::scan), of one keyspace.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_in(
        &self,
        keyspace: Keyspace,
        cursor: u64,
        count: usize,
        f: &mut dyn FnMut(&[u8]),
    ) -> Result<u64> {
        match &self.durable {
            None => Ok(self.store.scan_in(keyspace, cursor, count, f)),
            Some(durable) => durable.scan_in(keyspace, cursor, count, f),
        }
    }

    /// As [`random_key`](Self::random_key), of one keyspace.
    ///
    /// # Errors
    /// As [`random_key`](Self::random_key).
    pub fn random_key_in(&self, keyspace: Keyspace) -> Result<Option<Vec<u8>>> {
        match &self.durable {
            None => Ok(self.store.random_key_in(keyspace)),
            Some(durable) => durable.random_key_in(keyspace),
        }
    }

    /// As [`for_each_key`](Self::for_each_key), of one keyspace, for as long as `f` wants more.
    ///
    /// # Errors
    /// As [`for_each_key`](Self::for_each_key).
    pub fn for_each_key_in(
        &self,
        keyspace: Keyspace,
        mut f: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        match &self.durable {
            None => self.store.for_each_key_in(keyspace, &mut f),
            Some(durable) => durable.for_each_key_in(keyspace, &mut f)?,
        }
        Ok(())
    }

    /// As [`count_keys`](Self::count_keys), of one keyspace. In durable mode, where all keyspaces have more than `most` versions of keys together, as many as a walk
    /// over that many finds in each of the others are taken from the number of versions.
    ///
    /// # Errors
    /// As [`count_keys`](Self::count_keys).
    pub fn count_keys_in(&self, keyspace: Keyspace, most: u64) -> Result<KeyCount> {
        match &self.durable {
            None => {
                let (keys, with_expiry) = self.store.count_in(keyspace);
                Ok(KeyCount { keys, with_expiry, mean_left_ms: 0, is_exact: true })
            }
            Some(durable) => durable.count_keys_in(keyspace, most),
        }
    }

    /// Removes the keys of one keyspace, at one moment. Takes as long as there are keys in memory mode, where other keyspaces are in use.
    ///
    /// # Errors
    /// As [`clear`](Self::clear).
    pub fn clear_in(&self, keyspace: Keyspace) -> Result<()> {
        self.clear_all_in(&[keyspace])
    }

    /// As [`clear_in`](Self::clear_in), of several keyspaces: at one moment as well, and on disk in one batch.
    ///
    /// # Errors
    /// As [`clear`](Self::clear).
    pub fn clear_all_in(&self, keyspaces: &[Keyspace]) -> Result<()> {
        match &self.durable {
            None => self.store.clear_in(keyspaces),
            Some(durable) => durable.clear_in(keyspaces)?,
        }
        Ok(())
    }
}
