//! Slow log (`SLOWLOG`): the newest requests that took `slowlog-log-slower-than` or longer.
//!
//! The log keeps `slowlog-max-len` entries, which count under the memory cap: one for which there is no
//! memory is not kept. Of a request it keeps as many words and bytes as Redis does, and no secrets.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plumbkv_resp::{ReplyWriter, Request};

use crate::client_limits::Limit;
use crate::command::secret::is_secret;
use crate::command::table::Spec;
use crate::process;
use crate::session::Client;
use crate::shared::Shared;

/// Words of a request that an entry has; the last one says how many more there were.
const MOST_WORDS: usize = 32;

/// Bytes of a word that an entry has.
const LONGEST_WORD: usize = 128;

/// Memory that an entry and each of its words are counted with besides their bytes.
const ENTRY_BYTES: usize = 256;
const WORD_BYTES: usize = 32;

/// The log.
#[derive(Debug, Default)]
pub(crate) struct SlowLog {
    // std Mutex: taken for slow requests, and by SLOWLOG.
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    next_id: u64,
    /// From the newest on.
    all: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    /// Unix time in seconds when it was done.
    second: u64,
    us: u64,
    words: Vec<Box<[u8]>>,
    peer: String,
    /// The name that the client gave itself.
    name: String,
}

impl Entry {
    fn bytes(&self) -> usize {
        let words = self.words.iter().map(|word| WORD_BYTES + word.len()).sum::<usize>();
        ENTRY_BYTES + words + self.peer.len() + self.name.len()
    }
}

