//! Ranges of values: GETRANGE, SUBSTR, SETRANGE.

use std::ops::Range;

use plumbkv::{Buffer, Fetched, MAX_VALUE_BYTES, Value};

use super::{CommandError, Context};
use crate::client_limits::Limit;

/// A value, or a part of it: short ones are copied under the shard's lock.
pub(super) enum Part {
    Copied(Vec<u8>),
    Held(Value),
}

impl Part {
    /// A whole value.
    pub(super) fn of(found: Fetched<'_>) -> Self {
        match found {
            Fetched::Bytes(bytes) => Self::Copied(bytes.to_vec()),
            Fetched::Value(value) => Self::Held(value),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Copied(bytes) => bytes,
            Self::Held(value) => value,
        }
    }
}

/// Writes the bytes from `start` to `end`, both of them included; below zero they count from the end of the value.
pub(super) fn get(context: &mut Context<'_>, key: &[u8], start: i64, end: i64) -> Result<(), CommandError> {
    let part = context.keys().fetch(key, |found| match found {
        Fetched::Bytes(bytes) => Part::Copied(bytes[within(bytes.len(), start, end)].to_vec()),
        Fetched::Value(value) => Part::Held(value),
    })?;
    match part {
        None => context.bulk(b""),
        Some(Part::Copied(bytes)) => context.bulk(&bytes),
        Some(Part::Held(value)) => context.bulk(&value[within(value.len(), start, end)]),
    }
}

/// The places that Redis means by a start and an end, which is included.
fn within(len: usize, start: i64, end: i64) -> Range<usize> {
    let place = |number: i64| match usize::try_from(number) {
        Ok(place) => place,
        Err(_) => len.saturating_sub(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let is_reversed = start < 0 && end < 0 && start > end;
    let (from, to) = (place(start), place(end).saturating_add(1).min(len));
    if is_reversed || from >= to { 0..0 } else { from..to }
}

/// Writes `part` over the value from `offset` on, with zeros before it where the value is shorter. The expiry stays.
pub(super) fn set(
    context: &mut Context<'_>,
    key: &[u8],
    offset: i64,
    part: &[u8],
) -> Result<(), CommandError> {
    let offset = usize::try_from(offset).map_err(|_| CommandError::fixed("ERR offset is out of range"))?;
    let database = context.keys();
    if part.is_empty() {
        let length = database.value_len(key)?;
        return context.integer(length as i64);
    }
    let longest = context.shared.settings.limits.count(Limit::Bulk).min(MAX_VALUE_BYTES);
    let end = offset.checked_add(part.len()).filter(|end| *end <= longest);
    let end = end.ok_or(CommandError::from(plumbkv::Error::ValueTooLong { len: 0, max: longest }))?;
    loop {
        let before = database.fetch(key, Part::of)?;
        let before: Option<&[u8]> = before.as_ref().map(Part::bytes);
        let old = before.unwrap_or_default();
        let length = end.max(old.len());
        // Counted under the cap, as a value of half a gigabyte has to be.
        let mut after = database.buffer(length)?;
        after.fill(&old[..offset.min(old.len())]);
        pad(&mut after, offset.saturating_sub(old.len()));
        after.fill(part);
        after.fill(old.get(end..).unwrap_or_default());
        if database.compare_and_set(key, before, Some(&after))? {
            context.changed(key);
            return context.integer(length as i64);
        }
        // Another client has changed it meanwhile.
    }
}

fn pad(buffer: &mut Buffer, mut zeros: usize) {
    const ZEROS: [u8; 4096] = [0; 4096];
    while zeros > 0 {
        zeros -= buffer.fill(&ZEROS[..zeros.min(ZEROS.len())]);
    }
}

#[cfg(test)]
#[path = "range_test.rs"]
mod tests;
