//! Does a target answer, in whatever it speaks? What it is asked until it is ready, and once to be verified.

use super::Protocol;
use crate::load::client::{Address, Client};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Asks once whether a target is ready.
pub(crate) fn answers(protocol: Protocol, address: &Address, timeout: Duration) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    if protocol == Protocol::Resp {
        return Client::connect(address, timeout).map(drop).map_err(|error| error.to_string());
    }
    let socket = socket(address)?;
    match protocol {
        Protocol::Resp => Ok(()),
        Protocol::Other => TcpStream::connect_timeout(&socket, timeout).map(drop).map_err(told),
        Protocol::Memcached => {
            let line = ask(socket, b"version\r\n", timeout).map_err(told)?;
            expect(&line, "VERSION ", "version")
        }
        Protocol::Http => {
            let line = ask(socket, &http_get(socket, "/"), timeout).map_err(told)?;
            expect(&line, "HTTP/1.1 ", "a GET")
        }
        Protocol::Postgres => {
            let bytes = ask(socket, &postgres_startup(), timeout).map_err(told)?;
            match bytes.first() {
                Some(b'R') => Ok(()),
                Some(b'E') => Err(postgres_error(&bytes)),
                _ => Err("a connection was not answered in PostgreSQL's protocol".to_owned()),
            }
        }
    }
}

/// Sets, reads and deletes a key, or reads what is served; the text names what was answered wrongly.
pub(crate) fn verify_foreign(
    protocol: Protocol,
    address: &Address,
    keeps_nothing: bool,
) -> Result<(), String> {
    const TIMEOUT: Duration = Duration::from_secs(5);
    let socket = socket(address)?;
    let told = |error: std::io::Error| error.to_string();
    match protocol {
        Protocol::Memcached => {
            for (request, reply) in [
                (&b"set verify 0 0 5\r\nplumb\r\n"[..], &b"STORED\r\n"[..]),
                (b"get verify\r\n", b"VALUE verify 0 5\r\nplumb\r\nEND\r\n"),
                (b"delete verify\r\n", b"DELETED\r\n"),
                (b"get verify\r\n", b"END\r\n"),
            ] {
                let got = ask(socket, request, TIMEOUT).map_err(told)?;
                if got != reply {
                    let words = |bytes: &[u8]| bytes.escape_ascii().to_string();
                    return Err(format!("'{}' was answered by '{}'", words(request), words(&got)));
                }
            }
            Ok(())
        }
        Protocol::Http => {
            let path = if keeps_nothing { "/" } else { "/key:000000000000" };
            let line = ask(socket, &http_get(socket, path), TIMEOUT).map_err(told)?;
            expect(&line, "HTTP/1.1 200 ", &format!("GET {path}"))
        }
        Protocol::Resp | Protocol::Postgres | Protocol::Other => answers(protocol, address, TIMEOUT),
    }
}

fn socket(address: &Address) -> Result<SocketAddr, String> {
    address.endpoint.socket().ok_or_else(|| format!("{} is no TCP socket", address.endpoint))
}

fn http_get(socket: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {socket}\r\nConnection: close\r\n\r\n").into_bytes()
}

/// `StartupMessage` of protocol 3.0: length, version, then names and values, each ended by a zero.
fn postgres_startup() -> Vec<u8> {
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    for word in ["user", "postgres", "database", "postgres", ""] {
        body.extend(word.as_bytes());
        body.push(0);
    }
    let length = body.len() as u32 + 4;
    [length.to_be_bytes().to_vec(), body].concat()
}

/// The message among the fields of an `ErrorResponse`.
fn postgres_error(bytes: &[u8]) -> String {
    let fields = bytes.get(5..).unwrap_or_default().split(|byte| *byte == 0);
    let message = fields.filter_map(|field| field.strip_prefix(b"M")).next().unwrap_or_default();
    String::from_utf8_lossy(message).into_owned()
}

/// One request, and the first piece of its answer.
fn ask(socket: SocketAddr, request: &[u8], timeout: Duration) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&socket, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    stream.set_nodelay(true)?;
    stream.write_all(request)?;
    let mut answer = vec![0; 4096];
    let count = stream.read(&mut answer)?;
    answer.truncate(count);
    Ok(answer)
}

fn expect(answer: &[u8], begin: &str, request: &str) -> Result<(), String> {
    if answer.starts_with(begin.as_bytes()) {
        return Ok(());
    }
    let line = answer.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or_default();
    Err(format!("{request} was answered by '{}'", line.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_is_greeted_in_its_protocol_and_its_error_is_read() {
        let message = postgres_startup();
        assert_eq!(message[..4], (message.len() as u32).to_be_bytes());
        assert_eq!(message[4..8], [0, 3, 0, 0]);
        let error = b"E\0\0\0\x50SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";
        assert_eq!(postgres_error(error), "the database system is starting up");
        assert_eq!(postgres_error(b"E"), "");
    }

    #[test]
    fn a_wrong_answer_is_shown_in_one_printable_line() {
        let error = expect(b"ERROR\x1b[2J\r\nmore", "VERSION ", "version").unwrap_err();
        assert_eq!(error, "version was answered by 'ERROR\\x1b[2J'");
    }
}
