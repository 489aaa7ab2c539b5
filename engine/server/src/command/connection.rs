//! Commands about connections: PING, HELLO, AUTH, CLIENT and their kin.

use plumbkv_resp::{ReplyWriter, Version};

use super::args::{self, Arguments, is};
use super::table::{self, Id};
use super::{CommandError, Context, tracked};
use crate::acl;
use crate::acl::log::{Reason, Refusal};
use crate::clients::Entry;
use crate::session::{Client, Muting};
use crate::shared::Shared;

/// Commands about the connection.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Ping {
        message: Option<&'a [u8]>,
    },
    Echo {
        message: &'a [u8],
    },
    Quit,
    Hello {
        version: Option<Version>,
        options: Arguments<'a>,
    },
    Auth {
        credentials: Credentials<'a>,
        user_given: bool,
    },
    Select {
        index: i32,
    },
    Reset,
    Id,
    GetName,
    SetName {
        name: &'a [u8],
    },
    SetInfo {
        attribute: &'a [u8],
        value: &'a [u8],
    },
    Info,
    List {
        filter: Filter,
    },
    Kill(Kill<'a>),
    Reply(Muting),
    Pause {
        for_ms: u64,
        holds_all: bool,
    },
    Unpause,
    Redirection,
    Tracking(tracked::Query<'a>),
    Unblock,
    Wait,
    /// Clients are not evicted, whatever they choose.
    NoEvict,
    Help,
}

/// What a client logs in with.
#[derive(Debug)]
pub(crate) struct Credentials<'a> {
    user: &'a [u8],
    password: &'a [u8],
    /// The command's name as the client wrote it.
    command: &'a [u8],
}

/// Which connections CLIENT KILL ends.
#[derive(Debug, Default)]
pub(crate) struct Kill<'a> {
    id: Option<u64>,
    peer: Option<&'a [u8]>,
    local: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    /// A TYPE that this server has no connections of.
    is_none: bool,
    takes_own: bool,
    /// It was given an address alone, and answers so.
    is_old: bool,
}

/// Which connections CLIENT LIST describes.
#[derive(Debug)]
pub(crate) enum Filter {
    All,
    /// A TYPE that this server has no connections of.
    NoConnection,
    /// In ascending order.
    Ids(Vec<u64>),
}

const HELLO_NEEDS_AUTH: CommandError = CommandError::fixed(
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> \
     option can be used to authenticate the client and select the RESP protocol version at the same time",
);
const NO_PASSWORD_SET: CommandError = CommandError::fixed(
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
     configuration is correct?",
);
/// Bytes of a client's name, of its library's and of that one's version.
const LONGEST_NAME: usize = 256;

