//! How are numbers written where most are small? Seven bits a byte, the lowest first, the top bit set while more follow (LEB128).

use super::buffer::Sink;

/// Bytes of the longest number.
pub(crate) const MAX_VARINT: usize = 10;

/// Appends a number.
#[inline]
pub(crate) fn put_varint(out: &mut impl Sink, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front. `None` where the bytes end within it, or it has more than 64 bits.
#[inline]
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    let (number, len) = long_varint(bytes)?;
    *bytes = bytes.get(len..)?;
    Some(number)
}

/// The number at the beginning of eight bytes, and how many of them it takes; `None` where it is longer.
///
/// How many is found by branches, not by arithmetic: neighbouring numbers are mostly of one length, so the processor
/// foretells it and goes on with what follows while the bytes are still on their way from memory.
#[inline(always)]
pub(crate) fn varint_of_eight(bytes: [u8; 8]) -> Option<(u64, usize)> {
    /// The top bit of each byte.
    const MORE: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_le_bytes(bytes);
    let mut len = 1;
    while word >> (8 * len - 1) & 1 != 0 {
        len += 1;
        if len > 8 {
            return None;
        }
    }
    // Neighbours move together: to 14 bits, 28, and all.
    let mut bits = word & u64::MAX >> (64 - 8 * len) & !MORE;
    bits = bits & 0x007f_007f_007f_007f | (bits & 0x7f00_7f00_7f00_7f00) >> 1;
    bits = bits & 0x0000_3fff_0000_3fff | (bits & 0x3fff_0000_3fff_0000) >> 2;
    bits = bits & 0x0fff_ffff | (bits & 0x0fff_ffff_0000_0000) >> 4;
    Some((bits, len))
}

/// A number of several bytes, and how many they are.
fn long_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    if let Some(found) = bytes.first_chunk().and_then(|eight| varint_of_eight(*eight)) {
        return Some(found);
    }
    let mut number = 0;
    for (index, byte) in bytes.iter().take(MAX_VARINT).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if index == MAX_VARINT - 1 && bits > 1 {
            return None;
        }
        number |= bits << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

/// Takes so many bytes off the front.
#[inline]
pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = rest;
    Some(taken)
}

/// Takes eight bytes off the front, the lowest first.
#[inline]
pub(crate) fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (taken, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*taken))
}

/// Takes four bytes off the front, the lowest first.
#[inline]
pub(crate) fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (taken, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*taken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back_and_cut_off_ones_do_not(
            number in any::<u64>(),
            shift in 0_u32..64,
            behind in prop::collection::vec(any::<u8>(), 0..12),
        ) {
            let number = number >> shift;
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            prop_assert!(bytes.len() <= MAX_VARINT);
            for len in 0..bytes.len() {
                prop_assert_eq!(take_varint(&mut &bytes[..len]), None);
            }
            bytes.extend_from_slice(&behind);
            let mut rest = &bytes[..];
            prop_assert_eq!((take_varint(&mut rest), rest), (Some(number), &behind[..]));
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_none() {
        assert_eq!(take_varint(&mut &[0xff; 20][..]), None);
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(take_varint(&mut &most[..]), Some(u64::MAX));
        most[9] = 2;
        assert_eq!(take_varint(&mut &most[..]), None);
    }

    #[test]
    fn what_is_not_there_is_not_taken() {
        let mut bytes = &[1_u8, 0, 0, 0, 9][..];
        assert_eq!(take_u64(&mut bytes), None);
        assert_eq!(take_u32(&mut bytes), Some(1));
        assert_eq!(take(&mut bytes, 2), None);
        assert_eq!(take(&mut bytes, u64::MAX), None);
        assert_eq!(take(&mut bytes, 1), Some(&[9_u8][..]));
    }
}
