//! How is a version found in a block? On its raw bytes: a binary search among the restarts, then along the entries, without putting any key together.
//!
//! Along the entries it is enough to know how much of the wanted key the entry before had. Where the next one shares more than that with it, it stands before the
//! wanted key for the same reason; where it shares less, it stands behind; only where it shares just as much is there something to compare.

use crate::lsm::coding::{take, take_varint, varint_of_eight};
use crate::lsm::record::{Record, Stamp, is_before, shared_len};
use crate::prefetch;
use std::cmp::Ordering;

/// What is wrong with a block.
pub(crate) type Damage = &'static str;

const ENDS: Damage = "a block ends within an entry";

/// Bytes of a line of the processor's cache.
const LINE: usize = 64;

/// So many bytes of entries are asked for ahead of a walk.
const AHEAD: usize = 1024;

/// The bytes of a block, whose frame has been looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a> {
    entries: &'a [u8],
    /// But the first, which is the first entry.
    restarts: &'a [[u8; 4]],
}

/// An entry as it stands in the block.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    shared: usize,
    rest: &'a [u8],
    stamp: Stamp,
    value: &'a [u8],
    /// Where the next one begins.
    end: usize,
}

impl<'a> Block<'a> {
    /// Looks at the frame: the restarts are within the block.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Damage> {
        let (rest, count) = bytes.split_last_chunk::<4>().ok_or("a block is shorter than its frame")?;
        let count = u32::from_le_bytes(*count) as usize;
        let len = count
            .checked_mul(4)
            .filter(|len| *len <= rest.len())
            .ok_or("a block is shorter than its restarts")?;
        let (entries, restarts) = rest.split_at(rest.len() - len);
        let (restarts, _) = restarts.as_chunks::<4>();
        Ok(Self { entries, restarts })
    }

    #[inline(always)]
    fn entry(&self, at: usize) -> Result<Entry<'a>, Damage> {
        match self.short_entry(at) {
            Some(entry) => Ok(entry),
            None => self.any_entry(at),
        }
    }

    /// One with lengths of a byte each, as most have, and something behind its stamp, as most blocks do.
    #[inline(always)]
    fn short_entry(&self, at: usize) -> Option<Entry<'a>> {
        let rest = self.entries.get(at..)?;
        let lens: [u8; 3] = *rest.first_chunk()?;
        if (lens[0] | lens[1] | lens[2]) & 0x80 != 0 {
            return None;
        }
        let [shared, key, value] = lens.map(usize::from);
        let (stamp, len) = varint_of_eight(*rest[3..].first_chunk()?)?;
        let stamp = Stamp::from_raw(stamp)?;
        let (rest, value_at) = (rest.get(3 + len..)?, key);
        let (both, _) = rest.split_at_checked(value_at + value)?;
        let (key, value) = both.split_at_checked(value_at)?;
        Some(Entry { shared, rest: key, stamp, value, end: at + 3 + len + both.len() })
    }

    #[inline(never)]
    fn any_entry(&self, at: usize) -> Result<Entry<'a>, Damage> {
        let mut rest = self.entries.get(at..).ok_or(ENDS)?;
        let shared = take_varint(&mut rest).ok_or(ENDS)?;
        let key = take_varint(&mut rest).ok_or(ENDS)?;
        let value = take_varint(&mut rest).ok_or(ENDS)?;
        let stamp = take_varint(&mut rest).ok_or(ENDS)?;
        let stamp = Stamp::from_raw(stamp).ok_or("an entry is of unknown kind")?;
        let key = take(&mut rest, key).ok_or(ENDS)?;
        let value = take(&mut rest, value).ok_or(ENDS)?;
        let shared = usize::try_from(shared).map_err(|_| ENDS)?;
        Ok(Entry { shared, rest: key, stamp, value, end: self.entries.len() - rest.len() })
    }

    /// Where a restart begins, or the entries end behind the last.
    #[inline]
    fn restart(&self, index: usize) -> usize {
        let at = |restart: &[u8; 4]| u32::from_le_bytes(*restart) as usize;
        index.checked_sub(1).map_or(0, |index| self.restarts.get(index).map_or(self.entries.len(), at))
    }

    /// The last restart whose entry stands before `(key, stamp)`, or the first.
    fn restart_before(&self, key: &[u8], stamp: Stamp) -> Result<usize, Damage> {
        let (mut low, mut high) = (0, self.restarts.len() + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let entry = self.entry(self.restart(middle))?;
            if entry.shared != 0 {
                return Err("an entry shares a key with none before it");
            }
            if is_before(entry.rest, entry.stamp, key, stamp) { low = middle } else { high = middle }
        }
        Ok(low)
    }

    /// Asks for the lines of memory from one place up to another, and returns up to where that was done. Each entry
    /// says where the next one begins, so without this a walk waits for one line after the other.
    #[inline(always)]
    fn ask(&self, mut from: usize, to: usize) -> usize {
        while from < to {
            prefetch::read(self.entries.as_ptr().wrapping_add(from));
            from += LINE;
        }
        from
    }

    /// The newest version of `key` that is not newer than `stamp`.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], stamp: Stamp) -> Result<Option<(Stamp, &'a [u8])>, Damage> {
        let restart = self.restart_before(key, stamp)?;
        let (mut at, end) = (self.restart(restart), self.restart(restart + 1));
        // How much of the wanted key the entry before had; all entries passed stand before it.
        let mut matched = 0;
        let mut asked = at;
        while at < end {
            asked = self.ask(asked, end.min(at + AHEAD));
            let entry = self.entry(at)?;
            at = entry.end;
            match entry.shared.cmp(&matched) {
                // As the one before: it was smaller in a byte that this one shares with it. Where the keys were equal up to the
                // wanted one's end, it is an older or newer version, or longer.
                Ordering::Greater => continue,
                Ordering::Less => return Ok(None),
                Ordering::Equal => {}
            }
            let wanted = &key[matched..];
            let same = shared_len(wanted, entry.rest);
            matched += same;
            match (wanted.get(same), entry.rest.get(same)) {
                (None, None) if entry.stamp <= stamp => return Ok(Some((entry.stamp, entry.value))),
                // The same key, newer; or a key that the wanted one goes on from.
                (None, None) | (Some(_), None) => {}
                (None, Some(_)) => return Ok(None),
                (Some(wanted), Some(found)) if found > wanted => return Ok(None),
                (Some(_), Some(_)) => {}
            }
        }
        if end >= self.entries.len() {
            return Ok(None);
        }
        // The next restart does not stand before what is wanted: if anything is it, this is.
        let entry = self.entry(end)?;
        Ok((entry.rest == key && entry.stamp <= stamp).then_some((entry.stamp, entry.value)))
    }
}

