//! Watched keys: which connections a write of a key fails the transaction of (`WATCH`).
//!
//! A write costs one load while nothing is watched. Keys that expire or are evicted are written by no
//! command, so a transaction also checks whether its watched keys still exist.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumbkv::{Database, Keyspace};

use crate::client_limits::Limit;
use crate::clients::Entry;
use crate::command::CommandError;
use crate::shared::Shared;

/// Memory that a watched key is counted with, besides its bytes.
const KEY_BYTES: u64 = 256;

/// What one connection watches.
#[derive(Debug, Default)]
pub(crate) struct Watching {
    /// A watched key was changed.
    is_touched: AtomicBool,
    /// Each key, and whether it existed when WATCH named it.
    // std Mutex: taken by WATCH and what ends it, by FLUSHALL and SWAPDB, behind that of `Watches` where both are.
    keys: Mutex<Vec<(Box<[u8]>, bool)>>,
}

impl Watching {
    fn lock(&self) -> MutexGuard<'_, Vec<(Box<[u8]>, bool)>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_touched(&self) -> bool {
        self.is_touched.load(Ordering::Acquire)
    }

    fn touch(&self) {
        self.is_touched.store(true, Ordering::Release);
    }
}

/// WATCH: fails the next transaction of `entry` if `key`, as the store has it, is changed until then.
pub(crate) fn watch(shared: &Shared, entry: &Arc<Entry>, key: &[u8]) -> Result<(), CommandError> {
    // Watched first, looked up then: a write between the two is noticed.
    if !shared.watches.add(entry, key) {
        return Ok(());
    }
    let existed = count(shared, entry, key).and_then(|()| {
        shared.database.exists(key).map_err(|error| {
            shared.client_memory.give_back(&shared.database, bytes_of(key));
            error.into()
        })
    });
    match existed {
        Ok(existed) => entry.watching.lock().push((Box::from(key), existed)),
        Err(error) => {
            shared.watches.remove(entry, key);
            return Err(error);
        }
    }
    Ok(())
}

/// Counts one watched key more of `entry` under its limit and under the memory cap.
fn count(shared: &Shared, entry: &Entry, key: &[u8]) -> Result<(), CommandError> {
    let most = shared.settings.limits.count(Limit::WatchedKeys);
    if entry.watching.lock().len() >= most {
        let name = Limit::WatchedKeys.name();
        return Err(CommandError::new(format!("ERR the client would watch more keys than {name} ({most})")));
    }
    shared.client_memory.take(&shared.database, bytes_of(key)).map_err(|_| CommandError::OUT_OF_MEMORY)
}

/// Memory that a watched key is counted with, the same in every keyspace.
fn bytes_of(stored: &[u8]) -> u64 {
    KEY_BYTES + Keyspace::split(stored).1.len() as u64
}

/// Ends all that `entry` watches: UNWATCH, DISCARD, EXEC, and the end of the connection.
pub(crate) fn unwatch(shared: &Shared, entry: &Entry) {
    if entry.watching.lock().is_empty() {
        entry.watching.is_touched.store(false, Ordering::Release);
        return;
    }
    let keys = shared.watches.remove_all(entry);
    // After the removal: a write until then may have set it, and would fail the next transaction.
    entry.watching.is_touched.store(false, Ordering::Release);
    let bytes = keys.iter().map(|(key, _)| bytes_of(key)).sum();
    shared.client_memory.give_back(&shared.database, bytes);
}

