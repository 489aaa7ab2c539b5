//! What does a log hold? Its records up to the first that is not whole.
//!
//! A log ends within a record where the power went, and that is as it should be: nothing behind it was synced. But a record that is not whole although a later
//! one says that everything before it was synced is damage, and no reason to forget what follows.

use super::record::{ALIGN, HEADER, LogRecord, parse};
use crate::lsm::vfs::ReadFile;
use std::io;

/// Bytes read at once.
const PIECE: usize = 256 * 1024;

/// How a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Behind a whole record, at this offset; or within one that was never synced.
    Here(u64),
    /// At this offset within a record that had been synced.
    Damaged(u64),
}

/// Hands the records of a log with this tag to `each`, in order and those without payload included, until
/// it returns an error or the log ends.
pub(crate) fn read<E>(
    file: &dyn ReadFile,
    tag: u64,
    mut each: impl FnMut(LogRecord) -> Result<(), E>,
) -> io::Result<Result<Ended, E>> {
    read_retagged(file, tag, |record| each(record).map(|()| tag))
}

/// The same of a log in which a record says which tag the later ones have: `each` returns it.
pub(crate) fn read_retagged<E>(
    file: &dyn ReadFile,
    mut tag: u64,
    mut each: impl FnMut(LogRecord) -> Result<u64, E>,
) -> io::Result<Result<Ended, E>> {
    let mut window = Window { file, len: file.len()?, offset: 0, bytes: Vec::new() };
    let mut at = 0;
    while let Some((record, length)) = window.record(at, tag)? {
        match each(record) {
            Ok(next) => tag = next,
            Err(error) => return Ok(Err(error)),
        }
        at += length as u64;
    }
    Ok(Ok(if window.is_synced_after(at, tag)? { Ended::Damaged(at) } else { Ended::Here(at) }))
}

/// A piece of the file in memory.
struct Window<'a> {
    file: &'a dyn ReadFile,
    len: u64,
    offset: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// The bytes from an offset on, at least so many if the file has them.
    fn at_least(&mut self, at: u64, count: usize) -> io::Result<&[u8]> {
        let have = (self.offset + self.bytes.len() as u64).saturating_sub(at);
        let left = self.len.saturating_sub(at);
        if at < self.offset || have < (count as u64).min(left) {
            let wanted = left.min(count.max(PIECE) as u64) as usize;
            self.bytes.resize(wanted, 0);
            let count = self.file.read_at(&mut self.bytes, at)?;
            self.bytes.truncate(count);
            self.offset = at;
        }
        Ok(self.bytes.get((at - self.offset) as usize..).unwrap_or(&[]))
    }

    /// The whole record at an offset, if there is one.
    fn record(&mut self, at: u64, tag: u64) -> io::Result<Option<(LogRecord<'_>, usize)>> {
        let head = self.at_least(at, HEADER)?;
        // A length that is damaged, too, asks for no more than the file has.
        let is_ours = head.get(8..16).is_some_and(|bytes| bytes == tag.to_le_bytes());
        let len = head.first_chunk::<8>().map_or(0, |head| u64::from_le_bytes(*head) >> 32 & 0x7fff_ffff);
        if !is_ours || len > self.len {
            return Ok(None);
        }
        let bytes = self.at_least(at, HEADER + (len as usize).next_multiple_of(ALIGN))?;
        Ok(parse(bytes, tag))
    }

    /// Whether a record behind the offset says that everything before it was synced.
    fn is_synced_after(&mut self, at: u64, tag: u64) -> io::Result<bool> {
        let mut at = at + ALIGN as u64;
        while at + HEADER as u64 <= self.len {
            // No record has so many zeros in its header; a log that was filled ahead has many behind its end.
            let zeros = leading_zeros(self.at_least(at, HEADER)?);
            if zeros > HEADER {
                at += (zeros - HEADER).next_multiple_of(ALIGN) as u64;
                continue;
            }
            if self.record(at, tag)?.is_some_and(|(record, _)| record.after_sync) {
                return Ok(true);
            }
            at += ALIGN as u64;
        }
        Ok(false)
    }
}

/// How many bytes are zero before the first that is not, in whole words.
fn leading_zeros(bytes: &[u8]) -> usize {
    bytes.chunks_exact(ALIGN).take_while(|word| **word == [0; ALIGN]).count() * ALIGN
}