impl SlowLog {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request that has taken so long.
    pub(super) fn record(
        &self,
        shared: &Shared,
        client: &Client,
        spec: &Spec,
        request: &Request<'_>,
        took: Duration,
    ) {
        let most = shared.settings.limits.count(Limit::SlowLog);
        if most == 0 {
            return;
        }
        let mut entries = self.entries();
        let entry = Entry {
            id: entries.next_id,
            second: process::unix_time_s(),
            us: super::whole(took.as_micros()),
            words: shortened(spec, request),
            peer: client.entry.peer().to_owned(),
            name: client.entry.name(),
        };
        entries.next_id += 1;
        if shared.client_memory.take(&shared.database, entry.bytes() as u64).is_ok() {
            entries.all.push_front(entry);
        }
        while entries.all.len() > most
            && let Some(oldest) = entries.all.pop_back()
        {
            shared.client_memory.give_back(&shared.database, oldest.bytes() as u64);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries().all.len()
    }

    /// SLOWLOG RESET; numbers go on where they were.
    pub(crate) fn reset(&self, shared: &Shared) {
        let entries = std::mem::take(&mut self.entries().all);
        let bytes = entries.iter().map(|entry| entry.bytes() as u64).sum();
        shared.client_memory.give_back(&shared.database, bytes);
    }

    /// Bytes of the reply of SLOWLOG GET, at most.
    pub(crate) fn reply_bytes(&self, count: usize) -> usize {
        self.entries().all.iter().take(count).map(Entry::bytes).sum()
    }

    /// SLOWLOG GET: the newest entries.
    pub(crate) fn reply(&self, count: usize, reply: &mut ReplyWriter<'_>) {
        let integer = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let entries = self.entries();
        reply.array(count.min(entries.all.len()));
        for entry in entries.all.iter().take(count) {
            reply.array(6);
            reply.integer(integer(entry.id));
            reply.integer(integer(entry.second));
            reply.integer(integer(entry.us));
            reply.array(entry.words.len());
            entry.words.iter().for_each(|word| reply.bulk(word));
            reply.bulk(entry.peer.as_bytes());
            reply.bulk(entry.name.as_bytes());
        }
    }
}

/// The words of a request as an entry keeps them.
fn shortened(spec: &Spec, request: &Request<'_>) -> Vec<Box<[u8]>> {
    let count = request.len();
    let kept = if count > MOST_WORDS { MOST_WORDS - 1 } else { count };
    let word = |(place, word): (usize, &[u8])| -> Box<[u8]> {
        if is_secret(spec, request, place) {
            Box::from(&b"(redacted)"[..])
        } else if word.len() > LONGEST_WORD {
            let more = format!("... ({} more bytes)", word.len() - LONGEST_WORD);
            [&word[..LONGEST_WORD], more.as_bytes()].concat().into()
        } else {
            Box::from(word)
        }
    };
    let more = (kept < count).then(|| format!("... ({} more arguments)", count - kept));
    let more = more.map(|text| text.into_bytes().into_boxed_slice());
    request.iter().enumerate().take(kept).map(word).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use crate::session::test_support::Driver;

    /// The requests of SLOWLOG GET, from the newest on, without those that set up the test.
    fn logged(driver: &Driver) -> Vec<String> {
        let entries = driver.shared.latency.slow_log.entries();
        let text = |entry: &super::Entry| {
            let words = entry.words.iter().map(|word| word.escape_ascii().to_string());
            words.collect::<Vec<_>>().join(" ")
        };
        entries.all.iter().map(text).collect()
    }

    #[test]
    fn with_a_threshold_of_nought_every_request_is_logged() {
        let driver = Driver::new();
        let mut client = driver.connect();
        client.ask("config set slowlog-log-slower-than 0");
        client.ask("client setname me");
        client.ask("SET k v");
        client.ask("get k");
        assert_eq!(logged(&driver)[..2], ["get k", "SET k v"]);
        let reply = client.ask("slowlog get 1");
        assert!(reply.starts_with("*1\r\n*6\r\n:"), "{reply}");
        assert!(
            reply.ends_with("*2\r\n$3\r\nget\r\n$1\r\nk\r\n$11\r\n127.0.0.1:5\r\n$2\r\nme\r\n"),
            "{reply}"
        );
        client.check("config set slowlog-log-slower-than -1", "+OK\r\n");
        client.check("slowlog reset", "+OK\r\n");
        client.check("slowlog len", ":0\r\n");
        client.check("slowlog get -1", "*0\r\n");
    }

    #[test]
    fn requests_that_are_refused_or_part_of_a_transaction_are_told_apart() {
        let driver = Driver::new();
        let mut client = driver.connect();
        client.ask("config set slowlog-log-slower-than 0");
        for request in
            ["get", "nosuch", "multi", "set a 1", "exec", "eval \"return redis.call('get','a')\" 0"]
        {
            client.ask(request);
        }
        let expected = ["eval return redis.call(\\'get\\',\\'a\\') 0", "set a 1", "multi"];
        assert_eq!(logged(&driver)[..3], expected);
    }

    #[test]
    fn long_requests_are_shortened() {
        let driver = Driver::new();
        let mut client = driver.connect();
        client.ask("config set slowlog-log-slower-than 0");
        let keys = |count: usize| vec!["k"; count].join(" ");
        client.ask(&format!("mget {}", keys(31)));
        client.ask(&format!("mget {}", keys(32)));
        client.ask(&format!("get {}", "x".repeat(129)));
        client.ask(&format!("get {}", "x".repeat(128)));
        let expected = [
            format!("get {}", "x".repeat(128)),
            format!("get {}... (1 more bytes)", "x".repeat(128)),
            format!("mget {} ... (2 more arguments)", keys(30)),
            format!("mget {}", keys(31)),
        ];
        assert_eq!(logged(&driver)[..4], expected);
    }

    #[test]
    fn secrets_are_not_shown() {
        let driver = Driver::new();
        let mut client = driver.connect();
        client.ask("config set slowlog-log-slower-than 0");
        let requests = [
            ("acl setuser alice on >secret", "acl setuser (redacted) (redacted) (redacted)"),
            ("auth alice secret", "auth (redacted) (redacted)"),
            ("hello 2 auth alice secret", "hello 2 auth (redacted) (redacted)"),
            ("config set timeout 5 requirepass secret", "config set timeout 5 requirepass (redacted)"),
        ];
        for (request, expected) in requests {
            let mut client = driver.connect();
            client.ask(request);
            assert_eq!(logged(&driver)[0], expected);
        }
    }

    #[test]
    fn entries_count_under_the_memory_cap_until_they_leave() {
        let driver = Driver::new();
        let shared = &driver.shared;
        let before = shared.client_memory.used(&shared.database);
        let mut client = driver.connect();
        client.ask("config set slowlog-log-slower-than 0");
        for _ in 0..200 {
            client.ask("ping");
        }
        let log = &shared.latency.slow_log;
        assert_eq!(log.len(), 128, "slowlog-max-len");
        let bytes = log.reply_bytes(usize::MAX) as u64;
        assert_eq!(shared.client_memory.used(&shared.database) - before, bytes);
        client.ask("config set slowlog-log-slower-than -1");
        client.ask("slowlog reset");
        assert_eq!(shared.client_memory.used(&shared.database), before);
    }
}