impl<'a> Command<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        Ok(match id {
            Id::Ping if words.len() > 1 => return Err(CommandError::wrong_arity("ping")),
            Id::Ping => Self::Ping { message: words.next() },
            Id::Echo => Self::Echo { message: words.word() },
            Id::Quit => Self::Quit,
            Id::Hello => return Self::parse_hello(words),
            Id::Auth => {
                let command = words.at(0);
                let (user, password, user_given) = match (words.word(), words.next(), words.len()) {
                    (password, None, _) => (acl::DEFAULT, password, false),
                    (user, Some(password), 0) => (user, password, true),
                    _ => return Err(CommandError::SYNTAX),
                };
                Self::Auth { credentials: Credentials { user, password, command }, user_given }
            }
            Id::Select => Self::Select { index: args::short_integer(words.word())? },
            Id::Reset => Self::Reset,
            Id::ClientId => Self::Id,
            Id::ClientGetname => Self::GetName,
            Id::ClientSetname => Self::SetName { name: words.word() },
            Id::ClientSetinfo => Self::SetInfo { attribute: words.word(), value: words.word() },
            Id::ClientInfo => Self::Info,
            Id::ClientList => Self::List { filter: Filter::parse(words)? },
            Id::ClientKill => Self::Kill(Kill::parse(words)?),
            Id::ClientReply => Self::Reply(match words.word() {
                word if is(word, "ON") => Muting::None,
                word if is(word, "OFF") => Muting::All,
                word if is(word, "SKIP") => Muting::Two,
                _ => return Err(CommandError::SYNTAX),
            }),
            Id::ClientPause => Self::parse_pause(words)?,
            Id::ClientUnpause => Self::Unpause,
            Id::ClientGetredir => Self::Redirection,
            Id::ClientTracking | Id::ClientCaching | Id::ClientTrackinginfo => {
                Self::Tracking(tracked::Query::parse(id, words)?)
            }
            Id::ClientNoevict => match words.word() {
                word if is(word, "ON") || is(word, "OFF") => Self::NoEvict,
                _ => return Err(CommandError::SYNTAX),
            },
            Id::ClientUnblock => {
                words.integer()?;
                match words.next() {
                    None => Self::Unblock,
                    Some(word) if is(word, "TIMEOUT") || is(word, "ERROR") => Self::Unblock,
                    Some(_) => {
                        return Err(CommandError::fixed(
                            "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
                        ));
                    }
                }
            }
            Id::Wait => {
                words.integer()?;
                let time = args::parse_integer(words.word());
                let time =
                    time.ok_or(CommandError::fixed("ERR timeout is not an integer or out of range"))?;
                if time < 0 {
                    return Err(CommandError::fixed("ERR timeout is negative"));
                }
                Self::Wait
            }
            Id::ClientHelp => Self::Help,
            // A container without a sub-command fails its arity check.
            _ => return Err(CommandError::not_served()),
        })
    }

    fn parse_pause(mut words: Arguments<'a>) -> Result<Self, CommandError> {
        let (time, mode) = (words.word(), words.next());
        if words.len() > 0 {
            return Err(CommandError::quoting(
                "ERR unknown subcommand or wrong number of arguments for '",
                words.at(1),
                "'. Try CLIENT HELP.",
            ));
        }
        let holds_all = match mode {
            None => true,
            Some(mode) if is(mode, "ALL") => true,
            Some(mode) if is(mode, "WRITE") => false,
            Some(_) => return Err(CommandError::fixed("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        };
        let time = args::parse_integer(time)
            .ok_or(CommandError::fixed("ERR timeout is not an integer or out of range"))?;
        let for_ms = u64::try_from(time).map_err(|_| CommandError::fixed("ERR timeout is negative"))?;
        Ok(Self::Pause { for_ms, holds_all })
    }

    fn parse_hello(mut words: Arguments<'a>) -> Result<Self, CommandError> {
        let version = match words.next() {
            None => None,
            Some(word) => Some(match args::parse_integer(word) {
                Some(2) => Version::Resp2,
                Some(3) => Version::Resp3,
                Some(_) => return Err(CommandError::fixed("NOPROTO unsupported protocol version")),
                None => {
                    return Err(CommandError::fixed(
                        "ERR Protocol version is not an integer or out of range",
                    ));
                }
            }),
        };
        Ok(Self::Hello { version, options: words })
    }

    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        match self {
            Self::Ping { message: None } => {
                context.reply().simple("PONG");
                Ok(())
            }
            Self::Ping { message: Some(message) } | Self::Echo { message } => context.bulk(message),
            Self::Quit => {
                context.client.closing = true;
                context.ok()
            }
            Self::Hello { version, options } => hello(context, version, options),
            Self::Auth { credentials, user_given } => {
                if !user_given && context.shared.acl.users.default_user().is_nopass() {
                    return Err(NO_PASSWORD_SET);
                }
                authenticate(context.shared, context.client, &credentials)?;
                context.ok()
            }
            Self::Select { index } => {
                context.client.select(args::database(i64::from(index))?);
                context.ok()
            }
            Self::Reset => {
                context.client.reset(context.shared);
                context.reply().simple("RESET");
                Ok(())
            }
            Self::Id => {
                let id = context.client.entry.id;
                context.integer(id as i64)
            }
            Self::GetName => {
                let name = context.client.entry.name();
                if name.is_empty() {
                    context.reply().null();
                    return Ok(());
                }
                context.bulk(name.as_bytes())
            }
            Self::SetName { name } => {
                context.client.entry.set_name(printable(name, "Client names")?);
                context.ok()
            }
            Self::SetInfo { attribute, value } => {
                set_info(context.client, attribute, value)?;
                context.ok()
            }
            Self::Info => {
                let line = describe(context.shared, context.client.entry.id);
                context.reply().verbatim("txt", line.as_bytes());
                Ok(())
            }
            Self::List { filter } => {
                // The text and the reply that it becomes.
                let bytes = context.shared.clients.count() * 2 * LINE_BYTES;
                context.output.make_room(context.shared, bytes)?;
                let text = list(context.shared, &filter);
                context.reply().verbatim("txt", text.as_bytes());
                Ok(())
            }
            Self::Kill(kill) => kill.execute(context),
            Self::Reply(muting) => {
                // What is muted stays so for the next reply, too.
                if !(context.client.muting == Muting::All && muting == Muting::Two) {
                    context.client.muting = muting;
                }
                context.ok()
            }
            Self::Pause { for_ms, holds_all } => {
                let now_ms = context.shared.clock_ms();
                context.shared.pause.begin(now_ms, now_ms.saturating_add(for_ms), holds_all);
                context.ok()
            }
            Self::Unpause => {
                context.shared.pause.end();
                context.ok()
            }
            Self::Redirection => {
                let redirection = context.client.entry.redirection();
                context.integer(redirection)
            }
            Self::Tracking(query) => query.execute(context),
            // No command blocks a client, and there are no replicas to wait for.
            Self::Unblock | Self::Wait => context.integer(0),
            Self::NoEvict => context.ok(),
            Self::Help => {
                super::admin::help(context, table::spec(Id::Client));
                Ok(())
            }
        }
    }
}

/// HELLO. An option takes effect before the next one is read, as in Redis.
fn hello(
    context: &mut Context<'_>,
    version: Option<Version>,
    mut options: Arguments<'_>,
) -> Result<(), CommandError> {
    while let Some(option) = options.next() {
        if is(option, "AUTH") && options.len() >= 2 {
            let (user, password) = (options.word(), options.word());
            let credentials = Credentials { user, password, command: options.at(0) };
            authenticate(context.shared, context.client, &credentials)?;
        } else if is(option, "SETNAME") && options.len() >= 1 {
            context.client.entry.set_name(printable(options.word(), "Client names")?);
        } else {
            return Err(CommandError::quoting("ERR Syntax error in HELLO option '", option, "'"));
        }
    }
    if !context.client.identity.is_authenticated() {
        return Err(HELLO_NEEDS_AUTH);
    }
    if let Some(version) = version {
        context.client.set_version(version);
    }
    let (id, version) = (context.client.entry.id, context.client.version);
    let mut reply: ReplyWriter<'_> = context.reply();
    reply.map(7);
    reply.bulk(b"server");
    reply.bulk(b"plumbkv");
    reply.bulk(b"version");
    reply.bulk(env!("CARGO_PKG_VERSION").as_bytes());
    reply.bulk(b"proto");
    reply.integer(if version == Version::Resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(id as i64);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}

/// Logs the client in, or records that it could not.
fn authenticate(
    shared: &Shared,
    client: &mut Client,
    credentials: &Credentials<'_>,
) -> Result<(), CommandError> {
    let &Credentials { user, password, command } = credentials;
    match shared.acl.users.log_in(&client.entry, user, password) {
        Some(user) => {
            client.identity.log_in(user);
            Ok(())
        }
        None => {
            let refusal = Refusal { reason: Reason::Login, object: command, user };
            shared.acl.log.record(shared, client, refusal);
            Err(CommandError::WRONG_PASSWORD)
        }
    }
}

/// A name must not break the lines of CLIENT LIST: printable ASCII without blanks, as in Redis. Nor is it a place to keep data
/// that no cap counts.
fn printable<'n>(name: &'n [u8], what: &str) -> Result<&'n str, CommandError> {
    let fits = name.iter().all(|byte| (b'!'..=b'~').contains(byte));
    let text = if fits { std::str::from_utf8(name).ok() } else { None };
    let text = text.ok_or_else(|| {
        CommandError::new(format!("ERR {what} cannot contain spaces, newlines or special characters."))
    })?;
    if text.len() > LONGEST_NAME {
        return Err(CommandError::new(format!("ERR {what} cannot be longer than {LONGEST_NAME} bytes")));
    }
    Ok(text)
}

