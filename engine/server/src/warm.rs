//! What does a server touch before it says that it is ready? All that it would touch sooner or later anyway, so that its memory at the start
//! is what it takes besides its data.
//!
//! Tables that only a panic reads are left out: nothing panics that serves.
//!
//! Code is read from its file when it runs for the first time, and the allocator takes pages when it needs them first. Both would look
//! like growth under the memory cap, a megabyte of it, though no key takes it.

use std::fs;
use std::ops::Range;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Bytes that the allocator has at hand for what the server allocates besides entries, tables and buffers, which are counted.
const HEAP_BYTES: usize = 1280 << 10;

/// Pieces of memory from so many bytes on are mappings.
pub(crate) const MAPPED_BYTES: usize = 16 << 10;

/// The smallest page of a kernel.
const PAGE_BYTES: usize = 4096;

/// Stack that commands need, in bytes.
const STACK_BYTES: usize = 64 << 10;

/// Pages of files that are more than a CPU keeps to itself.
const FILE_PAGES_BYTES: usize = 1 << 20;

/// Touches code, constants, some heap and some stack.
pub(crate) fn warm() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for range in without_unwinding(executable_ranges(&maps), &unwinding_tables()) {
        // SAFETY: the range is mapped from a file, as the kernel says, and to read ahead changes nothing in it. A kernel before 5.14 refuses.
        let _ = unsafe { madvise(range.start as *mut _, range.len(), Advice::LinuxPopulateRead) };
    }
    // It may lie where the heap ends: freed later, it would make what is free there more than what is to be kept, and all of it would go.
    drop(maps);
    // Many small pieces: one large one would be a mapping of its own, and leave with it.
    let pieces: Vec<Vec<u8>> = (0..HEAP_BYTES / 4096).map(|_| vec![1; 4096 - 16]).collect();
    drop(std::hint::black_box(pieces));
    keep_freed_memory();
    warm_stack();
    settle_counts();
}

/// Has every CPU report what it has counted of this process's pages, of files and others: what it keeps to itself (at most a batch, as
/// `plumbkv::keep_high_water_true` says) would be missing in, or too much of, the high-water mark for ever.
fn settle_counts() {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)) {
        let mut only = CpuSet::new();
        only.set(cpu);
        if sched_setaffinity(None, &only).is_ok() {
            settle_file_pages();
            plumbkv::settle_high_water();
        }
    }
    // What was allowed a moment ago still is, or the kernel has narrowed it, which nobody here can undo.
    let _ = sched_setaffinity(None, &allowed);
}

/// Maps pages of this program once more and gives them back, more than a CPU keeps to itself.
fn settle_file_pages() {
    let Ok(file) = fs::File::open("/proc/self/exe") else { return };
    let bytes = FILE_PAGES_BYTES.min(file.metadata().map_or(0, |file| file.len() as usize));
    // SAFETY: a mapping at an address that the kernel chooses, read by nobody, and unmapped here.
    unsafe {
        let (protection, flags) = (ProtFlags::READ, MapFlags::PRIVATE);
        let Ok(start) = mmap(std::ptr::null_mut(), bytes, protection, flags, file, 0) else { return };
        let _ = madvise(start, bytes, Advice::LinuxPopulateRead);
        let _ = munmap(start, bytes);
    }
}

/// An empty vector with room for so many bytes that are resident already, so that they are not a growth later.
pub(crate) fn touched_room(bytes: usize) -> Vec<u8> {
    let mut room = vec![1; bytes];
    room.clear();
    room
}

/// Touches the stack that commands will need on this thread.
pub(crate) fn warm_stack() {
    std::hint::black_box([1u8; STACK_BYTES]);
}

/// Tells glibc's allocator to give what it has to every thread: an arena for each would be memory that nobody has touched yet. To be called
/// before any other thread runs.
pub(crate) fn settle_allocator() {
    #[cfg(target_env = "gnu")]
    // SAFETY: changes numbers in the allocator; no thread but this one runs yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * HEAP_BYTES as libc::c_int);
        // What is longer comes in pages of its own, which leave no hole behind.
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES as libc::c_int);
    }
}

/// Tells it to keep what is free at the end of its memory now, and to give back what is free beyond that.
fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: reads and changes numbers in the allocator.
    unsafe {
        let kept = libc::mallinfo2().keepcost.min(2 * HEAP_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, kept as libc::c_int + 4096);
    }
}

/// Gives the system back what glibc's allocator keeps free between what is in use.
pub(crate) fn release_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: gives back pages that no allocation lies on; safe at any time, from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
    plumbkv::settle_high_water();
}

/// Where pages of files are mapped, to be read or run but not written: this program's own, and those of its libraries.
fn executable_ranges(maps: &str) -> Vec<Range<usize>> {
    let range = |line: &str| {
        let mut fields = line.split_whitespace();
        let (addresses, permissions, file) = (fields.next()?, fields.next()?, fields.nth(3)?);
        let (start, end) = addresses.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        (file.starts_with('/') && permissions.starts_with('r') && !permissions.contains('w')).then_some(range)
    };
    maps.lines().filter_map(range).collect()
}

/// Where the tables begin that only a panic reads. Linkers put them behind all constants, in one mapping with those.
fn unwinding_tables() -> Vec<usize> {
    /// Notes where such a table of one program or library begins.
    unsafe extern "C" fn note(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        found: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader gives a description with as many headers as it says, and passes on the vector below, which nothing else uses.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<usize>>()) };
        if !info.dlpi_phdr.is_null() {
            // SAFETY: as above.
            let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
            let tables = headers.iter().filter(|header| header.p_type == libc::PT_GNU_EH_FRAME);
            found.extend(tables.map(|header| info.dlpi_addr.wrapping_add(header.p_vaddr) as usize));
        }
        0
    }
    let mut found = Vec::new();
    // SAFETY: the function takes what it is given for what it is, a vector that outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

/// The same ranges, each up to the page in which a table for unwinding begins.
fn without_unwinding(ranges: Vec<Range<usize>>, tables: &[usize]) -> Vec<Range<usize>> {
    let shorten = |range: Range<usize>| {
        let table = tables.iter().copied().filter(|table| range.contains(table)).min();
        range.start..table.map_or(range.end, |table| (table & !(PAGE_BYTES - 1)).max(range.start))
    };
    ranges.into_iter().map(shorten).filter(|range| !range.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_for_unwinding_are_left_where_they_are() {
        let shortened =
            without_unwinding(vec![0x1000..0x9000, 0x9000..0xa000, 0xb000..0xc000], &[0x5010, 0x9008]);
        assert_eq!(shortened, [0x1000..0x5000, 0xb000..0xc000]);
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let (all, tables) = (executable_ranges(&maps), unwinding_tables());
        assert!(
            tables.iter().any(|table| all.iter().any(|range| range.contains(table))),
            "{tables:x?} in {maps}"
        );
    }

    #[test]
    fn the_programs_own_code_is_found() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let bytes: usize = executable_ranges(&maps).iter().map(ExactSizeIterator::len).sum();
        assert!(bytes > 500_000, "{bytes}");
        assert!(executable_ranges("nonsense\n1-2 r--p\n").is_empty());
        warm();
    }
}
