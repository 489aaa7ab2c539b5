//! The front door: the calls on keys and values that a database answers, whatever it stores in. Those on the time
//! at which a key ends are in `expiry.rs`, those on the memory cap in `cap.rs`.

mod cap;
mod durable;
mod expiry;
mod group;
mod keyspace;

pub use group::WriteGroup;

use std::sync::Arc;

use crate::durable::{Durable, KeyCount};
use crate::error::Result;
use crate::memory::{
    Condition, Expiry, Fetched, RenameOptions, RenameOutcome, SetOptions, SetOutcome, Store, Value,
};
use crate::options::Options;
use crate::stats::Stats;

/// A key-value database. It is `Send + Sync`: share it between threads in an [`Arc`](std::sync::Arc).
///
/// Each call is atomic. Calls with several keys ([`multi_get`](Self::multi_get), [`set_many`](Self::set_many),
/// [`rename`](Self::rename)) lock their shards in ascending order, so nobody sees them half done.
/// Closures that are handed bytes run under a shard's lock: keep them short, and do not call the database
/// from inside one, or the thread waits for itself.
///
/// # Errors of a durable write
/// Each call lists its errors. Those that all writes of a durable database share:
/// - [`Io`](crate::Error::Io): the system refused to write or to sync the log, or to read what the call
///   depends on; or it did so in an earlier write, flush or merge, and writes are refused since
///   ([`StorageStats::failure`](crate::StorageStats::failure));
/// - [`Corrupt`](crate::Error::Corrupt): a file that the call reads is damaged, or one that an earlier flush
///   or merge had to read;
/// - [`Panicked`](crate::Error::Panicked): a thread of the store panicked before;
/// - [`ReadOnly`](crate::Error::ReadOnly): the database was opened with
///   [`Options::read_only`](crate::Options::read_only);
/// - [`OutOfMemory`](crate::Error::OutOfMemory): the system has no memory for another memtable.
///
/// On a thread with a [`NonBlocking`](crate::NonBlocking), every call of a durable database can also return
/// [`WouldBlock`](crate::Error::WouldBlock).
pub struct Database {
    /// All of a memory database; of a durable one what the program's own memory is counted in.
    store: Arc<Store>,
    durable: Option<Box<Durable>>,
}

impl Database {
    /// Opens a database.
    ///
    /// # Errors
    /// [`InvalidOption`](crate::Error::InvalidOption) when an option has a value that cannot be
    /// used: a cap of 0, samples outside of 1..=64, a number of shards that is not a power of two
    /// up to 4096; of a durable store a budget below 1 MiB, a budget or a cache above the memory of the machine,
    /// an interval of 0, no open file, no thread that merges, merges of 0 bytes a second, Zstandard without its
    /// feature, or a budget into which the logs do not fit where they have to stay in memory.
    /// [`OutOfMemory`](crate::Error::OutOfMemory) when the system has no memory for it. Of a
    /// durable store also [`InUse`](crate::Error::InUse); [`NotAStore`](crate::Error::NotAStore)
    /// when the directory has files with a store's names and is none;
    /// [`Corrupt`](crate::Error::Corrupt) and [`Io`](crate::Error::Io).
    pub fn open(options: Options) -> Result<Self> {
        let Options { cap_bytes, policy, samples, clock, shards, seed, has_keyspaces, on_event, durable } =
            options;
        let durable =
            durable.map(|options| Durable::open(&options.path, &options, Arc::clone(&clock), on_event));
        let durable = durable.transpose()?.map(Box::new);
        let store = Store::open(cap_bytes, policy, samples, clock, shards, seed, has_keyspaces)?;
        Ok(Self { store: Arc::new(store), durable })
    }

