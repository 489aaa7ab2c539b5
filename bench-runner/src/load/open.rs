//! The open loop: requests start when they are due, and their latency is from then, however late they are sent.
//!
//! A request goes to a connection with the fewest requests under way, in turn among equals, behind those if there
//! are any (pipelined). Where no connection may take it, it waits; where too many are under way or waiting, it is
//! skipped and counted. Requests that were due before the end are waited for after it.

use super::arrivals::{Arrivals, Open, Sender};
use super::connection::Connection;
use super::generator::{Shard, share};
use super::poller::{Events, Poller};
use super::recorder::Times;
use super::worker::{LOOK_UP, Turn, Worker, sleepable, wait};
use std::collections::VecDeque;

/// Most requests under way on one connection: more would only move the queue from here to the socket.
const DEEPEST: u64 = 64;

pub(super) fn drive(
    worker: &mut Worker<'_>,
    shard: &mut Shard,
    open: &Open,
    turn: Turn,
) -> Result<(), String> {
    let Shard { poller, connections, .. } = shard;
    let bound = share(open.in_flight_bound, turn.number, turn.of).max(1);
    let depth = (bound / connections.len().max(1) as u64).clamp(1, DEEPEST);
    let mut queue = Queue {
        arrivals: Arrivals::new(open.arrival, open.per_second, worker.stretch.seed, turn.number, turn.of),
        waiting: VecDeque::new(),
        bound,
        choice: Choice::new(connections.len(), depth as usize),
        touched: Vec::new(),
        fresh: vec![None; connections.len()],
        delays: Times::new(),
        sender: open.sender,
    };
    let outcome = queue.drive(worker, connections, poller);
    worker.part.send_delays = Some(queue.delays);
    outcome
}

struct Queue {
    arrivals: Arrivals,
    /// Intended starts of requests that no connection could take yet.
    waiting: VecDeque<u64>,
    bound: u64,
    choice: Choice,
    /// Connections that were given requests in this turn.
    touched: Vec<usize>,
    /// Of each of them, how many of its last requests never had to wait for it.
    fresh: Vec<Option<usize>>,
    delays: Times,
    sender: Sender,
}

impl Queue {
    fn drive(
        &mut self,
        worker: &mut Worker<'_>,
        connections: &mut [Connection],
        poller: &Poller,
    ) -> Result<(), String> {
        let mut events = Events::default();
        loop {
            let now = worker.now_ns();
            let had_waited = self.waiting.len();
            let more = self.fall_due(worker, now);
            worker.look_at_turn(now);
            self.hand_out(worker, connections, had_waited);
            if !self.touched.is_empty() {
                worker.works();
            }
            self.send(worker, connections, poller)?;
            if !more && worker.in_flight == 0 && self.waiting.is_empty() {
                return Ok(());
            }
            let gap_ns = self.arrivals.next_ns().saturating_sub(worker.now_ns());
            let timeout = if more { sleepable(gap_ns, self.sender) } else { LOOK_UP };
            wait(poller, &mut events, timeout)?;
            if timeout.is_zero() && events.is_empty() {
                worker.spins();
            } else {
                worker.works();
            }
            for ready in events.iter() {
                let Some(connection) = connections.get_mut(ready.token) else { continue };
                if ready.writable && connection.is_blocked() {
                    connection.send_rest(poller, ready.token)?;
                }
                if ready.readable {
                    let answered = worker.receive(connection)?;
                    self.choice.release(ready.token, answered);
                }
            }
            let now = worker.now_ns();
            if worker.must_end(now) {
                return Ok(());
            }
        }
    }

    /// Takes all that is due by now; false when the schedule is at its end.
    fn fall_due(&mut self, worker: &mut Worker<'_>, now: u64) -> bool {
        loop {
            let (next, stretch) = (self.arrivals.next_ns(), worker.stretch);
            let part = &mut worker.part;
            let limit = stretch.limit.is_some_and(|limit| part.due >= limit);
            if limit || (next >= stretch.min_ns && part.due >= stretch.min_operations) {
                part.schedule_ns =
                    if limit { part.schedule_ns } else { stretch.min_ns.max(part.schedule_ns) };
                return false;
            }
            if next > now {
                return true;
            }
            let due = self.arrivals.take();
            part.due += 1;
            part.schedule_ns = due;
            if worker.in_flight + self.waiting.len() as u64 >= self.bound {
                part.skipped += 1;
            } else {
                self.waiting.push_back(due);
            }
        }
    }

