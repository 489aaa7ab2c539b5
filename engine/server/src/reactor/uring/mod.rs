//! How are sockets served through io_uring? One accept per listener and one receive per connection that stay armed, and one system call a turn: it
//! submits the sends of all connections and returns what has arrived meanwhile.
//!
//! The kernel takes a buffer of the ring whenever bytes arrive; they are executed where they lie. A receive can end at any time: its last
//! completion comes without `F_MORE`, with or without bytes, or with `ENOBUFS` when no buffer was left. Then it is armed again, or the connection would
//! hang. A connection's number is given away only when neither a receive nor a send of it is under way, so a completion always belongs to
//! the connection that its number stands for.
//!
//! Replies of a turn go into a buffer that changes hands with the kernel until they are sent; what is made meanwhile waits in the connection.

mod peer;
mod ring;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use io_uring::{cqueue, opcode, squeue, types};
use rustix::net::{RecvFlags, SendFlags, Shutdown, getpeername, recv, send, shutdown};

pub(crate) use ring::Ring;

use super::connection::{Connection, RECEIVE_BYTES};
use super::peer::hang_up;
use super::peers::Peers;
use super::{DRAIN_LIMIT, EXPIRY_BUDGET, MAINTENANCE_BUDGET, Reactor, TICK, admission};
use crate::listener::Listener;
use crate::session::Session;
use crate::shared::Shared;
use peer::{Peer, Receive};
use ring::GROUP;

/// Buffers for replies that are kept for the next turn, and how large they may be, in bytes.
const SPARE_BUFFERS: usize = 64;
const SPARE_BYTES: usize = 4096;

/// Receives per connection when draining: enough for any socket buffer, and an end for a client that never stops.
const DRAIN_RECEIVES: usize = 128;

/// Ticks between two looks at idle connections.
const TICKS_PER_SWEEP: u32 = 10;

/// An io_uring reactor with its sockets.
pub(crate) struct Uring {
    ring: Ring,
    listeners: Vec<Accepting>,
    stop: UnixStream,
    peers: Peers<Peer>,
    /// Buffers for replies that are not in use.
    spare: Vec<Vec<u8>>,
    /// Connections that something was completed for in this turn.
    touched: Vec<usize>,
    /// Connections whose sends were submitted at the end of the last turn: where they are not done by the end of this one, their buffers count.
    submitted: Vec<usize>,
    /// For what is received at the end of a conversation.
    scratch: Vec<u8>,
    draining: bool,
    ticks: u32,
}

struct Accepting {
    listener: Listener,
    is_armed: bool,
}

/// What a completion is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Accept(usize),
    Receive(usize),
    Send(usize),
    Stop,
    /// Something whose outcome does not matter.
    Nothing,
}

impl Of {
    fn pack(self) -> u64 {
        match self {
            Self::Accept(index) => (index as u64) << 3,
            Self::Receive(index) => (index as u64) << 3 | 1,
            Self::Send(index) => (index as u64) << 3 | 2,
            Self::Stop => 3,
            Self::Nothing => 4,
        }
    }

    fn unpack(data: u64) -> Self {
        let index = (data >> 3) as usize;
        match data & 7 {
            0 => Self::Accept(index),
            1 => Self::Receive(index),
            2 => Self::Send(index),
            3 => Self::Stop,
            _ => Self::Nothing,
        }
    }
}

impl Uring {
    pub(crate) fn new(ring: Ring, listeners: Vec<Listener>, stop: UnixStream) -> Self {
        let listeners =
            listeners.into_iter().map(|listener| Accepting { listener, is_armed: false }).collect();
        Self {
            ring,
            listeners,
            stop,
            peers: Peers::default(),
            spare: Vec::with_capacity(SPARE_BUFFERS),
            touched: Vec::new(),
            submitted: Vec::new(),
            scratch: Vec::with_capacity(RECEIVE_BYTES),
            draining: false,
            ticks: 0,
        }
    }

    /// Asks the kernel for something that points to no memory, or to memory as [`push_send`](Self::push_send) says.
    fn push(&mut self, entry: squeue::Entry, of: Of) -> io::Result<()> {
        // SAFETY: receives and accepts write to no memory of this process but the ring's own buffers, and descriptors stay open until their
        // requests have ended; a send points to `sending`, which is left alone until then.
        unsafe { self.ring.push(&entry.user_data(of.pack())) }
    }

