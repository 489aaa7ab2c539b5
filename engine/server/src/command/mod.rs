//! What does a request ask for, and what is the reply? The narrow waist between protocols and the store.
//!
//! A request's words become a [`Command`], a closed enum that borrows from the receive buffer; executing it appends
//! one reply. Each family of commands is one file that holds its enum, how its words are read, and what it does.

pub(crate) mod admin;
pub(crate) mod args;
pub(crate) mod connection;
mod dump;
pub(crate) mod error;
mod float;
pub(crate) mod glob;
mod http;
pub(crate) mod key_spec;
pub(crate) mod keyspace;
mod lcs;
mod listing;
mod range;
pub(crate) mod script;
pub(crate) mod secret;
pub(crate) mod string;
pub(crate) mod syntax;
pub(crate) mod table;
mod tracked;
pub(crate) mod transaction;
mod values;

use std::time::Instant;

use plumbkv::NonBlocking;
use plumbkv_resp::{ReplyWriter, Request};

use crate::acl;
use crate::client_limits::Limit;
use crate::databases::Keys;
use crate::log::{PAUSE_SECONDS, Sparingly};
use crate::replies::{Mark, Replies};
use crate::session::{Client, Muting, Origin};
use crate::shared::Shared;
use crate::{monitor, tracking};
use args::Arguments;
pub(crate) use error::CommandError;
use table::{Group, Spec};

/// One command with its arguments read and checked.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Connection(connection::Command<'a>),
    Admin(admin::Command<'a>),
    String(string::Command<'a>),
    Keyspace(keyspace::Command<'a>),
    Transaction(transaction::Command<'a>),
    Script(script::Command<'a>),
}

impl<'a> Command<'a> {
    /// Reads the words behind the name that `spec` describes.
    fn parse(spec: &'static Spec, words: Arguments<'a>) -> Result<Self, CommandError> {
        match spec.group {
            Group::String => string::Command::parse(spec.id, words).map(Self::String),
            Group::Generic => keyspace::Command::parse(spec.id, words).map(Self::Keyspace),
            Group::Connection => connection::Command::parse(spec.id, words).map(Self::Connection),
            Group::Server => admin::Command::parse(spec.id, words).map(Self::Admin),
            Group::Transactions => transaction::Command::parse(spec.id, words).map(Self::Transaction),
            Group::Scripting => script::Command::parse(spec.id, words).map(Self::Script),
        }
    }

    fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        match self {
            Self::String(command) => command.execute(context),
            Self::Keyspace(command) => command.execute(context),
            Self::Connection(command) => command.execute(context),
            Self::Admin(command) => command.execute(context),
            Self::Transaction(command) => command.execute(context),
            Self::Script(command) => command.execute(context),
        }
    }
}

/// What a command may touch while it runs.
pub(crate) struct Context<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) client: &'a mut Client,
    /// Replies not yet sent; the command appends exactly one.
    pub(crate) output: &'a mut Replies,
    /// The command's name as error texts spell it.
    pub(crate) name: &'static str,
}

impl<'a> Context<'a> {
    /// The keys of the client's database.
    #[inline]
    pub(crate) fn keys(&self) -> Keys<'a> {
        self.keys_of(self.client.database)
    }

    /// Those of any.
    #[inline]
    pub(crate) fn keys_of(&self, database: u8) -> Keys<'a> {
        let shared: &'a Shared = self.shared;
        Keys::new(&shared.database, shared.databases.keyspace(database))
    }
}

impl Context<'_> {
    /// A writer in the connection's protocol version.
    pub(crate) fn reply(&mut self) -> ReplyWriter<'_> {
        ReplyWriter::new(&mut self.output.bytes, self.client.version)
    }

    /// Fails, and ends the conversation, when the reply that began at `start` has become longer than it may be.
    pub(crate) fn check_length(&mut self, start: Mark) -> Result<(), CommandError> {
        self.output.settle(self.shared)?;
        self.check_bytes(self.output.since(start))
    }

    fn check_bytes(&mut self, bytes: usize) -> Result<(), CommandError> {
        let longest = self.shared.settings.limits.count(Limit::Output);
        if bytes <= longest {
            return Ok(());
        }
        self.client.closing = true;
        let (id, name, limit) = (self.client.entry.id, self.name, Limit::Output.name());
        tracing::warn!(
            "closed connection {id}: its reply to '{name}' is longer than {limit} ({longest} bytes)"
        );
        Err(CommandError::reply_too_long(longest))
    }

    /// Says that the command has changed `key`, for the connections that watch it.
    #[inline]
    pub(crate) fn changed(&self, key: &[u8]) {
        if !self.shared.watches.is_empty() || !self.shared.tracking.is_empty() {
            self.changed_in(self.keys(), key);
        }
    }

    /// As [`changed`](Self::changed), of any database.
    pub(crate) fn changed_in(&self, keys: Keys<'_>, key: &[u8]) {
        let stored = keys.stored(key);
        if !self.shared.watches.is_empty() {
            self.shared.watches.touch(&stored);
        }
        if !self.shared.tracking.is_empty() {
            tracking::invalidate(self.shared, &stored, self.client.entry.id);
        }
    }

    /// Writes `+OK`.
    pub(crate) fn ok(&mut self) -> Result<(), CommandError> {
        self.reply().simple("OK");
        Ok(())
    }

    /// Writes an integer.
    pub(crate) fn integer(&mut self, value: i64) -> Result<(), CommandError> {
        self.reply().integer(value);
        Ok(())
    }

    /// Writes 1 or 0.
    pub(crate) fn flag(&mut self, value: bool) -> Result<(), CommandError> {
        self.integer(i64::from(value))
    }

    /// Writes a bulk string; the same words as a reply of known length.
    pub(crate) fn bulk(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        self.output.make_room(self.shared, bytes.len() + BULK_HEAD)?;
        self.reply().bulk(bytes);
        Ok(())
    }
}

