//! How does an engine that has no clock of its own sync its log every second? By a thread of its driver, as its user would have it.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Calls something every second until it is stopped.
#[derive(Debug)]
pub struct EverySecond {
    stop: Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl EverySecond {
    /// Calls `call` a second from now, and so on; not again after it has failed.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn start(call: impl FnMut() -> anyhow::Result<()> + Send + 'static) -> anyhow::Result<Self> {
        Self::every(Duration::from_secs(1), call)
    }

    fn every(
        interval: Duration,
        mut call: impl FnMut() -> anyhow::Result<()> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("sync".to_owned()).spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                call()?;
            }
            Ok(())
        })?;
        Ok(Self { stop, thread })
    }

    /// Ends it.
    ///
    /// # Errors
    /// That of the call that failed.
    pub fn stop(self) -> anyhow::Result<()> {
        drop(self.stop);
        self.thread.join().map_err(|_| anyhow::anyhow!("the thread that syncs ended before its time"))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn it_calls_until_it_is_stopped() {
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        let ticker = EverySecond::every(Duration::from_millis(1), move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        while calls.load(Ordering::Relaxed) < 3 {
            std::thread::yield_now();
        }
        ticker.stop().unwrap();
        let then = calls.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(calls.load(Ordering::Relaxed), then);
    }

    #[test]
    fn a_call_that_fails_is_told_when_it_is_stopped() {
        let ticker = EverySecond::every(Duration::from_millis(1), || anyhow::bail!("no disk")).unwrap();
        while !ticker.thread.is_finished() {
            std::thread::yield_now();
        }
        assert_eq!(ticker.stop().unwrap_err().to_string(), "no disk");
    }
}
