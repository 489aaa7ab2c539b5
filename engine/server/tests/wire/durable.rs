//! Is everything that was acknowledged still there, however the server ended? And what does it say when it cannot be?

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::client::{Client, noise, request, request_of};
use crate::server::{Server, plumbkv, refused};

fn start(data: &Path, more: &[&str]) -> Server {
    let mut arguments = vec!["--data", data.to_str().unwrap()];
    arguments.extend_from_slice(more);
    Server::start(&arguments)
}

/// Ends a server and starts another one in its directory.
fn restart(mut server: Server, data: &Path, signal: Signal, more: &[&str]) -> Server {
    server.signal(signal);
    assert_eq!(server.wait().success(), signal == Signal::TERM);
    start(data, more)
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_a_good_end() {
    for (sync, signal) in
        [("always", Signal::KILL), ("1s", Signal::KILL), ("never", Signal::KILL), ("1s", Signal::TERM)]
    {
        let data = tempfile::tempdir().unwrap();
        let server = start(data.path(), &["--sync", sync]);
        let mut c = server.client();
        let long = noise(300_000, 7);
        c.send(&request_of(&[b"SET", b"long", &long]));
        assert_eq!(c.receive(), b"+OK\r\n");
        c.check("MSET a 1 b 2 c 3 gone 4", b"+OK\r\n");
        c.check("DEL gone", b":1\r\n");
        c.check("INCRBY a 41", b":42\r\n");
        c.check("APPEND b 0", b":2\r\n");
        c.check("RENAME c d", b"+OK\r\n");
        c.check("SET for-a-while x EX 1000", b"+OK\r\n");
        c.check("SET for-ever x EX 1000", b"+OK\r\n");
        c.check("PERSIST for-ever", b":1\r\n");
        c.check("SET brief x PX 20", b"+OK\r\n");
        std::thread::sleep(Duration::from_millis(30));

        let server = restart(server, data.path(), signal, &["--sync", sync]);
        let mut c = server.client();
        c.check("MGET a b c d gone brief", b"*6\r\n$2\r\n42\r\n$2\r\n20\r\n$-1\r\n$1\r\n3\r\n$-1\r\n$-1\r\n");
        assert!(c.bulk("GET long").unwrap() == long, "{sync}");
        assert!((900..=1000).contains(&c.integer("TTL for-a-while")));
        c.check("TTL for-ever", b":-1\r\n");
        c.check("FLUSHALL", b"+OK\r\n");
        let server = restart(server, data.path(), signal, &["--sync", sync]);
        server.client().check("EXISTS a b d long", b":0\r\n");
        server.client().check("DBSIZE", b":0\r\n");
    }
}

#[test]
fn a_kill_in_the_middle_of_writes_loses_none_that_was_answered() {
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path(), &["--profile", "low-memory"]);
    for round in 0..3 {
        let mut c = server.client();
        let value = "x".repeat(500);
        let writes: Vec<u8> =
            (0..20_000).flat_map(|i| request(&format!("SET {round}:{i} {i}{value}"))).collect();
        // The server may be gone before all is sent.
        let mut sender = c.duplicate();
        let sending = std::thread::spawn(move || drop(sender.try_send(&writes)));
        for _ in 0..4_000 {
            assert_eq!(c.receive(), b"+OK\r\n");
        }
        server.signal(Signal::KILL);
        let mut answered = 4_000;
        while let Some(reply) = c.receive_if_open() {
            assert_eq!(reply, b"+OK\r\n");
            answered += 1;
        }
        sending.join().unwrap();
        server.wait();
        server = start(data.path(), &["--profile", "low-memory"]);
        let mut c = server.client();
        for earlier in 0..=round {
            let last = if earlier == round { answered } else { 4_000 };
            for i in 0..last {
                let found = c.bulk(&format!("GET {earlier}:{i}"));
                assert!(found.is_some_and(|found| found == format!("{i}{value}").into_bytes()), "{i}");
            }
        }
    }
}

