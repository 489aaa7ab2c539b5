//! `cmsgpack`: MessagePack in and out, with the rules of lua-cmsgpack for tables and numbers.

use mlua::{IntoLua as _, Lua, LuaString, MultiValue, Table, Value};
use rmp::{Marker, encode as write};

use super::{Failure, answer};

/// Tables in tables; what is deeper becomes nil, as in lua-cmsgpack.
const DEEPEST: usize = 16;

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("_NAME", "cmsgpack")?;
    table.raw_set("_VERSION", "lua-cmsgpack 0.4.0")?;
    table.raw_set(
        "pack",
        lua.create_function(|lua, values: MultiValue| {
            if values.is_empty() {
                return answer(
                    lua,
                    Err::<(), _>("bad argument #0 to 'pack' (MessagePack pack needs input.)".to_owned()),
                );
            }
            let mut bytes = Vec::new();
            let packed = values.iter().try_for_each(|value| pack(value, 0, &mut bytes));
            answer(lua, packed.map_err(|error| error.to_string()).map(|()| lua.create_string(&bytes).ok()))
        })?,
    )?;
    table.raw_set(
        "unpack",
        lua.create_function(|lua, text: LuaString| {
            answer(lua, unpack(lua, &text.as_bytes(), 0, usize::MAX).map(|(values, _)| values))
        })?,
    )?;
    for (name, count) in [("unpack_one", Some(1)), ("unpack_limit", None)] {
        table.raw_set(
            name,
            lua.create_function(move |lua, (text, first, second): (LuaString, Option<i64>, Option<i64>)| {
                let (most, offset) = match count {
                    Some(one) => (one, first),
                    None => (usize::try_from(first.unwrap_or(0)).unwrap_or(0), second),
                };
                let bytes = text.as_bytes();
                let offset = offset.unwrap_or(0);
                let Some(offset) = usize::try_from(offset).ok().filter(|offset| *offset <= bytes.len())
                else {
                    let text = format!("Start offset {offset} greater than input length {}.", bytes.len());
                    return answer(lua, Err::<(), _>(text));
                };
                let unpacked = unpack(lua, &bytes, offset, most).map(|(mut values, end)| {
                    let end = if end == bytes.len() { -1.0 } else { end as f64 };
                    values.push_front(Value::Number(end));
                    values
                });
                answer(lua, unpacked)
            })?,
        )?;
    }
    Ok(table)
}

fn pack(value: &Value, depth: usize, bytes: &mut Vec<u8>) -> mlua::Result<()> {
    match value {
        Value::Boolean(value) => write::write_bool(bytes, *value).map_err(not_packed)?,
        Value::Integer(number) => {
            write::write_sint(bytes, *number).map_err(not_packed)?;
        }
        Value::Number(number) => pack_number(*number, bytes)?,
        Value::String(text) => pack_string(&text.as_bytes(), bytes)?,
        Value::Table(table) if depth < DEEPEST => pack_table(table, depth + 1, bytes)?,
        _ => write::write_nil(bytes).map_err(not_packed)?,
    }
    Ok(())
}

/// Writing to a vector cannot fail; a text or table of more than 2^32 bytes or pairs can.
fn not_packed<E>(_: E) -> mlua::Error {
    mlua::Error::runtime("not packed")
}

fn pack_number(number: f64, bytes: &mut Vec<u8>) -> mlua::Result<()> {
    let narrow = number as f32;
    if f64::from(narrow).to_bits() == number.to_bits() {
        write::write_f32(bytes, narrow).map_err(not_packed)
    } else {
        write::write_f64(bytes, number).map_err(not_packed)
    }
}

fn pack_string(text: &[u8], bytes: &mut Vec<u8>) -> mlua::Result<()> {
    write::write_str_len(bytes, u32::try_from(text.len()).map_err(not_packed)?).map_err(not_packed)?;
    bytes.extend_from_slice(text);
    Ok(())
}

fn pack_table(table: &Table, depth: usize, bytes: &mut Vec<u8>) -> mlua::Result<()> {
    let pairs: Vec<(Value, Value)> = table.pairs::<Value, Value>().collect::<mlua::Result<_>>()?;
    let longest = pairs.iter().try_fold(0_usize, |longest, (key, _)| match key {
        Value::Integer(place) if *place > 0 => Some(longest.max(*place as usize)),
        _ => None,
    });
    let length = u32::try_from(pairs.len()).map_err(not_packed)?;
    if longest == Some(pairs.len()) && !pairs.is_empty() {
        write::write_array_len(bytes, length).map_err(not_packed)?;
        for place in 1..=pairs.len() {
            pack(&table.raw_get(place)?, depth, bytes)?;
        }
        return Ok(());
    }
    if pairs.is_empty() {
        write::write_array_len(bytes, 0).map_err(not_packed)?;
        return Ok(());
    }
    write::write_map_len(bytes, length).map_err(not_packed)?;
    for (key, value) in &pairs {
        pack(key, depth, bytes)?;
        pack(value, depth, bytes)?;
    }
    Ok(())
}

