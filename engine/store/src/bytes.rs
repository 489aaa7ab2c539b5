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
