//! Is the cap a cap? What is evicted, what is refused, and what the process really takes.

use crate::client::{noise, request_of};
use crate::server::{Server, is_left_out};

/// Resident bytes of a process, from the kernel.
pub(crate) fn rss(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn the_oldest_go_and_the_newest_stay() {
    if is_left_out() {
        return;
    }
    let server = Server::start(&["--memory-limit", "2mib", "--maxmemory-policy", "allkeys-lru"]);
    let mut c = server.client();
    let before = rss(server.pid());
    for i in 1..=4000u32 {
        c.send(&request_of(&[b"SET", format!("key:{i}").as_bytes(), &noise(1024, u64::from(i))]));
        assert_eq!(c.receive(), b"+OK\r\n", "key {i}");
        if i % 250 == 0 {
            assert!(c.info("used_memory") <= 2 << 20, "after key {i}");
        }
    }
    let grown = rss(server.pid()).saturating_sub(before);
    assert!(grown <= 2 << 20, "2 MiB of data made the process grow by {grown} bytes");
    let mut exists = |i: u32| c.integer(&format!("EXISTS key:{i}")) == 1;
    let gone = [1, 2, 3, 10, 50, 100].into_iter().filter(|&i| !exists(i)).count();
    assert!(gone >= 3, "only {gone} of the six early keys are gone");
    let gone = (1..=1000).filter(|&i| !exists(i)).count();
    assert!(gone >= 900, "only {gone} of the first 1,000 are gone");
    assert!((3996..=4000).all(exists), "one of the last five is gone");
    let last = c.bulk("GET key:4000").unwrap();
    assert!(last == noise(1024, 4000));
    let keys = c.integer("DBSIZE");
    assert!((1000..=2048).contains(&keys), "{keys}");
    assert_eq!(c.info("evicted_keys"), 4000 - u64::try_from(keys).unwrap());

    // A value that cannot fit is refused, and nobody has to go for it.
    c.send(&request_of(&[b"SET", b"big", &noise(3 << 20, 1)]));
    let refused = String::from_utf8(c.receive()).unwrap();
    assert!(refused.starts_with("-OOM "), "{refused}");
    let after = c.integer("DBSIZE");
    assert_eq!(after, keys);
    assert_eq!(c.integer("EXISTS big"), 0);
}

#[test]
fn without_eviction_writes_are_refused_and_reads_go_on() {
    if is_left_out() {
        return;
    }
    let server = Server::start(&["--memory-limit", "2mib", "--maxmemory-policy", "noeviction"]);
    let mut c = server.client();
    let mut stored = 0;
    let refusal = loop {
        c.send(&request_of(&[b"SET", format!("key:{stored}").as_bytes(), &noise(1024, stored)]));
        let reply = c.receive();
        if reply != b"+OK\r\n" {
            break reply;
        }
        stored += 1;
        assert!(stored < 3000, "3,000 KiB fit into 2 MiB");
    };
    assert_eq!(
        String::from_utf8_lossy(&refusal),
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
    );
    assert!(stored > 1000, "only {stored} KiB fit into 2 MiB");
    assert!(c.bulk("GET key:0").unwrap() == noise(1024, 0));
    assert_eq!(c.info("evicted_keys"), 0);
    assert_eq!(c.integer("DBSIZE"), i64::try_from(stored).unwrap());
    for i in 0..20 {
        c.check(&format!("DEL key:{i}"), b":1\r\n");
    }
    c.send(&request_of(&[b"SET", b"again", &noise(1024, 0)]));
    assert_eq!(c.receive(), b"+OK\r\n");
}

#[test]
fn volatile_policies_spare_keys_without_lifetime() {
    if is_left_out() {
        return;
    }
    let server = Server::start(&["--memory-limit", "2mib", "--maxmemory-policy", "volatile-lru"]);
    let mut c = server.client();
    for i in 0..500u32 {
        c.send(&request_of(&[b"SET", format!("stays:{i}").as_bytes(), &noise(1024, 1)]));
        assert_eq!(c.receive(), b"+OK\r\n");
    }
    for i in 0..4000u32 {
        c.send(&request_of(&[b"SET", format!("goes:{i}").as_bytes(), &noise(1024, 1), b"EX", b"1000"]));
        assert_eq!(c.receive(), b"+OK\r\n", "key {i}");
    }
    assert!((0..500).all(|i| c.integer(&format!("EXISTS stays:{i}")) == 1));
    assert!(c.info("evicted_keys") > 2000);
}

#[test]
fn overwriting_at_the_cap_keeps_the_key_and_the_count() {
    if is_left_out() {
        return;
    }
    let server = Server::start(&["--memory-limit", "2mib"]);
    let mut c = server.client();
    for i in 0..4000u32 {
        c.send(&request_of(&[b"SET", b"same", &noise(1 + (i as usize * 37) % 200_000, 1)]));
        assert_eq!(c.receive(), b"+OK\r\n");
    }
    assert_eq!(c.integer("DBSIZE"), 1);
    assert_eq!(c.info("evicted_keys"), 0);
    let used = c.info("used_memory");
    c.check("DEL same", b":1\r\n");
    assert!(c.info("used_memory") < used && c.info("used_memory") <= 2 << 20);
}