#[test]
fn sigterm_answers_what_was_received_and_closes_the_store() {
    let data = tempfile::tempdir().unwrap();
    // Its thread, too, has to let go of the store.
    let mut server = start(data.path(), &["--http", "127.0.0.1:0", "--io-threads", "2"]);
    let mut c = server.client();
    c.send(&(0..5000).flat_map(|i| request(&format!("SET key:{i} x"))).collect::<Vec<u8>>());
    assert_eq!(c.receive(), b"+OK\r\n");
    server.signal(Signal::TERM);
    let (replies, closed) = c.receive_to_end(Duration::from_secs(10));
    assert!(closed && replies == b"+OK\r\n".repeat(4999), "{} of 4999 replies", replies.len() / 5);
    server.wait_for_line("the store is synced and closed");
    assert!(server.wait().success());
    let server = start(data.path(), &[]);
    assert_eq!(server.client().scan("COUNT 1000").len(), 5000);
}

#[test]
fn a_directory_in_use_is_one_clear_line() {
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path(), &[]);
    let path = data.path().to_str().unwrap();
    let (code, text) = refused(plumbkv(&["serve", "--listen", "127.0.0.1:0", "--data", path]));
    assert_eq!(code, 1, "{text}");
    let line = text.lines().last().unwrap();
    assert!(line.starts_with("plumbkv: cannot open the store: ") && line.contains(path), "{text}");
    assert!(line.contains("in use by another process") && !text.contains("panicked"), "{text}");
    server.assert_alive();
}

#[test]
fn settings_of_a_store_need_one() {
    for arguments in [
        ["--sync", "always"],
        ["--profile", "throughput"],
        ["--compression", "none"],
        ["--memory-budget", "64mib"],
    ] {
        let (code, text) =
            refused(plumbkv(&[&["serve", "--listen", "127.0.0.1:0"], &arguments[..]].concat()));
        assert!(code == 64 && text.contains(arguments[0]) && text.contains("--data DIR"), "{code} {text}");
    }
    let (code, text) = refused(plumbkv(&["serve", "--data", "store", "--sync", "sometimes"]));
    assert!(code == 64 && text.contains("'sometimes'"), "{code} {text}");
    let (code, text) = refused(plumbkv(&["serve", "--listen", "127.0.0.1:0", "--data", "/dev/null/a/b"]));
    assert!(code == 1 && text.contains("/dev/null/a/b: cannot create: "), "{code} {text}");
}

#[test]
fn the_cap_is_for_clients_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &["--memory-limit", "2mib", "--profile", "low-memory"]);
    let mut c = server.client();
    for i in 0..4_000u64 {
        c.send(&request_of(&[b"SET", format!("key:{i}").as_bytes(), &noise(1024, i)]));
        assert_eq!(c.receive(), b"+OK\r\n", "key {i}");
    }
    for i in 0..4_000u64 {
        assert!(c.bulk(&format!("GET key:{i}")).unwrap() == noise(1024, i));
    }
    assert!(c.info("used_memory") <= 2 << 20);
    assert_eq!((c.info("evicted_keys"), c.info("maxmemory")), (0, 2 << 20));
    let refused = "-ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - only 'noeviction' is \
                   possible: a durable store keeps every key\r\n";
    c.check("CONFIG SET timeout 5 maxmemory-policy allkeys-lru", refused.as_bytes());
    c.check("CONFIG GET timeout", b"*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
    c.check("CONFIG SET maxmemory-policy noeviction maxmemory 4mb", b"+OK\r\n");
}

#[test]
fn a_scan_goes_on_from_a_cursor_that_is_known() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &[]);
    let mut c = server.client();
    for i in 0..500 {
        c.check(&format!("SET key:{i:03} x"), b"+OK\r\n");
    }
    for i in 0..100 {
        c.check(&format!("DEL key:{i:03}"), b":1\r\n");
    }
    let expected: Vec<Vec<u8>> = (100..500).map(|i| format!("key:{i}").into_bytes()).collect();
    for count in [1, 7, 100, 100_000] {
        // Every key once, and in order: there is nothing to be sorted first.
        assert_eq!(c.scan(&format!("COUNT {count}")), expected);
    }
    assert_eq!(c.scan("MATCH key:10? COUNT 50").len(), 10);
    assert!(c.scan("TYPE list").is_empty());
    assert!(c.ask("KEYS *").starts_with(b"*400\r\n$7\r\nkey:100\r\n"));
    c.check("KEYS key:4?9", b"*10\r\n$7\r\nkey:409\r\n$7\r\nkey:419\r\n$7\r\nkey:429\r\n$7\r\nkey:439\r\n$7\r\nkey:449\r\n$7\r\nkey:459\r\n$7\r\nkey:469\r\n$7\r\nkey:479\r\n$7\r\nkey:489\r\n$7\r\nkey:499\r\n");
    c.check(
        "SCAN 123456789",
        b"-ERR the cursor 123456789 is not known, or no longer; begin again with 0\r\n",
    );
}

