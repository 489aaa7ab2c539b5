//! What can clients do to the server, to its memory and to each other by behaving badly? And is any reply lost over it?
//!
//! Every reply holds a number that says which request it answers. Beside each fault, and for the five seconds in which
//! memory may return, another client works at a steady pace; its latency counts from the moment at which its request was
//! due. `PLUMBKV_FAULTS=full` (`make faults`) asks for the full numbers and for a release build: only then is latency
//! judged, since tests that run beside each other slow each other down. A second client does the same at a second
//! server, which is left alone: what it waits for is the machine. CPU stalls of the machine are printed
//! ([`crate::cpu_stalls`]) and change no verdict.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::client::{Client, noise, request, request_of};
use crate::cpu_stalls::CpuStalls;
use crate::server::{Server, eventually, is_durable};

const MIB: u64 = 1 << 20;

/// How long memory may take to return.
const RETURN: Duration = Duration::from_secs(5);

/// Time between two requests of the client beside.
const PACE: Duration = Duration::from_millis(1);

pub(crate) fn is_full() -> bool {
    std::env::var("PLUMBKV_FAULTS").is_ok_and(|value| value == "full")
}

/// So many of something: the full number, or few of them.
pub(crate) fn scaled(few: usize, full: usize) -> usize {
    if is_full() { full } else { few }
}

/// A client that counts at a steady pace until it is told to end.
struct Witness {
    end: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Vec<Duration>>,
}

impl Witness {
    fn start(server: &Server) -> Witness {
        let mut client = server.client();
        let end = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            let mut latencies = Vec::new();
            let begin = Instant::now();
            let mut number = 0;
            while !seen.load(Ordering::Relaxed) {
                number += 1;
                let due = begin + PACE * number;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                client.send(b"*2\r\n$4\r\nINCR\r\n$7\r\nwitness\r\n");
                assert_eq!(client.receive(), format!(":{number}\r\n").into_bytes());
                latencies.push(due.elapsed());
            }
            latencies
        });
        Witness { end, thread }
    }

    /// Its latencies, shortest first.
    fn stop(self) -> Vec<Duration> {
        self.end.store(true, Ordering::Relaxed);
        let mut latencies = self.thread.join().unwrap();
        latencies.sort_unstable();
        latencies
    }
}

/// A percentile, in permille, of latencies that are sorted.
fn milliseconds(latencies: &[Duration], permille: usize) -> f64 {
    latencies[(latencies.len() - 1) * permille / 1000].as_secs_f64() * 1e3
}

