//! The request to stop: SIGTERM, SIGINT and SHUTDOWN become a byte on a socket that the reactor watches, and a flag for `/readyz`.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

/// How the server learns that it is to stop.
pub(crate) struct Stop {
    /// Becomes readable then, after the flag is set.
    pub(crate) signal: UnixStream,
    pub(crate) is_set: Arc<AtomicBool>,
    /// Its other end: a byte asks the server to stop.
    pub(crate) ask: UnixStream,
}

/// Catches the signals. A handler may do little more than write a byte, and a descriptor is something every back end can wait for.
pub(crate) fn stop() -> io::Result<Stop> {
    let (signal, ask) = UnixStream::pair()?;
    signal.set_nonblocking(true)?;
    let is_set = Arc::new(AtomicBool::new(false));
    for number in [SIGTERM, SIGINT] {
        // What is registered first happens first.
        signal_hook::flag::register(number, Arc::clone(&is_set))?;
        signal_hook::low_level::pipe::register(number, ask.try_clone()?)?;
    }
    Ok(Stop { signal, is_set, ask })
}
