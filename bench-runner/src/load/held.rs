//! A closed loop by a client that is slower: held to a rate, or to the CPU time that it spends on a request.
//!
//! What an operation costs a server depends on how its client spaces requests: one that finds the server asleep costs
//! a wake-up, and a send that has to wake it takes longer. And a server that is saturated takes requests in groups; how
//! a client's pace splits its connections among them decides how response times spread about their mean, which alone is
//! given by rate and connections. To compare two generators, the faster one works here as the other does: a connection
//! whose replies were read asks epoll when it may write, so that replies and requests take their turns in the order in
//! which they became possible; and after each step it spins for as long as the slower one would still be at work.

use super::generator::{Shard, thread_cpu_ns};
use super::poller::Events;
use super::worker::{LOOK_UP, Worker, wait};

/// What a slower client is held to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Held {
    /// So many requests per second, by all threads together.
    PerSecond(f64),
    /// So much CPU time per request, ns; one that needs more by itself is left alone.
    CpuNs(f64),
}

impl Held {
    /// For one thread of so many.
    pub(super) fn share(self, threads: u64) -> Self {
        match self {
            Self::PerSecond(all) => Self::PerSecond(all / threads as f64),
            Self::CpuNs(_) => self,
        }
    }
}

/// How much of the extra work of a request comes after sending it, the rest after reading its reply. With a half each,
/// a request that follows another takes 6.6 µs and a reply that follows another 2.9 µs at 500 connections; of
/// redis-benchmark from one call of `send` or `recv` to the next it is 6.6 µs and 3.2 µs.
const SENDING: f64 = 0.5;

/// What runs ahead of the schedule or behind it is made up for over so many requests.
const HORIZON: f64 = 2_000.0;

/// Weight of the newest turn in the average of what a request takes by itself.
const NEWEST: f64 = 0.1;

/// How much longer than by itself should a request take?
#[derive(Debug)]
struct Tempo {
    held: Held,
    /// What a request takes without extra work: time, or CPU time.
    own_ns: f64,
    extra_ns: f64,
}

impl Tempo {
    fn of(held: Held) -> Self {
        // Rather too slow than too fast until its own time is known.
        let extra_ns = match held {
            Held::PerSecond(per_second) => 1e9 / per_second,
            Held::CpuNs(ns) => ns,
        };
        Self { held, own_ns: 0.0, extra_ns }
    }

    /// Turns that sent `requests`, at least one, took so long without extra work; `sent` have gone out in all by
    /// `now_ns`.
    fn turned(&mut self, requests: u64, own_ns: f64, sent: u64, now_ns: u64) {
        let own_ns = own_ns / requests as f64;
        self.own_ns += (own_ns - self.own_ns) * NEWEST;
        let due_ns = match self.held {
            Held::PerSecond(per_second) => {
                let ahead_ns = sent as f64 * 1e9 / per_second - now_ns as f64;
                1e9 / per_second + ahead_ns / HORIZON
            }
            Held::CpuNs(ns) => ns,
        };
        self.extra_ns = (due_ns - self.own_ns).max(0.0);
    }

    /// The clock by which a request takes its time.
    fn clock_ns(&self, now_ns: u64) -> u64 {
        match self.held {
            Held::PerSecond(_) => now_ns,
            Held::CpuNs(_) => thread_cpu_ns(),
        }
    }
}

/// Sends and reads as slowly as it is held to, until the stretch is over.
pub(super) fn drive(worker: &mut Worker<'_>, shard: &mut Shard, held: Held) -> Result<(), String> {
    let Shard { poller, connections, .. } = shard;
    let mut tempo = Tempo::of(held);
    let requests = f64::from(worker.pipeline());
    for (token, connection) in connections.iter().enumerate() {
        connection.await_writable(poller, token, true)?;
    }
    let mut about_to_send = connections.len();
    let mut events = Events::default();
    // Of the turns since some were sent last.
    let (mut began_ns, mut sent_before, mut extra_ns) = (tempo.clock_ns(0), 0, 0);
    while worker.in_flight > 0 || about_to_send > 0 {
        wait(poller, &mut events, LOOK_UP)?;
        for ready in events.iter() {
            let Some(connection) = connections.get_mut(ready.token) else { continue };
            if ready.writable && connection.is_blocked() {
                connection.send_rest(poller, ready.token)?;
            } else if ready.writable && connection.pending.is_empty() {
                about_to_send -= 1;
                let now = worker.now_ns();
                worker.send_batch(connection, poller, ready.token, now)?;
                if !connection.is_blocked() {
                    connection.await_writable(poller, ready.token, false)?;
                }
                extra_ns += worker.spin((tempo.extra_ns * SENDING * requests) as u64);
                continue;
            }
            if ready.readable {
                let answered = worker.receive(connection)?;
                if answered > 0 && connection.pending.is_empty() {
                    about_to_send += 1;
                    connection.await_writable(poller, ready.token, true)?;
                }
                extra_ns += worker.spin((tempo.extra_ns * (1.0 - SENDING) * answered as f64) as u64);
            }
        }
        let now = worker.now_ns();
        if worker.must_end(now) {
            return Ok(());
        }
        let sent = worker.part.sent;
        if sent > sent_before {
            let clock_ns = tempo.clock_ns(now);
            let own_ns = clock_ns.saturating_sub(began_ns + extra_ns);
            tempo.turned(sent - sent_before, own_ns as f64, sent, now);
            (began_ns, sent_before, extra_ns) = (clock_ns, sent, 0);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faster_client_is_slowed_until_the_rate_is_held() {
        let mut tempo = Tempo::of(Held::PerSecond(1_000.0));
        let (mut now, mut sent) = (0.0, 0);
        for turn in 0..2_000 {
            // By itself a request takes from 0.3 ms to 0.5 ms.
            let own_ns = 10.0 * (300_000.0 + f64::from(turn % 3) * 100_000.0);
            now += own_ns + 10.0 * tempo.extra_ns;
            sent += 10;
            tempo.turned(10, own_ns, sent, now as u64);
        }
        let rate = sent as f64 / now * 1e9;
        assert!((995.0..1_005.0).contains(&rate), "{rate}");
        assert!((550_000.0..650_000.0).contains(&tempo.extra_ns), "{}", tempo.extra_ns);
    }

    #[test]
    fn a_slower_client_is_left_alone() {
        let mut tempo = Tempo::of(Held::PerSecond(1_000.0));
        for turn in 1..100 {
            tempo.turned(10, 20_000_000.0, turn * 10, turn * 20_000_000);
        }
        assert_eq!(tempo.extra_ns, 0.0);
    }

    #[test]
    fn cpu_time_is_held_whatever_the_rate() {
        let mut tempo = Tempo::of(Held::CpuNs(900.0));
        for turn in 1..200 {
            tempo.turned(16, 16.0 * 500.0, turn * 16, turn * 1_000_000);
        }
        assert!((tempo.extra_ns - 400.0).abs() < 1.0, "{}", tempo.extra_ns);
    }
}
