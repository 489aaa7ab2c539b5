//! Databases 0 to 15: each connection has its own, and what is done in one is seen in no other.

use rustix::process::Signal;

use crate::server::{Server, plumbkv};

#[test]
fn each_connection_sees_the_keys_of_its_own_database() {
    let server = Server::start(&["--io-threads", "2"]);
    let mut clients: Vec<_> = (0..16).map(|_| server.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.check(&format!("SELECT {number}"), b"+OK\r\n");
        client.check(&format!("SET k {number}"), b"+OK\r\n");
        client.check(&format!("MSET a{number} 1 \"\\xffks\\x9d\\xc4\\x00{number}\" 2"), b"+OK\r\n");
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let text = number.to_string();
        client.check("GET k", format!("${}\r\n{text}\r\n", text.len()).as_bytes());
        client.check("DBSIZE", b":3\r\n");
        let mut keys = client.scan("COUNT 1");
        keys.sort_unstable();
        let marked = [b"\xffks\x9d\xc4\x00".as_slice(), text.as_bytes()].concat();
        assert_eq!(keys, [format!("a{number}").into_bytes(), b"k".to_vec(), marked]);
        client.check(&format!("EXISTS a{number} a{} k", (number + 1) % 16), b":2\r\n");
        let line = client.bulk("CLIENT INFO").unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(line.contains(&format!(" db={number} ")), "{line}");
    }
    let keyspace = String::from_utf8(clients[0].bulk("INFO keyspace").unwrap()).unwrap();
    let expected: String =
        (0..16).map(|number| format!("db{number}:keys=3,expires=0,avg_ttl=0\r\n")).collect();
    assert_eq!(keyspace, format!("# Keyspace\r\n{expected}"));
    clients[3].check("FLUSHDB", b"+OK\r\n");
    clients[0].check("FLUSHDB", b"+OK\r\n");
    for (number, client) in clients.iter_mut().enumerate() {
        client.check("DBSIZE", if [0, 3].contains(&number) { b":0\r\n" } else { b":3\r\n" });
    }
    clients[5].check("FLUSHALL", b"+OK\r\n");
    for client in &mut clients {
        client.check("DBSIZE", b":0\r\n");
        client.check("RANDOMKEY", b"$-1\r\n");
        client.check("KEYS *", b"*0\r\n");
    }
}

#[test]
fn watches_and_monitors_know_the_database() {
    let server = Server::start(&[]);
    let (mut one, mut other) = (server.client(), server.client());
    let mut monitor = server.client();
    other.check("SELECT 7", b"+OK\r\n");
    for (writes, is_broken) in [("SET w 1", false), ("MOVE w 0", true), ("SWAPDB 0 7", true)] {
        one.check("FLUSHALL", b"+OK\r\n");
        one.check("WATCH w", b"+OK\r\n");
        other.check("SET w 0", b"+OK\r\n");
        other.ask(writes);
        one.check("MULTI", b"+OK\r\n");
        one.check("PING", b"+QUEUED\r\n");
        one.check("EXEC", if is_broken { b"*-1\r\n" } else { b"*1\r\n+PONG\r\n" });
    }
    // Database 7 has what 0 had.
    monitor.check("MONITOR", b"+OK\r\n");
    other.check("SET shown 1", b"+OK\r\n");
    let line = String::from_utf8(monitor.receive()).unwrap();
    assert!(line.contains(" [7 127.0.0.1:") && line.ends_with("] \"SET\" \"shown\" \"1\"\r\n"), "{line}");
    other.check("EVAL \"return redis.call('get', 'shown')\" 0", b"$1\r\n1\r\n");
    monitor.receive();
    let line = String::from_utf8(monitor.receive()).unwrap();
    assert!(line.ends_with(" [7 lua] \"get\" \"shown\"\r\n"), "{line}");
    other.check("RESET", b"+RESET\r\n");
    other.check("EXISTS shown", b":0\r\n");
}

