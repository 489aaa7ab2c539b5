//! How are sockets served through epoll? Level-triggered, one thread, non-blocking; one receive and one send per
//! connection and turn, so that a pipelined batch costs two system calls and no client can hold up the others.
//!
//! Small replies of a turn are sent together after the last of its requests: the first send wakes a sleeping client,
//! and the following ones find it awake. Sent one by one between the requests, each of them would pay for a wake-up.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketFlags, acceptfrom_with, send};
use rustix::time::Timespec;

use super::connection::{Buffers, Connection};
use super::peer::{Peer, Turn, hang_up};
use super::peers::Peers;
use super::{DRAIN_LIMIT, EXPIRY_BUDGET, MAINTENANCE_BUDGET, Reactor, TICK, admission};
use crate::listener::Listener;
use crate::session::Session;
use crate::shared::Shared;

/// Event numbers: connections count from 0, listeners from here, the stop signal last.
const LISTENERS: u64 = 1 << 32;
const STOP: u64 = u64::MAX;

/// Events taken from the kernel at once.
const EVENTS: usize = 512;

/// Replies of one connection up to this many bytes wait for the end of the turn; longer ones leave at once.
const DEFERRED_REPLY_BYTES: usize = 16 << 10;

/// Replies that wait leave when they are this many bytes together, whether the turn has ended or not.
const DEFERRED_BYTES: usize = 64 << 10;

/// Replies that wait leave when they are of this many connections, so that clients and server work side by side.
const DEFERRED_CONNECTIONS: usize = 64;

/// Connections accepted in one go, so that a storm of them leaves the served ones their turn.
const ACCEPTS: usize = 256;

/// Receives per connection when draining: enough for any socket buffer, and an end for a client that never stops.
const DRAIN_RECEIVES: usize = 128;

/// Ticks between two looks at idle connections.
const TICKS_PER_SWEEP: u32 = 10;

/// An epoll reactor with its sockets.
pub(crate) struct Epoll {
    poll: OwnedFd,
    listeners: Vec<Listener>,
    stop: UnixStream,
    peers: Peers<Peer>,
    buffers: Buffers,
    /// Replies that wait for the end of the turn.
    deferred: Deferred,
    /// Connections whose requests are here already and wait only for their turn.
    ready: Vec<usize>,
    /// Accepting stopped for want of file descriptors, until the next tick.
    accept_paused: bool,
    ticks: u32,
}

/// Replies of several connections, one behind the other.
#[derive(Default)]
struct Deferred {
    bytes: Vec<u8>,
    /// Whose they are, and where they end.
    parts: Vec<(usize, usize)>,
}