/// Entries that stand before a place, from a restart on: the key of one is put together from those before it, so going back by one would mean to walk there again from the restart.
#[derive(Default)]
struct Passed {
    /// One after the other.
    keys: Vec<u8>,
    /// With where in `keys` its own begins.
    entries: Vec<(At, usize)>,
}

impl Passed {
    fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
    }
}

/// What a cursor keeps for the next block: of its key, and of those that were passed.
#[derive(Default)]
pub(super) struct Space {
    key: Vec<u8>,
    passed: Passed,
}

/// A place in a block, or past its ends. It owns the block, in whatever way: it may outlive whoever made it.
pub(crate) struct BlockCursor<B> {
    bytes: B,
    key: Vec<u8>,
    at: Option<At>,
    passed: Passed,
}

#[derive(Clone, Copy)]
struct At {
    begin: usize,
    end: usize,
    stamp: Stamp,
    value_len: usize,
}

impl<B: AsRef<[u8]>> BlockCursor<B> {
    /// A cursor that stands nowhere yet. Looks at the block's frame.
    pub(crate) fn new(bytes: B) -> Result<Self, Damage> {
        Self::with_space(bytes, Space::default())
    }

    /// The same, with space that another one had.
    pub(super) fn with_space(bytes: B, space: Space) -> Result<Self, Damage> {
        Block::new(bytes.as_ref())?;
        let Space { mut key, mut passed } = space;
        key.clear();
        passed.clear();
        Ok(Self { bytes, key, at: None, passed })
    }

    /// The block.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The block, and the space.
    pub(super) fn into_parts(self) -> (B, Space) {
        (self.bytes, Space { key: self.key, passed: self.passed })
    }

    /// Whether it is at a version.
    #[inline]
    pub(super) fn is_somewhere(&self) -> bool {
        self.at.is_some()
    }

