//! What does the HTTP endpoint say while the server starts, serves and stops, and what may strangers take of it?

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::client::{noise, request_of};
use crate::memory::rss;
use crate::server::{Server, eventually, is_durable, plumbkv, refused};

fn start(args: &[&str]) -> (Server, SocketAddr) {
    let mut all = vec!["--http", "127.0.0.1:0"];
    all.extend_from_slice(args);
    let server = Server::start(&all);
    let address = server.said().iter().find_map(|line| {
        let (_, rest) = line.split_once("metrics at http://")?;
        rest.strip_suffix("/metrics")?.parse().ok()
    });
    let address = address.unwrap_or_else(|| panic!("no HTTP address in {:#?}", server.said()));
    (server, address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Status, head and body of the answer to what was sent.
fn answer(mut stream: TcpStream) -> (u16, String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no status in {text:?}")), head.to_owned(), body.to_owned())
}

fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    let mut stream = connect(address);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    answer(stream)
}

/// The value of one sample.
fn sample(address: SocketAddr, name: &str) -> f64 {
    let (status, _, body) = get(address, "/metrics");
    assert_eq!(status, 200);
    let line = body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {body}")).parse().unwrap()
}

#[test]
fn metrics_follow_what_clients_do() {
    let (server, http) = start(&["--memory-limit", "2mib"]);
    let mut c = server.client();
    c.check("SET a 1", b"+OK\r\n");
    c.check("GET a", b"$1\r\n1\r\n");
    c.check("GET b", b"$-1\r\n");
    assert_eq!(sample(http, "plumbkv_commands_total"), 3.0);
    assert_eq!(sample(http, "plumbkv_command_calls_total{command=\"get\"}"), 2.0);
    assert_eq!(sample(http, "plumbkv_connected_clients"), 1.0);
    assert_eq!(sample(http, "plumbkv_keyspace_hits_total"), 1.0);
    assert_eq!(sample(http, "plumbkv_keys"), 1.0);
    assert_eq!(sample(http, "plumbkv_memory_limit_bytes"), 2_097_152.0);
    for i in 0..4000u32 {
        c.send(&request_of(&[b"SET", format!("key:{i}").as_bytes(), &noise(1024, 1)]));
        assert_eq!(c.receive(), b"+OK\r\n");
    }
    assert_eq!(sample(http, "plumbkv_evicted_keys_total") as u64, c.info("evicted_keys"));
    if is_durable() {
        assert_eq!(sample(http, "plumbkv_evicted_keys_total"), 0.0);
        return;
    }
    let used = sample(http, "plumbkv_memory_used_bytes");
    assert!(used > 1e6 && used <= sample(http, "plumbkv_memory_used_peak_bytes"), "{used}");
    assert!(sample(http, "plumbkv_memory_resident_bytes") >= used);
    assert!(sample(http, "plumbkv_network_received_bytes_total") > 4e6);
    let (_, head, _) = get(http, "/metrics");
    assert!(
        head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{head}"
    );
}

#[test]
fn only_the_three_paths_are_there_and_only_to_be_read() {
    let (server, http) = start(&["--password", "secret"]);
    assert_eq!(get(http, "/healthz").0, 200);
    assert_eq!(get(http, "/readyz").0, 200);
    assert_eq!(get(http, "/").0, 404);
    let mut post = connect(http);
    write!(post, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").unwrap();
    assert_eq!(answer(post).0, 405);
    let mut long = connect(http);
    // The server may hang up before all of it is sent.
    let _ = write!(long, "GET / HTTP/1.1\r\nX: {}", "x".repeat(20_000));
    let mut text = Vec::new();
    let _ = long.read_to_end(&mut text);
    assert!(text.is_empty() || text.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&text));
    assert_eq!(get(http, "/healthz").0, 200);
    drop(server);
}

#[test]
fn a_server_that_drains_is_alive_and_not_ready() {
    let (mut server, http) = start(&[]);
    let mut c = server.client();
    c.send(&request_of(&[b"SET", b"big", &noise(8 << 20, 1)]));
    assert_eq!(c.receive(), b"+OK\r\n");
    // More replies than sockets hold: the server has to wait for a reader.
    c.send(&request_of(&[b"GET", b"big"]).repeat(2));
    eventually("the replies are made", || sample(http, "plumbkv_network_sent_bytes_total") > 8e6);
    server.signal(rustix::process::Signal::TERM);
    eventually("the server is not ready", || get(http, "/readyz").0 == 503);
    assert_eq!(get(http, "/healthz").0, 200);
    drop(c);
    assert!(server.wait().success());
}

#[test]
fn a_taken_port_matters_where_it_was_asked_for() {
    let (_server, http) = start(&[]);
    let taken = http.to_string();
    let (code, text) = refused(plumbkv(&["serve", "--listen", "127.0.0.1:0", "--http", &taken]));
    assert_eq!(code, 1, "{text}");
    let line = text.lines().last().unwrap();
    assert!(line.starts_with("plumbkv: no /metrics") && line.contains(&taken), "{text}");

    // Taken by this or by somebody else.
    let _holder = TcpListener::bind("127.0.0.1:8379");
    let mut command = plumbkv(&["serve", "--listen", "127.0.0.1:0"]);
    command.env_remove("PLUMBKV_HTTP");
    let mut server = Server::spawn(command);
    let said = server.said().join("\n");
    assert!(said.contains("WARN no /metrics: cannot listen on 127.0.0.1:8379"), "{said}");
    server.assert_alive();
}

#[test]
fn silent_clients_hold_a_scraper_up_for_seconds_and_no_longer() {
    let (mut server, http) = start(&[]);
    let silent: Vec<TcpStream> = (0..40)
        .map(|index| {
            let mut stream = connect(http);
            if index % 2 == 0 {
                stream.write_all(b"GET /metrics HT").unwrap();
            }
            stream
        })
        .collect();
    // Forty in groups of sixteen, ten seconds each; those that hang up are over at once.
    drop(silent.into_iter().skip(16).collect::<Vec<_>>());
    let begin = Instant::now();
    assert_eq!(get(http, "/healthz").0, 200);
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    server.assert_alive();
}

#[test]
fn scrapes_leave_no_memory_behind() {
    let (server, http) = start(&["--memory-limit", "2mib"]);
    let before = rss(server.pid());
    for _ in 0..20 {
        let streams: Vec<TcpStream> = (0..32)
            .map(|_| {
                let mut stream = connect(http);
                stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                stream
            })
            .collect();
        assert!(streams.into_iter().all(|stream| answer(stream).0 == 200));
    }
    let grown = rss(server.pid()).saturating_sub(before);
    assert!(grown < 160 << 10, "640 scrapes made the process grow by {grown} bytes");
}
