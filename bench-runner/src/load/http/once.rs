//! Requests that are sent once, outside the time that counts: those that create what documents are loaded into.

use super::reply::read;
use crate::load::address::Address;
use crate::load::stream::Connector;
use std::io::{Read as _, Write as _};
use std::time::Duration;

/// Longest answer, bytes.
const ANSWER_MAX: usize = 1 << 20;

/// Sends a request with a body of JSON, and waits for an answer with a status from 200 to 299.
///
/// # Errors
/// No connection or no answer within `timeout`, or another status: then with the body, which says why.
pub fn send(
    address: &Address,
    (method, path, body): (&str, &str, &str),
    timeout: Duration,
) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{method} {path} at {}: {error}", address.endpoint);
    let mut stream =
        Connector::new(address).and_then(|connector| connector.connect(timeout)).map_err(told)?;
    let (host, length) = (&address.endpoint, body.len());
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body.as_bytes()))
        .and_then(|()| stream.flush())
        .map_err(told)?;
    let (mut input, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        if let Some(reply) = read(&input).map_err(|why| format!("{method} {path} was answered by {why}"))? {
            if (200..300).contains(&reply.code) {
                return Ok(());
            }
            let (code, text) = (reply.code, String::from_utf8_lossy(&reply.body));
            return Err(format!("{method} {path} was answered by status {code}: {text}"));
        }
        let count = stream.read(&mut piece).map_err(told)?;
        if count == 0 || input.len() > ANSWER_MAX {
            return Err(format!("{method} {path} was not answered to its end"));
        }
        input.extend_from_slice(&piece[..count]);
    }
}
