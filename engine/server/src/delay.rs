//! How would a slower server look? A delay that is put in on purpose, so that the gate can be tried on a change whose size
//! is known. Only in builds with the feature `injected-delay`.
//!
//! Each turn costs so many percent more of the CPU time that it took: as work (`spin:10`), or as waiting (`sleep:10`),
//! which CPU time does not show. Sleeps are saved up until they are long enough to be kept. Or so many percent of the requests are
//! answered 5 ms later (`tail:1`): the replies of one connection and turn are kept back by the toss of a coin, with those behind
//! them on the same connection, which may not overtake them. Other connections do not wait, and the thread does not sleep.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// The delay of this build, where the environment names none: `spin:10`, `sleep:10`, `tail:1`; empty: none.
const BUILT_IN: &str = "";

/// What names another one.
const VARIABLE: &str = "PLUMBKV_INJECTED_DELAY";

/// A sleep is at least this long: shorter ones are mostly waking up.
const SHORTEST: Duration = Duration::from_micros(200);

/// How much later a reply leaves.
const LATE: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Spin,
    Sleep,
    Tail,
}

/// A delay at work on one I/O thread.
#[derive(Debug)]
pub(crate) struct Delay {
    kind: Kind,
    share: f64,
    /// CPU time of this thread up to which delays are paid.
    paid: Duration,
    /// What is still to be slept, s; below nought where a sleep was too long.
    debt: f64,
    /// Connections whose replies are kept back, and until when: all equally long, so the first is due first.
    held: VecDeque<(Instant, usize)>,
    random: fastrand::Rng,
}

impl Delay {
    /// As the environment or the build says.
    pub(crate) fn new() -> Self {
        let text = std::env::var(VARIABLE).unwrap_or_else(|_| BUILT_IN.to_owned());
        let (kind, share) = parse(&text).unwrap_or_else(|| {
            tracing::warn!("{VARIABLE} is spin:PERCENT, sleep:PERCENT or tail:PERCENT; '{text}' is none");
            (Kind::Spin, 0.0)
        });
        Self::of(kind, share)
    }

    fn of(kind: Kind, share: f64) -> Self {
        // The same in each process, so that trials differ by nothing that need not differ.
        let random = fastrand::Rng::with_seed(5);
        Self { kind, share, paid: thread_cpu(), debt: 0.0, held: VecDeque::new(), random }
    }

    /// Whether the next replies of a connection are to be late.
    pub(crate) fn draws(&mut self) -> bool {
        self.kind == Kind::Tail && self.random.f64() < self.share
    }

    /// The replies of a connection are kept back from now on, until it comes out of [`due`](Self::due).
    pub(crate) fn hold(&mut self, slot: usize) {
        self.held.push_back((Instant::now() + LATE, slot));
    }

    /// A connection whose replies were kept back long enough.
    pub(crate) fn due(&mut self) -> Option<usize> {
        // The clock is not asked where nothing waits.
        let (until, slot) = *self.held.front()?;
        (until <= Instant::now()).then(|| self.held.pop_front())?;
        Some(slot)
    }

    /// `due`, or when the next replies are, if that is before.
    pub(crate) fn or_earlier(&self, due: Instant) -> Instant {
        self.held.front().map_or(due, |(until, _)| due.min(*until))
    }

    /// Makes what was done since the last call take longer.
    pub(crate) fn stretch(&mut self) {
        let worked = thread_cpu().saturating_sub(self.paid).as_secs_f64() * self.share;
        let begin = Instant::now();
        match self.kind {
            Kind::Spin => {
                while begin.elapsed().as_secs_f64() < worked {
                    std::hint::spin_loop();
                }
            }
            Kind::Sleep => {
                self.debt += worked;
                if self.debt >= SHORTEST.as_secs_f64() {
                    std::thread::sleep(Duration::from_secs_f64(self.debt));
                    self.debt -= begin.elapsed().as_secs_f64();
                }
            }
            Kind::Tail => {}
        }
        self.paid = thread_cpu();
    }
}

fn thread_cpu() -> Duration {
    // By libc: rustix calls into the kernel's page by itself, which ends a static program under valgrind.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// `spin:10` as a share; an empty text is no delay.
fn parse(text: &str) -> Option<(Kind, f64)> {
    if text.is_empty() {
        return Some((Kind::Spin, 0.0));
    }
    let (kind, percent) = text.split_once(':')?;
    let kind = match kind {
        "spin" => Kind::Spin,
        "sleep" => Kind::Sleep,
        "tail" => Kind::Tail,
        _ => return None,
    };
    let percent: f64 = percent.parse().ok()?;
    (0.0..=1_000.0).contains(&percent).then_some((kind, percent / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_strictly() {
        assert_eq!(parse("spin:10"), Some((Kind::Spin, 0.1)));
        assert_eq!(parse("sleep:2.5"), Some((Kind::Sleep, 0.025)));
        assert_eq!(parse("tail:1"), Some((Kind::Tail, 0.01)));
        assert_eq!(parse(""), Some((Kind::Spin, 0.0)));
        for bad in ["spin", "spin:", "spin:-1", "nap:10", "spin:NaN", "spin:1001"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn work_takes_so_much_longer_and_sleep_costs_no_cpu_time() {
        for kind in [Kind::Spin, Kind::Sleep] {
            let mut delay = Delay::of(kind, 0.5);
            let (wall, cpu) = (Instant::now(), thread_cpu());
            let mut worked = Duration::ZERO;
            while worked < Duration::from_millis(100) {
                let before = thread_cpu();
                while thread_cpu() - before < Duration::from_micros(500) {}
                worked += thread_cpu() - before;
                delay.stretch();
            }
            let added = (thread_cpu() - cpu).as_secs_f64() / worked.as_secs_f64() - 1.0;
            let longer = wall.elapsed().as_secs_f64() / worked.as_secs_f64() - 1.0;
            assert!(longer > 0.4, "{kind:?}: {longer}");
            match kind {
                Kind::Spin => assert!((0.4..0.7).contains(&added), "{added}"),
                Kind::Sleep | Kind::Tail => assert!(added < 0.15, "{added}"),
            }
        }
    }

    #[test]
    fn so_many_percent_of_replies_are_kept_back_for_so_long_and_leave_in_order() {
        let mut delay = Delay::of(Kind::Tail, 0.01);
        let drawn = (0..100_000).filter(|_| delay.draws()).count();
        // Five standard deviations of 100,000 coins around 1,000.
        assert!((843..=1_157).contains(&drawn), "{drawn}");
        let far = Instant::now() + Duration::from_secs(60);
        assert_eq!((delay.due(), delay.or_earlier(far)), (None, far));
        let begin = Instant::now();
        delay.hold(7);
        delay.hold(3);
        let first = delay.or_earlier(far);
        assert!(first >= begin + LATE && first < begin + Duration::from_secs(1));
        let mut left = Vec::new();
        while left.len() < 2 {
            match delay.due() {
                Some(slot) => left.push((slot, begin.elapsed() >= LATE)),
                None => std::thread::sleep(Duration::from_micros(100)),
            }
        }
        assert_eq!(left, [(7, true), (3, true)]);
        assert!(!(0..1_000).any(|_| Delay::of(Kind::Spin, 1.0).draws()));
    }
}
