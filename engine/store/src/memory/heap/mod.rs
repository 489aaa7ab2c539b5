//! Where do entries get their memory, and how does it become free again? A log in segments, cleaned by moving what lives.
//!
//! - `segment`: an aligned piece of memory that is filled once, and a count of what lives in it
//! - `pool`: which segments are free, full and in which order (`line`), or with the system; every one that is resident is counted in the budget
//! - `large`: an entry too long for a segment has pages of its own, in `runs` or a mapping
//! - `clean`: empties the segment in which the least lives
//! - `map`: pages from the kernel and back
//! - `high_water`: what the kernel counts of them is not above what is resident
//!
//! Rumble, Kejriwal, Ousterhout: "Log-structured Memory for DRAM-based Storage", FAST 2014, is the idea: an allocator that can move what it has
//! handed out holds as much at 95 % of its memory as at half of it, whatever sizes come and go, and its price is copying. Size classes
//! would not copy, but keep what one size left behind from all others.

mod clean;
mod graves;
mod high_water;
mod large;
mod line;
mod map;
mod pool;
mod runs;
mod segment;

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use clean::Cleaner;
pub(super) use clean::{Found, Survivors};
use graves::Graves;
pub use high_water::{keep_high_water_true, settle_high_water};
pub(super) use large::is_shared;
pub(super) use map::{Mapping, PAGE};
use pool::Pool;
pub(super) use pool::Queue;
pub(super) use runs::{MOST_PAGES, Runs};
use segment::{HEADER, Segment};

use super::budget::Budget;
use super::entry::{Contents, Entry, Owned, Shape};

/// Why there was no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// There is no empty segment.
    Segment,
    /// The budget has no room for so many bytes more, which an entry with a mapping of its own takes.
    Mapping(u64),
    /// The budget has no room for so many bytes more, which something beside the entries takes.
    Beside(u64),
    /// The system has none left.
    System,
}

pub(super) struct Heap {
    pool: Pool,
    runs: Runs,
    heads: Box<[Apart<Head>]>,
    cleaner: Mutex<Cleaner>,
    is_fifo: AtomicBool,
    /// Bytes of entries in segments.
    live: Apart<AtomicU64>,
    /// Bytes of mappings of single entries.
    large: AtomicU64,
    graves: Graves,
}

/// On cache lines of its own.
#[repr(align(128))]
struct Apart<T>(T);

/// Where entries go. There are several so that threads need not wait for each other.
type Head = Mutex<Option<Filling>>;

/// A segment that is being filled, by whoever holds this.
struct Filling {
    segment: Segment,
    end: usize,
}

impl Filling {
    fn new(segment: Segment) -> Self {
        Self { segment, end: HEADER }
    }

    /// Room for `len` bytes, where there is that much left.
    fn bump(&mut self, len: usize, segment_bytes: usize) -> Option<NonNull<u8>> {
        if self.end + len > segment_bytes {
            return None;
        }
        // SAFETY: the offset is within the segment.
        let at = unsafe { self.segment.start().add(self.end) };
        self.end += len;
        self.segment.add_live(len);
        Some(at)
    }
}

/// A segment holds at least this many of the longest entries that go into segments.
const FEWEST_ENTRIES: usize = 4;
const MOST_HEADS: usize = 8;
/// Segments that writes find without cleaning, where cleaning keeps up.
const KEPT_FREE: usize = 2;

impl Heap {
    /// A heap whose segments suit a cap.
    pub(super) fn new(cap: u64) -> Self {
        let segment_bytes = segment_bytes_for(cap);
        let heads = (cap / (segment_bytes as u64 * 256)).clamp(1, MOST_HEADS as u64);
        Self {
            pool: Pool::new(segment_bytes),
            runs: Runs::default(),
            heads: (0..heads).map(|_| Apart(Mutex::new(None))).collect(),
            cleaner: Mutex::default(),
            is_fifo: AtomicBool::new(false),
            live: Apart(AtomicU64::new(0)),
            large: AtomicU64::new(0),
            graves: Graves::default(),
        }
    }

    /// The longest entry that goes into a segment.
    fn longest(&self) -> usize {
        (self.pool.segment_bytes() - HEADER) / FEWEST_ENTRIES
    }

