//! How does a value change? Every write reserves the bytes it may need before it changes anything.

use std::io::Write as _;
use std::sync::Arc;

use super::entry::Owned;
use super::expiry::Expiry;
use super::shard::{New, Shard};
use super::shortage::{Shortage, Stop, Wants};
use super::store::{Location, Store};
use super::table::{Held, smallest_cost};
use super::value::Value;
use crate::bytes::{check_key, check_value_len, parse_integer};
use crate::error::{Error, Result};

/// When [`set_with`](crate::Database::set_with) writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    /// In any case.
    #[default]
    Always,
    /// Only if the key is not there (NX).
    IfAbsent,
    /// Only if the key is there (XX).
    IfPresent,
}

/// How [`set_with`](crate::Database::set_with) writes. The default is what [`set`](crate::Database::set) does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetOptions {
    /// When to write.
    pub condition: Condition,
    /// What becomes of the expiry.
    pub expiry: Expiry,
    /// Whether to hand back the value that was there, written or not.
    pub want_previous: bool,
}

/// What [`set_with`](crate::Database::set_with) did.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct SetOutcome {
    /// Whether the condition held and the value was written.
    pub written: bool,
    /// The value that was there before, if there was one and it was asked for.
    pub previous: Option<Value>,
}

/// An entry that is written and in no table yet.
struct Prepared {
    shard: usize,
    entry: Owned,
}

impl Store {
    pub(crate) fn set(self: &Arc<Self>, key: &[u8], value: &[u8]) -> Result<()> {
        self.set_with(key, value, SetOptions::default()).map(drop)
    }

    pub(crate) fn set_with(
        self: &Arc<Self>,
        key: &[u8],
        value: &[u8],
        options: SetOptions,
    ) -> Result<SetOutcome> {
        check_key(key)?;
        check_value_len(value.len())?;
        let location = self.locate(key);
        self.with_room(location, |shard| {
            let at = shard.find_live(&self.common, || self.now_ms(), location.tag, key);
            let written = match options.condition {
                Condition::Always => true,
                Condition::IfAbsent => at.is_none(),
                Condition::IfPresent => at.is_some(),
            };
            let previous = |shard: &Shard| Value::of(self, shard, at.filter(|_| options.want_previous)?);
            if !written {
                return Ok(SetOutcome { written, previous: previous(shard) });
            }
            let expiry = match options.expiry {
                Expiry::Clear => None,
                Expiry::Keep => at.and_then(|at| shard.table.held(at)?.expiry()),
                Expiry::At(unix_ms) if unix_ms <= self.now_ms() => {
                    let previous = previous(shard);
                    if let Some(at) = at {
                        shard.remove(&self.common, at);
                    }
                    return Ok(SetOutcome { written, previous });
                }
                Expiry::At(unix_ms) => Some(unix_ms),
            };
            let previous = previous(shard);
            shard.put(&self.common, New { location, key, value, expiry }, at)?;
            Ok(SetOutcome { written, previous })
        })
    }

    /// Writes all pairs or, where `only_absent` and one of the keys is there, none: false then.
    pub(crate) fn set_many(&self, pairs: &[(&[u8], &[u8])], only_absent: bool) -> Result<bool> {
        for (key, value) in pairs {
            check_key(key)?;
            check_value_len(value.len())?;
        }
        let locations: Vec<Location> = pairs.iter().map(|(key, _)| self.locate(key)).collect();
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        // Stable: of pairs with the same key the last one is written last.
        order.sort_by_key(|&index| locations[index].shard);
        let news: Vec<(usize, New<'_>)> = order
            .into_iter()
            .map(|index| {
                let (key, value) = pairs[index];
                (locations[index].shard, New { location: locations[index], key, value, expiry: None })
            })
            .collect();
        let mut making = self.making();
        loop {
            let shortage = match self.try_set_many(&news, only_absent) {
                Ok(written) => return Ok(written),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Short(shortage)) => shortage,
            };
            // None of the keys is protected: whatever they hold is about to be replaced.
            making.room(shortage, None)?;
        }
    }

