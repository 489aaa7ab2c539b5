//! Whole stretches of load over real sockets, against the servers of `test_server`.

use super::address::{Address, Endpoint};
use super::arrivals::{Arrival, Open, Sender};
use super::client::Client;
use super::generator::{Connections, Generator, Held, Pace, Stretch, Stretched};
use super::http;
use super::request::{Draw, Length, Protocol, Workload};
use super::test_server::{Store, serve, serve_resp, serve_tls, serve_tls_by, serve_unix};
use super::values::Values;
use crate::plan::Operation;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

fn workload(operation: Operation, keys: u64) -> Workload {
    Workload { mix: vec![(operation, 1)], keys, ..Workload::default() }
}

/// Exactly so many requests, in a closed loop.
fn counted(count: u64) -> Stretch {
    Stretch {
        min_ns: u64::MAX,
        min_operations: u64::MAX,
        limit: Some(count),
        pace: Pace::Closed,
        deadline: Instant::now() + Duration::from_secs(60),
        seed: 7,
        first: 0,
        window_percentiles: false,
    }
}

/// An open loop of so many ms.
fn open(per_second: f64, ms: u64, in_flight_bound: u64) -> Stretch {
    Stretch {
        min_ns: ms * 1_000_000,
        min_operations: 0,
        limit: None,
        pace: Pace::Open(Open {
            per_second,
            arrival: Arrival::Fixed,
            in_flight_bound,
            sender: Sender::Wakes,
        }),
        ..counted(0)
    }
}

fn run(
    address: &Address,
    clients: u32,
    threads: usize,
    workload: &Workload,
    values: &Values,
    stretch: &Stretch,
) -> Stretched {
    let connections = Connections { clients, threads, cpus: &[], protocol: &workload.protocol };
    let mut generator = Generator::connect(address, &connections).unwrap();
    generator.run(workload, values, stretch, &AtomicBool::new(false))
}

/// Every key is set, read and deleted, each reply checked; and a deleted key is a miss.
fn round_trip(address: &Address, clients: u32, threads: usize, workload: &Workload) {
    let keys = workload.keys;
    let values = Values::new(1, workload.length.longest() as usize);
    for (operation, draw, misses) in [
        (Operation::Set, Draw::Sequential, 0),
        (Operation::Get, Draw::Zipf(0.99), 0),
        (Operation::Get, Draw::Uniform, 0),
        (Operation::Del, Draw::Once, 0),
        (Operation::Get, Draw::Sequential, keys),
    ] {
        let workload = Workload { mix: vec![(operation, 1)], draw, ..workload.clone() };
        let done = run(address, clients, threads, &workload, &values, &counted(keys));
        assert_eq!(done.lost, None);
        assert!(!done.timed_out);
        let counts = done.recorder.counts;
        assert_eq!(
            (counts.operations, counts.misses, counts.errors),
            (keys, misses, misses),
            "{operation:?}"
        );
        assert_eq!(counts.hits, if operation == Operation::Get { keys - misses } else { 0 });
        assert_eq!(done.recorder.times(operation).unwrap().count(), keys);
    }
}

#[test]
fn every_transport_carries_whole_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::default());
    let workload =
        Workload { pipeline: 16, length: Length::Uniform(1, 3_000), ..workload(Operation::Get, 500) };
    for address in [
        serve_resp(&store),
        serve_unix(&store, &dir.path().join("socket")),
        serve_tls(&store, &dir.path().join("certificate.pem")),
    ] {
        round_trip(&address, 5, 1, &workload);
        round_trip(&address, 5, 2, &workload);
    }
}

#[test]
fn resp3_and_a_key_prefix_are_spoken() {
    let store = Arc::new(Store::default());
    let workload = Workload {
        protocol: Protocol::Resp3,
        key_prefix: b"plumb:0011:".to_vec(),
        ..workload(Operation::Get, 300)
    };
    let address = serve_resp(&store);
    round_trip(&address, 3, 1, &workload);
    let values = Values::new(1, 64);
    let set = Workload { mix: vec![(Operation::Set, 1)], ..workload };
    run(&address, 1, 1, &set, &values, &counted(10));
    assert!(store.map.lock().unwrap().keys().all(|key| key.starts_with(b"plumb:0011:key:")));
}

#[test]
fn memcached_is_spoken() {
    let store = Arc::new(Store::default());
    let address = serve(&store, |store, stream| store.serve_memcached(stream));
    let workload = Workload { protocol: Protocol::Memcached, pipeline: 4, ..workload(Operation::Get, 300) };
    round_trip(&address, 3, 1, &workload);
}

#[test]
fn a_certificate_that_is_not_believed_ends_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::default());
    let Endpoint::Tls(mut tls) = serve_tls(&store, &dir.path().join("one.pem")).endpoint else {
        panic!("it is over TLS")
    };
    serve_tls(&store, &dir.path().join("other.pem"));
    tls.roots = Some(dir.path().join("other.pem"));
    let error =
        Client::connect(&Address::of(Endpoint::Tls(tls.clone())), Duration::from_secs(10)).unwrap_err();
    assert!(error.to_string().contains("over TLS") && error.to_string().contains("certificate"), "{error}");
    tls.roots = Some(dir.path().join("none.pem"));
    let error = Client::connect(&Address::of(Endpoint::Tls(tls)), Duration::from_secs(10)).unwrap_err();
    assert!(error.to_string().contains("none.pem"), "{error}");
}

