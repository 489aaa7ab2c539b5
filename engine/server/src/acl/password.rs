//! Passwords: only their SHA-256 digests are kept, as in Redis.

use sha2::{Digest as _, Sha256};

/// The digest of a password.
#[derive(Debug, Clone, Copy)]
pub(super) struct PasswordHash([u8; 32]);

impl PasswordHash {
    pub(super) fn of(password: &[u8]) -> Self {
        Self(Sha256::digest(password).into())
    }

    /// Reads 64 lower-case hexadecimal digits.
    pub(super) fn parse(digits: &[u8]) -> Option<Self> {
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (digit(pair[0])? << 4) | digit(pair[1])?;
        }
        Some(Self(hash))
    }

    /// Compares without showing by its duration where the first difference is.
    pub(super) fn is(&self, other: &Self) -> bool {
        let difference = self.0.iter().zip(&other.0).fold(0, |sum, (own, others)| sum | (own ^ others));
        std::hint::black_box(difference) == 0
    }

    /// The digits that [`parse`](Self::parse) reads.
    pub(super) fn digits(&self) -> String {
        hex(&self.0)
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest that redis-server 7.0.15 lists for `>a`.
    const OF_A: &str = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";

    #[test]
    fn digests_are_written_and_read() {
        assert_eq!(PasswordHash::of(b"a").digits(), OF_A);
        assert!(PasswordHash::parse(OF_A.as_bytes()).unwrap().is(&PasswordHash::of(b"a")));
        for wrong in [&OF_A[1..], OF_A.to_uppercase().as_str(), OF_A.replace('c', "g").as_str(), ""] {
            assert!(PasswordHash::parse(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn passwords_are_compared_whole() {
        for (one, other) in [("secret", "secre"), ("secret", "Secret"), ("", "x"), ("a", "a ")] {
            assert!(!PasswordHash::of(one.as_bytes()).is(&PasswordHash::of(other.as_bytes())));
        }
    }
}
