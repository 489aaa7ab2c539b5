//! Scripts on real sockets: those that take long, those that never end, and other clients meanwhile.

use std::time::{Duration, Instant};

use crate::client::{Client, request_of};
use crate::server::Server;

fn eval(text: &str) -> Vec<u8> {
    request_of(&[b"EVAL", text.as_bytes(), b"0"])
}

const ENDLESS: &str = "while true do end";

/// Begins a script that never ends, and waits until other clients are told so.
fn begin_endless(server: &Server) -> (Client, Client) {
    let (mut runner, mut other) = (server.client(), server.client());
    other.check("CONFIG SET busy-reply-threshold 100", b"+OK\r\n");
    runner.send(&eval(ENDLESS));
    let begin = Instant::now();
    loop {
        other.send(b"PING\r\n");
        let reply = other.receive();
        if reply.starts_with(b"-BUSY") {
            return (runner, other);
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{}", reply.escape_ascii());
    }
}

#[test]
fn a_script_that_never_ends_is_told_and_killed() {
    for threads in ["1", "2"] {
        let server = Server::start(&["--io-threads", threads]);
        let (mut runner, mut other) = begin_endless(&server);
        // A connection that is new as well.
        let mut late = server.client();
        late.send(b"GET k\r\n");
        assert!(late.receive().starts_with(b"-BUSY Redis is busy running a script."));
        other.check("SCRIPT KILL", b"+OK\r\n");
        let reply = runner.receive();
        assert!(
            reply.starts_with(b"-ERR Error running script: Script killed by user"),
            "{}",
            reply.escape_ascii()
        );
        other.check("PING", b"+PONG\r\n");
        other.check("SCRIPT KILL", b"-NOTBUSY No scripts in execution right now.\r\n");
        runner.send(&eval("return redis.call('SET', 'k', 1)"));
        assert_eq!(runner.receive(), b"+OK\r\n");
        other.check("GET k", b"$1\r\n1\r\n");
    }
}

/// Rules hold for the one command that is executed meanwhile.
#[test]
fn a_user_needs_permission_to_kill_a_script() {
    let server = Server::start(&[]);
    let mut user = server.client();
    user.check("ACL SETUSER u on nopass +@all -script|kill", b"+OK\r\n");
    user.check("AUTH u x", b"+OK\r\n");
    let (mut runner, mut other) = begin_endless(&server);
    user.check("SCRIPT KILL", b"-NOPERM this user has no permissions to run the 'script|kill' command\r\n");
    other.check("SCRIPT KILL", b"+OK\r\n");
    assert!(runner.receive().starts_with(b"-ERR Error running script: Script killed by user"));
}

/// What has changed something cannot be ended half way.
#[test]
fn a_script_that_has_written_is_not_killed() {
    let server = Server::start(&["--io-threads", "2"]);
    let (mut runner, mut other) = (server.client(), server.client());
    other.check("CONFIG SET busy-reply-threshold 50", b"+OK\r\n");
    runner
        .send(&eval("redis.call('SET', 'k', 1) for i = 1, 300000000 do end return redis.call('INCR', 'k')"));
    let begin = Instant::now();
    let refused = loop {
        other.send(b"SCRIPT KILL\r\n");
        let reply = other.receive();
        if reply.starts_with(b"-UNKILLABLE") {
            break true;
        }
        if begin.elapsed() > Duration::from_secs(20) {
            break false;
        }
    };
    // Where both connections are on the thread that runs it, no client is told before it ends.
    assert_eq!(runner.receive(), b":2\r\n");
    println!("refused: {refused}");
}

/// A script that takes long goes to a worker, and its client's later requests wait for it.
#[test]
fn replies_stay_in_order_behind_a_long_script() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let mut wire = request_of(&[b"SET", b"k", b"1"]);
    for _ in 0..3 {
        wire.extend(eval("for i = 1, 3000000 do end return redis.call('GET', 'k')"));
        wire.extend(request_of(&[b"INCR", b"k"]));
    }
    client.send(&wire);
    for expected in
        [&b"+OK\r\n"[..], b"$1\r\n1\r\n", b":2\r\n", b"$1\r\n2\r\n", b":3\r\n", b"$1\r\n3\r\n", b":4\r\n"]
    {
        assert_eq!(client.receive(), expected);
    }
}

#[test]
fn a_script_of_a_durable_server_is_one_batch_and_fails_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let server = Server::start(&["--data", path, "--memory-budget", "1mib"]);
    let mut client = server.client();
    client.send(&eval(
        "for i = 1, 5 do redis.call('SET', 'key:' .. i, i) end return redis.call('GET', 'key:5')",
    ));
    assert_eq!(client.receive(), b"$1\r\n5\r\n");
    client
        .send(&eval("for i = 1, 20 do redis.call('SET', 'long:' .. i, string.rep('v', 20000)) end return 1"));
    let reply = client.receive();
    assert!(reply.starts_with(b"-ERR "), "{}", reply[..80.min(reply.len())].escape_ascii());
    client.check("EXISTS long:1 long:20", b":0\r\n");
}

/// On a durable server scripts went to a worker, which did not ask whether the client had authenticated.
#[test]
fn a_client_that_has_not_authenticated_runs_no_script() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in
        [&["--password", "secret"][..], &["--password", "secret", "--data", folder.path().to_str().unwrap()]]
    {
        let server = Server::start(arguments);
        let mut stranger = server.client();
        for line in ["EVAL \"return redis.call('set', 'k', 1)\" 0", "EVALSHA abc 0", "EXEC", "MULTI"] {
            let reply = stranger.ask(line);
            assert!(
                reply.ends_with(b"NOAUTH Authentication required.\r\n"),
                "{line}: {}",
                reply.escape_ascii()
            );
        }
        stranger.check("AUTH secret", b"+OK\r\n");
        stranger.check("EXISTS k", b":0\r\n");
    }
}

#[test]
fn a_script_that_is_no_text_is_named_to_the_byte() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let expected =
        b"-ERR Error compiling script (new function): user_script:1: unexpected symbol near '\xff'\r\n";
    for words in [&[b"SCRIPT" as &[u8], b"LOAD", b"\xff\xfe"], &[b"EVAL", b"\xff\xfe", b"0"]] {
        client.send(&request_of(words));
        assert_eq!(client.receive().escape_ascii().to_string(), expected.escape_ascii().to_string());
    }
    client.send(&request_of(&[b"EVAL", b"\x1bLua", b"0"]));
    assert!(client.receive().starts_with(b"-ERR Error compiling script (new function): "));
}
