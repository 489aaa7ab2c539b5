//! How does a cache line arrive before it is needed? By asking for it; where the processor cannot be asked, nothing happens.

/// Asks for the cache line of `address`, to be read.
#[inline]
pub(crate) fn read<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program sees, and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for the cache line of `address`, to be written: no other processor keeps a copy of it.
#[inline]
pub(crate) fn write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above; a processor without the instruction takes it for none.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