/// Bytes around a bulk string, at most.
const BULK_HEAD: usize = 32;

/// Bytes of an error text that are sent: it may repeat a client's word of half a gigabyte.
const LONGEST_ERROR: usize = 4096;

static FAILURES_LOGGED: Sparingly = Sparingly::new();

/// Runs one request and appends its reply. An empty request (a blank inline line) has none. False where it would have to wait and this thread does not
/// ([`plumbkv::NonBlocking`]): then nothing has happened.
#[must_use]
#[inline(always)]
pub(crate) fn run(shared: &Shared, client: &mut Client, request: Request<'_>, output: &mut Replies) -> bool {
    if request.is_empty() {
        return true;
    }
    let start = output.mark();
    let mut is_executed = false;
    if let Err(error) = dispatch(shared, client, request, output, &mut is_executed) {
        if let Some(transaction) = client.transaction.as_mut().filter(|_| !is_executed) {
            transaction.fail();
        }
        // A reply may have been half written when its command failed, MGET's for instance.
        output.go_back(start);
        if error.would_block() {
            return false;
        }
        let text = error.text();
        let text = &text[..text.len().min(LONGEST_ERROR)];
        ReplyWriter::new(&mut output.bytes, client.version).error_bytes(text);
        shared.command_stats.answer_error(error.text());
        if error.is_of_storage() && FAILURES_LOGGED.is_due() {
            let text = String::from_utf8_lossy(text);
            tracing::error!("the store failed: {text} (said at most once in {PAUSE_SECONDS} s)");
        }
    }
    if client.muting != Muting::None {
        client.mute(output, start);
    }
    true
}

/// `is_executed` becomes true when the command is neither refused nor queued.
fn dispatch(
    shared: &Shared,
    client: &mut Client,
    request: Request<'_>,
    output: &mut Replies,
    is_executed: &mut bool,
) -> Result<(), CommandError> {
    let Some(command) = table::find(request.arg(0)) else {
        if http::is_http(&request) {
            http::close(client);
            return Ok(());
        }
        return Err(CommandError::unknown_command(&request));
    };
    let (spec, words_read) = if request.len() > 1 && command.is_container() {
        let sub = request.arg(1);
        let spec = table::find_sub_command(command, sub)
            .ok_or_else(|| CommandError::unknown_sub_command(command.name, sub))?;
        (spec, 2)
    } else {
        (command, 1)
    };
    if !spec.accepts(request.len()) {
        // GET is a command of both.
        if http::is_http(&request) {
            http::close(client);
            return Ok(());
        }
        return Err(refuse(shared, client, spec, CommandError::wrong_arity(spec.name)));
    }
    if !client.identity.is_unrestricted() {
        authorize(shared, client, spec, &request)?;
    }
    if client.transaction.is_some() && !is_never_queued(spec.id) {
        if spec.id == table::Id::Shutdown {
            return Err(CommandError::fixed("ERR Command not allowed inside a transaction"));
        }
        return queue(shared, client, &request, output);
    }
    *is_executed = true;
    if client.tally.call(&shared.command_stats, spec.id) {
        client.entry.record_command(spec.id);
    }
    let is_observed = shared.pushes.is_observed();
    if is_observed {
        observe(shared, client, spec, &request)?;
    }
    let began = shared.latency.times(shared, spec, &request).then(Instant::now);
    let words = Arguments::new(request, words_read);
    let mut context = Context { shared, client, output, name: spec.name };
    let result = perform(spec, words, &mut context);
    if let Some(began) = began
        && !result.as_ref().is_err_and(CommandError::would_block)
    {
        shared.latency.note(shared, context.client, spec, &request, began.elapsed());
    }
    if is_observed {
        if NonBlocking::is_on() && !result.as_ref().is_err_and(CommandError::would_block) {
            monitor::show(shared, context.client, spec, &request);
        }
        end_caching(context.client, spec);
    }
    if let Err(error) = &result {
        if error.would_block() {
            // It is counted where it is done.
            context.client.tally.take_back();
        } else {
            shared.command_stats.fail(&context.client.tally, spec.id);
        }
    }
    result
}

