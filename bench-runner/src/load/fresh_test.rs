//! A connection per request over real sockets, against servers that close as they are asked to, or do not.

use super::address::Address;
use super::generator::{Connections, Generator, Held, Pace, Stretch, Stretched};
use super::http;
use super::request::{Draw, Length, Protocol, Workload};
use super::values::Values;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    StaysOpen,
    ClosesEarly,
    SaysMore,
}

/// Answers one request per connection by the right document. How many connections it took is counted.
fn serve(fault: Fault) -> (Address, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::tcp(listener.local_addr().unwrap());
    let accepted = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&accepted);
    std::thread::spawn(move || {
        let values = Values::new(1, 240);
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counter.fetch_add(1, Ordering::SeqCst);
            let (mut input, mut piece) = (Vec::new(), [0; 1_024]);
            while !input.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut piece).unwrap();
                assert!(count > 0, "a client left before it asked");
                input.extend_from_slice(&piece[..count]);
            }
            let head = String::from_utf8(input).unwrap();
            assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
            let index: u64 =
                head.split(['/', ' ']).nth(2).unwrap().trim_start_matches("key:").parse().unwrap();
            let mut body = vec![0; 240];
            values.write(index, &mut body);
            let mut reply = [b"HTTP/1.1 200 OK\r\nContent-Length: 240\r\n\r\n".as_slice(), &body].concat();
            match fault {
                Fault::ClosesEarly => reply.truncate(100),
                Fault::SaysMore => reply.push(b'!'),
                Fault::None | Fault::StaysOpen => {}
            }
            stream.write_all(&reply).unwrap();
            if fault == Fault::StaysOpen {
                kept.push(stream);
            }
        }
    });
    (address, accepted)
}

fn visit(address: &Address, clients: u32, threads: usize, stretch: &Stretch) -> Stretched {
    let workload = Workload {
        protocol: Protocol::Http(http::Target {
            host: "test".to_owned(),
            path_prefix: "/".to_owned(),
            close: true,
        }),
        length: Length::Fixed(240),
        keys: 100,
        draw: Draw::Uniform,
        ..Workload::default()
    };
    let values = Values::new(1, 240);
    let wanted = Connections { clients, threads, cpus: &[], protocol: &workload.protocol };
    let mut generator = Generator::connect(address, &wanted).unwrap();
    generator.run(&workload, &values, stretch, &AtomicBool::new(false))
}

fn counted(requests: u64) -> Stretch {
    Stretch {
        min_ns: u64::MAX,
        min_operations: 0,
        limit: Some(requests),
        pace: Pace::Closed,
        deadline: Instant::now() + Duration::from_secs(20),
        seed: 1,
        first: 0,
        window_percentiles: false,
    }
}

#[test]
fn every_request_has_a_connection_of_its_own() {
    for (clients, threads) in [(1, 1), (5, 2)] {
        let (address, accepted) = serve(Fault::None);
        let done = visit(&address, clients, threads, &counted(301));
        assert_eq!((done.lost, done.timed_out), (None, false));
        let counts = done.recorder.counts;
        assert_eq!((counts.operations, counts.hits, counts.errors), (301, 301, 0));
        assert_eq!(accepted.load(Ordering::SeqCst), 301);
        assert_eq!(done.recorder.statuses.get(&200), Some(&301));
    }
}

#[test]
fn a_stretch_of_time_ends_with_every_answer_in() {
    let (address, accepted) = serve(Fault::None);
    let stretch = Stretch { min_ns: 100_000_000, min_operations: 10, limit: None, ..counted(0) };
    let done = visit(&address, 3, 1, &stretch);
    assert_eq!(done.lost, None);
    assert!(done.elapsed_ns >= 90_000_000 && done.sent >= 10);
    assert_eq!(done.recorder.counts.operations, done.sent);
    assert_eq!(accepted.load(Ordering::SeqCst), done.sent);
}

#[test]
fn a_server_that_does_not_keep_to_it_is_told() {
    for (fault, words) in [
        (Fault::StaysOpen, "did not close"),
        (Fault::ClosesEarly, "before its answer was whole"),
        (Fault::SaysMore, "more than"),
    ] {
        let (address, _) = serve(fault);
        let deadline = Instant::now() + Duration::from_millis(400);
        let lost = visit(&address, 2, 1, &Stretch { deadline, ..counted(50) }).lost;
        assert!(lost.as_deref().is_some_and(|text| text.contains(words)), "{fault:?}: {lost:?}");
    }
}

#[test]
fn a_server_that_is_not_there_and_a_pace_that_is_not_meant_are_told() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let lost = visit(&Address::tcp(nobody), 2, 1, &counted(5)).lost.unwrap();
    assert!(lost.contains("refused"), "{lost}");
    let (address, _) = serve(Fault::None);
    let lost = visit(&address, 2, 1, &Stretch { pace: Pace::Held(Held::PerSecond(100.0)), ..counted(5) })
        .lost
        .unwrap();
    assert!(lost.contains("closed loop"), "{lost}");
}
