//! A Lua state with what scripts may use, and the scripts that it has compiled.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mlua::{Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value, VmState};
use plumbkv_resp::{ReplyWriter, Version};

use crate::digest::{Digest, hex};
use crate::libraries::Settings;
use crate::{convert, libraries, number, raised};

/// Who runs a script and executes its commands.
pub trait Host {
    /// Executes a command; its words are at least one. The reply is appended in the version of the script. True if it may have changed
    /// something: from then on the script cannot be begun anew.
    fn call(&mut self, words: &[&[u8]], version: Version, reply: &mut Vec<u8>) -> bool;

    /// A line for the server's log; levels from 0, debug, to 3, warning.
    fn log(&mut self, level: u8, text: &[u8]);
}

/// How much a script may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Memory of a state, in bytes.
    pub memory: usize,
    /// Compiled scripts that a state keeps.
    pub compiled: usize,
}

/// Ends a script from another thread.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<AtomicBool>);

impl Watch {
    /// The script that runs, or the next one, ends with an error.
    pub fn kill(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The next script may run.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether the script is to end.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A script and what it is called with.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a> {
    /// Its name.
    pub digest: &'a Digest,
    /// Its text.
    pub text: &'a [u8],
    /// `KEYS`.
    pub keys: &'a [&'a [u8]],
    /// `ARGV`.
    pub arguments: &'a [&'a [u8]],
}

/// Why a script has no reply of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// An error text, its code included.
    Error(Vec<u8>),
    /// It takes long, has changed nothing yet, and was run in haste: it is to be run again where it may take its time.
    TooLong,
}

impl Failure {
    fn of(error: &mlua::Error) -> Self {
        Self::Error(format!("ERR {error}").into_bytes())
    }
}

/// Instructions between two looks at whether the script is to end.
const STEP: u32 = 100_000;

/// What a script that is killed ends with.
const KILLED: &str = "Error running script: Script killed by user with SCRIPT KILL...";

/// What ends the script that runs.
#[derive(Debug)]
struct Ending {
    watch: Watch,
    /// Whether it gives up once it takes long.
    is_hasty: AtomicBool,
    /// Whether it has given up.
    has_given_up: AtomicBool,
}

impl Ending {
    /// Looks every so many instructions whether the script is to end. Once it is, it ends at each instruction, so that it cannot catch
    /// that error and go on.
    fn look_every(this: &Arc<Self>, lua: &Lua, step: u32) -> mlua::Result<()> {
        let own = Arc::clone(this);
        lua.set_global_hook(HookTriggers::new().every_nth_instruction(step), move |lua, _| {
            if own.is_hasty.load(Ordering::Relaxed) {
                own.has_given_up.store(true, Ordering::Relaxed);
            }
            if !own.watch.is_killed() && !own.has_given_up.load(Ordering::Relaxed) {
                return Ok(VmState::Continue);
            }
            // Also of a coroutine, and of what began it: a hook is of one thread of Lua.
            Self::look_every(&own, lua, 1)?;
            Err(mlua::Error::runtime(KILLED))
        })
    }
}

/// A Lua state. One thread at a time uses it.
pub struct Interpreter {
    lua: Lua,
    run: Function,
    environment: Table,
    functions: HashMap<Digest, Function>,
    settings: Arc<Settings>,
    limits: Limits,
    ending: Arc<Ending>,
}

