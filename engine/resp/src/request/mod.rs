//! How does a client ask? Requests: arrays of bulk strings, or one inline line.

pub(crate) mod compose;
pub(crate) mod glance;
mod inline;
pub(crate) mod parse;
pub(crate) mod skip;

#[cfg(test)]
mod parse_test;
