//! Names of a store's files: a number of six digits or more, and what kind of file it is.
//!
//! A file is the store's only if its name is exactly what the store would print. Another spelling of
//! a number, or a number that no store reaches, is the name of another program's file.

use std::fmt;

/// The highest number. A store that makes a million files a second reaches it in 292,000 years, and
/// no sum of it and a few overflows.
pub(crate) const LAST_NUMBER: u64 = u64::MAX >> 1;

/// A file that has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileName {
    Table(u64),
    Log(u64),
    /// A log that is kept to be written anew.
    Spare(u64),
    Manifest(u64),
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Table(number) => write!(f, "{number:06}.table"),
            Self::Log(number) => write!(f, "{number:06}.log"),
            Self::Spare(number) => write!(f, "{number:06}.spare"),
            Self::Manifest(number) => write!(f, "MANIFEST-{number:06}"),
        }
    }
}

impl FileName {
    /// What a name says, if it is one that a store gives.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (kind, digits): (fn(u64) -> Self, _) = match name.rsplit_once('.') {
            Some((digits, "table")) => (Self::Table, digits),
            Some((digits, "log")) => (Self::Log, digits),
            Some((digits, "spare")) => (Self::Spare, digits),
            _ => (Self::Manifest, name.strip_prefix("MANIFEST-")?),
        };
        let number = digits.parse().ok().filter(|number| *number <= LAST_NUMBER)?;
        Some(kind(number)).filter(|parsed| parsed.to_string() == name)
    }

    pub(crate) fn number(self) -> u64 {
        let (Self::Table(number) | Self::Log(number) | Self::Spare(number) | Self::Manifest(number)) = self;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_comes_back_and_no_other_spelling_does(number in 0..=LAST_NUMBER, digits in "[0-9]{1,20}") {
            let kinds = [FileName::Table, FileName::Log, FileName::Spare, FileName::Manifest];
            for kind in kinds {
                prop_assert_eq!(FileName::parse(&kind(number).to_string()), Some(kind(number)));
                for name in [format!("{digits}.log"), format!("MANIFEST-{digits}")] {
                    prop_assert!(FileName::parse(&name).is_none_or(|parsed| parsed.to_string() == name));
                }
            }
        }
    }

    #[test]
    fn a_name_that_no_store_gives_is_none() {
        for name in [
            "1.log",
            "+00001.log",
            "0000001.log",
            "000001.LOG",
            "000001.log ",
            "a000001.log",
            ".log",
            "MANIFEST-1",
            "MANIFEST-",
            "MANIFEST-000001.log",
            "9223372036854775808.log",
            "18446744073709551615.table",
            "99999999999999999999.spare",
            "CURRENT",
            "LOCK",
            "",
        ] {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
        assert_eq!(FileName::parse("9223372036854775807.log"), Some(FileName::Log(LAST_NUMBER)));
    }
}
