//! `redis`: what it has besides commands, and what scripts log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mlua::{Lua, LuaString, MultiValue, Table, Value};

use super::Settings;
use crate::convert::{up_to_nul, without_line_ends};
use crate::digest::{digest, hex};
use crate::raised;

/// The version of Redis whose behaviour is followed.
const VERSION: &str = "7.0.15";
const VERSION_NUMBER: u32 = 0x0007_000f;

/// Bytes of a line of the log.
const LONGEST_LINE: usize = 4096;

/// Levels of `redis.log`.
const LEVELS: [&str; 4] = ["LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"];

pub(super) fn table(lua: &Lua, settings: &Arc<Settings>) -> mlua::Result<Table> {
    let redis = lua.create_table()?;
    for (level, name) in LEVELS.into_iter().enumerate() {
        redis.raw_set(name, level)?;
    }
    for (name, value) in
        [("REPL_NONE", 0), ("REPL_SLAVE", 1), ("REPL_REPLICA", 1), ("REPL_AOF", 2), ("REPL_ALL", 3)]
    {
        redis.raw_set(name, value)?;
    }
    redis.raw_set("REDIS_VERSION", VERSION)?;
    redis.raw_set("REDIS_VERSION_NUM", VERSION_NUMBER)?;
    let settings = Arc::clone(settings);
    let set_version = lua.create_function(move |_, words: MultiValue| {
        let [version] = &words.into_vec()[..] else {
            return Err(raised::reply("ERR redis.setresp() requires one argument."));
        };
        match number(version) {
            Some(2.0) => settings.is_resp3.store(false, Ordering::Relaxed),
            Some(3.0) => settings.is_resp3.store(true, Ordering::Relaxed),
            _ => return Err(raised::reply("ERR RESP version must be 2 or 3.")),
        }
        Ok(())
    })?;
    redis.raw_set("setresp", set_version)?;
    let name = lua.create_function(|lua, words: MultiValue| {
        let [text] = &words.into_vec()[..] else {
            return Err(raised::reply("ERR wrong number of arguments"));
        };
        let text = lua.coerce_string(text.clone())?;
        let bytes = text.map(|text| text.as_bytes().to_vec()).unwrap_or_default();
        Ok(hex(&digest(&bytes)))
    })?;
    redis.raw_set("sha1hex", name)?;
    redis.raw_set("error_reply", lua.create_function(|lua, words: MultiValue| error_reply(lua, &words))?)?;
    redis
        .raw_set("status_reply", lua.create_function(|lua, words: MultiValue| status_reply(lua, &words))?)?;
    redis.raw_set("replicate_commands", lua.create_function(|_, _: MultiValue| Ok(true))?)?;
    redis.raw_set("set_repl", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
    redis.raw_set("breakpoint", lua.create_function(|_, _: MultiValue| Ok(false))?)?;
    redis.raw_set("debug", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
    Ok(redis)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// A table of one field.
fn single(lua: &Lua, field: &str, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set(field, lua.create_string(text)?)?;
    Ok(table)
}

/// The one word that there has to be, a string; else what the function returns.
fn only_text(lua: &Lua, words: &MultiValue) -> mlua::Result<Result<LuaString, Table>> {
    Ok(match words.iter().collect::<Vec<_>>()[..] {
        [Value::String(text)] => Ok(text.clone()),
        _ => Err(single(lua, "err", b"ERR wrong number or type of arguments")?),
    })
}

fn status_reply(lua: &Lua, words: &MultiValue) -> mlua::Result<Table> {
    match only_text(lua, words)? {
        Ok(text) => single(lua, "ok", &text.as_bytes()),
        Err(wrong) => Ok(wrong),
    }
}

fn error_reply(lua: &Lua, words: &MultiValue) -> mlua::Result<Table> {
    match only_text(lua, words)? {
        Ok(text) => {
            let text = text.as_bytes();
            let text = up_to_nul(&text);
            // A leading minus belongs to the protocol.
            single(lua, "err", &with_code(text.strip_prefix(b"-").unwrap_or(text)))
        }
        Err(wrong) => Ok(wrong),
    }
}

/// An error as Redis passes it to a script: its first word is the code, and one word alone gets a
/// code. No line break is at the end, or behind the code.
pub(crate) fn with_code(text: &[u8]) -> Vec<u8> {
    let text = without_line_ends(text);
    let (code, message) = match text.iter().position(|byte| *byte == b' ') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (&b"ERR"[..], text),
    };
    let breaks = message.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    [code, b" ", &message[breaks..]].concat()
}

/// The level and the text of a line of the log.
pub(crate) fn line(lua: &Lua, words: &MultiValue) -> mlua::Result<(u8, Vec<u8>)> {
    if words.len() < 2 {
        return Err(raised::reply("ERR redis.log() requires two arguments or more."));
    }
    let level = words.front().and_then(number);
    let level = level.ok_or_else(|| raised::reply("ERR First argument must be a number (log level)."))?;
    if !(0.0..LEVELS.len() as f64).contains(&level) {
        return Err(raised::reply("ERR Invalid log level."));
    }
    let mut text = Vec::new();
    for (place, word) in words.iter().skip(1).enumerate() {
        if text.len() >= LONGEST_LINE {
            break;
        }
        if place > 0 {
            text.push(b' ');
        }
        let word: Option<LuaString> = lua.coerce_string(word.clone())?;
        if let Some(word) = word {
            let word = word.as_bytes();
            text.extend_from_slice(&word[..word.len().min(LONGEST_LINE)]);
        }
    }
    text.truncate(LONGEST_LINE);
    Ok((level as u8, text))
}