#[test]
fn a_watch_stays_with_its_database_when_two_are_swapped() {
    let server = Server::start(&[]);
    let (mut one, mut writers) = (server.client(), [server.client(), server.client()]);
    one.check("SELECT 1", b"+OK\r\n");
    writers[1].check("SELECT 1", b"+OK\r\n");
    for swaps in 0..4 {
        for (database, writer) in writers.iter_mut().enumerate() {
            one.check("FLUSHALL", b"+OK\r\n");
            one.check("WATCH w", b"+OK\r\n");
            (0..swaps).for_each(|_| writer.check("SWAPDB 0 1", b"+OK\r\n"));
            writer.check("SET w 1", b"+OK\r\n");
            one.check("MULTI", b"+OK\r\n");
            one.check("PING", b"+QUEUED\r\n");
            one.check("EXEC", if database == 1 { b"*-1\r\n" } else { b"*1\r\n+PONG\r\n" });
        }
    }
    // What it watches is counted, and is given back under its new name.
    let before = one.info("used_memory");
    for _ in 0..10_000 {
        one.check("WATCH w", b"+OK\r\n");
        one.check("SWAPDB 0 1", b"+OK\r\n");
        one.check("UNWATCH", b"+OK\r\n");
    }
    let after = one.info("used_memory");
    assert!(after < before + 100_000, "{before} bytes before, {after} after");
}

#[test]
fn a_client_that_keeps_values_hears_of_its_own_database() {
    let server = Server::start(&[]);
    let (mut one, mut other) = (server.client(), server.client());
    one.ask("HELLO 3");
    one.check("CLIENT TRACKING ON", b"+OK\r\n");
    one.check("SELECT 2", b"+OK\r\n");
    one.check("GET k", b"_\r\n");
    other.check("SET k 1", b"+OK\r\n");
    other.check("SELECT 2", b"+OK\r\n");
    other.check("SET k 2", b"+OK\r\n");
    assert_eq!(one.receive(), b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n");
    one.check("PING", b"+PONG\r\n");
}

#[test]
fn a_directory_keeps_all_databases_and_their_order_through_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", path];
    let mut server = Server::spawn(plumbkv(&arguments));
    let mut client = server.client();
    for number in 0..16 {
        client.check(&format!("SELECT {number}"), b"+OK\r\n");
        client.check(&format!("SET k {number}"), b"+OK\r\n");
    }
    client.check("SWAPDB 0 15", b"+OK\r\n");
    client.check("SWAPDB 1 15", b"+OK\r\n");
    client.check("SELECT 9", b"+OK\r\n");
    client.check("FLUSHDB", b"+OK\r\n");
    for round in 0..2 {
        server.signal(Signal::KILL);
        server.wait();
        server = Server::spawn(plumbkv(&arguments));
        client = server.client();
        for (number, value) in [(0, "15"), (1, "0"), (2, "2"), (14, "14"), (15, "1")] {
            client.check(&format!("SELECT {number}"), b"+OK\r\n");
            let expected = format!("${}\r\n{value}\r\n", value.len());
            client.check("GET k", if round == 0 { expected.as_bytes() } else { b"$-1\r\n" });
            client.check("DBSIZE", if round == 0 { b":1\r\n" } else { b":0\r\n" });
        }
        client.check("SELECT 9", b"+OK\r\n");
        client.check("DBSIZE", b":0\r\n");
        client.check("FLUSHALL", b"+OK\r\n");
    }
    client.check("SELECT 15", b"+OK\r\n");
    client.check("SET last 1", b"+OK\r\n");
    client.check("SWAPDB 1 15", b"+OK\r\n");
    client.check("DBSIZE", b":0\r\n");
    client.check("SELECT 1", b"+OK\r\n");
    client.check("GET last", b"$1\r\n1\r\n");
    server.signal(Signal::TERM);
    server.wait();
}
