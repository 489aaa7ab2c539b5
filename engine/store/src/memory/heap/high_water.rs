//! Does the kernel's high-water mark of this process's memory show more than was ever resident? It would, by up to 31 pages per CPU.
//!
//! Linux counts a process's pages on each CPU apart and reports a CPU's share only when it has come to a batch: 32 pages, or twice as many
//! as there are CPUs. `VmRSS` adds up all shares, but the high-water mark (`VmHWM`, `ru_maxrss`) is taken from what was reported. Pages that
//! one CPU gave back without reporting it still stand there when another CPU reports those that took their place. Under a cap of 2 MiB on
//! two CPUs that is up to 12 % of it, for memory that never was in use at the same time.
//!
//! So, where the cap is small, a CPU on which pages went back reports it: it gives back as many pages as a batch has, which takes its share
//! over the edge, and takes them again. Those pages are resident from the start and stand for nothing else. Its share is then not below
//! zero, and what is reported not above what is resident.

use std::sync::OnceLock;

use parking_lot::Mutex;
use rustix::thread::sched_getcpu;

use super::map::{Mapping, PAGE};

/// A cap is small where what the CPUs do not report may be more than one part in so many of it.
const PARTS: u64 = 512;

/// As long as the thread is moved to another CPU in the midst of it, so often.
const ATTEMPTS: usize = 4;

/// Of the process, as the mark is.
static BALLAST: OnceLock<Ballast> = OnceLock::new();

/// As many pages as a batch has.
struct Ballast(Mutex<Mapping>);

/// Keeps the process's high-water mark (`VmHWM`, `ru_maxrss`) from rising above what is resident, as Linux lets it by up to 31 pages for each of
/// its `online_cpus`; does nothing where that is little beside `cap`, in bytes. For a program whose memory is measured by that mark. Costs as
/// many pages once as a CPU may leave unreported, and some 10 µs whenever the store gives pages back.
pub fn keep_high_water_true(cap: u64, online_cpus: usize) {
    let batch = online_cpus.saturating_mul(2).max(32);
    let bytes = batch.saturating_mul(PAGE);
    let unreported = online_cpus.saturating_mul(bytes) as u64;
    if cap / PARTS >= unreported || BALLAST.get().is_some() {
        return;
    }
    // A batch lies in one table of pages: they are counted table by table.
    let Some(align) = bytes.checked_next_power_of_two() else { return };
    let Some(mut pages) = Mapping::new(bytes, align) else { return };
    pages.renew();
    // Another thread's may have been there first.
    let _ = BALLAST.set(Ballast(Mutex::new(pages)));
}

/// Has the CPU that this runs on report what it has counted of this process's memory, where a small cap makes that matter. To be called
/// when memory has gone back to the kernel, before others may take as much; the store does so for its own. See [`keep_high_water_true`].
pub fn settle_high_water() {
    if let Some(ballast) = BALLAST.get() {
        ballast.settle();
    }
}

impl Ballast {
    #[cold]
    fn settle(&self) {
        let mut pages = self.0.lock();
        for _ in 0..ATTEMPTS {
            let cpu = sched_getcpu();
            pages.renew();
            if sched_getcpu() == cpu {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settling_again_and_again_leaves_as_much_resident_as_before() {
        keep_high_water_true(u64::MAX, usize::MAX / PAGE / 4);
        assert!(BALLAST.get().is_none());
        keep_high_water_true(2 << 20, 2);
        let ballast = BALLAST.get().unwrap();
        for _ in 0..1000 {
            settle_high_water();
        }
        assert!(ballast.0.lock().len() >= 32 * PAGE);
        keep_high_water_true(1 << 20, 2);
        assert!(std::ptr::eq(ballast, BALLAST.get().unwrap()));
    }
}
