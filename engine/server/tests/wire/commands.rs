//! Does each family of commands do what its documentation says, in Redis's words?

use crate::client::Client;
use crate::server::{Server, is_durable, is_left_out};

#[test]
fn strings_are_set_read_and_counted() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.check("SET a 1", b"+OK\r\n");
    c.check("GET a", b"$1\r\n1\r\n");
    c.check("GET nothing", b"$-1\r\n");
    c.check("SET a 2 NX", b"$-1\r\n");
    c.check("SET b 2 XX", b"$-1\r\n");
    c.check("SET a 2 XX GET", b"$1\r\n1\r\n");
    c.check("SETNX a 3", b":0\r\n");
    c.check("SETNX c 3", b":1\r\n");
    c.check("GETSET c 4", b"$1\r\n3\r\n");
    c.check("GETDEL c", b"$1\r\n4\r\n");
    c.check("GETDEL c", b"$-1\r\n");
    c.check("MSET x 1 y 2 x 3", b"+OK\r\n");
    c.check("MGET x nothing y", b"*3\r\n$1\r\n3\r\n$-1\r\n$1\r\n2\r\n");
    c.check("APPEND x abc", b":4\r\n");
    c.check("STRLEN x", b":4\r\n");
    c.check("STRLEN nothing", b":0\r\n");
    c.check("INCR n", b":1\r\n");
    c.check("INCRBY n 41", b":42\r\n");
    c.check("DECR n", b":41\r\n");
    c.check("DECRBY n 50", b":-9\r\n");
    c.check("INCR x", b"-ERR value is not an integer or out of range\r\n");
    c.check("SET n 9223372036854775807", b"+OK\r\n");
    c.check("INCR n", b"-ERR increment or decrement would overflow\r\n");
    c.check("GET n", b"$19\r\n9223372036854775807\r\n");
}

#[track_caller]
fn check_size(c: &mut Client, keys: i64) {
    assert_eq!(c.integer("DBSIZE"), keys);
    assert_eq!(c.scan("").len(), usize::try_from(keys).unwrap());
}

#[test]
fn keys_are_counted_renamed_and_removed() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.check("MSET a 1 b 2 c 3", b"+OK\r\n");
    c.check("EXISTS a b nothing a", b":3\r\n");
    c.check("TYPE a", b"+string\r\n");
    c.check("TYPE nothing", b"+none\r\n");
    c.check("RENAME a z", b"+OK\r\n");
    c.check("RENAME a z", b"-ERR no such key\r\n");
    c.check("GET z", b"$1\r\n1\r\n");
    check_size(&mut c, 3);
    c.check("DEL z nothing", b":1\r\n");
    c.check("UNLINK b c", b":2\r\n");
    check_size(&mut c, 0);
    c.check("MSET k:1 a k:2 b other c", b"+OK\r\n");
    c.check("KEYS k:1", b"*1\r\n$3\r\nk:1\r\n");
    let mut found = c.scan("MATCH k:* COUNT 1");
    found.sort();
    assert_eq!(found, [b"k:1".to_vec(), b"k:2".to_vec()]);
    c.check("FLUSHDB", b"+OK\r\n");
    c.check("SET a 1", b"+OK\r\n");
    c.check("FLUSHALL ASYNC", b"+OK\r\n");
    c.check("DBSIZE", b":0\r\n");
}

#[test]
fn a_scan_returns_every_key_while_others_come_and_go() {
    let server = Server::start(&[]);
    let mut writer = server.client();
    let mut reader = server.client();
    for i in 0..5_000 {
        writer.send(&crate::client::request(&format!("SET stays:{i} x")));
    }
    for _ in 0..5_000 {
        assert_eq!(writer.receive(), b"+OK\r\n");
    }
    let going = std::thread::spawn(move || {
        // Growth and shrinkage of the tables while the scan is under way.
        for i in 0..20_000 {
            writer.send(&crate::client::request(&format!("SET comes:{i} x")));
            writer.send(&crate::client::request(&format!("DEL comes:{}", i / 2)));
        }
        for _ in 0..40_000 {
            writer.receive();
        }
    });
    let mut found = reader.scan("COUNT 50");
    going.join().unwrap();
    found.retain(|key| key.starts_with(b"stays:"));
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 5_000);
}

#[test]
fn connections_introduce_themselves() {
    let server = Server::start(&[]);
    let (mut a, mut b) = (server.client(), server.client());
    a.check("PING", b"+PONG\r\n");
    a.check("PING \"hello\"", b"$5\r\nhello\r\n");
    a.check("ECHO \"two words\"", b"$9\r\ntwo words\r\n");
    a.check("CLIENT GETNAME", b"$-1\r\n");
    a.check("CLIENT SETNAME plumb", b"+OK\r\n");
    a.check("CLIENT GETNAME", b"$5\r\nplumb\r\n");
    a.check("CLIENT SETINFO LIB-NAME wire", b"+OK\r\n");
    assert_ne!(a.integer("CLIENT ID"), b.integer("CLIENT ID"));
    let list = String::from_utf8(b.bulk("CLIENT LIST").unwrap()).unwrap();
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(list.contains("name=plumb") && list.contains("addr=127.0.0.1:"), "{list}");
    a.check("SELECT 0", b"+OK\r\n");
    a.check("SELECT 16", b"-ERR DB index is out of range\r\n");
    a.check("QUIT", b"+OK\r\n");
    assert_eq!(a.receive_to_end(std::time::Duration::from_secs(5)), (vec![], true));
}

