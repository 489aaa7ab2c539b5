//! Which of a few cells does a thread count in? One of its own: two threads that add to one would wait for each other's caches.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Groups of cells; more threads than these share some.
pub(crate) const STRIPES: usize = 8;

/// The group of this thread.
pub(crate) fn own() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static STRIPE: usize = THREADS.fetch_add(1, Relaxed) % STRIPES;
    }
    STRIPE.with(|stripe| *stripe)
}

/// A number that threads add to, until CONFIG RESETSTAT.
#[derive(Debug, Default)]
pub(crate) struct Counter([Cell; STRIPES]);

/// With no cache line that is another's too.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, by: u64) {
        self.0[own()].0.fetch_add(by, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.iter().map(|cell| cell.0.load(Relaxed)).sum()
    }

    pub(crate) fn reset(&self) {
        self.0.iter().for_each(|cell| cell.0.store(0, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_threads_have_added_is_the_sum() {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            for by in 1..=2 * STRIPES as u64 {
                let counter = &counter;
                scope.spawn(move || counter.add(by));
            }
        });
        assert_eq!(counter.get(), (1..=2 * STRIPES as u64).sum::<u64>());
        counter.reset();
        assert_eq!(counter.get(), 0);
    }
}