impl Interpreter {
    /// A state in which no script has run.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(limits: Limits, watch: Watch) -> Result<Self, Failure> {
        Self::create(limits, watch).map_err(|error| Failure::of(&error))
    }

    fn create(limits: Limits, watch: Watch) -> mlua::Result<Self> {
        let libs = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libs, LuaOptions::new().catch_rust_panics(false))?;
        let settings = Arc::new(Settings::default());
        settings.memory.store(limits.memory, Ordering::Relaxed);
        let native = libraries::native(&lua, &settings)?;
        let (run, environment): (Function, Table) = lua
            .load(include_str!("sandbox.lua"))
            .set_name(libraries::SANDBOX)
            .into_function()?
            .call(native)?;
        lua.set_globals(environment.clone())?;
        lua.set_memory_limit(limits.memory)?;
        let ending = Arc::new(Ending {
            watch,
            is_hasty: AtomicBool::new(false),
            has_given_up: AtomicBool::new(false),
        });
        Ending::look_every(&ending, &lua, STEP)?;
        Ok(Self { lua, run, environment, functions: HashMap::new(), settings, limits, ending })
    }

    /// Memory that the state uses, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.lua.used_memory()
    }

    /// Forgets all compiled scripts, and gives back what scripts have left behind.
    pub fn forget(&mut self) {
        self.functions.clear();
        self.collect();
    }

    /// Gives the state another limit of memory, in bytes.
    ///
    /// # Errors
    /// The state uses more already.
    pub fn limit_memory(&mut self, bytes: usize) -> Result<(), Failure> {
        self.forget();
        if self.memory() > bytes {
            let text = format!("ERR the interpreter of scripts uses {} bytes already", self.memory());
            return Err(Failure::Error(text.into_bytes()));
        }
        self.lua.set_memory_limit(bytes).map_err(|error| Failure::of(&error))?;
        self.limits.memory = bytes;
        self.settings.memory.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Lua 5.1 does not collect before it says that there is no memory.
    fn collect(&self) {
        // It fails where a finalizer does, and scripts have none.
        let _ = self.lua.gc_collect();
    }

    /// Whether a script can be compiled.
    ///
    /// # Errors
    /// It cannot.
    pub fn compile(&mut self, digest: &Digest, text: &[u8]) -> Result<(), Failure> {
        self.function(digest, text).map(drop)
    }

    fn function(&mut self, digest: &Digest, text: &[u8]) -> Result<Function, Failure> {
        if let Some(function) = self.functions.get(digest) {
            return Ok(function.clone());
        }
        self.forget_some();
        let function = self
            .lua
            .load(text)
            .set_name("@user_script")
            .set_mode(mlua::chunk::ChunkMode::Text)
            .set_environment(self.environment.clone())
            .into_function()
            .map_err(|error| Failure::Error(self.not_compiled(text, &error)))?;
        self.functions.insert(*digest, function.clone());
        Ok(function)
    }

    /// Why a script cannot be compiled, as Redis says it: to the byte, where the library makes text of what is none.
    fn not_compiled(&self, text: &[u8], error: &mlua::Error) -> Vec<u8> {
        let exactly = || -> mlua::Result<Vec<u8>> {
            let compile: Function = self.environment.get("loadstring")?;
            let (_, message): (Value, mlua::LuaString) =
                compile.call((self.lua.create_string(text)?, "@user_script"))?;
            Ok(message.as_bytes().to_vec())
        };
        let message = match error {
            mlua::Error::SyntaxError { message, .. } => {
                exactly().unwrap_or_else(|_| message.clone().into_bytes())
            }
            other => other.to_string().into_bytes(),
        };
        let first = message.split(|&byte| byte == b'\n').next().unwrap_or_default();
        [b"ERR Error compiling script (new function): ", first].concat()
    }

    /// Makes room for a script that is to be compiled.
    fn forget_some(&mut self) {
        let is_full = self.functions.len() >= self.limits.compiled || self.memory() > self.limits.memory / 2;
        if is_full {
            self.forget();
        }
    }

    /// Runs a script and writes what it returns. In haste: one that takes long gives up as long as it has changed nothing.
    ///
    /// # Errors
    /// It cannot be compiled, it ended with an error, or it gave up. What is written then is not a
    /// whole reply.
    pub fn run(
        &mut self,
        script: Script<'_>,
        is_hasty: bool,
        host: &mut dyn Host,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(), Failure> {
        let function = self.function(script.digest, script.text)?;
        self.settings.is_resp3.store(false, Ordering::Relaxed);
        self.ending.is_hasty.store(is_hasty, Ordering::Relaxed);
        let result = self.execute(&function, script, host);
        let has_given_up = self.ending.has_given_up.swap(false, Ordering::Relaxed);
        let is_killed = self.ending.watch.is_killed();
        if is_killed || has_given_up {
            self.ending.watch.reset();
            Ending::look_every(&self.ending, &self.lua, STEP).map_err(|error| Failure::of(&error))?;
            return Err(if is_killed {
                Failure::Error(told_killed(script.digest))
            } else {
                Failure::TooLong
            });
        }
        if self.memory() > self.limits.memory / 2 {
            self.collect();
        }
        let (is_done, value) = result.map_err(|error| Failure::of(&error))?;
        if is_done {
            convert::from_lua(&value, self.version(), self.limits.memory, reply)
                .map_err(|error| Failure::of(&error))
        } else {
            Err(Failure::Error(told(&value, script.digest)))
        }
    }

    /// The version of the replies that the script gets.
    fn version(&self) -> Version {
        if self.settings.is_resp3.load(Ordering::Relaxed) { Version::Resp3 } else { Version::Resp2 }
    }

    fn execute(
        &self,
        function: &Function,
        script: Script<'_>,
        host: &mut dyn Host,
    ) -> mlua::Result<(bool, Value)> {
        let (keys, arguments) = (self.strings(script.keys)?, self.strings(script.arguments)?);
        let host = RefCell::new(host);
        self.lua.scope(|scope| {
            let call = scope.create_function_mut(|lua, words: MultiValue| {
                let mut bytes = Vec::new();
                self.command(&words, &mut **host.borrow_mut(), &mut bytes)?;
                match bytes.strip_prefix(b"-") {
                    Some(error) => Err(raised::reply(libraries::redis::with_code(error))),
                    None => convert::bytes_to_lua(lua, &bytes, self.version()),
                }
            })?;
            let protected_call = scope.create_function_mut(|lua, words: MultiValue| {
                let mut bytes = Vec::new();
                match self.command(&words, &mut **host.borrow_mut(), &mut bytes) {
                    Ok(()) => convert::bytes_to_lua(lua, &bytes, self.version()),
                    Err(error) => raised::reason(lua, Value::Error(Box::new(error))),
                }
            })?;
            let log = scope.create_function(|lua, words: MultiValue| {
                let (level, text) = libraries::redis::line(lua, &words)?;
                host.borrow_mut().log(level, &text);
                Ok(())
            })?;
            self.run.call((function, call, protected_call, log, keys, arguments))
        })
    }

    /// Executes a command of a script and appends its reply.
    ///
    /// # Errors
    /// It is no command.
    fn command(&self, words: &MultiValue, host: &mut dyn Host, reply: &mut Vec<u8>) -> mlua::Result<()> {
        if words.is_empty() {
            return Err(raised::reply("ERR Please specify at least one argument for this redis lib call"));
        }
        let mut own: Vec<Vec<u8>> = Vec::with_capacity(words.len());
        let mut left = self.limits.memory;
        for word in words {
            let word = match word {
                Value::String(text) => text.as_bytes().to_vec(),
                Value::Integer(number) => number.to_string().into_bytes(),
                Value::Number(number) => number::shortest(*number, 17).into_bytes(),
                _ => {
                    let text = "ERR Lua redis lib command arguments must be strings or integers";
                    return Err(raised::reply(text));
                }
            };
            // A script may name one long string thousands of times.
            left = left.checked_sub(word.len()).ok_or_else(|| {
                raised::reply("ERR the words of the command are longer than script-memory-limit")
            })?;
            own.push(word);
        }
        let words: Vec<&[u8]> = own.iter().map(Vec::as_slice).collect();
        if host.call(&words, self.version(), reply) {
            self.ending.is_hasty.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A table of strings, set one by one: Lua has room for some thousand references to values
    /// alone.
    fn strings(&self, words: &[&[u8]]) -> mlua::Result<Table> {
        let table = self.lua.create_table_with_capacity(words.len(), 0)?;
        for (place, word) in words.iter().enumerate() {
            table.raw_set(place + 1, self.lua.create_string(word)?)?;
        }
        Ok(table)
    }
}

fn told_killed(digest: &Digest) -> Vec<u8> {
    format!("ERR {KILLED} script: {}", hex(digest)).into_bytes()
}

/// What a script ended with, as the handler of the sandbox left it.
fn told(error: &Value, digest: &Digest) -> Vec<u8> {
    let table = match error {
        Value::Table(table) => table,
        // Without memory there is no handler.
        Value::String(text) => return [b"ERR ", &*text.as_bytes()].concat(),
        _ => return b"ERR the script ended with an error of no kind".to_vec(),
    };
    let mut text = match table.raw_get::<Value>("err") {
        Ok(Value::String(text)) => convert::up_to_nul(&text.as_bytes()).to_vec(),
        _ => b"ERR unknown error".to_vec(),
    };
    text.extend_from_slice(format!(" script: {}", hex(digest)).as_bytes());
    if let (Ok(Value::String(source)), Ok(Some(line))) =
        (table.raw_get::<Value>("source"), table.raw_get::<Option<i64>>("line"))
    {
        text.extend_from_slice(format!(", on {}:{line}.", source.to_string_lossy()).as_bytes());
    }
    text
}
