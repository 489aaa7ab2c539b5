//! Values of indexed fields: JSON text to a typed value, exactly or not at all.
//!
//! Integers never pass through floating point. `null` and a missing member are no value; an array is
//! several values.

use serde_json::value::RawValue;

use crate::limits::{MAX_KEYWORD_BYTES, MAX_VALUES};
use crate::schema::FieldType;

/// One value of an indexed field. A date is its nanoseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Str(String),
    I64(i64),
    U64(u64),
    F64(f64),
    Bool(bool),
}

/// The values of a member, from its JSON text.
///
/// # Errors
/// A sentence that says why the text is not of this type.
pub(crate) fn values(kind: FieldType, json: &str) -> Result<Vec<Value>, String> {
    if !json.starts_with('[') {
        return Ok(scalar(kind, json)?.into_iter().collect());
    }
    let parts: Vec<&RawValue> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    if parts.len() > MAX_VALUES {
        return Err(format!("{} values, and a field may have {MAX_VALUES}", parts.len()));
    }
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        all.extend(scalar(kind, part.get())?);
    }
    Ok(all)
}

fn scalar(kind: FieldType, json: &str) -> Result<Option<Value>, String> {
    if json == "null" {
        return Ok(None);
    }
    let value = match kind {
        FieldType::Text => Value::Str(string(json, kind)?),
        FieldType::Keyword => keyword(string(json, kind)?)?,
        FieldType::Date => date(&string(json, kind)?)?,
        FieldType::I64 | FieldType::U64 | FieldType::F64 | FieldType::Bool => {
            if !(json.starts_with(['-', 't', 'f']) || json.starts_with(|first: char| first.is_ascii_digit()))
            {
                return Err(mismatch(json, kind));
            }
            literal(kind, json)?
        }
    };
    Ok(Some(value))
}

/// A value from the text of a literal in a filter, without quotes.
///
/// # Errors
/// A sentence that says why the text is not of this type.
pub(crate) fn literal(kind: FieldType, text: &str) -> Result<Value, String> {
    match kind {
        FieldType::Text | FieldType::Keyword => keyword(text.to_owned()),
        FieldType::Date => date(text),
        FieldType::I64 => integer(text, kind)?.parse().map(Value::I64).map_err(|_| out_of_range(text, kind)),
        FieldType::U64 => match integer(text, kind)? {
            "-0" => Ok(Value::U64(0)),
            digits => digits.parse().map(Value::U64).map_err(|_| out_of_range(text, kind)),
        },
        FieldType::F64 => {
            // Rust also reads `inf` and `nan`, which no JSON number is.
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            let number: f64 = text.parse().ok().filter(|_| is_number).ok_or_else(|| mismatch(text, kind))?;
            if !number.is_finite() {
                return Err(out_of_range(text, kind));
            }
            // -0.0 equals 0.0, in an index as in a program.
            Ok(Value::F64(if number == 0.0 { 0.0 } else { number }))
        }
        FieldType::Bool => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(mismatch(text, kind)),
        },
    }
}

/// A document's id, from the text of its primary member.
pub(crate) fn id(json: &str) -> Result<String, String> {
    let text = if json.starts_with('"') {
        serde_json::from_str(json).map_err(|error| error.to_string())?
    } else {
        let digits = integer(json, FieldType::I64)
            .map_err(|_| format!("the id must be a string or an integer, and is {}", shortened(json)))?;
        if digits.parse::<i64>().is_err() && digits.parse::<u64>().is_err() {
            return Err(format!(
                "the id {} is an integer beyond 64 bits; write it as a string",
                shortened(json)
            ));
        }
        digits.to_owned()
    };
    match crate::names::fault_of_id(&text) {
        None => Ok(text),
        Some(fault) => Err(fault),
    }
}

fn string(json: &str, kind: FieldType) -> Result<String, String> {
    if !json.starts_with('"') {
        return Err(mismatch(json, kind));
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn keyword(text: String) -> Result<Value, String> {
    if text.len() > MAX_KEYWORD_BYTES {
        return Err(format!("a keyword of {} bytes, and one may have {MAX_KEYWORD_BYTES}", text.len()));
    }
    Ok(Value::Str(text))
}

fn date(text: &str) -> Result<Value, String> {
    let moment: jiff::Timestamp = text.parse().map_err(|_| {
        format!("{} is not a date such as 2026-01-31T08:30:00Z", shortened(&format!("{text:?}")))
    })?;
    i64::try_from(moment.as_nanosecond()).map(Value::I64).map_err(|_| out_of_range(text, FieldType::Date))
}

/// The text, if it is an integer without fraction and exponent.
fn integer(text: &str, kind: FieldType) -> Result<&str, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(mismatch(text, kind));
    }
    Ok(text)
}

