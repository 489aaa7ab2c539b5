//! Do the replies wait for something that is not work?
//!
//! A closed loop keeps somebody busy: each connection sends its next request as soon as it has its reply, so at any
//! moment either the server works, or the generator does, or one of them waits for a CPU. Where replies take a
//! millisecond and more, and yet both sides together use less than half of one core, no thread of either is ready to
//! run half of the time, and no connection has its server's thread ready half of the time either, the time is a
//! timer's or a sleep's: its throughput would be the number of connections divided by the timer, whatever the server
//! is. One connection alone is no such case, since between two idle CPUs a wake-up is most of its round trip; nor is
//! a store that waits for its disk.
//!
//! On a crowded machine a thread that sleeps a millisecond may then wait several more for a CPU. Most of the time is then
//! the machine's, as it would be of an honest server, and the rule says nothing. Others use more than
//! [`crate::model::DISTURBED_CORES`] there, so that the cell is neither published nor judged.

use crate::model::WAITING;

/// Median response time from which on waiting is suspicious, ns.
const MEDIAN_NS_MIN: f64 = 1e6;
/// Share of a core, and of the time, below which somebody counts as idle.
const BUSY_MIN: f64 = 0.5;

/// What is known of one closed-loop trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    /// Connections.
    pub(super) clients: u32,
    /// Whether the target keeps everything in memory, and so never waits for a disk.
    pub(super) volatile: bool,
    /// Median response time, ns.
    pub(super) latency_ns_p50: f64,
    /// Cores that target and generator together used.
    pub(super) cores: f64,
    /// The largest share of the time that one thread of either ran, or was ready to and waited for a CPU: a crowded
    /// machine holds up honest servers, too.
    pub(super) ready_max: f64,
    /// The same of all threads of the target together, in threads.
    pub(super) server_ready: f64,
}

/// Why the trial says nothing about the target's speed, if it does not.
#[must_use]
pub(super) fn idle_waiting(seen: &Seen) -> Option<String> {
    // A thread per connection: each may be held up by the others although none is ready most of the time.
    let ready_per_connection = seen.server_ready / f64::from(seen.clients.max(1));
    let idle = seen.cores < BUSY_MIN && seen.ready_max < BUSY_MIN && ready_per_connection < BUSY_MIN;
    if seen.clients < 2 || !seen.volatile || seen.latency_ns_p50 < MEDIAN_NS_MIN || !idle {
        return None;
    }
    Some(format!(
        "{WAITING}: the median response takes {:.1} ms while target and generator together use {:.2} of a core, as if a \
         timer or a sleep held each reply back",
        seen.latency_ns_p50 / 1e6,
        seen.cores
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMER: Seen = Seen {
        clients: 10,
        volatile: true,
        latency_ns_p50: 5.1e6,
        cores: 0.09,
        ready_max: 0.05,
        server_ready: 0.05,
    };

    #[test]
    fn replies_held_back_by_a_timer_are_told() {
        let reason = idle_waiting(&TIMER).unwrap();
        assert!(reason.contains("5.1 ms") && reason.contains("0.09 of a core"), "{reason}");
    }

    #[test]
    fn they_are_told_on_a_crowded_machine_too() {
        // Ten threads that sleep 5 of 8 ms, and wait for a CPU in the other three.
        let crowded = Seen { latency_ns_p50: 8e6, ready_max: 0.39, server_ready: 3.8, ..TIMER };
        assert!(idle_waiting(&crowded).is_some());
    }

    #[test]
    fn honest_cells_are_not() {
        let server_works = Seen { latency_ns_p50: 16e6, cores: 1.6, ready_max: 0.99, ..TIMER };
        for (name, honest) in [
            ("one connection across two idle CPUs", Seen { clients: 1, latency_ns_p50: 1.4e6, ..TIMER }),
            ("a store that waits for its disk", Seen { volatile: false, ..TIMER }),
            ("a fast one", Seen { latency_ns_p50: 9e5, ..TIMER }),
            ("a thousand connections on a busy server", Seen { clients: 1_000, ..server_works }),
            ("a quota that is used up, or a crowded machine", Seen { cores: 0.3, ..server_works }),
            (
                // It sleeps 1 ms in each request, and then waits 4 ms for a CPU: the cell records that others used the machine.
                "a timer that most of the waiting is not for",
                Seen { latency_ns_p50: 7e6, cores: 0.1, ready_max: 0.6, server_ready: 4.2, ..TIMER },
            ),
            (
                "a thread per connection on a crowded machine",
                Seen { cores: 0.4, ready_max: 0.45, server_ready: 7.2, ..TIMER },
            ),
        ] {
            assert_eq!(idle_waiting(&honest), None, "{name}");
        }
    }
}
