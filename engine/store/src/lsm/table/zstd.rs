//! Zstandard, an optional feature of the crate: without it blocks are neither written nor read with it.

#[cfg(feature = "zstd")]
pub(super) use with::{compress, decompress, raw_len};
#[cfg(not(feature = "zstd"))]
pub(super) use without::{compress, decompress, raw_len};

/// Whether this build can read and write it.
pub(crate) const IS_BUILT_IN: bool = cfg!(feature = "zstd");

#[cfg(feature = "zstd")]
mod with {
    use std::cell::RefCell;
    use zstd::bulk::{Compressor, Decompressor};

    /// The default of zstd, because higher levels gain little on blocks of a few kilobytes.
    const LEVEL: i32 = 3;

    /// Contexts, made once per thread because each is larger than a block. `None` before the first
    /// use, or if memory ran out.
    #[derive(Default)]
    struct Contexts {
        compressor: Option<Compressor<'static>>,
        decompressor: Option<Decompressor<'static>>,
    }

    thread_local! {
        static CONTEXTS: RefCell<Contexts> = RefCell::default();
    }

    /// Compresses into `out`, and returns the length; `None` if it does not fit.
    pub(in super::super) fn compress(raw: &[u8], out: &mut [u8]) -> Option<usize> {
        CONTEXTS.with_borrow_mut(|contexts| {
            if contexts.compressor.is_none() {
                contexts.compressor = Compressor::new(LEVEL).ok();
            }
            contexts.compressor.as_mut()?.compress_to_buffer(raw, out).ok()
        })
    }

    /// Decompresses into `out`, and returns the length; `None` for a damaged frame.
    pub(in super::super) fn decompress(payload: &[u8], out: &mut [u8]) -> Option<usize> {
        CONTEXTS.with_borrow_mut(|contexts| {
            if contexts.decompressor.is_none() {
                contexts.decompressor = Decompressor::new().ok();
            }
            contexts.decompressor.as_mut()?.decompress_to_buffer(payload, out).ok()
        })
    }

    /// The decompressed length that a frame states.
    pub(in super::super) fn raw_len(payload: &[u8]) -> Option<u64> {
        zstd::zstd_safe::get_frame_content_size(payload).ok().flatten()
    }
}

#[cfg(not(feature = "zstd"))]
mod without {
    pub(in super::super) fn compress(_raw: &[u8], _out: &mut [u8]) -> Option<usize> {
        None
    }

    pub(in super::super) fn decompress(_payload: &[u8], _out: &mut [u8]) -> Option<usize> {
        None
    }

    pub(in super::super) fn raw_len(_payload: &[u8]) -> Option<u64> {
        None
    }
}
