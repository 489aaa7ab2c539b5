//! The name of a script: SHA-1 of its text.

use sha1::Digest as _;

/// SHA-1 of a script's text.
pub type Digest = [u8; 20];

/// The name of a script.
#[must_use]
pub fn digest(text: &[u8]) -> Digest {
    sha1::Sha1::digest(text).into()
}

/// A digest as clients write it: forty lower-case digits.
#[must_use]
pub fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_script_is_that_of_redis() {
        assert_eq!(hex(&digest(b"return 1")), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    }
}
