//! How long from the start of a process to its first right answer?
//!
//! What others use is measured right before the first start and right after the last end: in between the container
//! runtime works too, and its part cannot be told from theirs.

use super::lab::Bench;
use super::os_stat::Account;
use super::progress::Stage;
use super::trial::{broken, empty, fact, put, put_times};
use crate::load::recorder::Times;
use crate::model::{Status, Trial};
use crate::plan::CellKey;
use crate::target::locate;
use std::time::Duration;

/// How long others are looked at, before and after: twenty of the ticks that the kernel counts in.
const LOOK: Duration = Duration::from_millis(200);
/// How long a container runtime may still clean up behind a container that has ended.
const CLEANING_UP: Duration = Duration::from_millis(300);

/// Starts the target several times over; nothing when told to stop.
pub(crate) fn measure(bench: &mut Bench<'_>, cell: &CellKey, starts: u32) -> Option<Trial> {
    let step = bench.step;
    let mut times = Times::new();
    let mut ready_ms = Vec::new();
    let mut trial = empty(step.trial, step.position);
    let (mut others, mut rss_bytes_peak) = (Account::default(), 0);
    let look = |others: &mut Account| {
        if step.mode.is_container() {
            std::thread::sleep(CLEANING_UP);
        }
        others.add_quiet(LOOK);
    };
    look(&mut others);
    for _ in 0..starts.max(1) {
        if bench.stopped() {
            return None;
        }
        bench.tell(&cell.label, Stage::Starting);
        let target = match bench.start() {
            Ok(target) => target,
            Err(_) if bench.stopped() => return None,
            Err(reason) => return Some(broken(step.trial, step.position, Status::Failed, reason)),
        };
        times.record((target.ready_ms * 1e6) as u64);
        ready_ms.push(target.ready_ms);
        if trial.process.is_none() {
            rss_bytes_peak = crate::target::memory::rss_bytes_peak(target.pid);
            put(&mut trial, "rss_bytes_peak", rss_bytes_peak as f64);
            trial.process = Some(target.facts(bench.generator_cpus()));
        }
        bench.tell(&cell.label, Stage::Stopping);
        target.stop();
    }
    trial.counts.operations = ready_ms.len() as u64;
    trial.elapsed_s = ready_ms.iter().sum::<f64>() / 1e3;
    look(&mut others);
    let mut stat = others.finish(std::process::id());
    // As much of the starts as it was of the two looks.
    stat.steal_ms *= trial.elapsed_s / (2.0 * LOOK.as_secs_f64());
    (stat.rss_bytes_peak, stat.rss_bytes_end) = (rss_bytes_peak, rss_bytes_peak);
    trial.os = Some(stat);
    put(&mut trial, "startup_ms", median(&mut ready_ms.clone()));
    put_times(&mut trial, None, &times);
    trial.histograms.extend(times.to_record("start"));
    fact(&mut trial, "startup_ms_each", ready_ms);
    if let Some(bytes) = locate(bench.definition, bench.binary_override, bench.setup)
        .ok()
        .and_then(|path| std::fs::metadata(path).ok())
    {
        put(&mut trial, "binary_bytes", bytes.len() as f64);
    }
    if let (Ok(image), true) = (&bench.setup.image, step.mode.is_container()) {
        put(&mut trial, "image_bytes", image.bytes as f64);
    }
    Some(trial)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(super::median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(super::median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(super::median(&mut []), 0.0);
    }
}
