//! `cmsgpack`: MessagePack in and out, with the rules of lua-cmsgpack for tables and numbers.

use std::sync::Arc;

use mlua::{Lua, LuaString, MultiValue, Table, Value};
use rmp::{Marker, encode as write};

use super::{Failure, MOST_RESULTS, NO_MEMORY, Output, Settings, Words, answer, of_lua};
use crate::convert::whole;
use crate::raised;

/// Tables in tables; what is deeper becomes nil, as in lua-cmsgpack.
const DEEPEST: usize = 16;

/// Containers in containers that are read: lua-cmsgpack has no more room on Lua's stack.
const DEEPEST_READ: usize = 3_999;

const TOO_DEEP: &str = "stack overflow (in function mp_decode_to_lua_array)";
const TOO_MANY: &str =
    "stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)";

pub(super) fn table(lua: &Lua, settings: &Arc<Settings>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("_NAME", "cmsgpack")?;
    table.raw_set("_VERSION", "lua-cmsgpack 0.4.0")?;
    let settings = Arc::clone(settings);
    let packing = move |lua: &Lua, values: MultiValue| {
        if values.is_empty() {
            let text = "bad argument #0 to 'pack' (MessagePack pack needs input.)";
            return answer(lua, Err::<(), _>(text.to_owned()));
        }
        let mut output = Output::new(&settings);
        match values.iter().try_for_each(|value| pack(value, 0, &mut output)) {
            Ok(()) => answer(lua, Ok(output.into_lua(lua)?)),
            Err(failure) => answer(lua, Err::<(), _>(failure)),
        }
    };
    table.raw_set("pack", lua.create_function(packing)?)?;
    let functions: [(&'static str, ReadRange); 3] =
        [("unpack", all), ("unpack_one", one), ("unpack_limit", limited)];
    for (function, range) in functions {
        let unpacking = move |lua: &Lua, values: MultiValue| {
            let words = Words { lua, function, values: &values };
            match range(&words) {
                Ok(range) => range.unpack(lua),
                Err(failure) => answer(lua, Err::<(), _>(failure)),
            }
        };
        table.raw_set(function, lua.create_function(unpacking)?)?;
    }
    Ok(table)
}

fn pack(value: &Value, depth: usize, output: &mut Output) -> Result<(), Failure> {
    match value {
        Value::Boolean(value) => output.put(&[if *value { 0xc3 } else { 0xc2 }]),
        Value::Integer(number) => head(output, |bytes| write::write_sint(bytes, *number).map(drop)),
        Value::Number(number) => pack_number(*number, output),
        Value::String(text) => pack_string(&text.as_bytes(), output),
        Value::Table(table) if depth < DEEPEST => pack_table(table, depth + 1, output),
        _ => output.put(&[0xc0]),
    }
}

/// Writes the few bytes that `write` makes; writing to a vector cannot fail.
fn head<E>(output: &mut Output, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), Failure> {
    let mut bytes = Vec::with_capacity(9);
    write(&mut bytes).map_err(|_| NO_MEMORY.to_owned())?;
    output.put(&bytes)
}

/// How many bytes or elements follow.
fn length(count: usize) -> Result<u32, Failure> {
    u32::try_from(count).map_err(|_| NO_MEMORY.to_owned())
}

fn pack_number(number: f64, output: &mut Output) -> Result<(), Failure> {
    let narrow = number as f32;
    if number == 0.0 {
        // Of either sign.
        output.put(&[0])
    } else if f64::from(narrow) == number {
        head(output, |bytes| write::write_f32(bytes, narrow))
    } else {
        head(output, |bytes| write::write_f64(bytes, number))
    }
}

fn pack_string(text: &[u8], output: &mut Output) -> Result<(), Failure> {
    let count = length(text.len())?;
    head(output, |bytes| write::write_str_len(bytes, count).map(drop))?;
    output.put(text)
}

/// The table is iterated over twice and not copied: Lua has room for some thousand references to
/// values alone.
fn pack_table(table: &Table, depth: usize, output: &mut Output) -> Result<(), Failure> {
    let (mut count, mut longest) = (0_usize, Some(0));
    for pair in table.pairs::<Value, Value>() {
        count += 1;
        longest = match pair.map_err(of_lua)?.0 {
            Value::Integer(place) if place > 0 => longest.map(|longest: usize| longest.max(place as usize)),
            _ => None,
        };
    }
    let pairs = length(count)?;
    if longest == Some(count) {
        head(output, |bytes| write::write_array_len(bytes, pairs).map(drop))?;
        return (1..=count).try_for_each(|place| pack(&table.raw_get(place).map_err(of_lua)?, depth, output));
    }
    head(output, |bytes| write::write_map_len(bytes, pairs).map(drop))?;
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(of_lua)?;
        pack(&key, depth, output)?;
        pack(&value, depth, output)?;
    }
    Ok(())
}

/// What is to be unpacked.
struct Range {
    text: LuaString,
    offset: usize,
    most: usize,
    /// Whether the first result is the offset of the next value.
    returns_end: bool,
}

/// Reads it from the words of a call.
type ReadRange = fn(&Words<'_>) -> Result<Range, Failure>;

fn all(words: &Words<'_>) -> Result<Range, Failure> {
    Ok(Range { text: words.text(0)?, offset: 0, most: usize::MAX, returns_end: false })
}

fn one(words: &Words<'_>) -> Result<Range, Failure> {
    let offset = words.number_or(1, 0.0)?;
    Range::new(words, 1, offset)
}

fn limited(words: &Words<'_>) -> Result<Range, Failure> {
    let (limit, offset) = (words.number(1)?, words.number_or(2, 0.0)?);
    Range::new(words, whole(limit) as i32, offset)
}

impl Range {
    fn new(words: &Words<'_>, limit: i32, offset: f64) -> Result<Self, Failure> {
        let text = words.text(0)?;
        let (offset, length) = (whole(offset) as i32, text.as_bytes().len());
        let (Ok(place), Ok(most)) = (usize::try_from(offset), usize::try_from(limit)) else {
            return Err(format!("Invalid request to unpack with offset of {offset} and limit of {length}."));
        };
        if place > length {
            return Err(format!("Start offset {offset} greater than input length {length}."));
        }
        // Neither limit nor offset: all of it, without an offset.
        let is_all = place == 0 && most == 0;
        Ok(Self { text, offset: place, most: if is_all { usize::MAX } else { most }, returns_end: !is_all })
    }

    fn unpack(&self, lua: &Lua) -> mlua::Result<MultiValue> {
        let bytes = self.text.as_bytes();
        let mut rest = &bytes[self.offset..];
        let mut values = Vec::new();
        while !rest.is_empty() && values.len() < self.most {
            if values.len() >= MOST_RESULTS {
                return Err(raised::text(lua, TOO_MANY));
            }
            values.push(value(lua, &mut rest).map_err(|error| match error {
                mlua::Error::StackError => raised::text(lua, TOO_MANY),
                other => other,
            })?);
        }
        if self.returns_end {
            let end = if rest.is_empty() { -1.0 } else { (bytes.len() - rest.len()) as f64 };
            values.insert(0, Value::Number(end));
        }
        Ok(MultiValue::from_vec(values))
    }
}

/// A container that is not whole yet.
struct Open {
    table: Table,
    /// The elements or pairs that it still needs.
    left: usize,
    /// Those before them, in an array.
    count: usize,
    is_map: bool,
    /// The key of the value that comes next, in a map.
    key: Option<Value>,
}

/// A whole value. Containers in containers take no stack.
fn value(lua: &Lua, rest: &mut &[u8]) -> mlua::Result<Value> {
    let mut open: Vec<Open> = Vec::new();
    loop {
        let mut value = match item(lua, rest)? {
            Item::Value(value) => value,
            Item::Container { left, is_map } => {
                if open.len() >= DEEPEST_READ {
                    return Err(raised::text(lua, TOO_DEEP));
                }
                let table = lua.create_table()?;
                if left > 0 {
                    open.push(Open { table, left, count: 0, is_map, key: None });
                    continue;
                }
                Value::Table(table)
            }
        };
        // Where it belongs; a container that is whole then is a value itself.
        loop {
            let Some(last) = open.last_mut() else { return Ok(value) };
            if last.is_map && last.key.is_none() {
                last.key = Some(value);
                break;
            }
            match last.key.take() {
                Some(Value::Nil) => return Err(raised::bare("table index is nil")),
                Some(Value::Number(number)) if number.is_nan() => {
                    return Err(raised::bare("table index is NaN"));
                }
                Some(key) => last.table.raw_set(key, value)?,
                None => {
                    last.count += 1;
                    last.table.raw_set(last.count, value)?;
                }
            }
            last.left -= 1;
            if last.left > 0 {
                break;
            }
            let Some(last) = open.pop() else { break };
            value = Value::Table(last.table);
        }
    }
}

/// What begins with one marker.
enum Item {
    Value(Value),
    Container { left: usize, is_map: bool },
}

fn take<'a>(lua: &Lua, rest: &mut &'a [u8], count: usize) -> mlua::Result<&'a [u8]> {
    let Some((taken, left)) = rest.split_at_checked(count) else {
        return Err(raised::text(lua, "Missing bytes in input."));
    };
    *rest = left;
    Ok(taken)
}

