//! What scripts find besides Lua's own: `bit`, `cjson`, `cmsgpack`, `struct` and `redis`.

mod bits;
mod json;
mod msgpack;
mod packed;
pub(crate) mod redis;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mlua::{IntoLuaMulti, Lua, MultiValue, Table};

use crate::raised;

/// Why a function of a library failed.
type Failure = String;

/// The name of the sandbox's own source.
pub(crate) const SANDBOX: &str = "=sandbox";

/// All of them, for the sandbox. `is_resp3` is what the script that runs chooses.
pub(crate) fn native(lua: &Lua, is_resp3: &Arc<AtomicBool>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.raw_set("place", lua.create_function(|lua, ()| Ok(place(lua)))?)?;
    native.raw_set("reason", lua.create_function(raised::reason)?)?;
    native.raw_set("redis", redis::table(lua, is_resp3)?)?;
    native.raw_set("bit", bits::table(lua)?)?;
    native.raw_set("cjson", json::table(lua)?)?;
    native.raw_set("cmsgpack", msgpack::table(lua)?)?;
    native.raw_set("struct", packed::table(lua)?)?;
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
