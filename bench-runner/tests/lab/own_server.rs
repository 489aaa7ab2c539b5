//! A small store with one fault, which this test program becomes as a target.

use plumbkv_resp::{Limits, Parsed, ReplyWriter, RequestParser, Version};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Not a test of its own: a small store that this program becomes as a target, with one fault. Its role and
/// port come as filters that match no test.
#[test]
fn own_server() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(port) = arguments.last().and_then(|port| port.parse::<u16>().ok()) else { return };
    let role: &'static str = arguments[arguments.len() - 2].clone().leak();
    if role == "refuses" {
        eprintln!("no such luck");
        std::process::exit(1);
    }
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let store = Arc::new(Mutex::new(HashMap::new()));
    for stream in listener.incoming() {
        let store = Arc::clone(&store);
        std::thread::spawn(move || match role {
            "once" => serve_once(stream.unwrap()),
            _ => serve(stream.unwrap(), role, &store),
        });
    }
}

/// HTTP for one request per connection: the next one on it is an error. That it keeps connections is all it says.
fn serve_once(stream: TcpStream) {
    let mut answers = &stream;
    let mut closes = false;
    let mut earlier = 0;
    for line in BufReader::new(&stream).lines().map_while(Result::ok) {
        closes |= line == "Connection: close";
        if !line.is_empty() {
            continue;
        }
        let status = if earlier == 0 { "200 OK" } else { "500 Internal Server Error" };
        earlier += 1;
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: 240\r\n\r\n");
        if answers.write_all(&[head.as_bytes(), &[b'x'; 240]].concat()).is_err() || closes {
            return;
        }
    }
}

/// Requests of each kind, of all connections.
static GETS: AtomicU64 = AtomicU64::new(0);
static SETS: AtomicU64 = AtomicU64::new(0);

/// From this request on, or at it, the server is faulty: loading and the first checks are over by then.
const FROM: u64 = 200;
/// A cell's keys are loaded and a few more are written before a store is full.
const FULL_FROM: u64 = 2_200;

fn serve(mut stream: TcpStream, role: &str, store: &Mutex<HashMap<Vec<u8>, Vec<u8>>>) {
    let mut parser = RequestParser::new(Limits::default());
    let (mut input, mut piece) = (Vec::new(), vec![0; 65_536]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        input.extend_from_slice(&piece[..count]);
        if role == "early" && input.starts_with(b"*3\r\n") && !input.ends_with(b"\r\n") {
            // Acknowledged before its value has come.
            stream.write_all(b"+OK\r\n").unwrap();
        }
        let mut replies = Vec::new();
        while let Parsed::Complete { value: request, consumed } = parser.parse(&input) {
            let words: Vec<&[u8]> = (0..).map_while(|place| request.get(place)).collect();
            replies.push(answer(&words, role, store));
            input.drain(..consumed);
        }
        if role == "swaps" && replies.len() > 1 && GETS.load(Ordering::Relaxed) > FROM {
            replies.swap(0, 1);
        }
        if stream.write_all(&replies.concat()).is_err() {
            return;
        }
    }
}

fn answer(request: &[&[u8]], role: &str, store: &Mutex<HashMap<Vec<u8>, Vec<u8>>>) -> Vec<u8> {
    let mut output = Vec::new();
    let mut reply = ReplyWriter::new(&mut output, Version::Resp2);
    match request[0] {
        b"PING" => reply.simple("PONG"),
        b"DBSIZE" => reply.integer(store.lock().unwrap().len() as i64),
        b"EXISTS" => reply.integer(i64::from(store.lock().unwrap().contains_key(request[1]))),
        // A lifetime is not looked at: `forever` is what it is without a fault, too.
        b"SET" if role == "full" && SETS.fetch_add(1, Ordering::Relaxed) >= FULL_FROM => {
            reply.error("OOM command not allowed when used memory > 'maxmemory'");
        }
        b"SET" if role == "forgets" && SETS.fetch_add(1, Ordering::Relaxed) % 10 == 9 => reply.simple("OK"),
        // Three MiB under a cap of two.
        b"INFO" if role == "greedy" => reply.bulk(b"# Memory\r\nused_memory:3145728\r\nevicted_keys:0\r\n"),
        b"INFO" => reply.bulk(b"# Memory\r\nused_memory:1048576\r\nevicted_keys:0\r\n"),
        b"SET" => {
            store.lock().unwrap().insert(request[1].to_vec(), request[2].to_vec());
            reply.simple("OK");
        }
        b"DEL" => {
            let mut store = store.lock().unwrap();
            let is_there = if role == "keeps" {
                store.contains_key(request[1])
            } else {
                store.remove(request[1]).is_some()
            };
            reply.integer(i64::from(is_there));
        }
        b"GET" => {
            let nth = GETS.fetch_add(1, Ordering::Relaxed) + 1;
            let value = store.lock().unwrap().get(request[1]).cloned();
            let Some(mut value) = value else {
                reply.null();
                return output;
            };
            match role {
                "lies" if nth.is_multiple_of(50) => value[33] ^= 1,
                "blinks" if nth == FROM => value[33] ^= 1,
                "spoils" => value[33] ^= 1,
                "dies" if nth == FROM => {
                    eprintln!("out of patience");
                    std::process::exit(7);
                }
                // More than once: Rust's own handler lets the first one pass.
                "faults" if nth == FROM => loop {
                    let (own, signal) = (rustix::process::getpid(), rustix::process::Signal::SEGV);
                    rustix::process::kill_process(own, signal).unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(1));
                },
                "hangs" if nth >= FROM => loop {
                    std::thread::park();
                },
                "drops" if nth == FROM => return output,
                "twice" if nth == FROM => reply.bulk(&value),
                _ => {}
            }
            reply.bulk(&value);
        }
        _ => reply.simple("OK"),
    }
    output
}
