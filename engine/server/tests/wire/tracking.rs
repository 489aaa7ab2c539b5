//! Tracked keys: messages arrive at real clients, between whole replies, and a cache that follows them is never stale.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plumbkv_resp::{Limits, Parsed, Reply, parse_reply};

use crate::client::{Client, request};
use crate::server::{Server, eventually};

/// A connection with RESP3.
fn connect(port: u16) -> Client {
    let mut client = Client::tcp(("127.0.0.1", port));
    client.ask("HELLO 3");
    client
}

/// The key of a message; `None` of a reply. An empty one stands for all keys.
fn invalidated(bytes: &[u8]) -> Option<Vec<u8>> {
    let Parsed::Complete { value: Reply::Push(parts), .. } = parse_reply(bytes, &Limits::default()) else {
        return None;
    };
    match &parts[..] {
        [Reply::Bulk(b"invalidate"), Reply::Array(keys)] => match keys[..] {
            [Reply::Bulk(key)] => Some(key.to_vec()),
            _ => panic!("{keys:?}"),
        },
        [Reply::Bulk(b"invalidate"), Reply::Null] => Some(Vec::new()),
        _ => panic!("{parts:?}"),
    }
}

#[test]
fn an_idle_client_is_told() {
    let server = Server::start(&["--io-threads", "2"]);
    let mut writer = server.client();
    // On either thread.
    let mut readers: Vec<Client> = (0..4).map(|_| connect(server.port)).collect();
    for reader in &mut readers {
        reader.check("CLIENT TRACKING ON", b"+OK\r\n");
        reader.check("GET k", b"_\r\n");
    }
    writer.check("SET k 1", b"+OK\r\n");
    for reader in &mut readers {
        assert_eq!(reader.receive(), b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n");
    }
    writer.check("FLUSHALL", b"+OK\r\n");
    for reader in &mut readers {
        assert_eq!(reader.receive(), b">2\r\n$10\r\ninvalidate\r\n_\r\n");
    }
    assert_eq!(writer.info("tracking_clients"), 4);
    drop(readers);
    eventually("clients that are gone do not track", || writer.info("tracking_clients") == 0);
}

#[test]
fn a_key_that_expires_is_told_too() {
    let server = Server::start(&[]);
    let mut reader = connect(server.port);
    server.client().check("SET k v PX 200", b"+OK\r\n");
    reader.check("CLIENT TRACKING ON", b"+OK\r\n");
    reader.check("GET k", b"$1\r\nv\r\n");
    assert_eq!(invalidated(&reader.receive()).unwrap(), b"k");
}

/// Replies are whole, however many messages come between them.
#[test]
fn messages_come_between_replies_and_never_within_one() {
    let server = Server::start(&["--io-threads", "2"]);
    let mut reader = connect(server.port);
    let value = "x".repeat(20_000);
    for key in 0..20 {
        reader.check(&format!("SET k{key} {value}"), b"+OK\r\n");
    }
    reader.check("CLIENT TRACKING ON BCAST PREFIX n", b"+OK\r\n");
    let is_over = AtomicBool::new(false);
    let port = server.port;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = Client::tcp(("127.0.0.1", port));
            while !is_over.load(Ordering::Relaxed) {
                writer.check("INCR n", format!(":{}\r\n", writer_count()).as_bytes());
            }
        });
        let requests: Vec<u8> =
            (0..400).flat_map(|number| request(&format!("GET k{}", number % 20))).collect();
        // The writer is under way.
        assert_eq!(invalidated(&reader.receive()).unwrap(), b"n");
        let sender = reader.send_beside(requests);
        let expected = format!("$20000\r\n{value}\r\n");
        let (mut replies, mut messages) = (0, 0);
        while replies < 400 {
            let bytes = reader.receive();
            match invalidated(&bytes) {
                Some(key) => {
                    assert_eq!(key, b"n");
                    messages += 1;
                }
                None => {
                    assert!(bytes == expected.as_bytes());
                    replies += 1;
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
        sender.join().unwrap();
        assert!(messages > 0);
    });
}

