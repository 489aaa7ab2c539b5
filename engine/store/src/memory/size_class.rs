//! What does a block of so many bytes really cost? The allocator's rounding, not the length asked for.
//!
//! The formula is that of glibc's malloc on 64-bit machines: 8 bytes of header, rounded up to 16, at least 32;
//! from 128 KiB on a block may get a mapping of its own, with 16 bytes of header and whole pages. (glibc raises
//! that threshold by itself, and such a block then costs less than is counted here, never more.) Sources:
//! [malloc.c, "Representation of allocated chunks"](https://sourceware.org/git/?p=glibc.git;a=blob;f=malloc/malloc.c)
//! and [mallopt(3), `M_MMAP_THRESHOLD`](https://man7.org/linux/man-pages/man3/mallopt.3.html).
//!
//! What no formula sees is fragmentation: holes between blocks of other sizes. `docs/design.md` says how large
//! it was measured to be.

const HEADER: usize = 8;
const ROUNDING: usize = 16;
const SMALLEST: usize = 32;
const MAPPED_FROM: usize = 128 * 1024;
const MAPPED_HEADER: usize = 16;
const PAGE: usize = 4096;

/// Bytes of memory that a block of `len` bytes occupies.
pub(super) fn cost(len: usize) -> u64 {
    (usable(len) + if len == 0 { 0 } else { header(len) }) as u64
}

/// The longest block that costs no more than one of `len` bytes.
pub(super) fn usable(len: usize) -> usize {
    if len == 0 {
        return 0;
    }
    if is_mapped(len) {
        (len + MAPPED_HEADER).next_multiple_of(PAGE) - MAPPED_HEADER
    } else {
        (len + HEADER).next_multiple_of(ROUNDING).max(SMALLEST) - HEADER
    }
}

fn is_mapped(len: usize) -> bool {
    (len + HEADER).next_multiple_of(ROUNDING) >= MAPPED_FROM
}

fn header(len: usize) -> usize {
    if is_mapped(len) { MAPPED_HEADER } else { HEADER }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_those_of_malloc() {
        let table = [
            (0, 0),
            (1, 32),
            (24, 32),
            (25, 48),
            (40, 48),
            (1044, 1056),
            (1048, 1056),
            (1049, 1072),
            (200_000, 200_704),
        ];
        for (len, expected) in table {
            assert_eq!(cost(len), expected, "a block of {len} bytes");
        }
    }

    #[test]
    fn usable_is_the_longest_length_of_the_same_cost() {
        for len in (1..5000).chain(130_000..140_000) {
            let longest = usable(len);
            assert!(longest >= len);
            assert_eq!(cost(longest), cost(len), "{len} and {longest} bytes");
            assert!(cost(longest + 1) > cost(len), "{len} bytes could have been more");
        }
    }
}
