//! Which records do the phases of one workload share, and what must each hold?

use crate::draws::{Shuffle, mix};
use crate::engine::Batch;
use crate::keys::{self, Key};
use crate::protocol::{KeySchema, Order, Records, ValueKind};
use crate::values::{KEY_BYTES, Values, write_key};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the phases of one workload share.
pub(crate) struct Store {
    pub(super) records: Records,
    pub(super) seed: u64,
    values: Values,
    /// Records beyond those of the workload, which phases that insert have added.
    inserted: AtomicU64,
    /// Where the keys of the phase at hand are drawn from.
    draws: AtomicU64,
    /// Records that a watched phase has written so far.
    written: AtomicU64,
}

impl Store {
    pub(crate) fn new(records: Records, seed: u64) -> Self {
        let longest = records.value_bytes as usize;
        let values = match records.values {
            ValueKind::Incompressible => Values::new(seed, longest),
            ValueKind::HalfCompressible => Values::half_compressible(seed, longest),
        };
        Self {
            records,
            values,
            seed,
            inserted: AtomicU64::new(0),
            draws: AtomicU64::new(seed),
            written: AtomicU64::new(0),
        }
    }

    /// Phase number `number` begins: it draws other keys than those before it, or what a warm-up has read would be read again; and
    /// other keys than the same phase of a workload with another `draw_seed`.
    pub(crate) fn begin_phase(&self, draw_seed: u64, number: usize) {
        let drawn = mix(mix(self.seed ^ draw_seed) ^ (number as u64 + 1));
        self.draws.store(drawn, Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
    }

    /// Seed of the keys that the phase at hand draws.
    pub(super) fn draws(&self) -> u64 {
        self.draws.load(Ordering::Relaxed)
    }

    /// Records there are now.
    pub(super) fn count(&self) -> u64 {
        self.records.count + self.inserted.load(Ordering::Relaxed)
    }

    /// The record after the last is there from now on.
    pub(super) fn inserted(&self) {
        self.inserted.fetch_add(1, Ordering::Relaxed);
    }

    /// A watched phase has written so many more records.
    pub(super) fn has_written(&self, records: u64) {
        self.written.fetch_add(records, Ordering::Relaxed);
    }

    /// Records that a watched phase has written so far.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(super) fn key(&self, index: u64) -> Key {
        keys::key(&self.records, index)
    }

    /// Whether `key` is that of record `index`.
    pub(super) fn is_key(&self, index: u64, key: &[u8]) -> bool {
        match self.records.keys {
            // A scan asks this of every record.
            KeySchema::OneFamily => {
                let mut expected = [0; KEY_BYTES];
                write_key(index, &mut expected);
                key == expected
            }
            KeySchema::FiveFamilies => key == &*self.key(index),
        }
    }

    /// A key between two records, one for each index.
    pub(super) fn absent_key(&self, index: u64) -> Key {
        keys::absent_key(&self.records, index)
    }

    pub(super) fn is_right(&self, index: u64, value: &[u8]) -> bool {
        value.len() == self.records.value_bytes as usize && self.values.is_right(index, value)
    }

    pub(super) fn fill(&self, batch: &mut Batch, indices: impl Iterator<Item = u64>) {
        batch.clear(self.records.value_bytes as usize);
        for index in indices {
            batch.add(self.key(index), |value| self.values.write(index, value));
        }
    }

    /// The index that is written as number `place`.
    pub(super) fn ordered(&self, order: Order) -> impl Fn(u64) -> u64 + use<> {
        let shuffle = Shuffle::new(self.records.count, self.seed);
        move |place| match order {
            Order::Sequential => place,
            Order::Random => shuffle.at(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_and_workloads_draw_other_keys_and_the_same_ones_again() {
        let store = Store::new(
            Records {
                count: 10,
                value_bytes: 8,
                values: ValueKind::Incompressible,
                keys: KeySchema::OneFamily,
            },
            7,
        );
        let mut seen = Vec::new();
        for (draw_seed, number) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            store.begin_phase(draw_seed, number);
            assert!(!seen.contains(&store.draws()));
            seen.push(store.draws());
        }
        store.begin_phase(0, 0);
        assert_eq!(store.draws(), seen[0]);
    }
}