fn item(lua: &Lua, rest: &mut &[u8]) -> mlua::Result<Item> {
    let marker = Marker::from_u8(take(lua, rest, 1)?[0]);
    let mut big_endian = |bytes: usize| -> mlua::Result<u64> {
        Ok(take(lua, rest, bytes)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let number = match marker {
        Marker::Null => return Ok(Item::Value(Value::Nil)),
        Marker::True => return Ok(Item::Value(Value::Boolean(true))),
        Marker::False => return Ok(Item::Value(Value::Boolean(false))),
        Marker::FixPos(number) => f64::from(number),
        Marker::FixNeg(number) => f64::from(number),
        Marker::U8 => big_endian(1)? as f64,
        Marker::U16 => big_endian(2)? as f64,
        Marker::U32 => big_endian(4)? as f64,
        Marker::U64 => big_endian(8)? as f64,
        Marker::I8 => f64::from(big_endian(1)? as i8),
        Marker::I16 => f64::from(big_endian(2)? as i16),
        Marker::I32 => f64::from(big_endian(4)? as i32),
        Marker::I64 => big_endian(8)? as i64 as f64,
        Marker::F32 => f64::from(f32::from_bits(big_endian(4)? as u32)),
        Marker::F64 => f64::from_bits(big_endian(8)?),
        Marker::FixStr(length) => return string(lua, rest, usize::from(length)),
        Marker::Str8 => {
            let length = big_endian(1)? as usize;
            return string(lua, rest, length);
        }
        Marker::Str16 => {
            let length = big_endian(2)? as usize;
            return string(lua, rest, length);
        }
        Marker::Str32 => {
            let length = big_endian(4)? as usize;
            return string(lua, rest, length);
        }
        Marker::FixArray(length) => return Ok(Item::Container { left: usize::from(length), is_map: false }),
        Marker::FixMap(length) => return Ok(Item::Container { left: usize::from(length), is_map: true }),
        Marker::Array16 => return Ok(Item::Container { left: big_endian(2)? as usize, is_map: false }),
        Marker::Array32 => return Ok(Item::Container { left: big_endian(4)? as usize, is_map: false }),
        Marker::Map16 => return Ok(Item::Container { left: big_endian(2)? as usize, is_map: true }),
        Marker::Map32 => return Ok(Item::Container { left: big_endian(4)? as usize, is_map: true }),
        // Bytes that are no text, and extensions.
        _ => return Err(raised::text(lua, "Bad data format in input.")),
    };
    Ok(Item::Value(Value::Number(number)))
}

fn string(lua: &Lua, rest: &mut &[u8], length: usize) -> mlua::Result<Item> {
    let text = take(lua, rest, length)?;
    Ok(Item::Value(Value::String(lua.create_string(text)?)))
}
