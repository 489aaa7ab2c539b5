//! When does an entry end? On its first access after its time (lazy), or by the sweep of a timer (active).
//!
//! The sweep goes from shard to shard. The store and each shard know a time before which none of their entries ends, so a
//! store or a shard without work costs one comparison. A round goes on while at least a tenth of the entries it looks at have
//! ended, within its budget of time; otherwise it stops after a thirty-second of the shards. So at ten rounds a
//! second an ended entry stays for a few seconds at most while the budget suffices, and what has ended and is not
//! yet removed stays near a tenth of the entries that expire. (The rule of going on while the yield is high is
//! [Redis's](https://redis.io/docs/latest/commands/expire/#how-redis-expires-keys); walking instead of
//! sampling bounds the time too.)

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::shard::{Shard, Sweep};
use super::store::Store;
use super::table::Held;
use super::value::Value;
use crate::error::Result;

/// What a write does to the expiry of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expiry {
    /// The key lives for ever.
    #[default]
    Clear,
    /// The expiry stays what it was.
    Keep,
    /// The key ends at this Unix millisecond.
    At(u64),
}

/// When [`expire_at`](crate::Database::expire_at) sets an expiry on a key that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpireCondition {
    /// In any case.
    #[default]
    Always,
    /// Only if the key has none (NX).
    IfNone,
    /// Only if the key has one (XX).
    IfSome,
    /// Only if it is later than the one the key has; for ever is later than any time (GT).
    IfGreater,
    /// Only if it is earlier than the one the key has; for ever is later than any time (LT).
    IfLess,
}

impl ExpireCondition {
    pub(crate) fn holds(self, current: Option<u64>, proposed: u64) -> bool {
        match self {
            Self::Always => true,
            Self::IfNone => current.is_none(),
            Self::IfSome => current.is_some(),
            Self::IfGreater => current.is_some_and(|current| proposed > current),
            Self::IfLess => current.is_none_or(|current| proposed < current),
        }
    }
}

/// How long a key lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// There is no such key.
    Missing,
    /// It has no expiry.
    Forever,
    /// It ends at this Unix millisecond.
    Until(u64),
}

/// Entries looked at between two looks at the watch: about 5 µs.
const STRIDE: usize = 64;

impl Store {
    pub(crate) fn expire_at(&self, key: &[u8], unix_ms: u64, condition: ExpireCondition) -> Result<bool> {
        let location = self.locate(key);
        self.with_room(location, |shard| {
            let now_ms = self.now_ms();
            let Some(at) = shard.find_live(&self.common, || now_ms, location.tag, key) else {
                return Ok(false);
            };
            if !condition.holds(shard.table.held(at).and_then(Held::expiry), unix_ms) {
                return Ok(false);
            }
            if unix_ms <= now_ms {
                shard.remove(&self.common, at);
            } else {
                shard.set_expiry(&self.common, at, Some(unix_ms))?;
            }
            Ok(true)
        })
    }

    pub(crate) fn lifetime(&self, key: &[u8]) -> Lifetime {
        let location = self.locate(key);
        let mut shard = self.lock(location.shard);
        match shard.find_live(&self.common, || self.now_ms(), location.tag, key) {
            None => Lifetime::Missing,
            Some(at) => {
                shard.table.held(at).and_then(Held::expiry).map_or(Lifetime::Forever, Lifetime::Until)
            }
        }
    }

    pub(crate) fn persist(&self, key: &[u8]) -> bool {
        let location = self.locate(key);
        let mut shard = self.lock(location.shard);
        let Some(at) = shard.find_live(&self.common, || self.now_ms(), location.tag, key) else {
            return false;
        };
        let had_one = shard.table.held(at).is_some_and(Held::is_volatile);
        shard.table.mark_expiry(at, false);
        had_one
    }

    pub(crate) fn get_and_expire(self: &Arc<Self>, key: &[u8], expiry: Expiry) -> Result<Option<Value>> {
        let location = self.locate(key);
        self.with_room(location, |shard| {
            let now_ms = self.now_ms();
            let Some(at) = shard.find_live(&self.common, || now_ms, location.tag, key) else {
                shard.counters.misses += 1;
                return Ok(None);
            };
            match expiry {
                Expiry::Keep => {}
                Expiry::Clear => shard.table.mark_expiry(at, false),
                Expiry::At(unix_ms) if unix_ms <= now_ms => {
                    shard.counters.hits += 1;
                    let value = Value::of(self, shard, at);
                    shard.remove(&self.common, at);
                    return Ok(value);
                }
                Expiry::At(unix_ms) => shard.set_expiry(&self.common, at, Some(unix_ms))?,
            }
            shard.counters.hits += 1;
            shard.touch(&self.common, at);
            Ok(Value::of(self, shard, at))
        })
    }

