//! How are sockets served through io_uring? One receive per connection that stays armed, and one system call a turn: it
//! submits the sends of all connections and returns what has arrived meanwhile. [`accepting`] says how connections are accepted.
//!
//! The kernel takes a buffer of the ring whenever bytes arrive; they are executed where they lie. A receive can end at any time: its last
//! completion comes without `F_MORE`, with or without bytes, or with `ENOBUFS` when no buffer was left. Then it is armed again, or the connection would
//! hang. A connection's number is given away only when neither a receive nor a send of it is under way, so a completion always belongs to
//! the connection that its number stands for.
//!
//! Sends complete while they are submitted: what a socket does not take at once the kernel gives back, and only then is there a completion. So
//! all connections' replies of a turn lie in one buffer, which is used again after the submission. What was not taken is kept, and
//! leaves when the kernel says that the socket has room.

mod accepting;
mod ahead;
mod delivery;
mod draining;
mod errand;
mod of;
mod peer;
mod ring;
mod waiting;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

use io_uring::{cqueue, opcode, squeue, types};
use rustix::net::{Shutdown, shutdown};

pub(crate) use ring::Ring;

use super::connection::{Connection, RECEIVE_BYTES};
use super::courtesy::Courtesy;
use super::farewell::Farewell;
use super::house::House;
use super::patience::Patience;
use super::peer::{hang_up, no_memory};
use super::peers::Peers;
use super::placement::{Arrival, Placement};
use super::turn::Turn;
use super::{DRAIN_LIMIT, Reactor, Share, TICK};
use crate::session::Session;
use crate::shared::Shared;
use crate::warm::touched_room;
use accepting::Acceptor;
use of::Of;
use peer::{Peer, Receive};
use ring::GROUP;

/// Ticks between two looks at idle connections.
const TICKS_PER_SWEEP: u32 = 10;

/// An io_uring reactor with its sockets.
pub(crate) struct Uring {
    ring: Ring,
    own: usize,
    placement: Arc<Placement>,
    patience: Patience,
    courtesy: Courtesy,
    house: House,
    /// Connections that are still to be closed.
    farewell: Farewell<usize>,
    acceptor: Acceptor,
    stop: UnixStream,
    peers: Peers<Peer>,
    turn: Turn,
    /// Connections that something was completed for in this turn.
    touched: Vec<usize>,
    /// Connections with requests that wait for their next turn.
    ready: Vec<usize>,
    /// Completions that are not looked at yet.
    completions: VecDeque<cqueue::Entry>,
    /// For what is received at the end of a conversation.
    scratch: Vec<u8>,
    draining: bool,
    /// The last wait brought something.
    was_busy: bool,
    /// When a completion comes because something is due.
    alarm: Option<Instant>,
    ticks: u32,
    /// Connections that CLIENT KILL had ended at the last sweep.
    kills: u64,
    /// The pauses of all clients that were noticed.
    pauses: u64,
    #[cfg(feature = "injected-delay")]
    delay: crate::delay::Delay,
}

impl Uring {
    pub(crate) fn new(ring: Ring, share: Share) -> io::Result<Self> {
        let Share { own, placement, listeners, stop, busy_poll } = share;
        let courtesy = Courtesy::new(placement.threads());
        Ok(Self {
            ring,
            own,
            placement,
            patience: Patience::new(busy_poll),
            courtesy,
            house: House::new(own),
            farewell: Farewell::default(),
            acceptor: Acceptor::new(listeners)?,
            stop,
            peers: Peers::default(),
            turn: Turn::new(),
            touched: Vec::new(),
            ready: Vec::new(),
            completions: VecDeque::with_capacity(1024),
            scratch: touched_room(RECEIVE_BYTES),
            draining: false,
            was_busy: true,
            alarm: None,
            ticks: 0,
            kills: 0,
            pauses: 0,
            #[cfg(feature = "injected-delay")]
            delay: crate::delay::Delay::new(),
        })
    }

    /// Asks the kernel for something that points to no memory, or to replies that stay until the submission.
    fn push(&mut self, entry: squeue::Entry, of: Of) -> io::Result<()> {
        // SAFETY: receives write to no memory of this process but the ring's own buffers, and descriptors stay open until their
        // requests have ended; a send points to the turn's replies, which are left alone until it has been submitted, and then it is done.
        unsafe { self.ring.push(&entry.user_data(of.pack())) }
    }

    /// Serves a connection from now on.
    fn serve(&mut self, shared: &Shared, arrival: Arrival) -> io::Result<()> {
        let Arrival { socket, entry, counted, encryption } = arrival;
        let connection = Connection::new(Session::new(shared, entry), counted).encrypted(encryption);
        let slot = self.peers.insert(Peer::new(socket, connection));
        if let Some(peer) = self.peers.get(slot) {
            peer.connection.session().entry().record_place(self.own, slot);
            if self.ring.keep_file(slot, &peer.socket) {
                peer.kept = Some(slot as u32);
            }
        }
        self.arm_receive(slot)
    }