impl Epoll {
    /// Registers the listeners and the stop signal.
    pub(crate) fn new(listeners: Vec<Listener>, stop: UnixStream) -> io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, listener) in listeners.iter().enumerate() {
            epoll::add(
                &poll,
                &listener.socket,
                EventData::new_u64(LISTENERS + index as u64),
                EventFlags::IN,
            )?;
        }
        epoll::add(&poll, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        Ok(Self {
            poll,
            listeners,
            stop,
            peers: Peers::default(),
            buffers: Buffers::new(),
            deferred: Deferred::default(),
            ready: Vec::new(),
            accept_paused: false,
            ticks: 0,
        })
    }

    fn accept(&mut self, shared: &Shared, index: usize) {
        for _ in 0..ACCEPTS {
            let Some(listener) = self.listeners.get(index) else { return };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let (socket, address) = match acceptfrom_with(&listener.socket, flags) {
                Ok(accepted) => accepted,
                Err(Errno::AGAIN) => return,
                // The peer gave up between connecting and being accepted, or a signal came.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => continue,
                Err(error) => {
                    let message = io::Error::from(error);
                    tracing::warn!(
                        "cannot accept a connection: {message}; trying again in {} ms (raise `ulimit -n` or \
                             lower --maxclients)",
                        TICK.as_millis()
                    );
                    return self.pause_accepting();
                }
            };
            let peer = address.and_then(|address| SocketAddr::try_from(address).ok());
            shared.counters.connections.add(1);
            if let Some(text) = admission::refusal(shared, peer) {
                shared.counters.rejected.add(1);
                // The socket buffer of a new connection has room; if not, closing says enough.
                let _ = send(&socket, text.as_bytes(), SendFlags::NOSIGNAL);
                hang_up(&socket, &mut self.buffers.input);
                continue;
            }
            let (peer, local) = listener.names(&socket, peer);
            if let Err(error) = self.admit(shared, socket, peer, local) {
                tracing::warn!("cannot watch a new connection: {error}");
            }
        }
    }

    fn admit(&mut self, shared: &Shared, socket: OwnedFd, peer: String, local: String) -> io::Result<()> {
        tracing::debug!("{peer} connected");
        let entry = shared.clients.add(peer, local, socket.as_raw_fd(), shared.clock_ms());
        let connection = Connection::new(Session::new(shared, entry), admission::count(shared));
        let interest = EventFlags::IN;
        let index = self.peers.insert(Peer { socket, connection, interest });
        let added = match self.peers.get(index) {
            Some(peer) => epoll::add(&self.poll, &peer.socket, EventData::new_u64(index as u64), interest),
            None => Ok(()),
        };
        if added.is_err() {
            self.forget(shared, index);
        }
        Ok(added?)
    }

    /// Gives one connection its turn, but for small replies, which wait for [`deliver`](Self::deliver); true if
    /// something was received.
    fn serve(&mut self, shared: &Shared, index: usize) -> bool {
        let Some(peer) = self.peers.get(index) else { return false };
        let Ok(received) = peer.work(shared, &mut self.buffers) else {
            self.forget(shared, index);
            return false;
        };
        let replies = self.buffers.output.len();
        if (1..=DEFERRED_REPLY_BYTES).contains(&replies) {
            self.deferred.bytes.append(&mut self.buffers.output);
            self.deferred.parts.push((index, self.deferred.bytes.len()));
            if self.deferred.bytes.len() >= DEFERRED_BYTES
                || self.deferred.parts.len() >= DEFERRED_CONNECTIONS
            {
                self.deliver(shared);
            }
        } else {
            let turn = peer.send_output(&mut self.buffers);
            self.settle(shared, index, turn);
        }
        received
    }

    /// Sends the replies that wait.
    fn deliver(&mut self, shared: &Shared) {
        let mut deferred = std::mem::take(&mut self.deferred);
        let mut start = 0;
        for (index, end) in deferred.parts.drain(..) {
            if let Some(peer) = self.peers.get(index) {
                let turn = peer.send_replies(&deferred.bytes[start..end]);
                self.settle(shared, index, turn);
            }
            start = end;
        }
        deferred.bytes.clear();
        self.deferred = deferred;
    }

    /// Draws the conclusions of a turn.
    fn settle(&mut self, shared: &Shared, index: usize, turn: Turn) {
        let Some(peer) = self.peers.get(index) else { return };
        match turn {
            Turn::Finished => hang_up(&peer.socket, &mut self.buffers.input),
            Turn::Broken => {}
            Turn::Wait | Turn::Ready => {
                peer.connection.report(shared);
                peer.connection.count_memory(shared, 0);
                if let Err(error) = peer.watch(&self.poll, index) {
                    tracing::warn!("cannot watch a connection: {error}");
                    return self.forget(shared, index);
                }
            }
        }
        match turn {
            Turn::Ready => self.ready.push(index),
            Turn::Finished | Turn::Broken => self.forget(shared, index),
            Turn::Wait => {}
        }
    }

    fn forget(&mut self, shared: &Shared, index: usize) {
        // Closing the only descriptor of a socket takes it out of the epoll set.
        if let Some(peer) = self.peers.remove(index) {
            let counted = peer.connection.counted();
            shared.clients.remove(peer.connection.session().entry().id);
            drop(peer);
            shared.client_memory.give_back(&shared.database, counted);
        }
    }

    fn pause_accepting(&mut self) {
        self.watch_listeners(EventFlags::empty());
        self.accept_paused = true;
    }

    fn watch_listeners(&mut self, interest: EventFlags) {
        for (index, listener) in self.listeners.iter().enumerate() {
            let data = EventData::new_u64(LISTENERS + index as u64);
            if let Err(error) = epoll::modify(&self.poll, &listener.socket, data, interest) {
                tracing::error!("cannot watch {}: {error}", listener.address);
            }
        }
    }

    fn tick(&mut self, shared: &Shared) {
        shared.database.expire_cycle(EXPIRY_BUDGET);
        shared.database.maintain(MAINTENANCE_BUDGET);
        shared.sample();
        if self.accept_paused {
            self.accept_paused = false;
            self.watch_listeners(EventFlags::IN);
        }
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.is_multiple_of(TICKS_PER_SWEEP) {
            self.sweep(shared);
        }
    }

    /// Closes connections that have been silent for too long, and trims the buffers of those that pause.
    fn sweep(&mut self, shared: &Shared) {
        let timeout_ms = shared.settings.timeout_seconds().saturating_mul(1000);
        let now_ms = shared.clock_ms();
        for index in 0..self.peers.slots.len() {
            let Some(peer) = self.peers.get(index) else { continue };
            let idle_ms = now_ms.saturating_sub(peer.connection.session().entry().last_active_ms());
            if timeout_ms > 0 && idle_ms > timeout_ms {
                tracing::debug!("closing a connection idle for {idle_ms} ms");
                self.forget(shared, index);
            } else if idle_ms > 2000 {
                peer.connection.release_memory();
                peer.connection.count_memory(shared, 0);
            }
        }
    }

    /// Stops accepting, executes what clients have sent so far, and lets no further request in.
    fn begin_drain(&mut self, shared: &Shared) {
        // Dropping a listener closes it, and unlinks a Unix socket's file.
        self.listeners.clear();
        for index in 0..self.peers.slots.len() {
            for _ in 0..DRAIN_RECEIVES {
                let received = self.serve(shared, index);
                self.deliver(shared);
                if !received {
                    break;
                }
            }
            if let Some(peer) = self.peers.get(index) {
                peer.connection.finish();
                self.serve(shared, index);
                self.deliver(shared);
            }
        }
    }

    fn wait(&self, events: &mut Vec<epoll::Event>, timeout: Duration) -> io::Result<()> {
        events.clear();
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        match epoll::wait(&self.poll, spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Reactor for Epoll {
    fn run(&mut self, shared: &Shared) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut now = Instant::now();
        let mut next_tick = now + TICK;
        let mut drain_until: Option<Instant> = None;
        #[cfg(feature = "injected-delay")]
        let mut delay = crate::delay::Delay::new();
        loop {
            // `now` is from the end of the last turn: one reading of the clock a turn is enough for a tick of 100 ms.
            let patience = next_tick.saturating_duration_since(now);
            self.wait(&mut events, if self.ready.is_empty() { patience } else { Duration::ZERO })?;
            shared.clock.refresh();
            let mut stop = false;
            for event in &events {
                match event.data.u64() {
                    STOP => stop = true,
                    number if number >= LISTENERS => self.accept(shared, (number - LISTENERS) as usize),
                    number => {
                        self.serve(shared, number as usize);
                    }
                }
            }
            #[cfg(feature = "injected-delay")]
            delay.stretch();
            // Which of them are ready again is known only when their replies are sent.
            let ready = std::mem::take(&mut self.ready);
            self.deliver(shared);
            for index in ready {
                self.serve(shared, index);
            }
            self.deliver(shared);
            now = Instant::now();
            if stop && drain_until.is_none() {
                epoll::delete(&self.poll, &self.stop)?;
                drain_until = Some(now + DRAIN_LIMIT);
                self.begin_drain(shared);
            }
            if now >= next_tick {
                self.tick(shared);
                next_tick = now + TICK;
            }
            if let Some(end) = drain_until {
                let left = self.peers.len();
                if left > 0 && now >= end {
                    tracing::warn!("{left} connections closed before their replies were taken");
                }
                if left == 0 || now >= end {
                    return Ok(());
                }
            }
        }
    }
}
