//! Documents and keys over HTTP, as a client meets them: lookups by the I/O threads and all else by another thread, on the
//! same connections.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::start;
use crate::server::{Server, is_durable, plumbkv};

/// A connection that stays.
struct Http {
    stream: TcpStream,
    received: Vec<u8>,
}

struct Response {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Response {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The value of a header.
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Http {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, received: Vec::new() }
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    fn until(&mut self, is_enough: impl Fn(&[u8]) -> Option<usize>) -> usize {
        loop {
            if let Some(at) = is_enough(&self.received) {
                return at;
            }
            let mut more = [0; 4096];
            let count = self.stream.read(&mut more).unwrap();
            assert!(count > 0, "closed behind {:?}", String::from_utf8_lossy(&self.received));
            self.received.extend_from_slice(&more[..count]);
        }
    }

    fn receive(&mut self) -> Response {
        let end = self.until(|bytes| bytes.windows(4).position(|part| part == b"\r\n\r\n"));
        let head = String::from_utf8(self.received[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let length: usize =
            length.unwrap_or_else(|| if status == 204 { 0 } else { panic!("no length: {head}") });
        let end = self.until(|bytes| (bytes.len() >= end + 4 + length).then_some(end + 4 + length));
        let body = self.received[end - length..end].to_vec();
        self.received.drain(..end);
        Response { status, head, body }
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Response {
        self.send(request(method, path, body));
        self.receive()
    }

    fn get(&mut self, path: &str) -> Response {
        self.ask("GET", path, "")
    }
}

fn request(method: &str, path: &str, body: &str) -> String {
    let length = if method == "GET" { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n{body}")
}

/// A server with a directory, which has a collection `shop`.
fn shop(args: &[&str]) -> (tempfile::TempDir, Server, SocketAddr) {
    let directory = tempfile::tempdir().unwrap();
    let mut all = vec!["--data", directory.path().to_str().unwrap()];
    all.extend_from_slice(args);
    let (server, address) = start(&all);
    let schema = r#"{"primary": "sku", "fields": {"title": "text", "price": "f64"}}"#;
    assert_eq!(Http::connect(address).ask("PUT", "/v1/collections/shop", schema).status, 201);
    (directory, server, address)
}

const LAMP: &str = "/v1/collections/shop/documents/a1";

#[test]
fn one_connection_has_lookups_and_all_else_in_any_order() {
    let (_directory, _server, address) = shop(&[]);
    let mut http = Http::connect(address);
    assert_eq!(http.get(LAMP).status, 404);
    let document = r#"{"sku": "a1",  "title": "A red lamp", "price": 12.5}"#;
    let version = http.ask("PUT", LAMP, document).json()["version"].as_u64().unwrap();
    let found = http.get(LAMP);
    assert_eq!((found.status, found.text()), (200, document));
    assert_eq!(found.header("etag"), Some(&*format!("\"{version}\"")));
    let path = format!("/v1/collections/shop/search?q=lamp&after={version}");
    assert_eq!(http.get(&path).json()["total"], 1);
    assert_eq!(http.get(LAMP).status, 200);
    // All at once, cut at any place.
    let parts = [
        ("GET", LAMP, ""),
        ("GET", &*path, ""),
        ("PUT", "/v1/keys/k", "v"),
        ("GET", "/v1/keys/k", ""),
        ("GET", LAMP, ""),
        ("DELETE", "/v1/keys/k", ""),
        ("GET", "/v1/keys/k", ""),
        ("GET", "/healthz", ""),
        ("GET", LAMP, ""),
    ];
    let all: String = parts.iter().map(|(method, path, body)| request(method, path, body)).collect();
    let expected = [200, 200, 204, 200, 200, 204, 404, 200, 200];
    for cut in (0..all.len()).step_by(7) {
        http.send(&all[..cut]);
        if cut % 3 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        http.send(&all[cut..]);
        let statuses: Vec<u16> = expected.iter().map(|_| http.receive().status).collect();
        assert_eq!(statuses, expected, "cut at {cut}");
    }
}

#[test]
fn bodies_of_any_length_and_shape_leave_the_connection_in_order() {
    let (_directory, _server, address) = shop(&[]);
    let mut http = Http::connect(address);
    let lines: String = (0..20_000)
        .map(|id| format!("{{\"sku\": \"n{id}\", \"title\": \"number {id}\", \"price\": {id}}}\n"))
        .collect();
    http.send(format!(
        "POST /v1/collections/shop/documents HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    ));
    for part in lines.as_bytes().chunks(50_000) {
        http.send(format!("{:x}\r\n", part.len()));
        http.send(part);
        http.send("\r\n");
    }
    http.send("0\r\n\r\n");
    http.send(request("GET", "/v1/collections/shop/documents/n19999", ""));
    let stored = http.receive();
    assert_eq!((stored.status, stored.json()["stored"].as_u64()), (200, Some(20_000)), "{}", stored.text());
    assert_eq!(http.receive().json()["price"], 19_999);
    // A long value goes by the other thread, and back.
    let long = "x".repeat(300_000);
    assert_eq!(http.ask("PUT", "/v1/keys/long", &long).status, 204);
    for _ in 0..3 {
        assert_eq!(http.get("/v1/keys/long").text(), long);
        assert_eq!(http.get("/v1/collections/shop/documents/n7").status, 200);
    }
}

#[test]
fn keys_are_those_of_redis_clients() {
    let (server, address) = start(&[]);
    let (mut http, mut redis) = (Http::connect(address), server.client());
    redis.check("SET a 1", b"+OK\r\n");
    assert_eq!(http.get("/v1/keys/a").text(), "1");
    redis.check("WATCH b", b"+OK\r\n");
    assert_eq!(http.ask("PUT", "/v1/keys/b?ttl=100", "two").status, 204);
    redis.check("MULTI", b"+OK\r\n");
    redis.check("SET b three", b"+QUEUED\r\n");
    redis.check("EXEC", b"*-1\r\n");
    redis.check("GET b", b"$3\r\ntwo\r\n");
    redis.check("TTL b", b":100\r\n");
    let left: u64 = http.get("/v1/keys/b").header("plumbkv-ttl-ms").unwrap().parse().unwrap();
    assert!((90_000..=100_000).contains(&left), "{left}");
    // Database 1 is another.
    redis.check("SELECT 1", b"+OK\r\n");
    redis.check("SET a other", b"+OK\r\n");
    assert_eq!(http.get("/v1/keys/a").text(), "1");
    assert_eq!(http.ask("DELETE", "/v1/keys/a", "").status, 204);
    assert_eq!(http.ask("DELETE", "/v1/keys/a", "").status, 404);
    if !is_durable() {
        let refused = http.get("/v1/collections");
        assert_eq!(refused.status, 404);
        assert!(refused.text().contains("--data DIR"), "{}", refused.text());
    }
}

#[test]
fn a_password_protects_keys_over_http_too() {
    let (server, address) = start(&["--password", "secret"]);
    let mut http = Http::connect(address);
    for method in ["GET", "PUT", "DELETE"] {
        let refused = http.ask(method, "/v1/keys/a", "x");
        assert!(refused.status == 403 && refused.text().contains("--http-tokens"), "{}", refused.text());
    }
    assert_eq!(http.get("/healthz").status, 200);
    drop(server);
}

#[test]
fn tokens_are_made_by_the_command_and_asked_for_by_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let made =
        plumbkv(&["token", "shop", "write"]).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    assert!(made.status.success());
    let (line, token) = (String::from_utf8(made.stdout).unwrap(), String::from_utf8(made.stderr).unwrap());
    let tokens = directory.path().join("tokens");
    std::fs::write(&tokens, line).unwrap();
    let (_server, address) = start(&["--http-tokens", tokens.to_str().unwrap()]);
    let mut http = Http::connect(address);
    assert_eq!(http.ask("PUT", "/v1/keys/a", "1").status, 401);
    let with = |method: &str, path: &str| {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: 0\r\n\r\n",
            token.trim()
        )
    };
    http.send(with("PUT", "/v1/keys/a"));
    assert_eq!(http.receive().status, 204);
    http.send(with("GET", "/v1/keys/a").replace("Content-Length: 0\r\n", ""));
    assert_eq!(http.receive().status, 200);
    http.send(with("POST", "/v1/compact"));
    assert!([403, 404].contains(&http.receive().status));
    let refused = plumbkv(&["token", "shop", "owner"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn documents_last_and_the_index_follows() {
    let (directory, mut server, address) = shop(&["--sync", "always"]);
    let mut http = Http::connect(address);
    for id in 0..50 {
        let path = format!("/v1/collections/shop/documents/d{id}");
        let stored =
            http.ask("PUT", &path, &format!(r#"{{"sku": "d{id}", "title": "lamp {id}", "price": {id}}}"#));
        assert_eq!(stored.status, 201, "{}", stored.text());
    }
    server.signal(rustix::process::Signal::KILL);
    server.wait();
    let (_server, address) = start(&["--data", directory.path().to_str().unwrap()]);
    let mut http = Http::connect(address);
    assert_eq!(http.get("/v1/collections/shop/documents/d49").json()["price"], 49);
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let found = http.get("/v1/collections/shop/search?q=lamp&filter=price%20%3C%2010&limit=3");
        if found.status == 200 && found.json()["total"] == 10 {
            assert_eq!(found.json()["hits"].as_array().map(Vec::len), Some(3));
            break;
        }
        assert!(Instant::now() < end, "{}", found.text());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn limits_of_http_are_named_and_held() {
    let (server, address) = start(&["--http-max-connections", "3", "--http-rate-limit", "5"]);
    let mut all: Vec<Http> = (0..3).map(|_| Http::connect(address)).collect();
    for http in &mut all {
        assert_eq!(http.get("/healthz").status, 200);
    }
    let mut refused = String::new();
    let mut fourth = Http::connect(address);
    fourth.stream.read_to_string(&mut refused).unwrap();
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("http-max-connections"), "{refused}");
    // A connection that ends makes room.
    drop(all.pop());
    let end = Instant::now() + Duration::from_secs(10);
    let mut another = loop {
        let mut http = Http::connect(address);
        http.send(request("GET", "/healthz", ""));
        let mut first = [0; 12];
        http.stream.read_exact(&mut first).unwrap();
        if first.ends_with(b"200") {
            break http;
        }
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(20));
    };
    another.received = b"HTTP/1.1 200".to_vec();
    assert_eq!(another.receive().status, 200);
    let statuses: Vec<u16> = (0..20).map(|_| another.get("/v1/keys/none").status).collect();
    assert!(statuses.contains(&404) && statuses.contains(&429), "{statuses:?}");
    drop(server);
}

#[test]
fn a_client_that_does_not_take_its_response_is_ended() {
    let (_directory, mut server, address) = shop(&[]);
    let mut http = Http::connect(address);
    let lines: String = (0..4_000)
        .map(|id| {
            format!("{{\"sku\": \"n{id}\", \"title\": \"{}\", \"price\": {id}}}\n", "word ".repeat(400))
        })
        .collect();
    http.send(
        request("POST", "/v1/collections/shop/documents", &lines)
            .replace("\r\nHost", "\r\nContent-Type: application/x-ndjson\r\nHost"),
    );
    assert_eq!(http.receive().status, 200);
    let mut slow = Http::connect(address);
    let begin = Instant::now();
    for _ in 0..20 {
        // More than the sockets take.
        slow.send(request("GET", "/v1/collections/shop/documents?limit=1000", ""));
    }
    let mut others = Duration::ZERO;
    while begin.elapsed() < Duration::from_secs(25) {
        let asked = Instant::now();
        assert_eq!(http.get("/v1/collections/shop/documents/n1").status, 200);
        others = others.max(asked.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    // What was sent is still in the socket; behind it is the end.
    let mut rest = Vec::new();
    let _ = slow.stream.read_to_end(&mut rest);
    assert!(rest.len() < 20 * 2_000_000, "{} bytes were sent to a client that takes none", rest.len());
    println!("the longest lookup of another client took {others:?}");
    server.assert_alive();
}

/// The fenced blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut all = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            all.push((language, text.join("\n")));
        }
    }
    all
}

#[test]
fn the_examples_of_the_guide_print_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let (_server, address) = start(&["--data", directory.path().to_str().unwrap()]);
    let page = include_str!("../../docs/documents.md").replace("127.0.0.1:8379", &address.to_string());
    let all = blocks(&page);
    let mut checked = Vec::new();
    for pair in all.windows(2) {
        let [(language, text), ("output", expected)] = pair else { continue };
        let (program, file) = match *language {
            "sh" => ("bash", "example.sh"),
            "python" => ("python3", "example.py"),
            "js" => ("node", "example.mjs"),
            other => panic!("no program for {other}"),
        };
        let path = directory.path().join(file);
        std::fs::write(&path, text).unwrap();
        let done = std::process::Command::new(program).arg(&path).output().unwrap();
        let printed = String::from_utf8(done.stdout).unwrap();
        assert_eq!(printed.trim_end(), expected, "{text}\n{}", String::from_utf8_lossy(&done.stderr));
        checked.push(*language);
    }
    assert_eq!(checked, ["sh", "sh", "sh", "sh", "python", "js"]);
}
