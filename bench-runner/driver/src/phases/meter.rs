//! What did the kernel and the engine count while something was measured? Over one stretch, or the sum of several.

use crate::engine::Engine;
use crate::process;
use crate::protocol::EngineWork;
use std::time::{Duration, Instant};

/// What was used in the stretches so far.
#[derive(Default)]
pub(super) struct Used {
    pub(super) elapsed: Duration,
    pub(super) cpu_ns: u64,
    pub(super) rss_bytes_start: u64,
    pub(super) rss_bytes_peak: u64,
    pub(super) read_bytes: Option<u64>,
    pub(super) written_bytes: Option<u64>,
    pub(super) device_read_bytes: Option<u64>,
    pub(super) work: EngineWork,
}

/// A stretch that has begun.
pub(super) struct Stretch {
    work: EngineWork,
    rss_bytes: u64,
    io: Option<process::Io>,
    cpu_ns: u64,
}

impl Stretch {
    pub(super) fn begin<E: Engine>(engine: Option<&E>) -> Self {
        let work = engine.map(E::work).unwrap_or_default();
        process::forget_rss_peak();
        let rss_bytes = process::rss_bytes();
        let io = process::Io::now();
        Self { work, rss_bytes, io, cpu_ns: process::cpu_ns() }
    }

    /// Ends it, after `begin` to `end` by the clock.
    pub(super) fn end<E: Engine>(self, engine: Option<&E>, begin: Instant, end: Instant, used: &mut Used) {
        used.cpu_ns += process::cpu_ns().saturating_sub(self.cpu_ns);
        if let Some((before, after)) = self.io.zip(process::Io::now()) {
            let add = |sum: &mut Option<u64>, before: u64, after: u64| {
                *sum = Some(sum.unwrap_or(0) + after.saturating_sub(before));
            };
            add(&mut used.read_bytes, before.read_bytes, after.read_bytes);
            add(&mut used.written_bytes, before.written_bytes, after.written_bytes);
            add(&mut used.device_read_bytes, before.device_read_bytes, after.device_read_bytes);
        }
        let peak = process::rss_bytes_peak();
        // That of the stretch that took most.
        if peak.saturating_sub(self.rss_bytes) >= used.rss_bytes_peak.saturating_sub(used.rss_bytes_start) {
            (used.rss_bytes_start, used.rss_bytes_peak) = (self.rss_bytes, peak);
        }
        used.elapsed += end.saturating_duration_since(begin);
        used.work = used.work.and(engine.map(E::work).unwrap_or_default().since(self.work));
    }
}