#[test]
fn a_wrong_value_is_found_whatever_carries_it() {
    let store = Arc::new(Store::default());
    let address = serve_resp(&store);
    let values = Values::new(1, 64);
    for index in 0..10 {
        let mut value = vec![0; 64];
        values.write(index, &mut value);
        value[63] ^= u8::from(index == 4);
        store.map.lock().unwrap().insert(format!("key:{index:012}").into_bytes(), value);
    }
    let reads = Workload { draw: Draw::Sequential, ..workload(Operation::Get, 10) };
    let done = run(&address, 2, 1, &reads, &values, &counted(10));
    assert_eq!((done.recorder.counts.errors, done.recorder.counts.operations), (1, 10));
    let text = done.recorder.first_error.unwrap();
    assert!(text.contains("key 4") && text.contains("byte 63"), "{text}");
}

#[test]
fn an_open_loop_sends_what_its_schedule_says_and_nothing_else() {
    let store = Arc::new(Store::default());
    let values = Values::new(1, 64);
    for threads in [1, 3] {
        let sets = workload(Operation::Set, 100);
        // More than enough connections for all of it at once, however late this machine may be.
        let done = run(&serve_resp(&store), 40, threads, &sets, &values, &open(1_000.0, 400, 100_000));
        let open = done.open.unwrap();
        assert_eq!((open.due, open.skipped, done.recorder.counts.operations), (400, 0, 400));
        assert!(done.elapsed_ns >= 400_000_000 && open.achieved_per_second <= 1_000.0);
        let times = done.recorder.times(Operation::Set).unwrap();
        assert!(times.to_record("set").unwrap().from_intended_start);
        assert_eq!(done.send_delays.unwrap().count(), 400, "no request had to wait for a connection");
    }
}

#[test]
fn a_stall_is_in_the_tail_of_the_open_loop_and_hidden_by_the_closed_one() {
    let stall = Duration::from_millis(400);
    let values = Values::new(1, 64);
    let sets = workload(Operation::Set, 100);
    // Of 1,000 requests in a second, those due in 400 ms wait: 40 %, half of them for more than 200 ms.
    let address = serve_resp(&Store::stalling(300, stall));
    let done = run(&address, 4, 1, &sets, &values, &open(1_000.0, 1_000, 100_000));
    assert_eq!((done.open.as_ref().unwrap().due, done.recorder.counts.operations), (1_000, 1_000));
    let times = done.recorder.times(Operation::Set).unwrap();
    assert!(times.percentile_ns(85.0) >= 200_000_000, "{}", times.percentile_ns(85.0));
    assert!(times.max_ns() >= 399_000_000);
    // Four connections see it four times, however long it lasts.
    let address = serve_resp(&Store::stalling(300, stall));
    let done = run(&address, 4, 1, &sets, &values, &counted(1_000));
    let times = done.recorder.times(Operation::Set).unwrap();
    assert!(times.percentile_ns(99.0) < 200_000_000, "{}", times.percentile_ns(99.0));
    assert!(times.max_ns() >= 399_000_000);
}

#[test]
fn beyond_the_bound_requests_are_skipped_and_counted() {
    let values = Values::new(1, 64);
    let sets = workload(Operation::Set, 100);
    let address = serve_resp(&Store::stalling(100, Duration::from_millis(400)));
    let done = run(&address, 2, 1, &sets, &values, &open(1_000.0, 700, 10));
    let open = done.open.unwrap();
    assert_eq!(open.due, 700);
    assert_eq!(open.due, done.recorder.counts.operations + open.skipped);
    assert_eq!(done.sent, done.recorder.counts.operations);
    assert!(open.in_flight_max <= 10, "{}", open.in_flight_max);
    assert!(open.skipped >= 300, "about 400 were due while nothing was answered: {}", open.skipped);
    let longest = done.recorder.times(Operation::Set).unwrap().max_ns();
    assert!(longest >= 350_000_000, "those within the bound were waited for: {longest}");
}

#[test]
fn a_held_pace_is_kept_and_its_waiting_is_not_work() {
    let store = Arc::new(Store::default());
    let values = Values::new(1, 64);
    let stretch = Stretch { pace: Pace::Held(Held::PerSecond(1_000.0)), ..counted(300) };
    // Other processes can only lengthen a run, so the shortest of several shows the pace.
    let mut shortest = (u64::MAX, 1.0);
    for _ in 0..5 {
        let done = run(&serve_resp(&store), 2, 1, &workload(Operation::Set, 100), &values, &stretch);
        assert_eq!(done.recorder.counts.operations, 300);
        assert!(done.elapsed_ns >= 290_000_000, "faster than its pace: {}", done.elapsed_ns);
        if done.elapsed_ns < shortest.0 {
            shortest = (done.elapsed_ns, done.busy_max);
        }
    }
    let (elapsed_ns, busy) = shortest;
    assert!(elapsed_ns < 400_000_000, "slower than its pace: {elapsed_ns}");
    assert!(busy < 0.9, "busy waiting most of the time: {busy}");
}