/// Whether a watched key of `entry` has changed, expired or been evicted since WATCH.
pub(crate) fn is_broken(shared: &Shared, entry: &Entry) -> plumbkv::Result<bool> {
    if entry.watching.is_touched() {
        return Ok(true);
    }
    for (key, existed) in entry.watching.lock().iter() {
        if *existed && !shared.database.exists(key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The connections that watch each key.
type ByKey = HashMap<Box<[u8]>, Vec<Arc<Entry>>>;

/// The watched keys of all connections.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    /// Keys in `by_key`.
    count: AtomicUsize,
    // std Mutex: taken by WATCH and what ends it, and by writes while anything is watched.
    by_key: Mutex<ByKey>,
}

impl Watches {
    fn lock(&self) -> MutexGuard<'_, ByKey> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any key is watched.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Lets `entry` watch `key`; false if it does already.
    pub(crate) fn add(&self, entry: &Arc<Entry>, key: &[u8]) -> bool {
        let mut by_key = self.lock();
        let watchers = by_key.entry(Box::from(key)).or_default();
        if watchers.iter().any(|watcher| watcher.id == entry.id) {
            return false;
        }
        watchers.push(Arc::clone(entry));
        self.count.store(by_key.len(), Ordering::Release);
        true
    }

    /// Ends that `entry` watches `key`.
    fn remove(&self, entry: &Entry, key: &[u8]) {
        let mut by_key = self.lock();
        Self::remove_from(&mut by_key, entry, key);
        self.count.store(by_key.len(), Ordering::Release);
    }

    /// Ends all that `entry` watches, and says what that was.
    fn remove_all(&self, entry: &Entry) -> Vec<(Box<[u8]>, bool)> {
        // No SWAPDB gives the keys other names in between.
        let mut by_key = self.lock();
        let keys = std::mem::take(&mut *entry.watching.lock());
        keys.iter().for_each(|(key, _)| Self::remove_from(&mut by_key, entry, key));
        self.count.store(by_key.len(), Ordering::Release);
        keys
    }

    fn remove_from(by_key: &mut ByKey, entry: &Entry, key: &[u8]) {
        if let Some(watchers) = by_key.get_mut(key) {
            watchers.retain(|watcher| watcher.id != entry.id);
            if watchers.is_empty() {
                by_key.remove(key);
            }
        }
    }

    /// Whether any connection watches `key`.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.lock().contains_key(key)
    }

    /// A command has changed `key`.
    pub(crate) fn touch(&self, key: &[u8]) {
        if let Some(watchers) = self.lock().get(key) {
            watchers.iter().for_each(|watcher| watcher.watching.touch());
        }
    }

    /// A command has removed all keys of some keyspaces: those that existed are changed.
    pub(crate) fn touch_all(&self, is_one: impl Fn(Keyspace) -> bool) {
        self.touch_where(|key, existed| existed && is_one(Keyspace::split(key).0));
    }

    /// SWAPDB: those are changed that existed, or that the other keyspace has. A watch is of a key in a database, and follows that to its
    /// new keyspace. No other request is executed meanwhile.
    pub(crate) fn swap(&self, database: &Database, [one, other]: [Keyspace; 2]) {
        let swapped = |stored: &[u8]| {
            let (keyspace, key) = Keyspace::split(stored);
            let now = match keyspace {
                _ if keyspace == one => other,
                _ if keyspace == other => one,
                _ => return None,
            };
            Some(Box::<[u8]>::from(&*now.key(key)))
        };
        let mut by_key = self.lock();
        let mut watchers: HashMap<u64, Arc<Entry>> = HashMap::new();
        let renamed =
            std::mem::take(&mut *by_key).into_iter().map(|(stored, entries)| match swapped(&stored) {
                Some(now) => {
                    watchers.extend(entries.iter().map(|entry| (entry.id, Arc::clone(entry))));
                    (now, entries)
                }
                None => (stored, entries),
            });
        *by_key = renamed.collect();
        for watcher in watchers.values() {
            for (stored, existed) in watcher.watching.lock().iter_mut() {
                let Some(now) = swapped(stored) else { continue };
                *stored = now;
                // Where the store cannot say, a transaction fails rather than that a change is overlooked.
                if *existed || database.exists(stored).unwrap_or(true) {
                    watcher.watching.touch();
                }
            }
        }
    }

    fn touch_where(&self, is_changed: impl Fn(&[u8], bool) -> bool) {
        let watchers: Vec<Arc<Entry>> = self.lock().values().flatten().map(Arc::clone).collect();
        for watcher in watchers {
            let keys = watcher.watching.lock();
            if keys.iter().any(|(key, existed)| is_changed(key, *existed)) {
                watcher.watching.touch();
            }
        }
    }
}
