//! Commands on keys: replies and error texts as Redis 7.0 gives them.

use std::collections::HashSet;

use crate::session::test_support::Driver;

#[test]
fn keys_are_counted_removed_and_renamed() {
    Driver::new().connect().check_all(
        "mset a 1 b 2 c 3 -> +OK|
         exists a b a none -> :3|
         del a none -> :1|
         unlink b b -> :1|
         type c -> +string|
         type a -> +none|
         rename c d -> +OK|
         get d -> $1|3|
         rename c e -> -ERR no such key|
         rename d d -> +OK|
         rename none none -> -ERR no such key|
         set e old -> +OK|
         rename d e -> +OK|
         mget d e -> *2|$-1|$1|3|
         dbsize -> :1|",
    );
}

#[test]
fn keys_are_renamed_and_copied_unless_the_target_is_there() {
    Driver::new().connect().check_all(
        "set a 1 ex 100 -> +OK|
         renamenx a b -> :1|
         ttl b -> :100|
         exists a -> :0|
         set a 2 -> +OK|
         renamenx a b -> :0|
         mget a b -> *2|$1|2|$1|1|
         renamenx a a -> :0|
         renamenx none b -> -ERR no such key|
         renamenx none none -> -ERR no such key|
         copy b c -> :1|
         mget b c -> *2|$1|1|$1|1|
         ttl c -> :100|
         copy a c -> :0|
         copy a c replace -> :1|
         ttl c -> :-1|
         mget a c -> *2|$1|2|$1|2|
         copy none c replace -> :0|
         get c -> $1|2|
         copy a d db 0 -> :1|
         copy a d DB 16 REPLACE -> -ERR DB index is out of range|
         copy a d db x -> -ERR value is not an integer or out of range|
         copy a d db -> -ERR syntax error|
         copy a d other -> -ERR syntax error|
         copy a a -> -ERR source and destination objects are the same|
         copy a -> -ERR wrong number of arguments for 'copy' command|
         touch a b none a -> :3|
         dbsize -> :4|",
    );
}

#[test]
fn lifetimes_are_set_read_and_removed() {
    Driver::new().connect().check_all(
        "ttl k -> :-2|
         pttl k -> :-2|
         expiretime k -> :-2|
         expire k 10 -> :0|
         set k v -> +OK|
         ttl k -> :-1|
         pexpiretime k -> :-1|
         expire k 100 -> :1|
         ttl k -> :100|
         pexpire k 2400 -> :1|
         ttl k -> :2|
         pttl k -> :2400|
         persist k -> :1|
         persist k -> :0|
         persist none -> :0|
         expireat k 99999999999 -> :1|
         expiretime k -> :99999999999|
         pexpireat k 99999999999999 -> :1|
         pexpiretime k -> :99999999999999|
         expiretime k -> :100000000000|
         expire k 2592000 -> :1|
         ttl k -> :2592000|
         expire k -1 -> :1|
         exists k -> :0|
         set k v -> +OK|
         expire k 0 -> :1|
         exists k -> :0|",
    );
}

#[test]
fn expire_obeys_its_conditions() {
    Driver::new().connect().check_all(
        "set k v -> +OK|
         expire k 10 xx -> :0|
         expire k 10 gt -> :0|
         expire k 10 xx lt -> :0|
         expire k 10 xx gt -> :0|
         ttl k -> :-1|
         expire k 10 lt -> :1|
         expire k 20 nx -> :0|
         expire k 20 lt -> :0|
         expire k 20 gt -> :1|
         expire k 5 xx lt -> :1|
         expire k 30 XX -> :1|
         ttl k -> :30|
         persist k -> :1|
         expire k 10 nx -> :1|
         expire k 10 foo -> -ERR Unsupported option foo|
         expire k 10 nx xx -> -ERR NX and XX, GT or LT options at the same time are not compatible|
         expire k 10 gt lt -> -ERR GT and LT options at the same time are not compatible|
         expire k ten -> -ERR value is not an integer or out of range|
         expire k 9223372036854775807 -> -ERR invalid expire time in 'expire' command|
         pexpire k 9223372036854775807 -> -ERR invalid expire time in 'pexpire' command|
         expireat k 9223372036854775807 -> -ERR invalid expire time in 'expireat' command|
         ttl k -> :10|",
    );
}

