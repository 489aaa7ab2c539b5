//! `bit`: operations on 32 bits, as in LuaJIT.

use mlua::{Lua, MultiValue, Table, Value};

use super::{Failure, answer};

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let add = |name: &'static str, operation: fn(&'static str, &MultiValue) -> Result<i64, Failure>| {
        table.raw_set(
            name,
            lua.create_function(move |lua, words: MultiValue| {
                answer(lua, operation(name, &words).map(|number| number as f64))
            })?,
        )
    };
    add("tobit", |name, words| Ok(signed(bits(name, words, 0)?)))?;
    add("bnot", |name, words| Ok(signed(!bits(name, words, 0)?)))?;
    add("band", |name, words| fold(name, words, |a, b| a & b))?;
    add("bor", |name, words| fold(name, words, |a, b| a | b))?;
    add("bxor", |name, words| fold(name, words, |a, b| a ^ b))?;
    add("lshift", |name, words| shift(name, words, |bits, by| bits << by))?;
    add("rshift", |name, words| shift(name, words, |bits, by| bits >> by))?;
    add("arshift", |name, words| shift(name, words, |bits, by| ((bits as i32) >> by) as u32))?;
    add("rol", |name, words| shift(name, words, u32::rotate_left))?;
    add("ror", |name, words| shift(name, words, u32::rotate_right))?;
    add("bswap", |name, words| Ok(signed(bits(name, words, 0)?.swap_bytes())))?;
    table
        .raw_set("tohex", lua.create_function(|lua, words: MultiValue| answer(lua, hexadecimal(&words)))?)?;
    Ok(table)
}

fn signed(bits: u32) -> i64 {
    i64::from(bits as i32)
}

/// The lowest 32 bits of an argument, rounded to the nearest integer.
fn bits(name: &str, words: &MultiValue, place: usize) -> Result<u32, Failure> {
    let number = match words.get(place) {
        Some(Value::Integer(number)) => *number as f64,
        Some(Value::Number(number)) => *number,
        Some(Value::String(text)) => {
            let text = text.to_string_lossy();
            text.trim().parse().map_err(|_| bad(name, place, "string"))?
        }
        found => return Err(bad(name, place, found.map_or("no value", Value::type_name))),
    };
    // Modulo 2^32, as adding 2^52 + 2^51 does in C.
    let rounded = number.round_ties_even();
    Ok(if rounded.is_finite() { rounded.rem_euclid(4_294_967_296.0) as u32 } else { 0 })
}

fn bad(name: &str, place: usize, found: &str) -> Failure {
    format!("bad argument #{} to '{name}' (number expected, got {found})", place + 1)
}

fn fold(name: &str, words: &MultiValue, operation: fn(u32, u32) -> u32) -> Result<i64, Failure> {
    let mut all = bits(name, words, 0)?;
    for place in 1..words.len() {
        all = operation(all, bits(name, words, place)?);
    }
    Ok(signed(all))
}

fn shift(name: &str, words: &MultiValue, operation: fn(u32, u32) -> u32) -> Result<i64, Failure> {
    Ok(signed(operation(bits(name, words, 0)?, bits(name, words, 1)? & 31)))
}

fn hexadecimal(words: &MultiValue) -> Result<String, Failure> {
    let number = bits("tohex", words, 0)?;
    let digits = if words.len() > 1 { bits("tohex", words, 1)? as i32 } else { 8 };
    let text = format!("{number:08x}");
    let count = (digits.unsigned_abs() as usize).min(8);
    let text = &text[8 - count..];
    Ok(if digits < 0 { text.to_uppercase() } else { text.to_owned() })
}
