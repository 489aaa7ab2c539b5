//! How are sockets served through epoll? Level-triggered, one thread, non-blocking; one receive and one send per
//! connection and turn, so that a pipelined batch costs two system calls and no client can hold up the others.
//!
//! Small replies of a turn are sent together after the last of its requests: the first send wakes a sleeping client,
//! and the following ones find it awake. Sent one by one between the requests, each of them would pay for a wake-up.

mod errand;
mod together;

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use plumbkv::PREFETCHED_KEYS;

use super::connection::{Connection, RECEIVE_BYTES};
use super::courtesy::Courtesy;
use super::farewell::Farewell;
use super::house::House;
use super::patience::Patience;
use super::peer::{Peer, hang_up, no_memory};
use super::peers::Peers;
use super::pending::send_replies;
use super::placement::{Arrival, Placement};
use super::turn::Turn;
use super::{DRAIN_LIMIT, Reactor, Share, TICK, admission};
use crate::listener::Listener;
use crate::replies::Mark;
use crate::session::Session;
use crate::shared::Shared;
use errand::is_gone;

/// Event numbers: connections count from 0, listeners from here, the bell for arrivals and the stop signal last.
const LISTENERS: u64 = 1 << 32;
const STOP: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
const ALARM: u64 = u64::MAX - 2;

/// Events taken from the kernel at once.
const EVENTS: usize = 512;

/// Replies that wait leave when they are of this many connections, so that clients and server work side by side.
const MOST_CONNECTIONS: usize = 64;

/// Shorter waits would not be one.
const LEAST_WAIT: Duration = Duration::from_micros(1);

/// Ticks between two looks at idle connections.
const TICKS_PER_SWEEP: u32 = 10;

/// An epoll reactor with its sockets.
pub(crate) struct Epoll {
    poll: OwnedFd,
    own: usize,
    placement: Arc<Placement>,
    listeners: Vec<Listener>,
    stop: UnixStream,
    patience: Patience,
    courtesy: Courtesy,
    /// Reports when something is due.
    timer: OwnedFd,
    alarm: Option<Instant>,
    house: House,
    /// Connections that are still to be closed.
    farewell: Farewell<Box<Peer>>,
    peers: Peers<Peer>,
    /// Bytes just received.
    input: Vec<u8>,
    /// Bytes just received from several connections, and whose they are.
    together: Vec<u8>,
    heard: Vec<(usize, Range<usize>)>,
    turn: Turn,
    /// Connections whose requests are here already and wait only for their turn.
    ready: Vec<usize>,
    /// Accepting stopped for want of file descriptors, until the next tick.
    accept_paused: bool,
    draining: bool,
    ticks: u32,
    /// Connections that CLIENT KILL had ended at the last sweep.
    kills: u64,
    /// The pauses of all clients that were noticed.
    pauses: u64,
    #[cfg(feature = "injected-delay")]
    delay: crate::delay::Delay,
}

impl Epoll {
    /// Registers the listeners and the stop signal.
    pub(crate) fn new(share: Share) -> io::Result<Self> {
        let Share { own, placement, listeners, stop, busy_poll } = share;
        let courtesy = Courtesy::new(placement.threads());
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
        epoll::add(&poll, placement.bell(own), EventData::new_u64(BELL), EventFlags::IN)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        epoll::add(&poll, &timer, EventData::new_u64(ALARM), EventFlags::IN)?;
        Ok(Self {
            poll,
            own,
            placement,
            listeners,
            stop,
            patience: Patience::new(busy_poll),
            courtesy,
            timer,
            alarm: None,
            house: House::new(own),
            farewell: Farewell::default(),
            peers: Peers::default(),
            input: touched(),
            together: touched(),
            heard: Vec::with_capacity(PREFETCHED_KEYS),
            turn: Turn::new(),
            ready: Vec::new(),
            accept_paused: false,
            draining: false,
            ticks: 0,
            kills: 0,
            pauses: 0,
            #[cfg(feature = "injected-delay")]
            delay: crate::delay::Delay::new(),
        })
    }