    /// Hands the value of `key` to `f` without copying it, and counts as an access.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn read<R>(&self, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        match &self.durable {
            None => Ok(self.store.read(key, f)),
            Some(durable) => durable.read(key, f),
        }
    }

    /// Hands the value of `key` to `f` as [`read`](Self::read) does, or, where it is long, as one to keep: then no lock is held, and a
    /// server can send the value from where it lies.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn fetch<R>(&self, key: &[u8], f: impl FnOnce(Fetched<'_>) -> R) -> Result<Option<R>> {
        match &self.durable {
            None => Ok(self.store.fetch(key, f)),
            Some(durable) => durable.read(key, |bytes| f(Fetched::Bytes(bytes))),
        }
    }

    /// A copy of the value of `key`.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(key, <[u8]>::to_vec)
    }

    /// Copies of the values of `keys`, in their order, all as of one moment.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        match &self.durable {
            None => Ok(self.store.multi_get(keys)),
            Some(durable) => durable.multi_get(keys),
        }
    }

    /// Hands the values of `keys` to `f` in their order, all as of one moment, as [`fetch`](Self::fetch) does with one. Their shards are locked
    /// while `f` runs: it must not call the database.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn fetch_many<R>(
        &self,
        keys: &[&[u8]],
        f: impl FnOnce(&mut dyn Iterator<Item = Option<Fetched<'_>>>) -> R,
    ) -> Result<R> {
        match &self.durable {
            None => Ok(self.store.fetch_many(keys, f)),
            Some(durable) => durable.fetch_many(keys, f),
        }
    }

    /// Asks the processor for what calls with these keys will look at, the first [`PREFETCHED_KEYS`](crate::PREFETCHED_KEYS) of them. It changes
    /// nothing and counts as no access; worth it where several calls are known before the first is made.
    pub fn prefetch(&self, keys: &[&[u8]]) {
        if self.durable.is_none() {
            self.store.prefetch(keys);
        }
    }

    /// How many of `keys` are there, all as of one moment; a key that is named twice counts twice. Counts as accesses.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn count_many(&self, keys: &[&[u8]]) -> Result<usize> {
        match &self.durable {
            None => Ok(self.store.count_many(keys)),
            Some(durable) => durable.count_many(keys),
        }
    }

    /// Removes `keys`, all at one moment, and returns how many of them were there.
    ///
    /// # Errors
    /// None in memory mode; in durable mode [`BatchTooLong`](crate::Error::BatchTooLong), and the
    /// [errors of a durable write](Self#errors-of-a-durable-write). No key is removed then.
    pub fn delete_many(&self, keys: &[&[u8]]) -> Result<usize> {
        match &self.durable {
            None => Ok(self.store.delete_many(keys)),
            Some(durable) => durable.delete_many(keys),
        }
    }

    /// Stores `value` under `key` and clears any expiry the key had.
    ///
    /// # Errors
    /// [`KeyTooLong`](crate::Error::KeyTooLong) and [`ValueTooLong`](crate::Error::ValueTooLong).
    /// In memory mode [`TooLargeForCap`](crate::Error::TooLargeForCap), for which nothing is
    /// evicted, and [`OutOfMemory`](crate::Error::OutOfMemory) when no room can be made; in durable
    /// mode [`TooLargeForBudget`](crate::Error::TooLargeForBudget), and the [errors of a durable
    /// write](Self#errors-of-a-durable-write). The old value stays in each case.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<()> {
        match &self.durable {
            None => self.store.set(key, value),
            Some(durable) => durable.set(key, value),
        }
    }

    /// Stores `value` under `key` on a condition, with an expiry, and hands back what was there.
    /// An expiry that has already passed removes the key; that counts as written.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn set_with(&self, key: &[u8], value: &[u8], options: SetOptions) -> Result<SetOutcome> {
        match &self.durable {
            None => self.store.set_with(key, value, options),
            Some(durable) => durable.set_with(key, value, options),
        }
    }

    /// Stores all pairs or none; of pairs with the same key the last one counts.
    ///
    /// # Errors
    /// As [`set`](Self::set), and [`BatchTooLong`](crate::Error::BatchTooLong) in durable mode; no
    /// pair is stored then.
    pub fn set_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        match &self.durable {
            None => self.store.set_many(pairs, false).map(drop),
            Some(durable) => durable.set_many(pairs),
        }
    }

    /// Stores all pairs if none of their keys is there; true then. Of pairs with the same key the last one counts.
    ///
    /// # Errors
    /// As [`set_many`](Self::set_many).
    pub fn set_many_if_absent(&self, pairs: &[(&[u8], &[u8])]) -> Result<bool> {
        match &self.durable {
            None => self.store.set_many(pairs, true),
            Some(durable) => durable.set_many_if_absent(pairs),
        }
    }

    /// Writes `value`, or removes the key where that is `None`, if what is there equals `expected`, where `None` stands for no key; true if it did. The
    /// expiry stays.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn compare_and_set(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
        match &self.durable {
            None => self.store.compare_and_set(key, expected, value),
            Some(durable) => durable.compare_and_set(key, expected, value),
        }
    }

    /// Removes `key` and returns its value.
    ///
    /// # Errors
    /// None in memory mode; the [errors of a durable write](Self#errors-of-a-durable-write) in
    /// durable mode.
    pub fn take(&self, key: &[u8]) -> Result<Option<Value>> {
        match &self.durable {
            None => Ok(self.store.take(key)),
            Some(durable) => durable.take(key),
        }
    }

    /// Removes `key`; true if it was there.
    ///
    /// # Errors
    /// None in memory mode; the [errors of a durable write](Self#errors-of-a-durable-write) in
    /// durable mode.
    pub fn delete(&self, key: &[u8]) -> Result<bool> {
        match &self.durable {
            None => Ok(self.store.delete(key)),
            Some(durable) => durable.delete(key),
        }
    }

    /// Whether `key` is there. Counts as an access.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn exists(&self, key: &[u8]) -> Result<bool> {
        Ok(self.read(key, |_| ())?.is_some())
    }

    /// Length of the value of `key` in bytes, 0 where there is none. Counts as an access.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn value_len(&self, key: &[u8]) -> Result<usize> {
        Ok(self.read(key, <[u8]>::len)?.unwrap_or(0))
    }

    /// Adds `suffix` to the end of the value of `key`, which starts out empty, and returns the new length in
    /// bytes. The expiry stays. A value that has to move is in memory twice for a moment, and the cap counts
    /// it twice for that moment.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn append(&self, key: &[u8], suffix: &[u8]) -> Result<usize> {
        match &self.durable {
            None => self.store.append(key, suffix),
            Some(durable) => durable.append(key, suffix),
        }
    }

    /// Adds `delta` to the decimal integer stored under `key`, which starts out as 0, and returns the sum. The
    /// expiry stays.
    ///
    /// # Errors
    /// [`NotAnInteger`](crate::Error::NotAnInteger), [`Overflow`](crate::Error::Overflow), and as
    /// [`set`](Self::set).
    pub fn increment(&self, key: &[u8], delta: i64) -> Result<i64> {
        match &self.durable {
            None => self.store.increment(key, delta),
            Some(durable) => durable.increment(key, delta),
        }
    }

    /// Gives the entry `from` the key `to`, replacing what was there; false if `from` does not exist. Value and
    /// expiry move along. The entry is in memory twice for a moment, and the cap counts it twice.
    ///
    /// # Errors
    /// As [`set`](Self::set), of `to` and the value.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> Result<bool> {
        Ok(self.rename_with(from, to, RenameOptions::default())? != RenameOutcome::Missing)
    }

    /// Gives the entry `from` the key `to`: it may keep its own key too, and what has that key may have to stay. Otherwise as
    /// [`rename`](Self::rename).
    ///
    /// # Errors
    /// As [`set`](Self::set), of `to` and the value.
    pub fn rename_with(&self, from: &[u8], to: &[u8], options: RenameOptions) -> Result<RenameOutcome> {
        match &self.durable {
            None => self.store.rename_with(from, to, options),
            Some(durable) => durable.rename_with(from, to, options),
        }
    }

    /// Hands about `count` keys to `f` and returns the cursor to go on from; start with 0, and 0 means done.
    /// Every key that is there from the first call to the last is returned exactly once, however the tables
    /// grow or shrink between the calls; a key that comes or goes meanwhile may or may not be. The number can be
    /// lower (a call looks at a bounded number of shards) or a little higher than `count`.
    ///
    /// # Errors
    /// [`UnknownCursor`](crate::Error::UnknownCursor) in durable mode, which remembers a thousand
    /// of them for ten minutes, [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt). In
    /// memory mode none: a cursor that no call has returned simply starts somewhere.
    pub fn scan(&self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8])) -> Result<u64> {
        match &self.durable {
            None => Ok(self.store.scan(cursor, count, f)),
            Some(durable) => durable.scan(cursor, count, f),
        }
    }

    /// A random key, or `None` where there is none. Each can be returned, and some are likelier than others: in memory those behind a gap
    /// in a table, in durable mode those behind a gap in their order.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn random_key(&self) -> Result<Option<Vec<u8>>> {
        match &self.durable {
            None => Ok(self.store.random_key()),
            Some(durable) => durable.random_key(),
        }
    }

    /// Hands every key to `f`, in no useful order. Locks one shard at a time.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io) and [`Corrupt`](crate::Error::Corrupt) in durable mode; none in memory mode.
    pub fn for_each_key(&self, mut f: impl FnMut(&[u8])) -> Result<()> {
        match &self.durable {
            None => self.store.for_each_key(&mut f),
            Some(durable) => durable.for_each_key(&mut f)?,
        }
        Ok(())
    }

    /// Removes every key.
    ///
    /// # Errors
    /// None in memory mode; the [errors of a durable write](Self#errors-of-a-durable-write) in
    /// durable mode, with the same case that is undecided.
    pub fn clear(&self) -> Result<()> {
        match &self.durable {
            None => self.store.clear(),
            Some(durable) => durable.clear()?,
        }
        Ok(())
    }

    /// Number of keys, those included whose time is over but which nothing has removed yet. Visits every shard. In durable mode an upper bound: a key
    /// counts as often as there are versions of it.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.durable {
            None => self.store.len(),
            Some(durable) => durable.len(),
        }
    }

    /// Counts keys. In memory mode as [`len`](Self::len) does. In durable mode it walks over all keys, unless there are more than `most`
    /// versions of keys or tables have more than 64 MiB: then it returns at once what the number of versions says, without those that deletions hide. A thread
    /// that does not wait ([`NonBlocking`](crate::NonBlocking)) walks over 1,000 versions at most.
    ///
    /// # Errors
    /// [`Io`](crate::Error::Io), [`Corrupt`](crate::Error::Corrupt) and, in a thread that does not wait, [`WouldBlock`](crate::Error::WouldBlock) in durable
    /// mode; none in memory mode.
    pub fn count_keys(&self, most: u64) -> Result<KeyCount> {
        match &self.durable {
            None => {
                let Stats { keys, keys_with_expiry: with_expiry, .. } = self.store.stats();
                Ok(KeyCount { keys, with_expiry, mean_left_ms: 0, is_exact: true })
            }
            Some(durable) => durable.count_keys(most),
        }
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counters and sizes now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        match &self.durable {
            None => self.store.stats(),
            Some(durable) => durable.complete(self.store.stats()),
        }
    }
}

impl SetOptions {
    /// Writes whatever is there and clears any expiry: what [`Database::set`] does.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes only where `condition` holds.
    #[must_use]
    pub fn condition(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    /// What becomes of the expiry.
    #[must_use]
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.expiry = expiry;
        self
    }

    /// Hands back the value that was there, written or not.
    #[must_use]
    pub fn want_previous(mut self, want: bool) -> Self {
        self.want_previous = want;
        self
    }
}