    fn block(&self) -> Result<Block<'_>, Damage> {
        Block::new(self.bytes.as_ref())
    }

    /// The version at the place.
    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        self.at.map(|at| Record {
            key: &self.key,
            stamp: at.stamp,
            value: &self.bytes.as_ref()[at.end - at.value_len..at.end],
        })
    }

    fn go(&mut self, begin: usize) -> Result<(), Damage> {
        self.at = None;
        let block = Block::new(self.bytes.as_ref())?;
        if begin < block.entries.len() {
            let entry = block.entry(begin)?;
            if entry.shared > self.key.len() {
                return Err("an entry shares more than there is");
            }
            self.key.truncate(entry.shared);
            self.key.extend_from_slice(entry.rest);
            let (end, stamp, value_len) = (entry.end, entry.stamp, entry.value.len());
            self.at = Some(At { begin, end, stamp, value_len });
        }
        Ok(())
    }

    fn go_to_restart(&mut self, index: usize) -> Result<(), Damage> {
        self.key.clear();
        self.at = None;
        let begin = self.block()?.restart(index);
        self.go(begin)
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) -> Result<(), Damage> {
        self.go_to_restart(self.block()?.restart_before(key, stamp)?)?;
        while let Some(record) = self.record()
            && is_before(record.key, record.stamp, key, stamp)
        {
            self.next()?;
        }
        Ok(())
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) -> Result<(), Damage> {
        let restart = self.block()?.restart_before(key, stamp)?;
        self.go_up_to(restart, |record, _| is_before(record.key, record.stamp, key, stamp))
    }

    pub(crate) fn first(&mut self) -> Result<(), Damage> {
        self.go_to_restart(0)
    }

    pub(crate) fn last(&mut self) -> Result<(), Damage> {
        let restart = self.block()?.restarts.len();
        self.go_up_to(restart, |_, _| true)
    }

    pub(crate) fn next(&mut self) -> Result<(), Damage> {
        match self.at {
            Some(at) => self.go(at.end),
            None => Ok(()),
        }
    }

    pub(crate) fn previous(&mut self) -> Result<(), Damage> {
        let Some(At { begin, .. }) = self.at else { return Ok(()) };
        if self.passed.entries.last().is_some_and(|(last, _)| last.end == begin) {
            self.go_back();
            return Ok(());
        }
        let restarts = self.block()?.restarts;
        let restart = restarts.partition_point(|restart| (u32::from_le_bytes(*restart) as usize) < begin);
        self.go_up_to(restart, |_, at| at < begin)
    }

    /// From a restart on to the last entry for which `goes` is true, or nowhere. Those before it are kept for whoever goes back further.
    fn go_up_to(&mut self, restart: usize, goes: impl Fn(Record, usize) -> bool) -> Result<(), Damage> {
        self.passed.clear();
        self.go_to_restart(restart)?;
        while let (Some(at), Some(record)) = (self.at, self.record())
            && goes(record, at.begin)
        {
            self.passed.entries.push((at, self.passed.keys.len()));
            self.passed.keys.extend_from_slice(&self.key);
            self.next()?;
        }
        self.go_back();
        Ok(())
    }

    /// To the last of the entries that were passed, or nowhere.
    fn go_back(&mut self) {
        self.at = self.passed.entries.pop().map(|(at, key)| {
            self.key.clear();
            self.key.extend(self.passed.keys.drain(key..));
            at
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::coding::put_varint;
    use proptest::prelude::*;

    proptest! {
        /// Lengths and stamps on both sides of what the short way takes, and bytes cut off behind them.
        #[test]
        fn an_entry_is_the_same_the_short_way(
            lens in prop::collection::vec(0_u64..150, 3),
            sequence in any::<u64>(),
            kind in 0_u64..5,
            shift in 8_u32..64,
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            lens.iter().for_each(|len| put_varint(&mut bytes, *len));
            put_varint(&mut bytes, sequence >> shift << 8 | kind);
            let header = bytes.len();
            bytes.extend((0..lens[1] + lens[2] + 3).map(|at| at as u8));
            let whole = header + (lens[1] + lens[2]) as usize;
            for len in [bytes.len(), whole, cut.index(bytes.len())] {
                let block = Block { entries: &bytes[..len], restarts: &[] };
                let show = |entry: Entry| {
                    (entry.shared, entry.rest.to_vec(), entry.stamp, entry.value.to_vec(), entry.end)
                };
                let any = block.any_entry(0).map(show);
                prop_assert_eq!(any.is_ok(), len >= whole && kind < 3);
                prop_assert_eq!(block.entry(0).map(show), any.clone());
                if let Some(short) = block.short_entry(0) {
                    prop_assert_eq!(Ok(show(short)), any);
                } else {
                    // What most entries are goes the short way.
                    let is_usual = kind < 3 && sequence >> shift << 8 >> 56 == 0 && len >= whole.max(11);
                    prop_assert!(!is_usual || lens.iter().any(|len| *len > 127));
                }
            }
        }
    }
}