    fn accept(&mut self, shared: &Shared, index: usize) {
        for _ in 0..admission::ACCEPTS {
            let Some(listener) = self.listeners.get(index) else { return };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let accepted = match acceptfrom_with(&listener.socket, flags) {
                Ok(accepted) => accepted,
                Err(Errno::AGAIN) => return,
                // The peer gave up between connecting and being accepted, or a signal came.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => continue,
                Err(error) => {
                    // Those that are over may be what is missing.
                    self.close(shared, self.farewell.len());
                    let message = io::Error::from(error);
                    tracing::warn!(
                        "cannot accept a connection: {message}; trying again in {} ms (raise `ulimit -n` or \
                             lower --maxclients)",
                        TICK.as_millis()
                    );
                    return self.pause_accepting();
                }
            };
            if let Some(arrival) = admission::receive(shared, listener, accepted, &mut self.input)
                && let Some(arrival) = self.placement.place(self.own, arrival)
            {
                self.admit(shared, arrival);
            }
        }
    }

    /// Serves a connection from now on.
    fn admit(&mut self, shared: &Shared, arrival: Arrival) {
        let Arrival { socket, entry, counted, encryption } = arrival;
        let connection = Connection::new(Session::new(shared, entry), counted).encrypted(encryption);
        let interest = EventFlags::IN;
        let index = self.peers.insert(Peer { socket, connection, interest });
        if let Some(peer) = self.peers.get(index) {
            peer.connection.session().entry().record_place(self.own, index);
        }
        let added = match self.peers.get(index) {
            Some(peer) => epoll::add(&self.poll, &peer.socket, EventData::new_u64(index as u64), interest),
            None => Ok(()),
        };
        if let Err(error) = added {
            tracing::warn!("cannot watch a new connection: {error}");
            self.forget(shared, index);
        }
    }

    /// Gives one connection its turn, but for its replies, which wait for [`deliver`](Self::deliver); true if something was received.
    fn serve(&mut self, shared: &Shared, index: usize) -> bool {
        let Some(peer) = self.peers.get(index) else { return false };
        let start = self.turn.replies.mark();
        let received = peer.work(shared, &mut self.turn, &mut self.input);
        self.conclude(shared, index, start, received.map(drop));
        received.unwrap_or(false)
    }

    /// Sees to the replies behind `start`, or ends the connection whose turn has failed.
    fn conclude(&mut self, shared: &Shared, index: usize, start: Mark, outcome: Result<(), ()>) {
        if outcome.is_err() {
            self.turn.replies.go_back(start);
            self.forget(shared, index);
        } else if !self.turn.add(index, start) {
            self.settle(shared, index);
        } else if self.turn.is_full() || self.turn.parts.len() >= MOST_CONNECTIONS {
            self.deliver(shared);
        }
    }

    /// Sends the replies that wait.
    fn deliver(&mut self, shared: &Shared) {
        for at in 0..self.turn.parts.len() {
            let part = self.turn.parts[at];
            let Some(peer) = self.peers.get(part.slot) else { continue };
            #[cfg(feature = "injected-delay")]
            if self.delay.draws() && peer.connection.hold() {
                self.delay.hold(part.slot);
            }
            let Turn { replies, pool, .. } = &mut self.turn;
            // What waits goes first.
            let is_encrypted = peer.connection.is_encrypted();
            let sent = if is_encrypted || peer.connection.is_waiting() || peer.connection.is_held() {
                Ok(0)
            } else {
                send_replies(&peer.socket, replies, part.marks())
            };
            let Ok(sent) = sent else {
                self.forget(shared, part.slot);
                continue;
            };
            if peer.connection.keep_replies(shared, pool, replies, part.marks(), sent).is_err() {
                no_memory();
                self.forget(shared, part.slot);
                continue;
            }
            if is_encrypted && !peer.connection.flush(pool, &peer.socket) {
                self.forget(shared, part.slot);
                continue;
            }
            self.settle(shared, part.slot);
        }
        self.turn.parts.clear();
        self.turn.replies.clear(shared);
    }