fn mismatch(text: &str, kind: FieldType) -> String {
    format!("{} is not of type {}", shortened(text), kind.name())
}

fn out_of_range(text: &str, kind: FieldType) -> String {
    format!("{} is out of the range of {}", shortened(text), kind.name())
}

fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(kind: FieldType, json: &str) -> Value {
        values(kind, json).unwrap().remove(0)
    }

    #[test]
    fn integers_are_exact_to_their_edges() {
        assert_eq!(one(FieldType::I64, "-9223372036854775808"), Value::I64(i64::MIN));
        assert_eq!(one(FieldType::I64, "9223372036854775807"), Value::I64(i64::MAX));
        assert_eq!(one(FieldType::U64, "18446744073709551615"), Value::U64(u64::MAX));
        assert_eq!((one(FieldType::U64, "-0"), one(FieldType::I64, "-0")), (Value::U64(0), Value::I64(0)));
        for (kind, json, part) in [
            (FieldType::I64, "9223372036854775808", "out of the range of i64"),
            (FieldType::U64, "18446744073709551616", "out of the range of u64"),
            (FieldType::U64, "-1", "out of the range of u64"),
            (FieldType::I64, "1.0", "not of type i64"),
            (FieldType::I64, "1e3", "not of type i64"),
            (FieldType::I64, "\"1\"", "not of type i64"),
            (FieldType::I64, "true", "not of type i64"),
            (FieldType::F64, "true", "not of type f64"),
            (FieldType::Bool, "1", "not of type bool"),
            (FieldType::Keyword, "1", "not of type keyword"),
            (FieldType::Text, "{\"a\":1}", "not of type text"),
            (FieldType::Keyword, "[[\"a\"]]", "not of type keyword"),
            (FieldType::Date, "\"2026-01-31\"", "not a date"),
            (FieldType::Date, "\"1600-01-01T00:00:00Z\"", "out of the range of date"),
        ] {
            let fault = values(kind, json).unwrap_err();
            assert!(fault.contains(part), "{json}: {fault}");
        }
    }

    #[test]
    fn null_is_no_value_and_an_array_is_several() {
        assert_eq!(values(FieldType::F64, "null").unwrap(), []);
        assert_eq!(
            values(FieldType::F64, "[1, null, -0.0, 2.5e1]").unwrap(),
            [Value::F64(1.0), Value::F64(0.0), Value::F64(25.0)]
        );
        let many = format!("[{}]", vec!["1"; MAX_VALUES + 1].join(","));
        assert!(values(FieldType::I64, &many).is_err());
        assert_eq!(values(FieldType::I64, &many.replacen("1,", "", 1)).unwrap().len(), MAX_VALUES);
        let Value::F64(zero) = one(FieldType::F64, "-0.0") else { panic!("no number") };
        assert!(zero.is_sign_positive());
    }

    #[test]
    fn dates_are_nanoseconds() {
        assert_eq!(one(FieldType::Date, r#""1970-01-01T01:00:00.000000001+01:00""#), Value::I64(1));
        assert_eq!(one(FieldType::Date, r#""1969-12-31T23:59:59Z""#), Value::I64(-1_000_000_000));
    }

    #[test]
    fn an_id_is_a_string_or_an_integer() {
        assert_eq!(id("\"a\\u0062\""), Ok("ab".to_owned()));
        assert_eq!(id("18446744073709551615"), Ok("18446744073709551615".to_owned()));
        for json in ["1.5", "null", "[]", "\"\"", "\"a\\u0000\"", "18446744073709551616", "true"] {
            assert!(id(json).is_err(), "{json}");
        }
    }

    #[test]
    fn keywords_are_limited_at_their_edge() {
        assert!(literal(FieldType::Keyword, &"a".repeat(MAX_KEYWORD_BYTES)).is_ok());
        assert!(literal(FieldType::Keyword, &"a".repeat(MAX_KEYWORD_BYTES + 1)).is_err());
    }
}
