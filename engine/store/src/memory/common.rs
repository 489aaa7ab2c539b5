//! What do all shards have in common?

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};

use parking_lot::RwLock;

use super::budget::Budget;
use super::ghosts::Ghosts;
use super::heap::Heap;
use super::order::CommonOrder;
use super::policy::Policy;
use super::slot_pool::SlotPool;
use crate::clock::Clock;

/// What all shards have in common.
pub(super) struct Common {
    pub(super) budget: Budget,
    pub(super) heap: Heap,
    pub(super) slots: SlotPool,
    pub(super) order: CommonOrder,
    pub(super) clock: Arc<dyn Clock>,
    policy: AtomicU8,
    /// What left a short while ago, where the policy asks for that.
    pub(super) ghosts: RwLock<Option<Ghosts>>,
    /// Bytes that the store holds when it is empty, the heap's aside.
    base_bytes: u64,
    /// Bytes that the embedding program has asked to be counted.
    pub(super) reserved: AtomicU64,
    /// No entry of the store expires before this Unix millisecond: a cycle without work looks at nothing else.
    pub(super) earliest_expiry: AtomicU64,
}

impl Common {
    pub(super) fn new(
        base_bytes: u64,
        budget: Budget,
        heap: Heap,
        clock: Arc<dyn Clock>,
        policy: Policy,
    ) -> Self {
        Self {
            budget,
            heap,
            slots: SlotPool::default(),
            order: CommonOrder::new(),
            clock,
            policy: AtomicU8::new(policy as u8),
            ghosts: RwLock::new(None),
            base_bytes,
            reserved: AtomicU64::new(0),
            earliest_expiry: AtomicU64::new(u64::MAX),
        }
    }

    /// Bytes that the store holds with nothing in it but what takes `alone`.
    pub(super) fn needed(&self, alone: u64) -> u64 {
        let ghosts = self.ghosts.read().as_ref().map_or(0, Ghosts::cost);
        let others = self.base_bytes.saturating_add(ghosts).saturating_add(self.reserved.load(Relaxed));
        others.saturating_add(self.heap.fixed_bytes()).saturating_add(alone)
    }

    /// Bytes by which there are more live entries than segments can well hold. Where whole segments leave, there is no such limit.
    pub(super) fn excess(&self) -> u64 {
        self.excess_beside(0)
    }

    /// As [`excess`](Self::excess), were `wanted` more bytes in use for something else.
    pub(super) fn excess_beside(&self, wanted: u64) -> u64 {
        if self.budget.cap() == u64::MAX || self.policy() == Policy::AllkeysS3Fifo {
            return 0;
        }
        self.heap.excess(&self.budget, wanted)
    }

    pub(super) fn policy(&self) -> Policy {
        Policy::ALL[usize::from(self.policy.load(Relaxed)) % Policy::ALL.len()]
    }

    pub(super) fn set_policy(&self, policy: Policy) {
        self.policy.store(policy as u8, Relaxed);
    }
}
