//! Running servers of other kinds: a memcached, one without INFO, one that is named without a scheme. They are measured,
//! and no key is left there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use crate::found::{file, unpacked};
use rustls::{ServerConfig, ServerConnection};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// `arguments` are told where it listens. None where it is not installed.
    fn start(program: &Path, arguments: impl Fn(SocketAddr) -> Vec<String>) -> Option<Self> {
        let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let child = Command::new(program)
            .args(arguments(address))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let server = Self { child: child.ok()?, address };
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < end, "{} did not start", program.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }
}

fn measure(folder: &Path, url: &str, more: &[&str]) -> Output {
    let arguments = ["run", "--target", url, "--profile", "smoke", "--quiet"];
    Command::new(env!("CARGO_BIN_EXE_bench-runner"))
        .args([&arguments[..], more].concat())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn words(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

/// Cells of the scenario of writes and reads, all of which have figures.
#[track_caller]
fn all_are_measured(folder: &Path, output: &Output) -> Vec<serde_json::Value> {
    let words = words(output);
    let path =
        file(&folder.join("results"), "own-single.json.zst").unwrap_or_else(|| panic!("no record: {words}"));
    let cells = unpacked(&path)["cells"].as_array().unwrap().clone();
    assert!(!cells.is_empty());
    for cell in &cells {
        assert_eq!(cell["status"], "ok", "{}: {}\n{words}", cell["key"], cell["reason"]);
        assert!(cell["trials"][0]["process"]["pid"].as_u64().is_some_and(|pid| pid > 0), "{}", cell["key"]);
    }
    cells
}

/// The answer to one line, up to a line that ends it.
fn ask(address: SocketAddr, request: &str, last: &str) -> Vec<String> {
    let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "it closed the connection");
        lines.push(line.trim_end().to_owned());
        if line.trim_end() == last {
            return lines;
        }
    }
}

#[test]
fn a_memcached_is_measured_and_left_as_it_was() {
    let program = Path::new("memcached");
    let arguments = |address: SocketAddr| {
        let port = address.port().to_string();
        ["-l", "127.0.0.1", "-U", "0", "-u", "nobody", "-p", &port].map(str::to_owned).to_vec()
    };
    let Some(server) = Server::start(program, arguments) else {
        assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "memcached is not installed");
        println!("skipped: memcached is not installed");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let url = format!("memcached://{}", server.address);
    all_are_measured(dir.path(), &measure(dir.path(), &url, &[]));
    let items =
        || ask(server.address, "stats\r\n", "END").into_iter().find(|line| line.contains("curr_items"));
    assert_eq!(items().unwrap(), "STAT curr_items 0", "what was written is deleted");

    ask(server.address, "set theirs 0 0 1\r\nx\r\n", "STORED");
    let refused = words(&measure(dir.path(), &url, &[]));
    assert!(refused.contains("holds 1 items") && refused.contains("--allow-non-empty"), "{refused}");
    let again = measure(dir.path(), &url, &["--allow-non-empty"]);
    assert!(again.status.success(), "{}", words(&again));
    assert_eq!(items().unwrap(), "STAT curr_items 1", "and nothing else is");
}

/// The server of the honesty tests, which does not know INFO.
fn without_info() -> Server {
    with_fault("none")
}

fn with_fault(fault: &str) -> Server {
    let program =
        Path::new(env!("CARGO_BIN_EXE_bench-runner")).parent().unwrap().join("examples/faulty_server");
    assert!(program.is_file(), "{} is not there; `cargo build --examples` makes it", program.display());
    let arguments = |address: SocketAddr| {
        let listen = address.to_string();
        ["--listen", &listen, "--protocol", "resp", "--fault", fault].map(str::to_owned).to_vec()
    };
    Server::start(&program, arguments).unwrap()
}

#[test]
fn a_server_without_info_is_measured_by_host_and_port() {
    let server = without_info();
    let dir = tempfile::tempdir().unwrap();
    let cells = all_are_measured(dir.path(), &measure(dir.path(), &server.address.to_string(), &[]));
    let values = cells[0]["trials"][0]["values"].as_array().unwrap();
    for metric in ["server_cpu_ns_per_op", "rss_bytes_peak"] {
        assert!(values.iter().any(|value| value["metric"] == metric), "{metric} of its process");
    }
}

/// A TLS listener with a certificate of its own, in PEM.
fn tls_listener() -> (TcpListener, Arc<ServerConfig>, String) {
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (TcpListener::bind(("127.0.0.1", 0)).unwrap(), Arc::new(config), made.cert.pem())
}

