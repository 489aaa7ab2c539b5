//! Security log (`ACL LOG`): requests that were denied, and failed logins.
//!
//! Entries about the same thing within a minute are one entry with a counter. The log keeps the
//! newest `acllog-max-len` entries, which count under the memory cap: one for which there is no
//! memory is not kept.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumbkv_resp::ReplyWriter;

use crate::client_limits::Limit;
use crate::session::{Client, Origin};
use crate::shared::Shared;

/// Time within which equal refusals are one entry, in milliseconds.
const GROUPING_MS: u64 = 60_000;

/// Newest entries that are searched for an equal one.
const SEARCHED: usize = 10;

/// Bytes of a key's or user's name that an entry keeps.
const LONGEST_NAME: usize = 1024;

/// Memory that an entry is counted with besides its texts.
const ENTRY_BYTES: usize = 256;

/// The log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// From the newest on.
    // std Mutex: taken when a request is denied, and by ACL LOG.
    entries: Mutex<VecDeque<Entry>>,
}

/// What was refused, and to whom.
#[derive(Debug)]
pub(crate) struct Refusal<'a> {
    pub(crate) reason: Reason,
    /// A command's name or a key; of a login the command that tried it.
    pub(crate) object: &'a [u8],
    pub(crate) user: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Command,
    Key,
    Login,
}

#[derive(Debug)]
struct Entry {
    count: u64,
    reason: Reason,
    context: &'static str,
    object: Box<[u8]>,
    user: Box<[u8]>,
    updated_ms: u64,
    /// The line of CLIENT LIST of the last client.
    client: String,
}

impl Entry {
    fn bytes(&self) -> u64 {
        (ENTRY_BYTES + self.object.len() + self.user.len() + self.client.len()) as u64
    }

    fn is_like(&self, other: &Self) -> bool {
        self.reason == other.reason
            && self.context == other.context
            && self.updated_ms.abs_diff(other.updated_ms) <= GROUPING_MS
            && self.object == other.object
            && self.user == other.user
    }
}

impl Log {
    fn entries(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a refusal.
    pub(crate) fn record(&self, shared: &Shared, client: &Client, refusal: Refusal<'_>) {
        let context = match client.origin {
            Origin::Script => "lua",
            Origin::Transaction => "multi",
            Origin::Client if client.transaction.is_some() => "multi",
            Origin::Client => "toplevel",
        };
        let now_ms = shared.clock_ms();
        let mut text = String::new();
        client.entry.describe(now_ms, &mut text);
        let cut = |name: &[u8]| -> Box<[u8]> { Box::from(&name[..name.len().min(LONGEST_NAME)]) };
        self.add(
            shared,
            Entry {
                count: 1,
                reason: refusal.reason,
                context,
                object: cut(refusal.object),
                user: cut(refusal.user),
                updated_ms: now_ms,
                client: text,
            },
        );
    }

    fn add(&self, shared: &Shared, mut entry: Entry) {
        let mut entries = self.entries();
        let place = entries.iter().take(SEARCHED).position(|known| known.is_like(&entry));
        if let Some(known) = place.and_then(|place| entries.remove(place)) {
            entry.count += known.count;
            shared.client_memory.give_back(&shared.database, known.bytes());
        }
        if shared.client_memory.take(&shared.database, entry.bytes()).is_ok() {
            entries.push_front(entry);
        }
        let most = shared.settings.limits.count(Limit::AclLog);
        while entries.len() > most
            && let Some(oldest) = entries.pop_back()
        {
            shared.client_memory.give_back(&shared.database, oldest.bytes());
        }
    }

    /// ACL LOG RESET.
    pub(crate) fn reset(&self, shared: &Shared) {
        let entries = std::mem::take(&mut *self.entries());
        shared.client_memory.give_back(&shared.database, entries.iter().map(Entry::bytes).sum());
    }

    /// Bytes of the reply of ACL LOG, at most.
    pub(crate) fn reply_bytes(&self, count: usize) -> usize {
        self.entries().iter().take(count).map(|entry| entry.bytes() as usize).sum()
    }

    /// ACL LOG: the newest entries.
    pub(crate) fn reply(&self, now_ms: u64, count: usize, reply: &mut ReplyWriter<'_>) {
        let entries = self.entries();
        reply.array(count.min(entries.len()));
        for entry in entries.iter().take(count) {
            reply.map(7);
            reply.bulk(b"count");
            reply.integer(i64::try_from(entry.count).unwrap_or(i64::MAX));
            let reason = match entry.reason {
                Reason::Command => "command",
                Reason::Key => "key",
                Reason::Login => "auth",
            };
            let texts: [(&str, &[u8]); 4] = [
                ("reason", reason.as_bytes()),
                ("context", entry.context.as_bytes()),
                ("object", &entry.object),
                ("username", &entry.user),
            ];
            for (name, text) in texts {
                reply.bulk(name.as_bytes());
                reply.bulk(text);
            }
            reply.bulk(b"age-seconds");
            reply.double(now_ms.saturating_sub(entry.updated_ms) as f64 / 1000.0);
            reply.bulk(b"client-info");
            reply.bulk(entry.client.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::Driver;

    fn entry(object: &str, updated_ms: u64) -> Entry {
        Entry {
            count: 1,
            reason: Reason::Key,
            context: "toplevel",
            object: Box::from(object.as_bytes()),
            user: Box::from(&b"u"[..]),
            updated_ms,
            client: format!("client at {updated_ms}"),
        }
    }

    fn objects(log: &Log) -> String {
        let text = |entry: &Entry| format!("{}*{}", entry.object.escape_ascii(), entry.count);
        log.entries().iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn equal_refusals_within_a_minute_are_one_entry() {
        let (driver, log) = (Driver::new(), Log::default());
        for (object, at) in [("a", 0), ("b", 1), ("a", 60_000), ("a", 60_001), ("a", 120_002)] {
            log.add(&driver.shared, entry(object, at));
        }
        assert_eq!(objects(&log), "a*1 a*3 b*1");
        assert!(log.entries().iter().all(|entry| entry.client == format!("client at {}", entry.updated_ms)));
        // An equal one is found among the newest ten only.
        let log = Log::default();
        for number in 0..11 {
            log.add(&driver.shared, entry(&number.to_string(), 0));
        }
        log.add(&driver.shared, entry("0", 0));
        log.add(&driver.shared, entry("2", 0));
        assert_eq!(objects(&log), "2*2 0*1 10*1 9*1 8*1 7*1 6*1 5*1 4*1 3*1 1*1 0*1");
    }

    #[test]
    fn entries_count_under_the_memory_cap_until_they_leave() {
        let driver = Driver::new();
        let shared = &driver.shared;
        let before = shared.client_memory.used(&shared.database);
        let log = &shared.acl.log;
        for number in 0..200 {
            log.add(shared, entry(&number.to_string(), 0));
        }
        assert_eq!(log.entries().len(), 128, "acllog-max-len");
        let bytes: u64 = log.entries().iter().map(Entry::bytes).sum();
        assert_eq!(shared.client_memory.used(&shared.database) - before, bytes);
        log.reset(shared);
        assert_eq!(shared.client_memory.used(&shared.database), before);
        assert!(log.entries().is_empty());
    }
}