#[test]
fn info_tells_of_the_store() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &["--sync", "200ms", "--profile", "throughput"]);
    let mut c = server.client();
    c.check("MSET a 1 b 2", b"+OK\r\n");
    let server = restart(server, data.path(), Signal::TERM, &["--sync", "200ms", "--profile", "throughput"]);
    let mut c = server.client();
    let info = String::from_utf8(c.bulk("INFO").unwrap()).unwrap();
    let directory = format!("storage_directory:{}", data.path().display());
    for line in [
        "# Storage",
        "storage_mode:durable",
        &directory,
        "storage_sync:200ms",
        "storage_profile:throughput",
        "storage_status:ok",
        "storage_failure:",
        "storage_key_versions:2",
        "storage_tables:1",
        "storage_stalls:0",
        "db0:keys=2,expires=0,avg_ttl=0",
    ] {
        assert!(info.lines().any(|found| found == line), "no {line} in {info}");
    }
    assert!(c.info("storage_table_bytes") > 0 && info.contains("storage_level0:tables=1,bytes="), "{info}");
    assert!(info.contains("storage_write_amplification:"), "{info}");
}

/// The end of `cursor` and keys, a reply of SCAN.
fn cursor_of(reply: &[u8]) -> String {
    let text = String::from_utf8_lossy(reply);
    text.split("\r\n").nth(2).unwrap().to_owned()
}

#[test]
fn keys_are_counted_exactly_up_to_a_limit_and_estimated_above_it() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &[]);
    let mut c = server.client();
    for line in ["SET a 1", "SET a 2", "SET a 3", "SET b 1 PX 1", "SET c 1 EXAT 4102444800"] {
        c.check(line, b"+OK\r\n");
    }
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(c.integer("DBSIZE"), 2);
    let keyspace = |c: &mut Client| String::from_utf8(c.bulk("INFO keyspace").unwrap()).unwrap();
    let text = keyspace(&mut c);
    assert!(text.contains("db0:keys=2,expires=1,avg_ttl=") && !text.contains("estimate"), "{text}");
    c.check("DEL a c", b":2\r\n");
    assert_eq!((c.integer("DBSIZE"), keyspace(&mut c).contains("db0")), (0, false));

    // Beyond the limit: a deletion and what it hides do not count, and versions that are overwritten may.
    let mut added = 0;
    while c.info("storage_key_versions") <= 250_000 {
        let words = (added..added + 10_000).flat_map(|key| [format!("key:{key}"), "1".to_owned()]);
        let words: Vec<String> = std::iter::once("MSET".to_owned()).chain(words).collect();
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        c.send(&request_of(&words));
        assert_eq!(c.receive(), b"+OK\r\n");
        added += 10_000;
    }
    let size = c.integer("DBSIZE");
    assert!((added..=added + 3).contains(&size), "{size} of {added}");
    let text = keyspace(&mut c);
    assert!(text.contains(&format!("db0:keys={size},expires=0,avg_ttl=0")), "{text}");
    assert!(text.contains("keys_are_an_estimate:1"), "{text}");
    c.check("FLUSHALL", b"+OK\r\n");
    assert_eq!((c.integer("DBSIZE"), keyspace(&mut c).contains("estimate")), (0, false));
}

