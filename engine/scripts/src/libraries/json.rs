//! `cjson`: JSON in and out, with the rules of lua-cjson for tables.

use mlua::{Lua, LuaString, MultiValue, Table, Value};

use super::{Failure, answer};
use crate::number;

/// Tables in tables.
const DEEPEST: usize = 1000;
/// Digits of a number.
const DIGITS: usize = 14;
/// An array may be so many times as long as it has elements, where it is longer than `SAFE`.
const SPARSE: usize = 2;
const SAFE: usize = 10;

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("_NAME", "cjson")?;
    table.raw_set("_VERSION", "2.1.0")?;
    table.raw_set("null", Value::NULL)?;
    table.raw_set(
        "encode",
        lua.create_function(|lua, values: MultiValue| {
            let [value] = &values.into_vec()[..] else {
                return answer(
                    lua,
                    Err::<(), _>("bad argument #1 to 'encode' (expected 1 argument)".to_owned()),
                );
            };
            let mut text = Vec::new();
            let encoded = encode(value, 0, &mut text);
            let encoded = encoded.map(|()| lua.create_string(&text)).map(Result::ok);
            answer(lua, encoded)
        })?,
    )?;
    table.raw_set(
        "decode",
        lua.create_function(|lua, text: LuaString| {
            let decoded = match serde_json::from_slice::<serde_json::Value>(&text.as_bytes()) {
                Ok(value) => Ok(decode(lua, &value)?),
                Err(error) => Err(format!("Expected value but found invalid token: {error}")),
            };
            answer(lua, decoded)
        })?,
    )?;
    // Settings of the library hold for one script in Redis; here they are what they are.
    for (name, value) in [
        ("encode_max_depth", Value::Number(DEEPEST as f64)),
        ("decode_max_depth", Value::Number(DEEPEST as f64)),
        ("encode_number_precision", Value::Number(DIGITS as f64)),
        ("encode_keep_buffer", Value::Boolean(true)),
        ("encode_invalid_numbers", Value::Boolean(false)),
        ("decode_invalid_numbers", Value::Boolean(true)),
    ] {
        table
            .raw_set(name, lua.create_function(move |lua, _: MultiValue| answer(lua, Ok(value.clone())))?)?;
    }
    table.raw_set(
        "encode_sparse_array",
        lua.create_function(|lua, _: MultiValue| answer(lua, Ok((false, SPARSE, SAFE))))?,
    )?;
    Ok(table)
}

fn encode(value: &Value, depth: usize, text: &mut Vec<u8>) -> Result<(), Failure> {
    match value {
        Value::Nil => text.extend_from_slice(b"null"),
        Value::LightUserData(_) if value.is_null() => text.extend_from_slice(b"null"),
        Value::Boolean(value) => text.extend_from_slice(if *value { b"true" } else { b"false" }),
        Value::Integer(number) => encode_number(*number as f64, text)?,
        Value::Number(number) => encode_number(*number, text)?,
        Value::String(bytes) => encode_string(&bytes.as_bytes(), text),
        Value::Table(_) if depth >= DEEPEST => {
            return Err(format!("Cannot serialise, excessive nesting ({})", depth + 1));
        }
        Value::Table(table) => encode_table(table, depth + 1, text)?,
        other => return Err(format!("Cannot serialise {}: type not supported", other.type_name())),
    }
    Ok(())
}

fn encode_number(value: f64, text: &mut Vec<u8>) -> Result<(), Failure> {
    if !value.is_finite() {
        return Err("Cannot serialise number: must not be NaN or Inf".to_owned());
    }
    text.extend_from_slice(number::shortest(value, DIGITS).as_bytes());
    Ok(())
}

fn encode_string(bytes: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' => text.extend_from_slice(b"\\\""),
            b'\\' => text.extend_from_slice(b"\\\\"),
            b'/' => text.extend_from_slice(b"\\/"),
            8 => text.extend_from_slice(b"\\b"),
            9 => text.extend_from_slice(b"\\t"),
            10 => text.extend_from_slice(b"\\n"),
            12 => text.extend_from_slice(b"\\f"),
            13 => text.extend_from_slice(b"\\r"),
            0..=31 | 127 => text.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => text.push(byte),
        }
    }
    text.push(b'"');
}

fn encode_table(table: &Table, depth: usize, text: &mut Vec<u8>) -> Result<(), Failure> {
    let failed = |error: mlua::Error| error.to_string();
    let pairs: Vec<(Value, Value)> =
        table.pairs::<Value, Value>().collect::<mlua::Result<_>>().map_err(failed)?;
    if let Some(length) = array_length(&pairs)? {
        text.push(b'[');
        for place in 1..=length {
            if place > 1 {
                text.push(b',');
            }
            encode(&table.raw_get(place).map_err(failed)?, depth, text)?;
        }
        text.push(b']');
        return Ok(());
    }
    text.push(b'{');
    for (place, (key, value)) in pairs.iter().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        match key {
            Value::String(key) => encode_string(&key.as_bytes(), text),
            Value::Integer(key) => encode_string(number::shortest(*key as f64, DIGITS).as_bytes(), text),
            Value::Number(key) => encode_string(number::shortest(*key, DIGITS).as_bytes(), text),
            _ => return Err("Cannot serialise table: table key must be a number or string".to_owned()),
        }
        text.push(b':');
        encode(value, depth, text)?;
    }
    text.push(b'}');
    Ok(())
}

/// The length of a table that is an array: all of its keys are whole numbers above zero, and there is one.
fn array_length(pairs: &[(Value, Value)]) -> Result<Option<usize>, Failure> {
    let mut longest = 0;
    for (key, _) in pairs {
        match key {
            Value::Integer(place) if *place > 0 => longest = longest.max(*place as usize),
            _ => return Ok(None),
        }
    }
    if longest > SAFE && longest > pairs.len() * SPARSE {
        return Err("Cannot serialise table: excessively sparse array".to_owned());
    }
    Ok((longest > 0).then_some(longest))
}

fn decode(lua: &Lua, value: &serde_json::Value) -> mlua::Result<Value> {
    use serde_json::Value as Json;
    Ok(match value {
        Json::Null => Value::NULL,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::INFINITY)),
        Json::String(text) => Value::String(lua.create_string(text)?),
        Json::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (place, item) in items.iter().enumerate() {
                table.raw_set(place + 1, decode(lua, item)?)?;
            }
            Value::Table(table)
        }
        Json::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, value) in fields {
                table.raw_set(lua.create_string(name)?, decode(lua, value)?)?;
            }
            Value::Table(table)
        }
    })
}
