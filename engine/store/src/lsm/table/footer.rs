//! Where does reading a table begin? At its end: 64 bytes that say where the rest is.
//!
//! ```text
//! 0    "PlumbTab"
//! 8    version of the format, 4 bytes; 4 bytes of zeros
//! 16   length of the blocks, which begin at 0
//! 24   length of the filter behind them, 0 for none
//! 32   length of the index behind that
//! 40   versions in the table
//! 48   largest sequence number in it
//! 56   4 bytes of zeros
//! 60   checksum of what is before, seeded with the number of the file
//! ```

use super::block::Damage;
use crate::lsm::checksum::checksum;

pub(crate) const FOOTER: usize = 64;

const MAGIC: [u8; 8] = *b"PlumbTab";
const VERSION: u32 = 1;

/// What the last bytes of a table say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) blocks_len: u64,
    pub(crate) filter_len: u64,
    pub(crate) index_len: u64,
    pub(crate) versions: u64,
    pub(crate) last_sequence: u64,
}

impl Footer {
    pub(crate) fn to_bytes(self, file: u64) -> [u8; FOOTER] {
        let mut bytes = [0; FOOTER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let numbers = [self.blocks_len, self.filter_len, self.index_len, self.versions, self.last_sequence];
        for (place, number) in bytes[16..56].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&bytes[..FOOTER - 4], file);
        bytes[FOOTER - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The footer of a file that is so long.
    pub(crate) fn parse(bytes: &[u8; FOOTER], file: u64, file_len: u64) -> Result<Self, Damage> {
        let (rest, sum) = bytes.split_last_chunk::<4>().ok_or("a footer is cut off")?;
        if bytes[..8] != MAGIC {
            return Err("this is no table, or its end is missing");
        }
        if bytes[8..12] != VERSION.to_le_bytes() {
            return Err("this table was written by a later version");
        }
        if checksum(rest, file) != u32::from_le_bytes(*sum) {
            return Err("the footer has the wrong checksum");
        }
        let number = |at: usize| bytes[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let footer = Self {
            blocks_len: number(16),
            filter_len: number(24),
            index_len: number(32),
            versions: number(40),
            last_sequence: number(48),
        };
        let parts = [footer.filter_len, footer.index_len, FOOTER as u64];
        if parts.iter().try_fold(footer.blocks_len, |sum, part| sum.checked_add(*part)) != Some(file_len) {
            return Err("the parts of the table are not as long as the file");
        }
        Ok(footer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_comes_back_and_every_flipped_bit_is_noticed() {
        let footer =
            Footer { blocks_len: 1_000, filter_len: 0, index_len: 36, versions: 7, last_sequence: 1 << 55 };
        let bytes = footer.to_bytes(3);
        assert_eq!(Footer::parse(&bytes, 3, 1_100), Ok(footer));
        assert!(Footer::parse(&bytes, 4, 1_100).is_err() && Footer::parse(&bytes, 3, 1_101).is_err());
        for bit in 0..FOOTER * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Footer::parse(&bytes, 3, 1_100).is_err(), "bit {bit}");
        }
    }
}
