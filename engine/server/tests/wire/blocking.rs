//! Does a request that waits for the disk hold up anybody but its own connection? On a disk whose every read and sync takes as long as a test wants, which builds with
//! debug assertions have. Each test is run on both back ends.

use std::io::Read as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::client::{Client, noise, request, request_of};
use crate::scheduling::blocked;
use crate::server::{Server, eventually, plumbkv};

/// Far more than a request waits that needs no disk, the waits for a CPU aside; far less than the disk is made to take.
const AT_ONCE: Duration = Duration::from_millis(250);

/// What the slow disk takes for a read or a sync, in milliseconds.
const SLOW_MS: u64 = 1_000;

/// A server whose disk takes so many milliseconds for a read and for a sync.
fn slow(data: &Path, io: &str, read_ms: u64, sync_ms: u64, more: &[&str]) -> Server {
    let mut arguments =
        vec!["serve", "--listen", "127.0.0.1:0", "--io", io, "--data", data.to_str().unwrap()];
    arguments.extend_from_slice(more);
    let mut command = plumbkv(&arguments);
    command.env("PLUMBKV_TEST_SLOW_DISK", format!("{read_ms},{sync_ms}"));
    Server::spawn(command)
}

/// A store with keys `cold:0` to `cold:1999`, all of them in a table.
fn filled() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let mut server = slow(data.path(), "epoll", 0, 0, &[]);
    let mut c = server.client();
    let writes = (0..2_000).flat_map(|i| request(&format!("SET cold:{i} {i}")));
    let sending = c.send_beside(writes.collect());
    (0..2_000).for_each(|_| assert_eq!(c.receive(), b"+OK\r\n"));
    sending.join().unwrap();
    c.send(&request_of(&[b"SET", b"cold:long", &noise(300_000, 5)]));
    assert_eq!(c.receive(), b"+OK\r\n");
    server.signal(Signal::TERM);
    assert!(server.wait().success());
    // What is in the log becomes a table when the store is opened.
    let mut server = slow(data.path(), "epoll", 0, 0, &[]);
    server.signal(Signal::TERM);
    assert!(server.wait().success());
    data
}

/// Releases have no slow disk.
fn is_left_out() -> bool {
    if !cfg!(debug_assertions) {
        eprintln!("left out: a build without debug assertions has no slow disk");
    }
    !cfg!(debug_assertions)
}

/// Reads a key that is in memory again and again, until `is_over`; the longest wait for a reply, the waits for a CPU aside.
fn longest_wait(server: &Server, hot: &mut Client, mut is_over: impl FnMut() -> bool) -> Duration {
    let mut longest = Duration::ZERO;
    while !is_over() {
        longest = longest.max(blocked(server.pid(), || hot.check("GET hot", b"$1\r\n1\r\n")));
        std::thread::sleep(Duration::from_millis(1));
    }
    longest
}

/// These commands were called once each.
#[track_caller]
fn check_counted(client: &mut Client, names: &[&str]) {
    let info = String::from_utf8(client.bulk("INFO commandstats").unwrap()).unwrap();
    for name in names {
        let line = format!("cmdstat_{name}:calls=1,");
        assert!(info.lines().any(|found| found.starts_with(&line)), "no {line} in {info}");
    }
}

fn for_each_back_end(test: impl Fn(&str)) {
    if !is_left_out() {
        ["epoll", "auto"].into_iter().for_each(test);
    }
}

#[test]
fn who_reads_what_is_in_memory_does_not_wait_for_who_reads_from_the_disk() {
    let data = filled();
    for_each_back_end(|io| {
        let server = slow(data.path(), io, SLOW_MS, 0, &[]);
        let (mut hot, mut cold, mut other) = (server.client(), server.client(), server.client());
        hot.check("SET hot 1", b"+OK\r\n");
        // Replies keep their order, whoever makes them; what is behind one that waits, waits.
        let begun = Instant::now();
        let lines = ["PING", "GET cold:7", "GET hot", "MGET hot cold:1900 absent", "ECHO x", "GET cold:long"];
        cold.send(&lines.iter().flat_map(|line| request(line)).collect::<Vec<u8>>());
        other.send(&request("EXISTS cold:3 cold:1500 absent"));
        let reading = std::thread::spawn(move || {
            for expected in [&b"+PONG\r\n"[..], b"$1\r\n7\r\n", b"$1\r\n1\r\n"] {
                assert_eq!(cold.receive(), expected);
            }
            assert_eq!(cold.receive(), b"*3\r\n$1\r\n1\r\n$4\r\n1900\r\n$-1\r\n");
            assert_eq!(cold.receive(), b"$1\r\nx\r\n");
            assert!(cold.receive() == [&b"$300000\r\n"[..], &noise(300_000, 5), b"\r\n"].concat());
            cold.check("SET after 1", b"+OK\r\n");
        });
        let longest = longest_wait(&server, &mut hot, || reading.is_finished());
        reading.join().unwrap();
        assert_eq!(other.receive(), b":2\r\n");
        assert!(begun.elapsed() >= 2 * Duration::from_millis(SLOW_MS), "the disk was not slow");
        assert!(longest < AT_ONCE, "{io}: {longest:?}");
        let cold = blocked(server.pid(), || hot.check("GET cold:1000", b"$4\r\n1000\r\n"));
        assert!(cold > AT_ONCE, "{io}: a wait for the disk was found to last {cold:?}");
        hot.check("GET after", b"$1\r\n1\r\n");
        // Each counts once, although it was tried before it was handed over.
        check_counted(&mut hot, &["mget", "exists", "echo", "ping"]);
        assert_eq!((hot.info("storage_requests_handed_over"), hot.info("storage_requests_waiting")), (5, 0));
    });
}

