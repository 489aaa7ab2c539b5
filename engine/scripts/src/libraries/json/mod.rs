//! `cjson`: JSON in and out, with the rules of lua-cjson 2.1.

mod decode;
mod encode;

use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value};

use super::{Failure, Output, Settings, Words, answer};

/// Tables in tables.
const DEEPEST: usize = 1000;
/// Digits of a number.
const DIGITS: usize = 14;
/// An array may be so many times as long as it has elements, where it is longer than `SAFE`.
const SPARSE: usize = 2;
const SAFE: usize = 10;

pub(super) fn table(lua: &Lua, settings: &Arc<Settings>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("_NAME", "cjson")?;
    table.raw_set("_VERSION", "2.1.0")?;
    table.raw_set("null", Value::NULL)?;
    let settings = Arc::clone(settings);
    let encode = move |lua: &Lua, values: MultiValue| {
        let words = Words { lua, function: "encode", values: &values };
        let mut output = Output::new(&settings);
        let encoded = only(&words).and_then(|value| encode::encode(value, 0, &mut output));
        match encoded {
            Ok(()) => answer(lua, Ok(output.into_lua(lua)?)),
            Err(failure) => answer(lua, Err::<(), _>(failure)),
        }
    };
    table.raw_set("encode", lua.create_function(encode)?)?;
    let decode = |lua: &Lua, values: MultiValue| {
        let words = Words { lua, function: "decode", values: &values };
        let text = only(&words).and_then(|_| words.text(0));
        answer(lua, text.and_then(|text| decode::decode(lua, &text.as_bytes())))
    };
    table.raw_set("decode", lua.create_function(decode)?)?;
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

/// The one word that both functions take.
fn only<'a>(words: &Words<'a>) -> Result<&'a Value, Failure> {
    match words.values.front() {
        Some(value) if words.values.len() == 1 => Ok(value),
        _ => Err(words.bad(0, "expected 1 argument")),
    }
}
