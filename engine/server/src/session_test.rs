//! Pipelining, pieces, protocol errors and back-pressure, without a socket.

use super::*;
use test_support::Driver;

#[test]
fn a_pipelined_batch_is_answered_in_order() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let batch = "set a 1\r\nget a\r\n\r\nincr a\r\n*1\r\n$4\r\nping\r\n".repeat(500);
    let reply = client.send(batch.as_bytes());
    let text = String::from_utf8(reply).unwrap();
    assert_eq!(text, "+OK\r\n$1\r\n1\r\n:2\r\n+PONG\r\n".repeat(500));
    assert_eq!(driver.shared.command_stats.total_calls(), 2000, "an empty line is no command");
}

#[test]
fn requests_in_any_pieces_give_the_same_replies() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let bytes = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nhello\r\nget k\r\n*2\r\n$6\r\nSTRLEN\r\n$1\r\nk\r\n";
    let whole = client.send(bytes);
    for size in 1..bytes.len() {
        let mut client = driver.connect();
        let replies: Vec<u8> = bytes.chunks(size).flat_map(|piece| client.send(piece)).collect();
        assert_eq!(replies, whole, "in pieces of {size}");
    }
}

#[test]
fn a_protocol_error_is_answered_once_and_ends_the_conversation() {
    for (bytes, expected) in [
        (&b"*x\r\n"[..], "-ERR Protocol error: invalid multibulk length\r\n"),
        (b"*1\r\n:1\r\n", "-ERR Protocol error: expected '$', got ':'\r\n"),
        (b"*1\r\n$-5\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        (b"get \"a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"),
    ] {
        let driver = Driver::new();
        let mut client = driver.connect();
        let reply = client.send(&[b"ping\r\n", bytes, b"ping\r\n"].concat());
        assert_eq!(String::from_utf8(reply).unwrap(), format!("+PONG\r\n{expected}"));
        assert!(client.closed);
    }
}

#[test]
fn execution_pauses_when_replies_pile_up_and_goes_on_later() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.ask(&format!("set k {}", "v".repeat(60_000)));
    let entry = driver.shared.clients.add(String::new(), String::new(), 1, 0);
    let mut session = Session::new(&driver.shared, entry);
    let input = b"get k\r\n".repeat(100);
    let mut output = Replies::new();
    let start = output.mark();
    let progress = session.advance(&driver.shared, &input, &mut output, start);
    assert_eq!(progress.next, Next::Drain);
    assert!(output.since(start) < TURN_BYTES + 70_000);
    let mut total = output.since(start);
    let mut at = progress.consumed;
    while at < input.len() {
        output.clear(&driver.shared);
        at += session.advance(&driver.shared, &input[at..], &mut output, start).consumed;
        total += output.since(start);
    }
    assert_eq!(total, 100 * (60_000 + "$60000\r\n\r\n".len()));
}

#[test]
fn the_length_of_a_large_request_is_known_early() {
    let driver = Driver::new();
    let entry = driver.shared.clients.add(String::new(), String::new(), 1, 0);
    let mut session = Session::new(&driver.shared, entry);
    let head = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$20000000\r\n";
    let mut output = Replies::new();
    let start = output.mark();
    let progress = session.advance(&driver.shared, head, &mut output, start);
    assert_eq!(
        progress,
        Progress { consumed: 0, produced: 0, next: Next::Read { needed: head.len() + 20_000_002 } }
    );
}