#[test]
fn writers_who_wait_for_a_sync_share_it_and_hold_up_no_reader() {
    for_each_back_end(|io| {
        let data = tempfile::tempdir().unwrap();
        let server = slow(data.path(), io, 0, SLOW_MS / 2, &["--sync", "always"]);
        let mut hot = server.client();
        hot.check("SET hot 1", b"+OK\r\n");
        let begun = Instant::now();
        // All of one key, and one each.
        let mut writers: Vec<Client> = (0..40).map(|_| server.client()).collect();
        for (own, writer) in writers.iter_mut().enumerate() {
            let line = if own % 2 == 0 { "SET one x".to_owned() } else { format!("INCR own:{own}") };
            writer.send(&request(&line));
        }
        let writing = std::thread::spawn(move || {
            for (own, writer) in writers.iter_mut().enumerate() {
                let expected = if own % 2 == 0 { &b"+OK\r\n"[..] } else { b":1\r\n" };
                assert_eq!(writer.receive(), expected);
            }
        });
        let longest = longest_wait(&server, &mut hot, || writing.is_finished());
        writing.join().unwrap();
        let elapsed = begun.elapsed();
        assert!(longest < AT_ONCE, "{io}: {longest:?}");
        // One by one they would take twenty seconds.
        assert!(elapsed < Duration::from_millis(SLOW_MS / 2 * 8), "{io}: {elapsed:?}");
    });
}

#[test]
fn writers_who_wait_for_a_flush_hold_up_no_reader() {
    for_each_back_end(|io| {
        let data = tempfile::tempdir().unwrap();
        let server = slow(data.path(), io, 0, SLOW_MS / 2, &["--memory-budget", "1mib", "--sync", "never"]);
        let (mut hot, mut writer) = (server.client(), server.client());
        hot.check("SET hot 1", b"+OK\r\n");
        hot.check("GET hot", b"$1\r\n1\r\n");
        let writes: Vec<u8> =
            (0..3_000).flat_map(|i| request(&format!("SET key:{i} {}", "x".repeat(300)))).collect();
        let writing = std::thread::spawn(move || {
            let sending = writer.send_beside(writes);
            (0..3_000).for_each(|_| assert_eq!(writer.receive(), b"+OK\r\n"));
            sending.join().unwrap();
            writer.check("DBSIZE", b":3001\r\n");
        });
        let longest = longest_wait(&server, &mut hot, || writing.is_finished());
        writing.join().unwrap();
        assert!(hot.info("storage_stalls") > 0, "nobody had to wait");
        assert!(longest < AT_ONCE, "{io}: {longest:?}");
    });
}

#[test]
fn what_a_client_has_asked_for_is_done_although_it_is_gone() {
    let data = filled();
    for_each_back_end(|io| {
        let mut server = slow(data.path(), io, SLOW_MS, 0, &[]);
        let before = server.client().integer("INCR turn");
        let (mut gone, mut reset) =
            (server.client(), TcpStream::connect(("127.0.0.1", server.port)).unwrap());
        gone.send(&[request("APPEND cold:1000 x"), request("INCR turn")].concat());
        drop(gone);
        std::io::Write::write_all(&mut reset, &request("APPEND cold:1 x")).unwrap();
        let mut watching = server.client();
        eventually("both wait for the disk", || watching.info("storage_requests_waiting") == 2);
        rustix::net::sockopt::set_socket_linger(&reset, Some(Duration::ZERO)).unwrap();
        let cpu = cpu_ms(&server);
        drop(reset);
        // Places that are free again are others', and so are their replies.
        let mut others: Vec<Client> = (0..20).map(|_| server.client()).collect();
        std::thread::sleep(Duration::from_millis(SLOW_MS + 500));
        let used = cpu_ms(&server) - cpu;
        assert!(used < SLOW_MS / 2, "{io}: {used} ms of CPU time to wait for the disk");
        for other in &mut others {
            other.check("ECHO mine", b"$4\r\nmine\r\n");
        }
        let mut c = server.client();
        assert_eq!(c.integer("INCR turn"), before + 2);
        assert_eq!(c.integer("STRLEN cold:1000"), 5);
        assert_eq!(c.integer("STRLEN cold:1"), 2);
        c.check("SET cold:1000 1000", b"+OK\r\n");
        c.check("SET cold:1 1", b"+OK\r\n");
        server.signal(Signal::TERM);
        assert!(server.wait().success());
        let mut server = slow(data.path(), io, 0, 0, &[]);
        server.signal(Signal::TERM);
        assert!(server.wait().success());
    });
}