    /// Whether an entry that occupies so many bytes has pages of its own.
    pub(super) fn is_large(&self, bytes: u64) -> bool {
        bytes > self.longest() as u64
    }

    /// Bytes that an entry of `len` bytes takes from the budget by itself, where it does: one with a mapping of its own.
    pub(super) fn mapped_bytes(&self, len: usize) -> Option<u64> {
        (len > self.longest()).then(|| large::pages_len(len) as u64)
    }

    /// Writes an entry in place of one that has pages of its own, where it needs pages too. Both are never resident at once.
    ///
    /// # Safety
    /// The caller holds the lock of the entry's shard and is its only holder; what is returned takes its place. Nothing of `contents` lies
    /// in the old one.
    pub(super) unsafe fn exchange_large(
        &self,
        budget: &Budget,
        old: Entry,
        contents: &Contents<'_>,
    ) -> Result<Entry, NoRoom> {
        // SAFETY: the caller's promise.
        let resized = unsafe { large::exchange(&self.runs, budget, old, contents, contents.shape(1))? };
        Ok(self.note_resized(resized))
    }

    /// Whether an entry with a block of `before` bytes can be given one of `after` bytes without being copied.
    pub(super) fn can_stretch(&self, before: usize, after: usize) -> bool {
        before > self.longest() && large::can_stretch(before, after)
    }

    /// Gives an entry a block of at least `len` bytes, and keeps what it holds but for an expiry, which the caller writes again.
    ///
    /// # Safety
    /// `can_stretch` says so; otherwise as [`exchange_large`](Self::exchange_large).
    pub(super) unsafe fn stretch(&self, budget: &Budget, entry: Entry, len: usize) -> Result<Entry, NoRoom> {
        // SAFETY: the caller's promise.
        let resized = unsafe { large::stretch(budget, entry, len)? };
        Ok(self.note_resized(resized))
    }

    fn note_resized(&self, (entry, before, after): large::Resized) -> Entry {
        self.large.fetch_add(after, Relaxed);
        self.large.fetch_sub(before, Relaxed);
        entry
    }

    /// Bytes of memory that an entry of `len` bytes occupies.
    pub(super) fn bytes_for(&self, len: usize) -> u64 {
        self.mapped_bytes(len).unwrap_or(len as u64)
    }

    /// Stores an entry with `spare` bytes for its value to grow into, if that can be done.
    pub(super) fn store(
        &self,
        budget: &Budget,
        contents: &Contents<'_>,
        spare: usize,
    ) -> Result<Owned, NoRoom> {
        let shape = contents.shape(spare);
        let len = shape.len();
        if len > self.longest() {
            // Long in any case: it fills its last page.
            let (entry, bytes) = large::store(&self.runs, budget, contents, contents.shape(spare.max(1)))?;
            self.large.fetch_add(bytes, Relaxed);
            // SAFETY: it was written a moment ago, for this call.
            return Ok(unsafe { Owned::new(entry) });
        }
        let entry = self.fill(budget, contents, shape)?;
        self.live.0.fetch_add(len as u64, Relaxed);
        // SAFETY: as above.
        Ok(unsafe { Owned::new(entry) })
    }

    fn fill(&self, budget: &Budget, contents: &Contents<'_>, shape: Shape) -> Result<Entry, NoRoom> {
        let head = &self.heads[stripe() % self.heads.len()].0;
        // SAFETY: `place_in` gives this piece to this call alone; ends and starts are multiples of 8.
        let write = |at| unsafe { Entry::write(at, shape, contents, false) };
        self.place_in(head, Queue::Young, shape.len(), || self.pool.take(budget), write)
    }

    /// Lets `write` fill `len` bytes of what `head` fills, or of the segment that `fresh` gives. The lock of the head is held meanwhile: a
    /// segment that is full is walked by others.
    fn place_in(
        &self,
        head: &Head,
        queue: Queue,
        len: usize,
        fresh: impl FnOnce() -> Result<Segment, NoRoom>,
        write: impl FnOnce(NonNull<u8>) -> Entry,
    ) -> Result<Entry, NoRoom> {
        let bytes = self.pool.segment_bytes();
        let mut filling = head.lock();
        if let Some(at) = filling.as_mut().and_then(|filling| filling.bump(len, bytes)) {
            return Ok(write(at));
        }
        let mut next = Filling::new(fresh()?);
        // The longest entry is a quarter of a segment.
        let at = next.bump(len, bytes).ok_or(NoRoom::System)?;
        let entry = write(at);
        if let Some(full) = filling.replace(next) {
            self.pool.seal(full.segment, full.end, queue);
        }
        Ok(entry)
    }

