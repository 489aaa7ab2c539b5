//! Scripts of clients: the cached texts, the interpreter, and the execution of a script's commands.
//!
//! A script runs while no other thread executes requests ([`crate::turns`]), and on a durable store its writes are one batch: the caller
//! sees to that.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use plumbkv_resp::{Limits, Parsed, ReplyWriter, RequestParser, Version, compose};
use plumbkv_scripts::{Digest, Failure, Host, Interpreter, Script, Watch};

use crate::acl;
use crate::client_limits::Limit;
use crate::command::CommandError;
use crate::command::table::{self, Spec, flag};
use crate::replies::Replies;
use crate::session::Client;
use crate::shared::Shared;

/// Compiled scripts that are kept.
const COMPILED: usize = 1000;
/// The least memory of an interpreter: its libraries take a part of it.
const LEAST_BYTES: u64 = 1 << 20;
/// An interpreter may have this part of the memory cap.
const PART: u64 = 8;
/// What a kept text takes besides its bytes.
const PLACE_BYTES: usize = 128;

/// All scripts of a server.
#[derive(Default)]
pub(crate) struct Scripts {
    // std Mutex: taken once for each script that runs.
    texts: Mutex<Texts>,
    // std Mutex: taken when a script begins, changes something for the first time, and ends.
    running: Mutex<Option<Running>>,
    // std Mutex: a script runs while no other thread executes requests; others are compiled beside requests, and wait for each other.
    machine: Mutex<Option<Machine>>,
    watch: Watch,
}

/// The script that runs.
#[derive(Debug)]
struct Running {
    since: Instant,
    has_written: bool,
}

/// Ends the entry of the script that runs.
pub(crate) struct Run<'a>(&'a Scripts);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        *self.0.running() = None;
    }
}

#[derive(Debug, Default)]
struct Texts {
    by_name: HashMap<Digest, Arc<[u8]>>,
    /// From the oldest on.
    order: VecDeque<Digest>,
    bytes: u64,
}

fn cost(text: &[u8]) -> u64 {
    (text.len() + PLACE_BYTES) as u64
}

impl Scripts {
    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A script begins to run.
    pub(crate) fn begin(&self) -> Run<'_> {
        self.watch.reset();
        *self.running() = Some(Running { since: Instant::now(), has_written: false });
        Run(self)
    }

    fn note_write(&self) {
        if let Some(running) = &mut *self.running() {
            running.has_written = true;
        }
    }

    /// Whether a script has been running for so long.
    pub(crate) fn is_busy(&self, limit: Duration) -> bool {
        self.running().as_ref().is_some_and(|running| running.since.elapsed() >= limit)
    }

    /// SCRIPT KILL.
    ///
    /// # Errors
    /// None runs, or it has changed something.
    pub(crate) fn kill(&self) -> Result<(), CommandError> {
        match &*self.running() {
            None => Err(CommandError::fixed("NOTBUSY No scripts in execution right now.")),
            Some(running) if running.has_written => Err(CommandError::fixed(
                "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script \
                 termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
            )),
            Some(_) => {
                self.watch.kill();
                Ok(())
            }
        }
    }

    /// The text of that name.
    pub(crate) fn get(&self, name: &Digest) -> Option<Arc<[u8]>> {
        self.texts().by_name.get(name).cloned()
    }

    pub(crate) fn has(&self, name: &Digest) -> bool {
        self.texts().by_name.contains_key(name)
    }

    pub(crate) fn count(&self) -> usize {
        self.texts().by_name.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.texts().bytes
    }

    /// Keeps a text. The oldest ones leave where there are too many: a client that meets `NOSCRIPT` sends the text again.
    ///
    /// # Errors
    /// There is no memory for it, or it is longer than all texts may be.
    pub(crate) fn keep(&self, shared: &Shared, name: Digest, text: &[u8]) -> Result<Arc<[u8]>, CommandError> {
        let mut texts = self.texts();
        if let Some(text) = texts.by_name.get(&name) {
            return Ok(Arc::clone(text));
        }
        let most = shared.settings.limits.get(Limit::ScriptTexts);
        if cost(text) > most {
            let limit = Limit::ScriptTexts.name();
            return Err(CommandError::new(format!("ERR the script is longer than {limit} ({most} bytes)")));
        }
        while texts.bytes + cost(text) > most {
            let Some(oldest) = texts.order.pop_front() else { break };
            if let Some(text) = texts.by_name.remove(&oldest) {
                texts.bytes -= cost(&text);
                shared.client_memory.give_back(&shared.database, cost(&text));
            }
        }
        shared.client_memory.take(&shared.database, cost(text)).map_err(|_| CommandError::OUT_OF_MEMORY)?;
        let kept: Arc<[u8]> = Arc::from(text);
        texts.by_name.insert(name, Arc::clone(&kept));
        texts.order.push_back(name);
        texts.bytes += cost(text);
        Ok(kept)
    }

    /// Forgets all texts.
    pub(crate) fn flush(&self, shared: &Shared) {
        let texts = std::mem::take(&mut *self.texts());
        shared.client_memory.give_back(&shared.database, texts.bytes);
        if let Some(machine) = &mut *self.machine() {
            machine.interpreter.forget();
        }
    }

    fn machine(&self) -> MutexGuard<'_, Option<Machine>> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the interpreter. Its memory is counted under the cap from the first script on.
    ///
    /// # Errors
    /// There is no memory for it, or those of `work`.
    pub(crate) fn with<T>(
        &self,
        shared: &Shared,
        work: impl FnOnce(&mut Machine) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut place = self.machine();
        let mut machine = match place.take() {
            Some(machine) => machine,
            None => Machine::begin(shared, self.watch.clone())?,
        };
        machine.resize(shared);
        work(place.insert(machine))
    }
}

