//! How does a server answer? Replies: scalars and nested aggregates, in either protocol version.

pub(crate) mod compose;
pub(crate) mod parse;
pub(crate) mod scalar;

#[cfg(test)]
mod parse_test;
