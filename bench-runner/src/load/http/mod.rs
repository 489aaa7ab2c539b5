//! HTTP/1.1 under load: a GET per key on a kept connection, and its answer judged to the last byte.

use super::reply::Answer;
use super::request::Asked;
use super::values::{KEY_BYTES, Values, write_key};
use crate::plan::Operation;

/// Where documents are found on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What stands in the `Host` header.
    pub host: String,
    /// What the path begins with, before the key: `/documents/`.
    pub path_prefix: String,
}

/// Appends the request for the document of key `index`.
pub fn write(
    target: &Target,
    operation: Operation,
    index: u64,
    _length: u32,
    _values: &Values,
    out: &mut Vec<u8>,
) {
    debug_assert_eq!(operation, Operation::Get, "documents are only read");
    let mut key = [0; KEY_BYTES];
    write_key(index, &mut key);
    out.extend_from_slice(b"GET ");
    out.extend_from_slice(target.path_prefix.as_bytes());
    out.extend_from_slice(&key);
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(target.host.as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

/// Judges the response at the head of `input` to what was `asked`.
#[must_use]
pub fn judge(input: &[u8], asked: &Asked, values: &Values, shape_only: bool) -> Answer {
    let Some(head_end) = memchr::memmem::find(input, b"\r\n\r\n") else { return Answer::Incomplete };
    let (head, body) = (&input[..head_end], head_end + 4);
    let Ok(head) = std::str::from_utf8(head) else {
        return Answer::Broken("a response's head is no text".to_owned());
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") { value.trim().parse::<usize>().ok() } else { None }
    });
    let Some(length) = length else {
        return Answer::Broken("a response does not say its length".to_owned());
    };
    let used = body.saturating_add(length);
    let Some(bytes) = input.get(body..used) else { return Answer::Incomplete };
    match head.split(' ').nth(1) {
        Some("200")
            if length == asked.length as usize && (shape_only || values.is_right(asked.index, bytes)) =>
        {
            Answer::Right(used)
        }
        Some("200") => {
            Answer::Wrong(used, format!("GET of key {} gave other bytes than its own", asked.index))
        }
        Some("404") => Answer::Missed(used),
        Some(status) => {
            Answer::Wrong(used, format!("GET of key {} was answered by status {status}", asked.index))
        }
        None => Answer::Broken("a response has no status".to_owned()),
    }
}
