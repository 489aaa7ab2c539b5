//! How are keys and values written where they may be any bytes? As text, in hexadecimal digits, or in base64.

use std::borrow::Cow;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Encoding {
    /// Bytes unchanged.
    #[default]
    Text,
    /// Two hexadecimal digits per byte.
    Hex,
    /// Standard base64 with padding.
    Base64,
}

impl Encoding {
    /// The bytes that `text` stands for.
    pub(super) fn decode(self, text: &[u8]) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::Text => Ok(text.to_vec()),
            Self::Hex => from_hex(text).context("invalid hexadecimal: expected two digits per byte"),
            Self::Base64 => STANDARD.decode(text).context("invalid base64"),
        }
    }

    /// Bytes in this encoding; those that are no text in base64, whatever was asked for.
    pub(super) fn encode(self, bytes: &[u8]) -> (Self, Cow<'_, str>) {
        match (self, std::str::from_utf8(bytes)) {
            (Self::Text, Ok(text)) => (Self::Text, text.into()),
            (Self::Hex, _) => (Self::Hex, bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
            (Self::Text | Self::Base64, _) => (Self::Base64, STANDARD.encode(bytes).into()),
        }
    }

    /// Bytes for a line that a person reads: text with escapes for what is no printable ASCII.
    pub(super) fn show(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Text => bytes.escape_ascii().to_string().into(),
            _ => self.encode(bytes).1,
        }
    }
}

fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    if rest.is_empty() { bytes } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_every_encoding() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [&b""[..], b"plain", b"\xff\x00", "größe".as_bytes(), &all] {
            for wanted in [Encoding::Text, Encoding::Hex, Encoding::Base64] {
                let (used, text) = wanted.encode(bytes);
                assert_eq!(used.decode(text.as_bytes()).unwrap(), bytes, "{wanted:?}");
            }
        }
        assert_eq!(Encoding::Text.encode(b"a\xff"), (Encoding::Base64, "Yf8=".into()));
        assert_eq!(Encoding::Hex.encode(b"a\xff"), (Encoding::Hex, "61ff".into()));
        assert_eq!(Encoding::Text.show(b"a\n\xff"), "a\\n\\xff");
    }

    #[test]
    fn what_is_no_encoding_is_refused() {
        for wrong in ["6", "6g", "61 ff"] {
            assert!(Encoding::Hex.decode(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(Encoding::Base64.decode(b"Yf8").is_err());
    }
}
