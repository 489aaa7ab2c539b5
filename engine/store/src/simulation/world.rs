//! What all threads of a simulation have in common: the disk, the clock, the order of moments, whether
//! calls may fail, and a hash over all results.

use super::model::Now;
use super::options::one_of;
use crate::clock::Clock;
use crate::durable::Durable;
use crate::error::Error;
use crate::lsm::SimDisk;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often something happened, by its name.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// A wall clock that is set in either direction, beside one that is not.
pub(super) struct SimClock {
    now_ms: AtomicU64,
    elapsed_ms: AtomicU64,
}

impl Clock for SimClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn elapsed_ms(&self) -> u64 {
        self.elapsed_ms.load(Ordering::Relaxed)
    }
}

/// What becomes of the words that tell each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Nothing,
    /// They are made and dropped: a run that is told has to be the same as one that is not.
    Unheard,
    Printed,
}

/// Where the clock is behind by more, store time moves on all the same.
const PAUSE_MS: u64 = 1_000;

pub(super) struct World {
    pub(super) disk: SimDisk,
    pub(super) clock: Arc<SimClock>,
    /// The time of the store, which clients expect.
    time_ms: AtomicU64,
    /// The latest time of any life.
    latest_ms: AtomicU64,
    moments: AtomicU64,
    hash: AtomicU64,
    /// The disk fails at random.
    pub(super) has_faults: AtomicBool,
    /// The disk returns other bytes than were written.
    pub(super) is_corrupting: AtomicBool,
    /// The last opening found no room for a manifest.
    pub(super) has_unkept_time: AtomicBool,
    /// Time has passed while the store's time paused.
    has_untaken_time: AtomicBool,
    /// The bank has its accounts, and nothing but transfers changes them.
    pub(super) is_banking: AtomicBool,
    /// Held for no longer than it takes to count.
    counts: parking_lot::Mutex<Counts>,
    telling: Telling,
}

impl World {
    pub(super) fn new(now_ms: u64, telling: Telling) -> Self {
        Self {
            disk: SimDisk::new(),
            clock: Arc::new(SimClock { now_ms: AtomicU64::new(now_ms), elapsed_ms: AtomicU64::new(0) }),
            time_ms: AtomicU64::new(now_ms),
            latest_ms: AtomicU64::new(now_ms),
            moments: AtomicU64::new(1),
            hash: AtomicU64::new(0),
            has_faults: AtomicBool::new(false),
            is_corrupting: AtomicBool::new(false),
            has_unkept_time: AtomicBool::new(false),
            has_untaken_time: AtomicBool::new(false),
            is_banking: AtomicBool::new(false),
            counts: parking_lot::Mutex::default(),
            telling,
        }
    }

    /// The number of this moment.
    pub(super) fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.time_ms.load(Ordering::Relaxed)
    }

    /// A store that was damaged may have lost its time, and one that was opened without room has not written
    /// it down.
    pub(super) fn now(&self) -> Now {
        let now_ms = self.now_ms();
        let may_go_back =
            self.is_corrupting.load(Ordering::Relaxed) || self.has_unkept_time.load(Ordering::Relaxed);
        Now { now_ms, latest_ms: if may_go_back { self.latest_ms.load(Ordering::Relaxed) } else { now_ms } }
    }

    /// Takes the time of the store, which may be another one than that of the life before.
    pub(super) fn begin_time(&self, db: &Durable) {
        let (time, clock) = (db.now_ms(), self.clock.now_ms());
        assert!(time >= clock, "the store's time {time} is behind the clock's {clock}");
        self.time_ms.store(time, Ordering::Relaxed);
        self.latest_ms.fetch_max(time, Ordering::Relaxed);
        self.tell(|| format!("the clock shows {clock}, the store's time is {time}"));
    }

    /// Time passes.
    pub(super) fn pass(&self, db: &Durable, by_ms: u64) {
        self.begin_time(db);
        let (before, clock) = (self.now_ms(), self.clock.now_ms() + by_ms);
        self.clock.elapsed_ms.fetch_add(by_ms, Ordering::Relaxed);
        self.clock.now_ms.store(clock, Ordering::Relaxed);
        self.begin_time(db);
        let time = self.now_ms();
        // Up to seven of what passed before were not taken yet.
        assert!(time >= before && time <= clock.max(before + by_ms + 7), "time goes from {before} to {time}");
        // While it pauses it takes nothing of what passes, until the clock falls further behind.
        let is_pausing = clock < time && clock + PAUSE_MS >= time;
        self.has_untaken_time.store(is_pausing, Ordering::Relaxed);
        let is_slow = clock + PAUSE_MS < time && time < before + by_ms / 8 * 7;
        assert!(!is_slow, "in {by_ms} ms time goes from {before} to {time}");
        if clock < time {
            self.count("time passes behind the highest");
        }
    }

    /// The clock is set, and no time passes.
    pub(super) fn jump(&self, db: &Durable, to_ms: u64) {
        self.begin_time(db);
        let before = self.now_ms();
        self.clock.now_ms.store(to_ms, Ordering::Relaxed);
        self.begin_time(db);
        assert!(self.now_ms() >= before, "time goes back from {before} to {}", self.now_ms());
    }

    /// The clock is set to any time up to the store's, which does not show.
    pub(super) fn jolt(&self, random: &mut Rng) {
        let by = one_of(random, &[0, 1, 900, 5_000, 900_000]);
        // Further back, the store's time would take what passed while it paused, and that shows.
        let by = if self.has_untaken_time.load(Ordering::Relaxed) { by.min(900) } else { by };
        self.clock.now_ms.store(self.now_ms().saturating_sub(by), Ordering::Relaxed);
        self.count("clock set while clients write");
    }

    pub(super) fn count(&self, what: &'static str) {
        self.add(what, 1);
    }

    pub(super) fn add(&self, what: &'static str, count: u64) {
        *self.counts.lock().entry(what).or_default() += count;
    }

    pub(super) fn take_counts(&self) -> Counts {
        std::mem::take(&mut self.counts.lock())
    }

    /// Takes a result into the hash.
    pub(super) fn note(&self, result: &(impl Hash + ?Sized)) {
        let mut hasher = Fnv(self.hash.load(Ordering::Relaxed) ^ 0xcbf2_9ce4_8422_2325);
        result.hash(&mut hasher);
        self.hash.store(hasher.finish(), Ordering::Relaxed);
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash.load(Ordering::Relaxed)
    }

    /// Tells what happens, where one seed is run again.
    pub(super) fn tell(&self, what: impl FnOnce() -> String) {
        match self.telling {
            Telling::Nothing => {}
            Telling::Unheard => drop(what()),
            Telling::Printed => println!("{}", what()),
        }
    }

    /// Whether calls may fail.
    pub(super) fn is_disturbed(&self) -> bool {
        self.disk.is_dead() || self.has_faults.load(Ordering::Relaxed)
    }

    /// Takes notice of an error, which must have a reason.
    pub(super) fn failed(&self, what: &'static str, error: &Error) {
        self.tell(|| format!("{what}: {error}"));
        self.note(&error.to_string());
        let is_right = match error {
            Error::Corrupt { .. } => self.is_corrupting.load(Ordering::Relaxed),
            _ => self.is_disturbed(),
        };
        assert!(is_right, "{what} fails for no reason: {error}");
        self.count("errors returned");
    }
}

struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
