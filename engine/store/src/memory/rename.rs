//! Renaming and copying of entries. Both shards are locked, so that other threads see either all of it or nothing.

use super::evict::Protected;
use super::shard::New;
use super::shortage::{Shortage, Stop};
use super::store::{Location, Locked, Store};
use super::table::smallest_cost;
use crate::bytes::check_key;
use crate::error::Result;

/// How [`rename_with`](crate::Database::rename_with) gives an entry another key. The default is what [`rename`](crate::Database::rename) does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenameOptions {
    /// Whether the entry also keeps its old key: it is copied.
    pub keep_source: bool,
    /// Whether an entry that already has the new key stays, and nothing is done.
    pub keep_target: bool,
}

/// What [`rename_with`](crate::Database::rename_with) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenameOutcome {
    /// The entry has the new key.
    Done,
    /// There is no entry with the old key.
    Missing,
    /// There is an entry with the new key, and it was to stay.
    Exists,
}

type Place<'a> = (&'a [u8], Location);

impl Store {
    pub(crate) fn rename_with(
        &self,
        from: &[u8],
        to: &[u8],
        options: RenameOptions,
    ) -> Result<RenameOutcome> {
        check_key(to)?;
        let (source, target) = (self.locate(from), self.locate(to));
        let protected = Protected { shard: source.shard, tag: source.tag };
        let mut making = self.making();
        loop {
            let shortage = match self.try_rename((from, source), (to, target), options) {
                Ok(outcome) => return Ok(outcome),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Short(shortage)) => shortage,
            };
            making.room(shortage, Some(protected))?;
        }
    }

    fn try_rename(
        &self,
        (from, source): Place<'_>,
        (to, target): Place<'_>,
        options: RenameOptions,
    ) -> std::result::Result<RenameOutcome, Stop> {
        let mut locked = self.lock_several([source.shard, target.shard].into_iter());
        let mut find = |key, place: Location| {
            let shard = locked.shard(place.shard)?;
            shard.find_live(&self.common, || self.now_ms(), place.tag, key)
        };
        // First, since an entry whose time is over is removed, and those behind it move.
        let is_taken = options.keep_target && find(to, target).is_some();
        if find(from, source).is_none() {
            return Ok(RenameOutcome::Missing);
        }
        if is_taken {
            return Ok(RenameOutcome::Exists);
        }
        if from == to {
            return Ok(RenameOutcome::Done);
        }
        self.give(&mut locked, (from, source), (to, target), options.keep_source)
    }

    /// Gives the entry another key.
    fn give(
        &self,
        locked: &mut Locked<'_>,
        (from, source): Place<'_>,
        (to, target): Place<'_>,
        keep_source: bool,
    ) -> std::result::Result<RenameOutcome, Stop> {
        if keep_source && let Some(shard) = locked.shard(target.shard) {
            // Before the entry is taken out: its place must not go to another.
            shard.make_places(&self.common, 1, smallest_cost(1))?;
        }
        let Some(shard) = locked.shard(source.shard) else { return Ok(RenameOutcome::Missing) };
        let Ok(at) = shard.table.find(source.tag, from) else { return Ok(RenameOutcome::Missing) };
        let Some(held) = shard.table.held(at) else { return Ok(RenameOutcome::Missing) };
        let (expiry, old_cost) = (held.expiry(), self.common.heap.bytes_for(held.shape().len()));
        // Out of the table and still there: the value is copied from here into the new entry.
        let Some(taken) = shard.table.remove(at) else { return Ok(RenameOutcome::Missing) };
        let new = New { location: target, key: to, value: taken.entry.value(), expiry };
        let written = match locked.shard(target.shard) {
            None => Ok(None),
            Some(shard) if keep_source => {
                shard.prepare(&self.common, &new, new.alone(&self.common)).map(Some)
            }
            Some(shard) => {
                let at = shard.find_live(&self.common, || self.now_ms(), target.tag, to);
                shard.put(&self.common, new, at).map(|()| None)
            }
        };
        let Some(shard) = locked.shard(source.shard) else { return Ok(RenameOutcome::Missing) };
        match written {
            Ok(None) => shard.discard(&self.common, taken.entry),
            Ok(Some(entry)) => {
                shard.table.put_back(taken);
                if let Some(shard) = locked.shard(target.shard) {
                    shard.place(&self.common, &New { location: target, key: to, value: &[], expiry }, entry);
                }
            }
            Err(stop) => {
                shard.table.put_back(taken);
                return Err(match stop {
                    // Both entries and, where the shards differ, both tables are there at the peak.
                    Stop::Short(Shortage { wants, alone }) => {
                        Stop::Short(Shortage { wants, alone: alone + old_cost + smallest_cost(1) })
                    }
                    failed @ Stop::Failed(_) => failed,
                });
            }
        }
        Ok(RenameOutcome::Done)
    }
}
