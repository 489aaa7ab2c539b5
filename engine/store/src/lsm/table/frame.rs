//! How does a block lie in its file?
//!
//! ```text
//! payload       compressed or not
//! raw length    4 bytes
//! compression   1 byte: 0 none, 1 lz4 (block format), 2 zstd (a frame with its content size)
//! checksum      4 bytes, over all before it, seeded with the number of the file
//! ```

use super::block::Damage;
use super::zstd;
use crate::lsm::buffer::Buffer;
use crate::lsm::checksum::checksum;
use lz4_flex::block::{CompressTable, compress_into, compress_into_with_table};
use std::cell::RefCell;

/// Blocks longer than this when they are taken apart are damage, not data: a value and its key have limits.
const MAX_RAW: usize = 1 << 30;

/// How blocks are made smaller. The numbers are part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Compression {
    None = 0,
    Lz4 = 1,
    Zstd = 2,
}

/// The longest that one byte of lz4 can become: a run of which each further byte says 255 more.
const LZ4_RATIO: usize = 255;

/// What is longer has another table, four times as large.
const LZ4_SMALL: usize = u16::MAX as usize;

thread_local! {
    /// lz4's table of what it has seen, kept from one block to the next: to take memory for it costs as much as a tenth of a block.
    static LZ4: RefCell<CompressTable> = RefCell::default();
}

/// Bytes that a compressed block may take before it is known how many it does.
fn room(raw: usize, compression: Compression) -> usize {
    match compression {
        Compression::None => 0,
        Compression::Lz4 => lz4_flex::block::get_maximum_output_size(raw),
        // What does not fit saves too little.
        Compression::Zstd => raw,
    }
}

/// Compresses a block into `out`, which has [`room`], and returns the length. `None` where that saves less
/// than an eighth.
fn compress(raw: &[u8], out: &mut [u8], compression: Compression) -> Option<usize> {
    let len = match compression {
        Compression::None => None,
        Compression::Lz4 if raw.len() < LZ4_SMALL => {
            LZ4.with_borrow_mut(|table| compress_into_with_table(raw, out, table)).ok()
        }
        Compression::Lz4 => compress_into(raw, out).ok(),
        Compression::Zstd => zstd::compress(raw, out),
    };
    len.filter(|len| *len < raw.len() - raw.len() / 8)
}

/// The raw length and the compression.
fn trailer(raw: usize, compression: Compression) -> [u8; 5] {
    let [a, b, c, d] = (raw as u32).to_le_bytes();
    [a, b, c, d, compression as u8]
}

