//! Sampler of a phase: writes per second, resident memory by the second, and the largest size of the engine's files.
//!
//! It is a thread of the driver, which sleeps between two looks. Its CPU time counts as the engine's, for every engine
//! alike: one walk over the store's folder every 50 ms.

use super::store::Store;
use crate::process;
use crate::protocol::{Phase, PhaseWindow};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Between two looks at the files.
const LOOK: Duration = Duration::from_millis(50);
/// Length of a window.
const WINDOW: Duration = Duration::from_secs(1);

/// The samples of a phase.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) windows: Vec<PhaseWindow>,
    pub(super) disk_bytes_peak: Option<u64>,
}

/// Runs a phase, with a sampler beside it where the phase wants one.
pub(super) fn watched<T>(
    phase: &Phase,
    store: &Store,
    location: &str,
    run: impl FnOnce() -> T,
) -> (T, Watch) {
    let with_windows = match phase {
        Phase::Write { watched: true, .. } => true,
        Phase::Settle => false,
        _ => return (run(), Watch::default()),
    };
    // Before the sampler starts: its windows cover the whole phase.
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let (stop, stopped) = channel();
        let sampler = scope.spawn(move || sample(store, Path::new(location), begin, with_windows, &stopped));
        let done = run();
        drop(stop);
        // Without samples the figures that need them are absent.
        (done, sampler.join().unwrap_or_default())
    })
}

fn sample(
    store: &Store,
    location: &Path,
    begin: Instant,
    with_windows: bool,
    stopped: &Receiver<()>,
) -> Watch {
    let mut watch = Watch::default();
    let (mut start, mut counted) = (Duration::ZERO, 0);
    loop {
        watch.disk_bytes_peak = watch.disk_bytes_peak.max(process::folder_bytes(location));
        let is_over = stopped.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout);
        let now = begin.elapsed();
        if with_windows && (is_over || now >= start + WINDOW) {
            let written = store.written();
            watch.windows.push(PhaseWindow {
                start_ms: start.as_secs_f64() * 1e3,
                length_ms: (now - start).as_secs_f64() * 1e3,
                operations: written - counted,
                rss_bytes: process::rss_bytes(),
            });
            (start, counted) = (now, written);
        }
        if is_over {
            watch.disk_bytes_peak = watch.disk_bytes_peak.max(process::folder_bytes(location));
            return watch;
        }
    }
}
