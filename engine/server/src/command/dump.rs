//! DUMP and RESTORE: a value in the form of Redis's RDB files, with the version of that form and a checksum.
//!
//! A string is the byte 0, its length and its bytes. Short integers are stored as numbers, and long values are compressed by LZF where that
//! is shorter. Behind it are two bytes of version and CRC-64, low byte first.

use std::borrow::Cow;

use crc::{CRC_64_REDIS, Crc};
use plumbkv::{Condition, Expiry, MAX_VALUE_BYTES, SetOptions};

use super::args::{self, Arguments, is};
use super::range::Part;
use super::{CommandError, Context};
use crate::client_limits::Limit;

const CRC: Crc<u64> = Crc::<u64>::new(&CRC_64_REDIS);

/// That of Redis 7.0. Strings have the same form in all later versions that are read.
const VERSION: u16 = 10;
/// That of Redis 7.4.
const LATEST: u16 = 12;
/// Bytes of version and checksum.
const FOOTER: usize = 10;
const STRING: u8 = 0;
/// The first byte of what is no length.
const INT_8: u8 = 0xc0;
const INT_16: u8 = 0xc1;
const INT_32: u8 = 0xc2;
const COMPRESSED: u8 = 0xc3;
/// Longer values are compressed.
const SHORT: usize = 20;
/// An integer has no more digits, its sign included.
const DIGITS: usize = 11;

const WRONG: CommandError = CommandError::fixed("ERR DUMP payload version or checksum are wrong");
const BAD: CommandError = CommandError::fixed("ERR Bad data format");

/// DUMP.
pub(super) fn dump(context: &mut Context<'_>, key: &[u8]) -> Result<(), CommandError> {
    let (shared, keys) = (context.shared, context.keys());
    let Some(part) = keys.fetch(key, Part::of)? else { return context.value_or_null(None) };
    let value = part.bytes();
    // The payload, and what compression tries.
    let beside = 2 * value.len() as u64;
    shared.client_memory.take(&shared.database, beside).map_err(|_| CommandError::OUT_OF_MEMORY)?;
    let result = context.bulk(&payload(value));
    shared.client_memory.give_back(&shared.database, beside);
    result
}

fn payload(value: &[u8]) -> Vec<u8> {
    let mut payload = vec![STRING];
    write(value, &mut payload);
    payload.extend_from_slice(&VERSION.to_le_bytes());
    let checksum = CRC.checksum(&payload);
    payload.extend_from_slice(&checksum.to_le_bytes());
    payload
}

fn write(value: &[u8], payload: &mut Vec<u8>) {
    let integer = if value.len() <= DIGITS { args::parse_integer(value) } else { None };
    if let Some(integer) = integer.and_then(|integer| i32::try_from(integer).ok()) {
        if let Ok(byte) = i8::try_from(integer) {
            payload.push(INT_8);
            payload.extend_from_slice(&byte.to_le_bytes());
        } else if let Ok(short) = i16::try_from(integer) {
            payload.push(INT_16);
            payload.extend_from_slice(&short.to_le_bytes());
        } else {
            payload.push(INT_32);
            payload.extend_from_slice(&integer.to_le_bytes());
        }
        return;
    }
    if value.len() > SHORT
        && let Ok(compressed) = lzf::compress(value)
        && compressed.len() + 4 < value.len()
    {
        payload.push(COMPRESSED);
        write_length(compressed.len(), payload);
        write_length(value.len(), payload);
        payload.extend_from_slice(&compressed);
        return;
    }
    write_length(value.len(), payload);
    payload.extend_from_slice(value);
}

fn write_length(length: usize, payload: &mut Vec<u8>) {
    match length {
        0..0x40 => payload.push(length as u8),
        0x40..0x4000 => payload.extend_from_slice(&(0x4000 | length as u16).to_be_bytes()),
        _ => match u32::try_from(length) {
            Ok(length) => {
                payload.push(0x80);
                payload.extend_from_slice(&length.to_be_bytes());
            }
            Err(_) => {
                payload.push(0x81);
                payload.extend_from_slice(&(length as u64).to_be_bytes());
            }
        },
    }
}

/// What RESTORE was given.
#[derive(Debug)]
pub(crate) struct Restore<'a> {
    key: &'a [u8],
    lifetime: &'a [u8],
    payload: &'a [u8],
    replaces: bool,
    is_moment: bool,
}

