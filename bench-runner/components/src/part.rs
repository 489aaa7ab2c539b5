//! How is an operation measured? By criterion, one after the other; and beside its estimate stands a note of what an estimate does not say.
//!
//! The clock is the CPU time of the thread: no part waits for anything, so on an idle machine it says what a wall clock says, and on a busy one it leaves out the time in which
//! another process had the CPU. It is read twice a sample, or twice a refill.
//!
//! ```text
//! <criterion>/<part>/<operation>/<entries>/new/estimates.json    criterion's
//! <criterion>/<part>/<operation>/<entries>/new/component.json    ours: { "allocations_per_op": 1.0,
//!                                                                        "library": "crossbeam-skiplist 0.1.3", "like": "<part>/<operation>/<entries>" }
//! ```

use crate::libraries::versioned;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use plumbkv_bench_driver::allocated;
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Operations over which allocations are counted.
const COUNTED: usize = 10_000;

/// A part, and the like parts of others.
pub struct Part<'a> {
    group: BenchmarkGroup<'a, WallTime>,
    name: &'static str,
    home: &'a Path,
    /// Our operation, and how many entries it has to do with.
    operation: (&'static str, usize),
}

impl<'a> Part<'a> {
    /// A part whose estimates criterion keeps below `home`.
    #[must_use]
    pub fn new(criterion: &'a mut Criterion, home: &'a Path, name: &'static str) -> Self {
        Self { group: criterion.benchmark_group(name), name, home, operation: ("", 0) }
    }

    /// Our operation on one of so many entries after the other, without end.
    pub fn ours(&mut self, operation: &'static str, entries: usize, run: impl FnMut(usize)) {
        self.operation = (operation, entries);
        self.measure(None, &mut Steps { at: 0, entries, run });
    }

    /// The same of a library.
    pub fn theirs(&mut self, library: &'static str, run: impl FnMut(usize)) {
        let entries = self.operation.1;
        self.measure(Some(library), &mut Steps { at: 0, entries, run });
    }

    /// An operation of ours that needs preparation which does not count.
    pub fn ours_prepared(&mut self, operation: &'static str, entries: usize, mut run: impl Prepared) {
        self.operation = (operation, entries);
        self.measure(None, &mut run);
    }

    /// The same of a library.
    pub fn theirs_prepared(&mut self, library: &'static str, mut run: impl Prepared) {
        self.measure(Some(library), &mut run);
    }

    fn measure(&mut self, library: Option<&str>, run: &mut impl Prepared) {
        let (operation, entries) = self.operation;
        let id = library.map_or_else(|| operation.to_owned(), |library| format!("{operation}-{library}"));
        run.run(COUNTED);
        let allocations = run.run(COUNTED).allocations as f64 / COUNTED as f64;
        self.group.bench_function(BenchmarkId::new(&id, entries), |b| {
            b.iter_custom(|iterations| run.run(iterations as usize).time);
        });
        let mut note = serde_json::json!({ "allocations_per_op": allocations });
        if let Some(library) = library {
            note["library"] = versioned(library).into();
            note["like"] = format!("{}/{operation}/{entries}", self.name).into();
        }
        let folder: PathBuf = [self.name, &id, &entries.to_string(), "new"].iter().collect();
        let folder = self.home.join(folder);
        // None where only some were asked for, or criterion was told to test.
        if folder.is_dir()
            && let Err(error) = std::fs::write(folder.join("component.json"), note.to_string())
        {
            eprintln!("{}: the note of allocations was not written: {error}", folder.display());
            std::process::exit(1);
        }
    }
}

/// What a number of operations cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    time: Duration,
    allocations: u64,
}

impl Cost {
    /// Carries something out and adds what it costs.
    pub fn of<R>(&mut self, run: impl FnOnce() -> R) -> R {
        let (before, begin) = (allocated().calls, cpu_time());
        let result = run();
        self.time += cpu_time().saturating_sub(begin);
        self.allocations += allocated().calls - before;
        result
    }
}

/// CPU time that this thread has used.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// An operation of which some of the work does not count.
pub trait Prepared {
    /// So many operations, and what they cost.
    fn run(&mut self, operations: usize) -> Cost;
}

/// Operations without preparation.
struct Steps<F> {
    at: usize,
    entries: usize,
    run: F,
}

impl<F: FnMut(usize)> Prepared for Steps<F> {
    fn run(&mut self, operations: usize) -> Cost {
        let mut cost = Cost::default();
        cost.of(|| {
            for _ in 0..operations {
                self.at = if self.at + 1 < self.entries { self.at + 1 } else { 0 };
                (self.run)(self.at);
            }
        });
        cost
    }
}

/// Inserts into a table that is nearly full: one that is, is replaced, and filled up to seven eighths at nobody's expense.
pub struct Filling<T, N, I> {
    table: Option<T>,
    entries: usize,
    filled: usize,
    new: N,
    insert: I,
}

impl<T, N: FnMut() -> T, I: FnMut(&mut T, usize)> Filling<T, N, I> {
    /// `new` makes an empty table, `insert` puts the entry with a number into it.
    pub fn new(entries: usize, new: N, insert: I) -> Self {
        Self { table: None, entries, filled: 0, new, insert }
    }
}

impl<T, N: FnMut() -> T, I: FnMut(&mut T, usize)> Prepared for Filling<T, N, I> {
    fn run(&mut self, operations: usize) -> Cost {
        let (mut cost, mut left) = (Cost::default(), operations);
        while left > 0 {
            if self.table.is_none() || self.filled == self.entries {
                // Gone before the next one comes: there is never more than one.
                self.table = None;
                let mut table = (self.new)();
                self.filled = self.entries / 8 * 7;
                (0..self.filled).for_each(|entry| (self.insert)(&mut table, entry));
                self.table = Some(table);
            }
            let Some(table) = &mut self.table else { return cost };
            let upto = (self.filled + left).min(self.entries);
            cost.of(|| (self.filled..upto).for_each(|entry| (self.insert)(table, entry)));
            left -= upto - self.filled;
            self.filled = upto;
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_full_is_replaced_and_filled_up_at_nobody_s_expense() {
        let mut made = 0;
        let mut seen = Vec::new();
        {
            let mut filling = Filling::new(
                80,
                || {
                    made += 1;
                    Vec::with_capacity(80)
                },
                |table: &mut Vec<usize>, entry| {
                    assert_eq!(table.len(), entry);
                    table.push(entry);
                    seen.push(entry);
                },
            );
            assert!(filling.run(25).time > Duration::ZERO);
        }
        assert_eq!((made, seen.len()), (3, 70 + 10 + 70 + 10 + 70 + 5));
    }

    #[test]
    fn only_the_time_of_this_thread_counts() {
        let mut cost = Cost::default();
        cost.of(|| std::thread::sleep(Duration::from_millis(60)));
        assert!(cost.time < Duration::from_millis(30), "{:?} of sleep", cost.time);
        let begin = std::time::Instant::now();
        cost.of(|| {
            let upto = cpu_time() + Duration::from_millis(20);
            while cpu_time() < upto {}
        });
        assert!(
            cost.time > Duration::from_millis(10) && cost.time <= begin.elapsed() + Duration::from_millis(30)
        );
    }

    #[test]
    fn steps_go_round() {
        let mut seen = Vec::new();
        Steps { at: 0, entries: 3, run: |at| seen.push(at) }.run(5);
        assert_eq!(seen, [1, 2, 0, 1, 2]);
    }
}
