//! Fast lane: a lookup of one document or key, parsed by httparse and answered without hyper.
//!
//! It takes a closed list of requests and nothing else: `GET` or `HEAD`, HTTP/1.1, one `Host`, a path of
//! plain characters, no query, no body, no condition, no change of the connection. Its responses are
//! those of the router, header by header; a test compares the two. Every other request belongs to the
//! router, bytes and all.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use plumbkv::{Database, Lifetime, NonBlocking};
use plumbkv_documents::{Collections, Kind};

use crate::access::{Access, Credentials};
use crate::problem::Problem;

/// Bytes of a request's head.
pub const MAX_HEAD_BYTES: usize = 8 << 10;
/// Headers of a request.
const MAX_HEADERS: usize = 64;
/// Headers that make a request one for the router.
const FOR_ROUTER: [&str; 7] =
    ["content-length", "transfer-encoding", "expect", "upgrade", "connection", "if-none-match", "if-match"];

/// What the lane did with the bytes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// It answered the request that takes so many bytes.
    Answered {
        /// Bytes of the request.
        consumed: usize,
    },
    /// The head has not wholly arrived.
    Incomplete,
    /// The request is for the router.
    Other,
}

/// The lane, with what it looks up.
pub struct Lane {
    store: Arc<Collections>,
    keys: Arc<Database>,
    access: Arc<Access>,
    date: Date,
}

/// What a path names.
enum Named<'a> {
    Document { collection: &'a str, id: &'a str },
    Key(&'a str),
}

impl Lane {
    /// A lane for one thread.
    #[must_use]
    pub fn new(store: Arc<Collections>, keys: Arc<Database>, access: Arc<Access>) -> Self {
        Self { store, keys, access, date: Date::default() }
    }

    /// Answers the first request of `bytes`, if it is one for the lane. Never waits for a disk.
    pub fn serve(&mut self, bytes: &[u8], peer: IpAddr, out: &mut Vec<u8>) -> Served {
        // Hyper skips line breaks before a request; the lane does not have to.
        if !bytes.starts_with(b"GET ") && !bytes.starts_with(b"HEAD ") {
            let is_begin = b"GET ".starts_with(bytes) || b"HEAD ".starts_with(bytes);
            return if is_begin { Served::Incomplete } else { Served::Other };
        }
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let consumed = match request.parse(bytes) {
            Ok(httparse::Status::Complete(consumed)) if consumed <= MAX_HEAD_BYTES => consumed,
            Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD_BYTES => return Served::Incomplete,
            _ => return Served::Other,
        };
        let (Some(method), Some(path), Some(1)) = (request.method, request.path, request.version) else {
            return Served::Other;
        };
        let Some(named) = named(path) else { return Served::Other };
        let mut credentials = Credentials::default();
        let mut hosts = 0;
        for header in request.headers.iter() {
            if header.name.eq_ignore_ascii_case("host") {
                hosts += 1;
            } else if FOR_ROUTER.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
                return Served::Other;
            } else if header.name.eq_ignore_ascii_case("authorization") {
                if credentials.authorization.is_some() {
                    return Served::Other;
                }
                // What is no text is no token either, in both lanes.
                credentials.authorization = Some(std::str::from_utf8(header.value).unwrap_or_default());
            } else if header.name.eq_ignore_ascii_case("x-forwarded-for") {
                // Rare enough for the router to put several together.
                return Served::Other;
            }
        }
        if hosts != 1 {
            return Served::Other;
        }
        let with_body = method == "GET";
        let before = out.len();
        let done = match self.access.admit_reading(&credentials, peer) {
            Ok(()) => self.look_up(&named, with_body, out),
            // The router adds a header to some of these.
            Err(_) => return Served::Other,
        };
        match done {
            Ok(true) => Served::Answered { consumed },
            Ok(false) => {
                out.truncate(before);
                Served::Other
            }
            Err(problem) => {
                out.truncate(before);
                self.put_problem(&problem, with_body, out);
                Served::Answered { consumed }
            }
        }
    }

    /// Writes the response; false where the router has to.
    fn look_up(&mut self, named: &Named<'_>, with_body: bool, out: &mut Vec<u8>) -> Result<bool, Problem> {
        let _thread_serves_others = NonBlocking::begin();
        match named {
            Named::Document { collection, id } => {
                let date = self.date.now();
                let found = self.store.get(collection)?.read(id, |version, json| {
                    out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\netag: \"");
                    put_number(out, version);
                    out.extend_from_slice(b"\"\r\n");
                    put_end(out, json.len(), date);
                    if with_body {
                        out.extend_from_slice(json);
                    }
                });
                match found {
                    Err(error) if error.kind() == Kind::WouldBlock => Ok(false),
                    Err(error) => Err(error.into()),
                    Ok(Some(())) => Ok(true),
                    Ok(None) => Err(Problem::no_document(id, collection)),
                }
            }
            Named::Key(key) => {
                let date = self.date.now();
                let left = match self.keys.expiry(key.as_bytes()) {
                    Ok(Lifetime::Until(at)) => Some(at.saturating_sub(self.keys.now_ms())),
                    Ok(_) => None,
                    Err(plumbkv::Error::WouldBlock) => return Ok(false),
                    Err(error) => return Err(error.into()),
                };
                let found = self.keys.read(key.as_bytes(), |value| {
                    out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n");
                    if let Some(left) = left {
                        out.extend_from_slice(b"plumbkv-ttl-ms: ");
                        put_number(out, left);
                        out.extend_from_slice(b"\r\n");
                    }
                    put_end(out, value.len(), date);
                    if with_body {
                        out.extend_from_slice(value);
                    }
                });
                match found {
                    Err(plumbkv::Error::WouldBlock) => Ok(false),
                    Err(error) => Err(error.into()),
                    Ok(Some(())) => Ok(true),
                    Ok(None) => Err(Problem::no_key(key)),
                }
            }
        }
    }

    fn put_problem(&mut self, problem: &Problem, with_body: bool, out: &mut Vec<u8>) {
        let (status, body) = (problem.status(), problem.body());
        let reason = status.canonical_reason().unwrap_or_default();
        out.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).as_bytes());
        out.extend_from_slice(b"content-type: application/problem+json\r\n");
        if let Some(seconds) = problem.seconds_to_wait() {
            out.extend_from_slice(format!("retry-after: {seconds}\r\n").as_bytes());
        }
        put_end(out, body.len(), self.date.now());
        if with_body {
            out.extend_from_slice(body.as_bytes());
        }
    }
}