    /// Lets replies leave that were kept back long enough.
    #[cfg(feature = "injected-delay")]
    fn let_go(&mut self, shared: &Shared) {
        while let Some(slot) = self.delay.due() {
            let Some(peer) = self.peers.get(slot) else { continue };
            peer.connection.let_go();
            if peer.connection.flush(&mut self.turn.pool, &peer.socket) {
                self.settle(shared, slot);
            } else {
                self.forget(shared, slot);
            }
        }
    }

    /// Draws the conclusions of a turn.
    fn settle(&mut self, shared: &Shared, index: usize) {
        let Some(peer) = self.peers.get(index) else { return };
        if peer.connection.is_finished() {
            if !peer.connection.is_deserted() {
                hang_up(&peer.socket, &mut self.input);
            }
            return self.forget(shared, index);
        }
        peer.connection.report(shared);
        if peer.connection.has_errand() {
            self.hand_over(shared, index);
        }
        let Some(peer) = self.peers.get(index) else { return };
        if let Err(error) = peer.watch(shared, &self.poll, index) {
            tracing::warn!("cannot watch a connection: {error}");
            return self.forget(shared, index);
        }
        // A connection whose replies wait continues when the socket has room, or when its backlog is full.
        let connection = &peer.connection;
        if connection.must_resume(shared) || (connection.can_resume(shared) && !connection.is_waiting()) {
            self.ready.push(index);
        }
    }

    fn forget(&mut self, shared: &Shared, index: usize) {
        if let Some(peer) = self.peers.remove(index) {
            // It is closed a little later, and must not be reported meanwhile.
            let _ = epoll::delete(&self.poll, &peer.socket);
            shared.clients.remove(peer.connection.session().entry().id);
            self.farewell.add(peer);
        }
    }

    /// Closes so many of the connections that are over.
    fn close(&mut self, shared: &Shared, count: usize) {
        for _ in 0..count {
            let Some(mut peer) = self.farewell.next() else { return };
            peer.connection.release(shared, &mut self.turn.pool);
            self.placement.left(self.own);
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

    fn tick(&mut self, shared: &Shared, now: Instant) {
        self.patience.tick();
        self.courtesy.tick(now);
        if self.accept_paused {
            self.accept_paused = false;
            self.watch_listeners(EventFlags::IN);
        }
        self.ticks = self.ticks.wrapping_add(1);
        let kills = shared.clients.kills();
        if self.ticks.is_multiple_of(TICKS_PER_SWEEP) || kills != self.kills {
            self.kills = kills;
            self.sweep(shared);
        }
        if shared.pause.has_ended(shared.clock_ms(), &mut self.pauses) {
            self.ready.extend(self.peers.numbers(|peer| peer.connection.can_resume(shared)));
        }
    }

    /// Closes connections that have been silent for too long.
    fn sweep(&mut self, shared: &Shared) {
        self.peers.give_back_memory(self.farewell.is_empty());
        for index in 0..self.peers.slots.len() {
            let Some(peer) = self.peers.get(index) else { continue };
            if let Some(reason) = peer.connection.overdue(shared) {
                tracing::debug!("closed a connection that {reason}");
                self.forget(shared, index);
            }
        }
    }

    /// Stops accepting, executes what clients have sent so far, and lets no further request in.
    fn begin_drain(&mut self, shared: &Shared) {
        self.draining = true;
        // Dropping a listener closes it, and unlinks a Unix socket's file.
        self.listeners.clear();
        for index in 0..self.peers.slots.len() {
            self.drain(shared, index);
        }
    }

    /// Lets an event come when something is due. A wait that has an end of its own costs a timer each time; this one is set ten times a second.
    fn set_alarm(&mut self, now: Instant, due: Instant) -> io::Result<()> {
        if self.alarm.is_none() {
            self.alarm = Some(due);
            let it_value = timespec(due.saturating_duration_since(now).max(LEAST_WAIT));
            let it_interval = timespec(Duration::ZERO);
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })?;
        }
        Ok(())
    }

