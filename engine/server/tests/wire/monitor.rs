//! Monitors: every request that is executed is shown, once, on whatever thread.

use crate::client::Client;
use crate::server::Server;

/// The words of the next lines that a monitor is shown.
fn shown(monitor: &mut Client, count: usize) -> Vec<String> {
    let words = |line: Vec<u8>| {
        let line = String::from_utf8(line).unwrap();
        line.trim_end().split_once("] ").unwrap_or_else(|| panic!("{line}")).1.to_owned()
    };
    (0..count).map(|_| words(monitor.receive())).collect()
}

#[test]
fn requests_of_all_clients_are_shown_once_and_in_their_order() {
    let server = Server::start(&["--io-threads", "2"]);
    let mut monitor = server.client();
    monitor.check("MONITOR", b"+OK\r\n");
    let (mut one, mut other) = (server.client(), server.client());
    let mut expected = Vec::new();
    for number in 0..50 {
        one.check(&format!("SET k{number} v"), b"+OK\r\n");
        other.check(&format!("GET k{number}"), b"$1\r\nv\r\n");
        expected.extend([format!("\"SET\" \"k{number}\" \"v\""), format!("\"GET\" \"k{number}\"")]);
    }
    assert_eq!(shown(&mut monitor, 100), expected);
    one.check("MULTI", b"+OK\r\n");
    one.check("DEL k0 k1", b"+QUEUED\r\n");
    one.check("EXEC", b"*1\r\n:2\r\n");
    one.check("EVAL \"return redis.call('exists', 'k2')\" 0", b":1\r\n");
    let expected = [
        "\"MULTI\"",
        "\"DEL\" \"k0\" \"k1\"",
        "\"EXEC\"",
        "\"EVAL\" \"return redis.call('exists', 'k2')\" \"0\"",
        "\"exists\" \"k2\"",
    ];
    assert_eq!(shown(&mut monitor, 5), expected);
    // What many words say goes to a worker where the store is on disk.
    let keys: Vec<String> = (0..200).map(|number| format!("k{number}")).collect();
    one.ask(&format!("MGET {}", keys.join(" ")));
    one.check("PING", b"+PONG\r\n");
    let lines = shown(&mut monitor, 2);
    assert!(lines[0].starts_with("\"MGET\" \"k0\"") && lines[0].ends_with("\"k199\""), "{lines:?}");
    assert_eq!(lines[1], "\"PING\"");
    monitor.check("RESET", b"+RESET\r\n");
    one.check("PING", b"+PONG\r\n");
    monitor.check("PING", b"+PONG\r\n");
}
