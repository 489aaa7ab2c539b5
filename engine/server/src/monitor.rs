//! Monitors: clients that see every request that is executed (`MONITOR`).
//!
//! A request is shown before it is executed. One that a worker executes, because it would have to wait, is shown
//! by the worker.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use plumbkv_resp::Request;

use crate::clients::Entry;
use crate::command::secret::is_secret;
use crate::command::table::{Spec, flag};
use crate::session::{Client, Origin};
use crate::shared::Shared;

/// Bytes of a word that are shown: every monitor gets a copy.
const LONGEST_WORD: usize = 64 << 10;

/// The connections that see all requests.
#[derive(Debug, Default)]
pub(crate) struct Monitors {
    // std Mutex: taken by MONITOR, and for each request while there is a monitor.
    all: Mutex<Vec<Arc<Entry>>>,
}

impl Monitors {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// MONITOR: lets a connection see all requests; false if it does already.
pub(crate) fn start(shared: &Shared, entry: &Arc<Entry>) -> bool {
    if !entry.begin_monitoring() {
        return false;
    }
    shared.monitors.all().push(Arc::clone(entry));
    shared.pushes.observe();
    true
}

/// RESET, and the end of a connection.
pub(crate) fn stop(shared: &Shared, entry: &Entry) {
    if entry.end_monitoring() {
        shared.monitors.all().retain(|one| one.id != entry.id);
        // Nothing follows the reply to RESET.
        shared.pushes.forget(entry);
        shared.pushes.leave();
    }
}

/// Shows a request to all monitors.
pub(crate) fn show(shared: &Shared, client: &Client, spec: &Spec, request: &Request<'_>) {
    if spec.has(flag::ADMIN) {
        return;
    }
    let all = shared.monitors.all();
    if all.is_empty() {
        return;
    }
    let line = line(client, Some((spec, request)));
    all.iter().for_each(|monitor| shared.pushes.send(monitor, line.clone()));
}

/// Shows EXEC, whose requests have been shown.
pub(crate) fn show_exec(shared: &Shared, client: &Client) {
    let all = shared.monitors.all();
    if !all.is_empty() {
        let line = line(client, None);
        all.iter().for_each(|monitor| shared.pushes.send(monitor, line.clone()));
    }
}

/// `+1795876098.265308 [0 127.0.0.1:33716] "SET" "k" "v"`; without a request of EXEC.
fn line(client: &Client, request: Option<(&Spec, &Request<'_>)>) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let peer = client.entry.peer();
    let who = match client.origin {
        Origin::Script => "lua".to_owned(),
        // A socket's file is named with the port 0.
        _ => peer.strip_suffix(":0").map_or_else(|| peer.to_owned(), |path| format!("unix:{path}")),
    };
    let mut text = format!("+{}.{:06} [{} {who}]", now.as_secs(), now.subsec_micros(), client.database);
    match request {
        None => text.push_str(" \"EXEC\""),
        Some((spec, request)) => {
            for (place, word) in request.iter().enumerate() {
                text.push(' ');
                quote(if is_secret(spec, request, place) { b"(redacted)" } else { word }, &mut text);
            }
        }
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// A word in quotation marks, with what is not printable escaped.
fn quote(word: &[u8], text: &mut String) {
    let shown = &word[..word.len().min(LONGEST_WORD)];
    text.push('"');
    for byte in shown {
        match byte {
            b'\\' | b'"' => text.extend(['\\', char::from(*byte)]),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Writing to a String cannot fail.
            _ => drop(write!(text, "\\x{byte:02x}")),
        }
    }
    if shown.len() < word.len() {
        let _ = write!(text, "... ({} more bytes)", word.len() - shown.len());
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::{Driver, Talk};

    fn connect(driver: &Driver) -> Talk<'_> {
        let client = driver.connect();
        client.session.entry().record_place(0, 0);
        client
    }

    /// What a monitor has been shown since the last call, without times.
    fn shown(driver: &Driver) -> Vec<String> {
        let text = |push: crate::pushes::Push| {
            let line = String::from_utf8(push.bytes).unwrap();
            let (time, rest) = line.strip_suffix("\r\n").unwrap().split_once(' ').unwrap();
            assert!(time.starts_with("+1") && time.split_once('.').unwrap().1.len() == 6, "{time}");
            rest.to_owned()
        };
        driver.shared.pushes.take(0).into_iter().map(text).collect()
    }

    #[test]
    fn requests_are_shown_as_redis_shows_them() {
        let driver = Driver::new();
        let (mut monitor, mut client) = (connect(&driver), connect(&driver));
        monitor.check("monitor", "+OK\r\n");
        monitor.check("monitor", "");
        let from = |words: &str| format!("[0 127.0.0.1:5] {words}");
        for (request, expected) in [
            (r#"SET k "a\x00\"b\n\\ z\xff""#, vec![from(r#""SET" "k" "a\x00\"b\n\\ z\xff""#)]),
            ("strlen k", vec![from(r#""strlen" "k""#)]),
            ("auth default x", vec![from(r#""auth" "(redacted)" "(redacted)""#)]),
            ("hello 2 auth default x", vec![from(r#""hello" "2" "auth" "(redacted)" "(redacted)""#)]),
            // Refused, or about the server.
            ("get", vec![]),
            ("nosuch x", vec![]),
            ("config get maxmemory", vec![]),
            ("acl setuser u >secret", vec![]),
            ("multi", vec![from(r#""multi""#)]),
            ("incr a", vec![]),
            ("exec", vec![from(r#""incr" "a""#), from(r#""EXEC""#)]),
            (
                "eval \"return redis.call('get','a')\" 0",
                vec![
                    from(r#""eval" "return redis.call('get','a')" "0""#),
                    "[0 lua] \"get\" \"a\"".to_owned(),
                ],
            ),
        ] {
            client.ask(request);
            assert_eq!(shown(&driver), expected, "{request}");
        }
        let long = "x".repeat(LONGEST_WORD + 5);
        client.send(format!("*3\r\n$3\r\nset\r\n$1\r\nk\r\n${}\r\n{long}\r\n", long.len()).as_bytes());
        assert!(shown(&driver)[0].ends_with("xxx... (5 more bytes)\""));
    }

    #[test]
    fn a_monitor_sees_itself_and_no_keys_and_ends_with_reset() {
        let driver = Driver::new();
        let (mut monitor, mut client) = (connect(&driver), connect(&driver));
        monitor.ask("monitor");
        monitor.check("ping", "+PONG\r\n");
        assert_eq!(shown(&driver), ["[0 127.0.0.1:5] \"ping\""]);
        monitor.check("get k", "-ERR Replica can't interact with the keyspace\r\n");
        assert!(monitor.ask("client info").contains(" flags=O "));
        shown(&driver);
        monitor.check("reset", "+RESET\r\n");
        shown(&driver);
        monitor.check("get k", "$-1\r\n");
        client.ask("ping");
        assert!(shown(&driver).is_empty() && !driver.shared.pushes.is_observed());
        client.check_all(
            "multi -> +OK|
             monitor -> +QUEUED|
             exec -> *1|-ERR MONITOR isn't allowed for DENY BLOCKING client|",
        );
    }
}