/// A server that shakes hands by TLS and says nothing.
fn over_tls() -> SocketAddr {
    let (listener, config, _) = tls_listener();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut session = ServerConnection::new(config.clone()).unwrap();
            std::thread::spawn(
                move || {
                    while session.complete_io(&mut stream).is_ok_and(|(read, _)| read > 0) {}
                },
            );
        }
    });
    address
}

/// Puts TLS in front of a server; returns the address and the certificate.
fn in_front_of(server: SocketAddr) -> (SocketAddr, String) {
    let (listener, config, certificate) = tls_listener();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let session = ServerConnection::new(config.clone()).unwrap();
            std::thread::spawn(move || relay(client, TcpStream::connect(server)?, session));
        }
    });
    (address, certificate)
}

/// Passes on what the client sends, and the server's answers, until one of them ends.
fn relay(mut client: TcpStream, mut server: TcpStream, session: ServerConnection) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let session = Arc::new(Mutex::new(session));
    let (answers, mut to_client, mut from_server) =
        (session.clone(), client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || -> std::io::Result<()> {
        let mut piece = vec![0; 16 << 10];
        loop {
            let count = from_server.read(&mut piece)?;
            if count == 0 {
                return to_client.shutdown(Shutdown::Both);
            }
            let mut session = answers.lock().unwrap();
            session.writer().write_all(&piece[..count])?;
            while session.wants_write() {
                session.write_tls(&mut to_client)?;
            }
        }
    });
    let mut piece = vec![0; 16 << 10];
    loop {
        let count = client.read(&mut piece)?;
        if count == 0 {
            return server.shutdown(Shutdown::Both);
        }
        let (mut records, mut plain) = (&piece[..count], Vec::new());
        let mut session = session.lock().unwrap();
        while !records.is_empty() {
            session.read_tls(&mut records)?;
            let state = session.process_new_packets().map_err(std::io::Error::other)?;
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            session.reader().read_exact(&mut plain[start..])?;
        }
        while session.wants_write() {
            session.write_tls(&mut client)?;
        }
        drop(session);
        server.write_all(&plain)?;
    }
}

#[test]
fn a_server_behind_tls_is_measured_with_a_root_of_its_own() {
    let server = without_info();
    let (address, certificate) = in_front_of(server.address);
    let dir = tempfile::tempdir().unwrap();
    let (roots, url) = (dir.path().join("roots.pem"), format!("rediss://{address}"));
    std::fs::write(&roots, certificate).unwrap();
    all_are_measured(dir.path(), &measure(dir.path(), &url, &["--tls-roots", roots.to_str().unwrap()]));

    let other = tempfile::tempdir().unwrap();
    let said = words(&measure(other.path(), &url, &[]));
    assert!(said.contains("certificate") && said.contains("--tls-roots"), "{said}");
    assert!(file(&other.path().join("results"), "own-single.json.zst").is_none(), "nothing was measured");
}

#[test]
fn a_server_that_speaks_tls_is_named_as_such() {
    // Without the system's certificates nothing is said of it.
    if !Path::new("/etc/ssl/certs/ca-certificates.crt").is_file() {
        println!("skipped: there are no certificates");
        return;
    }
    let address = over_tls();
    let dir = tempfile::tempdir().unwrap();
    let said = words(&measure(dir.path(), &format!("redis://{address}"), &[]));
    assert!(said.contains("it speaks TLS: write rediss://"), "{said}");
}

/// A server that does not say how many keys it holds may hold keys of its owner.
#[test]
fn a_server_that_does_not_count_its_keys_is_measured_only_where_that_may_be() {
    let server = with_fault("no-dbsize");
    let dir = tempfile::tempdir().unwrap();
    let url = format!("redis://{}", server.address);
    let said = words(&measure(dir.path(), &url, &[]));
    assert!(
        said.contains("does not say how many keys it holds") && said.contains("--allow-non-empty"),
        "{said}"
    );
    assert!(file(&dir.path().join("results"), "own-single.json.zst").is_none(), "nothing was measured");
    all_are_measured(dir.path(), &measure(dir.path(), &url, &["--allow-non-empty"]));
}

/// The other protocol is named where one side speaks TLS and the other does not.
#[test]
fn a_server_that_speaks_no_tls_is_named_as_such() {
    let server = without_info();
    let dir = tempfile::tempdir().unwrap();
    let said = words(&measure(dir.path(), &format!("rediss://{}", server.address), &[]));
    assert!(said.contains("does not seem to speak TLS"), "{said}");
    let roots = ["--tls-roots", "nowhere.pem"];
    let said = words(&measure(dir.path(), &format!("rediss://{}", server.address), &roots));
    assert!(said.contains("nowhere.pem"), "{said}");
}
