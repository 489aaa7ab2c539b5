//! What scripts find besides Lua's own: `bit`, `cjson`, `cmsgpack`, `struct` and `redis`.

mod bits;
mod json;
mod msgpack;
mod packed;
pub(crate) mod redis;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mlua::{IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};

use crate::raised;

/// Why a function of a library failed.
type Failure = String;

/// What Lua says where there is no memory.
const NO_MEMORY: &str = "not enough memory";

/// Why a function of Lua failed.
fn of_lua(error: mlua::Error) -> Failure {
    match error {
        mlua::Error::MemoryError(_) => NO_MEMORY.to_owned(),
        other => other.to_string(),
    }
}

/// Values that a function of a library can return: Lua's stack has room for no more.
const MOST_RESULTS: usize = 7_999;

/// What functions of libraries know of the state that they are in.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// What the script that runs chooses.
    pub(crate) is_resp3: AtomicBool,
    /// Memory that the state may have, in bytes.
    pub(crate) memory: AtomicUsize,
}

/// The name of the sandbox's own source.
pub(crate) const SANDBOX: &str = "=sandbox";

/// All of them, for the sandbox.
pub(crate) fn native(lua: &Lua, settings: &Arc<Settings>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.raw_set("place", lua.create_function(|lua, ()| Ok(place(lua)))?)?;
    native.raw_set("reason", lua.create_function(raised::reason)?)?;
    native.raw_set("redis", redis::table(lua, settings)?)?;
    native.raw_set("bit", bits::table(lua)?)?;
    native.raw_set("cjson", json::table(lua, settings)?)?;
    native.raw_set("cmsgpack", msgpack::table(lua, settings)?)?;
    native.raw_set("struct", packed::table(lua, settings)?)?;
    Ok(native)
}

/// Source and line of the innermost function that is written in Lua and not a part of the sandbox.
fn place(lua: &Lua) -> (Option<String>, Option<usize>) {
    /// Functions of the sandbox and of Rust between a script and the handler of its error.
    const FRAMES: usize = 12;
    let look = |level| {
        lua.inspect_stack(level, |debug| {
            let source = debug.source();
            let name = source.source.map(|name| name.into_owned());
            let is_own =
                source.what == "C" || debug.current_line().is_none() || name.as_deref() == Some(SANDBOX);
            (!is_own).then(|| (name, debug.current_line()))
        })
    };
    (1..FRAMES).find_map(|level| look(level).flatten()).unwrap_or((None, None))
}

/// The results of a function, or the error that it raises where the script called it.
fn answer(lua: &Lua, result: Result<impl IntoLuaMulti, Failure>) -> mlua::Result<MultiValue> {
    match result {
        Ok(results) => results.into_lua_multi(lua),
        Err(message) => Err(raised::text(lua, &message)),
    }
}

/// Bytes that a function of a library makes. There are no more of them than the state may have: a
/// table that contains another one twice, and so on, would make far more of them than it has bytes
/// itself.
pub(crate) struct Output {
    bytes: Vec<u8>,
    most: usize,
}

impl Output {
    fn new(settings: &Settings) -> Self {
        Self { bytes: Vec::new(), most: settings.memory.load(Ordering::Relaxed) }
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    /// # Errors
    /// There would be too many.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(NO_MEMORY.to_owned());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn into_lua(self, lua: &Lua) -> mlua::Result<LuaString> {
        lua.create_string(&self.bytes)
    }
}

/// The words of a call of a function of a library, read as C's `luaL_check...` reads them.
struct Words<'a> {
    lua: &'a Lua,
    function: &'static str,
    values: &'a MultiValue,
}

impl Words<'_> {
    /// A string, or a number as text.
    fn text(&self, place: usize) -> Result<LuaString, Failure> {
        let found = self.values.get(place);
        let text = found.cloned().map_or(Ok(None), |value| self.lua.coerce_string(value));
        text.map_err(of_lua)?.ok_or_else(|| self.wrong_type(place, "string"))
    }

    /// A number, or a string that is one.
    fn number(&self, place: usize) -> Result<f64, Failure> {
        let number = match self.values.get(place) {
            Some(Value::Integer(number)) => Some(*number as f64),
            Some(Value::Number(number)) => Some(*number),
            Some(Value::String(text)) => {
                self.lua.coerce_number(Value::String(text.clone())).map_err(of_lua)?
            }
            _ => None,
        };
        number.ok_or_else(|| self.wrong_type(place, "number"))
    }

    /// A number that may be missing.
    fn number_or(&self, place: usize, missing: f64) -> Result<f64, Failure> {
        match self.values.get(place) {
            None | Some(Value::Nil) => Ok(missing),
            Some(_) => self.number(place),
        }
    }

    fn wrong_type(&self, place: usize, wanted: &str) -> Failure {
        let found = match self.values.get(place) {
            None => "no value",
            Some(Value::Integer(_)) => "number",
            Some(Value::LightUserData(_) | Value::Error(_)) => "userdata",
            Some(value) => value.type_name(),
        };
        self.bad(place, &format!("{wanted} expected, got {found}"))
    }

    fn bad(&self, place: usize, why: &str) -> Failure {
        format!("bad argument #{} to '{}' ({why})", place + 1, self.function)
    }
}
