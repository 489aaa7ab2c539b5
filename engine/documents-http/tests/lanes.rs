//! Both lanes given the same requests: what the fast lane answers, hyper and the router answer with the
//! same status, headers and body. `PLUMBKV_LANES` says how many mutated requests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use std::net::IpAddr;
use std::sync::Arc;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use plumbkv::Database;
use plumbkv_documents::{Collections, Options, Schema};
use plumbkv_documents_http::{Access, Lane, MAX_HEAD_BYTES, Peer, Role, Served, Tokens, line_of, router};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

struct Both {
    lane: Lane,
    router: Router,
    runtime: tokio::runtime::Runtime,
    _directory: tempfile::TempDir,
}

impl Both {
    fn new(access: Access) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(Collections::open(Options::new(directory.path())).unwrap());
        let schema = Schema::parse(br#"{"primary":"id","fields":{"n":"i64"}}"#).unwrap();
        let shop = store.create("shop", schema).unwrap();
        shop.put(br#"{"id":"a", "n": 1}"#).unwrap();
        shop.put(br#"{"id":"b.c-d_e~f","n":2}"#).unwrap();
        let keys = Arc::new(Database::open(plumbkv::Options::memory(8 << 20)).unwrap());
        keys.set(b"k", b"value").unwrap();
        keys.set(b"empty", b"").unwrap();
        let access = Arc::new(access);
        let lane = Lane::new(Arc::clone(&store), Arc::clone(&keys), Arc::clone(&access));
        let router = router(store, keys, access).layer(Extension(Peer(PEER)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { lane, router, runtime, _directory: directory }
    }

    /// What hyper sends for these bytes, until it closes or has nothing more to say.
    fn by_hyper(&self, bytes: &[u8]) -> Vec<u8> {
        self.runtime.block_on(async {
            let (mut client, server) = tokio::io::duplex(1 << 20);
            let service = TowerToHyperService::new(self.router.clone());
            let connection =
                http1::Builder::new().half_close(true).serve_connection(TokioIo::new(server), service);
            let serving = tokio::spawn(async move { drop(connection.await) });
            client.write_all(bytes).await.unwrap();
            client.shutdown().await.unwrap();
            let mut out = Vec::new();
            client.read_to_end(&mut out).await.unwrap();
            serving.await.unwrap();
            out
        })
    }
}

/// Without the value of `date`, and the end of the connection that only the test's own shutdown causes.
fn normal(response: &[u8]) -> String {
    let text = String::from_utf8_lossy(response).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let lines: Vec<&str> = head
        .split("\r\n")
        .filter(|line| *line != "connection: close")
        .map(|line| if line.starts_with("date: ") { "date" } else { line })
        .collect();
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}

fn head(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n")
}

const PATHS: [&str; 8] = [
    "/v1/collections/shop/documents/a",
    "/v1/collections/shop/documents/b.c-d_e~f",
    "/v1/collections/shop/documents/missing",
    "/v1/collections/missing/documents/a",
    "/v1/collections/shopp/documents/..",
    "/v1/keys/k",
    "/v1/keys/empty",
    "/v1/keys/missing",
];

#[test]
fn the_lane_answers_lookups_as_hyper_does() {
    let mut both = Both::new(Access::open());
    for path in PATHS {
        for request in [head(path), head(path).replace("GET ", "HEAD ")] {
            let mut out = Vec::new();
            let served = both.lane.serve(request.as_bytes(), PEER, &mut out);
            assert_eq!(served, Served::Answered { consumed: request.len() }, "{request}");
            assert_eq!(normal(&out), normal(&both.by_hyper(request.as_bytes())), "{request}");
            for cut in 0..request.len() {
                let mut out = Vec::new();
                assert_eq!(
                    both.lane.serve(&request.as_bytes()[..cut], PEER, &mut out),
                    Served::Incomplete,
                    "{cut}"
                );
                assert!(out.is_empty());
            }
        }
    }
}

#[test]
fn what_is_not_on_the_list_is_for_the_router() {
    let mut both = Both::new(Access::open());
    let plain = head(PATHS[0]);
    let with = |header: &str| plain.replace("Accept: */*", header);
    let long = with(&format!("X: {}", "x".repeat(MAX_HEAD_BYTES)));
    for request in [
        plain.replace("GET ", "POST "),
        plain.replace("GET ", "get "),
        plain.replace("HTTP/1.1", "HTTP/1.0"),
        plain.replace("Host: localhost\r\n", ""),
        with("Host: other"),
        with("Content-Length: 0"),
        with("Transfer-Encoding: chunked"),
        with("Expect: 100-continue"),
        with("Upgrade: h2c"),
        with("Connection: close"),
        with("If-None-Match: \"1\""),
        with("X-Forwarded-For: 1.2.3.4"),
        plain.replace("documents/a", "documents/a?x=1"),
        plain.replace("documents/a", "documents/a%2Fb"),
        plain.replace("/v1/collections", "http://localhost/v1/collections"),
        format!("\r\n{plain}"),
        with("X: y\r\n folded"),
        with("X : y"),
        long,
    ] {
        let mut out = Vec::new();
        assert_eq!(both.lane.serve(request.as_bytes(), PEER, &mut out), Served::Other, "{request}");
        assert!(out.is_empty());
    }
}

#[test]
fn mutated_requests_have_the_same_answer_in_both_lanes() {
    let count = std::env::var("PLUMBKV_LANES").ok().and_then(|count| count.parse().ok()).unwrap_or(4_000);
    let tokens = Tokens::parse(&line_of("reader", Role::Read, "secret")).unwrap();
    let mut lanes = [Both::new(Access::open()), Both::new(Access { tokens, ..Access::open() })];
    let mut random = fastrand::Rng::with_seed(count);
    let lines = [
        "Host: b",
        "Content-Length: 0",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        "Connection: keep-alive",
        "Connection: close",
        "Authorization: Bearer secret",
        "Authorization: Bearer other",
        "Authorization: x",
        "If-None-Match: *",
        "Range: bytes=0-1",
        "X: \t y \t",
        "X:",
        ":",
        " X: y",
        "X\0: y",
        "Cookie: a=b",
    ];
    let mut answered = 0;
    for number in 0..count {
        let both = &mut lanes[random.usize(..2)];
        let mut bytes = head(PATHS[random.usize(..PATHS.len())]).into_bytes();
        if random.bool() {
            let text = String::from_utf8_lossy(&bytes).replace("GET ", "HEAD ");
            bytes = text.into_bytes();
        }
        for _ in 0..random.usize(..4) {
            let at = random.usize(..bytes.len());
            match random.u8(..8) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, random.u8(..)),
                2 => bytes[at] = random.u8(..),
                3 => bytes[at] = b"\r\n :/%?#.\0\t\xff"[random.usize(..12)],
                4 => bytes.truncate(at + 1),
                _ => {
                    let line = format!("\r\n{}", lines[random.usize(..lines.len())]);
                    let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap_or(bytes.len());
                    bytes.splice(end..end, line.into_bytes());
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        let mut out = Vec::new();
        let Served::Answered { consumed } = both.lane.serve(&bytes, PEER, &mut out) else {
            assert!(out.is_empty());
            continue;
        };
        answered += 1;
        let expected = normal(&both.by_hyper(&bytes[..consumed]));
        assert_eq!(normal(&out), expected, "{number}: {}", bytes.escape_ascii());
    }
    println!("{count} requests, {answered} answered by the lane");
    assert!(answered > count / 10);
}
