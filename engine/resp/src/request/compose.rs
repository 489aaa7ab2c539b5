//! How does a client write a request? Always as an array of bulk strings, the form that carries any byte.

use crate::line::{push_bulk, push_head};

/// Appends one request made of `args` to `out`. Call it again for the next request of a pipeline.
pub fn compose(args: &[&[u8]], out: &mut Vec<u8>) {
    push_head(out, b'*', args.len());
    for arg in args {
        push_bulk(out, arg);
    }
}
