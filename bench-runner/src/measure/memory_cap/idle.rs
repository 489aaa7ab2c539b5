//! What do connections cost that are open and do nothing?

use super::super::lab::Bench;
use super::super::progress::Stage;
use super::super::trial::{empty, invalidate, put};
use super::super::wire::End;
use crate::load::generator::{Connections, Generator};
use crate::load::request::Protocol;
use crate::model::Trial;
use crate::plan::CapPhase;
use crate::target::RunningTarget;
use crate::target::memory::{forget_rss_peak, rss_bytes, rss_bytes_peak};
use std::time::{Duration, Instant};

/// What a server does in the background about new connections is waited for this long.
const SETTLE: Duration = Duration::from_millis(500);

/// Opens connections, each answered once, and looks at the memory.
pub(super) fn idle(
    bench: &mut Bench<'_>,
    target: &mut RunningTarget,
    phase: &CapPhase,
    clients: u32,
) -> Result<Trial, End> {
    let mut trial = empty(bench.step.trial, bench.step.position);
    let rss_before = rss_bytes(target.pid);
    forget_rss_peak(target.pid);
    bench.tell(&phase.cell.label, Stage::Connecting);
    let begin = Instant::now();
    let connections = Connections { clients, threads: 1, cpus: &[], protocol: &Protocol::Resp2 };
    let generator = Generator::connect(&target.address, &connections)?;
    put(&mut trial, "connect_ms", begin.elapsed().as_secs_f64() * 1e3);
    bench.tell(&phase.cell.label, Stage::Measuring);
    std::thread::sleep(SETTLE);
    if bench.stopped() {
        return Err(End::Stopped);
    }
    trial.elapsed_s = begin.elapsed().as_secs_f64();
    trial.counts.operations = u64::from(clients);
    let held = rss_bytes(target.pid);
    let peak = rss_bytes_peak(target.pid).max(held);
    put(&mut trial, "rss_bytes_peak", peak as f64);
    put(&mut trial, "rss_bytes_growth", peak as f64 - rss_before as f64);
    let per_connection = (held as f64 - rss_before as f64) / f64::from(clients.max(1));
    put(&mut trial, "rss_bytes_per_connection", per_connection.max(0.0));
    drop(generator);
    if let Some(words) = target.ended() {
        invalidate(&mut trial, format!("it ended with the connections open: {words}"));
    }
    Ok(trial)
}
