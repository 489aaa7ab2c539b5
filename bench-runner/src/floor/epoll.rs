//! The floor by epoll: one thread, edge-triggered, one write per connection and turn.

use super::{Answers, Conversation};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

const LISTENER: Token = Token(0);
const INPUT_BYTES: usize = 64 * 1024;

/// A bound floor server.
#[derive(Debug)]
pub struct Server<A: Answers> {
    poll: Poll,
    listener: TcpListener,
    connections: HashMap<Token, Connection<A::State>>,
    next: usize,
    answers: A,
}

#[derive(Debug)]
struct Connection<S> {
    stream: TcpStream,
    conversation: Conversation<S>,
}

impl<A: Answers> Server<A> {
    /// Listens.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn bind(address: SocketAddr, answers: A) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self { poll, listener, connections: HashMap::new(), next: 1, answers })
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
                let open = connection.serve(&mut input, &mut self.answers, &self.poll, event.token());
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
            self.connections.insert(token, Connection { stream, conversation: Conversation::default() });
        }
    }
}

impl<S: Default> Connection<S> {
    /// Reads what is there, answers it, writes once. False when it is over.
    fn serve<A: Answers<State = S>>(
        &mut self,
        input: &mut [u8],
        answers: &mut A,
        poll: &Poll,
        token: Token,
    ) -> io::Result<bool> {
        while !self.conversation.closing {
            let count = match self.stream.read(input) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.conversation.hear(answers, &input[..count]);
            if count < input.len() {
                break;
            }
        }
        let output = &mut self.conversation.output;
        while !output.is_empty() {
            match self.stream.write(output) {
                Ok(count) if count == output.len() => output.clear(),
                Ok(count) => drop(output.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let interest = Interest::READABLE | Interest::WRITABLE;
                    poll.registry().reregister(&mut self.stream, token, interest)?;
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(!self.conversation.closing)
    }
}
