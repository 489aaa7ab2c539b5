//! How does an entry that is too long for a segment lie in memory? In pages of its own, which can outlive its place in the table.
//!
//! ```text
//! 0        16
//! | holders | entry (long, marked as mapped), up to the end of the last page |
//! ```
//!
//! Up to 1 MiB the pages are a run (`runs.rs`), above that a mapping. `holders` is one for the table and one for everybody who is sending the
//! value: the last one gives the pages back. So a large value is sent from where it lies, without a lock and without a copy.

use std::ptr::NonNull;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed},
};

use super::NoRoom;
use super::graves::Graves;
use super::map::{self, Mapping, PAGE};
use super::runs::{MOST_PAGES, Runs};
use crate::memory::budget::Budget;
use crate::memory::entry::{Contents, Entry, Shape};

const PREFIX: usize = 16;

/// Bytes of the pages of an entry that needs `len` bytes, or has them: the entry fills its last page.
pub(super) fn pages_len(len: usize) -> usize {
    (PREFIX + len).next_multiple_of(PAGE)
}

fn is_run(len: usize) -> bool {
    len <= MOST_PAGES * PAGE
}

/// Pages that are not resident yet.
pub(super) fn take(runs: &Runs, len: usize) -> Option<NonNull<u8>> {
    if is_run(len) { runs.take(len / PAGE) } else { Mapping::new(len, PAGE).map(Mapping::leak) }
}

/// # Safety
/// `take` gave these pages, so many, and nobody refers to what is in them.
unsafe fn put(runs: &Runs, start: NonNull<u8>, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if is_run(len) {
            runs.put(start, len / PAGE);
        } else {
            drop(Mapping::from_leaked(start, len));
        }
    }
}

/// # Safety
/// The pages are fresh, `len` bytes, and the caller's.
unsafe fn write(start: NonNull<u8>, len: usize, contents: &Contents<'_>, shape: Shape) -> Entry {
    // SAFETY: the caller's promise; the entry fills the pages behind the prefix.
    unsafe {
        holders(start).store(1, Relaxed);
        Entry::write(start.add(PREFIX), shape.stretched(len - PREFIX), contents, true)
    }
}

/// Stores an entry; returns it and the bytes of its pages.
pub(super) fn store(
    runs: &Runs,
    budget: &Budget,
    contents: &Contents<'_>,
    shape: Shape,
) -> Result<(Entry, u64), NoRoom> {
    let len = pages_len(shape.len());
    if !budget.try_reserve(len as u64) {
        return Err(NoRoom::Mapping(len as u64));
    }
    let Some(start) = take(runs, len) else {
        budget.release(len as u64);
        return Err(NoRoom::System);
    };
    // SAFETY: the pages were taken for this call.
    Ok((unsafe { write(start, len, contents, shape) }, len as u64))
}

/// # Safety
/// Pages of this module start there.
unsafe fn holders<'a>(start: NonNull<u8>) -> &'a AtomicU32 {
    // SAFETY: the first word of the pages, which is accessed as an atomic only.
    unsafe { AtomicU32::from_ptr(start.as_ptr().cast()) }
}

/// Where the pages of an entry start, and how many bytes they are.
///
/// # Safety
/// The entry is there and has pages of its own.
unsafe fn pages_of(entry: Entry) -> (NonNull<u8>, usize) {
    // SAFETY: the entry lies behind the prefix of its pages, and fills them.
    unsafe { (entry.address().sub(PREFIX), PREFIX + entry.shape().len()) }
}

/// Gives back pages that are counted, or has that done in pieces: counted until the last one is unmapped.
///
/// # Safety
/// As [`put`].
pub(super) unsafe fn put_counted(
    runs: &Runs,
    graves: &Graves,
    budget: &Budget,
    start: NonNull<u8>,
    len: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if is_run(len) {
            put(runs, start, len);
            budget.release(len as u64);
        } else {
            graves.add(Mapping::from_leaked(start, len));
        }
    }
}

/// Lets go of an entry, and returns the bytes of its pages; the last to do so gives them back, or has that done in pieces.
///
/// # Safety
/// The entry has pages of its own, and the caller is one of its holders.
pub(super) unsafe fn free(runs: &Runs, graves: &Graves, budget: &Budget, entry: Entry) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        let (start, len) = pages_of(entry);
        if holders(start).fetch_sub(1, AcqRel) == 1 {
            put_counted(runs, graves, budget, start, len);
        }
        len as u64
    }
}