    fn arm_bell(&mut self) -> io::Result<()> {
        let bell = types::Fd(self.placement.bell(self.own).as_raw_fd());
        self.push(opcode::PollAdd::new(bell, libc::POLLIN as u32).build(), Of::Bell)
    }

    fn arrived(&mut self, shared: &Shared) -> io::Result<()> {
        for arrival in self.placement.arrivals(self.own) {
            self.serve(shared, arrival)?;
        }
        if let Some(workers) = &shared.workers {
            for done in workers.done(self.own) {
                self.done(shared, done)?;
            }
        }
        for push in shared.pushes.take(self.own) {
            self.push_message(shared, &push)?;
        }
        self.arm_bell()
    }

    fn arm_receive(&mut self, slot: usize) -> io::Result<()> {
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        peer.receive = Receive::Armed;
        let (fd, flags) = peer.file();
        self.push(opcode::RecvMulti::new(fd, GROUP).build().flags(flags), Of::Receive(slot))
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

    fn received(&mut self, shared: &Shared, slot: usize, completion: &cqueue::Entry) -> io::Result<()> {
        let (flags, result) = (completion.flags(), completion.result());
        let buffer = cqueue::buffer_select(flags);
        if buffer.is_some() && self.has_earlier_replies(slot) {
            self.deliver(shared)?;
        }
        let start = self.turn.replies.mark();
        if let Some(peer) = self.peers.get(slot) {
            if !cqueue::more(flags) {
                peer.receive = Receive::Idle;
            }
            if !peer.touched {
                peer.connection.begin_turn();
            }
            let Turn { replies, pool, .. } = &mut self.turn;
            if let (Some(buffer), Ok(length)) = (buffer, usize::try_from(result)) {
                shared.counters.input_bytes.add(length as u64);
                let bytes = self.ring.buffers.bytes(buffer, length);
                if peer.connection.hear(shared, pool, bytes, replies).is_err() {
                    no_memory();
                    peer.ending = true;
                }
            }
            match result {
                1.. => {}
                // The end of the stream: what was asked for is answered still.
                0 => peer.connection.desert(pool),
                _ if matches!(-result, libc::ENOBUFS | libc::ECANCELED | libc::EINTR) => {}
                _ => peer.ending = true,
            }
        }
        if let Some(buffer) = buffer {
            self.ring.buffers.give_back(buffer);
        }
        self.touch(slot);
        self.turn.add(slot, start);
        Ok(())
    }

    /// The socket takes more.
    fn has_room(&mut self, slot: usize) {
        let Some(peer) = self.peers.get(slot) else { return };
        peer.awaits_room = false;
        if !peer.ending && !peer.connection.flush(&mut self.turn.pool, &peer.socket) {
            peer.ending = true;
        }
        self.touch(slot);
    }

    /// Executes what was held back.
    fn resume(&mut self, shared: &Shared, slot: usize) -> io::Result<()> {
        if self.turn.is_full() || self.has_earlier_replies(slot) {
            self.deliver(shared)?;
        }
        let start = self.turn.replies.mark();
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        if !peer.touched {
            peer.connection.begin_turn();
        }
        if peer.connection.can_resume(shared) && !peer.ending {
            peer.connection.resume(shared, &mut self.turn.pool, &mut self.turn.replies);
        }
        self.touch(slot);
        self.turn.add(slot, start);
        Ok(())
    }

    /// Draws the conclusions of a turn: goes on receiving or stops it, ends what is over.
    fn settle(&mut self, shared: &Shared, slot: usize) -> io::Result<()> {
        let draining = self.draining;
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        peer.touched = false;
        if peer.leaving {
            return Ok(());
        }
        peer.ending |= peer.connection.is_finished();
        if peer.ending {
            return self.end(shared, slot);
        }
        peer.connection.report(shared);
        if peer.connection.has_errand() {
            self.hand_over(shared, slot);
        }
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        if peer.connection.wants_room() && !peer.awaits_room {
            peer.awaits_room = true;
            let (fd, flags) = peer.file();
            let poll = opcode::PollAdd::new(fd, libc::POLLOUT as u32).build().flags(flags);
            self.push(poll, Of::Room(slot))?;
        }
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        // A connection whose replies wait continues when the socket has room, or when its backlog is full.
        let connection = &peer.connection;
        if connection.must_resume(shared) || (connection.can_resume(shared) && !connection.is_waiting()) {
            self.ready.push(slot);
        }
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        match (peer.receive, peer.connection.wants_input(shared) && !draining) {
            (Receive::Idle, true) => self.arm_receive(slot),
            (Receive::Armed, false) => self.end_receive(slot),
            (Receive::Idle, false)
                if draining && !peer.connection.is_closing() && !peer.connection.has_errand() =>
            {
                self.drain(shared, slot)
            }
            _ => Ok(()),
        }
    }

    /// Ends a conversation: at once where the kernel has nothing more to do with it, else when it says so.
    fn end(&mut self, shared: &Shared, slot: usize) -> io::Result<()> {
        let Some(peer) = self.peers.get(slot).filter(|peer| !peer.leaving) else { return Ok(()) };
        if peer.is_quiet() {
            if !peer.connection.is_deserted() {
                hang_up(&peer.socket, &mut self.scratch);
            }
            peer.leaving = true;
            shared.clients.remove(peer.connection.session().entry().id);
            self.farewell.add(slot);
        } else if peer.awaits_room {
            // The socket is broken or the client is to go: what the kernel was asked for completes, and comes back here.
            let _ = shutdown(&peer.socket, Shutdown::Both);
        } else {
            // The replies are sent, so the client is told first that they are all; then the armed receive is ended.
            let _ = shutdown(&peer.socket, Shutdown::Write);
            self.end_receive(slot)?;
        }
        Ok(())
    }

    /// Closes so many of the connections that are over.
    fn close(&mut self, shared: &Shared, count: usize) {
        for _ in 0..count {
            let Some(slot) = self.farewell.next() else { return };
            let Some(mut peer) = self.peers.remove(slot) else { continue };
            if peer.kept.is_some() {
                self.ring.drop_file(slot);
            }
            peer.connection.release(shared, &mut self.turn.pool);
            self.placement.left(self.own);
        }
    }

    fn tick(&mut self, shared: &Shared, now: Instant) -> io::Result<()> {
        self.patience.tick();
        self.courtesy.tick(now);
        if !self.draining {
            self.arm_accept()?;
        }
        self.ticks = self.ticks.wrapping_add(1);
        let kills = shared.clients.kills();
        if self.ticks.is_multiple_of(TICKS_PER_SWEEP) || kills != self.kills {
            self.kills = kills;
            self.sweep(shared)?;
        }
        if shared.pause.has_ended(shared.clock_ms(), &mut self.pauses) {
            self.ready.extend(self.peers.numbers(|peer| peer.connection.can_resume(shared)));
        }
        Ok(())
    }

    /// Closes connections that have been silent for too long.
    fn sweep(&mut self, shared: &Shared) -> io::Result<()> {
        self.peers.give_back_memory(self.farewell.is_empty());
        for slot in 0..self.peers.slots.len() {
            let Some(peer) = self.peers.get(slot) else { continue };
            if let Some(reason) = peer.connection.overdue(shared) {
                tracing::debug!("closed a connection that {reason}");
                peer.ending = true;
                self.end(shared, slot)?;
            }
        }
        Ok(())
    }
}

impl Reactor for Uring {
    fn run(&mut self, shared: &Shared) -> io::Result<()> {
        self.arm_accept()?;
        let stop = types::Fd(self.stop.as_raw_fd());
        self.push(opcode::PollAdd::new(stop, libc::POLLIN as u32).build(), Of::Stop)?;
        self.arm_bell()?;
        let mut now = Instant::now();
        let mut next_tick = now + TICK;
        let mut drain_until: Option<Instant> = None;
        loop {
            // `now` is from the end of the last turn: one reading of the clock a turn is enough for a tick of 100 ms.
            let is_idle = self.ready.is_empty() && self.completions.is_empty() && self.farewell.is_empty();
            let due = self.house.or_earlier(next_tick);
            #[cfg(feature = "injected-delay")]
            let due = self.delay.or_earlier(due);
            self.set_alarm(now, due)?;
            // Setting it may have brought something.
            if is_idle && self.completions.is_empty() {
                self.wait(now, due)?;
            } else {
                self.was_busy = true;
                self.ring.submit(&mut self.completions)?;
            }
            shared.clock.refresh();
            self.gather(shared);
            #[cfg(feature = "injected-delay")]
            self.let_go();
            let mut stop = false;
            let mut ahead = 0usize;
            // Many replies leave before more are made; what has completed besides waits for the next turn.
            while !self.turn.is_full()
                && let Some(completion) = self.completions.pop_front()
            {
                if ahead == 0 {
                    ahead = self.look_ahead(shared, &completion);
                }
                ahead = ahead.saturating_sub(1);
                match Of::unpack(completion.user_data()) {
                    Of::Accept => self.accept(shared)?,
                    Of::Receive(slot) => self.received(shared, slot, &completion)?,
                    Of::Room(slot) => self.has_room(slot),
                    Of::Stop => stop = true,
                    Of::Bell => self.arrived(shared)?,
                    Of::Alarm => self.alarm = None,
                    Of::Send(_) | Of::Nothing => {}
                }
            }
            for slot in std::mem::take(&mut self.ready) {
                self.resume(shared, slot)?;
            }
            #[cfg(feature = "injected-delay")]
            self.delay.stretch();
            // One send per connection and turn, whatever number of receives completed in it.
            self.submit_replies(shared)?;
            let mut touched = std::mem::take(&mut self.touched);
            for slot in touched.drain(..) {
                self.settle(shared, slot)?;
            }
            // What was touched meanwhile is looked at in the next turn.
            if self.touched.is_empty() {
                self.touched = touched;
            }
            self.close(shared, self.farewell.share());
            now = Instant::now();
            if stop && drain_until.is_none() {
                drain_until = Some(now + DRAIN_LIMIT);
                self.begin_drain(shared)?;
            }
            self.house.keep(shared, now);
            if now >= next_tick {
                self.tick(shared, now)?;
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