    fn arm_accepts(&mut self) -> io::Result<()> {
        for index in 0..self.listeners.len() {
            if !self.listeners[index].is_armed {
                let fd = types::Fd(self.listeners[index].listener.socket.as_raw_fd());
                self.push(opcode::AcceptMulti::new(fd).flags(libc::SOCK_CLOEXEC).build(), Of::Accept(index))?;
                self.listeners[index].is_armed = true;
            }
        }
        Ok(())
    }

    fn accepted(&mut self, shared: &Shared, index: usize, completion: &cqueue::Entry) -> io::Result<()> {
        if let Some(accepting) = self.listeners.get_mut(index) {
            accepting.is_armed = cqueue::more(completion.flags());
        }
        let result = completion.result();
        if result >= 0 {
            // SAFETY: a successful accept completes with a new descriptor, which nobody else knows.
            let socket = unsafe { OwnedFd::from_raw_fd(result) };
            self.admit(shared, index, socket)?;
        } else if !matches!(
            -result,
            libc::ECONNABORTED | libc::EINTR | libc::EPROTO | libc::EAGAIN | libc::ECANCELED
        ) {
            let message = io::Error::from_raw_os_error(-result);
            let wait = TICK.as_millis();
            let advice = "raise `ulimit -n` or lower --maxclients";
            tracing::warn!("cannot accept a connection: {message}; trying again in {wait} ms ({advice})");
            // The next tick arms it again.
            return Ok(());
        }
        if self.draining { Ok(()) } else { self.arm_accepts() }
    }

    fn admit(&mut self, shared: &Shared, index: usize, socket: OwnedFd) -> io::Result<()> {
        let peer = getpeername(&socket).ok().flatten().and_then(|address| SocketAddr::try_from(address).ok());
        shared.counters.connections.add(1);
        if let Some(text) = admission::refusal(shared, peer) {
            shared.counters.rejected.add(1);
            // The socket buffer of a new connection has room; if not, closing says enough.
            let _ = send(&socket, text.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            hang_up(&socket, &mut self.scratch);
            return Ok(());
        }
        let Some(accepting) = self.listeners.get(index) else { return Ok(()) };
        let (peer, local) = accepting.listener.names(&socket, peer);
        tracing::debug!("{peer} connected");
        let entry = shared.clients.add(peer, local, socket.as_raw_fd(), shared.clock_ms());
        let slot = self.peers.insert(Peer::new(
            socket,
            Connection::new(Session::new(shared, entry), admission::count(shared)),
        ));
        self.arm_receive(slot)
    }

    fn arm_receive(&mut self, slot: usize) -> io::Result<()> {
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        peer.receive = Receive::Armed;
        let fd = types::Fd(peer.socket.as_raw_fd());
        self.push(opcode::RecvMulti::new(fd, GROUP).build(), Of::Receive(slot))
    }

    fn end_receive(&mut self, slot: usize) -> io::Result<()> {
        let Some(peer) = self.peers.get(slot).filter(|peer| peer.receive == Receive::Armed) else {
            return Ok(());
        };
        peer.receive = Receive::Ending;
        self.push(opcode::AsyncCancel::new(Of::Receive(slot).pack()).build(), Of::Nothing)
    }

    fn touch(&mut self, slot: usize) {
        if let Some(peer) = self.peers.get(slot)
            && !peer.touched
        {
            peer.touched = true;
            self.touched.push(slot);
        }
    }

    fn received(&mut self, shared: &Shared, slot: usize, completion: &cqueue::Entry) {
        let (flags, result) = (completion.flags(), completion.result());
        let buffer = cqueue::buffer_select(flags);
        if let Some(peer) = self.peers.get(slot) {
            if !cqueue::more(flags) {
                peer.receive = Receive::Idle;
            }
            if let (Some(buffer), Ok(length)) = (buffer, usize::try_from(result)) {
                shared.counters.input_bytes.add(length as u64);
                let bytes = self.ring.buffers.bytes(buffer, length);
                hear(shared, peer, &mut self.spare, bytes);
            }
            match result {
                1.. => {}
                // The end of the stream: what was asked for is answered still.
                0 => peer.connection.finish(),
                _ if matches!(-result, libc::ENOBUFS | libc::ECANCELED | libc::EINTR) => {}
                _ => peer.ending = true,
            }
        }
        if let Some(buffer) = buffer {
            self.ring.buffers.give_back(buffer);
        }
        self.touch(slot);
    }

    fn sent(&mut self, slot: usize, completion: &cqueue::Entry) {
        let Some(peer) = self.peers.get(slot) else { return };
        peer.send_armed = false;
        match usize::try_from(completion.result()) {
            Ok(count) => peer.sent += count,
            Err(_) if -completion.result() == libc::EINTR => {}
            Err(_) => peer.ending = true,
        }
        self.touch(slot);
    }

    /// Draws the conclusions of a turn: sends what waits, goes on receiving or stops it, ends what is over.
    fn settle(&mut self, shared: &Shared, slot: usize) -> io::Result<()> {
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        peer.touched = false;
        if !peer.send_armed && !peer.ending {
            if peer.rest().is_empty() {
                let mut buffer = std::mem::take(&mut peer.sending);
                buffer.clear();
                peer.sent = 0;
                peer.connection.set_in_flight(0);
                peer.connection.take_output(&mut buffer);
                if buffer.is_empty() && peer.connection.can_resume() {
                    peer.connection.resume(shared, &mut buffer);
                }
                if buffer.is_empty() {
                    recycle(&mut self.spare, buffer);
                } else {
                    peer.sending = buffer;
                }
            }
            let rest = peer.rest();
            if rest.is_empty() {
                peer.ending |= peer.connection.is_finished();
            } else {
                let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
                let fd = types::Fd(peer.socket.as_raw_fd());
                let entry = opcode::Send::new(fd, rest.as_ptr(), length)
                    .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL);
                let waiting = rest.len();
                peer.connection.set_in_flight(waiting);
                peer.send_armed = true;
                self.submitted.push(slot);
                self.push(entry.build(), Of::Send(slot))?;
            }
        }
        let draining = self.draining;
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        if peer.ending {
            return self.end(shared, slot);
        }
        peer.connection.report(shared);
        match (peer.receive, peer.connection.wants_input() && !draining) {
            (Receive::Idle, true) => self.arm_receive(slot),
            (Receive::Armed, false) => self.end_receive(slot),
            (Receive::Idle, false) if draining && !peer.connection.is_closing() => self.drain(shared, slot),
            _ => Ok(()),
        }
    }

