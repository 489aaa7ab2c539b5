//! How does the runner talk to a target outside the measured load? One blocking connection.

use super::answered::own;
use super::length::Length;
use super::permit::may_be_sent;
use super::stream::{Connector, Stream};
use super::values::{KEY_BYTES, Values, write_key};
use plumbkv_resp::{Limits, Parsed, Reply, compose, parse_reply, peek_scalar};
use std::io::{Read, Write};
use std::time::Duration;

pub use super::address::{Address, Endpoint, TlsEndpoint};
pub use super::answered::{Answered, info_field};

/// A conversation that went wrong, in words that name the request.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The socket.
    #[error("{what}: {error}")]
    Io {
        /// What was being done.
        what: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A reply other than the one needed.
    #[error("{request} was answered by {reply}")]
    Unexpected {
        /// The request.
        request: String,
        /// The reply.
        reply: String,
    },
}

/// A blocking connection to a target.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    input: Vec<u8>,
    key_prefix: Vec<u8>,
}

impl Client {
    /// Connects, authenticates where needed, and has `PING` answered.
    ///
    /// # Errors
    /// No connection within `timeout`, or another answer than `PONG`.
    pub fn connect(address: &Address, timeout: Duration) -> Result<Self, ClientError> {
        let connector = Connector::new(address).map_err(|error| connecting(address, error))?;
        Self::connect_by(&connector, address, timeout)
    }

