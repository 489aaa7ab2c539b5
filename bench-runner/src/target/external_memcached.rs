//! A running memcached that the runner did not start: its statistics, and the deletion of the runner's keys.
//!
//! Its keys cannot be listed, so what a killed run has left there is only deleted by the run that knows its keys.

use crate::load::client::Address;
use crate::load::stream::{Connector, Stream};
use std::io::{BufRead, BufReader, Error, ErrorKind, Result, Write};
use std::time::Duration;

/// Requests that are sent before their answers are read: few enough for the buffers of both sides.
const BATCH: u64 = 512;

/// What it says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) version: String,
    pub(super) items: u64,
    /// Bytes that items take, and those that they may.
    pub(super) used: u64,
    pub(super) cap: u64,
}

impl Told {
    fn note(&mut self, line: &str) {
        let mut words = line.split_whitespace().skip(1);
        let (Some(name), Some(value)) = (words.next(), words.next()) else { return };
        let number = || value.parse().unwrap_or(0);
        match name {
            "version" => value.clone_into(&mut self.version),
            "curr_items" => self.items = number(),
            "bytes" => self.used = number(),
            "limit_maxbytes" => self.cap = number(),
            _ => {}
        }
    }
}

/// Asks for its `stats`.
pub(super) fn look(address: &Address, timeout: Duration) -> Result<Told> {
    let mut connection = connect(address, timeout)?;
    connection.get_mut().write_all(b"stats\r\n")?;
    let mut told = Told::default();
    loop {
        let line = line(&mut connection)?;
        match line.split_whitespace().next() {
            Some("STAT") => told.note(&line),
            Some("END") => return Ok(told),
            _ => return Err(Error::other(format!("stats was answered by '{}'", line.escape_debug()))),
        }
    }
}

/// Deletes keys `0..keys` of ours by their names. How many were there.
pub(super) fn delete_own(address: &Address, keys: u64, timeout: Duration) -> Result<u64> {
    let mut connection = connect(address, timeout)?;
    let prefix = String::from_utf8_lossy(&address.key_prefix).into_owned();
    let mut deleted = 0;
    for from in (0..keys).step_by(BATCH as usize) {
        let batch = from..keys.min(from + BATCH);
        let requests: String =
            batch.clone().map(|index| format!("delete {prefix}key:{index:012}\r\n")).collect();
        connection.get_mut().write_all(requests.as_bytes())?;
        for _ in batch {
            match line(&mut connection)?.as_str() {
                "DELETED" => deleted += 1,
                "NOT_FOUND" => {}
                other => {
                    return Err(Error::other(format!("delete was answered by '{}'", other.escape_debug())));
                }
            }
        }
    }
    Ok(deleted)
}

/// Over whatever the load goes over: TCP, a Unix socket, TLS.
fn connect(address: &Address, timeout: Duration) -> Result<BufReader<Stream>> {
    let stream = Connector::new(address)?.connect(timeout)?;
    stream.set_timeout(timeout)?;
    Ok(BufReader::new(stream))
}

/// A line without its end.
fn line(connection: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if connection.read_line(&mut line)? == 0 {
        return Err(Error::new(ErrorKind::UnexpectedEof, "it closed the connection"));
    }
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that answers each line that comes by the next of these.
    fn serving(answers: &'static [&'static str]) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::tcp(listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = BufReader::new(stream);
            for answer in answers {
                line(&mut stream).unwrap();
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    const TIMEOUT: Duration = Duration::from_secs(5);

    #[test]
    fn what_it_holds_is_read_from_its_stats() {
        let stats = "STAT pid 7\r\nSTAT version 1.6.40\r\nSTAT curr_items 3\r\nSTAT bytes 200\r\n\
                     STAT limit_maxbytes 67108864\r\nEND\r\n";
        let told = look(&serving(Box::leak(Box::new([stats]))), TIMEOUT).unwrap();
        let expected = Told { version: "1.6.40".to_owned(), items: 3, used: 200, cap: 67_108_864 };
        assert_eq!(told, expected);
        let error = look(&serving(&["-ERR unknown command\r\n"]), TIMEOUT).unwrap_err();
        assert!(error.to_string().contains("unknown command"), "{error}");
    }

    #[test]
    fn one_behind_a_unix_socket_is_asked_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = BufReader::new(stream);
            line(&mut stream).unwrap();
            stream.get_mut().write_all(b"STAT curr_items 2\r\nEND\r\n").unwrap();
        });
        let address = Address::of(crate::load::client::Endpoint::Unix(path));
        assert_eq!(look(&address, TIMEOUT).unwrap().items, 2);
    }

    #[test]
    fn what_is_ours_is_deleted_by_name_and_counted() {
        let mut address = serving(&["DELETED\r\n", "NOT_FOUND\r\n", "DELETED\r\n"]);
        address.key_prefix = b"plumb:0123456789abcdef:".to_vec();
        assert_eq!(delete_own(&address, 3, TIMEOUT).unwrap(), 2);
    }
}
