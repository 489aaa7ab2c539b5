//! Who moves bytes between sockets and sessions? A reactor; `epoll` is the first back end of this trait.
//!
//! A back end owns the sockets and the system calls. What is the same for each of them lives beside it:
//! [`connection`] holds the buffers and decides when to read, execute, send and close, and
//! [`admission`] decides who may connect at all.

pub(crate) mod admission;
pub(crate) mod connection;
pub(crate) mod epoll;
mod peer;

use std::io;
use std::time::Duration;

use crate::shared::Shared;

/// Something that serves connections until it is told to stop.
pub(crate) trait Reactor {
    /// Serves until the stop signal has come and every reply is sent, or [`DRAIN_LIMIT`] has passed since.
    fn run(&mut self, shared: &Shared) -> io::Result<()>;
}

/// Time between two rounds of active expiry and other housekeeping.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// What active expiry may take of each tick: under heavy expiry a quarter of it, as in Redis.
pub(crate) const EXPIRY_BUDGET: Duration = Duration::from_millis(25);

/// How long replies may take to leave after the stop signal.
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_secs(5);