#[test]
fn a_slower_client_spends_what_it_was_told_on_a_request() {
    let values = Values::new(1, 64);
    let stretch = Stretch { pace: Pace::Held(Held::CpuNs(200_000.0)), ..counted(2_000) };
    let store = Arc::new(Store::default());
    let done = run(&serve_resp(&store), 2, 1, &workload(Operation::Set, 100), &values, &stretch);
    let spent = done.cpu_ns as f64 / done.recorder.counts.operations as f64;
    assert!((150_000.0..250_000.0).contains(&spent), "{spent} ns of CPU per request");
}

#[test]
fn a_deadline_and_a_stop_end_the_load_and_say_so() {
    let values = Values::new(1, 64);
    let sets = workload(Operation::Set, 100);
    for pace in [Pace::Closed, open(1_000.0, 1, 1_000).pace] {
        let address = serve_resp(&Store::stalling(20, Duration::from_secs(3)));
        let deadline = Instant::now() + Duration::from_millis(500);
        let stretch = Stretch { pace, deadline, ..counted(1_000) };
        let done = run(&address, 2, 1, &sets, &values, &stretch);
        assert!(done.timed_out && !done.stopped && done.recorder.counts.operations < done.sent);

        let address = serve_resp(&Arc::new(Store::default()));
        let connections = Connections { clients: 2, threads: 1, cpus: &[], protocol: &sets.protocol };
        let mut generator = Generator::connect(&address, &connections).unwrap();
        let done =
            generator.run(&sets, &values, &Stretch { pace, ..counted(1_000_000) }, &AtomicBool::new(true));
        assert!(done.stopped && !done.timed_out);
    }
}

#[test]
fn a_connection_that_ends_under_load_is_told() {
    let store = Arc::new(Store::default());
    let address = serve(&store, |_, mut stream| {
        let mut piece = [0; 1_024];
        // PING is answered, a request is not.
        let _ = stream.read(&mut piece);
        let _ = stream.write_all(b"+PONG\r\n");
        let _ = stream.read(&mut piece);
    });
    let values = Values::new(1, 64);
    for stretch in [counted(10), open(100.0, 100, 10)] {
        let done = run(&address, 2, 1, &workload(Operation::Set, 10), &values, &stretch);
        let text = done.lost.unwrap();
        assert!(text.contains("connection"), "{text}");
    }
}

#[test]
fn documents_are_read_over_http() {
    let values = Values::new(1, 240);
    let served = values.clone();
    let store = Arc::new(Store::default());
    let address = serve(&store, move |_, mut stream| {
        let (mut input, mut piece) = (Vec::<u8>::new(), vec![0; 4_096]);
        loop {
            while let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(input.drain(..end + 4).collect()).unwrap();
                let path = head.split(' ').nth(1).unwrap();
                let index: u64 = path.strip_prefix("/d/key:").unwrap().parse().unwrap();
                let mut body = vec![0; 240];
                served.write(index, &mut body);
                let reply = [b"HTTP/1.1 200 OK\r\nContent-Length: 240\r\n\r\n".as_slice(), &body].concat();
                let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec();
                let reply = if index < 90 { reply } else { missing };
                if stream.write_all(&reply).is_err() {
                    return;
                }
            }
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return,
                Ok(count) => input.extend_from_slice(&piece[..count]),
            }
        }
    });
    let reads = Workload {
        protocol: Protocol::Http(http::Target {
            host: "test".to_owned(),
            path_prefix: "/d/".to_owned(),
            close: false,
        }),
        length: Length::Fixed(240),
        draw: Draw::Sequential,
        ..workload(Operation::Get, 100)
    };
    let done = run(&address, 3, 1, &reads, &values, &counted(100));
    assert_eq!(done.lost, None);
    let counts = done.recorder.counts;
    assert_eq!((counts.operations, counts.hits, counts.misses), (100, 90, 10));
}

#[test]
fn a_page_is_read_over_tls_as_it_is_in_the_clear() {
    let dir = tempfile::tempdir().unwrap();
    let address = serve_tls_by(&Arc::default(), &dir.path().join("ca.pem"), |_, mut stream| {
        let (mut input, mut piece) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            input.extend_from_slice(&piece[..count]);
            while let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") {
                input.drain(..end + 4);
                if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_err() {
                    return;
                }
            }
        }
    });
    let page = http::Page::new("server.test", "/");
    page.look(&address, Duration::from_secs(10)).unwrap();
    assert_eq!(page.body_bytes(), Some(5));
    let reads = Workload { protocol: Protocol::Page(page), ..workload(Operation::Get, 1) };
    let done = run(&address, 3, 1, &reads, &Values::new(1, 1), &counted(100));
    assert_eq!((done.lost, done.recorder.first_error), (None, None));
    assert_eq!((done.recorder.counts.operations, done.recorder.counts.hits), (100, 100));
}