    /// As [`Client::connect`], by a connector that many connections share.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_by(
        connector: &Connector,
        address: &Address,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let stream = connector.connect(timeout).map_err(|error| connecting(address, error))?;
        let mut client = Self { stream, input: Vec::new(), key_prefix: address.key_prefix.clone() };
        if let Some(password) = &address.password {
            match &address.user {
                Some(user) => client.expect_simple(&[b"AUTH", user.as_bytes(), password.as_bytes()], "OK")?,
                None => client.expect_simple(&[b"AUTH", password.as_bytes()], "OK")?,
            }
        }
        if let Some(database) = address.database {
            client.expect_simple(&[b"SELECT", database.to_string().as_bytes()], "OK")?;
        }
        client.expect_simple(&[b"PING"], "PONG")?;
        Ok(client)
    }

    /// Goes over to the third version of the protocol.
    ///
    /// # Errors
    /// As [`Client::call`], or an error reply: the target does not know it.
    pub fn hello3(&mut self) -> Result<(), ClientError> {
        match self.call(&[b"HELLO", b"3"])? {
            refused @ Answered::Error(_) => Err(unexpected(&[b"HELLO 3"], &refused)),
            _ => Ok(()),
        }
    }

    /// The socket, when the conversation is over and nothing is left unread.
    #[must_use]
    pub fn into_stream(self) -> Stream {
        self.stream
    }

    /// Sends what the socket takes at once, and says how much that was; nothing is ever waited for from now on.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn send_at_once(&mut self, bytes: &[u8]) -> Result<usize, ClientError> {
        let failed = |error| ClientError::Io { what: "sending without reading".to_owned(), error };
        self.stream.set_nonblocking(true).map_err(failed)?;
        match self.stream.write(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(0),
            other => other.map_err(failed),
        }
    }

    /// Waits at most this long for a reply from now on.
    ///
    /// # Errors
    /// The system refuses, as it does for a wait of nothing.
    pub fn set_timeout(&self, timeout: Duration) -> Result<(), ClientError> {
        self.stream
            .set_timeout(timeout)
            .map_err(|error| ClientError::Io { what: "setting a timeout".to_owned(), error })
    }

    /// One request, one reply.
    ///
    /// # Errors
    /// The connection is lost or the reply is no RESP.
    pub fn call(&mut self, request: &[&[u8]]) -> Result<Answered, ClientError> {
        let mut bytes = Vec::new();
        compose(request, &mut bytes);
        let name = String::from_utf8_lossy(request.first().copied().unwrap_or_default()).into_owned();
        if !may_be_sent(&self.key_prefix, request) {
            let reply = "the runner itself: it is not sent to a server that is not ours".to_owned();
            return Err(ClientError::Unexpected { request: name, reply });
        }
        self.send(&bytes, &name)?;
        self.receive(&name)
    }

    /// One request whose answer must be the status `expected`.
    ///
    /// # Errors
    /// As [`Client::call`], or another answer.
    pub fn expect_simple(&mut self, request: &[&[u8]], expected: &str) -> Result<(), ClientError> {
        match self.call(request)? {
            Answered::Simple(text) if text == expected => Ok(()),
            other => Err(unexpected(request, &other)),
        }
    }

    /// One request whose answer must be a number.
    ///
    /// # Errors
    /// As [`Client::call`], or another answer.
    pub fn expect_integer(&mut self, request: &[&[u8]]) -> Result<i64, ClientError> {
        match self.call(request)? {
            Answered::Integer(number) => Ok(number),
            other => Err(unexpected(request, &other)),
        }
    }

    /// `INFO`, as text.
    ///
    /// # Errors
    /// As [`Client::call`], or another answer than a bulk.
    pub fn info(&mut self) -> Result<String, ClientError> {
        match self.call(&[b"INFO"])? {
            Answered::Bulk(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            other => Err(unexpected(&[b"INFO"], &other)),
        }
    }

    /// Sets keys `0..keys` to their values, pipelined; every reply must be `+OK`. Returns after the first
    /// refusal of a memory cap, which it counts as unexpected.
    ///
    /// # Errors
    /// As [`Client::call`], or another answer.
    pub fn fill(
        &mut self,
        keys: impl Iterator<Item = u64>,
        length: &Length,
        values: &Values,
    ) -> Result<(), ClientError> {
        // Small enough for the socket buffers of both sides, so that neither waits for the other for good.
        const BATCH_BYTES: usize = 128 * 1024;
        let mut value = Vec::new();
        let (mut batch, mut asked) = (Vec::new(), 0usize);
        let mut keys = keys.peekable();
        while let Some(index) = keys.next() {
            let key = self.key(index);
            value.resize(length.of(index, 0, values) as usize, 0);
            values.write(index, &mut value);
            compose(&[b"SET", &key, &value], &mut batch);
            asked += 1;
            if batch.len() < BATCH_BYTES && keys.peek().is_some() {
                continue;
            }
            self.send(&batch, "SET")?;
            for _ in 0..asked {
                match self.receive("SET")? {
                    Answered::Simple(text) if text == "OK" => {}
                    other => return Err(unexpected(&[b"SET"], &other)),
                }
            }
            batch.clear();
            asked = 0;
        }
        Ok(())
    }

    /// Key number `index` as it stands in the store.
    #[must_use]
    pub fn key(&self, index: u64) -> Vec<u8> {
        let mut digits = [0; KEY_BYTES];
        write_key(index, &mut digits);
        [self.key_prefix.as_slice(), &digits].concat()
    }

    /// Empties a store of ours. On somebody else's server nothing is emptied: what we wrote there is overwritten
    /// by the next load, and deleted by name at the end.
    ///
    /// # Errors
    /// As [`Client::call`], or another answer.
    pub fn empty(&mut self) -> Result<(), ClientError> {
        if self.key_prefix.is_empty() { self.expect_simple(&[b"FLUSHALL"], "OK") } else { Ok(()) }
    }

    /// Keys in a store that holds nothing but ours; nothing where others have keys there too.
    ///
    /// # Errors
    /// As [`Client::call`], or another answer.
    pub fn held(&mut self) -> Result<Option<i64>, ClientError> {
        if self.key_prefix.is_empty() { self.expect_integer(&[b"DBSIZE"]).map(Some) } else { Ok(None) }
    }

    /// Deletes keys `0..keys` of ours by their names, in batches. Returns how many were there.
    ///
    /// # Errors
    /// As [`Client::call`], or another answer.
    pub fn delete_own(&mut self, keys: u64) -> Result<u64, ClientError> {
        const BATCH: u64 = 512;
        let mut deleted = 0;
        let mut from = 0;
        while from < keys {
            let to = keys.min(from + BATCH);
            let names: Vec<Vec<u8>> = (from..to).map(|index| self.key(index)).collect();
            let mut request: Vec<&[u8]> = vec![b"DEL"];
            request.extend(names.iter().map(Vec::as_slice));
            deleted += u64::try_from(self.expect_integer(&request)?).unwrap_or(0);
            from = to;
        }
        Ok(deleted)
    }

    /// Sends requests that are already written.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn send(&mut self, bytes: &[u8], name: &str) -> Result<(), ClientError> {
        self.stream
            .write_all(bytes)
            .and_then(|()| self.stream.flush())
            .map_err(|error| ClientError::Io { what: format!("sending {name}"), error })
    }

    /// One `SCAN` step: the next cursor and the keys found.
    ///
    /// # Errors
    /// As [`Client::call`], or another answer.
    pub fn scan(&mut self, cursor: &[u8], pattern: &[u8]) -> Result<(Vec<u8>, Vec<Vec<u8>>), ClientError> {
        let mut bytes = Vec::new();
        compose(&[b"SCAN", cursor, b"MATCH", pattern, b"COUNT", b"1000"], &mut bytes);
        self.send(&bytes, "SCAN")?;
        let bulk = |reply: &Reply<'_>| match reply {
            Reply::Bulk(bytes) => Some(bytes.to_vec()),
            _ => None,
        };
        loop {
            match parse_reply(&self.input, &Limits::default()) {
                Parsed::Complete { value, consumed } => {
                    let found = match &value {
                        Reply::Array(parts) => match parts.as_slice() {
                            [next, Reply::Array(keys)] => {
                                bulk(next).map(|next| (next, keys.iter().filter_map(bulk).collect()))
                            }
                            _ => None,
                        },
                        _ => None,
                    };
                    drop(value);
                    self.input.drain(..consumed);
                    let reply = "something else than a cursor and keys".to_owned();
                    return found.ok_or(ClientError::Unexpected { request: "SCAN".to_owned(), reply });
                }
                Parsed::Invalid(error) => {
                    let reply = error.to_string();
                    return Err(ClientError::Unexpected { request: "SCAN".to_owned(), reply });
                }
                Parsed::Incomplete { .. } => self.read_more("SCAN")?,
            }
        }
    }

    /// The next reply.
    ///
    /// # Errors
    /// The connection is lost or the reply is no RESP.
    pub fn receive(&mut self, name: &str) -> Result<Answered, ClientError> {
        loop {
            match peek_scalar(&self.input, &Limits::default()) {
                Parsed::Complete { value, consumed } => {
                    let answered = own(&value);
                    self.input.drain(..consumed);
                    return Ok(answered);
                }
                Parsed::Invalid(error) => return self.receive_tree(name, &error.to_string()),
                Parsed::Incomplete { .. } => self.read_more(name)?,
            }
        }
    }

    /// An aggregate is no scalar: read as a tree, and told in words.
    fn receive_tree(&mut self, name: &str, why: &str) -> Result<Answered, ClientError> {
        loop {
            match parse_reply(&self.input, &Limits::default()) {
                Parsed::Complete { value, consumed } => {
                    let text = match value {
                        Reply::Array(items) => format!("an array of {}", items.len()),
                        _ => "an aggregate".to_owned(),
                    };
                    self.input.drain(..consumed);
                    return Ok(Answered::Other(text));
                }
                Parsed::Invalid(_) => {
                    return Err(ClientError::Unexpected { request: name.to_owned(), reply: why.to_owned() });
                }
                Parsed::Incomplete { .. } => self.read_more(name)?,
            }
        }
    }

    fn read_more(&mut self, name: &str) -> Result<(), ClientError> {
        let mut piece = [0; 32 * 1024];
        let failed = |error| ClientError::Io { what: format!("waiting for the reply to {name}"), error };
        match self.stream.read(&mut piece) {
            Ok(0) => Err(failed(std::io::Error::new(
                std::io::ErrorKind::UnexpectedEof,
                "the target closed the connection",
            ))),
            Ok(count) => {
                self.input.extend_from_slice(&piece[..count]);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                Err(failed(std::io::Error::new(std::io::ErrorKind::TimedOut, "no reply in time")))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

fn connecting(address: &Address, error: std::io::Error) -> ClientError {
    ClientError::Io { what: format!("connecting to {}", address.endpoint), error }
}

fn unexpected(request: &[&[u8]], reply: &Answered) -> ClientError {
    let name = String::from_utf8_lossy(request.first().copied().unwrap_or_default()).into_owned();
    ClientError::Unexpected { request: name, reply: reply.describe() }
}
