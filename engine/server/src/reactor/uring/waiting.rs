//! How does a thread wait? For the kernel to complete something, or for something that is due.

use std::io;
use std::time::{Duration, Instant};

use io_uring::{opcode, types};

use super::{Of, Uring};

/// Shorter waits would not be one.
const LEAST_WAIT: Duration = Duration::from_micros(1);

impl Uring {
    /// Lets a completion come when something is due. A wait that has an end of its own costs a timer each time; this one is set ten times a second.
    pub(super) fn set_alarm(&mut self, now: Instant, due: Instant) -> io::Result<()> {
        if self.alarm.is_some() {
            return Ok(());
        }
        self.alarm = Some(due);
        let wait = due.saturating_duration_since(now).max(LEAST_WAIT);
        let time = types::Timespec::new().sec(wait.as_secs()).nsec(wait.subsec_nanos());
        self.push(opcode::Timeout::new(&raw const time).build(), Of::Alarm)?;
        // The time is read when it is submitted.
        self.ring.submit(&mut self.completions)
    }

    /// Submits what is to be done and waits for something that is: until `due`.
    pub(super) fn wait(&mut self, now: Instant, due: Instant) -> io::Result<()> {
        let mut was_busy = std::mem::replace(&mut self.was_busy, true);
        while self.patience.asks_again(was_busy) {
            self.ring.submit(&mut self.completions)?;
            if !self.completions.is_empty() || Instant::now() >= due {
                return Ok(());
            }
            was_busy = false;
        }
        let is_woken = self.alarm.is_some_and(|alarm| alarm <= due);
        let wait = (!is_woken).then(|| due.saturating_duration_since(now).max(LEAST_WAIT));
        self.ring.wait(wait, &mut self.completions)?;
        self.was_busy = !self.completions.is_empty();
        Ok(())
    }
}