/// Remembers the keys of a client that tracks, and shows the request to monitors.
#[cold]
fn observe(
    shared: &Shared,
    client: &Client,
    spec: &'static Spec,
    request: &Request<'_>,
) -> Result<(), CommandError> {
    if client.entry.is_monitor() && key_spec::has_keys(spec) {
        return Err(CommandError::fixed("ERR Replica can't interact with the keyspace"));
    }
    tracking::remember(shared, client, spec, request);
    // A thread that does not wait shows what it has executed.
    if !NonBlocking::is_on() {
        monitor::show(shared, client, spec, request);
    }
    Ok(())
}

/// What CLIENT CACHING has said holds for one command, or for one transaction.
#[cold]
fn end_caching(client: &Client, spec: &Spec) {
    if client.origin == Origin::Client && client.transaction.is_none() && spec.id != table::Id::ClientCaching
    {
        client.entry.tracking.end_caching();
    }
}

/// Counts a request that is not executed, and ends the transaction whose EXEC it was.
#[cold]
fn refuse(shared: &Shared, client: &mut Client, spec: &'static Spec, error: CommandError) -> CommandError {
    shared.command_stats.reject(&client.tally, spec.id);
    if spec.id != table::Id::Exec {
        return error;
    }
    client.discard(shared);
    CommandError::aborted(&error)
}

/// Checks a request against the rules of the client's user.
fn authorize(
    shared: &Shared,
    client: &mut Client,
    spec: &'static Spec,
    request: &Request<'_>,
) -> Result<(), CommandError> {
    let Err(error) = acl::authorize(shared, client, spec, request) else { return Ok(()) };
    // One that was queued before is answered within the reply of EXEC.
    Err(if client.origin == Origin::Client { refuse(shared, client, spec, error) } else { error })
}

/// Adds a request to the client's transaction.
#[cold]
fn queue(
    shared: &Shared,
    client: &mut Client,
    request: &Request<'_>,
    output: &mut Replies,
) -> Result<(), CommandError> {
    let Some(transaction) = &mut client.transaction else { return Ok(()) };
    transaction.queue(shared, request)?;
    client.entry.record_queued(Some(transaction.count()));
    ReplyWriter::new(&mut output.bytes, client.version).simple("QUEUED");
    Ok(())
}

#[inline]
fn perform(spec: &'static Spec, words: Arguments<'_>, context: &mut Context<'_>) -> Result<(), CommandError> {
    let start = context.output.mark();
    Command::parse(spec, words)?.execute(context)?;
    context.check_length(start)
}

/// Whether a transaction does not queue the command.
fn is_never_queued(id: table::Id) -> bool {
    use table::Id;
    matches!(id, Id::Multi | Id::Exec | Id::Discard | Id::Watch | Id::Quit | Id::Reset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::Driver;

    #[test]
    fn a_container_is_what_has_sub_commands() {
        for spec in table::commands() {
            assert_eq!(spec.is_container(), spec.sub_commands().next().is_some(), "{}", spec.name);
        }
    }

    #[test]
    fn every_row_of_the_table_is_served() {
        let driver = Driver::new();
        // CLIENT, CONFIG and MEMORY say nothing without a sub-command.
        let served = |spec: &&Spec| spec.id == table::Id::Command || !spec.is_container();
        for spec in table::SPECS.iter().filter(served) {
            let mut client = driver.connect();
            let mut words: Vec<String> = spec.name.split('|').map(str::to_owned).collect();
            while words.len() < spec.arity.unsigned_abs() as usize {
                // No pause for those that follow.
                let is_pause = spec.id == table::Id::ClientPause;
                words.push(if is_pause { "0" } else { "1" }.to_owned());
            }
            let reply = client.ask(&words.join(" "));
            let is_end = spec.id == table::Id::Shutdown;
            assert_eq!(reply.is_empty(), is_end, "{}: {reply}", spec.name);
            assert!(!reply.contains("unknown"), "{}: {reply}", spec.name);
            assert!(!reply.contains("not served"), "{}: {reply}", spec.name);
        }
    }

    #[test]
    fn unknown_commands_and_wrong_arities_answer_redis_texts() {
        let driver = Driver::new();
        let mut client = driver.connect();
        client.check("foo a b", "-ERR unknown command 'foo', with args beginning with: 'a' 'b' \r\n");
        client.check("foo", "-ERR unknown command 'foo', with args beginning with: \r\n");
        client.check("get", "-ERR wrong number of arguments for 'get' command\r\n");
        client.check("GET a b", "-ERR wrong number of arguments for 'get' command\r\n");
        client.check("client", "-ERR wrong number of arguments for 'client' command\r\n");
        client.check("CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command\r\n");
        client.check("Config Foo", "-ERR unknown subcommand 'Foo'. Try CONFIG HELP.\r\n");
        let long = "x".repeat(200);
        let expected = format!(
            "-ERR unknown command '{}', with args beginning with: '{}' \r\n",
            "x".repeat(128),
            "x".repeat(128)
        );
        client.check(&format!("{long} {long} y"), &expected);
    }
}