    /// Ends a conversation: at once where the kernel has nothing more to do with it, else when it says so.
    fn end(&mut self, shared: &Shared, slot: usize) -> io::Result<()> {
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        if peer.is_quiet() {
            hang_up(&peer.socket, &mut self.scratch);
            self.forget(shared, slot);
        } else if peer.send_armed {
            // The socket is broken or the client is to go: both requests complete, and come back here.
            let _ = shutdown(&peer.socket, Shutdown::Both);
        } else {
            // The replies are sent, so the client is told first that they are all; then the armed receive is ended.
            let _ = shutdown(&peer.socket, Shutdown::Write);
            self.end_receive(slot)?;
        }
        Ok(())
    }

    fn forget(&mut self, shared: &Shared, slot: usize) {
        if let Some(peer) = self.peers.remove(slot) {
            let counted = peer.connection.counted();
            shared.clients.remove(peer.connection.session().entry().id);
            drop(peer);
            shared.client_memory.give_back(&shared.database, counted);
        }
    }

    /// Counts the buffers of those whose replies did not leave at once.
    fn count_waiting(&mut self, shared: &Shared, before: usize) {
        for slot in self.submitted.drain(..before) {
            let Some(peer) = self.peers.get(slot) else { continue };
            let in_flight = if peer.send_armed { peer.sending.capacity() } else { 0 };
            peer.connection.count_memory(shared, in_flight);
        }
    }

    fn tick(&mut self, shared: &Shared) -> io::Result<()> {
        shared.database.expire_cycle(EXPIRY_BUDGET);
        shared.database.maintain(MAINTENANCE_BUDGET);
        shared.sample();
        if !self.draining {
            self.arm_accepts()?;
        }
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.is_multiple_of(TICKS_PER_SWEEP) {
            self.sweep(shared)?;
        }
        Ok(())
    }

    /// Closes connections that have been silent for too long, and trims the buffers of those that pause.
    fn sweep(&mut self, shared: &Shared) -> io::Result<()> {
        let timeout_ms = shared.settings.timeout_seconds().saturating_mul(1000);
        let now_ms = shared.clock_ms();
        for slot in 0..self.peers.slots.len() {
            let Some(peer) = self.peers.get(slot) else { continue };
            let idle_ms = now_ms.saturating_sub(peer.connection.session().entry().last_active_ms());
            if timeout_ms > 0 && idle_ms > timeout_ms {
                tracing::debug!("closing a connection idle for {idle_ms} ms");
                peer.ending = true;
                self.end(shared, slot)?;
            } else if idle_ms > 2000 {
                peer.connection.release_memory();
                let in_flight = if peer.send_armed { peer.sending.capacity() } else { 0 };
                peer.connection.count_memory(shared, in_flight);
            }
        }
        Ok(())
    }