/// The last headers, and the empty line.
fn put_end(out: &mut Vec<u8>, length: usize, date: &str) {
    out.extend_from_slice(b"content-length: ");
    put_number(out, length as u64);
    out.extend_from_slice(b"\r\ndate: ");
    out.extend_from_slice(date.as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The resource of a path of plain characters.
fn named(path: &str) -> Option<Named<'_>> {
    let is_plain = |text: &str| {
        let is_one = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
        !text.is_empty() && text.bytes().all(is_one)
    };
    if let Some(rest) = path.strip_prefix("/v1/collections/") {
        let (collection, rest) = rest.split_once('/')?;
        let id = rest.strip_prefix("documents/")?;
        return (is_plain(collection) && is_plain(id)).then_some(Named::Document { collection, id });
    }
    let key = path.strip_prefix("/v1/keys/")?;
    is_plain(key).then_some(Named::Key(key))
}

/// The date of responses, formatted once a second.
#[derive(Default)]
struct Date {
    second: u64,
    text: String,
}

impl Date {
    fn now(&mut self) -> &str {
        let now = SystemTime::now();
        let second = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if second != self.second || self.text.is_empty() {
            (self.second, self.text) = (second, httpdate::fmt_http_date(now));
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        for number in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }

    #[test]
    fn only_plain_paths_are_taken() {
        assert!(matches!(
            named("/v1/collections/a/documents/b.1"),
            Some(Named::Document { collection: "a", id: "b.1" })
        ));
        assert!(matches!(named("/v1/keys/a~"), Some(Named::Key("a~"))));
        for path in [
            "/v1/collections/a/documents/",
            "/v1/collections/a/documents",
            "/v1/collections/a/search",
            "/v1/collections//documents/b",
            "/v1/collections/a/documents/b/c",
            "/v1/collections/a/documents/b?x",
            "/v1/collections/a/documents/b%20",
            "/v1/collections/a/documents/ü",
            "//v1/keys/a",
            "/v1/keys/",
            "http://h/v1/keys/a",
            "*",
        ] {
            assert!(named(path).is_none(), "{path}");
        }
    }
}
