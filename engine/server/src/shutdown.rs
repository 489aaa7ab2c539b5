//! How does the server learn that it should stop? SIGTERM and SIGINT become a byte on a socket the reactor watches.

use std::io;
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Becomes readable when the server is asked to stop. A signal handler may do little more than write a byte, and a
/// descriptor is something every back end can wait for.
pub(crate) fn stop_signal() -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGTERM, write.try_clone()?)?;
    signal_hook::low_level::pipe::register(SIGINT, write)?;
    Ok(read)
}