/// How often the writer of the test has been asked.
fn writer_count() -> u64 {
    use std::sync::atomic::AtomicU64;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed) + 1
}

/// Clients that keep what they read until they are told otherwise, beside others that write: in the end nobody has an old value.
#[test]
fn a_cache_that_follows_the_messages_is_never_stale() {
    let server = Server::start(&["--io-threads", "2"]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|seed| {
                let (port, is_over) = (server.port, &is_over);
                scope.spawn(move || {
                    let mut client = connect(port);
                    client.check("CLIENT TRACKING ON", b"+OK\r\n");
                    let mut random = fastrand::Rng::with_seed(seed);
                    let mut cache: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
                    let mut is_last = false;
                    loop {
                        let key = format!("k{}", random.u32(..50)).into_bytes();
                        let ask = if is_last {
                            "PING".to_owned()
                        } else {
                            format!("GET k{}", &String::from_utf8_lossy(&key)[1..])
                        };
                        client.send(&request(&ask));
                        let reply = loop {
                            let bytes = client.receive();
                            match invalidated(&bytes) {
                                Some(key) => drop(cache.remove(&key)),
                                None => break bytes,
                            }
                        };
                        if is_last {
                            return cache;
                        }
                        cache.insert(key, reply);
                        if is_over.load(Ordering::SeqCst) {
                            // What was written before has been told once this reply is there.
                            std::thread::sleep(Duration::from_millis(300));
                            is_last = true;
                        }
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (10..12)
            .map(|seed| {
                let port = server.port;
                scope.spawn(move || {
                    let mut client = Client::tcp(("127.0.0.1", port));
                    let mut random = fastrand::Rng::with_seed(seed);
                    for number in 0..3_000 {
                        let key = random.u32(..50);
                        match random.u32(..10) {
                            0 => client.send(&request(&format!("DEL k{key}"))),
                            1 => client
                                .send(&request(&format!("EVAL \"return redis.call('incr', 'k{key}')\" 0"))),
                            _ => client.send(&request(&format!("SET k{key} {number}"))),
                        }
                        client.receive();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_over.store(true, Ordering::SeqCst);
        let caches: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        let mut client = connect(server.port);
        for cache in caches {
            assert!(!cache.is_empty());
            for (key, value) in cache {
                let now = client.ask(&format!("GET {}", String::from_utf8_lossy(&key)));
                assert_eq!(
                    now.escape_ascii().to_string(),
                    value.escape_ascii().to_string(),
                    "{}",
                    key.escape_ascii()
                );
            }
        }
    });
}

#[test]
fn a_client_that_does_not_read_its_messages_is_disconnected_at_the_limit() {
    let server = Server::start(&[]);
    let mut writer = server.client();
    writer.check("CONFIG SET client-output-buffer-limit 1mb", b"+OK\r\n");
    let mut deaf = connect(server.port);
    deaf.check("CLIENT TRACKING ON BCAST", b"+OK\r\n");
    assert_eq!(writer.info("tracking_clients"), 1);
    let before = writer.info("used_memory_rss");
    let key = "k".repeat(1000);
    for number in 0..60 {
        let requests: Vec<u8> =
            (0..500).flat_map(|place| request(&format!("SET {key}:{number}:{place} x"))).collect();
        writer.send(&requests);
        (0..500).for_each(|_| drop(writer.receive()));
    }
    assert!(writer.info("used_memory_rss") < before + (150 << 20));
    // It did not take 30 MB of messages, and is told why nothing follows.
    let (said, is_closed) = deaf.receive_to_end(Duration::from_secs(20));
    let end = &said[said.len().saturating_sub(120)..];
    let is_told =
        end.ends_with(b" exceed client-output-buffer-limit (1048576 bytes); the connection is closed\r\n");
    assert!(is_closed && is_told, "{is_closed} {}: {}", said.len(), end.escape_ascii());
    eventually("it does not track any more", || writer.info("tracking_clients") == 0);
}