/// What [`exchange`] and [`stretch`] did: where the entry is now, and the bytes of its pages before and after.
pub(super) type Resized = (Entry, u64, u64);

/// Takes room in the budget for pages that replace others; gives back nothing yet.
fn reserve(budget: &Budget, before: usize, after: usize) -> Result<u64, NoRoom> {
    let more = after.saturating_sub(before) as u64;
    if budget.try_reserve(more) { Ok(more) } else { Err(NoRoom::Mapping(more)) }
}

/// Writes an entry in place of another one, whose pages are given back before those of the new one are touched: both are never resident.
///
/// # Safety
/// The old entry has pages of its own and is the caller's alone; nothing of `contents` lies in it.
pub(super) unsafe fn exchange(
    runs: &Runs,
    budget: &Budget,
    old: Entry,
    contents: &Contents<'_>,
    shape: Shape,
) -> Result<Resized, NoRoom> {
    // SAFETY: the caller's promise.
    let (start, before) = unsafe { pages_of(old) };
    let after = pages_len(shape.len());
    let more = reserve(budget, before, after)?;
    let Some(fresh) = take(runs, after) else {
        budget.release(more);
        return Err(NoRoom::System);
    };
    // SAFETY: the old pages are the caller's and not needed any more; the fresh ones were taken for this call.
    let entry = unsafe {
        put(runs, start, before);
        write(fresh, after, contents, shape)
    };
    budget.release(before.saturating_sub(after) as u64);
    Ok((entry, before as u64, after as u64))
}

/// Makes pages that are a mapping of their own longer; `None` where they are not, or not afterwards, or the system has no more.
///
/// # Safety
/// As [`put`] for `before`.
pub(super) unsafe fn resize_pages(start: NonNull<u8>, before: usize, after: usize) -> Option<NonNull<u8>> {
    // SAFETY: the caller's promise.
    unsafe { if is_run(before) || is_run(after) { None } else { map::resize(start, before, after) } }
}

/// Whether an entry can be given other pages without being copied.
pub(super) fn can_stretch(before: usize, after: usize) -> bool {
    !is_run(pages_len(before)) && !is_run(pages_len(after))
}

/// Gives an entry so many pages as `len` bytes need, and keeps what it holds.
///
/// # Safety
/// `can_stretch` says that it can, and the entry is the caller's alone.
pub(super) unsafe fn stretch(budget: &Budget, entry: Entry, len: usize) -> Result<Resized, NoRoom> {
    // SAFETY: the caller's promise.
    unsafe {
        let (start, before) = pages_of(entry);
        let after = pages_len(len);
        let more = reserve(budget, before, after)?;
        let Some(start) = map::resize(start, before, after) else {
            budget.release(more);
            return Err(NoRoom::System);
        };
        budget.release(before.saturating_sub(after) as u64);
        let entry = Entry::at(start.add(PREFIX));
        entry.set_block_len(after - PREFIX);
        Ok((entry, before as u64, after as u64))
    }
}

/// Counts one more holder of the entry, who may read the value until [`let_go`].
///
/// # Safety
/// The entry is there, has pages of its own, and the caller holds the lock of its shard.
pub(super) unsafe fn hold(entry: Entry) {
    // SAFETY: the caller's promise. The lock keeps the table's own hold, so the count is not 0.
    unsafe { holders(pages_of(entry).0).fetch_add(1, Relaxed) };
}

/// Counts one holder less; the last one gives the pages back.
///
/// # Safety
/// The caller is a holder by [`hold`], and reads the value no more.
pub(super) unsafe fn let_go(runs: &Runs, graves: &Graves, budget: &Budget, entry: Entry) {
    // SAFETY: the caller's promise.
    unsafe { free(runs, graves, budget, entry) };
}

/// Whether anybody but the table holds the entry.
///
/// # Safety
/// The entry is there, and the caller holds the lock of its shard.
pub(in crate::memory) unsafe fn is_shared(entry: Entry) -> bool {
    // SAFETY: the caller's promise; only an entry with pages of its own has a prefix.
    unsafe { entry.is_mapped() && holders(entry.address().sub(PREFIX)).load(Acquire) > 1 }
}
