//! How many bytes are in use, and may there be more? One atomic number for the whole store.
//!
//! The cap is global: a shard may hold more than its share while others hold less. Room is reserved before
//! memory is allocated and given back after memory is freed, so the number is never below what is held, and
//! never above the cap, not even for a moment: a reservation that does not fit changes nothing.
//!
//! Relaxed ordering is enough: the number guards no other memory. What it counts is guarded by the shards' locks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(super) struct Budget {
    used: AtomicU64,
    cap: AtomicU64,
}

impl Budget {
    pub(super) fn new(cap: u64, used: u64) -> Self {
        Self { used: AtomicU64::new(used), cap: AtomicU64::new(cap) }
    }

    /// Takes `bytes` if they fit under the cap. Taking nothing always succeeds, even above a lowered cap.
    pub(super) fn try_reserve(&self, bytes: u64) -> bool {
        if bytes == 0 {
            return true;
        }
        let cap = self.cap();
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= cap);
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    pub(super) fn release(&self, bytes: u64) {
        if bytes > 0 {
            self.used.fetch_sub(bytes, Relaxed);
        }
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    pub(super) fn cap(&self) -> u64 {
        self.cap.load(Relaxed)
    }

    pub(super) fn set_cap(&self, cap: u64) {
        self.cap.store(cap, Relaxed);
    }
}
