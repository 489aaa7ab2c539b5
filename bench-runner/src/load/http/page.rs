//! One page of a server that is not ours: the only thing it is ever asked for, and the only right answer.
//!
//! What the page is, the server says itself: the body of its first answer is remembered, and every later one must be
//! the same, byte by byte. So nothing need be written there, and no request but one GET is ever sent.

use super::reply::{Reply, read, read_with_manners};
use crate::load::address::Address;
use crate::load::reply::Answer;
use crate::load::stream::{Connector, Stream};
use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Largest page that is remembered, bytes.
const BODY_MAX: usize = 64 << 20;
/// Longest piece of a head that is waited for, bytes.
const HEAD_MAX: usize = 64 << 10;

/// How much of what a server says it is is kept, characters.
const NAME_MAX: usize = 80;

/// A page, and what was found there first. Clones share what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    path: String,
    request: Vec<u8>,
    found: Arc<OnceLock<Found>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Found {
    body: Vec<u8>,
    /// The server ends the connection after each answer.
    closes: bool,
}

impl Page {
    /// The page of `path`, which begins with `/`, on the server that calls itself `host`.
    #[must_use]
    pub fn new(host: &str, path: &str) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
        Self { path: path.to_owned(), request, found: Arc::default() }
    }

    /// How long its body is, bytes; None before it was looked at.
    #[must_use]
    pub fn body_bytes(&self) -> Option<usize> {
        self.found.get().map(|found| found.body.len())
    }

    /// Whether the server closed the connection after its first answer: then each request has its own.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.found.get().is_some_and(|found| found.closes)
    }

    /// Appends the request for it: always the same.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.request);
    }

    /// Judges the answer at the head of `input`.
    #[must_use]
    pub fn judge(&self, input: &[u8]) -> Answer {
        let (reply, manners) = match read_with_manners(input) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Answer::Incomplete,
            Err(why) => return Answer::Broken(format!("GET {} was answered by {why}", self.path)),
        };
        match self.fault(&reply) {
            Some(fault) => Answer::Wrong(reply.end, fault),
            None if manners.closes && !self.closes() => Answer::Broken(self.closing()),
            None => Answer::Right(reply.end),
        }
    }

    /// Asks for it twice, on one connection if that is kept: what comes first is remembered, and is what every later
    /// answer must be. Returns what the server says it is.
    ///
    /// # Errors
    /// No connection within `timeout`, a status other than 200, a body whose length is not given, another body than
    /// before, or a connection that is closed after the second answer only. Each says what to do.
    pub fn look(&self, address: &Address, timeout: Duration) -> Result<String, String> {
        let told = |error: std::io::Error| format!("connecting to {}: {error}", address.endpoint);
        let connector = Connector::new(address).map_err(told)?;
        let mut stream = connector.connect(timeout).map_err(told)?;
        let mut server = String::new();
        for is_first in [true, false] {
            if !is_first && self.closes() {
                stream = connector.connect(timeout).map_err(told)?;
            }
            let input = self.ask(&mut stream)?;
            // It was whole when it was read.
            let Ok(Some((reply, manners))) = read_with_manners(&input) else {
                return Err(format!("GET {} broke off", self.path));
            };
            if reply.code == 200 {
                self.found.get_or_init(|| Found { body: reply.body.to_vec(), closes: manners.closes });
            }
            if let Some(fault) = self.fault(&reply) {
                return Err(fault);
            }
            if manners.closes != self.closes() {
                return Err(self.closing());
            }
            server = String::from_utf8_lossy(manners.server).chars().take(NAME_MAX).collect();
        }
        Ok(server)
    }

    /// Sends the request and returns a whole answer.
    fn ask(&self, stream: &mut Stream) -> Result<Vec<u8>, String> {
        let path = &self.path;
        stream
            .write_all(&self.request)
            .and_then(|()| stream.flush())
            .map_err(|error| format!("sending GET {path}: {error}"))?;
        let (mut input, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
        loop {
            match read(&input) {
                Ok(Some(_)) => return Ok(input),
                Ok(None) => {}
                Err(why) => {
                    return Err(format!("GET {path} was answered by {why}, or name another page"));
                }
            }
            if input.len() > BODY_MAX + HEAD_MAX {
                return Err(format!(
                    "GET {path} is answered by more than {BODY_MAX} bytes: name a smaller page"
                ));
            }
            match stream.read(&mut piece) {
                Ok(0) if input.is_empty() => {
                    return Err(format!("the server closed the connection instead of answering GET {path}"));
                }
                Ok(0) => return Err(format!("the server broke off its answer to GET {path}")),
                Ok(count) => input.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(format!("GET {path} was not answered in time"));
                }
                Err(error) => return Err(format!("waiting for the answer to GET {path}: {error}")),
            }
        }
    }

    /// What is wrong with an answer, if anything is.
    fn fault(&self, reply: &Reply<'_>) -> Option<String> {
        let path = &self.path;
        if reply.code != 200 {
            return Some(format!(
                "GET {path} was answered by status {}, not 200: name a page that is answered by 200",
                reply.code
            ));
        }
        let first = self.found.get().map_or(&[][..], |found| found.body.as_slice());
        if *reply.body == *first {
            return None;
        }
        let at = reply.body.iter().zip(first).position(|(one, other)| one != other);
        let at = at.unwrap_or_else(|| first.len().min(reply.body.len()));
        Some(format!(
            "GET {path} gave another body than the first time ({} bytes, then {}; they differ from byte {at} on): a \
             page that changes between requests cannot be checked. Name a static one, such as a file or a health check",
            first.len(),
            reply.body.len()
        ))
    }

    fn closing(&self) -> String {
        format!(
            "the server closes the connection after an answer to GET {} (Connection: close), and not after every one: \
             raise the number of requests that it allows on one (nginx: keepalive_requests, Apache: MaxKeepAliveRequests)",
            self.path
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len()).into_bytes()
    }

    fn known(body: &str) -> Page {
        let page = Page::new("localhost:8080", "/a?b=c");
        page.found.set(Found { body: body.as_bytes().to_vec(), closes: false }).unwrap();
        page
    }

    #[test]
    fn the_request_is_a_get_of_the_very_path() {
        let mut out = Vec::new();
        known("").write(&mut out);
        assert_eq!(out, b"GET /a?b=c HTTP/1.1\r\nHost: localhost:8080\r\n\r\n");
    }

    #[test]
    fn the_first_body_is_right_and_every_shorter_piece_of_its_answer_is_incomplete() {
        let (page, bytes) = (known("hello"), answer("200 OK", "", "hello"));
        assert_eq!(page.judge(&bytes), Answer::Right(bytes.len()));
        for end in 0..bytes.len() {
            assert_eq!(page.judge(&bytes[..end]), Answer::Incomplete, "{end}");
        }
    }

    #[test]
    fn other_bodies_and_statuses_are_wrong_and_say_what_to_do() {
        let page = known("hello");
        for (bytes, words) in [
            (answer("200 OK", "", "hellO"), "differ from byte 4 on): a page that changes"),
            (answer("200 OK", "", "hello!"), "(5 bytes, then 6; they differ from byte 5 on)"),
            (answer("200 OK", "", "hell"), "Name a static one"),
            (answer("429 Too Many Requests", "", "hello"), "status 429"),
            (answer("503 Busy", "", ""), "status 503, not 200"),
            (answer("404 Not Found", "", ""), "status 404"),
        ] {
            let Answer::Wrong(used, text) = page.judge(&bytes) else { panic!("{words} was not seen") };
            assert!(used == bytes.len() && text.contains(words), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_gone_on_with_is_broken() {
        let page = known("hello");
        for (bytes, words) in [
            (answer("200 OK", "Connection: Close\r\n", "hello"), "keepalive_requests"),
            (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_vec(), "Connection: close"),
        ] {
            let Answer::Broken(text) = page.judge(&bytes) else { panic!("{words} was not seen") };
            assert!(text.contains(words), "{text}");
        }
        let kept = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(page.judge(kept), Answer::Right(kept.len()));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        assert_eq!(page.judge(chunked), Answer::Right(chunked.len()));
        let closing = Page::new("localhost:8080", "/");
        closing.found.set(Found { body: b"hello".to_vec(), closes: true }).unwrap();
        let last = answer("200 OK", "Connection: close\r\n", "hello");
        assert_eq!(closing.judge(&last), Answer::Right(last.len()));
    }
}
