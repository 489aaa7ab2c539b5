//! Where do tables get their memory? From whole pages, which are counted as soon as one is touched; what is shorter shares one with others.
//!
//! An allocator would keep what small tables leave behind when they have grown, and no count would see that: a store of 1.5M keys was 12 bytes
//! a key larger than it said. Here a slab, a few pages cut into arrays of one length, goes back when all of them are free.

use std::collections::HashMap;
use std::ptr::NonNull;

use parking_lot::Mutex;

use super::budget::Budget;
use super::heap::{MOST_PAGES, Mapping, NoRoom, PAGE, Runs};
use super::slots::{SLOT_BYTES, Slots};

/// Arrays of one length, in slots, and the slabs they are cut from.
struct Class {
    slots: usize,
    pages: usize,
}

impl Class {
    fn per_slab(&self) -> usize {
        self.pages * PAGE / (self.slots * SLOT_BYTES)
    }
}

const fn class(slots: usize, pages: usize) -> Class {
    Class { slots, pages }
}

/// Twofold steps while tables are small beside what they point to; then lengths between whole pages, so that no table is much too large.
const CLASSES: [Class; 8] = [
    class(8, 1),
    class(16, 1),
    class(32, 1),
    class(64, 1),
    class(128, 1),
    class(256, 1),
    class(384, 3),
    class(768, 3),
];

/// At least `len` slots, and as many as there are in the memory that such an array takes.
pub(super) fn rounded(len: usize) -> usize {
    let pages = (len * SLOT_BYTES).next_multiple_of(PAGE) / SLOT_BYTES;
    let class = CLASSES.iter().map(|class| class.slots).find(|&slots| slots >= len);
    class.map_or(pages, |slots| slots.min(pages))
}

fn class_of(len: usize) -> Option<usize> {
    CLASSES.iter().position(|class| class.slots == len)
}

#[derive(Default)]
pub(super) struct SlotPool {
    runs: Runs,
    slabs: Mutex<[Slabs; CLASSES.len()]>,
}

/// The slabs of one class.
#[derive(Default)]
struct Slabs {
    /// By the page in which an array starts: the slab's number.
    by_page: HashMap<usize, u32>,
    all: Vec<Slab>,
    /// Those in which there is room.
    open: Vec<u32>,
    /// Numbers that are of no slab any more.
    unused: Vec<u32>,
}

struct Slab {
    start: NonNull<u8>,
    /// A bit for each array that is free.
    free: u64,
    /// Where it stands in `open`, if it does.
    place: u32,
}

// SAFETY: addresses; who may use the memory there is said by `free`.
unsafe impl Send for Slab {}

impl SlotPool {
    /// `len` empty slots, a rounded number.
    pub(super) fn take(&self, budget: &Budget, len: usize) -> Result<Slots, NoRoom> {
        debug_assert_eq!(rounded(len), len);
        if len == 0 {
            return Ok(Slots::default());
        }
        let bytes = len * SLOT_BYTES;
        let start = match class_of(len) {
            Some(class) => {
                let start = self.take_from_slab(budget, class)?;
                // SAFETY: the array is this call's, so long. What was in it before is no more.
                unsafe { start.write_bytes(0, bytes) };
                Some(start)
            }
            None => {
                if !budget.try_reserve(bytes as u64) {
                    return Err(NoRoom::Beside(bytes as u64));
                }
                let start = self.take_pages(bytes / PAGE);
                if start.is_none() {
                    budget.release(bytes as u64);
                }
                start
            }
        };
        // SAFETY: so many bytes were taken for this call, zeroed, aligned to 64 bytes at least.
        Ok(unsafe { Slots::at(start.ok_or(NoRoom::System)?.cast(), len) })
    }

    /// Takes memory back.
    pub(super) fn put(&self, budget: &Budget, slots: Slots) {
        let (start, len) = (slots.start(), slots.len());
        if len == 0 {
            return;
        }
        if let Some(class) = class_of(len) {
            self.put_in_slab(budget, class, start);
            return;
        }
        let bytes = len * SLOT_BYTES;
        // SAFETY: `take` gave so many pages, and whoever gives the slots up refers to them no more.
        unsafe { self.put_pages(start, bytes / PAGE) };
        budget.release(bytes as u64);
    }

