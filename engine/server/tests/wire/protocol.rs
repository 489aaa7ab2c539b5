//! Does the server understand requests however they arrive, and stop at the first that is none?

use std::time::Duration;

use crate::client::{noise, request, request_of};
use crate::server::Server;

#[test]
fn a_pipeline_is_answered_whole_and_in_order() {
    let server = Server::start(&[]);
    let mut c = server.client();
    let mut wire = Vec::new();
    for i in 0..10_000 {
        wire.extend(request(&format!("SET key:{i} {i}")));
        wire.extend(request(&format!("GET key:{i}")));
    }
    // Sent beside the reading: the whole is larger than the sockets' buffers.
    let sending = c.send_beside(wire);
    for i in 0..10_000 {
        assert_eq!(c.receive(), b"+OK\r\n");
        assert_eq!(c.receive(), format!("${}\r\n{i}\r\n", i.to_string().len()).into_bytes());
    }
    sending.join().unwrap();
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    let server = Server::start(&[]);
    let mut c = server.client();
    let value = noise(300, 1);
    let wire = [request_of(&[b"SET", b"a", &value]), request("GET a"), b"PING\r\n".to_vec()].concat();
    for byte in &wire {
        c.send(&[*byte]);
    }
    assert_eq!(c.receive(), b"+OK\r\n");
    assert_eq!(c.receive(), [b"$300\r\n", &value[..], b"\r\n"].concat());
    assert_eq!(c.receive(), b"+PONG\r\n");
}

#[test]
fn values_of_any_size_come_back_as_they_were() {
    let server = Server::start(&["--memory-limit", "256mib"]);
    let mut c = server.client();
    for (number, size) in [0, 1, 2047, 2048, 2049, 65_535, 65_536, 1 << 20, 20 << 20].into_iter().enumerate()
    {
        let value = noise(size, number as u64);
        c.send(&request_of(&[b"SET", b"value", &value]));
        assert_eq!(c.receive(), b"+OK\r\n", "{size} bytes");
        c.check("STRLEN value", format!(":{size}\r\n").as_bytes());
        assert!(c.bulk("GET value").unwrap() == value, "{size} bytes came back changed");
    }
    let binary: Vec<u8> = (0..=255).collect();
    c.send(&request_of(&[b"SET", &binary, &binary]));
    assert_eq!(c.receive(), b"+OK\r\n");
    c.send(&request_of(&[b"GET", &binary]));
    assert_eq!(c.receive(), [b"$256\r\n", &binary[..], b"\r\n"].concat());
}

#[test]
fn lines_typed_by_hand_are_requests() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.send(b"\r\nset greeting \"hello, \\x77orld\"\r\nGET greeting\n*1\r\n$4\r\nPING\r\n\n");
    assert_eq!(c.receive(), b"+OK\r\n");
    assert_eq!(c.receive(), b"$12\r\nhello, world\r\n");
    assert_eq!(c.receive(), b"+PONG\r\n");
}

#[test]
fn what_is_no_request_is_answered_and_the_connection_closed() {
    let mut server = Server::start(&[]);
    let cases: &[(&[u8], &str)] = &[
        (b"*x\r\n", "invalid multibulk length"),
        (b"*2000000000\r\n", "invalid multibulk length: more than max-arguments (1048576)"),
        (b"*2147483648\r\n", "invalid multibulk length"),
        (b"*1\r\n$x\r\n", "invalid bulk length"),
        (b"*1\r\n$-5\r\n", "invalid bulk length"),
        (b"*1\r\n$536870913\r\n", "invalid bulk length: more than proto-max-bulk-len (536870912)"),
        (b"*1\r\nGET\r\n", "expected '$', got 'G'"),
        (b"GET \"a\r\n", "unbalanced quotes in request"),
    ];
    for (bytes, text) in cases {
        let mut c = server.client();
        c.send(&[b"*1\r\n$4\r\nPING\r\n", *bytes].concat());
        let (reply, closed) = c.receive_to_end(Duration::from_secs(5));
        let expected = format!("+PONG\r\n-ERR Protocol error: {text}\r\n");
        assert_eq!(String::from_utf8_lossy(&reply), expected);
        assert!(closed, "still open after {text}");
    }
    for (start, text) in [
        (&b"*1"[..], "too big mbulk count string"),
        (b"*1\r\n$1", "too big bulk count string"),
        (b"GET ", "too big inline request"),
    ] {
        let mut c = server.client();
        // The server may close before all of this is sent.
        let _ = c.try_send(&[start, &b"1".repeat(70_000)].concat());
        let (reply, closed) = c.receive_to_end(Duration::from_secs(5));
        // A reset may overtake the words, if bytes were still on their way.
        assert!(closed && (reply.is_empty() || String::from_utf8_lossy(&reply).contains(text)), "{text}");
    }
    server.assert_alive();
}

#[test]
fn a_wrong_length_never_makes_data_a_command() {
    let mut server = Server::start(&[]);
    let mut c = server.client();
    c.check("SET kept 1", b"+OK\r\n");
    c.send(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nx\r\r\n*1\r\n$8\r\nFLUSHALL\r\n");
    let (reply, closed) = c.receive_to_end(Duration::from_secs(5));
    assert!(closed && reply.starts_with(b"-ERR Protocol error"), "{}", reply.escape_ascii());
    server.client().check("GET kept", b"$1\r\n1\r\n");
    server.assert_alive();
}

#[test]
fn a_web_page_cannot_send_commands_through_a_browser() {
    let mut server = Server::start(&[]);
    server.client().check("SET kept 1", b"+OK\r\n");
    for head in
        ["POST / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: localhost:6379\r\n", "Host: localhost:6379\r\n"]
    {
        let mut c = server.client();
        c.send(format!("{head}Content-Length: 10\r\n\r\nFLUSHALL\r\n").as_bytes());
        let (reply, closed) = c.receive_to_end(Duration::from_secs(5));
        assert!(closed && reply.is_empty(), "{}", reply.escape_ascii());
    }
    server.wait_for_line("closed a connection that spoke HTTP");
    let mut c = server.client();
    c.send(b"GET kept\r\n");
    assert_eq!(c.receive(), b"$1\r\n1\r\n");
    server.assert_alive();
}
