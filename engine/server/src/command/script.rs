//! Commands of scripts: EVAL, EVALSHA, their read-only forms, and SCRIPT.

use std::borrow::Cow;

use plumbkv_resp::ReplyWriter;
use plumbkv_scripts::{Digest, Script, digest, hex};

use super::args::{Arguments, is};
use super::table::{self, Id};
use super::{CommandError, Context};
use crate::scripts;
use crate::shared::Shared;

/// Commands of scripts.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Eval {
        source: Source<'a>,
        keys: usize,
        words: Arguments<'a>,
        is_readonly: bool,
    },
    Load {
        text: &'a [u8],
    },
    Exists {
        names: Arguments<'a>,
    },
    Flush,
    Kill,
    Debug,
    Help,
    /// There are no functions, and what is asked about them is answered so.
    NoFunction(CommandError),
    FunctionFlush,
    FunctionList,
    FunctionStats,
    FunctionHelp,
}

const NO_SCRIPT: CommandError = CommandError::fixed("NOSCRIPT No matching script. Please use EVAL.");

/// Where the text is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    Text(&'a [u8]),
    Name(&'a [u8]),
}

impl<'a> Command<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        Ok(match id {
            Id::Eval | Id::EvalRo | Id::Evalsha | Id::EvalshaRo => {
                let word = words.word();
                let is_text = matches!(id, Id::Eval | Id::EvalRo);
                // No script has such a name: that is said before the number of keys is read.
                if !is_text && word.len() != 2 * size_of::<Digest>() {
                    return Err(NO_SCRIPT);
                }
                let keys = words.integer()?;
                if keys > words.len() as i64 {
                    return Err(CommandError::fixed(
                        "ERR Number of keys can't be greater than number of args",
                    ));
                }
                let keys = usize::try_from(keys)
                    .map_err(|_| CommandError::fixed("ERR Number of keys can't be negative"))?;
                let source = if is_text { Source::Text(word) } else { Source::Name(word) };
                Self::Eval { source, keys, words, is_readonly: matches!(id, Id::EvalRo | Id::EvalshaRo) }
            }
            Id::ScriptLoad => Self::Load { text: words.word() },
            Id::ScriptExists => Self::Exists { names: words },
            Id::ScriptFlush => {
                let mode = words.next();
                if words.len() > 0 || mode.is_some_and(|mode| !is(mode, "ASYNC") && !is(mode, "SYNC")) {
                    return Err(CommandError::fixed("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
                }
                Self::Flush
            }
            Id::ScriptKill => Self::Kill,
            Id::ScriptDebug => match words.word() {
                mode if is(mode, "NO") => Self::Debug,
                mode if is(mode, "YES") || is(mode, "SYNC") => {
                    return Err(CommandError::fixed(
                        "ERR scripts cannot be debugged here; use SCRIPT DEBUG NO",
                    ));
                }
                _ => return Err(CommandError::fixed("ERR Use SCRIPT DEBUG YES/SYNC/NO")),
            },
            Id::ScriptHelp => Self::Help,
            Id::Fcall | Id::FcallRo => Self::NoFunction(CommandError::fixed("ERR Function not found")),
            Id::FunctionDelete => Self::NoFunction(CommandError::fixed("ERR Library not found")),
            Id::FunctionKill => {
                Self::NoFunction(CommandError::fixed("NOTBUSY No scripts in execution right now."))
            }
            Id::FunctionFlush => {
                let mode = words.next();
                if words.len() > 0 || mode.is_some_and(|mode| !is(mode, "ASYNC") && !is(mode, "SYNC")) {
                    return Err(CommandError::fixed("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"));
                }
                Self::FunctionFlush
            }
            Id::FunctionList => {
                while let Some(option) = words.next() {
                    if is(option, "LIBRARYNAME") {
                        if words.next().is_none() {
                            return Err(CommandError::fixed("ERR library name argument was not given"));
                        }
                    } else if !is(option, "WITHCODE") {
                        return Err(CommandError::quoting("ERR Unknown argument ", option, ""));
                    }
                }
                Self::FunctionList
            }
            Id::FunctionStats => Self::FunctionStats,
            Id::FunctionHelp => Self::FunctionHelp,
            _ => return Err(CommandError::not_served()),
        })
    }

    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        let shared = context.shared;
        match self {
            Self::Eval { source, keys, words, is_readonly } => {
                eval(context, source, keys, words, is_readonly)
            }
            Self::Load { text } => {
                let name = digest(text);
                let text = read_head(text)?;
                compile(shared, &name, &text)?;
                shared.scripts.keep(shared, name, &text)?;
                context.bulk(hex(&name).as_bytes())
            }
            Self::Exists { names } => {
                let mut reply = context.reply();
                reply.array(names.len());
                for name in names {
                    let is_kept = scripts::read_name(name).is_some_and(|name| shared.scripts.has(&name));
                    reply.integer(i64::from(is_kept));
                }
                Ok(())
            }
            Self::Flush => {
                shared.scripts.flush(shared);
                context.ok()
            }
            Self::Kill => {
                shared.scripts.kill()?;
                context.ok()
            }
            Self::Debug | Self::FunctionFlush => context.ok(),
            Self::NoFunction(error) => Err(error),
            Self::FunctionList => {
                context.reply().array(0);
                Ok(())
            }
            Self::FunctionStats => {
                let mut reply = context.reply();
                reply.map(2);
                reply.bulk(b"running_script");
                reply.null();
                reply.bulk(b"engines");
                reply.map(1);
                reply.bulk(b"LUA");
                reply.map(2);
                reply.bulk(b"libraries_count");
                reply.integer(0);
                reply.bulk(b"functions_count");
                reply.integer(0);
                Ok(())
            }
            Self::FunctionHelp => {
                super::admin::help(context, table::spec(Id::Function));
                Ok(())
            }
            Self::Help => {
                super::admin::help(context, table::spec(Id::Script));
                Ok(())
            }
        }
    }
}

