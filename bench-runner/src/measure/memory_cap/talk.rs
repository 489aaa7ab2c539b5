//! How is a trace replayed on a target, whatever it speaks? One blocking connection, the load's own codecs.

use super::super::wire::End;
use super::{PATIENCE, Told, look};
use crate::load::client::{Client, ClientError};
use crate::load::reply::{Answer, judge};
use crate::load::request::{Asked, Protocol, Workload};
use crate::load::stream::{Connector, Stream};
use crate::load::values::Values;
use crate::model::Status;
use crate::target::{self, RunningTarget};
use std::io::{ErrorKind, Read, Write};

/// What a trace is spoken in with a target; nothing where no cache of its kind is spoken to.
pub(super) fn spoken(protocol: target::Protocol) -> Option<Protocol> {
    match protocol {
        target::Protocol::Resp => Some(Protocol::Resp2),
        target::Protocol::Memcached => Some(Protocol::Memcached),
        target::Protocol::Http | target::Protocol::Postgres | target::Protocol::Other => None,
    }
}

/// A conversation of requests that are already written and replies that are judged.
pub(super) struct Talk<'a> {
    stream: Stream,
    input: Vec<u8>,
    workload: &'a Workload,
    values: &'a Values,
}

impl<'a> Talk<'a> {
    pub(super) fn connect(
        target: &RunningTarget,
        workload: &'a Workload,
        values: &'a Values,
    ) -> Result<Self, End> {
        let address = &target.address;
        let stream = match workload.protocol {
            Protocol::Memcached => Connector::new(address)
                .and_then(|connector| connector.connect(PATIENCE))
                .map_err(|error| io(&format!("connecting to {}", address.endpoint), error))?,
            _ => Client::connect(address, PATIENCE)?.into_stream(),
        };
        Ok(Self { stream, input: Vec::new(), workload, values })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), End> {
        let sent = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        sent.map_err(|error| io("sending requests", error))
    }

    /// The next reply, which is to what was `asked`. It is right, a miss, a refusal or wrong.
    pub(super) fn answer(&mut self, asked: &Asked) -> Result<Answer, End> {
        loop {
            let answer = judge(&self.input, asked, self.values, self.workload);
            match &answer {
                Answer::Incomplete => self.read_more()?,
                Answer::Broken(text) => return Err(End::Broken(Status::Failed, text.clone())),
                Answer::Right(used)
                | Answer::Missed(used)
                | Answer::Refused(used, _)
                | Answer::Wrong(used, _) => {
                    self.input.drain(..used);
                    return Ok(answer);
                }
            }
        }
    }

    /// What the target says of its memory.
    pub(super) fn told(&mut self, target: &RunningTarget) -> Result<Told, End> {
        if self.workload.protocol != Protocol::Memcached {
            return Ok(look(&mut Client::connect(&target.address, PATIENCE)?)?);
        }
        self.send(b"stats\r\n")?;
        while !self.input.ends_with(b"END\r\n") {
            self.read_more()?;
        }
        let told = stats(&String::from_utf8_lossy(&self.input));
        self.input.clear();
        Ok(told)
    }

    fn read_more(&mut self) -> Result<(), End> {
        let mut piece = [0; 32 * 1024];
        match self.stream.read(&mut piece) {
            Ok(0) => Err(io("waiting for replies", ErrorKind::UnexpectedEof.into())),
            Ok(count) => {
                self.input.extend_from_slice(&piece[..count]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(io("waiting for replies", error)),
        }
    }
}

/// Memcached's own account. `bytes` are those of its items, with their heads: what its `-m` bounds are the pages they
/// lie in.
fn stats(text: &str) -> Told {
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("STAT ")?.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    Told { accounted_bytes: number("bytes "), evicted: number("evictions "), expired: 0 }
}

fn io(what: &str, error: std::io::Error) -> End {
    ClientError::Io { what: what.to_owned(), error }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memcacheds_account_is_read_by_whole_names() {
        let text = "STAT bytes_read 7\r\nSTAT bytes 1048576\r\nSTAT evictions 12\r\nEND\r\n";
        assert_eq!(stats(text), Told { accounted_bytes: 1_048_576, evicted: 12, expired: 0 });
    }
}