    /// Gives waiting requests to connections that may take them; the first `had_waited` of them are not new.
    fn hand_out(&mut self, worker: &mut Worker<'_>, connections: &mut [Connection], had_waited: usize) {
        let mut place = 0;
        while !self.waiting.is_empty() {
            let Some(token) = self.choice.take() else { break };
            let Some(due) = self.waiting.pop_front() else { break };
            let connection = &mut connections[token];
            if self.fresh[token].is_none() {
                self.touched.push(token);
            }
            let asked = worker.source.ask(due, &mut connection.unsent);
            connection.pending.push_back(asked);
            connection.starts.push_back(due);
            *self.fresh[token].get_or_insert(0) += usize::from(place >= had_waited);
            worker.part.sent += 1;
            worker.in_flight += 1;
            place += 1;
        }
        worker.part.in_flight_max = worker.part.in_flight_max.max(worker.in_flight);
    }

    fn send(
        &mut self,
        worker: &Worker<'_>,
        connections: &mut [Connection],
        poller: &Poller,
    ) -> Result<(), String> {
        for token in self.touched.drain(..) {
            let connection = &mut connections[token];
            let now = worker.now_ns();
            let fresh = self.fresh[token].take().unwrap_or(0);
            for due in connection.starts.iter().rev().take(fresh) {
                self.delays.record(now.saturating_sub(*due));
            }
            if !connection.is_blocked() {
                connection.send_rest(poller, token)?;
            }
        }
        Ok(())
    }
}

/// Picks a connection with the fewest requests under way, in turn among equals.
struct Choice {
    /// Requests under way per connection.
    loads: Vec<usize>,
    /// Per load, connections that have it, or had it when they were put there.
    levels: Vec<VecDeque<usize>>,
    /// Per connection, a bit for each level it stands in: it must not stand in one twice.
    listed: Vec<u64>,
}

impl Choice {
    fn new(connections: usize, depth: usize) -> Self {
        let depth = depth.clamp(1, DEEPEST as usize);
        let mut choice = Self {
            loads: vec![0; connections],
            levels: vec![VecDeque::new(); depth],
            listed: vec![0; connections],
        };
        for token in 0..connections {
            choice.list(token);
        }
        choice
    }

    /// The connection that takes the next request; None when none may.
    fn take(&mut self) -> Option<usize> {
        for level in 0..self.levels.len() {
            while let Some(token) = self.levels[level].pop_front() {
                self.listed[token] &= !(1 << level);
                if self.loads[token] == level {
                    self.loads[token] += 1;
                    self.list(token);
                    return Some(token);
                }
            }
        }
        None
    }

    /// So many requests of a connection are answered.
    fn release(&mut self, token: usize, answered: usize) {
        self.loads[token] = self.loads[token].saturating_sub(answered);
        self.list(token);
    }

    fn list(&mut self, token: usize) {
        let level = self.loads[token];
        if level < self.levels.len() && self.listed[token] & (1 << level) == 0 {
            self.listed[token] |= 1 << level;
            self.levels[level].push_back(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_round_and_to_the_least_loaded_first() {
        let mut choice = Choice::new(3, 2);
        assert_eq!([choice.take(), choice.take(), choice.take()], [Some(0), Some(1), Some(2)]);
        choice.release(1, 1);
        assert_eq!(choice.take(), Some(1), "it has nothing to do");
        assert_eq!([choice.take(), choice.take(), choice.take()], [Some(0), Some(1), Some(2)]);
        assert_eq!(choice.take(), None, "two each is the most");
        choice.release(2, 2);
        assert_eq!([choice.take(), choice.take(), choice.take()], [Some(2), Some(2), None]);
    }

    #[test]
    fn the_choice_is_always_a_least_loaded_one_and_its_lists_stay_short() {
        let mut rng = fastrand::Rng::with_seed(5);
        let (connections, depth) = (7, 5);
        let mut choice = Choice::new(connections, depth);
        for _ in 0..20_000 {
            if rng.bool() {
                let least = *choice.loads.iter().min().unwrap();
                match choice.take() {
                    Some(token) => assert_eq!(choice.loads[token], least + 1),
                    None => assert_eq!(least, depth),
                }
            } else {
                let token = rng.usize(0..connections);
                let answered = rng.usize(0..=choice.loads[token]);
                choice.release(token, answered);
            }
            assert!(choice.levels.iter().all(|level| level.len() <= connections));
        }
    }
}