/// Runs a script. The thread has an exclusive turn.
fn eval(
    context: &mut Context<'_>,
    source: Source<'_>,
    keys: usize,
    words: Arguments<'_>,
    is_readonly: bool,
) -> Result<(), CommandError> {
    let shared = context.shared;
    let (name, text) = match source {
        Source::Text(text) => {
            let name = digest(text);
            match shared.scripts.get(&name) {
                Some(text) => (name, text),
                None => {
                    let text = read_head(text)?;
                    compile(shared, &name, &text)?;
                    (name, shared.scripts.keep(shared, name, &text)?)
                }
            }
        }
        Source::Name(word) => {
            let found = scripts::read_name(word).and_then(|name| Some((name, shared.scripts.get(&name)?)));
            found.ok_or(NO_SCRIPT)?
        }
    };
    let words: Vec<&[u8]> = words.collect();
    let (keys, arguments) = words.split_at(keys);
    let script = Script { digest: &name, text: &text, keys, arguments };
    let is_readonly = match head(&text) {
        Some(head) if is_readonly && !head.contains(NO_WRITES) => {
            return Err(CommandError::fixed(
                "ERR Can not execute a script with write flag using *_ro command.",
            ));
        }
        Some(head) => head.contains(NO_WRITES),
        None => is_readonly,
    };
    let mut bytes = Vec::new();
    let mut reply = ReplyWriter::new(&mut bytes, context.client.version);
    let client = &mut *context.client;
    shared.scripts.with(shared, |machine| machine.run(shared, client, script, is_readonly, &mut reply))?;
    context.output.make_room(shared, bytes.len())?;
    context.output.bytes.extend_from_slice(&bytes);
    Ok(())
}

/// A script that cannot be compiled is not cached.
fn compile(shared: &Shared, name: &Digest, text: &[u8]) -> Result<(), CommandError> {
    shared.scripts.with(shared, |machine| Ok(machine.interpreter.compile(name, text)?))
}

const NO_WRITES: &str = "no-writes";

/// The text with its first line as a comment where that names an engine and flags, so that lines keep their numbers.
fn read_head(text: &[u8]) -> Result<Vec<u8>, CommandError> {
    if !text.starts_with(b"#!") {
        return Ok(text.to_vec());
    }
    let end = text.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(CommandError::fixed("ERR Invalid script shebang"))?;
    let line =
        std::str::from_utf8(&text[..end]).map_err(|_| CommandError::fixed("ERR Invalid script shebang"))?;
    let mut words = line.split_whitespace();
    let engine = words.next().unwrap_or_default();
    if engine != "#!lua" {
        return Err(CommandError::quoting(
            "ERR Unexpected engine in script shebang: ",
            engine.as_bytes(),
            "",
        ));
    }
    for word in words {
        let Some(list) = word.strip_prefix("flags=") else {
            return Err(CommandError::quoting("ERR Unknown lua shebang option: ", word.as_bytes(), ""));
        };
        for flag in list.split(',').filter(|_| !list.is_empty()) {
            if ![NO_WRITES, "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"].contains(&flag)
            {
                return Err(CommandError::quoting(
                    "ERR Unexpected flag in script shebang: ",
                    flag.as_bytes(),
                    "",
                ));
            }
        }
    }
    Ok([b"--", text].concat())
}

/// The first line of a kept text where it names an engine and flags.
fn head(text: &[u8]) -> Option<Cow<'_, str>> {
    let line = || text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    text.starts_with(b"--#!lua").then(|| String::from_utf8_lossy(line()))
}

#[cfg(test)]
#[path = "script_test.rs"]
mod tests;
