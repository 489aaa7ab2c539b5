//! Do keys live exactly as long as they were given?

use std::time::{Duration, Instant};

use crate::server::{Server, eventually, is_durable};

#[test]
fn keys_expire_when_read_and_when_not() {
    let server = Server::start(&[]);
    let mut c = server.client();
    let begun = Instant::now();
    c.check("SET short x PX 60", b"+OK\r\n");
    let short = c.bulk("GET short");
    // A busy machine may take longer than that for two requests.
    assert!(short.is_some_and(|value| value == b"x") || begun.elapsed() >= Duration::from_millis(60));
    c.check("SET long x EX 100", b"+OK\r\n");
    c.check("SETEX also 100 x", b"+OK\r\n");
    let left = c.integer("PTTL long");
    assert!((90_000..=100_000).contains(&left), "{left}");
    assert!((99..=100).contains(&c.integer("TTL long")));
    std::thread::sleep(Duration::from_millis(80));
    c.check("GET short", b"$-1\r\n");
    c.check("TTL short", b":-2\r\n");
    if is_durable() {
        // There they go when tables are merged, and nobody counts them.
        return;
    }
    // Nobody asks for these again: the server has to find them itself.
    for i in 0..500 {
        c.check(&format!("SET brief:{i} x PX 50"), b"+OK\r\n");
    }
    eventually("expired keys are removed unasked", || c.integer("DBSIZE") == 2);
    assert!(c.info("expired_keys") >= 501);
}

#[test]
fn lifetimes_are_changed_kept_and_dropped() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.check("SET a 1", b"+OK\r\n");
    c.check("TTL a", b":-1\r\n");
    c.check("EXPIRE a 100", b":1\r\n");
    c.check("EXPIRE a 200 NX", b":0\r\n");
    c.check("EXPIRE a 50 GT", b":0\r\n");
    c.check("EXPIRE a 50 LT", b":1\r\n");
    c.check("EXPIRE nothing 50", b":0\r\n");
    c.check("SET a 2 KEEPTTL", b"+OK\r\n");
    assert!(c.integer("TTL a") > 40);
    c.check("INCR a", b":3\r\n");
    c.check("APPEND a 0", b":2\r\n");
    assert!(c.integer("TTL a") > 40);
    c.check("PERSIST a", b":1\r\n");
    c.check("PERSIST a", b":0\r\n");
    c.check("GETEX a EX 100", b"$2\r\n30\r\n");
    assert!(c.integer("TTL a") > 90);
    c.check("RENAME a b", b"+OK\r\n");
    assert!(c.integer("TTL b") > 90);
    c.check("SET b 1", b"+OK\r\n");
    c.check("TTL b", b":-1\r\n");
    c.check("EXPIREAT b 1", b":1\r\n");
    c.check("EXISTS b", b":0\r\n");
}

#[test]
fn a_month_does_not_overflow_into_now() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.check("SET a 1 EX 2592000", b"+OK\r\n");
    std::thread::sleep(Duration::from_millis(250));
    assert!(c.integer("TTL a") > 2_591_990);
    c.check("EXPIRE a 315360000", b":1\r\n");
    std::thread::sleep(Duration::from_millis(250));
    assert!(c.integer("TTL a") > 315_359_990);
    c.check("PEXPIREAT a 33000000000000", b":1\r\n");
    c.check("PEXPIRETIME a", b":33000000000000\r\n");
}
