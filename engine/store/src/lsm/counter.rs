//! How often has something happened that threads do so often that a locked instruction each time would be felt?
//!
//! A thread has a place of its own in every counter while it lives, and nobody else writes there: a load and a store do. Threads beyond the number of places share one more and pay.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const PLACES: usize = 64;

/// The places that a living thread has, a bit each.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Not asked for a place yet, and asked in vain or already given back.
const NONE: u8 = 0;
const NEVER: u8 = u8::MAX;

thread_local! {
    /// The place of this thread, counted from one: without a destructor of its own, or each look would have to ask whether that has run.
    static PLACE: Cell<u8> = const { Cell::new(NONE) };
    static OWNED: Owned = Owned::take();
}

/// Gives the place back when the thread ends.
struct Owned(Option<u8>);

impl Owned {
    fn take() -> Self {
        let more = |taken: u64| (taken != u64::MAX).then(|| taken | (taken + 1));
        // The pair of the release below: the next owner goes on from what the last one counted.
        let before = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, more);
        Self(before.ok().map(|taken| taken.trailing_ones() as u8))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        PLACE.set(NEVER);
        if let Some(place) = self.0 {
            TAKEN.fetch_and(!(1 << place), Ordering::Release);
        }
    }
}

fn ask_for_place() -> u8 {
    let place = OWNED.try_with(|owned| owned.0.map_or(NEVER, |place| place + 1)).unwrap_or(NEVER);
    PLACE.set(place);
    place
}

/// A line of the processor's cache, so that no two threads write to the same one.
#[derive(Default)]
#[repr(align(64))]
struct Line(AtomicU64);

/// A number that only grows, by many threads at once.
pub(crate) struct Counter {
    places: Box<[Line; PLACES]>,
    shared: Line,
}

impl Counter {
    pub(crate) fn new() -> Self {
        Self { places: Box::new(std::array::from_fn(|_| Line::default())), shared: Line::default() }
    }

    #[inline]
    pub(crate) fn count(&self) {
        match self.places.get(usize::from(PLACE.get().wrapping_sub(1))) {
            Some(Line(own)) => own.store(own.load(Ordering::Relaxed) + 1, Ordering::Relaxed),
            None => self.count_elsewhere(),
        }
    }

    #[cold]
    fn count_elsewhere(&self) {
        if PLACE.get() == NONE && ask_for_place() != NEVER {
            return self.count();
        }
        self.shared.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn sum(&self) -> u64 {
        let load = |line: &Line| line.0.load(Ordering::Relaxed);
        self.places.iter().map(load).sum::<u64>() + load(&self.shared)
    }
}
