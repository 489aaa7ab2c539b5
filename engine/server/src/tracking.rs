//! Tracked keys: which clients keep values of which keys in caches of their own (`CLIENT TRACKING`).
//!
//! A client that tracks is told when a key that it has read is changed, or, with `BCAST`, when any key
//! with one of its prefixes is. A write costs one load while nothing is tracked. Keys that expire or are
//! evicted are changed by no command: a look at some tracked keys in each tick finds those that are gone.
//!
//! A key is remembered before it is read: a write between the two tells the client once too often, and
//! never too seldom.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use plumbkv::{Keyspace, Lifetime};
use plumbkv_resp::{ReplyWriter, Request, Version};

use crate::client_limits::Limit;
use crate::clients::Entry;
use crate::command::key_spec;
use crate::command::table::{Spec, flag};
use crate::session::Client;
use crate::shared::Shared;

/// Memory that a tracked key or a prefix is counted with besides its bytes, with one client that tracks it.
const KEY_BYTES: u64 = 192;
/// Memory for each further client.
const CLIENT_BYTES: u64 = 16;

/// How long a tick looks for keys that are gone.
const LOOK: Duration = Duration::from_millis(1);
/// Keys looked at between two readings of the clock.
const LOOKED_AT: usize = 64;

/// What a client has asked for; bits of [`Mode`].
pub(crate) mod bit {
    pub(crate) const ON: u8 = 1;
    pub(crate) const BROADCAST: u8 = 1 << 1;
    pub(crate) const OPT_IN: u8 = 1 << 2;
    pub(crate) const OPT_OUT: u8 = 1 << 3;
    /// Its own writes are not told.
    pub(crate) const NO_LOOP: u8 = 1 << 4;
    /// CLIENT CACHING was called: the next command, or the transaction, is the exception.
    pub(crate) const CACHING: u8 = 1 << 5;
    /// The client that messages go to is gone.
    pub(crate) const BROKEN: u8 = 1 << 6;
}

/// How one connection tracks. Its own thread writes it, any thread reads it.
#[derive(Debug, Default)]
pub(crate) struct Mode {
    bits: AtomicU8,
    /// The client that gets the messages; 0: this one.
    redirect: AtomicU64,
    // std Mutex: taken by CLIENT TRACKING and TRACKINGINFO.
    prefixes: Mutex<Vec<Box<[u8]>>>,
}

impl Mode {
    pub(crate) fn bits(&self) -> u8 {
        self.bits.load(Ordering::Acquire)
    }

    pub(crate) fn has(&self, bits: u8) -> bool {
        self.bits() & bits == bits
    }

    fn set(&self, bits: u8) {
        self.bits.fetch_or(bits, Ordering::AcqRel);
    }

    fn clear(&self, bits: u8) {
        self.bits.fetch_and(!bits, Ordering::AcqRel);
    }

    pub(crate) fn redirect(&self) -> u64 {
        self.redirect.load(Ordering::Acquire)
    }

    pub(crate) fn prefixes(&self) -> MutexGuard<'_, Vec<Box<[u8]>>> {
        self.prefixes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// CLIENT CACHING.
    pub(crate) fn begin_caching(&self) {
        self.set(bit::CACHING);
    }

    /// The exception ends.
    pub(crate) fn end_caching(&self) {
        self.clear(bit::CACHING);
    }
}

/// The tracked keys and prefixes of all connections.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    /// Connections that track.
    clients: AtomicUsize,
    /// Keys and prefixes.
    entries: AtomicUsize,
    // std Mutex: taken by reads of clients that track, and by writes while anything is tracked.
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// By the key that the store has: those of two databases are not the same.
    keys: BTreeMap<Box<[u8]>, Vec<Arc<Entry>>>,
    prefixes: BTreeMap<Box<[u8]>, Vec<Arc<Entry>>>,
    /// Clients in `keys`, each as often as there are keys of it.
    items: usize,
    /// The key that was looked at last.
    hand: Box<[u8]>,
}

/// What INFO says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) clients: usize,
    pub(crate) keys: usize,
    pub(crate) items: usize,
    pub(crate) prefixes: usize,
}

impl Tracking {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any connection tracks.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.clients.load(Ordering::Relaxed) > 0
    }

    /// Whether no key and no prefix is tracked.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.load(Ordering::Acquire) == 0
    }

    pub(crate) fn counts(&self) -> Counts {
        let clients = self.clients.load(Ordering::Relaxed);
        let table = self.table();
        Counts { clients, keys: table.keys.len(), items: table.items, prefixes: table.prefixes.len() }
    }

    fn note_size(&self, table: &Table) {
        self.entries.store(table.keys.len() + table.prefixes.len(), Ordering::Release);
    }
}