/// The interpreter, and what the commands of a script are executed with.
pub(crate) struct Machine {
    pub(crate) interpreter: Interpreter,
    desk: Desk,
}

/// What the commands of a script are executed with, kept for the next one.
struct Desk {
    parser: RequestParser,
    request: Vec<u8>,
    replies: Replies,
    /// Memory of the interpreter, in bytes: no reply to a script is longer.
    memory: u64,
}

/// The memory that an interpreter may have now, in bytes.
fn allowance(shared: &Shared) -> u64 {
    let part = (shared.database.cap() / PART).max(LEAST_BYTES);
    shared.settings.limits.get(Limit::ScriptMemory).min(part)
}

impl Machine {
    fn begin(shared: &Shared, watch: Watch) -> Result<Self, CommandError> {
        let memory = allowance(shared);
        shared.client_memory.take(&shared.database, memory).map_err(|_| CommandError::OUT_OF_MEMORY)?;
        let limits = plumbkv_scripts::Limits { memory: memory as usize, compiled: COMPILED };
        let interpreter = Interpreter::new(limits, watch).map_err(|failure| {
            shared.client_memory.give_back(&shared.database, memory);
            CommandError::from(failure)
        })?;
        let limits = Limits { max_arguments: usize::MAX, max_bulk_bytes: usize::MAX, ..Limits::default() };
        let (parser, request) = (RequestParser::new(limits), Vec::new());
        let desk = Desk { parser, request, replies: Replies::untouched(), memory };
        Ok(Self { interpreter, desk })
    }

    /// Follows a setting that was changed, where that can be done now.
    fn resize(&mut self, shared: &Shared) {
        let (before, memory) = (self.desk.memory, allowance(shared));
        if memory == before {
            return;
        }
        let more = memory.saturating_sub(before);
        if more > 0 && shared.client_memory.take(&shared.database, more).is_err() {
            return;
        }
        let given_back = if self.interpreter.limit_memory(memory as usize).is_ok() {
            self.desk.memory = memory;
            before.saturating_sub(memory)
        } else {
            more
        };
        shared.client_memory.give_back(&shared.database, given_back);
    }