/// Appends a block to a file's bytes. Where compression saves less than an eighth, the block stays as it is.
pub(crate) fn put(out: &mut Vec<u8>, raw: &[u8], compression: Compression, file: u64) {
    let begin = out.len();
    out.resize(begin + room(raw.len(), compression), 0);
    let used = match compress(raw, &mut out[begin..], compression) {
        Some(len) => {
            out.truncate(begin + len);
            compression
        }
        None => {
            out.truncate(begin);
            out.extend_from_slice(raw);
            Compression::None
        }
    };
    out.extend_from_slice(&trailer(raw.len(), used));
    let sum = checksum(&out[begin..], file);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Bytes that a frame takes beside what is in it.
pub(crate) const TRAILER: usize = 9;

/// As [`put`], of a block alone: one that is not compressed stays in its memory.
pub(crate) fn whole(mut raw: Buffer, compression: Compression, file: u64) -> Buffer {
    let len = raw.len();
    let mut out = Buffer::new();
    out.set_len(room(len, compression));
    let used = match compress(&raw, &mut out, compression) {
        Some(len) => {
            out.truncate(len);
            raw = out;
            compression
        }
        None => Compression::None,
    };
    raw.extend_from_slice(&trailer(len, used));
    let sum = checksum(&raw, file);
    raw.extend_from_slice(&sum.to_le_bytes());
    raw
}

/// A block as it was before it was put into the file: part of `framed`, or in `space`.
pub(crate) fn open<'a>(framed: &'a [u8], file: u64, space: &'a mut Buffer) -> Result<&'a [u8], Damage> {
    let (rest, sum) = framed.split_last_chunk::<4>().ok_or("a block is shorter than its trailer")?;
    if checksum(rest, file) != u32::from_le_bytes(*sum) {
        return Err("a block has the wrong checksum");
    }
    let (compression, rest) = rest.split_last().ok_or("a block is shorter than its trailer")?;
    let (payload, raw) = rest.split_last_chunk::<4>().ok_or("a block is shorter than its trailer")?;
    let raw = u32::from_le_bytes(*raw) as usize;
    let len = match compression {
        0 if raw == payload.len() => return Ok(payload),
        // Before memory is taken for it: what cannot become so long is not what was written.
        1 if raw <= MAX_RAW && raw <= payload.len().saturating_mul(LZ4_RATIO) => {
            space.set_len(raw);
            lz4_flex::block::decompress_into(payload, space).ok()
        }
        2 if !zstd::IS_BUILT_IN => {
            return Err("a block is compressed with zstd, and this build is without the feature `zstd`");
        }
        2 if raw <= MAX_RAW && zstd::raw_len(payload) == Some(raw as u64) => {
            space.set_len(raw);
            zstd::decompress(payload, space)
        }
        _ => return Err("a block has an unknown compression or a wrong length"),
    };
    if len == Some(raw) { Ok(space) } else { Err("a block cannot be decompressed") }
}

/// Whether a block was made smaller.
fn is_compressed(framed: &[u8]) -> bool {
    framed.iter().nth_back(4).is_some_and(|kind| *kind != Compression::None as u8)
}

/// As [`open`], in the memory of `framed` where the block was not compressed.
pub(crate) fn open_whole(mut framed: Buffer, file: u64) -> Result<Buffer, Damage> {
    let mut space = Buffer::new();
    let len = open(&framed, file, &mut space)?.len();
    if is_compressed(&framed) {
        return Ok(space);
    }
    framed.truncate(len);
    Ok(framed)
}

/// As [`open`], with the block in `space` even where it was not compressed.
pub(crate) fn open_into(framed: &[u8], file: u64, space: &mut Buffer) -> Result<(), Damage> {
    if is_compressed(framed) {
        return open(framed, file, space).map(drop);
    }
    let mut nothing = Buffer::new();
    let raw = open(framed, file, &mut nothing)?;
    space.clear();
    space.extend_from_slice(raw);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

    proptest! {
        #[test]
        fn blocks_come_back_and_damaged_ones_do_not(
            half in prop::collection::vec(any::<u8>(), 0..400),
            zeros in 0_usize..400,
            compression in prop::sample::select(ALL.to_vec()),
            bit in any::<prop::sample::Index>(),
        ) {
            let raw = [half, vec![0; zeros]].concat();
            let mut framed = Vec::new();
            put(&mut framed, &raw, compression, 9);
            prop_assert!(framed.len() <= raw.len() + 9);
            let mut space = Buffer::new();
            prop_assert_eq!(open(&framed, 9, &mut space), Ok(&raw[..]));
            let opened = open_whole(framed.clone().into(), 9);
            prop_assert_eq!(opened.as_deref(), Ok(&raw[..]));
            prop_assert!(open_whole(framed.clone().into(), 8).is_err());
            prop_assert_eq!(&whole(raw.clone().into(), compression, 9)[..], &framed[..]);
            prop_assert!(open(&framed, 8, &mut space).is_err());
            prop_assert!(open(&framed[..framed.len() - 1], 9, &mut space).is_err());
            let bit = bit.index(framed.len() * 8);
            framed[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(open(&framed, 9, &mut space).is_err());
        }

        /// Damage that the checksum does not know of, as if somebody had made it.
        #[test]
        fn no_payload_is_a_panic_or_takes_more_memory_than_it_says(
            payload in prop::collection::vec(any::<u8>(), 0..60),
            is_genuine in any::<bool>(),
            raw in prop_oneof![0_u32..500, any::<u32>()],
            compression in 0_u8..4,
            at in any::<prop::sample::Index>(),
        ) {
            let mut payload = payload;
            if is_genuine {
                let mut framed = Vec::new();
                let compression = if compression == 1 { Compression::Lz4 } else { Compression::Zstd };
                put(&mut framed, &[7; 300], compression, 9);
                let genuine = framed[..framed.len() - 9].to_vec();
                if let Some(byte) = payload.first().copied() {
                    payload = genuine;
                    let at = at.index(payload.len());
                    payload[at] = byte;
                }
            }
            let framed = framed(&payload, raw, compression);
            let mut space = Buffer::new();
            if let Ok(found) = open(&framed, 9, &mut space) {
                prop_assert_eq!(found.len(), raw as usize);
            }
            prop_assert!(space.capacity() <= (payload.len() * LZ4_RATIO).max(1 << 20), "{}", space.capacity());
        }
    }

    fn framed(payload: &[u8], raw: u32, compression: u8) -> Vec<u8> {
        let mut framed = [payload, &raw.to_le_bytes(), &[compression]].concat();
        framed.extend_from_slice(&checksum(&framed, 9).to_le_bytes());
        framed
    }

    #[test]
    fn each_compression_has_its_number_and_a_wrong_length_is_damage() {
        let raw =
            b"abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc".repeat(20);
        let lengths = ALL.map(|compression| {
            let mut framed_as = Vec::new();
            put(&mut framed_as, &raw, compression, 9);
            assert_eq!(framed_as[framed_as.len() - 5], compression as u8);
            let payload = &framed_as[..framed_as.len() - 9];
            let len = raw.len() as u32;
            assert_eq!(open(&framed(payload, len, compression as u8), 9, &mut Buffer::new()), Ok(&raw[..]));
            for wrong in [0, len - 1, len + 1, 2 * len, 1 << 30, u32::MAX] {
                let damaged = framed(payload, wrong, compression as u8);
                let mut space = Buffer::new();
                assert!(open(&damaged, 9, &mut space).is_err(), "{compression:?}, {wrong} bytes");
                assert!(space.capacity() <= 2 * LZ4_RATIO * raw.len());
            }
            framed_as.len()
        });
        assert!(lengths[1] < lengths[0] / 4 && lengths[2] < lengths[0] / 4, "{lengths:?}");
        // What does not get smaller stays as it is.
        let mut random = fastrand::Rng::with_seed(1);
        let noise: Vec<u8> = (0..1_000).map(|_| random.u8(..)).collect();
        for compression in ALL {
            let mut framed = Vec::new();
            put(&mut framed, &noise, compression, 9);
            assert_eq!((framed.len(), framed[framed.len() - 5]), (noise.len() + 9, 0), "{compression:?}");
        }
    }

    #[test]
    fn short_blocks_and_long_ones_take_turns() {
        let mut random = fastrand::Rng::with_seed(1);
        for len in [1_000, LZ4_SMALL - 1, 2_000, LZ4_SMALL, 3_000, 300_000, 1_000] {
            let raw: Vec<u8> =
                (0..len).map(|at| if at / 16 % 2 == 0 { random.u8(..) } else { b'.' }).collect();
            let (mut framed, mut space) = (Vec::new(), Buffer::new());
            put(&mut framed, &raw, Compression::Lz4, 9);
            assert!(framed.len() < len * 7 / 8);
            assert_eq!(open(&framed, 9, &mut space), Ok(&raw[..]));
        }
    }
}