/// Values from `offset` on, and where they end.
fn unpack(lua: &Lua, bytes: &[u8], offset: usize, most: usize) -> Result<(MultiValue, usize), Failure> {
    let mut rest = &bytes[offset..];
    let mut values = Vec::new();
    while !rest.is_empty() && values.len() < most.max(1) {
        values.push(one(lua, &mut rest, 0)?);
    }
    Ok((MultiValue::from_vec(values), bytes.len() - rest.len()))
}

fn bad() -> Failure {
    "Bad data format in input.".to_owned()
}

fn missing() -> Failure {
    "Missing bytes in input.".to_owned()
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Failure> {
    let (taken, left) = rest.split_at_checked(count).ok_or_else(missing)?;
    *rest = left;
    Ok(taken)
}

fn big_endian(rest: &mut &[u8], bytes: usize) -> Result<u64, Failure> {
    Ok(take(rest, bytes)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

fn one(lua: &Lua, rest: &mut &[u8], depth: usize) -> Result<Value, Failure> {
    /// Containers in containers that are read.
    const DEEPEST_READ: usize = 128;
    if depth > DEEPEST_READ {
        return Err(bad());
    }
    let marker = Marker::from_u8(take(rest, 1)?[0]);
    let length = match marker {
        Marker::FixStr(length) | Marker::FixArray(length) | Marker::FixMap(length) => usize::from(length),
        Marker::Str8 | Marker::Bin8 => big_endian(rest, 1)? as usize,
        Marker::Str16 | Marker::Bin16 | Marker::Array16 | Marker::Map16 => big_endian(rest, 2)? as usize,
        Marker::Str32 | Marker::Bin32 | Marker::Array32 | Marker::Map32 => big_endian(rest, 4)? as usize,
        _ => 0,
    };
    let text = |bytes: &[u8]| lua.create_string(bytes).map(Value::String).map_err(of_lua);
    Ok(match marker {
        Marker::Null => Value::Nil,
        Marker::True => Value::Boolean(true),
        Marker::False => Value::Boolean(false),
        Marker::FixPos(number) => Value::Number(f64::from(number)),
        Marker::FixNeg(number) => Value::Number(f64::from(number)),
        Marker::U8 => Value::Number(big_endian(rest, 1)? as f64),
        Marker::U16 => Value::Number(big_endian(rest, 2)? as f64),
        Marker::U32 => Value::Number(big_endian(rest, 4)? as f64),
        Marker::U64 => Value::Number(big_endian(rest, 8)? as f64),
        Marker::I8 => Value::Number(f64::from(big_endian(rest, 1)? as i8)),
        Marker::I16 => Value::Number(f64::from(big_endian(rest, 2)? as i16)),
        Marker::I32 => Value::Number(f64::from(big_endian(rest, 4)? as i32)),
        Marker::I64 => Value::Number(big_endian(rest, 8)? as i64 as f64),
        Marker::F32 => Value::Number(f64::from(f32::from_bits(big_endian(rest, 4)? as u32))),
        Marker::F64 => Value::Number(f64::from_bits(big_endian(rest, 8)?)),
        Marker::FixStr(_)
        | Marker::Str8
        | Marker::Str16
        | Marker::Str32
        | Marker::Bin8
        | Marker::Bin16
        | Marker::Bin32 => text(take(rest, length)?)?,
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => array(lua, rest, length, depth)?,
        Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => map(lua, rest, length, depth)?,
        _ => return Err(bad()),
    })
}

fn of_lua(error: mlua::Error) -> Failure {
    error.to_string()
}

fn array(lua: &Lua, rest: &mut &[u8], length: usize, depth: usize) -> Result<Value, Failure> {
    let table = lua.create_table().map_err(of_lua)?;
    for place in 1..=length {
        table.raw_set(place, one(lua, rest, depth + 1)?).map_err(of_lua)?;
    }
    table.into_lua(lua).map_err(of_lua)
}

fn map(lua: &Lua, rest: &mut &[u8], length: usize, depth: usize) -> Result<Value, Failure> {
    let table = lua.create_table().map_err(of_lua)?;
    for _ in 0..length {
        let key = one(lua, rest, depth + 1)?;
        let value = one(lua, rest, depth + 1)?;
        // A key that Lua's tables cannot have is left out.
        if !key.is_nil() && !matches!(key, Value::Number(number) if number.is_nan()) {
            table.raw_set(key, value).map_err(of_lua)?;
        }
    }
    table.into_lua(lua).map_err(of_lua)
}
