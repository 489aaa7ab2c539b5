//! Is this reply the right one? Looks at every byte of it, in the target's protocol.

use super::request::{Asked, Protocol, Workload};
use super::values::Values;
use super::{http, memcached, resp};

pub use super::resp::describe;

/// What the bytes at the head of the input are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The right reply, so many bytes long.
    Right(usize),
    /// Not all of it is there yet.
    Incomplete,
    /// A write refused for lack of memory.
    Refused(usize, String),
    /// A read that did not find its key.
    Missed(usize),
    /// Anything else; the text says what.
    Wrong(usize, String),
    /// Not the protocol: nothing that follows can be read.
    Broken(String),
}

/// Judges the reply at the head of `input` to what was `asked`.
#[inline]
#[must_use]
pub fn judge(input: &[u8], asked: &Asked, values: &Values, workload: &Workload) -> Answer {
    match &workload.protocol {
        Protocol::Resp2 | Protocol::Resp3 => resp::judge(input, asked, values, workload.shape_only),
        Protocol::Memcached => {
            memcached::judge(input, asked, values, workload.shape_only, &workload.key_prefix)
        }
        Protocol::Http(_) => http::judge(input, asked, values, workload.shape_only),
        Protocol::Page(page) => page.judge(input),
    }
}

/// Part of what a target said, short enough for a reason and on one line.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
    text.escape_debug().to_string()
}