/// CPU time of the server so far.
fn cpu_ms(server: &Server) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let fields: Vec<u64> =
        stat.rsplit(')').next().unwrap().split(' ').filter_map(|f| f.parse().ok()).collect();
    let ticks = fields[10..12].iter().sum::<u64>();
    ticks * 1_000 / rustix::param::clock_ticks_per_second()
}

#[test]
fn an_end_waits_for_requests_that_wait_for_the_disk() {
    let data = filled();
    for_each_back_end(|io| {
        let mut server = slow(data.path(), io, SLOW_MS, 0, &[]);
        let mut c = server.client();
        let lines = ["GET cold:5", "SET new 1", "GET cold:1200", "INCR new"];
        c.send(&lines.iter().flat_map(|line| request(line)).collect::<Vec<u8>>());
        let mut watching = server.client();
        eventually("the first waits for the disk", || watching.info("storage_requests_waiting") == 1);
        server.signal(Signal::TERM);
        let (replies, closed) = c.receive_to_end(Duration::from_secs(10));
        assert_eq!(replies.escape_ascii().to_string(), r"$1\r\n5\r\n+OK\r\n$4\r\n1200\r\n:2\r\n", "{io}");
        assert!(closed);
        server.wait_for_line("the store is synced and closed");
        assert!(server.wait().success());
    });
}

#[test]
fn a_client_that_sends_on_while_it_waits_is_not_read_without_end() {
    let data = filled();
    for_each_back_end(|io| {
        let server = slow(data.path(), io, SLOW_MS, 0, &[]);
        let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let mut writing = stream.try_clone().unwrap();
        let begun = Instant::now();
        let sending = std::thread::spawn(move || {
            std::io::Write::write_all(&mut writing, &request("GET cold:9")).unwrap();
            for _ in 0..64 {
                std::io::Write::write_all(&mut writing, &request_of(&[b"ECHO", &noise(200_000, 1)])).unwrap();
            }
            begun.elapsed()
        });
        let expected = [&b"$200000\r\n"[..], &noise(200_000, 1), b"\r\n"].concat();
        std::thread::sleep(Duration::from_millis(SLOW_MS / 2));
        let mut other = server.client();
        let held = other.info("client_recent_max_input_buffer");
        assert!(held < 1 << 20, "{io}: {held} bytes are kept for one that waits");
        let mut received = vec![0; 7 + 64 * expected.len()];
        (&stream).read_exact(&mut received).unwrap();
        assert!(
            received[..7] == *b"$1\r\n9\r\n"
                && received[7..].chunks(expected.len()).all(|one| one == expected)
        );
        assert!(sending.join().unwrap() >= Duration::from_millis(SLOW_MS / 2), "all was read at once");
    });
}

#[test]
fn commands_that_take_long_are_nobodys_but_their_own() {
    let data = filled();
    for_each_back_end(|io| {
        let server = slow(data.path(), io, 0, 0, &[]);
        let mut c = server.client();
        let names: Vec<String> = (0..1_000).map(|i| format!("many:{i}")).collect();
        let pairs: String = names.iter().map(|name| format!(" {name} x")).collect();
        c.check(&format!("MSET{pairs}"), b"+OK\r\n");
        let many = names.join(" ");
        c.check(&format!("EXISTS {many}"), b":1000\r\n");
        assert_eq!(
            c.ask(&format!("MGET {many}")),
            [&b"*1000\r\n"[..], &b"$1\r\nx\r\n".repeat(1_000)].concat()
        );
        let keys = c.ask("KEYS *");
        assert!(keys.starts_with(b"*3001\r\n"), "{}", keys[..30].escape_ascii());
        assert_eq!(c.scan("COUNT 1000").len(), 3_001);
        c.check(&format!("DEL {many}"), b":1000\r\n");
        // A word that is no command's, of a request that is long.
        assert!(c.ask(&format!("NOSUCH {many}")).starts_with(b"-ERR unknown command 'NOSUCH'"));
        assert!(c.ask(&format!("GET {many}")).starts_with(b"-ERR wrong number of arguments for 'get'"));
        c.send(&request_of(&[b"SET", b"value", &noise(5_000_000, 3)]));
        assert_eq!(c.receive(), b"+OK\r\n");
        assert!(c.bulk("GETDEL value").unwrap() == noise(5_000_000, 3));
        check_counted(&mut c, &["mset", "mget", "exists", "keys", "del", "getdel", "set"]);
    });
}