#[test]
fn keys_and_scan_find_by_pattern() {
    let driver = Driver::new();
    let mut client = driver.connect();
    for key in 0..200 {
        client.ask(&format!("set user:{key} v"));
    }
    client.check_all(
        "keys user:7 -> *1|$6|user:7|
         keys none* -> *0|
         scan x -> -ERR invalid cursor|
         scan 0 count 0 -> -ERR syntax error|
         scan 0 count -1 -> -ERR syntax error|
         scan 0 count ten -> -ERR value is not an integer or out of range|
         scan 0 nonsense -> -ERR syntax error|
         scan 0 count -> -ERR syntax error|",
    );
    assert!(client.ask("keys user:1*").starts_with("*111\r\n"));
    assert!(client.ask("keys *").starts_with("*200\r\n"));
    assert_eq!(scan_all(&mut client, "").len(), 200);
    assert_eq!(scan_all(&mut client, " match user:1* count 7").len(), 111);
    assert_eq!(scan_all(&mut client, " type string").len(), 200);
    assert!(scan_all(&mut client, " type list").is_empty());
}

#[test]
fn a_scan_of_few_keys_ends_with_its_first_call() {
    let driver = Driver::with_options(|options| options, 4 << 30);
    let mut client = driver.connect();
    client.check_all(
        "scan 0 -> *2|$1|0|*0|
         set k v -> +OK|
         scan 0 -> *2|$1|0|*1|$1|k|
         scan 0 count 1000000 -> *2|$1|0|*1|$1|k|",
    );
    assert!(driver.shared.database.stats().shards > 256);
}

#[test]
fn cursors_are_read_as_by_strtoul() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("set k v", "+OK\r\n");
    let mut ask = |cursor: &[u8]| {
        let mut wire = Vec::new();
        plumbkv_resp::compose(&[b"SCAN", cursor], &mut wire);
        client.send(&wire)
    };
    for cursor in [&b"00"[..], b"-0", b"+0", b"0\0", b"", b"\0"] {
        assert_eq!(ask(cursor), b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n", "{}", cursor.escape_ascii());
    }
    for cursor in [&b"x"[..], b" 0", b"0 ", b"+", b"-", b"+-0", b"18446744073709551616", b"\xff"] {
        assert_eq!(ask(cursor), b"-ERR invalid cursor\r\n", "{}", cursor.escape_ascii());
    }
}

fn scan_all(client: &mut crate::session::test_support::Talk<'_>, options: &str) -> HashSet<String> {
    let mut cursor = "0".to_owned();
    let mut found = HashSet::new();
    for _ in 0..10_000 {
        let reply = client.ask(&format!("scan {cursor}{options}"));
        let mut lines = reply.split("\r\n").map(str::to_owned);
        assert_eq!(lines.next().unwrap(), "*2");
        cursor = lines.nth(1).unwrap();
        let count: usize = lines.next().unwrap()[1..].parse().unwrap();
        let keys: Vec<String> = lines.skip(1).step_by(2).take(count).collect();
        assert_eq!(keys.len(), count);
        found.extend(keys);
        if cursor == "0" {
            return found;
        }
    }
    panic!("the scan does not end");
}

#[test]
fn forms_of_values_and_random_keys_are_told() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("randomkey", "$-1\r\n");
    client.check_all(
        "mset a 123 b hello d 12345678901234567890 -> +OK|
         set c xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx -> +OK|
         object encoding a -> $3|int|
         object encoding b -> $6|embstr|
         object encoding c -> $3|raw|
         object encoding d -> $6|embstr|
         object encoding none -> $-1|
         object refcount b -> :1|
         object refcount none -> $-1|
         object encoding -> -ERR wrong number of arguments for 'object|encoding' command|
         object nosuch a -> -ERR unknown subcommand 'nosuch'. Try OBJECT HELP.|",
    );
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..1000 {
        seen.insert(client.ask("randomkey"));
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}
