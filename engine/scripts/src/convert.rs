//! Replies as values of Lua, and values of Lua as replies, by Redis's rules.

use mlua::{Lua, Table, Value};
use plumbkv_resp::{Limits, Parsed, Reply, ReplyWriter, Version, parse_reply};

use crate::libraries::redis::with_code;
use crate::{number, raised};

/// Tables in tables that are answered.
const DEEPEST: usize = 256;
/// Digits of a double.
const DOUBLE_DIGITS: usize = 17;

/// A reply as a value of Lua.
pub(crate) fn to_lua(lua: &Lua, reply: &Reply<'_>, version: Version) -> mlua::Result<Value> {
    Ok(match reply {
        Reply::Simple(text) => field(lua, "ok", Value::String(lua.create_string(text)?))?,
        Reply::Error(text) => failed(lua, text)?,
        Reply::Integer(number) => Value::Number(*number as f64),
        Reply::Bulk(bytes) => Value::String(lua.create_string(bytes)?),
        Reply::Null if version == Version::Resp3 => Value::Nil,
        Reply::Null => Value::Boolean(false),
        Reply::Array(items) | Reply::Push(items) => Value::Table(sequence(lua, items, version)?),
        Reply::Map(pairs) => {
            let table = lua.create_table()?;
            for (key, value) in pairs {
                table.raw_set(to_lua(lua, key, version)?, to_lua(lua, value, version)?)?;
            }
            field(lua, "map", Value::Table(table))?
        }
        Reply::Set(items) => {
            let table = lua.create_table()?;
            for item in items {
                table.raw_set(to_lua(lua, item, version)?, true)?;
            }
            field(lua, "set", Value::Table(table))?
        }
        Reply::Double(number) => field(lua, "double", Value::Number(*number))?,
        Reply::Boolean(value) => Value::Boolean(*value),
        Reply::BigNumber(digits) => field(lua, "big_number", Value::String(lua.create_string(digits)?))?,
        Reply::Verbatim { format, text } => {
            let table = lua.create_table()?;
            table.raw_set("format", lua.create_string(format)?)?;
            table.raw_set("string", lua.create_string(text)?)?;
            field(lua, "verbatim_string", Value::Table(table))?
        }
    })
}

fn failed(lua: &Lua, text: &[u8]) -> mlua::Result<Value> {
    let table = lua.create_table()?;
    table.raw_set("err", lua.create_string(with_code(text))?)?;
    table.raw_set("ignore_error_stats_update", true)?;
    Ok(Value::Table(table))
}

