//! Who moves bytes between sockets and sessions? A reactor, of which there are two: `uring` where the kernel lets us, `epoll` everywhere.
//!
//! A back end owns the sockets and the system calls. What is the same for each of them lives beside it:
//!
//! - [`admission`]: who may connect at all; [`placement`]: which thread serves them; [`peers`]: who is there
//! - [`connection`]: what one of them holds, and when it reads, executes, sends and ends; [`pending`] and [`pool`]: where its bytes wait
//! - [`turn`]: the replies between two waits; [`farewell`]: when sockets are closed
//! - [`patience`]: how a thread without work waits; [`courtesy`]: whether it takes the CPU from others when it wakes
//! - [`house`]: what is due now and then, whoever is connected

pub(crate) mod admission;
pub(crate) mod connection;
mod courtesy;
pub(crate) mod epoll;
mod farewell;
mod house;
mod patience;
mod peer;
mod peers;
pub(crate) mod pending;
mod placement;
pub(crate) mod pool;
mod turn;
pub(crate) mod uring;

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use plumbkv::NonBlocking;

use crate::listener::Listener;
use crate::shared::Shared;
pub(crate) use placement::Placement;

/// Something that serves connections until it is told to stop.
pub(crate) trait Reactor {
    /// Serves until the stop signal has come and every reply is sent, or [`DRAIN_LIMIT`] has passed since.
    fn run(&mut self, shared: &Shared) -> io::Result<()>;
}

/// Serves by `reactor`. With a durable store what would wait for the disk is handed to the workers: this thread waits for its sockets alone.
pub(crate) fn run(reactor: &mut dyn Reactor, shared: &Shared) -> io::Result<()> {
    let _nonblocking = shared.database.is_durable().then(NonBlocking::begin);
    reactor.run(shared)
}

/// Which reactor is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Io {
    /// io_uring where the kernel allows all that is needed of it, else epoll.
    Auto,
    Epoll,
    Uring,
}

impl std::str::FromStr for Io {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "epoll" => Ok(Self::Epoll),
            "uring" | "io_uring" => Ok(Self::Uring),
            _ => Err("expected auto, epoll or uring".to_owned()),
        }
    }
}

/// What one I/O thread is given.
pub(crate) struct Share {
    /// Its number; the first one, 0, accepts for all and keeps house.
    pub(crate) own: usize,
    pub(crate) placement: Arc<Placement>,
    /// Of the first thread.
    pub(crate) listeners: Vec<Listener>,
    /// Readable when the server is to stop; nobody reads it.
    pub(crate) stop: UnixStream,
    /// How long a thread without work asks for some before it sleeps.
    pub(crate) busy_poll: Duration,
}

/// Sets up the reactor that is wanted, and says what it is called, and, where `auto` could not have io_uring, why not. To be called on
/// the thread that runs it.
pub(crate) fn open(io: Io, share: Share) -> io::Result<(Box<dyn Reactor>, &'static str, Option<String>)> {
    let ring = match io {
        Io::Epoll => Err(None),
        Io::Uring => Ok(uring::Ring::new()?),
        Io::Auto => uring::Ring::new().map_err(|error| Some(error.to_string())),
    };
    Ok(match ring {
        Ok(ring) => (Box::new(uring::Uring::new(ring, share)?), "io_uring", None),
        Err(why) => (Box::new(epoll::Epoll::new(share)?), "epoll", why),
    })
}

/// Time between two looks at what a thread has of its own: idle connections, a pause that is over.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// How long replies may take to leave after the stop signal.
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_secs(5);
