//! Backpressure on real sockets: clients that write a whole pipeline before they read a reply.
//!
//! Blocking clients do so (hiredis, phpredis, redis-py, Jedis). Each test writes more than the buffers
//! of both sockets hold, on one thread, so a server that stops receiving fails it. The full numbers,
//! with latency of another client judged, are those of `PLUMBKV_FAULTS=full` (`make faults`).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::client::{noise, request_of};
use crate::faults::{Scene, expect, is_full, scaled};
use crate::server::{Server, is_durable};

/// Caps on memory; the second one in full only.
const CAPS: [(&str, u64); 2] = [("64mib", 64 << 20), ("1gib", 1 << 30)];
const VALUE_BYTES: usize = 1000;

/// How long one system call of a blocking client may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes that the client's own socket buffers hold, so that the server's part begins soon.
const SOCKET_BYTES: usize = 16 << 10;

/// The same for what it sends where that is a gigabyte: with less room than a segment of the loopback
/// interface has, each waits 40 ms for the acknowledgement of the one before.
const FULL_SEND_BYTES: usize = 512 << 10;

fn blocking_client(server: &Server) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(SOCKET_BYTES).unwrap();
    socket.set_send_buffer_size(scaled(SOCKET_BYTES, FULL_SEND_BYTES)).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], server.port));
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// How much a server may grow: what its cap allows, and a durable one by its store's budget, too.
fn bound(cap: u64) -> u64 {
    if is_durable() { cap + (300 << 20) } else { cap }
}

/// Compares the replies with those that `count` requests must have.
fn expect_replies(stream: &mut TcpStream, count: usize, reply: impl Fn(usize) -> Vec<u8>) {
    let mut next = 0;
    while next < count {
        let end = count.min(next + 10_000);
        let expected: Vec<u8> = (next..end).flat_map(&reply).collect();
        expect(stream, &expected);
        next = end;
    }
    stream.write_all(b"PING\r\n").unwrap();
    expect(stream, b"+PONG\r\n");
}

#[test]
fn gets_written_before_the_first_read() {
    // In small, most requests say which one they are; in full, all are GETs.
    let (count, gets) = (scaled(240_000, 400_000), scaled(4, 1));
    for (cap, bytes) in CAPS.into_iter().take(scaled(1, 2)) {
        let mut scene = Scene::begin(&["--memory-limit", cap]);
        let value = noise(VALUE_BYTES, 1);
        let mut stream = blocking_client(&scene.server);
        stream.write_all(&request_of(&[b"SET", b"bulk", &value])).unwrap();
        expect(&mut stream, b"+OK\r\n");
        let wire: Vec<u8> = (0..count)
            .flat_map(|number| match number % gets {
                0 => request_of(&[b"GET", b"bulk"]),
                _ => request_of(&[b"ECHO", format!("{number:08}").as_bytes()]),
            })
            .collect();
        stream.write_all(&wire).unwrap();
        let grown = scene.look();
        assert!(grown <= bound(bytes), "{count} requests took {grown} bytes under a cap of {cap}");
        let long = [format!("${VALUE_BYTES}\r\n").as_bytes(), &value[..], b"\r\n"].concat();
        expect_replies(&mut stream, count, |number| match number % gets {
            0 => long.clone(),
            _ => format!("$8\r\n{number:08}\r\n").into_bytes(),
        });
        stream.write_all(b"DEL bulk\r\n").unwrap();
        expect(&mut stream, b":1\r\n");
        drop(stream);
        scene.end(&format!("{count} requests with long replies, written before the first read, cap {cap}"));
    }
}

#[test]
fn sets_written_before_the_first_read() {
    // In small, the replies of further requests take the place of those of further values.
    let (count, keys, echoes) = (scaled(50_000, 1_000_000), 1000, if is_full() { 0 } else { 8 });
    for (cap, bytes) in CAPS.into_iter().take(scaled(1, 2)) {
        let mut scene = Scene::begin(&["--memory-limit", cap]);
        let mut stream = blocking_client(&scene.server);
        let round = |number: usize| {
            let key = format!("bulk:{}", number % keys);
            let mut value = format!("{number:08}").into_bytes();
            value.resize(scaled(100, VALUE_BYTES), b'v');
            let echo = request_of(&[b"ECHO", format!("{number:08}").as_bytes()]);
            [request_of(&[b"SET", key.as_bytes(), &value]), echo.repeat(echoes)].concat()
        };
        for first in (0..count).step_by(1000) {
            let wire: Vec<u8> = (first..count.min(first + 1000)).flat_map(round).collect();
            stream.write_all(&wire).unwrap();
        }
        let grown = scene.look();
        assert!(grown <= bound(bytes), "{count} SETs took {grown} bytes under a cap of {cap}");
        expect_replies(&mut stream, count, |number| {
            [b"+OK\r\n".to_vec(), format!("$8\r\n{number:08}\r\n").into_bytes().repeat(echoes)].concat()
        });
        for number in 0..keys {
            stream.write_all(&request_of(&[b"DEL", format!("bulk:{number}").as_bytes()])).unwrap();
            expect(&mut stream, b":1\r\n");
        }
        drop(stream);
        scene.end(&format!("{count} SETs, written before the first read, cap {cap}"));
    }
}

#[test]
fn a_pipeline_beyond_the_limits_ends_with_an_error_behind_the_replies_before_it() {
    let limits = ["--client-output-buffer-limit", "2mib", "--client-query-buffer-limit", "1mib"];
    let mut scene = Scene::begin(&[&["--memory-limit", "256mib"], &limits[..]].concat());
    let mut stream = blocking_client(&scene.server);
    stream.write_all(&request_of(&[b"SET", b"bulk", &noise(VALUE_BYTES, 1)])).unwrap();
    expect(&mut stream, b"+OK\r\n");
    let count = 300_000;
    let wire: Vec<u8> = (0..count)
        .flat_map(|number| {
            [request_of(&[b"ECHO", format!("{number:08}").as_bytes()]), request_of(&[b"GET", b"bulk"])]
                .concat()
        })
        .collect();
    // What exceeds the limits is received and discarded, so that the client comes to read the error.
    stream.write_all(&wire).unwrap();
    scene.look();
    let mut replies = Vec::new();
    stream.read_to_end(&mut replies).unwrap();
    let error =
        "-ERR unread replies exceed client-output-buffer-limit (2097152 bytes); the connection is closed\r\n";
    assert!(replies.ends_with(error.as_bytes()), "{}", replies[replies.len() - 200..].escape_ascii());
    let marks: Vec<usize> =
        replies.windows(4).enumerate().filter(|(_, at)| at == b"$8\r\n").map(|(at, _)| at).collect();
    assert!(marks.len() < count);
    for (number, at) in marks.into_iter().enumerate() {
        assert_eq!(&replies[at + 4..at + 12], format!("{number:08}").as_bytes());
    }
    scene.server.wait_for_line("unread replies exceed client-output-buffer-limit");
    scene.server.client().check("DEL bulk", b":1\r\n");
    scene.end("a pipeline beyond the limits");
}