fn rss(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// A server, what it takes before anything happens, and a client that works beside.
pub(crate) struct Scene {
    pub(crate) server: Server,
    witness: Witness,
    /// Only where latency is judged.
    stalls: Option<CpuStalls>,
    /// A server that is left alone, and its client; only where latency is judged.
    control: Option<(Server, Witness)>,
    before: u64,
    most: u64,
}

impl Scene {
    pub(crate) fn begin(arguments: &[&str]) -> Scene {
        let server = Server::start(arguments);
        // What every server touches once.
        let mut client = server.client();
        for number in 0..1000 {
            client.check(&format!("SET key:{number} {number}"), b"+OK\r\n");
        }
        let stalls = is_full().then(CpuStalls::start);
        let witness = Witness::start(&server);
        let control = is_full().then(|| {
            let server = Server::start(arguments);
            let witness = Witness::start(&server);
            (server, witness)
        });
        std::thread::sleep(Duration::from_millis(300));
        let before = rss(&server);
        Scene { server, witness, stalls, control, before, most: before }
    }

    /// Looks at the memory now.
    pub(crate) fn look(&mut self) -> u64 {
        let now = rss(&self.server);
        self.most = self.most.max(now);
        now.saturating_sub(self.before)
    }

    /// The server lives, its memory is back in time, and the client beside was served all along.
    #[track_caller]
    pub(crate) fn end(mut self, what: &str) {
        self.look();
        let fault = Instant::now();
        // A durable store keeps what it has written in memory too, until there is enough of it for a table.
        let allowed = if is_durable() { u64::MAX } else { self.before + self.before / 10 };
        let mut after = rss(&self.server);
        while after > allowed && fault.elapsed() < RETURN {
            std::thread::sleep(Duration::from_millis(20));
            after = rss(&self.server);
        }
        let returned = fault.elapsed();
        if is_full() {
            std::thread::sleep(RETURN.saturating_sub(returned));
        }
        self.server.assert_alive();
        let latencies = self.witness.stop();
        let at = |permille: usize| milliseconds(&latencies, permille);
        let mib = |bytes: u64| bytes as f64 / MIB as f64;
        println!(
            "{what}: RSS {:.1} MiB before, {:.1} at most, {:.1} after {:.2} s ({:.0} %); beside it {} requests, p50 {:.2} ms, \
             p99 {:.2} ms, longest {:.2} ms",
            mib(self.before),
            mib(self.most),
            mib(after),
            returned.as_secs_f64(),
            after as f64 / self.before as f64 * 100.0,
            latencies.len(),
            at(500),
            at(990),
            at(1000)
        );
        assert!(
            after <= allowed,
            "{what}: {after} bytes are more than 110 % of {} after {RETURN:?}",
            self.before
        );
        if let Some((_alone, witness)) = self.control {
            let alone = milliseconds(&witness.stop(), 990);
            let stalls = match self.stalls.and_then(|stalls| stalls.total()) {
                Some(total) => format!("{} ms", total.as_millis()),
                None => "not measured".to_owned(),
            };
            println!("  at a server that was left alone: p99 {alone:.2} ms; CPU stalls: {stalls}");
            assert!(
                at(990) < 10.0,
                "{what}: the p99 beside it is {:.2} ms, and {alone:.2} ms at a server that was left alone",
                at(990)
            );
        }
    }
}

/// As many descriptors as the tests need and may have.
fn raise_descriptors(wanted: u64) {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        setrlimit(Resource::Nofile, limit).unwrap();
    }
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Closes with a reset instead of an end, and so without leaving the port in TIME_WAIT.
fn reset(stream: TcpStream) {
    let socket = socket2::Socket::from(stream);
    socket.set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
fn connections_that_are_dropped_in_the_middle_of_a_command() {
    let count = scaled(1_000, 10_000);
    raise_descriptors(2 * count as u64 + 1_000);
    let mut scene = Scene::begin(&["--maxclients", &(count + 10).to_string()]);
    let wire = request_of(&[b"SET", b"dropped", &noise(300, 1)]);
    for round in 0..2 {
        let mut streams: Vec<TcpStream> = Vec::with_capacity(count);
        for number in 0..count {
            let mut stream = connect(&scene.server);
            stream.write_all(&wire[..1 + (number * 7 + round) % (wire.len() - 1)]).unwrap();
            streams.push(stream);
        }
        let mut other = scene.server.client();
        eventually("all are connected", || other.info("connected_clients") >= count as u64);
        scene.look();
        for (number, stream) in streams.into_iter().enumerate() {
            if number % 2 == 0 { reset(stream) } else { drop(stream) }
        }
        eventually("all are let go", || other.info("connected_clients") == 2);
    }
    scene.server.client().check("EXISTS dropped", b":0\r\n");
    scene.end(&format!("{count} connections dropped in the middle of a command, twice"));
}

/// Reads as many bytes as are expected, and finds the first that is another.
pub(crate) fn expect(stream: &mut TcpStream, expected: &[u8]) {
    let mut chunk = vec![0; 256 << 10];
    let mut at = 0;
    while at < expected.len() {
        let wanted = chunk.len().min(expected.len() - at);
        let count = stream.read(&mut chunk[..wanted]).unwrap();
        assert!(count > 0, "closed after {at} of {} bytes", expected.len());
        let same = chunk[..count].iter().zip(&expected[at..]).take_while(|(a, b)| a == b).count();
        assert!(same == count, "byte {} of {} is another", at + same, expected.len());
        at += count;
    }
}

/// A request whose reply is the number, and one whose reply is long.
fn numbered(number: usize) -> Vec<u8> {
    [request_of(&[b"ECHO", format!("{number:08}").as_bytes()]), request("GET large")].concat()
}

#[test]
fn clients_that_never_read() {
    let (count, requests) = (scaled(4, 20), 500);
    let large = noise(64 << 10, 1);
    let mut scene = Scene::begin(&["--memory-limit", "256mib"]);
    let mut other = scene.server.client();
    other.send(&request_of(&[b"SET", b"large", &large]));
    assert_eq!(other.receive(), b"+OK\r\n");
    let wire: Vec<u8> = (0..requests).flat_map(numbered).collect();
    let mut clients: Vec<Client> = (0..count).map(|_| scene.server.client()).collect();
    for client in &mut clients {
        // Shorter than the sockets' buffers.
        client.send(&wire);
    }
    std::thread::sleep(Duration::from_secs(2));
    let grown = scene.look();
    // A mebibyte and a reply each, in a buffer that doubles.
    let bound = count as u64 * 5 * MIB / 2;
    assert!(grown <= bound, "{count} clients that do not read took {grown} bytes, more than {bound}");
    // Half of them go, the others read at last: every reply is there, once, and in its place.
    clients.truncate(count / 2);
    for client in &mut clients {
        for number in 0..requests {
            assert_eq!(client.receive(), format!("$8\r\n{number:08}\r\n").into_bytes());
            let reply = client.receive();
            assert!(reply[8..reply.len() - 2] == large, "the reply behind number {number} was damaged");
        }
        client.check("PING", b"+PONG\r\n");
    }
    scene.end(&format!("{count} clients that do not read"));
}

#[test]
fn a_reply_without_measure() {
    let mut scene = Scene::begin(&["--memory-limit", "256mib", "--client-output-buffer-limit", "8mib"]);
    let mut client = scene.server.client();
    client.send(&request_of(&[b"SET", b"large", &noise(1 << 20, 1)]));
    assert_eq!(client.receive(), b"+OK\r\n");
    client.send(
        &[request("ECHO before"), request(&format!("MGET {}", "large ".repeat(2_000))), request("PING")]
            .concat(),
    );
    let (replies, closed) = client.receive_to_end(Duration::from_secs(5));
    assert_eq!(
        String::from_utf8_lossy(&replies),
        "$6\r\nbefore\r\n-ERR the reply is longer than client-output-buffer-limit (8388608 bytes); the connection is closed\r\n"
    );
    assert!(closed);
    scene.server.wait_for_line("its reply to 'mget' is longer than client-output-buffer-limit");
    scene.server.client().check("DEL large", b":1\r\n");
    scene.end("a reply of 2 GiB");
}

#[test]
fn lengths_that_are_announced_and_never_sent() {
    let count = scaled(100, 1_000);
    raise_descriptors(2 * count as u64 + 1_000);
    let mut scene = Scene::begin(&["--memory-limit", "256mib"]);
    let mut client = scene.server.client();
    client.send(b"*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$1073741824\r\nabc");
    let (reply, closed) = client.receive_to_end(Duration::from_secs(5));
    assert_eq!(
        String::from_utf8_lossy(&reply),
        "-ERR Protocol error: invalid bulk length: more than proto-max-bulk-len (536870912)\r\n"
    );
    assert!(closed);
    // What may be announced takes the memory of what was sent.
    let head = b"*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$536870912\r\nabc";
    let mut streams: Vec<TcpStream> = (0..count).map(|_| connect(&scene.server)).collect();
    for stream in &mut streams {
        stream.write_all(head).unwrap();
    }
    let mut other = scene.server.client();
    eventually("all are connected", || other.info("connected_clients") >= count as u64);
    std::thread::sleep(Duration::from_millis(300));
    let grown = scene.look();
    assert!(grown < 16 * MIB, "{count} announcements of 512 MiB took {grown} bytes");
    let sent = 32 * MIB;
    // A server that has no room for it may answer, or close.
    let _ = streams[0].write_all(&noise(sent as usize, 1));
    std::thread::sleep(Duration::from_millis(500));
    let grown = scene.look();
    assert!(grown < 3 * sent, "{sent} bytes that were sent took {grown}");
    drop(streams);
    eventually("all are let go", || other.info("connected_clients") == 2);
    scene.server.client().check("EXISTS big", b":0\r\n");
    scene.end(&format!("{count} announced values of 512 MiB, and one of 1 GiB"));
}

#[test]
fn a_command_of_a_million_words() {
    let words = scaled(100_000, 1_000_000);
    let mut scene = Scene::begin(&["--memory-limit", "512mib"]);
    let mut client = scene.server.client();
    let numbers: Vec<Vec<u8>> = (1..words).map(|number| format!("key:{number}").into_bytes()).collect();
    let wire = request_of(&[vec![&b"EXISTS"[..]], numbers.iter().map(Vec::as_slice).collect()].concat());
    for round in 0..scaled(3, 1) {
        let sending = client.send_beside([&wire[..], &request(&format!("ECHO {round}"))].concat());
        // Of `key:1` to `key:999`.
        assert_eq!(client.receive(), b":999\r\n");
        assert_eq!(client.receive(), format!("$1\r\n{round}\r\n").into_bytes());
        sending.join().unwrap();
        scene.look();
    }
    // One word more than may be is refused as soon as it is announced.
    let mut greedy = scene.server.client();
    greedy.send(b"*1048577\r\n");
    let (reply, closed) = greedy.receive_to_end(Duration::from_secs(5));
    assert!(
        closed && reply.ends_with(b": more than max-arguments (1048576)\r\n"),
        "{}",
        reply.escape_ascii()
    );
    // The client stays, and idle clients hold nothing.
    scene.end(&format!("a command of {words} words"));
    drop(client);
}

#[test]
fn senders_of_single_bytes() {
    let (count, rounds) = (scaled(100, 1_000), 3);
    raise_descriptors(2 * count as u64 + 1_000);
    let mut scene = Scene::begin(&[]);
    let mut clients: Vec<(Client, Vec<u8>)> = (0..count)
        .map(|number| {
            let wire = request(&format!("INCR own:{number}")).repeat(rounds);
            (scene.server.client(), wire)
        })
        .collect();
    let longest = clients.iter().map(|(_, wire)| wire.len()).max().unwrap();
    for at in 0..longest {
        for (client, wire) in &mut clients {
            if let Some(byte) = wire.get(at) {
                client.send(&[*byte]);
            }
        }
    }
    scene.look();
    for (client, _) in &mut clients {
        for round in 1..=rounds {
            assert_eq!(client.receive(), format!(":{round}\r\n").into_bytes());
        }
    }
    let mut other = scene.server.client();
    for number in 0..count {
        other.check(&format!("GETDEL own:{number}"), format!("$1\r\n{rounds}\r\n").as_bytes());
    }
    drop(clients);
    scene.end(&format!("{count} senders of single bytes"));
}

#[test]
fn a_pipeline_in_one_write() {
    let (count, commands) = (scaled(1, 4), 100_000);
    let mut scene = Scene::begin(&[]);
    let wires: Vec<Vec<u8>> = (0..count)
        .map(|own| {
            let one = |number| match number % 2 {
                0 => request(&format!("INCR counter:{own}")),
                _ => request(&format!("ECHO {number:08}")),
            };
            (0..commands).flat_map(one).collect()
        })
        .collect();
    let one = |number| match number % 2 {
        0 => format!(":{}\r\n", number / 2 + 1),
        _ => format!("$8\r\n{number:08}\r\n"),
    };
    let expected: Vec<u8> = (0..commands).map(one).collect::<String>().into_bytes();
    let mut streams: Vec<TcpStream> = wires.iter().map(|_| connect(&scene.server)).collect();
    let sending: Vec<_> = streams
        .iter()
        .zip(wires)
        .map(|(stream, wire)| {
            let mut stream = stream.try_clone().unwrap();
            std::thread::spawn(move || stream.write_all(&wire).unwrap())
        })
        .collect();
    for stream in &mut streams {
        expect(stream, &expected);
    }
    scene.look();
    sending.into_iter().for_each(|sending| sending.join().unwrap());
    for stream in &mut streams {
        stream.write_all(b"PING\r\n").unwrap();
        expect(stream, b"+PONG\r\n");
    }
    scene.end(&format!("{count} pipelines of {commands} commands in one write"));
}
