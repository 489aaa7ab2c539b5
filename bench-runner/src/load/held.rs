//! A closed loop that is held to a rate: when may the next connection send?

/// How much of a turn goes into sending. A client of one thread, at its own limit, sends in one part of its turn and
/// reads in the other; of redis-benchmark's CPU time three quarters are in sending (`perf record`, 50 connections,
/// depth 1: 53 % in `send`, half of the 32 % in `epoll_ctl`, the keys), the rest in reading.
const SENDING: f64 = 0.75;

/// A rate that is held in turns: what was answered in the last turn goes out in the first part of this one. Evenly
/// spaced requests would find the server asleep more often than a busy client does, and cost it more.
#[derive(Debug)]
pub(super) struct Held {
    per_second: f64,
    /// Connections that have not sent in this turn.
    left: usize,
    /// When it began by the schedule, ns, and what had been sent before.
    begin_ns: f64,
    sent_before: u64,
}

impl Held {
    /// So many requests per second.
    pub(super) fn to(per_second: f64) -> Self {
        Self { per_second, left: 0, begin_ns: 0.0, sent_before: 0 }
    }

    /// When the next connection may send, after so many requests, with so many connections waiting.
    pub(super) fn due_ns(&mut self, sent: u64, waiting: usize) -> u64 {
        if self.left == 0 {
            let begin_ns = sent as f64 / self.per_second * 1e9;
            *self = Self { left: waiting, begin_ns, sent_before: sent, ..*self };
        }
        (self.begin_ns + (sent - self.sent_before) as f64 / self.per_second * SENDING * 1e9) as u64
    }

    /// One of them has sent.
    pub(super) fn sent(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_goes_out_in_the_first_part_of_its_time_and_the_rate_is_kept() {
        let mut held = Held::to(1_000.0);
        let mut due = Vec::new();
        for sent in 0..8 {
            due.push(held.due_ns(sent, 4) / 1_000);
            held.sent();
        }
        assert_eq!(due, [0, 750, 1_500, 2_250, 4_000, 4_750, 5_500, 6_250]);
    }
}