#[test]
fn a_password_is_asked_for_and_checked() {
    let server = Server::start(&["--password", "plumb line"]);
    let mut c = server.client();
    c.check("GET a", b"-NOAUTH Authentication required.\r\n");
    c.check("PING", b"-NOAUTH Authentication required.\r\n");
    c.check("AUTH wrong", b"-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    c.check(
        "AUTH other \"plumb line\"",
        b"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
    );
    c.check("GET a", b"-NOAUTH Authentication required.\r\n");
    c.check("AUTH \"plumb line\"", b"+OK\r\n");
    c.check("SET a 1", b"+OK\r\n");
    server.client().check("AUTH default \"plumb line\"", b"+OK\r\n");
    let hello = server.client().ask("HELLO 3 AUTH default \"plumb line\"");
    assert!(hello.starts_with(b"%"), "{}", hello.escape_ascii());
}

/// A cap that has no room for any key is refused, and the old one stays.
#[test]
fn a_cap_that_holds_no_key_is_refused() {
    if is_durable() {
        return;
    }
    let server = Server::start(&["--memory-limit", "2gb", "--maxmemory-policy", "allkeys-lru"]);
    let mut c = server.client();
    let refused = String::from_utf8(c.ask("CONFIG SET maxmemory 100kb")).unwrap();
    assert!(refused.starts_with("-ERR CONFIG SET failed"), "{refused}");
    let (_, least) = refused.split_once("needs at least ").expect("it says what is needed");
    let least: u64 = least.split_once(',').unwrap().0.parse().unwrap();
    assert_eq!(c.info("maxmemory"), 2 << 30);
    assert!(c.ask(&format!("CONFIG SET maxmemory {}", least - 1)).starts_with(b"-ERR"));
    // Clients take memory, too: some more than at the time of the error.
    c.check(&format!("CONFIG SET maxmemory {}", least + 65_536), b"+OK\r\n");
    for key in 0..100 {
        c.check(&format!("SET key:{key} x"), b"+OK\r\n");
    }
    c.check("CONFIG SET maxmemory 0", b"+OK\r\n");
    c.check("CONFIG SET maxmemory 1gb", b"+OK\r\n");
}

#[test]
fn the_server_describes_itself() {
    if is_left_out() {
        return;
    }
    let server = Server::start(&["--memory-limit", "64mb", "--maxmemory-policy", "allkeys-random"]);
    let mut c = server.client();
    c.check("CONFIG GET maxmemory", b"*2\r\n$9\r\nmaxmemory\r\n$8\r\n67108864\r\n");
    c.check("CONFIG GET maxmemory-policy", b"*2\r\n$16\r\nmaxmemory-policy\r\n$14\r\nallkeys-random\r\n");
    c.check("CONFIG SET maxmemory-policy noeviction", b"+OK\r\n");
    c.check("CONFIG GET maxmemory-p*", b"*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n");
    c.check("CONFIG SET maxmemory 32mb", b"+OK\r\n");
    assert_eq!(c.info("maxmemory"), 32 << 20);
    c.check("SET a 1", b"+OK\r\n");
    c.check("GET a", b"$1\r\n1\r\n");
    c.check("GET nothing", b"$-1\r\n");
    assert_eq!((c.info("keyspace_hits"), c.info("keyspace_misses")), (1, 1));
    assert!(c.info("used_memory") > 0 && c.info("used_memory") < 64 << 20);
    assert_eq!(c.info("connected_clients"), 1);
    assert_eq!(c.info("process_id"), u64::try_from(server.pid()).unwrap());
    let commands = c.integer("COMMAND COUNT");
    assert!(commands >= 45, "{commands}");
    let usage = c.integer("MEMORY USAGE a");
    assert!((1..1000).contains(&usage), "{usage}");
    c.check("MEMORY USAGE nothing", b"$-1\r\n");
    let docs = c.ask("COMMAND DOCS get");
    assert!(docs.windows(7).any(|part| part == b"summary"), "{}", docs.escape_ascii());
    let info = c.ask("COMMAND INFO get nosuch");
    assert!(info.starts_with(b"*2\r\n*") && info.ends_with(b"\r\n$-1\r\n"), "{}", info.escape_ascii());
    let time = c.ask("TIME");
    assert!(time.starts_with(b"*2\r\n$10\r\n"), "{}", time.escape_ascii());
}

#[test]
fn wrong_commands_are_refused_in_redis_words() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.check("NOSUCH a b", b"-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' \r\n");
    c.check("GET", b"-ERR wrong number of arguments for 'get' command\r\n");
    c.check("SET a", b"-ERR wrong number of arguments for 'set' command\r\n");
    c.check("SET a 1 NX XX", b"-ERR syntax error\r\n");
    c.check("SET a 1 EX 0", b"-ERR invalid expire time in 'set' command\r\n");
    c.check("EXPIRE a x", b"-ERR value is not an integer or out of range\r\n");
    c.check("SCAN x", b"-ERR invalid cursor\r\n");
    c.check("HELLO 4", b"-NOPROTO unsupported protocol version\r\n");
    c.check("PING", b"+PONG\r\n");
}