#[test]
fn a_cursor_lasts_while_others_begin_walks() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &[]);
    let mut c = server.client();
    for key in 0..100 {
        c.check(&format!("SET key:{key:03} 1"), b"+OK\r\n");
    }
    c.send(b"SCAN 0\r\n");
    let mine = cursor_of(&c.receive());
    let mut others = server.client();
    for round in 0..3_000 {
        // A new key in front moves the end of the first page.
        if round % 3 == 0 {
            others.check(&format!("SET a:{round:05} 1"), b"+OK\r\n");
        }
        others.send(b"SCAN 0\r\n");
        others.receive();
    }
    let mut seen = 10;
    let mut cursor = mine;
    while cursor != "0" {
        c.send(format!("SCAN {cursor}\r\n").as_bytes());
        let reply = c.receive();
        cursor = cursor_of(&reply);
        seen += reply.escape_ascii().to_string().matches("key:").count();
    }
    assert_eq!(seen, 100);
}

#[test]
fn damage_is_an_error_reply_and_a_line_of_the_log() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &[]);
    let mut c = server.client();
    for i in 0..1_000u64 {
        c.send(&request_of(&[b"SET", format!("key:{i:04}").as_bytes(), &noise(200, i)]));
        assert_eq!(c.receive(), b"+OK\r\n");
    }
    // What is in the log becomes a table at the next start.
    let mut server = restart(server, data.path(), Signal::TERM, &[]);
    server.signal(Signal::TERM);
    assert!(server.wait().success());
    let names = std::fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().path());
    let table = names.into_iter().find(|path| path.extension().is_some_and(|end| end == "table")).unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[100_000..100_100].fill(0);
    std::fs::write(&table, bytes).unwrap();

    let mut server = start(data.path(), &[]);
    let mut c = server.client();
    let mut damaged = 0;
    for i in 0..1_000u64 {
        let reply = c.ask(&format!("GET key:{i:04}"));
        if reply.starts_with(b"-IOERR ") {
            damaged += 1;
            let text = String::from_utf8(reply).unwrap();
            assert!(text.contains(table.to_str().unwrap()) && text.contains("at byte "), "{text}");
            assert!(c.ask(&format!("MGET key:0000 key:{i:04}")).starts_with(b"-IOERR "));
            assert!(c.ask(&format!("EXISTS key:{i:04}")).starts_with(b"-IOERR "));
            assert!(c.ask(&format!("INCR key:{i:04}")).starts_with(b"-IOERR "));
        } else {
            assert_eq!(reply, [&b"$200\r\n"[..], &noise(200, i), b"\r\n"].concat());
        }
    }
    assert!((1..200).contains(&damaged), "{damaged}");
    assert!(c.ask("KEYS *").starts_with(b"-IOERR "));
    assert!(c.ask("SCAN 0 COUNT 1000").starts_with(b"-IOERR "));
    server.wait_for_line("the store failed: IOERR ");
    server.assert_alive();
}

#[test]
fn a_disk_that_takes_no_more_ends_the_writes_and_loses_none() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().to_str().unwrap();
    // No file may grow beyond some hundred kilobytes: what a full disk would say, for one process.
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 512; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_plumbkv")]);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data", path]);
    for (name, value) in plumbkv(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut server = Server::spawn(command);
    let mut c = server.client();
    let mut stored = 0u64;
    let refusal = loop {
        c.send(&request_of(&[b"SET", format!("key:{stored}").as_bytes(), &noise(1024, stored)]));
        let reply = c.receive();
        if reply != b"+OK\r\n" {
            break reply;
        }
        stored += 1;
        assert!(stored < 2_000, "nothing was refused");
    };
    assert!(refusal.starts_with(b"-IOERR ") && stored > 100, "{stored} {}", refusal.escape_ascii());
    assert!(c.ask("SET small x").starts_with(b"-IOERR "), "nobody knows what the failed write has left");
    assert!(c.bulk("GET key:0").unwrap() == noise(1024, 0), "reads go on");
    let info = String::from_utf8(c.bulk("INFO storage").unwrap()).unwrap();
    assert!(info.contains("storage_status:failed\r\nstorage_failure:/"), "{info}");
    server.wait_for_line("the store failed: IOERR ");
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(1));
    server.wait_for_line("plumbkv: cannot close the store: ");

    let server = start(data.path(), &[]);
    let mut c = server.client();
    for i in 0..stored {
        assert!(c.bulk(&format!("GET key:{i}")).unwrap() == noise(1024, i), "{i}");
    }
    c.check("SET small x", b"+OK\r\n");
}
