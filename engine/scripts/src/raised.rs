//! Errors that functions in Rust raise in a script.
//!
//! They are functions in C for Lua, and stay so: a script that ends with a call of one keeps its own place in the stack, which an error names.
//! Scripts see what they would in Redis, a table or a text ([`reason`]).

use mlua::{Lua, Value};

/// What is raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Raised {
    /// By a command: a table with this text.
    Reply(Vec<u8>),
    /// By a library: this text.
    Text(String),
}

impl std::fmt::Display for Raised {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reply(text) => formatter.write_str(&String::from_utf8_lossy(text)),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

impl std::error::Error for Raised {}

/// The error of a command, its code included.
pub(crate) fn reply(text: impl Into<Vec<u8>>) -> mlua::Error {
    mlua::Error::external(Raised::Reply(text.into()))
}

/// The error of a library, behind the place of the script that called it.
pub(crate) fn text(lua: &Lua, message: &str) -> mlua::Error {
    let place = lua.inspect_stack(1, |debug| {
        let source = debug.source().short_src.map(|name| name.into_owned());
        Some(format!("{}:{}: ", source?, debug.current_line()?))
    });
    mlua::Error::external(Raised::Text(format!("{}{message}", place.flatten().unwrap_or_default())))
}

/// An error of Lua's own that names no place.
pub(crate) fn bare(message: &str) -> mlua::Error {
    mlua::Error::external(Raised::Text(message.to_owned()))
}

/// What a script sees of an error: a table with `err`, or a text. Anything but an error of Rust stays what it is.
pub(crate) fn reason(lua: &Lua, error: Value) -> mlua::Result<Value> {
    let Value::Error(error) = error else { return Ok(error) };
    match error.downcast_ref::<Raised>() {
        Some(Raised::Reply(text)) => {
            let table = lua.create_table()?;
            table.raw_set("err", lua.create_string(text)?)?;
            Ok(Value::Table(table))
        }
        Some(Raised::Text(text)) => Ok(Value::String(lua.create_string(text)?)),
        None => Ok(Value::String(lua.create_string(first_line(&error.to_string()))?)),
    }
}

/// Without the trace of the stack.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
