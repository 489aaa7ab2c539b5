//! Is an HTTP server that is somebody else's only read, and is what it answers believed only while it is the same?
//! Child processes measure the runner's own floor and servers of this test, as a person would.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use crate::found::{file, unpacked};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A server that writes down every request, and answers the n-th as it is told.
struct Recorder {
    address: SocketAddr,
    /// Every request, byte by byte, and how often it came.
    requests: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Recorder {
    fn start(answer: impl Fn(u64) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<BTreeMap<String, u64>>>::default();
        let (shared, count) = (requests.clone(), AtomicU64::new(0));
        let answer = Arc::new(move || answer(count.fetch_add(1, Ordering::Relaxed)));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (requests, answer) = (shared.clone(), answer.clone());
                std::thread::spawn(move || talk(stream.unwrap(), &requests, &*answer));
            }
        });
        Self { address, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn talk(mut stream: TcpStream, requests: &Mutex<BTreeMap<String, u64>>, answer: &dyn Fn() -> String) {
    stream.set_nodelay(true).unwrap();
    let (mut input, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        while let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") {
            let request: Vec<u8> = input.drain(..end + 4).collect();
            let request = String::from_utf8_lossy(&request).into_owned();
            *requests.lock().unwrap().entry(request).or_default() += 1;
            let answer = answer();
            // As it says.
            if stream.write_all(answer.as_bytes()).is_err() || answer.contains("Connection: close") {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => input.extend_from_slice(&piece[..count]),
        }
    }
    if !input.is_empty() {
        // Bytes that are no request end in none: they are shown, too.
        *requests.lock().unwrap().entry(format!("{input:?}")).or_default() += 1;
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn runner(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-runner"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn measure(folder: &Path, url: &str, more: &[&str]) -> Output {
    let arguments = ["run", "--target", url, "--profile", "smoke", "--quiet"];
    runner(folder, &[&arguments[..], more].concat())
}

fn words(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The cells of a scenario in the one record below a folder.
#[track_caller]
fn cells(folder: &Path, scenario: &str) -> Vec<serde_json::Value> {
    let path = file(&folder.join("results"), &format!("{scenario}.json.zst")).expect("a record");
    unpacked(&path)["cells"].as_array().unwrap().clone()
}

/// Refused before anything is measured; one line says why.
#[track_caller]
fn refused(url: &str, wanted: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let output = measure(dir.path(), url, &[]);
    let (_, said) = words(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in wanted {
        assert!(said.contains(word), "no '{word}' in: {said}");
    }
    assert_eq!(file(dir.path(), "own-page.json.zst"), None);
}

struct Floor(Child);

impl Drop for Floor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Floor {
    fn start() -> (Self, SocketAddr) {
        let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_bench-runner"))
            .args(["floor", "--protocol", "http", "--value-bytes", "240", "--listen", &address.to_string()])
            .stdout(Stdio::null())
            .spawn();
        let floor = Self(child.unwrap());
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < end, "the floor did not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        (floor, address)
    }
}

#[test]
fn a_server_is_measured_and_what_is_not_known_of_it_is_absent() {
    let (floor, address) = Floor::start();
    let dir = tempfile::tempdir().unwrap();
    let told = words(&runner(dir.path(), &["init", "bench"])).0;
    assert!(told.contains("http://"), "{told}");
    let folder = dir.path().join("bench");
    let output = measure(&folder, &format!("http://{address}/any?x=1"), &[]);
    let (told, said) = words(&output);
    assert!(output.status.success() && told.contains("records"), "{told}\n{said}");

    for scenario in ["own-page", "own-page-rate"] {
        let cells = cells(&folder, scenario);
        let cell = &cells[0];
        assert_eq!(
            (cells.len(), &cell["status"], &cell["mode"]),
            (1, &"ok".into(), &"external".into()),
            "{cell:#}"
        );
        let trial = &cell["trials"][0];
        let values = trial["values"].as_array().unwrap();
        let value = |metric: &str| {
            let found = values.iter().find(|value| value["metric"] == metric);
            found.map(|value| value["value"].as_f64().unwrap())
        };
        for metric in ["ops_per_second", "latency_ns_p50", "latency_ns_p99"] {
            assert!(value(metric).unwrap() > 0.0, "{scenario} {metric}: {trial:#}");
        }
        // Found by the socket it listens on.
        assert_eq!(trial["process"]["pid"], floor.0.id(), "{scenario}");
        for known in ["server_cpu_ns_per_op", "rss_bytes_peak"] {
            assert!(value(known).is_some_and(|value| value > 0.0), "{scenario} {known}: {trial:#}");
        }
        assert_eq!(trial["facts"]["page_bytes"], 240);
        assert_eq!(trial["counts"]["errors"], 0);
        assert_eq!(trial["facts"]["status_counts"]["200"], trial["counts"]["operations"]);
    }
    let rate = &cells(&folder, "own-page-rate")[0]["trials"][0]["open_loop"];
    assert_eq!(rate["offered_per_second"], 1_000.0, "{rate}");
    for cell in cells(&folder, "own-single").iter().chain(&cells(&folder, "own-clients")) {
        let reason = cell["reason"].as_str().unwrap();
        assert!(cell["status"] == "skipped" && reason.contains("keys and writes"), "{cell:#}");
    }
    let report = words(&runner(&folder, &["report", "latest"])).0;
    assert!(report.contains("GET of one page, 50 clients"), "{report}");
}

#[test]
fn nothing_but_a_get_of_that_page_is_ever_sent() {
    let server = Recorder::start(|_| ok("always the same"));
    let dir = tempfile::tempdir().unwrap();
    let output = measure(dir.path(), &server.url("/a/b?c=d@e&f=%20"), &[]);
    assert!(output.status.success(), "{:?}", words(&output));
    let requests = server.requests.lock().unwrap().clone();
    let only = format!("GET /a/b?c=d@e&f=%20 HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    assert_eq!(requests.keys().collect::<Vec<_>>(), [&only]);
    assert!(requests[&only] > 100, "{requests:?}");

    // Nothing is left there, so there is nothing to look for, and nothing is sent to look for it.
    let clean = runner(dir.path(), &["clean", "--target", &server.url("/")]);
    assert!(words(&clean).1.contains("only reads"), "{:?}", words(&clean));
    let keys = measure(dir.path(), &server.url("/"), &["--scenario", "own-single"]);
    assert!(words(&keys).1.contains("needs keys and writes"), "{:?}", words(&keys));
    assert_eq!(*server.requests.lock().unwrap(), requests);
}

#[test]
fn answers_that_change_under_load_are_no_figures() {
    for (other, wanted) in [
        (ok("page 2"), &["changes between requests", "Name a static one"][..]),
        ("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n".to_owned(), &["status 429"]),
        ("HTTP/1.1 503 Busy\r\nContent-Length: 6\r\n\r\npage 1".to_owned(), &["status 503"]),
    ] {
        let server = Recorder::start(move |number| if number < 300 { ok("page 1") } else { other.clone() });
        let dir = tempfile::tempdir().unwrap();
        let output = measure(dir.path(), &server.url("/"), &["--scenario", "own-page"]);
        let (_, said) = words(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let cells = cells(dir.path(), "own-page");
        let reason = cells[0]["reason"].as_str().unwrap();
        assert_eq!(cells[0]["status"], "invalid", "{reason}");
        for word in wanted {
            assert!(reason.contains(word) && said.contains(word), "no '{word}' in: {reason}\n{said}");
        }
    }
}

#[test]
fn a_body_in_chunks_and_a_server_that_closes_each_connection_are_measured() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n1\r\nz\r\n0\r\n\r\n";
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nxyz";
    for (answer, has_rates) in [(chunked, true), (closing, false)] {
        let server = Recorder::start(move |_| answer.to_owned());
        let dir = tempfile::tempdir().unwrap();
        let (told, said) = words(&measure(dir.path(), &server.url("/x"), &[]));
        for (scenario, is_measured) in [("own-page", true), ("own-page-rate", has_rates)] {
            for cell in cells(dir.path(), scenario) {
                let reason = cell["reason"].as_str().unwrap_or_default();
                let status = if is_measured { "ok" } else { "skipped" };
                assert_eq!(cell["status"], status, "{answer}: {scenario} {reason}\n{told}\n{said}");
                assert!(is_measured || reason.contains("closes each connection"), "{reason}");
            }
        }
    }
}

#[test]
fn what_cannot_be_measured_is_refused_before_any_load_and_says_what_to_do() {
    let counter = Recorder::start(|number| ok(&format!("visitor {number}")));
    refused(&counter.url("/"), &["changes between requests", "Name a static one"]);
    assert_eq!(counter.requests.lock().unwrap().values().sum::<u64>(), 2);

    for (answer, wanted) in [
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx".to_owned(),
            ["Transfer-Encoding", "'chunked'"],
        ),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(), ["status 404", "name a page"]),
        ("-ERR unknown command\r\n".to_owned(), ["no HTTP", "another page"]),
    ] {
        let server = Recorder::start(move |_| answer.clone());
        refused(&server.url("/x"), &wanted);
    }
    // One that closes after some answers and not after others.
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
    let server = Recorder::start(move |number| if number == 0 { ok("x") } else { closing.to_owned() });
    refused(&server.url("/x"), &["not after every one", "keepalive_requests"]);
    // Nobody listens there any more.
    let nobody = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    refused(&format!("http://{nobody}/"), &[&format!("http://{nobody}/"), "refused"]);
    refused("http://192.0.2.1/", &["--allow-remote"]);
}
