//! Databases 0 to 15: which keyspace of the store has the keys of which, and the store as the commands of one client see it.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use plumbkv::{
    Buffer, Database, ExpireCondition, Expiry, Fetched, KeyCount, Keyspace, Lifetime, RenameOptions,
    RenameOutcome, Result, SetOptions, SetOutcome, Value,
};

/// Databases of a server.
pub(crate) const COUNT: u8 = plumbkv::KEYSPACES;

/// Bits of a keyspace's number.
const BITS: u32 = 4;
const MASK: u64 = (1 << BITS) - 1;
const _: () = assert!(COUNT as u64 == MASK + 1);

/// Every database has the keyspace with its own number.
const OWN: u64 = 0xfedc_ba98_7654_3210;

/// Under which a durable store notes the keyspaces of its databases.
const NOTE: &[u8] = b"keyspaces of databases";

/// Which keyspace each database has: its own, until SWAPDB.
#[derive(Debug)]
pub(crate) struct Databases {
    /// Four bits for each, the lowest for the first.
    keyspaces: AtomicU64,
    // std Mutex: taken by SWAPDB and FLUSHALL.
    swapping: Mutex<()>,
}

impl Default for Databases {
    fn default() -> Self {
        Self { keyspaces: AtomicU64::new(OWN), swapping: Mutex::new(()) }
    }
}

impl Databases {
    /// Those that a store has noted.
    ///
    /// # Errors
    /// The store's. A note that is none counts as absent.
    pub(crate) fn load(store: &Database) -> Result<Self> {
        if !store.is_durable() {
            return Ok(Self::default());
        }
        // Of a snapshot: it is no client's miss.
        let noted = store.snapshot()?.get(&Keyspace::INTERNAL.key(NOTE))?;
        let noted = noted.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()).map(u64::from_le_bytes);
        let keyspaces = noted.filter(|all| is_permutation(*all)).unwrap_or(OWN);
        Ok(Self { keyspaces: AtomicU64::new(keyspaces), swapping: Mutex::new(()) })
    }

    /// The keyspace of a database; one that is not there has that of the first.
    #[inline]
    pub(crate) fn keyspace(&self, database: u8) -> Keyspace {
        keyspace_in(self.keyspaces.load(Ordering::Relaxed), database)
    }

    /// Whether SWAPDB has given any database another keyspace.
    pub(crate) fn are_swapped(&self) -> bool {
        self.keyspaces.load(Ordering::Relaxed) != OWN
    }

    /// SWAPDB; a durable store notes it first.
    pub(crate) fn swap(&self, store: &Database, one: u8, other: u8) -> Result<()> {
        let _swapping = self.swapping.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.keyspaces.load(Ordering::Relaxed);
        let [low, high] = [one, other].map(|database| u32::from(database) * BITS);
        let differing = (all >> low ^ all >> high) & MASK;
        let swapped = if one == other { all } else { all ^ (differing << low | differing << high) };
        if store.is_durable() && swapped != all {
            store.set(&Keyspace::INTERNAL.key(NOTE), &swapped.to_le_bytes())?;
        }
        self.keyspaces.store(swapped, Ordering::Release);
        Ok(())
    }

    /// FLUSHALL; what is noted stays.
    pub(crate) fn clear(&self, store: &Database) -> Result<()> {
        // No swap is noted meanwhile: the note would go with the keys.
        let _swapping = self.swapping.lock().unwrap_or_else(PoisonError::into_inner);
        match store.is_durable() && self.are_swapped() {
            true => store.clear_all_in(&Keyspace::all().collect::<Vec<_>>()),
            false => store.clear(),
        }
    }
}

fn keyspace_in(all: u64, database: u8) -> Keyspace {
    let number = all >> (u32::from(database % COUNT) * BITS) & MASK;
    Keyspace::new(number as u8).unwrap_or_default()
}