fn sequence(lua: &Lua, items: &[Reply<'_>], version: Version) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(items.len(), 0)?;
    for (place, item) in items.iter().enumerate() {
        table.raw_set(place + 1, to_lua(lua, item, version)?)?;
    }
    Ok(table)
}

fn field(lua: &Lua, name: &str, value: Value) -> mlua::Result<Value> {
    let table = lua.create_table()?;
    table.raw_set(name, value)?;
    Ok(Value::Table(table))
}

/// The bytes of one reply as a value of Lua.
pub(crate) fn bytes_to_lua(lua: &Lua, bytes: &[u8], version: Version) -> mlua::Result<Value> {
    let limits = Limits { max_bulk_bytes: usize::MAX, ..Limits::default() };
    match parse_reply(bytes, &limits) {
        Parsed::Complete { value, .. } => to_lua(lua, &value, version),
        _ => Err(mlua::Error::runtime("ERR a reply of this server cannot be read; please report this")),
    }
}

/// Writes what a script returned, if it has no more than `most` bytes: a table that contains another
/// one twice, and so on, would be far longer than it is in Lua. `version` is that of the script,
/// which says what a boolean is.
pub(crate) fn from_lua(
    value: &Value,
    version: Version,
    most: usize,
    reply: &mut ReplyWriter<'_>,
) -> mlua::Result<()> {
    let end = reply.written().saturating_add(most);
    nested(value, version, end, reply, 0)
}

fn nested(
    value: &Value,
    version: Version,
    end: usize,
    reply: &mut ReplyWriter<'_>,
    depth: usize,
) -> mlua::Result<()> {
    if reply.written() > end {
        return Err(raised::bare("the reply of the script is longer than script-memory-limit"));
    }
    match value {
        Value::String(text) => reply.bulk(&text.as_bytes()),
        Value::Integer(number) => reply.integer(*number),
        Value::Number(number) => reply.integer(whole(*number)),
        Value::Boolean(value) if version == Version::Resp3 => reply.boolean(*value),
        Value::Boolean(true) => reply.integer(1),
        Value::Table(_) if depth >= DEEPEST => reply.error("ERR reached lua stack limit"),
        Value::Table(table) => of_table(table, version, end, reply, depth)?,
        _ => reply.null(),
    }
    Ok(())
}

/// The integer that x86 makes of a number: what is too large or none becomes the lowest.
pub(crate) fn whole(number: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// Iterates over tables twice and copies none: Lua has room for some thousand references to values
/// alone.
fn of_table(
    table: &Table,
    version: Version,
    end: usize,
    reply: &mut ReplyWriter<'_>,
    depth: usize,
) -> mlua::Result<()> {
    if let Value::String(text) = table.raw_get::<Value>("err")? {
        let text = text.as_bytes();
        reply.error_bytes(without_line_ends(up_to_nul(&text)));
        return Ok(());
    }
    if let Value::String(text) = table.raw_get::<Value>("ok")? {
        reply.simple_bytes(up_to_nul(&text.as_bytes()));
        return Ok(());
    }
    let number = match table.raw_get::<Value>("double")? {
        Value::Number(number) => Some(number),
        Value::Integer(number) => Some(number as f64),
        _ => None,
    };
    if let Some(number) = number {
        reply.double_text(&number::shortest(number, DOUBLE_DIGITS));
        return Ok(());
    }
    if let Value::Table(map) = table.raw_get::<Value>("map")? {
        reply.map(map.pairs::<Value, Value>().count());
        for pair in map.pairs::<Value, Value>() {
            let (key, value) = pair?;
            nested(&key, version, end, reply, depth + 1)?;
            nested(&value, version, end, reply, depth + 1)?;
        }
        return Ok(());
    }
    if let Value::Table(set) = table.raw_get::<Value>("set")? {
        reply.set(set.pairs::<Value, Value>().count());
        for pair in set.pairs::<Value, Value>() {
            nested(&pair?.0, version, end, reply, depth + 1)?;
        }
        return Ok(());
    }
    if let Value::String(digits) = table.raw_get::<Value>("big_number")? {
        reply.big_number_bytes(&in_one_line(&digits.as_bytes()));
        return Ok(());
    }
    if let Value::Table(verbatim) = table.raw_get::<Value>("verbatim_string")?
        && let (Value::String(format), Value::String(text)) =
            (verbatim.raw_get::<Value>("format")?, verbatim.raw_get::<Value>("string")?)
    {
        reply.verbatim(&format.to_string_lossy(), &text.as_bytes());
        return Ok(());
    }
    reply.array(table.sequence_values::<Value>().count());
    for item in table.sequence_values::<Value>() {
        nested(&item?, version, end, reply, depth + 1)?;
    }
    Ok(())
}

/// A text as C sees it: in Redis those of errors and states end at their first NUL byte.
pub(crate) fn up_to_nul(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Without line breaks at the end; Redis sends those within as blanks.
pub(crate) fn without_line_ends(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r' | b'\n'] = text {
        text = rest;
    }
    text
}

fn in_one_line(text: &[u8]) -> Vec<u8> {
    text.iter().map(|&byte| if byte == b'\r' || byte == b'\n' { b' ' } else { byte }).collect()
}