    pub(crate) fn expire_cycle(&self, budget: Duration) -> u64 {
        let now_ms = self.now_ms();
        if self.common.earliest_expiry.load(Relaxed) > now_ms {
            return 0;
        }
        // What is set from here on is noted anew. Whoever set an expiry before did so under a lock that is taken below.
        self.common.earliest_expiry.store(u64::MAX, Relaxed);
        let (removed, earliest) = self.sweep_shards(budget, now_ms);
        self.common.earliest_expiry.fetch_min(earliest, Relaxed);
        removed
    }

    /// Entries removed, and a time before which none that is left ends.
    fn sweep_shards(&self, budget: Duration, now_ms: u64) -> (u64, u64) {
        let start = Instant::now();
        let count = self.end();
        let enough = count.div_ceil(32);
        let (mut removed, mut looked_at, mut swept, mut earliest) = (0, 0, 0, u64::MAX);
        for _ in 0..count {
            let index = self.sweeping.load(Relaxed) as usize % count;
            if !self.has_shard(index) {
                self.sweeping.fetch_add(1, Relaxed);
                continue;
            }
            let mut is_done = false;
            while !is_done {
                // The lock is released between strides, so that a long shard does not hold up its readers.
                let mut shard = self.lock(index);
                if shard.earliest_expiry > now_ms {
                    earliest = earliest.min(shard.earliest_expiry);
                    break;
                }
                let stride = self.sweep_on(&mut shard, now_ms);
                if stride.is_done {
                    earliest = earliest.min(shard.earliest_expiry);
                }
                drop(shard);
                removed += stride.removed;
                looked_at += stride.looked_at;
                is_done = stride.is_done;
                swept += usize::from(is_done);
                if start.elapsed() >= budget {
                    // The shard's own sweep goes on where it was.
                    if is_done {
                        self.sweeping.fetch_add(1, Relaxed);
                    }
                    return (removed, now_ms);
                }
            }
            self.sweeping.fetch_add(1, Relaxed);
            if swept >= enough && removed * 10 < looked_at {
                return (removed, now_ms);
            }
        }
        (removed, earliest)
    }

    /// Looks at the next entries of `shard`, by tag, so that growth in between does not hide any.
    fn sweep_on(&self, shard: &mut Shard, now_ms: u64) -> Stride {
        let mut ended: Vec<u32> = Vec::new();
        let mut earliest = shard.sweep.earliest;
        let mut stride = Stride { removed: 0, looked_at: 0, is_done: true };
        let (mut visited, mut last) = (0, None);
        for (_, slot) in shard.table.walk_from(shard.sweep.next) {
            // Entries with the same tag stay together, because the next stride starts at a tag.
            if visited >= STRIDE && last != Some(slot.tag()) {
                stride.is_done = false;
                shard.sweep.next = slot.tag();
                break;
            }
            visited += 1;
            last = Some(slot.tag());
            if let Some(at) = slot.expiry() {
                stride.looked_at += 1;
                if at <= now_ms {
                    ended.push(slot.tag());
                } else {
                    earliest = earliest.min(at);
                }
            }
        }
        for tag in ended {
            let found = shard.table.walk_from(tag).take_while(|(_, slot)| slot.tag() == tag);
            let found = { found }.find(|(_, slot)| slot.is_expired(|| now_ms)).map(|(at, _)| at);
            if let Some(at) = found {
                shard.remove(&self.common, at);
                shard.counters.expired += 1;
                stride.removed += 1;
            }
        }
        if stride.is_done {
            shard.earliest_expiry = earliest;
            shard.sweep = Sweep { next: 0, earliest: u64::MAX };
        } else {
            shard.sweep.earliest = earliest;
        }
        stride
    }
}

struct Stride {
    removed: u64,
    looked_at: u64,
    is_done: bool,
}