fn set_info(client: &Client, attribute: &[u8], value: &[u8]) -> Result<(), CommandError> {
    if is(attribute, "LIB-NAME") {
        client.entry.set_library_name(printable(value, "lib-name")?);
    } else if is(attribute, "LIB-VER") {
        client.entry.set_library_version(printable(value, "lib-ver")?);
    } else {
        return Err(CommandError::quoting("ERR Unrecognized option '", attribute, "'"));
    }
    Ok(())
}

impl<'a> Kill<'a> {
    fn parse(mut words: Arguments<'a>) -> Result<Self, CommandError> {
        if words.len() == 1 {
            return Ok(Self { peer: words.next(), takes_own: true, is_old: true, ..Self::default() });
        }
        let mut kill = Self::default();
        while let Some(option) = words.next() {
            let value = words.next().ok_or(CommandError::SYNTAX)?;
            if is(option, "ID") {
                let id =
                    args::parse_integer(value).and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0);
                kill.id = Some(id.ok_or(CommandError::fixed("ERR client-id should be greater than 0"))?);
            } else if is(option, "TYPE") {
                kill.is_none |= !is_normal(value)?;
            } else if is(option, "ADDR") {
                kill.peer = Some(value);
            } else if is(option, "LADDR") {
                kill.local = Some(value);
            } else if is(option, "USER") {
                kill.user = Some(value);
            } else if is(option, "SKIPME") && (is(value, "YES") || is(value, "NO")) {
                kill.takes_own = is(value, "NO");
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(kill)
    }

    fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        if let Some(user) = self.user.filter(|user| context.shared.acl.users.get(user).is_none()) {
            return Err(CommandError::quoting("ERR No such user '", user, "'"));
        }
        let is_user = |entry: &Entry, user: &[u8]| match entry.user_name() {
            Some(name) => *name == *user,
            None => user == acl::DEFAULT,
        };
        let is_it = |entry: &Entry| {
            self.user.is_none_or(|user| is_user(entry, user))
                && self.id.is_none_or(|id| entry.id == id)
                && self.peer.is_none_or(|peer| entry.peer().as_bytes() == peer)
                && self.local.is_none_or(|local| entry.local().as_bytes() == local)
        };
        let clients = &context.shared.clients;
        let mut count = 0;
        for entry in clients.all().iter().filter(|entry| !self.is_none && is_it(entry)) {
            if entry.id == context.client.entry.id {
                if self.takes_own {
                    // Behind its reply.
                    context.client.closing = true;
                    count += 1;
                }
                continue;
            }
            clients.kill(entry);
            count += 1;
        }
        match (self.is_old, count) {
            (true, 0) => Err(CommandError::fixed("ERR No such client")),
            (true, _) => context.ok(),
            (false, _) => context.integer(count),
        }
    }
}

