//! What all threads of a simulation have in common: the disk, the clock, the order of moments, whether
//! calls may fail, and a hash over all results.

use super::model::Now;
use crate::clock::{Clock, ManualClock};
use crate::error::Error;
use crate::lsm::SimDisk;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often something happened, by its name.
pub(super) type Counts = BTreeMap<&'static str, u64>;

pub(super) struct World {
    pub(super) disk: SimDisk,
    pub(super) clock: Arc<ManualClock>,
    /// The latest time that the clock has shown.
    latest_ms: AtomicU64,
    moments: AtomicU64,
    hash: AtomicU64,
    /// The disk fails at random.
    pub(super) has_faults: AtomicBool,
    /// The disk returns other bytes than were written.
    pub(super) is_corrupting: AtomicBool,
    /// The bank has its accounts, and nothing but transfers changes them.
    pub(super) is_banking: AtomicBool,
    /// Held for no longer than it takes to count.
    counts: parking_lot::Mutex<Counts>,
    is_told: bool,
}

impl World {
    pub(super) fn new(now_ms: u64, is_told: bool) -> Self {
        Self {
            disk: SimDisk::new(),
            clock: Arc::new(ManualClock::new(now_ms)),
            latest_ms: AtomicU64::new(now_ms),
            moments: AtomicU64::new(1),
            hash: AtomicU64::new(0),
            has_faults: AtomicBool::new(false),
            is_corrupting: AtomicBool::new(false),
            is_banking: AtomicBool::new(false),
            counts: parking_lot::Mutex::default(),
            is_told,
        }
    }

    /// The number of this moment.
    pub(super) fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(super) fn now(&self) -> Now {
        Now { now_ms: self.now_ms(), latest_ms: self.latest_ms.load(Ordering::Relaxed) }
    }

    pub(super) fn set_clock(&self, now_ms: u64) {
        self.clock.set(now_ms);
        self.latest_ms.fetch_max(now_ms, Ordering::Relaxed);
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
        if self.is_told {
            println!("{}", what());
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
