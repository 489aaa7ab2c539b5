//! Which allocator serves this process? glibc's, or mimalloc where `PLUMBKV_ALLOCATOR=mimalloc` asks for it.
//!
//! One binary with one switch, so that a measured difference is the allocator's and no other build's. The choice is made
//! at the first allocation, before `main`, and never changes: every block is given back to the allocator it came from.
//! glibc's is the default because the store accounts by its size classes; under mimalloc the cap still holds for what is
//! accounted, but resident memory differs from it by the difference of the two allocators' rounding.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, Ordering};

use mimalloc::MiMalloc;

use crate::warm::MAPPED_BYTES;

/// The variable that chooses; no flag, since flags are read long after the first allocation.
pub(crate) const VARIABLE: &str = "PLUMBKV_ALLOCATOR";
const VARIABLE_C: &CStr = c"PLUMBKV_ALLOCATOR";

const UNDECIDED: u8 = 0;
const SYSTEM: u8 = 1;
const MIMALLOC: u8 = 2;

static CHOICE: AtomicU8 = AtomicU8::new(UNDECIDED);

#[global_allocator]
static GLOBAL: Switch = Switch;

struct Switch;

/// What a value of the variable asks for; empty counts as unset, as for every other setting.
fn parse(value: &[u8]) -> Option<u8> {
    match value {
        b"" | b"system" => Some(SYSTEM),
        b"mimalloc" => Some(MIMALLOC),
        _ => None,
    }
}

#[inline]
fn uses_mimalloc() -> bool {
    // Relaxed is enough: the one value that is ever published guards no other memory.
    match CHOICE.load(Ordering::Relaxed) {
        UNDECIDED => decide() == MIMALLOC,
        choice => choice == MIMALLOC,
    }
}

#[cold]
fn decide() -> u8 {
    // SAFETY: the name ends with a zero byte. Nothing in this program changes the environment, so that what getenv
    // points at stays as it is.
    let value = unsafe { libc::getenv(VARIABLE_C.as_ptr()) };
    let wanted = if value.is_null() {
        SYSTEM
    } else {
        // SAFETY: what getenv returns, unless null, is a string that ends with a zero byte.
        let value = unsafe { CStr::from_ptr(value) };
        // A value that is no allocator's name is refused by `check` before anything is served.
        parse(value.to_bytes()).unwrap_or(SYSTEM)
    };
    // The first decision is everybody's.
    match CHOICE.compare_exchange(UNDECIDED, wanted, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => wanted,
        Err(decided) => decided,
    }
}

// SAFETY: every method passes its arguments on to one of two sound allocators, and always to the same one: the choice is
// published before the first block leaves and never changes. No method panics.
unsafe impl GlobalAlloc for Switch {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if uses_mimalloc() {
            // SAFETY: the caller keeps the same promises to us.
            unsafe { MiMalloc.alloc(layout) }
        } else {
            // SAFETY: the caller keeps the same promises to us.
            unsafe { System.alloc(layout) }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if uses_mimalloc() {
            // SAFETY: the caller keeps the same promises to us.
            unsafe { MiMalloc.alloc_zeroed(layout) }
        } else {
            // SAFETY: the caller keeps the same promises to us.
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if uses_mimalloc() {
            // SAFETY: the block came from `alloc` above, which chose as this does.
            unsafe { MiMalloc.dealloc(block, layout) }
        } else {
            // SAFETY: the block came from `alloc` above, which chose as this does.
            unsafe { System.dealloc(block, layout) }
        }
        if layout.size() >= MAPPED_BYTES {
            plumbkv::settle_high_water();
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if uses_mimalloc() {
            // SAFETY: the block came from `alloc` above, which chose as this does.
            unsafe { MiMalloc.realloc(block, layout, new_size) }
        } else {
            // SAFETY: the block came from `alloc` above, which chose as this does.
            unsafe { System.realloc(block, layout, new_size) }
        }
    }
}

/// The allocator in use, as INFO's `mem_allocator` names it.
pub(crate) fn name() -> &'static str {
    if uses_mimalloc() { "mimalloc" } else { "libc" }
}

/// Refuses a value of the variable that names no allocator.
///
/// # Errors
/// One line that says which values there are.
pub(crate) fn check() -> Result<(), String> {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    match parse(value.as_encoded_bytes()) {
        Some(_) => Ok(()),
        None => {
            Err(format!("invalid value '{}' for {VARIABLE}: expected system or mimalloc", value.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_an_allocator_or_nothing() {
        assert_eq!(parse(b""), Some(SYSTEM));
        assert_eq!(parse(b"system"), Some(SYSTEM));
        assert_eq!(parse(b"mimalloc"), Some(MIMALLOC));
        assert_eq!(parse(b"jemalloc"), None);
        assert_eq!(parse(b"MIMALLOC"), None);
    }

    #[test]
    fn blocks_of_both_allocators_keep_what_is_written_through_every_method() {
        // The choice of this process is one of the two; the other is reached directly.
        fn check(allocator: &impl GlobalAlloc) {
            for size in [1, 24, 4_096, 300_000] {
                for align in [1, 16, 4_096] {
                    let layout = Layout::from_size_align(size, align).unwrap();
                    // SAFETY: sizes are above zero; what is read and written lies inside the blocks; each is given back once.
                    unsafe {
                        let zeroed = allocator.alloc_zeroed(layout);
                        assert!(!zeroed.is_null() && zeroed.addr().is_multiple_of(align));
                        assert_eq!(*zeroed.add(size - 1), 0);
                        zeroed.write_bytes(0xA5, size);
                        let grown = allocator.realloc(zeroed, layout, size * 2);
                        assert!(grown.addr().is_multiple_of(align));
                        assert_eq!((*grown, *grown.add(size - 1)), (0xA5, 0xA5));
                        allocator.dealloc(grown, Layout::from_size_align(size * 2, align).unwrap());
                    }
                }
            }
        }
        check(&Switch);
        check(&MiMalloc);
        check(&System);
    }
}
