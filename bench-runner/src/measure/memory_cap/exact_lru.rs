//! What would a cache hit that always evicts the key which was used longest ago, and spends no byte on itself?
//!
//! The reference for the `trace` cells: no store can keep more payload under the same cap, and none that evicts
//! by recency can choose better. Pure.

use std::collections::HashMap;

/// Bytes of keys and values, in the order of their last use.
#[derive(Debug)]
pub(super) struct ExactLru {
    capacity_bytes: u64,
    used_bytes: u64,
    places: HashMap<u64, usize>,
    /// A ring of neighbours: place 0 is its head, whose `next` was used last and `before` longest ago.
    nodes: Vec<Node>,
    free: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    key: u64,
    bytes: u64,
    before: usize,
    next: usize,
}

impl ExactLru {
    /// Empty.
    pub(super) fn new(capacity_bytes: u64) -> Self {
        let head = Node { key: 0, bytes: 0, before: 0, next: 0 };
        Self { capacity_bytes, used_bytes: 0, places: HashMap::new(), nodes: vec![head], free: Vec::new() }
    }

    /// Whether the key is there; if so, it is now the one used last.
    pub(super) fn get(&mut self, key: u64) -> bool {
        let Some(&place) = self.places.get(&key) else { return false };
        self.unlink(place);
        self.link_first(place);
        true
    }

    /// Puts a key that was not there, evicting for it what was used longest ago. What cannot fit is left out.
    pub(super) fn put(&mut self, key: u64, bytes: u64) {
        if bytes > self.capacity_bytes || self.get(key) {
            return;
        }
        while self.used_bytes + bytes > self.capacity_bytes {
            self.evict();
        }
        let node = Node { key, bytes, before: 0, next: 0 };
        let place = match self.free.pop() {
            Some(place) => {
                self.nodes[place] = node;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        self.used_bytes += bytes;
        self.places.insert(key, place);
        self.link_first(place);
    }

    fn evict(&mut self) {
        let oldest = self.nodes[0].before;
        let Node { key, bytes, .. } = self.nodes[oldest];
        self.unlink(oldest);
        self.places.remove(&key);
        self.used_bytes -= bytes;
        self.free.push(oldest);
    }

    fn unlink(&mut self, place: usize) {
        let Node { before, next, .. } = self.nodes[place];
        self.nodes[before].next = next;
        self.nodes[next].before = before;
    }

    fn link_first(&mut self, place: usize) {
        let first = self.nodes[0].next;
        self.nodes[place].before = 0;
        self.nodes[place].next = first;
        self.nodes[first].before = place;
        self.nodes[0].next = place;
    }
}

/// One read of a trace: the key, and the bytes it and its value take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) key: u64,
    pub(super) bytes: u64,
}

/// Share of the reads from `counted_from` on that find their key, when keys are read in batches and those of a
/// batch that were not there are put once the batch is over, each once: as the load does it.
pub(super) fn hit_ratio(trace: &[Access], batch: usize, capacity_bytes: u64, counted_from: usize) -> f64 {
    let mut cache = ExactLru::new(capacity_bytes);
    let (mut hits, mut missed) = (0_u64, Vec::new());
    for (number, batch_of) in trace.chunks(batch.max(1)).enumerate() {
        missed.clear();
        for (place, access) in batch_of.iter().enumerate() {
            let hit = cache.get(access.key);
            hits += u64::from(hit && number * batch.max(1) + place >= counted_from);
            if !hit && !missed.contains(access) {
                missed.push(*access);
            }
        }
        for access in &missed {
            cache.put(access.key, access.bytes);
        }
    }
    hits as f64 / trace.len().saturating_sub(counted_from).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same in the plainest way: a list, the one used last in front.
    struct Naive(u64, Vec<(u64, u64)>);

    impl Naive {
        fn get(&mut self, key: u64) -> bool {
            let Some(place) = self.1.iter().position(|(known, _)| *known == key) else { return false };
            let entry = self.1.remove(place);
            self.1.insert(0, entry);
            true
        }

        fn put(&mut self, key: u64, bytes: u64) {
            if bytes > self.0 || self.get(key) {
                return;
            }
            self.1.insert(0, (key, bytes));
            while self.1.iter().map(|(_, bytes)| bytes).sum::<u64>() > self.0 {
                self.1.pop();
            }
        }
    }

    #[test]
    fn the_key_used_longest_ago_goes_first() {
        let mut cache = ExactLru::new(30);
        for key in [1, 2, 3] {
            cache.put(key, 10);
        }
        assert!(cache.get(1));
        cache.put(4, 10);
        assert_eq!([1, 2, 3, 4].map(|key| cache.get(key)), [true, false, true, true]);
    }

    #[test]
    fn what_cannot_fit_evicts_nothing() {
        let mut cache = ExactLru::new(30);
        cache.put(1, 30);
        cache.put(2, 31);
        assert_eq!([1, 2].map(|key| cache.get(key)), [true, false]);
    }

    #[test]
    fn a_key_missed_twice_in_a_batch_is_put_once_and_counts_as_two_misses() {
        let access = |key| Access { key, bytes: 10 };
        let trace = [1, 1, 1, 2].map(access);
        assert_eq!(hit_ratio(&trace, 2, 100, 0), 0.25);
        assert_eq!(hit_ratio(&trace, 2, 100, 2), 0.5);
        assert_eq!(hit_ratio(&[], 2, 100, 0), 0.0);
    }

    proptest! {
        #[test]
        fn it_holds_what_the_plain_list_holds(
            capacity in 0u64..200,
            steps in prop::collection::vec((any::<bool>(), 0u64..20, 1u64..60), 0..300),
        ) {
            let (mut cache, mut naive) = (ExactLru::new(capacity), Naive(capacity, Vec::new()));
            for (reads, key, bytes) in steps {
                if reads {
                    prop_assert_eq!(cache.get(key), naive.get(key));
                } else {
                    cache.put(key, bytes);
                    naive.put(key, bytes);
                }
                prop_assert_eq!(cache.places.len(), naive.1.len());
                prop_assert!(cache.used_bytes <= capacity);
            }
        }
    }
}
