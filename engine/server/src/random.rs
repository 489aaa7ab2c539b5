//! Random numbers of the system, for passwords and tokens.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::acl;

/// So many random hexadecimal digits.
pub(crate) fn digits(count: usize) -> io::Result<String> {
    let mut bytes = vec![0; count.div_ceil(2)];
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut digits = acl::hex(&bytes);
    digits.truncate(count);
    Ok(digits)
}
