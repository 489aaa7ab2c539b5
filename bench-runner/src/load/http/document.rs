//! JSON documents: what a document store is given in place of bytes, of exactly the planned length.
//!
//! `{"id":"key:000000000042","number":42,"text":"…"}`. The text is what the value of the key would be, as letters and
//! spaces, so every byte of a document can be checked as that of a value can.

use crate::load::values::{KEY_BYTES, Values, write_key};
use std::io::Write as _;

/// A document is not shorter, bytes: its id, the longest number and their names.
pub const LEAST_BYTES: u32 = 64;

/// What a byte of a value stands for. Spaces divide it into words of five letters on average.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz      ";

/// Appends the document of key `index`, so many bytes long.
pub fn write(values: &Values, index: u64, length: u32, out: &mut Vec<u8>) {
    let start = out.len();
    let mut key = [0; KEY_BYTES];
    write_key(index, &mut key);
    out.extend_from_slice(b"{\"id\":\"");
    out.extend_from_slice(&key);
    // Writing to a vector cannot fail.
    let _ = write!(out, "\",\"number\":{index},\"text\":\"");
    let from = out.len();
    // A shorter one is no document, and the server says so.
    out.resize((start + length as usize).max(from + 2), 0);
    let end = out.len() - 2;
    values.write(index, &mut out[from..end]);
    for byte in &mut out[from..end] {
        *byte = LETTERS[usize::from(*byte & 31)];
    }
    out[end..].copy_from_slice(b"\"}");
}

/// The place of the first byte that is not that of the document of key `index`; `None` where all are.
#[must_use]
pub fn first_difference(values: &Values, index: u64, body: &[u8]) -> Option<usize> {
    let mut right = Vec::with_capacity(body.len());
    write(values, index, u32::try_from(body.len()).unwrap_or(u32::MAX), &mut right);
    if right == body {
        return None;
    }
    Some(right.iter().zip(body).position(|(one, other)| one != other).unwrap_or(right.len().min(body.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_json_of_the_planned_length_and_of_one_key_each() {
        let values = Values::new(1, 400);
        for length in [LEAST_BYTES, 240, 400] {
            for index in [0, 42, 999_999_999_999] {
                let mut out = b"before".to_vec();
                write(&values, index, length, &mut out);
                let document = &out[6..];
                assert_eq!(document.len(), length as usize);
                let json: serde_json::Value = serde_json::from_slice(document).unwrap();
                assert_eq!(json["id"], format!("key:{index:012}"));
                assert_eq!(json["number"], index);
                assert_eq!(first_difference(&values, index, document), None);
                assert!(first_difference(&values, index + 1, document).is_some());
                let mut wrong = document.to_vec();
                wrong[60] ^= 1;
                assert_eq!(first_difference(&values, index, &wrong), Some(60));
            }
        }
    }
}