    /// Frees an entry.
    pub(super) fn free(&self, budget: &Budget, owned: Owned) {
        let entry = owned.into_entry();
        // SAFETY: the entry is there still, and this call has it alone.
        unsafe {
            if entry.is_mapped() {
                self.large.fetch_sub(large::free(&self.runs, &self.graves, budget, entry), Relaxed);
                return;
            }
            let len = entry.shape().len();
            entry.mark_dead();
            self.live.0.fetch_sub(len as u64, Relaxed);
            let segment = Segment::of(entry, self.pool.segment_bytes());
            if segment.sub_live(len) == 0 {
                self.pool.retire(segment);
            }
        }
    }

    /// Keeps the pages of an entry for one who reads its value without a lock, where it has pages of its own.
    ///
    /// # Safety
    /// The entry is there, and the caller holds the lock of its shard.
    pub(super) unsafe fn hold(&self, entry: Entry) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let is_mapped = entry.is_mapped();
            if is_mapped {
                large::hold(entry);
            }
            is_mapped
        }
    }

    /// Ends what [`hold`](Self::hold) began.
    ///
    /// # Safety
    /// It said true, this is called once for it, and the value is read no more.
    pub(super) unsafe fn let_go(&self, budget: &Budget, entry: Entry) {
        // SAFETY: the caller's promise.
        unsafe { large::let_go(&self.runs, &self.graves, budget, entry) };
    }

    /// Pages for a buffer of the program, zeroed or with what was in them, for the caller alone. Not counted here.
    pub(super) fn take_pages(&self, len: usize) -> Option<NonNull<u8>> {
        large::take(&self.runs, len)
    }

    /// Takes pages back, which are counted until the system has them.
    ///
    /// # Safety
    /// [`take_pages`](Self::take_pages) gave them, so many, or [`resize_pages`](Self::resize_pages) did, and nobody refers to what is in them.
    pub(super) unsafe fn put_pages(&self, budget: &Budget, start: NonNull<u8>, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { large::put_counted(&self.runs, &self.graves, budget, start, len) };
    }

    /// Makes pages more without copying what they hold; `None` where that cannot be done.
    ///
    /// # Safety
    /// As [`put_pages`](Self::put_pages) for `before`; `after` is what they are then.
    pub(super) unsafe fn resize_pages(
        &self,
        start: NonNull<u8>,
        before: usize,
        after: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        unsafe { large::resize_pages(start, before, after) }
    }

    /// Frees an entry with pages of its own that was there when the heap was cleared.
    pub(super) fn free_cleared(&self, budget: &Budget, owned: Owned) {
        // SAFETY: the entry is there still, and this call has it alone.
        let bytes = unsafe { large::free(&self.runs, &self.graves, budget, owned.into_entry()) };
        self.graves.forget(bytes);
    }

    /// Gives back a piece of a large entry that is no more; false if there is none.
    pub(super) fn bury(&self, budget: &Budget) -> bool {
        self.graves.bury(budget)
    }

    /// Whether an entry lies, or lay, in a segment. Others have pages of their own.
    pub(super) fn is_in_segment(&self, entry: Entry) -> bool {
        self.pool.holds(entry.address())
    }

    /// Segments that are full or nearly so.
    pub(super) fn sealed(&self) -> usize {
        self.pool.sealed()
    }

    pub(super) fn segment_bytes(&self) -> u64 {
        self.pool.segment_bytes() as u64
    }

    /// Segments that are resident.
    pub(super) fn segments(&self) -> usize {
        self.pool.counted()
    }

    /// Segments that new entries find without anything being cleaned.
    pub(super) fn free_segments(&self) -> usize {
        self.pool.free()
    }

    /// Whether so few segments are free that one should be cleaned before it is needed. A small store has none to keep free.
    pub(super) fn cleans_ahead(&self) -> bool {
        self.heads.len() > 1 && self.pool.free() < KEPT_FREE
    }

    /// Gives free segments back to the budget and the system, all but `keep`, and `most` of them.
    pub(super) fn give_back(&self, budget: &Budget, keep: usize, most: usize) -> u64 {
        self.pool.give_back(budget, keep, most)
    }

    pub(super) fn usage(&self) -> Usage {
        Usage {
            segments: (self.pool.counted() * self.pool.segment_bytes()) as u64,
            live: self.live.0.load(Relaxed),
            waste: self.pool.waste() as u64,
            large: self.large.load(Relaxed),
            unfilled: self.unfilled(),
        }
    }

    /// Says whether entries leave in the order in which they came (`fifo.rs`).
    pub(super) fn set_fifo(&self, is_fifo: bool) {
        self.is_fifo.store(is_fifo, Relaxed);
    }

    /// Survivors are older than what threads write, and mixing the two gives segments of which a part dies early. But a small
    /// store has no segment to spare for that.
    fn keeps_survivors_apart(&self) -> bool {
        self.heads.len() > 1 || self.is_fifo.load(Relaxed)
    }

    /// Segments that may be partly filled or empty at any time: the heads, the cleaner's, and its spare.
    fn unfilled(&self) -> u64 {
        let of_cleaner = if self.keeps_survivors_apart() { 2 } else { 1 };
        (self.heads.len() as u64 + of_cleaner) * self.segment_bytes()
    }

    /// Bytes of segments that a store of a single entry may need: the partly filled ones, the one in which it lies, and one to clean with.
    pub(super) fn fixed_bytes(&self) -> u64 {
        self.unfilled() + 2 * self.segment_bytes()
    }

    /// Bytes by which the live entries are more than what segments can well hold under the cap, were `wanted` more bytes in use for something
    /// else.
    pub(super) fn excess(&self, budget: &Budget, wanted: u64) -> u64 {
        let Usage { segments, live, waste, unfilled, .. } = self.usage();
        // What is dead and counted still goes before anything that lives.
        let dead = segments + self.graves.bytes();
        let fixed = budget.used().saturating_sub(dead).saturating_add(wanted).saturating_add(unfilled);
        // A share is kept free, so that cleaning finds something to gain.
        let share = if budget.cap() < SMALL_CAP { 64 } else { 32 };
        let slack = if live == 0 {
            0
        } else {
            (budget.cap().saturating_sub(fixed) / share).max(self.segment_bytes())
        };
        fixed.saturating_add(live + waste + slack).saturating_sub(budget.cap())
    }

    /// Bytes of segments that hold nothing that lives.
    pub(super) fn garbage(&self) -> u64 {
        let usage = self.usage();
        usage.segments.saturating_sub(usage.unfilled).saturating_sub(usage.live + usage.waste)
    }
}

