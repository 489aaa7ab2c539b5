//! What is a record of the log? One batch of writes: whole or not at all.
//!
//! ```text
//! 0   checksum of all that follows, seeded with the log's tag
//! 4   length of the payload; top bit: everything before this record was synced when it was written
//! 8   tag of the log
//! 16  sequence number of the batch's first write; the others follow
//! 24  payload: writes, each kind, key length, value length, key, value
//! ```
//!
//! Records begin at multiples of eight, with zeros in between. A segment that is used again holds records of an earlier log behind the end of this one; they have
//! another tag, and their checksums another seed.

use crate::lsm::buffer::Sink;
use crate::lsm::checksum::{checksum, checksum_of_two};
use crate::lsm::coding::{MAX_VARINT, put_varint, take, take_u32, take_u64, take_varint};
use crate::lsm::record::{Kind, Sequence};

/// Bytes before the payload.
pub(crate) const HEADER: usize = 24;

/// Records begin at its multiples.
pub(crate) const ALIGN: usize = 8;

/// The longest payload.
pub(crate) const MAX_PAYLOAD: usize = (1 << 31) - 1;

const SYNCED: u32 = 1 << 31;

/// A record that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogRecord<'a> {
    /// Sequence number of the first write.
    pub(crate) sequence: Sequence,
    /// Everything before it had been synced when it was written.
    pub(crate) after_sync: bool,
    /// The writes, to be taken apart by [`writes`].
    pub(crate) payload: &'a [u8],
}

/// A write as a record holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Write<'a> {
    pub(crate) kind: Kind,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// Appends a write to a payload.
#[inline]
pub(crate) fn put_write(payload: &mut impl Sink, write: &Write) {
    payload.reserve(1 + 2 * MAX_VARINT + write.key.len() + write.value.len());
    payload.push(write.kind as u8);
    put_varint(payload, write.key.len() as u64);
    put_varint(payload, write.value.len() as u64);
    payload.extend_from_slice(write.key);
    payload.extend_from_slice(write.value);
}

/// Appends a record with this payload, which is at most [`MAX_PAYLOAD`] long, and zeros up to where the next one begins.
pub(crate) fn put_record(out: &mut Vec<u8>, tag: u64, record: &LogRecord) {
    let begin = out.len();
    debug_assert!(begin.is_multiple_of(ALIGN));
    out.reserve(HEADER + record.payload.len() + ALIGN);
    out.extend_from_slice(&header(tag, record));
    out.extend_from_slice(record.payload);
    let sum = checksum(&out[begin + 4..], tag);
    out[begin..begin + 4].copy_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(padding(out.len()));
}

/// The header of a record, its checksum left out.
fn header(tag: u64, record: &LogRecord) -> [u8; HEADER] {
    debug_assert!(record.payload.len() <= MAX_PAYLOAD);
    let len = record.payload.len() as u32 | if record.after_sync { SYNCED } else { 0 };
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&len.to_le_bytes());
    header[8..16].copy_from_slice(&tag.to_le_bytes());
    header[16..24].copy_from_slice(&record.sequence.to_le_bytes());
    header
}

/// The header of a record whose payload and [`padding`] follow it.
pub(super) fn whole_header(tag: u64, record: &LogRecord) -> [u8; HEADER] {
    let mut header = header(tag, record);
    let sum = checksum_of_two(&header[4..], record.payload, tag);
    header[..4].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Zeros behind a record of this length.
pub(super) fn padding(len: usize) -> &'static [u8] {
    &[0; ALIGN][..len.next_multiple_of(ALIGN) - len]
}

/// The record at the beginning of `bytes`, and how far the next one is. `None` where there is no whole one of the log with this tag.
pub(crate) fn parse(bytes: &[u8], tag: u64) -> Option<(LogRecord<'_>, usize)> {
    let mut rest = bytes;
    let sum = take_u32(&mut rest)?;
    let len = take_u32(&mut rest)?;
    let (found_tag, sequence) = (take_u64(&mut rest)?, take_u64(&mut rest)?);
    if found_tag != tag {
        return None;
    }
    let payload = take(&mut rest, u64::from(len & !SYNCED))?;
    let end = HEADER + payload.len();
    if checksum(&bytes[4..end], tag) != sum {
        return None;
    }
    Some((LogRecord { sequence, after_sync: len & SYNCED != 0, payload }, end.next_multiple_of(ALIGN)))
}

/// The writes of a payload; the last item is `Err` where it ends within one, or one is of no known kind. A checksum has been looked at
/// before, so that means another version of the format.
pub(crate) fn writes(payload: &[u8]) -> impl Iterator<Item = Result<Write<'_>, &'static str>> {
    let mut rest = payload;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let write = take_write(&mut rest);
        if write.is_err() {
            rest = &[];
        }
        Some(write)
    })
}

fn take_write<'a>(rest: &mut &'a [u8]) -> Result<Write<'a>, &'static str> {
    const CUT: &str = "ends within a write";
    let (&kind, after) = rest.split_first().ok_or(CUT)?;
    *rest = after;
    let kind = Kind::from_byte(kind).ok_or("holds a write of unknown kind")?;
    let key = take_varint(rest).ok_or(CUT)?;
    let value = take_varint(rest).ok_or(CUT)?;
    Ok(Write { kind, key: take(rest, key).ok_or(CUT)?, value: take(rest, value).ok_or(CUT)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back_and_damaged_ones_do_not(
            payload in prop::collection::vec(any::<u8>(), 0..100),
            sequence in any::<u64>(),
            after_sync in any::<bool>(),
            bit in any::<prop::sample::Index>(),
        ) {
            let record = LogRecord { sequence, after_sync, payload: &payload };
            let mut bytes = Vec::new();
            put_record(&mut bytes, 7, &record);
            let header = whole_header(7, &record);
            let in_parts = [&header[..], &payload, padding(HEADER + payload.len())].concat();
            prop_assert_eq!(&in_parts, &bytes);
            prop_assert_eq!(parse(&bytes, 7), Some((record, bytes.len())));
            prop_assert_eq!(parse(&bytes, 8), None);
            let whole = HEADER + payload.len();
            for len in 0..whole {
                prop_assert_eq!(parse(&bytes[..len], 7), None);
            }
            let bit = bit.index(whole * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(parse(&bytes, 7), None);
        }

        #[test]
        fn writes_come_back_and_no_payload_is_a_panic(
            pairs in prop::collection::vec((0_u8..3, prop::collection::vec(any::<u8>(), 0..300), prop::collection::vec(any::<u8>(), 0..9)), 0..5),
            noise in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let expected: Vec<_> = pairs
                .iter()
                .map(|(kind, key, value)| Write { kind: Kind::from_byte(*kind).unwrap(), key, value })
                .collect();
            let mut payload = Vec::new();
            expected.iter().for_each(|write| put_write(&mut payload, write));
            let found: Result<Vec<_>, _> = writes(&payload).collect();
            prop_assert_eq!(found.as_ref(), Ok(&expected));
            prop_assert!(writes(&noise).count() <= noise.len());
            if let Some(cut) = payload.len().checked_sub(1) {
                prop_assert!(writes(&payload[..cut]).last().is_none_or(|write| write.is_err()) || cut == 0);
            }
        }
    }

    #[test]
    fn zeros_are_no_record() {
        assert_eq!(parse(&[0; 100], 0), None);
    }
}
