//! What did a target answer, outside the measured load?

use super::reply::describe;
use plumbkv_resp::Scalar;

/// A reply that outlives the buffer it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// `+text`.
    Simple(String),
    /// `-text`.
    Error(String),
    /// `:number`.
    Integer(i64),
    /// `$bytes`.
    Bulk(Vec<u8>),
    /// No value.
    Null,
    /// Anything else, in words.
    Other(String),
}

pub(super) fn own(reply: &Scalar<'_>) -> Answered {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match reply {
        Scalar::Simple(bytes) => Answered::Simple(text(bytes)),
        Scalar::Error(bytes) => Answered::Error(text(bytes)),
        Scalar::Integer(number) => Answered::Integer(*number),
        Scalar::Bulk(bytes) => Answered::Bulk(bytes.to_vec()),
        Scalar::Null => Answered::Null,
    }
}

impl Answered {
    /// In words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Simple(text) => describe(&Scalar::Simple(text.as_bytes())),
            Self::Error(text) => describe(&Scalar::Error(text.as_bytes())),
            Self::Integer(number) => describe(&Scalar::Integer(*number)),
            Self::Bulk(bytes) => describe(&Scalar::Bulk(bytes)),
            Self::Null => describe(&Scalar::Null),
            Self::Other(text) => text.clone(),
        }
    }
}

/// One field of an `INFO` text.
#[must_use]
pub fn info_field<'a>(info: &'a str, field: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_info_field_is_found_by_its_whole_name() {
        let info = "# Memory\r\nused_memory_human:1M\r\nused_memory:1048576\r\n";
        assert_eq!(info_field(info, "used_memory"), Some("1048576"));
        assert_eq!(info_field(info, "memory"), None);
    }
}
