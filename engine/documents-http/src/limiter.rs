//! Rate limits: requests of a token or an address in a second, by a token bucket each.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::StatusCode;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::problem::Problem;

/// Requests between two times that clients not seen lately are forgotten: each time all are visited.
const FORGET_EACH: u32 = 10_000;

/// Limits requests of each client by itself.
pub struct Limiter {
    all: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
    per_second: NonZeroU32,
    checks: AtomicU32,
}

impl Limiter {
    /// So many requests a second, and as many at once.
    #[must_use]
    pub fn new(per_second: NonZeroU32) -> Self {
        Self {
            all: RateLimiter::keyed(Quota::per_second(per_second)),
            clock: DefaultClock::default(),
            per_second,
            checks: AtomicU32::new(0),
        }
    }

    /// Counts a request of a client.
    pub(crate) fn check(&self, client: String) -> Result<(), Problem> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % FORGET_EACH == FORGET_EACH - 1 {
            self.all.retain_recent();
        }
        self.all.check_key(&client).map(drop).map_err(|limited| {
            let wait = limited.wait_time_from(self.clock.now());
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            let detail =
                format!("more than {} requests in a second; try again in {seconds} s", self.per_second);
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", detail).retry_after(seconds)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_a_limit_of_its_own() {
        let limiter = Limiter::new(NonZeroU32::new(3).unwrap());
        for _ in 0..3 {
            assert!(limiter.check("a".to_owned()).is_ok());
        }
        let problem = limiter.check("a".to_owned()).unwrap_err();
        assert_eq!(problem.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(limiter.check("b".to_owned()).is_ok());
    }
}
