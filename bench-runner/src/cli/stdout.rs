//! Printing results, to a reader that may have seen enough: `bench-runner report | head` is no error.

use std::io::{ErrorKind, Write as _, stdout};

/// Prints a text that ends as it should.
pub(super) fn put(text: &str) -> anyhow::Result<()> {
    match stdout().lock().write_all(text.as_bytes()).and_then(|()| stdout().lock().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("writing to stdout"))
        }
        _ => Ok(()),
    }
}