/// Whether a TYPE is that of this server's connections.
fn is_normal(kind: &[u8]) -> Result<bool, CommandError> {
    if is(kind, "normal") {
        return Ok(true);
    }
    if ["master", "replica", "slave", "pubsub"].iter().any(|name| is(kind, name)) {
        return Ok(false);
    }
    Err(CommandError::quoting("ERR Unknown client type '", kind, "'"))
}

impl Filter {
    fn parse(mut words: Arguments<'_>) -> Result<Self, CommandError> {
        let Some(option) = words.next() else { return Ok(Self::All) };
        if is(option, "TYPE") && words.len() == 1 {
            return Ok(if is_normal(words.word())? { Self::All } else { Self::NoConnection });
        }
        if is(option, "ID") && words.len() >= 1 {
            let ids = words.map(|word| args::parse_integer(word).and_then(|id| u64::try_from(id).ok()));
            let ids: Option<Vec<u64>> = ids.collect();
            // Sorted, since each connection is looked up in them, and both may be many.
            let ids = ids.map(|mut ids| {
                ids.sort_unstable();
                ids
            });
            return ids.map(Self::Ids).ok_or(CommandError::fixed("ERR Invalid client ID"));
        }
        Err(CommandError::SYNTAX)
    }
}

/// Bytes of a line of CLIENT LIST without the client's own names.
const LINE_BYTES: usize = 512;

fn describe(shared: &Shared, id: u64) -> String {
    list(shared, &Filter::Ids(vec![id]))
}

fn list(shared: &Shared, filter: &Filter) -> String {
    let now_ms = shared.clock_ms();
    let entries = shared.clients.all();
    let mut text = String::new();
    for entry in &entries {
        let wanted = match filter {
            Filter::All => true,
            Filter::NoConnection => false,
            Filter::Ids(ids) => ids.binary_search(&entry.id).is_ok(),
        };
        if wanted {
            entry.describe(now_ms, &mut text);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod tests;