/// Below this every segment counts, and cleaning costs little.
const SMALL_CAP: u64 = 16 * 1024 * 1024;

/// What the heap's bytes are used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// All segments that are counted.
    pub(super) segments: u64,
    /// Entries in them that are not dead.
    pub(super) live: u64,
    /// Left empty at the ends of full segments.
    pub(super) waste: u64,
    /// Mappings of single entries.
    pub(super) large: u64,
    /// Segments that may be empty or nearly so at any time.
    pub(super) unfilled: u64,
}

/// Small segments for small caps: a few of them are always partly empty.
fn segment_bytes_for(cap: u64) -> usize {
    const MIB: u64 = 1024 * 1024;
    match cap {
        0..MIB => 4 * 1024,
        MIB..2_097_152 => 16 * 1024,
        2_097_152..67_108_864 => 32 * 1024,
        _ => 64 * 1024,
    }
}

/// A number of this thread's own, by which it chooses a head.
fn stripe() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static STRIPE: Cell<Option<usize>> = const { Cell::new(None) };
    }
    STRIPE.with(|stripe| {
        let number = stripe.get().unwrap_or_else(|| THREADS.fetch_add(1, Relaxed));
        stripe.set(Some(number));
        number
    })
}

#[cfg(test)]
#[path = "heap_test.rs"]
mod tests;
