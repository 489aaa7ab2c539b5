//! What must be done now and then, whoever is connected? Keys end, memory goes back, rates are noted. One thread does it for all, a
//! millisecond at a time, so that nobody waits for it.

use std::time::{Duration, Instant};

use crate::shared::Shared;

/// Time between two looks when there is little to do.
const REST: Duration = Duration::from_millis(100);

/// Time between them when there is more: together with the budgets a third to a half of the time, more than a quarter as in Redis.
const BREATH: Duration = Duration::from_millis(2);

/// What one look may take for each of its two parts.
const BUDGET: Duration = Duration::from_millis(1);

/// When to look next.
pub(crate) struct House {
    next: Option<Instant>,
    next_sample: Instant,
}

impl House {
    /// Thread `own` of several; the first one keeps the house.
    pub(crate) fn new(own: usize) -> Self {
        let now = Instant::now();
        Self { next: (own == 0).then_some(now + REST), next_sample: now + REST }
    }

    /// The earlier of this and the next look.
    pub(crate) fn or_earlier(&self, other: Instant) -> Instant {
        self.next.map_or(other, |next| next.min(other))
    }

    /// Does what is due at `now`.
    pub(crate) fn keep(&mut self, shared: &Shared, now: Instant) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        let ended = shared.database.expire_cycle(BUDGET);
        let has_more = shared.database.maintain(BUDGET);
        self.next = Some(now + if ended > 0 || has_more { BREATH } else { REST });
        if now >= self.next_sample {
            self.next_sample = now + REST;
            shared.sample();
        }
    }
}