    /// Runs a script for a client.
    ///
    /// # Errors
    /// Those of the script, and [`CommandError::WOULD_BLOCK`] where it takes long and others should not wait.
    pub(crate) fn run(
        &mut self,
        shared: &Shared,
        client: &mut Client,
        script: Script<'_>,
        is_readonly: bool,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(), CommandError> {
        let (is_hasty, of_script) = (client.is_hasty, client.of_script());
        let is_restricted = !client.identity.is_unrestricted();
        let desk = &mut self.desk;
        let mut commands = Commands { shared, client: of_script, is_readonly, is_restricted, desk };
        let run = shared.scripts.begin();
        let result = self.interpreter.run(script, is_hasty, &mut commands, reply);
        drop(run);
        client.extra_work += commands.client.extra_work;
        commands.client.tally.flush(&shared.command_stats, Instant::now());
        Ok(result?)
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Error(text) => Self::of_bytes(text),
            Failure::TooLong => Self::WOULD_BLOCK,
        }
    }
}

/// What executes the commands of one script.
struct Commands<'a> {
    shared: &'a Shared,
    /// As the script is to others.
    client: Client,
    /// Whether it may not change anything.
    is_readonly: bool,
    /// Whether its commands are checked against the rules of the user.
    is_restricted: bool,
    desk: &'a mut Desk,
}

impl Commands<'_> {
    /// Why a command is not executed.
    fn check(&self, spec: Option<&'static Spec>, words: &[&[u8]]) -> Result<&'static Spec, CommandError> {
        let spec = spec.ok_or(CommandError::fixed("ERR Unknown Redis command called from script"))?;
        if !spec.accepts(words.len()) {
            return Err(CommandError::fixed("ERR Wrong number of args calling Redis command from script"));
        }
        if spec.has(flag::NOSCRIPT) {
            return Err(CommandError::fixed("ERR This Redis command is not allowed from script"));
        }
        if self.is_restricted {
            acl::authorize(self.shared, &self.client, spec, words)?;
        }
        if self.is_readonly && spec.has(flag::WRITE) {
            return Err(CommandError::fixed("ERR Write commands are not allowed from read-only scripts."));
        }
        Ok(spec)
    }
}

impl Host for Commands<'_> {
    fn call(&mut self, words: &[&[u8]], version: Version, reply: &mut Vec<u8>) -> bool {
        let spec = match self.check(table::find_of_request(words), words) {
            Ok(spec) => spec,
            Err(error) => {
                ReplyWriter::new(reply, version).error_bytes(error.text());
                return false;
            }
        };
        let is_write = spec.has(flag::WRITE);
        if is_write {
            self.shared.scripts.note_write();
        }
        let Desk { parser, request: bytes, replies, memory } = &mut *self.desk;
        bytes.clear();
        compose(words, bytes);
        self.client.version = version;
        let Parsed::Complete { value: request, .. } = parser.parse(bytes) else {
            ReplyWriter::new(reply, version).error("ERR the words of a command cannot be read");
            return false;
        };
        let is_done = crate::command::run(self.shared, &mut self.client, request, replies);
        if !is_done {
            ReplyWriter::new(reply, version).error("ERR a command of a script would have to wait");
        } else if replies.since(replies.all().0) as u64 > *memory {
            let limit = Limit::ScriptMemory.name();
            ReplyWriter::new(reply, version).error(&format!("ERR the reply does not fit into {limit}"));
        } else {
            let mut at = 0;
            for (place, value) in &replies.values {
                reply.extend_from_slice(&replies.bytes[at..*place]);
                reply.extend_from_slice(value);
                at = *place;
            }
            reply.extend_from_slice(&replies.bytes[at..]);
        }
        replies.clear(self.shared);
        is_write
    }

    fn log(&mut self, level: u8, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        match level {
            0 => tracing::debug!("script: {text}"),
            1 | 2 => tracing::info!("script: {text}"),
            _ => tracing::warn!("script: {text}"),
        }
    }
}

/// The name of a script as clients write it, in either case.
pub(crate) fn read_name(word: &[u8]) -> Option<Digest> {
    let mut name = Digest::default();
    // `from_str_radix` takes a sign.
    if word.len() != 2 * name.len() || !word.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, digits) in name.iter_mut().zip(word.chunks(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(name)
}
