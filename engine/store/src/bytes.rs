//! How long may a key and a value be? Checked once, where bytes enter the store.

use crate::error::{Error, Result};

/// The longest key, in bytes (64 KiB).
pub const MAX_KEY_BYTES: usize = 64 * 1024;

/// The longest value, in bytes (512 MiB, as in Redis).
pub const MAX_VALUE_BYTES: usize = 512 * 1024 * 1024;

pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_BYTES {
        return Err(Error::KeyTooLong { len: key.len(), max: MAX_KEY_BYTES });
    }
    Ok(())
}

pub(crate) fn check_value_len(len: usize) -> Result<()> {
    if len > MAX_VALUE_BYTES {
        return Err(Error::ValueTooLong { len, max: MAX_VALUE_BYTES });
    }
    Ok(())
}

/// A decimal integer as Redis takes it: an optional minus, no plus, no leading zeros, no spaces, within an `i64`.
pub(crate) fn parse_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !is_plain {
        return None;
    }
    // Downwards, because there is one negative number more than there are positive ones.
    let down = |sum: i64, digit: &u8| sum.checked_mul(10)?.checked_sub(i64::from(digit - b'0'));
    let negative = digits.iter().try_fold(0, down)?;
    if digits.len() < text.len() { Some(negative) } else { negative.checked_neg() }
}