    /// Waits for events until `due`.
    fn wait(&mut self, events: &mut Vec<epoll::Event>, now: Instant, due: Instant) -> io::Result<()> {
        let mut was_busy = !events.is_empty();
        while self.patience.asks_again(was_busy) {
            self.take_events(events, Some(Duration::ZERO))?;
            if !events.is_empty() || Instant::now() >= due {
                return Ok(());
            }
            was_busy = false;
        }
        let is_woken = self.alarm.is_some_and(|alarm| alarm <= due);
        let wait = (!is_woken).then(|| due.saturating_duration_since(now));
        self.take_events(events, wait)
    }

    fn take_events(&self, events: &mut Vec<epoll::Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        match epoll::wait(&self.poll, spare_capacity(events), timeout.map(timespec).as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}

/// Room to receive into, written to once, so that it is resident from the start and not a growth later.
fn touched() -> Vec<u8> {
    let mut input = vec![1; RECEIVE_BYTES];
    input.clear();
    input
}

impl Reactor for Epoll {
    fn run(&mut self, shared: &Shared) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut slots = Vec::with_capacity(PREFETCHED_KEYS);
        let mut now = Instant::now();
        let mut next_tick = now + TICK;
        let mut drain_until: Option<Instant> = None;
        loop {
            // `now` is from the end of the last turn: one reading of the clock a turn is enough for a tick of 100 ms.
            let due = self.house.or_earlier(next_tick);
            #[cfg(feature = "injected-delay")]
            let due = self.delay.or_earlier(due);
            self.set_alarm(now, due)?;
            if self.ready.is_empty() && self.farewell.is_empty() {
                self.wait(&mut events, now, due)?;
            } else {
                self.take_events(&mut events, Some(Duration::ZERO))?;
            }
            shared.clock.refresh();
            #[cfg(feature = "injected-delay")]
            self.let_go(shared);
            let mut stop = false;
            for event in &events {
                match event.data.u64() {
                    STOP => stop = true,
                    ALARM => {
                        self.alarm = None;
                        // Read, so that it is not reported again.
                        let _ = rustix::io::read(&self.timer, &mut [0; 8]);
                    }
                    BELL => {
                        for arrival in self.placement.arrivals(self.own) {
                            self.admit(shared, arrival);
                        }
                        if let Some(workers) = &shared.workers {
                            for done in workers.done(self.own) {
                                self.done(shared, done);
                            }
                        }
                        for push in shared.pushes.take(self.own) {
                            self.push_message(shared, &push);
                        }
                    }
                    number if number >= LISTENERS => self.accept(shared, (number - LISTENERS) as usize),
                    number if is_gone(event.flags) => self.gone(number as usize, &mut slots),
                    number => slots.push(number as usize),
                }
                if slots.len() == PREFETCHED_KEYS {
                    self.serve_together(shared, &slots);
                    slots.clear();
                }
            }
            self.serve_together(shared, &slots);
            slots.clear();
            #[cfg(feature = "injected-delay")]
            self.delay.stretch();
            // Which of them are ready again is known only when their replies are sent.
            let ready = std::mem::take(&mut self.ready);
            self.deliver(shared);
            for index in ready {
                self.serve(shared, index);
            }
            self.deliver(shared);
            self.close(shared, self.farewell.share());
            now = Instant::now();
            if stop && drain_until.is_none() {
                epoll::delete(&self.poll, &self.stop)?;
                drain_until = Some(now + DRAIN_LIMIT);
                self.begin_drain(shared);
            }
            self.house.keep(shared, now);
            if now >= next_tick {
                self.tick(shared, now);
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