    fn take_pages(&self, pages: usize) -> Option<NonNull<u8>> {
        if pages <= MOST_PAGES {
            return self.runs.take(pages);
        }
        Mapping::new(pages * PAGE, PAGE).map(Mapping::leak)
    }

    /// # Safety
    /// `take_pages` gave these pages, and nobody refers to what is in them.
    unsafe fn put_pages(&self, start: NonNull<u8>, pages: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if pages <= MOST_PAGES {
                self.runs.put(start, pages);
            } else {
                drop(Mapping::from_leaked(start, pages * PAGE));
            }
        }
    }

    fn take_from_slab(&self, budget: &Budget, index: usize) -> Result<NonNull<u8>, NoRoom> {
        let class = &CLASSES[index];
        let bytes = (class.pages * PAGE) as u64;
        let slabs = &mut self.slabs.lock()[index];
        if slabs.open.is_empty() {
            if !budget.try_reserve(bytes) {
                return Err(NoRoom::Beside(bytes));
            }
            let Some(start) = self.runs.take(class.pages) else {
                budget.release(bytes);
                return Err(NoRoom::System);
            };
            slabs.add(start, class);
        }
        slabs.pop(class).ok_or(NoRoom::System)
    }

    fn put_in_slab(&self, budget: &Budget, index: usize, start: NonNull<u8>) {
        let class = &CLASSES[index];
        let emptied = self.slabs.lock()[index].push(class, start);
        if let Some(start) = emptied {
            // SAFETY: all arrays of the slab are free, and it is in no list any more.
            unsafe { self.runs.put(start, class.pages) };
            budget.release((class.pages * PAGE) as u64);
        }
    }
}

impl Slabs {
    fn add(&mut self, start: NonNull<u8>, class: &Class) {
        let slab = Slab { start, free: u64::MAX >> (64 - class.per_slab()), place: self.open.len() as u32 };
        let number = self.unused.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(number as usize) {
            Some(unused) => *unused = slab,
            None => self.all.push(slab),
        }
        self.open.push(number);
        for page in 0..class.pages {
            self.by_page.insert(start.addr().get() / PAGE + page, number);
        }
    }

    fn pop(&mut self, class: &Class) -> Option<NonNull<u8>> {
        let slab = &mut self.all[*self.open.last()? as usize];
        let index = slab.free.trailing_zeros() as usize;
        slab.free &= slab.free - 1;
        if slab.free == 0 {
            self.open.pop();
        }
        // SAFETY: the slab is so long, and the array's bit said that it was free.
        Some(unsafe { slab.start.add(index * class.slots * SLOT_BYTES) })
    }

    /// Takes an array back, and hands out its slab if all of it is free.
    fn push(&mut self, class: &Class, array: NonNull<u8>) -> Option<NonNull<u8>> {
        let number = *self.by_page.get(&(array.addr().get() / PAGE))?;
        let slab = &mut self.all[number as usize];
        let offset = array.addr().get() - slab.start.addr().get();
        let was_full = slab.free == 0;
        slab.free |= 1 << (offset / (class.slots * SLOT_BYTES));
        if was_full {
            slab.place = self.open.len() as u32;
            self.open.push(number);
        }
        let (start, place) = (slab.start, slab.place as usize);
        if slab.free.count_ones() as usize != class.per_slab() {
            return None;
        }
        self.open.swap_remove(place);
        if let Some(moved) = self.open.get(place) {
            self.all[*moved as usize].place = place as u32;
        }
        self.unused.push(number);
        for page in 0..class.pages {
            self.by_page.remove(&(start.addr().get() / PAGE + page));
        }
        Some(start)
    }
}

#[cfg(test)]
#[path = "slot_pool_test.rs"]
mod tests;
