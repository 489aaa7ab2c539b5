//! Lua scripts as Redis runs them: sandbox, libraries, and conversions to and from RESP.
//!
//! This crate knows no store and no sockets: the caller is the script's [`Host`] and executes its commands. An [`Interpreter`]
//! is used by one thread at a time and keeps the functions of scripts that it has compiled.

#![forbid(unsafe_code)]

mod convert;
mod digest;
mod interpreter;
mod libraries;
mod number;
mod raised;

pub use digest::{Digest, digest, hex};
pub use interpreter::{Failure, Host, Interpreter, Limits, Script, Watch};
