//! How does the server learn that it should stop? SIGTERM and SIGINT become a byte on a socket the reactor watches, and a flag for `/readyz`.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Becomes readable when the server is asked to stop, after the flag is set. A signal handler may do little more than write a byte, and a
/// descriptor is something every back end can wait for.
pub(crate) fn stop_signal() -> io::Result<(UnixStream, Arc<AtomicBool>)> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    let stopping = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        // What is registered first happens first.
        signal_hook::flag::register(signal, Arc::clone(&stopping))?;
        signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
    }
    Ok((read, stopping))
}