impl<'a> Restore<'a> {
    pub(super) fn parse(key: &'a [u8], mut words: Arguments<'a>) -> Result<Self, CommandError> {
        let (lifetime, payload) = (words.word(), words.word());
        let mut restore = Self { key, lifetime, payload, replaces: false, is_moment: false };
        // How often and when a key was used is checked and not kept: it is used now.
        let (mut has_idle, mut has_frequency) = (false, false);
        while let Some(option) = words.next() {
            if is(option, "REPLACE") {
                restore.replaces = true;
            } else if is(option, "ABSTTL") {
                restore.is_moment = true;
            } else if is(option, "IDLETIME") && words.len() > 0 && !has_frequency {
                has_idle = true;
                if words.integer()? < 0 {
                    return Err(CommandError::fixed("ERR Invalid IDLETIME value, must be >= 0"));
                }
            } else if is(option, "FREQ") && words.len() > 0 && !has_idle {
                has_frequency = true;
                if !(0..=255).contains(&words.integer()?) {
                    return Err(CommandError::fixed("ERR Invalid FREQ value, must be >= 0 and <= 255"));
                }
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(restore)
    }

    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        const BUSY: CommandError = CommandError::fixed("BUSYKEY Target key name already exists.");
        let Self { key, lifetime, payload, replaces, is_moment } = self;
        let (shared, keys) = (context.shared, context.keys());
        if !replaces && keys.exists(key)? {
            return Err(BUSY);
        }
        let lifetime = u64::try_from(args::integer(lifetime)?)
            .map_err(|_| CommandError::fixed("ERR Invalid TTL value, must be >= 0"))?;
        let longest = shared.settings.limits.count(Limit::Bulk).min(MAX_VALUE_BYTES);
        let value = read(payload, longest)?;
        let now = keys.now_ms();
        // What is beyond Redis's 64 bits with their sign has passed there.
        let moment = if is_moment { lifetime } else { now.saturating_add(lifetime) };
        let has_passed = moment <= now || i64::try_from(moment).is_err();
        if lifetime > 0 && has_passed {
            // It would be there for no time.
            if replaces && keys.delete(key)? {
                context.changed(key);
            }
            return context.ok();
        }
        let options = SetOptions {
            condition: if replaces { Condition::Always } else { Condition::IfAbsent },
            expiry: if lifetime > 0 { Expiry::At(moment) } else { Expiry::Clear },
            want_previous: false,
        };
        if !keys.set_with(key, &value, options)?.written {
            return Err(BUSY);
        }
        context.changed(key);
        context.ok()
    }
}

/// The value in a payload, if it is no longer than that.
fn read(payload: &[u8], longest: usize) -> Result<Cow<'_, [u8]>, CommandError> {
    let (body, footer) =
        payload.len().checked_sub(FOOTER).map(|length| payload.split_at(length)).ok_or(WRONG)?;
    let (version, checksum) = footer.split_at(2);
    let is_known = matches!(version, [low, high] if u16::from_le_bytes([*low, *high]) <= LATEST);
    let checked = CRC.checksum(&payload[..payload.len() - 8]).to_le_bytes();
    if !is_known || checksum != checked {
        return Err(WRONG);
    }
    let [STRING, body @ ..] = body else { return Err(BAD) };
    let value = match *body {
        [INT_8, byte] => Cow::Owned((byte as i8).to_string().into_bytes()),
        [INT_16, low, high] => Cow::Owned(i16::from_le_bytes([low, high]).to_string().into_bytes()),
        [INT_32, a, b, c, d] => Cow::Owned(i32::from_le_bytes([a, b, c, d]).to_string().into_bytes()),
        [COMPRESSED, ..] => Cow::Owned(decompressed(&body[1..], longest)?),
        _ => {
            let (length, value) = read_length(body).ok_or(BAD)?;
            if value.len() as u64 != length {
                return Err(BAD);
            }
            Cow::Borrowed(value)
        }
    };
    if value.len() > longest { Err(BAD) } else { Ok(value) }
}

fn decompressed(body: &[u8], longest: usize) -> Result<Vec<u8>, CommandError> {
    let (compressed, rest) = read_length(body).ok_or(BAD)?;
    let (length, rest) = read_length(rest).ok_or(BAD)?;
    let length = usize::try_from(length).ok().filter(|length| (1..=longest).contains(length)).ok_or(BAD)?;
    if rest.len() as u64 != compressed {
        return Err(BAD);
    }
    let value = lzf::decompress(rest, length).map_err(|_| BAD)?;
    if value.len() == length { Ok(value) } else { Err(BAD) }
}

/// A length, and what is behind it.
fn read_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match first >> 6 {
        0 => Some((u64::from(*first), rest)),
        1 => {
            let (second, rest) = rest.split_first()?;
            Some((u64::from(first & 0x3f) << 8 | u64::from(*second), rest))
        }
        _ => match first {
            0x80 => {
                let (length, rest) = rest.split_first_chunk::<4>()?;
                Some((u64::from(u32::from_be_bytes(*length)), rest))
            }
            0x81 => {
                let (length, rest) = rest.split_first_chunk::<8>()?;
                Some((u64::from_be_bytes(*length), rest))
            }
            _ => None,
        },
    }
}

#[cfg(test)]
#[path = "dump_test.rs"]
mod tests;