/// CLIENT TRACKING ON: `bits` without [`bit::ON`], and the prefixes that are new.
pub(crate) fn start(
    shared: &Shared,
    entry: &Arc<Entry>,
    bits: u8,
    redirect: u64,
    prefixes: &[&[u8]],
) -> Result<(), plumbkv::Error> {
    let mode = &entry.tracking;
    let was_on = mode.has(bit::ON);
    if bits & bit::BROADCAST > 0 {
        let mut own = mode.prefixes();
        let all: &[&[u8]] = if prefixes.is_empty() && own.is_empty() { &[b""] } else { prefixes };
        let bytes = all.iter().map(|prefix| KEY_BYTES + prefix.len() as u64).sum();
        shared.client_memory.take(&shared.database, bytes)?;
        let mut table = shared.tracking.table();
        for prefix in all {
            own.push(Box::from(*prefix));
            table.prefixes.entry(Box::from(*prefix)).or_default().push(Arc::clone(entry));
        }
        shared.tracking.note_size(&table);
    }
    if !was_on {
        shared.tracking.clients.fetch_add(1, Ordering::Relaxed);
        shared.pushes.observe();
    }
    mode.redirect.store(redirect, Ordering::Release);
    mode.clear(bit::NO_LOOP | bit::BROKEN);
    mode.set(bits | bit::ON);
    Ok(())
}

/// CLIENT TRACKING OFF, RESET, and the end of a connection. Its keys stay in the table until they are changed, or until a look finds that
/// no client tracks them.
pub(crate) fn stop(shared: &Shared, entry: &Entry) {
    let mode = &entry.tracking;
    if !mode.has(bit::ON) {
        return;
    }
    mode.clear(u8::MAX);
    mode.redirect.store(0, Ordering::Release);
    shared.tracking.clients.fetch_sub(1, Ordering::Relaxed);
    shared.pushes.leave();
    let prefixes = std::mem::take(&mut *mode.prefixes());
    if prefixes.is_empty() {
        return;
    }
    let bytes = prefixes.iter().map(|prefix| KEY_BYTES + prefix.len() as u64).sum();
    let mut table = shared.tracking.table();
    for prefix in prefixes {
        if let Some(clients) = table.prefixes.get_mut(&prefix) {
            clients.retain(|client| client.id != entry.id);
            if clients.is_empty() {
                table.prefixes.remove(&prefix);
            }
        }
    }
    shared.tracking.note_size(&table);
    drop(table);
    shared.client_memory.give_back(&shared.database, bytes);
}

/// Remembers the keys that a command is about to read for its client.
#[cold]
pub(crate) fn remember(shared: &Shared, client: &Client, spec: &'static Spec, request: &Request<'_>) {
    let entry = &client.entry;
    let bits = entry.tracking.bits();
    let is_exception = bits & bit::CACHING > 0;
    let is_wanted = match bits {
        _ if bits & bit::ON == 0 || bits & bit::BROADCAST > 0 => false,
        _ if bits & bit::OPT_IN > 0 => is_exception,
        _ if bits & bit::OPT_OUT > 0 => !is_exception,
        _ => true,
    };
    if !is_wanted || !spec.has(flag::READONLY) || key_spec::is_script(spec) {
        return;
    }
    let most = shared.settings.limits.count(Limit::TrackedKeys);
    let keyspace = shared.databases.keyspace(client.database);
    let mut table = shared.tracking.table();
    for (place, _) in key_spec::keys_of(spec, request) {
        let stored = keyspace.key(request.arg(place));
        let key: &[u8] = &stored;
        let known = table.keys.get(key);
        if known.is_some_and(|clients| clients.iter().any(|client| client.id == entry.id)) {
            continue;
        }
        let bytes = if known.is_some() { CLIENT_BYTES } else { KEY_BYTES + key.len() as u64 };
        if shared.client_memory.take(&shared.database, bytes).is_err() {
            // A key that cannot be remembered is invalidated immediately: no client may keep it.
            tell(shared, entry, &[Keyspace::split(key).1], 0);
            continue;
        }
        table.keys.entry(Box::from(key)).or_default().push(Arc::clone(entry));
        table.items += 1;
        while table.keys.len() > most
            && let Some((key, clients)) = table.keys.pop_first()
        {
            forget(shared, &mut table, &key, &clients, 0);
        }
    }
    shared.tracking.note_size(&table);
}

