//! How a record is spelled as JSON: one text for one value, so that a file's SHA-256 means something.
//!
//! Order is the order of the Rust fields. A list or object that fits on one line of [`WIDTH`] columns stands on
//! one line, so that a table of percentiles reads as a table and a committed run stays small; everything else
//! is indented by two spaces. The text ends in a newline.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Columns a list or object may take on one line.
const WIDTH: usize = 200;

/// The text of a record.
///
/// # Errors
/// When the value cannot be expressed in JSON (a map whose keys are no strings).
pub fn to_text<T: Serialize>(record: &T) -> Result<String, serde_json::Error> {
    let value = serde_json::to_value(record)?;
    let mut text = String::new();
    write_value(&mut text, &value, 0);
    text.push('\n');
    Ok(text)
}

/// SHA-256 of parameters: of their compact JSON with the keys of every object sorted, so that the order in
/// which a scenario file lists them does not start a new series.
#[must_use]
pub fn params_sha256(params: &Value) -> String {
    sha256_hex(sorted(params).to_string().as_bytes())
}

/// SHA-256, hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(fields) => {
            let mut pairs: Vec<_> = fields.iter().map(|(key, inner)| (key.clone(), sorted(inner))).collect();
            pairs.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(pairs.into_iter().collect())
        }
        scalar => scalar.clone(),
    }
}

fn write_value(text: &mut String, value: &Value, depth: usize) {
    let indent = depth * 2;
    match value {
        Value::Array(items) if !items.is_empty() => {
            if let Some(line) = one_line(value, WIDTH.saturating_sub(indent)) {
                text.push_str(&line);
                return;
            }
            text.push_str("[\n");
            for (position, item) in items.iter().enumerate() {
                pad(text, indent + 2);
                write_value(text, item, depth + 1);
                text.push_str(if position + 1 < items.len() { ",\n" } else { "\n" });
            }
            pad(text, indent);
            text.push(']');
        }
        Value::Object(fields) if !fields.is_empty() => {
            if depth > 0
                && let Some(line) = one_line(value, WIDTH.saturating_sub(indent))
            {
                text.push_str(&line);
                return;
            }
            text.push_str("{\n");
            for (position, (key, inner)) in fields.iter().enumerate() {
                pad(text, indent + 2);
                let _ = write!(text, "{}: ", Value::from(key.as_str()));
                write_value(text, inner, depth + 1);
                text.push_str(if position + 1 < fields.len() { ",\n" } else { "\n" });
            }
            pad(text, indent);
            text.push('}');
        }
        scalar => write_scalar(text, scalar),
    }
}

/// Zero has one spelling: a database does not keep the sign of it.
fn write_scalar(text: &mut String, scalar: &Value) {
    let _ = match scalar.as_f64() {
        Some(zero) if scalar.is_f64() && zero == 0.0 => write!(text, "0.0"),
        _ => write!(text, "{scalar}"),
    };
}

/// The value on one line with spaces after `:` and `,`; none when it is longer than `room`.
fn one_line(value: &Value, room: usize) -> Option<String> {
    let mut line = String::new();
    put_inline(&mut line, value, room)?;
    (line.len() <= room).then_some(line)
}

fn put_inline(line: &mut String, value: &Value, room: usize) -> Option<()> {
    // Given up as soon as the line is full: an object of a megabyte is not spelled out first.
    if line.len() > room {
        return None;
    }
    match value {
        Value::Array(items) => {
            line.push('[');
            for (position, item) in items.iter().enumerate() {
                line.push_str(if position > 0 { ", " } else { "" });
                put_inline(line, item, room)?;
            }
            line.push(']');
        }
        Value::Object(fields) if fields.is_empty() => line.push_str("{}"),
        Value::Object(fields) => {
            line.push_str("{ ");
            for (position, (key, inner)) in fields.iter().enumerate() {
                line.push_str(if position > 0 { ", " } else { "" });
                let _ = write!(line, "{}: ", Value::from(key.as_str()));
                put_inline(line, inner, room)?;
            }
            line.push_str(" }");
        }
        scalar => write_scalar(line, scalar),
    }
    Some(())
}

fn pad(text: &mut String, columns: usize) {
    text.extend(std::iter::repeat_n(' ', columns));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn short_containers_stand_on_one_line_and_long_ones_are_indented() {
        let value = json!({ "schema": "x", "points": [{ "p": 50, "ns": 1.5 }, { "p": 99, "ns": 7 }],
            "long": ["a".repeat(110), "b".repeat(110)], "none": {}, "empty": [] });
        let expected = format!(
            "{{\n  \"schema\": \"x\",\n  \"points\": [{{ \"p\": 50, \"ns\": 1.5 }}, {{ \"p\": 99, \"ns\": 7 }}],\n  \
             \"long\": [\n    \"{}\",\n    \"{}\"\n  ],\n  \"none\": {{}},\n  \"empty\": []\n}}\n",
            "a".repeat(110),
            "b".repeat(110)
        );
        assert_eq!(to_text(&value).unwrap(), expected);
    }

    #[test]
    fn digest_of_parameters_ignores_the_order_of_keys() {
        let one = json!({ "a": 1, "b": { "x": [1, 2], "y": 2 } });
        let other = json!({ "b": { "y": 2, "x": [1, 2] }, "a": 1 });
        assert_eq!(params_sha256(&one), params_sha256(&other));
        assert_ne!(params_sha256(&one), params_sha256(&json!({ "a": 1, "b": { "x": [2, 1], "y": 2 } })));
    }

    #[test]
    fn zero_is_spelled_without_a_sign() {
        assert_eq!(to_text(&json!([-0.0, 0.0, 0, -1.5])).unwrap(), "[0.0, 0.0, 0, -1.5]\n");
    }

    #[test]
    fn digest_is_that_of_the_standard() {
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e12_f64..1e12).prop_map(Value::from),
            ".{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
                prop::collection::vec((".{0,12}", inner), 0..8)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_value(value in any_json()) {
            let text = to_text(&value).unwrap();
            let back: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&back, &value);
            prop_assert_eq!(to_text(&back).unwrap(), text);
        }
    }
}
