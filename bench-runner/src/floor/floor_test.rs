//! Do the floor servers answer every request, in whatever pieces it comes, on both back ends?

use super::{Answers, epoll, http::Http, resp::Resp, uring};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

const ANY: &str = "127.0.0.1:0";

fn epoll_server<A: Answers + Send + 'static>(answers: A) -> SocketAddr
where
    A::State: Send,
{
    let mut server = epoll::Server::bind(ANY.parse().unwrap(), answers).unwrap();
    let address = server.address().unwrap();
    std::thread::spawn(move || server.run());
    address
}

/// None where the kernel forbids io_uring, which is said.
fn uring_server<A: Answers + Send + 'static>(answers: A, buffers: u16) -> Option<SocketAddr> {
    if let Err(error) = uring::probe() {
        println!("skipped: {error}");
        return None;
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    // The ring belongs to the thread that made it.
    std::thread::spawn(move || {
        let mut server = uring::Server::with_buffers(ANY.parse().unwrap(), answers, buffers).unwrap();
        sender.send(server.address().unwrap()).unwrap();
        server.run()
    });
    Some(receiver.recv().unwrap())
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

#[track_caller]
fn expect(stream: &mut TcpStream, reply: &[u8]) {
    let mut got = vec![0; reply.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(reply));
}

fn resp_addresses() -> Vec<SocketAddr> {
    [Some(epoll_server(Resp::new(3))), uring_server(Resp::new(3), 64)].into_iter().flatten().collect()
}

#[test]
fn a_request_in_single_bytes_is_answered_once() {
    for address in resp_addresses() {
        let mut stream = connect(address);
        for byte in b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" {
            stream.write_all(&[*byte]).unwrap();
            std::thread::sleep(Duration::from_micros(200));
        }
        expect(&mut stream, b"$3\r\nxxx\r\n");
        stream
            .write_all(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nplumb\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
            .unwrap();
        expect(&mut stream, b"+OK\r\n$5\r\nxxxxx\r\n");
    }
}

#[test]
fn a_value_larger_than_every_buffer_goes_both_ways() {
    let length = 3 << 20;
    for address in resp_addresses() {
        let mut stream = connect(address);
        let mut set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${length}\r\n").into_bytes();
        set.resize(set.len() + length, b'y');
        set.extend_from_slice(b"\r\n");
        stream.write_all(&set).unwrap();
        expect(&mut stream, b"+OK\r\n");
        stream.write_all(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n").unwrap();
        let reply = [format!("${length}\r\n").as_bytes(), &vec![b'x'; length], b"\r\n"].concat();
        let mut got = vec![0; reply.len()];
        stream.read_exact(&mut got).unwrap();
        assert!(got == reply);
    }
}

/// Two receive buffers for sixty-four connections: receives end again and again for want of one.
#[test]
fn connections_live_on_after_the_buffers_ran_out() {
    if let Some(address) = uring_server(Resp::new(3), 2) {
        let requests = 300;
        let mut streams: Vec<_> = (0..64).map(|_| connect(address)).collect();
        let mut set = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000\r\n".to_vec();
        set.resize(set.len() + 1000, b'y');
        set.extend_from_slice(b"\r\n");
        let batch = set.repeat(requests);
        std::thread::scope(|scope| {
            for stream in &mut streams {
                scope.spawn(|| {
                    for _ in 0..2 {
                        stream.write_all(&batch).unwrap();
                        expect(stream, &b"+OK\r\n".repeat(requests));
                    }
                });
            }
        });
    }
}

#[test]
fn who_breaks_the_protocol_or_leaves_is_let_go_and_others_are_served() {
    for address in resp_addresses() {
        let mut other = connect(address);
        for bytes in [b"*1\r\n!boom\r\n".as_slice(), b""] {
            let mut stream = connect(address);
            stream.write_all(bytes).unwrap();
            if bytes.is_empty() {
                stream.shutdown(Shutdown::Write).unwrap();
            }
            // To its end, which a signal does not interrupt as it does a single read.
            assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0, "the server closes it");
        }
        // A slot that became free is taken again.
        for _ in 0..200 {
            let mut stream = connect(address);
            stream.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
            expect(&mut stream, b"+PONG\r\n");
        }
        other.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
        expect(&mut other, b"+PONG\r\n");
    }
}

#[test]
fn http_is_answered_alike_and_a_closing_request_is_the_last() {
    let addresses = [Some(epoll_server(Http::new(5))), uring_server(Http::new(5), 64)];
    for address in addresses.into_iter().flatten() {
        let mut stream = connect(address);
        let reply =
            b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 5\r\n\r\nxxxxx";
        stream.write_all(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        expect(&mut stream, &reply.repeat(2));
        stream.write_all(b"GET /c HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        expect(&mut stream, reply);
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
    }
}