/// A key, as the store has it, has been changed by the client with number `writer`.
#[cold]
pub(crate) fn invalidate(shared: &Shared, key: &[u8], writer: u64) {
    let mut table = shared.tracking.table();
    if let Some(clients) = table.keys.remove(key) {
        forget(shared, &mut table, key, &clients, writer);
        shared.tracking.note_size(&table);
    }
    let key = Keyspace::split(key).1;
    for (prefix, clients) in &table.prefixes {
        if key.starts_with(prefix) {
            clients.iter().for_each(|client| tell(shared, client, &[key], writer));
        }
    }
}

/// All keys have been removed.
#[cold]
pub(crate) fn invalidate_all(shared: &Shared) {
    let mut table = shared.tracking.table();
    let keys = std::mem::take(&mut table.keys);
    let bytes = keys.iter().map(|(key, clients)| bytes_of(key, clients)).sum();
    shared.client_memory.give_back(&shared.database, bytes);
    table.items = 0;
    shared.tracking.note_size(&table);
    drop(table);
    for entry in shared.clients.all().iter().filter(|entry| entry.tracking.has(bit::ON)) {
        tell(shared, entry, &[], 0);
    }
}

/// Looks at some tracked keys: of those that are gone their clients are told.
pub(crate) fn look(shared: &Shared) {
    if shared.tracking.is_empty() {
        return;
    }
    let begin = Instant::now();
    let mut table = shared.tracking.table();
    // Once around at most.
    let mut left = table.keys.len();
    while left > 0 && begin.elapsed() < LOOK {
        let from = std::mem::take(&mut table.hand);
        let next: Vec<Box<[u8]>> = table
            .keys
            .range::<[u8], _>((Bound::Excluded(&*from), Bound::Unbounded))
            .take(LOOKED_AT.min(left))
            .map(|(key, _)| key.clone())
            .collect();
        left = left.saturating_sub(next.len().max(1));
        for key in &next {
            let is_gone = matches!(shared.database.expiry(key), Ok(Lifetime::Missing));
            let is_nobodys =
                table.keys.get(key).is_some_and(|clients| clients.iter().all(|one| one.is_closed()));
            if (is_gone || is_nobodys)
                && let Some(clients) = table.keys.remove(key)
            {
                forget(shared, &mut table, key, &clients, 0);
            }
        }
        // Behind the last one it begins anew, with the empty key, which is looked at by itself.
        table.hand = next.last().cloned().unwrap_or_default();
    }
    shared.tracking.note_size(&table);
}

fn bytes_of(key: &[u8], clients: &[Arc<Entry>]) -> u64 {
    KEY_BYTES + key.len() as u64 + (clients.len() as u64).saturating_sub(1) * CLIENT_BYTES
}

/// Tells the clients of a key that has left the table.
fn forget(shared: &Shared, table: &mut Table, key: &[u8], clients: &[Arc<Entry>], writer: u64) {
    table.items -= clients.len();
    shared.client_memory.give_back(&shared.database, bytes_of(key, clients));
    let key = Keyspace::split(key).1;
    clients.iter().for_each(|client| tell(shared, client, &[key], writer));
}

/// Sends one client the keys that it must not keep; none stand for all.
fn tell(shared: &Shared, entry: &Entry, keys: &[&[u8]], writer: u64) {
    let mode = &entry.tracking;
    let is_own = entry.id == writer && mode.has(bit::NO_LOOP);
    if !mode.has(bit::ON) || entry.is_closed() || is_own {
        return;
    }
    let redirect = mode.redirect();
    let other = if redirect > 0 { shared.clients.get(redirect) } else { None };
    if redirect > 0 && other.is_none() {
        mode.set(bit::BROKEN);
        if entry.is_resp3() {
            let mut bytes = Vec::new();
            let mut reply = ReplyWriter::new(&mut bytes, Version::Resp3);
            reply.push(2);
            reply.bulk(b"tracking-redir-broken");
            reply.integer(i64::try_from(redirect).unwrap_or(i64::MAX));
            shared.pushes.send(entry, bytes);
        }
        return;
    }
    let target = other.as_deref().unwrap_or(entry);
    // RESP2 has no messages besides those of a subscription.
    if !target.is_resp3() {
        return;
    }
    let mut bytes = Vec::new();
    let mut reply = ReplyWriter::new(&mut bytes, Version::Resp3);
    reply.push(2);
    reply.bulk(b"invalidate");
    if keys.is_empty() {
        reply.null();
    } else {
        reply.array(keys.len());
        keys.iter().for_each(|key| reply.bulk(key));
    }
    shared.pushes.send(target, bytes);
}

#[cfg(test)]
#[path = "tracking_test.rs"]
mod tests;
