//! Is each reply the one that a real redis-server gives, to the byte?
//!
//! `commands.txt` holds lines that run on both servers in order, in RESP2 and again in RESP3; `protocol.txt`
//! holds bytes that are sent as they are. Where we differ on purpose the line is not in these files but in
//! `docs` and in a test of its own.

use std::time::Duration;

use crate::client::Client;
use crate::server::{Redis, Server, is_durable};

/// Settings under which both should agree: the same cap and policy.
fn both() -> Option<(Server, Redis)> {
    let redis = Redis::start(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])?;
    Some((Server::start(&["--memory-limit", "100mb", "--maxmemory-policy", "allkeys-lru"]), redis))
}

fn compare_commands(hello: &str) {
    let Some((server, redis)) = both() else { return };
    let (mut ours, mut theirs) = (server.client(), redis.client());
    ours.ask(hello);
    theirs.ask(hello);
    let (mut count, mut differences) = (0, Vec::new());
    for line in include_str!("commands.txt").lines() {
        let is_of_eviction = line.contains("maxmemory-");
        if line.is_empty() || line.starts_with("# ") || (is_of_eviction && is_durable()) {
            continue;
        }
        count += 1;
        let (ours, theirs) = (ours.ask(line), theirs.ask(line));
        if ours != theirs {
            differences.push(format!(
                "{line}\n  ours  {}\n  redis {}",
                ours.escape_ascii(),
                theirs.escape_ascii()
            ));
        }
    }
    assert!(count >= 150, "only {count} lines were compared");
    assert!(
        differences.is_empty(),
        "{} of {count} replies differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
    println!("{count} replies are the same after {hello}");
}

#[test]
fn replies_are_redis_replies_in_resp2() {
    compare_commands("HELLO 2");
}

#[test]
fn replies_are_redis_replies_in_resp3() {
    compare_commands("HELLO 3");
}

/// What comes back for `bytes`, and whether the connection was closed.
fn exchange(mut client: Client, bytes: &[u8]) -> String {
    // A server may close before it has read all.
    let _ = client.try_send(bytes);
    let (reply, closed) = client.receive_to_end(Duration::from_millis(300));
    format!("{}{}", reply.escape_ascii(), if closed { " [closed]" } else { " [open]" })
}

#[test]
fn wrong_bytes_are_answered_as_redis_does() {
    let Some((server, redis)) = both() else { return };
    let (mut count, mut differences) = (0, Vec::new());
    for line in include_str!("protocol.txt").lines() {
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        count += 1;
        let bytes = line.replace("\\r", "\r").replace("\\n", "\n").into_bytes();
        let (ours, theirs) = (exchange(server.client(), &bytes), exchange(redis.client(), &bytes));
        if ours != theirs {
            differences.push(format!("{line}\n  ours  {ours}\n  redis {theirs}"));
        }
    }
    assert!(count >= 20, "only {count} lines were compared");
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn a_password_is_asked_for_as_redis_does() {
    let Some(redis) = Redis::start(&["--requirepass", "plumb"]) else { return };
    let server = Server::start(&["--password", "plumb"]);
    let (mut ours, mut theirs) = (server.client(), redis.client());
    for line in [
        "GET a",
        "PING",
        "NOSUCH",
        "GET",
        "HELLO 3",
        "HELLO 2",
        "CLIENT ID",
        "COMMAND COUNT",
        "AUTH",
        "AUTH a b c",
        "AUTH wrong",
        "AUTH default wrong",
        "AUTH nobody plumb",
        "HELLO 3 AUTH default wrong",
        "HELLO 3 SETNAME early AUTH default wrong",
        "HELLO 3 SETNAME early FOO",
        "MULTI",
        "EXEC",
        "EXEC x",
        "AUTH plumb",
        "CLIENT GETNAME",
        "SET a 1",
        "AUTH wrong",
        "GET a",
        "AUTH default plumb",
        "GET a",
    ] {
        assert_eq!(
            ours.ask(line).escape_ascii().to_string(),
            theirs.ask(line).escape_ascii().to_string(),
            "{line}"
        );
    }
    // Before the password, little may be announced.
    for bytes in [&b"*11\r\n"[..], b"*1\r\n$16385\r\n", b"QUIT\r\n"] {
        assert_eq!(
            exchange(server.client(), bytes),
            exchange(redis.client(), bytes),
            "{}",
            bytes.escape_ascii()
        );
    }
}

/// Patterns of the fields that `docs/observing.md` names as absent: what stands in code style between "These of Redis 7.0's fields are absent" and the end of that list.
fn absent_fields() -> Vec<String> {
    let docs = include_str!("../../docs/observing.md");
    let (_, rest) = docs.split_once("fields are absent").expect("the list of absent fields");
    let list = rest.split("\n\n").next().unwrap();
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn is_like(field: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => field == pattern,
        Some((start, end)) => field.starts_with(start) && field.ends_with(end),
    }
}

#[test]
fn info_has_redis_fields_but_for_those_that_the_documents_name() {
    let Some((server, redis)) = both() else { return };
    let fields = |mut client: Client| -> Vec<String> {
        client.ask("SET a 1");
        let text = String::from_utf8(client.bulk("INFO all").unwrap()).unwrap();
        let of_commands =
            |name: &str| ["cmdstat_", "errorstat_", "latency_"].iter().any(|start| name.starts_with(start));
        let names = text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_owned());
        names.filter(|name| !of_commands(name)).collect()
    };
    let (ours, theirs) = (fields(server.client()), fields(redis.client()));
    assert!(theirs.len() > 150, "{} fields", theirs.len());
    let absent = absent_fields();
    let missing: Vec<&String> = theirs
        .iter()
        .filter(|name| !ours.contains(name) && !absent.iter().any(|pattern| is_like(name, pattern)))
        .collect();
    assert!(missing.is_empty(), "neither in INFO nor named as absent: {missing:?}");
    let wrong: Vec<&String> =
        absent.iter().filter(|pattern| ours.iter().any(|name| is_like(name, pattern))).collect();
    assert!(wrong.is_empty(), "named as absent, and there: {wrong:?}");
    let mut twice = ours.clone();
    twice.sort();
    twice.dedup();
    assert_eq!(twice.len(), ours.len(), "a field is there twice");
}