    /// Stops accepting, executes what clients have sent so far, and lets no further request in.
    fn begin_drain(&mut self, shared: &Shared) -> io::Result<()> {
        self.draining = true;
        for index in 0..self.listeners.len() {
            self.push(opcode::AsyncCancel::new(Of::Accept(index).pack()).build(), Of::Nothing)?;
        }
        for slot in 0..self.peers.slots.len() {
            self.settle(shared, slot)?;
        }
        Ok(())
    }

    /// Executes what a client has sent that no receive has taken, and lets nothing further in.
    fn drain(&mut self, shared: &Shared, slot: usize) -> io::Result<()> {
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        for _ in 0..DRAIN_RECEIVES {
            self.scratch.clear();
            let received =
                recv(&peer.socket, rustix::buffer::spare_capacity(&mut self.scratch), RecvFlags::DONTWAIT);
            if !matches!(received, Ok((_, 1..))) {
                break;
            }
            hear(shared, peer, &mut self.spare, &self.scratch);
        }
        peer.connection.finish();
        self.settle(shared, slot)
    }
}

/// Executes what has arrived. Replies go to the buffer that is sent next, or behind what waits while another is being sent.
fn hear(shared: &Shared, peer: &mut Peer, spare: &mut Vec<Vec<u8>>, bytes: &[u8]) {
    let heard = if peer.send_armed || peer.sent > 0 {
        peer.connection.hear(shared, bytes, None)
    } else {
        if peer.sending.capacity() == 0 {
            peer.sending = spare.pop().unwrap_or_default();
        }
        let heard = peer.connection.hear(shared, bytes, Some(&mut peer.sending));
        peer.connection.set_in_flight(peer.sending.len());
        heard
    };
    if !heard {
        tracing::warn!("no memory for a request; its connection is closed");
        peer.connection.refuse();
    }
}

/// Keeps a buffer for the next replies, if it is small and there are not many.
fn recycle(spare: &mut Vec<Vec<u8>>, mut buffer: Vec<u8>) {
    if spare.len() < SPARE_BUFFERS && (1..=SPARE_BYTES).contains(&buffer.capacity()) {
        buffer.clear();
        spare.push(buffer);
    }
}

impl Reactor for Uring {
    fn run(&mut self, shared: &Shared) -> io::Result<()> {
        self.arm_accepts()?;
        let stop = types::Fd(self.stop.as_raw_fd());
        self.push(opcode::PollAdd::new(stop, libc::POLLIN as u32).build(), Of::Stop)?;
        let mut completions = Vec::with_capacity(1024);
        let mut now = Instant::now();
        let mut next_tick = now + TICK;
        let mut drain_until: Option<Instant> = None;
        #[cfg(feature = "injected-delay")]
        let mut delay = crate::delay::Delay::new();
        loop {
            // `now` is from the end of the last turn: one reading of the clock a turn is enough for a tick of 100 ms.
            self.ring.wait(
                next_tick.saturating_duration_since(now).max(Duration::from_micros(1)),
                &mut completions,
            )?;
            shared.clock.refresh();
            let submitted = self.submitted.len();
            let mut stop = false;
            for completion in completions.drain(..) {
                match Of::unpack(completion.user_data()) {
                    Of::Accept(index) => self.accepted(shared, index, &completion)?,
                    Of::Receive(slot) => self.received(shared, slot, &completion),
                    Of::Send(slot) => self.sent(slot, &completion),
                    Of::Stop => stop = true,
                    Of::Nothing => {}
                }
            }
            #[cfg(feature = "injected-delay")]
            delay.stretch();
            self.count_waiting(shared, submitted);
            // One send per connection and turn, whatever number of receives completed in it.
            let mut touched = std::mem::take(&mut self.touched);
            for slot in touched.drain(..) {
                self.settle(shared, slot)?;
            }
            self.touched = touched;
            now = Instant::now();
            if stop && drain_until.is_none() {
                drain_until = Some(now + DRAIN_LIMIT);
                self.begin_drain(shared)?;
            }
            if now >= next_tick {
                self.tick(shared)?;
                next_tick = now + TICK;
            }
            if let Some(end) = drain_until {
                // The port is free for the next server once no accept holds it.
                let left =
                    self.peers.len() + self.listeners.iter().filter(|accepting| accepting.is_armed).count();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_names_what_it_is_of() {
        for of in [
            Of::Accept(1),
            Of::Receive(0),
            Of::Send(0),
            Of::Receive(70_000),
            Of::Send(70_000),
            Of::Stop,
            Of::Nothing,
        ] {
            assert_eq!(Of::unpack(of.pack()), of);
        }
    }
}
