//! `bit`: operations on 32 bits, as in LuaJIT.

use mlua::{Lua, MultiValue, Table};

use super::{Failure, Words, answer};

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let add = |function: &'static str, operation: fn(&Words<'_>) -> Result<i64, Failure>| {
        let operation = move |lua: &Lua, values: MultiValue| {
            let result = operation(&Words { lua, function, values: &values });
            answer(lua, result.map(|number| number as f64))
        };
        table.raw_set(function, lua.create_function(operation)?)
    };
    add("tobit", |words| Ok(signed(bits(words, 0)?)))?;
    add("bnot", |words| Ok(signed(!bits(words, 0)?)))?;
    add("band", |words| fold(words, |a, b| a & b))?;
    add("bor", |words| fold(words, |a, b| a | b))?;
    add("bxor", |words| fold(words, |a, b| a ^ b))?;
    add("lshift", |words| shift(words, |bits, by| bits << by))?;
    add("rshift", |words| shift(words, |bits, by| bits >> by))?;
    add("arshift", |words| shift(words, |bits, by| ((bits as i32) >> by) as u32))?;
    add("rol", |words| shift(words, u32::rotate_left))?;
    add("ror", |words| shift(words, u32::rotate_right))?;
    add("bswap", |words| Ok(signed(bits(words, 0)?.swap_bytes())))?;
    let tohex = |lua: &Lua, values: MultiValue| {
        answer(lua, hexadecimal(&Words { lua, function: "tohex", values: &values }))
    };
    table.raw_set("tohex", lua.create_function(tohex)?)?;
    Ok(table)
}

fn signed(bits: u32) -> i64 {
    i64::from(bits as i32)
}

/// The lowest 32 bits of an argument, rounded to the nearest integer. Adding 2^52 + 2^51 moves them
/// to the end of the mantissa, as in C; of a number beyond 2^51 it moves others there.
fn bits(words: &Words<'_>, place: usize) -> Result<u32, Failure> {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    Ok((words.number(place)? + SHIFT).to_bits() as u32)
}

fn fold(words: &Words<'_>, operation: fn(u32, u32) -> u32) -> Result<i64, Failure> {
    let mut all = bits(words, 0)?;
    for place in 1..words.values.len() {
        all = operation(all, bits(words, place)?);
    }
    Ok(signed(all))
}

fn shift(words: &Words<'_>, operation: fn(u32, u32) -> u32) -> Result<i64, Failure> {
    Ok(signed(operation(bits(words, 0)?, bits(words, 1)? & 31)))
}

fn hexadecimal(words: &Words<'_>) -> Result<String, Failure> {
    let number = bits(words, 0)?;
    let digits = if words.values.len() > 1 { bits(words, 1)? as i32 } else { 8 };
    let text = format!("{number:08x}");
    let count = (digits.unsigned_abs() as usize).min(8);
    let text = &text[8 - count..];
    Ok(if digits < 0 { text.to_uppercase() } else { text.to_owned() })
}
