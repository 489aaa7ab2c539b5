//! How fast could any server be answered here? A server that parses requests and keeps nothing.
//!
//! One thread, epoll, one write per connection and turn. `SET` is answered by `+OK`, `DEL` by `:1`, and `GET` by
//! a bulk as long as the value that was last set by anyone, so that the generator and the network do the same
//! work as with a store. What it measures is the ceiling of everything else on this machine.

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use plumbkv_resp::{Limits, Parsed, ReplyWriter, Request, RequestParser, Version};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

const LISTENER: Token = Token(0);
const INPUT_BYTES: usize = 64 * 1024;

/// A bound null server.
#[derive(Debug)]
pub struct NullServer {
    poll: Poll,
    listener: TcpListener,
    connections: HashMap<Token, Connection>,
    next: usize,
    value: Vec<u8>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    parser: RequestParser,
    partial: Vec<u8>,
    output: Vec<u8>,
}

impl NullServer {
    /// Listens; `value_bytes` is the length of what `GET` is answered by until something is set.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn bind(address: SocketAddr, value_bytes: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self { poll, listener, connections: HashMap::new(), next: 1, value: vec![b'x'; value_bytes] })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system cannot say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    /// Polling or accepting fails for good.
    pub fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut input = vec![0; INPUT_BYTES];
        loop {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                if event.token() == LISTENER {
                    self.accept()?;
                    continue;
                }
                let Some(connection) = self.connections.get_mut(&event.token()) else { continue };
                let open = connection.serve(&mut input, &mut self.value, &self.poll, event.token());
                if !open.unwrap_or(false) {
                    self.connections.remove(&event.token());
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let token = Token(self.next);
            self.next += 1;
            stream.set_nodelay(true)?;
            self.poll.registry().register(&mut stream, token, Interest::READABLE)?;
            let parser = RequestParser::new(Limits::default());
            let connection = Connection { stream, parser, partial: Vec::new(), output: Vec::new() };
            self.connections.insert(token, connection);
        }
    }
}

impl Connection {
    /// Reads what is there, answers it, writes once. False when the peer is gone or breaks the protocol.
    fn serve(
        &mut self,
        input: &mut [u8],
        value: &mut Vec<u8>,
        poll: &Poll,
        token: Token,
    ) -> io::Result<bool> {
        loop {
            let count = match self.stream.read(input) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let taken = if self.partial.is_empty() {
                let taken = answer_all(&mut self.parser, &input[..count], &mut self.output, value);
                if let Some(used) = taken {
                    self.partial.extend_from_slice(&input[used..count]);
                }
                taken
            } else {
                self.partial.extend_from_slice(&input[..count]);
                let taken = answer_all(&mut self.parser, &self.partial, &mut self.output, value);
                if let Some(used) = taken {
                    self.partial.drain(..used);
                }
                taken
            };
            if taken.is_none() {
                return Ok(false);
            }
            if count < input.len() {
                break;
            }
        }
        let before = self.output.len();
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(count) if count == self.output.len() => self.output.clear(),
                Ok(count) => drop(self.output.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let interest = Interest::READABLE | Interest::WRITABLE;
                    poll.registry().reregister(&mut self.stream, token, interest)?;
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        debug_assert!(before == 0 || self.output.is_empty());
        Ok(true)
    }
}

/// Answers every whole request in `bytes`; how many bytes they took, or `None` where it is not RESP.
fn answer_all(
    parser: &mut RequestParser,
    bytes: &[u8],
    output: &mut Vec<u8>,
    value: &mut Vec<u8>,
) -> Option<usize> {
    let mut used = 0;
    while used < bytes.len() {
        match parser.parse(&bytes[used..]) {
            Parsed::Complete { value: request, consumed } => {
                answer(&request, output, value);
                used += consumed;
            }
            Parsed::Incomplete { .. } => break,
            Parsed::Invalid(_) => return None,
        }
    }
    Some(used)
}

fn answer(request: &Request<'_>, output: &mut Vec<u8>, value: &mut Vec<u8>) {
    let Some(name) = request.get(0) else { return };
    let mut reply = ReplyWriter::new(output, Version::Resp2);
    match name {
        b"SET" => {
            let length = request.get(2).map_or(0, <[u8]>::len);
            if length != value.len() {
                value.resize(length, b'x');
            }
            reply.simple("OK");
        }
        b"GET" => reply.bulk(value),
        b"DEL" | b"EXISTS" => reply.integer(1),
        b"DBSIZE" => reply.integer(0),
        b"PING" => reply.simple("PONG"),
        _ => reply.simple("OK"),
    };
}
