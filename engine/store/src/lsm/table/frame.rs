//! How does a block lie in its file?
//!
//! ```text
//! payload       compressed or not
//! raw length    4 bytes
//! compression   1 byte: 0 none, 1 lz4
//! checksum      4 bytes, over all before it, seeded with the number of the file
//! ```

use super::block::Damage;
use crate::lsm::checksum::checksum;

/// Blocks longer than this when they are taken apart are damage, not data: a value and its key have limits.
const MAX_RAW: usize = 1 << 30;

/// How blocks are made smaller. The numbers are part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Compression {
    None = 0,
    Lz4 = 1,
}

/// Appends a block to a file's bytes. Where compression saves less than an eighth, the block stays as it is.
pub(crate) fn put(out: &mut Vec<u8>, raw: &[u8], compression: Compression, file: u64) {
    let begin = out.len();
    let mut used = Compression::None;
    if compression == Compression::Lz4 {
        out.resize(begin + lz4_flex::block::get_maximum_output_size(raw.len()), 0);
        if let Ok(len) = lz4_flex::block::compress_into(raw, &mut out[begin..])
            && len < raw.len() - raw.len() / 8
        {
            out.truncate(begin + len);
            used = Compression::Lz4;
        }
    }
    if used == Compression::None {
        out.truncate(begin);
        out.extend_from_slice(raw);
    }
    out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    out.push(used as u8);
    let sum = checksum(&out[begin..], file);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// A block as it was before it was put into the file: part of `framed`, or in `space`.
pub(crate) fn open<'a>(framed: &'a [u8], file: u64, space: &'a mut Vec<u8>) -> Result<&'a [u8], Damage> {
    let (rest, sum) = framed.split_last_chunk::<4>().ok_or("a block is shorter than its trailer")?;
    if checksum(rest, file) != u32::from_le_bytes(*sum) {
        return Err("a block has the wrong checksum");
    }
    let (compression, rest) = rest.split_last().ok_or("a block is shorter than its trailer")?;
    let (payload, raw) = rest.split_last_chunk::<4>().ok_or("a block is shorter than its trailer")?;
    let raw = u32::from_le_bytes(*raw) as usize;
    match compression {
        0 if raw == payload.len() => Ok(payload),
        1 if raw <= MAX_RAW => {
            space.resize(raw, 0);
            match lz4_flex::block::decompress_into(payload, space) {
                Ok(len) if len == raw => Ok(space),
                _ => Err("a block cannot be decompressed"),
            }
        }
        _ => Err("a block has an unknown compression or a wrong length"),
    }
}

/// As [`open`], with the block in `space` even where it was not compressed.
pub(crate) fn open_into(framed: &[u8], file: u64, space: &mut Vec<u8>) -> Result<(), Damage> {
    let is_compressed = framed.iter().nth_back(4).is_some_and(|kind| *kind != Compression::None as u8);
    if is_compressed {
        return open(framed, file, space).map(drop);
    }
    let mut nothing = Vec::new();
    let raw = open(framed, file, &mut nothing)?;
    space.clear();
    space.extend_from_slice(raw);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_come_back_and_damaged_ones_do_not(
            half in prop::collection::vec(any::<u8>(), 0..400),
            zeros in 0_usize..400,
            lz4 in any::<bool>(),
            bit in any::<prop::sample::Index>(),
        ) {
            let raw = [half, vec![0; zeros]].concat();
            let compression = if lz4 { Compression::Lz4 } else { Compression::None };
            let mut framed = Vec::new();
            put(&mut framed, &raw, compression, 9);
            prop_assert!(framed.len() <= raw.len() + 9);
            let mut space = Vec::new();
            prop_assert_eq!(open(&framed, 9, &mut space), Ok(&raw[..]));
            prop_assert!(open(&framed, 8, &mut space).is_err());
            prop_assert!(open(&framed[..framed.len() - 1], 9, &mut space).is_err());
            let bit = bit.index(framed.len() * 8);
            framed[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(open(&framed, 9, &mut space).is_err());
        }
    }
}
