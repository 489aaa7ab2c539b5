//! When is each request of an open loop due? A pure function of rate, spacing and seed.
//!
//! Each generator thread has its share: of fixed gaps every n-th one, staggered; of a Poisson process one of n
//! slower ones, whose union is the whole.

use fastrand::Rng;

/// How intended starts are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// All gaps the same.
    Fixed,
    /// Exponential gaps: requests that know nothing of each other.
    Poisson,
}

impl Arrival {
    /// The spelling in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Poisson => "poisson",
        }
    }
}

/// An open loop: requests start when they are due, not when the one before was answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Open {
    /// Offered rate, of all threads together.
    pub per_second: f64,
    /// How intended starts are spaced.
    pub arrival: Arrival,
    /// Most requests that may be under way or waiting for a connection at one time, of all threads together;
    /// one more is skipped, and counted.
    pub in_flight_bound: u64,
    /// What is done until a request is due.
    pub sender: Sender,
}

/// What a generator thread does until a request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Sleeps until then: another thread needs its CPU.
    Sleeps,
    /// Sleeps for most of a long gap, and looks at the clock for the last of it.
    Wakes,
    /// Looks at the clock all the time: never late because it slept.
    Spins,
}

/// The intended starts of one thread, ns since the beginning, rising.
#[derive(Debug, Clone)]
pub struct Arrivals {
    arrival: Arrival,
    /// Mean gap of this thread, ns.
    gap_ns: f64,
    /// The next one due, ns.
    next_ns: f64,
    /// Of fixed gaps: the first one due, and how many have been taken.
    first_ns: f64,
    taken: u64,
    rng: Rng,
}

/// Keeps the gaps apart from the keys that are drawn with the same seed.
const GAPS: u64 = 0x6a09_e667_f3bc_c908;

impl Arrivals {
    /// The share of thread `number` of `threads`; `seed` is the thread's own.
    #[must_use]
    pub fn new(arrival: Arrival, per_second: f64, seed: u64, number: u64, threads: u64) -> Self {
        let whole_gap_ns = 1e9 / per_second.max(1e-9);
        let gap_ns = whole_gap_ns * threads.max(1) as f64;
        let mut arrivals = Self {
            arrival,
            gap_ns,
            next_ns: 0.0,
            first_ns: whole_gap_ns * number as f64,
            taken: 0,
            rng: Rng::with_seed(seed ^ GAPS),
        };
        arrivals.advance();
        arrivals
    }

    /// The next intended start, without taking it.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Takes the next intended start.
    pub fn take(&mut self) -> u64 {
        let due = self.next_ns();
        self.advance();
        due
    }

    fn advance(&mut self) {
        self.next_ns = match self.arrival {
            // A product, not a sum: rounding must not pile up over millions of gaps.
            Arrival::Fixed => self.first_ns + self.taken as f64 * self.gap_ns,
            // 1 - u lies above 0, so that its logarithm is finite.
            Arrival::Poisson => self.next_ns - (1.0 - self.rng.f64()).ln() * self.gap_ns,
        };
        self.taken += 1;
    }
}

/// All intended starts before `until_ns` of a stretch that one thread generates: what a calculation of the
/// response times it should see starts from.
#[must_use]
pub fn schedule(arrival: Arrival, per_second: f64, seed: u64, until_ns: u64) -> Vec<u64> {
    let mut arrivals = Arrivals::new(arrival, per_second, seed, 0, 1);
    let mut due = Vec::new();
    while arrivals.next_ns() < until_ns {
        due.push(arrivals.take());
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_gaps_are_equal_and_threads_take_turns() {
        assert_eq!(schedule(Arrival::Fixed, 1_000.0, 7, 3_500_000), [0, 1_000_000, 2_000_000, 3_000_000]);
        let mut all = Vec::new();
        for number in 0..3 {
            let mut arrivals = Arrivals::new(Arrival::Fixed, 1_000.0, 7, number, 3);
            all.extend((0..4).map(|_| arrivals.take()));
        }
        all.sort_unstable();
        assert_eq!(all, (0..12).map(|place| place * 1_000_000).collect::<Vec<_>>());
    }

    #[test]
    fn fixed_gaps_do_not_drift() {
        let mut arrivals = Arrivals::new(Arrival::Fixed, 3_000.0, 7, 0, 1);
        for _ in 0..3_000_000 {
            arrivals.take();
        }
        assert!(arrivals.next_ns().abs_diff(1_000_000_000_000) <= 1);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_the_exponential_law() {
        let due = schedule(Arrival::Poisson, 10_000.0, 42, 20_000_000_000);
        assert!((198_000..202_000).contains(&due.len()), "{}", due.len());
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 100_000.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "standard deviation and mean are equal");
        // P(gap > mean) is 1/e.
        let longer = gaps.iter().filter(|gap| **gap > mean).count() as f64 / gaps.len() as f64;
        assert!((longer - (-1f64).exp()).abs() < 0.01, "{longer}");
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule_and_another_seed_another() {
        let of = |seed| schedule(Arrival::Poisson, 500.0, seed, 1_000_000_000);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
