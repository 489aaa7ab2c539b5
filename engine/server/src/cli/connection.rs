//! How does the client reach a server, introduce itself, and wait for one reply?

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail};
use plumbkv_resp::{Limits, Parsed, Reply, compose, parse_reply};

/// Where a server listens.
#[derive(Debug, Clone)]
pub(super) enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What is agreed before the first command.
#[derive(Debug, Clone)]
pub(super) struct Greeting {
    pub(super) password: Option<String>,
    pub(super) resp3: bool,
    /// Longest wait for the connection, and for each next part of a reply.
    pub(super) timeout: Duration,
}

/// One connection with its receive buffer.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    address: Address,
    timeout: Duration,
    received: Vec<u8>,
    /// Bytes of `received` that belong to replies already given out.
    used: usize,
}

trait Stream: Read + Write {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

/// Bytes asked for at once; also the least by which the buffer grows.
const READ_BYTES: usize = 64 * 1024;

impl Connection {
    /// Connects, gives the password, and chooses the protocol version.
    pub(super) fn open(address: &Address, greeting: &Greeting) -> anyhow::Result<Self> {
        let stream = connect(address, greeting.timeout).map_err(|error| {
            let hint = match address {
                Address::Tcp { .. } => "--host and --port",
                Address::Unix(_) => "--socket",
            };
            anyhow!(
                "cannot connect to {address}: {}; start one with `plumbkv serve`, or choose another server with {hint}",
                reason(&error)
            )
        })?;
        let mut connection = Connection {
            stream,
            address: address.clone(),
            timeout: greeting.timeout,
            received: Vec::new(),
            used: 0,
        };
        if let Some(password) = &greeting.password {
            connection.must(&[b"AUTH", password.as_bytes()], "the server refused the password")?;
        }
        if greeting.resp3 {
            connection.must(&[b"HELLO", b"3"], "the server refused RESP3")?;
        }
        Ok(connection)
    }

    fn must(&mut self, words: &[&[u8]], otherwise: &str) -> anyhow::Result<()> {
        let address = self.address.clone();
        match self.request(words)? {
            Reply::Error(text) => bail!("{address}: {otherwise}: {}", String::from_utf8_lossy(text)),
            _ => Ok(()),
        }
    }

    /// Sends one command and waits for its reply.
    pub(super) fn request(&mut self, words: &[&[u8]]) -> anyhow::Result<Reply<'_>> {
        let mut wire = Vec::new();
        compose(words, &mut wire);
        if let Err(error) = self.stream.write_all(&wire) {
            // A server that refuses a connection says why and closes; its words are worth more than EPIPE.
            if self.receive_whole().is_err() {
                return Err(anyhow!("lost the connection to {}: {}", self.address, reason(&error)));
            }
        } else {
            self.receive_whole()?;
        }
        let start = self.used;
        let Parsed::Complete { value, consumed } = parse_reply(&self.received[start..], &Limits::default())
        else {
            bail!("{}: the reply changed while it was read", self.address);
        };
        self.used = start + consumed;
        Ok(value)
    }

    /// Receives until one whole reply stands at the start of the buffer.
    fn receive_whole(&mut self) -> anyhow::Result<()> {
        self.received.drain(..self.used);
        self.used = 0;
        loop {
            let needed = match parse_reply(&self.received, &Limits::default()) {
                // A push answers no request.
                Parsed::Complete { value: Reply::Push(_), consumed } => {
                    self.received.drain(..consumed);
                    continue;
                }
                Parsed::Complete { .. } => return Ok(()),
                Parsed::Invalid(error) => bail!("{} does not speak RESP: {error}", self.address),
                Parsed::Incomplete { needed } => needed,
            };
            // The parser starts anew each time: doubling keeps the whole linear in the reply's length.
            let wanted = if self.received.is_empty() { 1 } else { needed };
            while self.received.len() < wanted {
                self.receive()?;
            }
        }
    }

    fn receive(&mut self) -> anyhow::Result<()> {
        let have = self.received.len();
        self.received.resize(have + READ_BYTES.max(have), 0);
        let outcome = self.stream.read(&mut self.received[have..]);
        self.received.truncate(have + outcome.as_ref().copied().unwrap_or(0));
        match outcome {
            Ok(0) => bail!("{} closed the connection before its reply was complete", self.address),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                bail!(
                    "no reply from {} within {} s; raise --timeout to wait longer",
                    self.address,
                    self.timeout.as_secs()
                )
            }
            Err(error) => bail!("lost the connection to {}: {}", self.address, reason(&error)),
        }
    }
}

fn connect(address: &Address, timeout: Duration) -> std::io::Result<Box<dyn Stream>> {
    match address {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok(Box::new(stream))
        }
        Address::Tcp { host, port } => {
            let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, timeout) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        stream.set_read_timeout(Some(timeout))?;
                        stream.set_write_timeout(Some(timeout))?;
                        return Ok(Box::new(stream));
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// An error in words: without the number that means something to few.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
