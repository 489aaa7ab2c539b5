//! Where are the keys of the keyspaces behind the first? In shards of their own, an eighth as many for each, that are made when a keyspace is first used.
//!
//! So a keyspace is counted, walked and emptied without a look at the keys of others, and one that is not used takes no memory. What all of them would take is
//! counted from the beginning: nothing has to be evicted when one comes into use.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};

use super::shard::Padded;
use super::size_class::cost;
use crate::keyspace::{KEYSPACES, Keyspace};

/// So many times fewer shards than the first keyspace has.
const SHARE: usize = 8;

/// Keyspaces behind the first, [`Keyspace::INTERNAL`] included.
const OTHERS: usize = KEYSPACES as usize;

/// The shards of all keyspaces but the first; their numbers follow on those of the first.
pub(super) struct Others {
    /// Shards of the first keyspace.
    first: usize,
    /// Shards of each of the others.
    each: usize,
    groups: [OnceLock<Box<[Padded]>>; OTHERS],
    /// Whether any of them is in use.
    is_used: AtomicBool,
    /// Held while one comes into use, and by who locks all shards. Locked before any of them.
    coming: Mutex<()>,
}

impl Others {
    pub(super) fn new(first: usize) -> Self {
        Self {
            first,
            each: (first / SHARE).max(1),
            groups: [const { OnceLock::new() }; OTHERS],
            is_used: AtomicBool::new(false),
            coming: Mutex::new(()),
        }
    }

    /// Bytes that all of them take, in use or not.
    pub(super) fn most_bytes(&self) -> u64 {
        OTHERS as u64 * cost(self.each * size_of::<Padded>())
    }

    /// Whether any of them is in use.
    #[inline]
    pub(super) fn are_used(&self) -> bool {
        self.is_used.load(Relaxed)
    }

    /// Numbers of shards end before this.
    pub(super) fn end(&self) -> usize {
        if self.are_used() { self.first + OTHERS * self.each } else { self.first }
    }

    /// The numbers of a keyspace's shards.
    pub(super) fn numbers(&self, keyspace: Keyspace) -> Range<usize> {
        match usize::from(keyspace.number()) {
            0 => 0..self.first,
            number => {
                let start = self.first + (number - 1) * self.each;
                start..start + self.each
            }
        }
    }

    /// Which shard of a keyspace behind the first a hash leads to; the keyspace is in use from now on. No shard may be locked by the caller that has not located a key
    /// of this keyspace before.
    pub(super) fn locate(&self, keyspace: Keyspace, hash: usize) -> usize {
        let numbers = self.numbers(keyspace);
        self.group((numbers.start - self.first) / self.each);
        numbers.start + (hash & (self.each - 1))
    }

    fn group(&self, group: usize) -> &[Padded] {
        if let Some(shards) = self.groups[group].get() {
            return shards;
        }
        let _coming = self.coming.lock();
        self.is_used.store(true, Relaxed);
        self.groups[group].get_or_init(|| (0..self.each).map(|_| Padded::default()).collect())
    }

    /// A shard by its number, which is not one of the first keyspace.
    #[cold]
    pub(super) fn shard(&self, number: usize) -> &Padded {
        let place = number - self.first;
        &self.group(place / self.each)[place % self.each]
    }

    /// Whether the shard with this number is there; those of the first keyspace are.
    pub(super) fn has(&self, number: usize) -> bool {
        number < self.first || self.groups[(number - self.first) / self.each].get().is_some()
    }

    /// The number itself, or that of the next shard that is there, or the end.
    pub(super) fn next(&self, mut number: usize) -> usize {
        let end = self.end();
        while number < end && !self.has(number) {
            number = self.first + ((number - self.first) / self.each + 1) * self.each;
        }
        number.min(end)
    }

    /// A random keyspace's random shard, of those in use.
    pub(super) fn any(&self, rng: &mut fastrand::Rng) -> usize {
        let used = |group: &usize| self.groups[*group].get().is_some();
        let count = (0..OTHERS).filter(used).count();
        let chosen = rng.usize(..=count);
        match (0..OTHERS).filter(used).nth(chosen) {
            Some(group) => self.first + group * self.each + rng.usize(..self.each),
            None => rng.usize(..self.first),
        }
    }

    /// Lets no keyspace come into use.
    pub(super) fn stay(&self) -> MutexGuard<'_, ()> {
        self.coming.lock()
    }
}