    /// Writes all of `news`, sorted by shard, or nothing: what can fail comes first.
    fn try_set_many(&self, news: &[(usize, New<'_>)], only_absent: bool) -> std::result::Result<bool, Stop> {
        let mut locked = self.lock_several(news.iter().map(|(shard, _)| *shard));
        for (index, new) in news.iter().filter(|_| only_absent) {
            let Some(shard) = locked.shard(*index) else { continue };
            if shard.find_live(&self.common, || self.now_ms(), new.location.tag, new.key).is_some() {
                return Ok(false);
            }
        }
        let heap = &self.common.heap;
        let lens = news.iter().map(|(_, new)| new.bytes(&self.common));
        let (in_segments, mapped) = lens.fold((0, 0), |(small, large), bytes| match heap.is_large(bytes) {
            true => (small, large + bytes),
            false => (small + bytes, large),
        });
        // They are filled to three quarters at least.
        let segments = in_segments / (heap.segment_bytes() / 4 * 3) + 1;
        // One more is kept free for cleaning.
        let alone = mapped + (segments + 1) * heap.segment_bytes() + smallest_cost(news.len());
        if self.common.needed(alone) > self.common.budget.cap() {
            return Err(Stop::Short(Shortage { wants: Wants::LessLive(0), alone }));
        }
        // What is missing of it is asked for at once, not piece by piece.
        let all = |stop| match stop {
            Stop::Short(Shortage { wants: Wants::Segments(_) | Wants::Mappings(_), alone }) => {
                let wants = Wants::Both { segments: segments as usize, mappings: mapped };
                Stop::Short(Shortage { wants, alone })
            }
            other => other,
        };
        for group in news.chunk_by(|a, b| a.0 == b.0) {
            let Some(shard) = locked.shard(group[0].0) else { continue };
            let absent =
                group.iter().filter(|(_, new)| shard.table.find(new.location.tag, new.key).is_err()).count();
            shard.make_places(&self.common, absent, alone)?;
        }
        let mut prepared: Vec<Prepared> = Vec::with_capacity(news.len());
        for (index, new) in news {
            let Some(shard) = locked.shard(*index) else { continue };
            match shard.prepare(&self.common, new, alone) {
                Ok(entry) => prepared.push(Prepared { shard: *index, entry }),
                Err(stop) => {
                    for Prepared { shard, entry } in prepared {
                        if let Some(shard) = locked.shard(shard) {
                            shard.discard(&self.common, entry);
                        }
                    }
                    return Err(all(stop));
                }
            }
        }
        for (Prepared { entry, .. }, (index, new)) in prepared.into_iter().zip(news) {
            if let Some(shard) = locked.shard(*index) {
                shard.place(&self.common, new, entry);
            }
        }
        Ok(true)
    }

    pub(crate) fn compare_and_set(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        check_key(key)?;
        check_value_len(value.map_or(0, <[u8]>::len))?;
        let location = self.locate(key);
        self.with_room(location, |shard| {
            let at = shard.find_live(&self.common, || self.now_ms(), location.tag, key);
            let held = at.and_then(|at| shard.table.held(at));
            if held.map(Held::value) != expected {
                return Ok(false);
            }
            let expiry = held.and_then(Held::expiry);
            match (value, at) {
                (Some(value), at) => shard.put(&self.common, New { location, key, value, expiry }, at)?,
                (None, Some(at)) => shard.remove(&self.common, at),
                (None, None) => {}
            }
            Ok(true)
        })
    }

    pub(crate) fn take(self: &Arc<Self>, key: &[u8]) -> Option<Value> {
        let location = self.locate(key);
        let mut shard = self.lock(location.shard);
        let Some(at) = shard.find_live(&self.common, || self.now_ms(), location.tag, key) else {
            shard.counters.misses += 1;
            return None;
        };
        shard.counters.hits += 1;
        let value = Value::of(self, &shard, at);
        shard.remove(&self.common, at);
        value
    }

    pub(crate) fn delete(&self, key: &[u8]) -> bool {
        let location = self.locate(key);
        let mut shard = self.lock(location.shard);
        let at = shard.find_live(&self.common, || self.now_ms(), location.tag, key);
        if let Some(at) = at {
            shard.remove(&self.common, at);
        }
        at.is_some()
    }

    /// Removes keys, all at one moment, and returns how many were there.
    pub(crate) fn delete_many(&self, keys: &[&[u8]]) -> usize {
        let mut removed = 0;
        self.visit_many(keys, |shard, location, key| {
            if let Some(at) = shard.find_live(&self.common, || self.now_ms(), location.tag, key) {
                shard.remove(&self.common, at);
                removed += 1;
            }
        });
        removed
    }

    pub(crate) fn append(&self, key: &[u8], suffix: &[u8]) -> Result<usize> {
        check_key(key)?;
        check_value_len(suffix.len())?;
        let location = self.locate(key);
        self.with_room(location, |shard| {
            match shard.find_live(&self.common, || self.now_ms(), location.tag, key) {
                Some(at) => {
                    let old = shard.table.held(at).map_or(0, |held| held.value().len());
                    check_value_len(old + suffix.len())?;
                    shard.append(&self.common, at, suffix)
                }
                None => {
                    let new = New { location, key, value: suffix, expiry: None };
                    shard.put(&self.common, new, None)?;
                    Ok(suffix.len())
                }
            }
        })
    }

    pub(crate) fn increment(&self, key: &[u8], delta: i64) -> Result<i64> {
        check_key(key)?;
        let location = self.locate(key);
        self.with_room(location, |shard| {
            let at = shard.find_live(&self.common, || self.now_ms(), location.tag, key);
            let (old, expiry) = match at {
                Some(at) => {
                    let held = shard.table.held(at);
                    let value = held.map_or(&[][..], Held::value);
                    (parse_integer(value).ok_or(Error::NotAnInteger)?, held.and_then(Held::expiry))
                }
                None => (0, None),
            };
            let sum = old.checked_add(delta).ok_or(Error::Overflow)?;
            let mut text = [0; LONGEST_INTEGER];
            let mut rest = &mut text[..];
            // Nothing that is written to memory can fail but for want of room.
            let _ = write!(rest, "{sum}");
            let unused = rest.len();
            let value = &text[..LONGEST_INTEGER - unused];
            shard.put(&self.common, New { location, key, value, expiry }, at)?;
            Ok(sum)
        })
    }
}

/// `i64::MIN` in decimal.
const LONGEST_INTEGER: usize = 20;

#[cfg(test)]
#[path = "write_test.rs"]
mod tests;
