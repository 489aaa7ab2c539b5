//! How does a test speak to a server and look at the very bytes that come back?

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use plumbkv_resp::{Limits, Parsed, Reply, RequestParser, compose, parse_reply, skip_reply};

/// Longest wait for bytes.
const PATIENCE: Duration = Duration::from_secs(20);

trait Stream: Read + Write + Send {
    fn end_sending(&self);
    fn patience(&self, patience: Duration);
    fn duplicate(&self) -> Box<dyn Stream>;
}

impl Stream for TcpStream {
    fn end_sending(&self) {
        self.shutdown(std::net::Shutdown::Write).unwrap();
    }
    fn patience(&self, patience: Duration) {
        self.set_read_timeout(Some(patience)).unwrap();
    }
    fn duplicate(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().unwrap())
    }
}

impl Stream for UnixStream {
    fn end_sending(&self) {
        self.shutdown(std::net::Shutdown::Write).unwrap();
    }
    fn patience(&self, patience: Duration) {
        self.set_read_timeout(Some(patience)).unwrap();
    }
    fn duplicate(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().unwrap())
    }
}

/// One connection.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    received: Vec<u8>,
}

/// The words of a line under the rules of inline requests.
pub(crate) fn words(line: &str) -> Vec<Vec<u8>> {
    let mut bytes = line.as_bytes().to_vec();
    bytes.push(b'\n');
    match RequestParser::new(Limits::default()).parse(&bytes) {
        Parsed::Complete { value, .. } => value.iter().map(<[u8]>::to_vec).collect(),
        other => panic!("{line}: {other:?}"),
    }
}

/// A request made of a line's words.
pub(crate) fn request(line: &str) -> Vec<u8> {
    let words = words(line);
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    request_of(&words)
}

pub(crate) fn request_of(words: &[&[u8]]) -> Vec<u8> {
    let mut wire = Vec::new();
    compose(words, &mut wire);
    wire
}

impl Client {
    pub(crate) fn tcp(address: impl ToSocketAddrs) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.patience(PATIENCE);
        Client { stream: Box::new(stream), received: Vec::new() }
    }

    pub(crate) fn unix(path: &Path) -> Client {
        let stream = UnixStream::connect(path).unwrap();
        stream.patience(PATIENCE);
        Client { stream: Box::new(stream), received: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// As [`send`](Self::send), for a server that may close in the middle.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends from a thread of its own, so that replies can be read meanwhile.
    pub(crate) fn send_beside(&self, bytes: Vec<u8>) -> std::thread::JoinHandle<()> {
        let mut stream = self.stream.duplicate();
        std::thread::spawn(move || stream.write_all(&bytes).unwrap())
    }

    /// The same connection, to send from another thread.
    pub(crate) fn duplicate(&self) -> Client {
        Client { stream: self.stream.duplicate(), received: Vec::new() }
    }

    pub(crate) fn end_sending(&self) {
        self.stream.end_sending();
    }

    /// Reads once. A read with a timeout is interrupted, not begun again, when the process is stopped and continued.
    fn read(&mut self, chunk: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.stream.read(chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    /// The bytes of one whole reply.
    pub(crate) fn receive(&mut self) -> Vec<u8> {
        let reply = self.receive_if_open();
        reply.unwrap_or_else(|| panic!("closed after {:?}", self.received.escape_ascii().to_string()))
    }

    /// The same; `None` when the server has closed the connection.
    pub(crate) fn receive_if_open(&mut self) -> Option<Vec<u8>> {
        let mut needed = 1;
        loop {
            if self.received.len() >= needed {
                match skip_reply(&self.received, &Limits::default()) {
                    Parsed::Complete { consumed, .. } => {
                        return Some(self.received.drain(..consumed).collect());
                    }
                    Parsed::Incomplete { needed: more } => needed = more,
                    Parsed::Invalid(error) => {
                        panic!("{error}: {}", self.received[..self.received.len().min(200)].escape_ascii())
                    }
                }
            }
            let mut chunk = vec![0; 1 << 16];
            let count = match self.read(&mut chunk) {
                Ok(0) => return None,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                read => read.unwrap(),
            };
            self.received.extend_from_slice(&chunk[..count]);
        }
    }

    /// All bytes until the server closes; `None` if it has not within `patience`.
    pub(crate) fn receive_to_end(&mut self, patience: Duration) -> (Vec<u8>, bool) {
        self.stream.patience(patience);
        let mut chunk = vec![0; 1 << 16];
        let closed = loop {
            match self.read(&mut chunk) {
                Ok(0) => break true,
                Ok(count) => self.received.extend_from_slice(&chunk[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    break false;
                }
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break true,
                Err(error) => panic!("{error}"),
            }
        };
        self.stream.patience(PATIENCE);
        (std::mem::take(&mut self.received), closed)
    }

    /// The bytes that answer one command.
    pub(crate) fn ask(&mut self, line: &str) -> Vec<u8> {
        self.send(&request(line));
        self.receive()
    }

    /// Sends a command and compares its whole reply.
    #[track_caller]
    pub(crate) fn check(&mut self, line: &str, expected: &[u8]) {
        let actual = self.ask(line);
        assert_eq!(actual.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{line}");
    }

    /// The integer that answers one command.
    pub(crate) fn integer(&mut self, line: &str) -> i64 {
        let reply = self.ask(line);
        match parse_reply(&reply, &Limits::default()) {
            Parsed::Complete { value: Reply::Integer(value), .. } => value,
            _ => panic!("{line}: {}", reply.escape_ascii()),
        }
    }

    /// The bulk string that answers one command; `None` for null.
    pub(crate) fn bulk(&mut self, line: &str) -> Option<Vec<u8>> {
        let reply = self.ask(line);
        match parse_reply(&reply, &Limits::default()) {
            Parsed::Complete { value: Reply::Bulk(bytes) | Reply::Verbatim { text: bytes, .. }, .. } => {
                Some(bytes.to_vec())
            }
            Parsed::Complete { value: Reply::Null, .. } => None,
            _ => panic!("{line}: {}", reply.escape_ascii()),
        }
    }

    /// One field of `INFO`, as a number.
    pub(crate) fn info(&mut self, field: &str) -> u64 {
        let text = String::from_utf8(self.bulk("INFO").unwrap()).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value
            .and_then(|value| value.trim().parse().ok())
            .unwrap_or_else(|| panic!("no number {field} in {text}"))
    }

    /// Walks the whole keyspace by SCAN.
    pub(crate) fn scan(&mut self, options: &str) -> Vec<Vec<u8>> {
        let (mut cursor, mut keys, mut steps) = (b"0".to_vec(), Vec::new(), 0);
        loop {
            let reply = self.ask(&format!("SCAN {} {options}", String::from_utf8_lossy(&cursor)));
            let Parsed::Complete { value: Reply::Array(parts), .. } = parse_reply(&reply, &Limits::default())
            else {
                panic!("{}", reply.escape_ascii())
            };
            let [Reply::Bulk(next), Reply::Array(found)] = &parts[..] else { panic!("{parts:?}") };
            for key in found {
                let Reply::Bulk(key) = key else { panic!("{key:?}") };
                keys.push(key.to_vec());
            }
            cursor = next.to_vec();
            steps += 1;
            assert!(steps < 1_000_000, "the scan does not end");
            if cursor == b"0" {
                return keys;
            }
        }
    }
}

/// Bytes that do not repeat soon, so that a value cut, doubled or shifted is noticed.
pub(crate) fn noise(len: usize, mut state: u64) -> Vec<u8> {
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect()
}
