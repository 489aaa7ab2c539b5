//! Which keys were written? A part of them, evenly over the whole load, to be read back after it.

use super::request::Asked;

/// At most so many are kept, and at least half of that where there were so many.
const MOST: usize = 1_024;

/// Writes that were acknowledged.
#[derive(Debug, Clone)]
pub struct Written {
    sampled: Vec<Asked>,
    seen: u64,
    /// One of so many is kept: a power of two.
    every: u64,
}

impl Default for Written {
    fn default() -> Self {
        Self { sampled: Vec::new(), seen: 0, every: 1 }
    }
}

impl Written {
    /// One more.
    #[inline]
    pub(super) fn add(&mut self, asked: Asked) {
        self.seen += 1;
        if self.seen & (self.every - 1) == 0 {
            self.keep(asked);
        }
    }

    #[cold]
    fn keep(&mut self, asked: Asked) {
        self.sampled.push(asked);
        if self.sampled.len() == MOST {
            // Every second one, those that the next step would have kept.
            let mut is_kept = false;
            self.sampled.retain(|_| {
                is_kept = !is_kept;
                !is_kept
            });
            self.every *= 2;
        }
    }

    /// Adds those of another thread, or of another part of the load, when both have ended.
    pub fn merge(&mut self, other: &Self) {
        self.sampled.extend_from_slice(&other.sampled);
    }

    /// Those that were kept, in no order.
    #[must_use]
    pub fn sampled(&self) -> &[Asked] {
        &self.sampled
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Age;
    use super::*;
    use crate::plan::Operation;

    #[test]
    fn what_is_kept_is_spread_evenly_over_all() {
        for count in [10, 1_023, 1_024, 100_000] {
            let mut written = Written::default();
            for index in 0..count {
                written.add(Asked { operation: Operation::Set, index, length: 1, age: Age::Newest });
            }
            let kept: Vec<u64> = written.sampled().iter().map(|asked| asked.index).collect();
            assert!(kept.len() >= MOST.min(count as usize) / 2 - 1 && kept.len() < MOST, "{}", kept.len());
            let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.iter().all(|gap| *gap == gaps[0]), "{count}: {gaps:?}");
        }
    }
}