fn is_permutation(all: u64) -> bool {
    (0..COUNT).fold(0_u32, |seen, database| seen | 1 << keyspace_in(all, database).number()) == 0xffff
}

/// The store with the keys of one database.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    store: &'a Database,
    keyspace: Keyspace,
}

impl<'a> Keys<'a> {
    #[inline]
    pub(crate) fn new(store: &'a Database, keyspace: Keyspace) -> Self {
        Self { store, keyspace }
    }

    pub(crate) fn keyspace(self) -> Keyspace {
        self.keyspace
    }

    /// The key under which the store has one.
    #[inline]
    pub(crate) fn stored(self, key: &[u8]) -> Cow<'_, [u8]> {
        self.keyspace.key(key)
    }

    pub(crate) fn now_ms(self) -> u64 {
        self.store.now_ms()
    }

    pub(crate) fn buffer(self, bytes: usize) -> Result<Buffer> {
        self.store.buffer(bytes)
    }

    #[inline]
    pub(crate) fn fetch<R>(self, key: &[u8], f: impl FnOnce(Fetched<'_>) -> R) -> Result<Option<R>> {
        self.store.fetch(&self.stored(key), f)
    }

    pub(crate) fn exists(self, key: &[u8]) -> Result<bool> {
        self.store.exists(&self.stored(key))
    }

    pub(crate) fn value_len(self, key: &[u8]) -> Result<usize> {
        self.store.value_len(&self.stored(key))
    }

    pub(crate) fn expiry(self, key: &[u8]) -> Result<Lifetime> {
        self.store.expiry(&self.stored(key))
    }

    pub(crate) fn frequency(self, key: &[u8]) -> Option<u8> {
        self.store.frequency(&self.stored(key))
    }

    pub(crate) fn memory_usage(self, key: &[u8]) -> Result<Option<u64>> {
        self.store.memory_usage(&self.stored(key))
    }

    #[inline]
    pub(crate) fn set(self, key: &[u8], value: &[u8]) -> Result<()> {
        self.store.set(&self.stored(key), value)
    }

    pub(crate) fn set_with(self, key: &[u8], value: &[u8], options: SetOptions) -> Result<SetOutcome> {
        self.store.set_with(&self.stored(key), value, options)
    }

    pub(crate) fn compare_and_set(
        self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        self.store.compare_and_set(&self.stored(key), expected, value)
    }

    pub(crate) fn append(self, key: &[u8], suffix: &[u8]) -> Result<usize> {
        self.store.append(&self.stored(key), suffix)
    }

    pub(crate) fn increment(self, key: &[u8], delta: i64) -> Result<i64> {
        self.store.increment(&self.stored(key), delta)
    }

    pub(crate) fn take(self, key: &[u8]) -> Result<Option<Value>> {
        self.store.take(&self.stored(key))
    }

    pub(crate) fn delete(self, key: &[u8]) -> Result<bool> {
        self.store.delete(&self.stored(key))
    }

    pub(crate) fn persist(self, key: &[u8]) -> Result<bool> {
        self.store.persist(&self.stored(key))
    }

    pub(crate) fn expire_at(self, key: &[u8], unix_ms: u64, condition: ExpireCondition) -> Result<bool> {
        self.store.expire_at(&self.stored(key), unix_ms, condition)
    }

    pub(crate) fn get_and_expire(self, key: &[u8], expiry: Expiry) -> Result<Option<Value>> {
        self.store.get_and_expire(&self.stored(key), expiry)
    }

    /// RENAME, COPY and MOVE: `to` may be a key of another database.
    pub(crate) fn rename_with(
        self,
        from: &[u8],
        target: Keys<'_>,
        to: &[u8],
        options: RenameOptions,
    ) -> Result<RenameOutcome> {
        self.store.rename_with(&self.stored(from), &target.stored(to), options)
    }

    pub(crate) fn fetch_many<R>(
        self,
        keys: &[&[u8]],
        f: impl FnOnce(&mut dyn Iterator<Item = Option<Fetched<'_>>>) -> R,
    ) -> Result<R> {
        self.with_stored(keys, |keys| self.store.fetch_many(keys, f))
    }

    pub(crate) fn count_many(self, keys: &[&[u8]]) -> Result<usize> {
        self.with_stored(keys, |keys| self.store.count_many(keys))
    }

    pub(crate) fn delete_many(self, keys: &[&[u8]]) -> Result<usize> {
        self.with_stored(keys, |keys| self.store.delete_many(keys))
    }

    pub(crate) fn set_many(self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        self.with_stored_pairs(pairs, |pairs| self.store.set_many(pairs))
    }

    pub(crate) fn set_many_if_absent(self, pairs: &[(&[u8], &[u8])]) -> Result<bool> {
        self.with_stored_pairs(pairs, |pairs| self.store.set_many_if_absent(pairs))
    }

    fn with_stored<R>(self, keys: &[&[u8]], f: impl FnOnce(&[&[u8]]) -> R) -> R {
        if keys.iter().all(|key| self.keyspace.is_bare(key)) {
            return f(keys);
        }
        let stored: Vec<Cow<'_, [u8]>> = keys.iter().map(|key| self.stored(key)).collect();
        f(&stored.iter().map(|key| &**key).collect::<Vec<_>>())
    }

    fn with_stored_pairs<R>(self, pairs: &[(&[u8], &[u8])], f: impl FnOnce(&[(&[u8], &[u8])]) -> R) -> R {
        if pairs.iter().all(|(key, _)| self.keyspace.is_bare(key)) {
            return f(pairs);
        }
        let stored: Vec<Cow<'_, [u8]>> = pairs.iter().map(|(key, _)| self.stored(key)).collect();
        f(&stored.iter().zip(pairs).map(|(key, (_, value))| (&**key, *value)).collect::<Vec<_>>())
    }

    pub(crate) fn scan(self, cursor: u64, count: usize, f: &mut dyn FnMut(&[u8])) -> Result<u64> {
        self.store.scan_in(self.keyspace, cursor, count, f)
    }

    pub(crate) fn for_each_key(self, f: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
        self.store.for_each_key_in(self.keyspace, f)
    }

    pub(crate) fn random_key(self) -> Result<Option<Vec<u8>>> {
        self.store.random_key_in(self.keyspace)
    }

    pub(crate) fn count(self, most: u64) -> Result<KeyCount> {
        self.store.count_keys_in(self.keyspace, most)
    }

    /// FLUSHDB.
    pub(crate) fn clear(self) -> Result<()> {
        self.store.clear_in(self.keyspace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_change_places_and_back() {
        let directory = tempfile::tempdir().unwrap();
        let store = Database::open(plumbkv::Options::durable(directory.path())).unwrap();
        let databases = Databases::default();
        let swap = |one, other| databases.swap(&store, one, other).unwrap();
        let numbers = || (0..COUNT).map(|number| databases.keyspace(number).number()).collect::<Vec<_>>();
        assert_eq!(numbers(), (0..COUNT).collect::<Vec<_>>());
        swap(0, 15);
        swap(3, 3);
        swap(1, 0);
        assert_eq!(&numbers()[..4], [1, 15, 2, 3]);
        assert_eq!(numbers()[15], 0);
        databases.clear(&store).unwrap();
        let again = Databases::load(&store).unwrap();
        assert_eq!((again.keyspace(1).number(), again.are_swapped()), (15, true));
        swap(0, 1);
        swap(15, 0);
        assert_eq!(numbers(), (0..COUNT).collect::<Vec<_>>());
        assert!(!databases.are_swapped());
        store.set(&Keyspace::INTERNAL.key(NOTE), &[0; 8]).unwrap();
        assert!(!Databases::load(&store).unwrap().are_swapped(), "it is no order of all");
    }
}
