//! Values of Lua as JSON.

use mlua::{Table, Value};

use super::{DEEPEST, DIGITS, SAFE, SPARSE};
use crate::libraries::{Failure, Output, of_lua};
use crate::number;

pub(super) fn encode(value: &Value, depth: usize, output: &mut Output) -> Result<(), Failure> {
    match value {
        Value::Nil => output.put(b"null"),
        Value::LightUserData(_) if value.is_null() => output.put(b"null"),
        Value::Boolean(value) => output.put(if *value { b"true" } else { b"false" }),
        Value::Integer(number) => encode_number(*number as f64, output),
        Value::Number(number) => encode_number(*number, output),
        Value::String(bytes) => encode_string(&bytes.as_bytes(), output),
        Value::Table(_) if depth >= DEEPEST => {
            Err(format!("Cannot serialise, excessive nesting ({})", depth + 1))
        }
        Value::Table(table) => encode_table(table, depth + 1, output),
        other => Err(format!("Cannot serialise {}: type not supported", type_name(other))),
    }
}

/// The name of a type in Lua.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "number",
        Value::LightUserData(_) | Value::Error(_) => "userdata",
        other => other.type_name(),
    }
}

fn encode_number(value: f64, output: &mut Output) -> Result<(), Failure> {
    if !value.is_finite() {
        return Err("Cannot serialise number: must not be NaN or Inf".to_owned());
    }
    output.put(number::shortest(value, DIGITS).as_bytes())
}

fn encode_string(bytes: &[u8], output: &mut Output) -> Result<(), Failure> {
    output.put(b"\"")?;
    let mut rest = bytes;
    while let Some(place) = rest.iter().position(|byte| escape(*byte).is_some()) {
        output.put(&rest[..place])?;
        match escape(rest[place]) {
            Some(Escape::Letter(letter)) => output.put(&[b'\\', letter])?,
            _ => output.put(format!("\\u{:04x}", rest[place]).as_bytes())?,
        }
        rest = &rest[place + 1..];
    }
    output.put(rest)?;
    output.put(b"\"")
}

/// How a byte is written that is not written as it is.
enum Escape {
    Letter(u8),
    Number,
}

fn escape(byte: u8) -> Option<Escape> {
    Some(match byte {
        b'"' | b'\\' | b'/' => Escape::Letter(byte),
        8 => Escape::Letter(b'b'),
        9 => Escape::Letter(b't'),
        10 => Escape::Letter(b'n'),
        12 => Escape::Letter(b'f'),
        13 => Escape::Letter(b'r'),
        0..=31 | 127 => Escape::Number,
        _ => return None,
    })
}

/// The table is iterated over twice and not copied: Lua has room for some thousand references to
/// values alone.
fn encode_table(table: &Table, depth: usize, output: &mut Output) -> Result<(), Failure> {
    if let Some(length) = array_length(table)? {
        output.put(b"[")?;
        for place in 1..=length {
            if place > 1 {
                output.put(b",")?;
            }
            encode(&table.raw_get(place).map_err(of_lua)?, depth, output)?;
        }
        return output.put(b"]");
    }
    output.put(b"{")?;
    for (place, pair) in table.pairs::<Value, Value>().enumerate() {
        let (key, value) = pair.map_err(of_lua)?;
        if place > 0 {
            output.put(b",")?;
        }
        match &key {
            Value::String(key) => encode_string(&key.as_bytes(), output)?,
            Value::Integer(key) => encode_string(number::shortest(*key as f64, DIGITS).as_bytes(), output)?,
            Value::Number(key) if key.is_finite() => {
                encode_string(number::shortest(*key, DIGITS).as_bytes(), output)?;
            }
            Value::Number(_) => return Err("Cannot serialise number: must not be NaN or Inf".to_owned()),
            other => {
                let name = type_name(other);
                return Err(format!("Cannot serialise {name}: table key must be a number or string"));
            }
        }
        output.put(b":")?;
        encode(&value, depth, output)?;
    }
    output.put(b"}")
}

/// The length of a table that is an array: all of its keys are whole numbers above zero, and there
/// is one.
fn array_length(table: &Table) -> Result<Option<usize>, Failure> {
    let (mut longest, mut count) = (0_i32, 0);
    for pair in table.pairs::<Value, Value>() {
        let place = match pair.map_err(of_lua)?.0 {
            Value::Integer(place) if place > 0 => place,
            // Beyond 64 bits, and whole.
            Value::Number(place) if place >= 1.0 && place.floor() == place => i64::MAX,
            _ => return Ok(None),
        };
        if place > i64::from(longest) {
            // What a processor makes of a number beyond 32 bits: so such a table is none.
            longest = i32::try_from(place).unwrap_or(i32::MIN);
        }
        count += 1;
    }
    let longest = usize::try_from(longest).unwrap_or(0);
    if longest > SAFE && longest > count * SPARSE {
        return Err("Cannot serialise table: excessively sparse array".to_owned());
    }
    Ok((longest > 0).then_some(longest))
}
