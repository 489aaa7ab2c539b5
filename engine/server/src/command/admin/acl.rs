//! ACL and its sub-commands: users, their rules, and the log of what was refused.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::acl::{self, category, explain};
use crate::client_limits::Limit;
use crate::command::args::{self, Arguments, is};
use crate::command::table::{self, Id};
use crate::command::{CommandError, Context, glob};

/// What ACL is asked.
#[derive(Debug)]
pub(crate) enum Query<'a> {
    WhoAmI,
    List,
    Users,
    GetUser {
        name: &'a [u8],
    },
    SetUser {
        name: &'a [u8],
        rules: Arguments<'a>,
    },
    DelUser {
        names: Arguments<'a>,
    },
    /// An index of [`category::NAMES`], or all of them.
    Categories(Option<usize>),
    Password {
        bits: usize,
    },
    Log {
        count: usize,
    },
    ResetLog,
    DryRun {
        user: &'a [u8],
        request: Arguments<'a>,
    },
    /// LOAD and SAVE.
    File,
}

/// Entries that ACL LOG answers unless it is told how many.
const LOG_ENTRIES: usize = 10;

/// Bits of a password of ACL GENPASS, and the most.
const PASSWORD_BITS: usize = 256;
const MOST_PASSWORD_BITS: i64 = 4096;

const NO_FILE: CommandError = CommandError::fixed(
    "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER \
     command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store \
     users in the Redis configuration.",
);

impl<'a> Query<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        let has_too_many = matches!(id, Id::AclCat | Id::AclGenpass | Id::AclLog) && words.len() > 1;
        if has_too_many {
            return Err(CommandError::quoting(
                "ERR unknown subcommand or wrong number of arguments for '",
                words.at(1),
                "'. Try ACL HELP.",
            ));
        }
        Ok(match id {
            Id::AclWhoami => Self::WhoAmI,
            Id::AclList => Self::List,
            Id::AclUsers => Self::Users,
            Id::AclGetuser => Self::GetUser { name: words.word() },
            Id::AclSetuser => Self::SetUser { name: words.word(), rules: words },
            Id::AclDeluser => Self::DelUser { names: words },
            Id::AclCat => Self::parse_category(words.next())?,
            Id::AclGenpass => Self::parse_bits(words.next())?,
            Id::AclLog => match words.next() {
                None => Self::Log { count: LOG_ENTRIES },
                Some(word) if is(word, "RESET") => Self::ResetLog,
                Some(word) => Self::Log { count: usize::try_from(args::integer(word)?).unwrap_or(0) },
            },
            Id::AclDryrun => Self::DryRun { user: words.word(), request: words },
            Id::AclLoad | Id::AclSave => Self::File,
            _ => return Err(CommandError::not_served()),
        })
    }

    fn parse_category(name: Option<&[u8]>) -> Result<Self, CommandError> {
        let Some(name) = name else { return Ok(Self::Categories(None)) };
        let index = category::find(name);
        let unknown = || CommandError::quoting("ERR Unknown category '", &name[..name.len().min(128)], "'");
        index.map(|index| Self::Categories(Some(index))).ok_or_else(unknown)
    }

    fn parse_bits(word: Option<&[u8]>) -> Result<Self, CommandError> {
        let Some(word) = word else { return Ok(Self::Password { bits: PASSWORD_BITS }) };
        let bits = Some(args::integer(word)?).filter(|bits| (1..=MOST_PASSWORD_BITS).contains(bits));
        let bits = bits.and_then(|bits| usize::try_from(bits).ok());
        bits.map(|bits| Self::Password { bits }).ok_or_else(|| {
            CommandError::new(format!(
                "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to \
                 {MOST_PASSWORD_BITS}"
            ))
        })
    }

    pub(crate) fn answer(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        let shared = context.shared;
        let users = &shared.acl.users;
        match self {
            Self::WhoAmI => {
                let name = context.client.identity.user().name().to_vec();
                context.bulk(&name)
            }
            Self::List => {
                let lines: Vec<_> = users.all().iter().map(|user| user.describe()).collect();
                list(context, &lines)
            }
            Self::Users => {
                let names: Vec<_> = users.all().iter().map(|user| user.name().to_vec()).collect();
                list(context, &names)
            }
            Self::GetUser { name } => get_user(context, name),
            Self::SetUser { name, rules } => {
                let rules: Vec<&[u8]> = rules.collect();
                users.set(shared, name, &rules)?;
                context.client.identity.refresh(shared);
                context.ok()
            }
            Self::DelUser { names } => {
                let names: Vec<&[u8]> = names.collect();
                if names.contains(&acl::DEFAULT) {
                    return Err(CommandError::fixed("ERR The 'default' user cannot be removed"));
                }
                let is_own = names.contains(&&**context.client.identity.user().name());
                let count = users.delete(shared, &context.client.entry, &names);
                // Behind its reply.
                context.client.closing |= is_own;
                context.client.identity.refresh(shared);
                context.integer(count as i64)
            }
            Self::Categories(None) => {
                let names: Vec<_> = category::NAMES.iter().map(|name| name.as_bytes().to_vec()).collect();
                list(context, &names)
            }
            Self::Categories(Some(index)) => {
                let rows = table::SPECS.iter().filter(|spec| category::Categories::of(spec).has(index));
                let names: Vec<_> = rows.map(|spec| spec.name.as_bytes().to_vec()).collect();
                list(context, &names)
            }
            Self::Password { bits } => {
                let password = random_digits(bits.div_ceil(4)).map_err(|error| {
                    CommandError::new(format!("ERR the system has no random numbers: {error}"))
                })?;
                context.bulk(password.as_bytes())
            }
            Self::Log { count } => {
                let log = &shared.acl.log;
                context.output.make_room(shared, 2 * log.reply_bytes(count))?;
                log.reply(shared.clock_ms(), count, &mut context.reply());
                Ok(())
            }
            Self::ResetLog => {
                shared.acl.log.reset(shared);
                context.ok()
            }
            Self::DryRun { user, request } => dry_run(context, user, request),
            Self::File => Err(NO_FILE),
        }
    }
}

/// Writes an array of bulk strings.
fn list(context: &mut Context<'_>, lines: &[Vec<u8>]) -> Result<(), CommandError> {
    let start = context.output.mark();
    context.reply().array(lines.len());
    for line in lines {
        context.bulk(line)?;
        context.check_length(start)?;
    }
    Ok(())
}

fn get_user(context: &mut Context<'_>, name: &[u8]) -> Result<(), CommandError> {
    let Some(user) = context.shared.acl.users.get(name) else {
        context.reply().null();
        return Ok(());
    };
    let start = context.output.mark();
    let mut reply = context.reply();
    reply.map(6);
    reply.bulk(b"flags");
    let flags = user.flags();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    let digests = user.password_digests();
    reply.array(digests.len());
    digests.for_each(|digest| reply.bulk(digest.as_bytes()));
    let permissions: Vec<_> = user.permissions().collect();
    for (number, permission) in permissions.iter().enumerate() {
        // The first ones are those of the user itself.
        if number == 1 {
            context.reply().bulk(b"selectors");
            context.reply().array(permissions.len() - 1);
        }
        if number > 0 {
            context.reply().map(permission.len());
        }
        for (name, text) in ["commands", "keys", "channels"].iter().zip(permission) {
            context.bulk(name.as_bytes())?;
            context.bulk(text)?;
        }
        context.check_length(start)?;
    }
    if permissions.len() == 1 {
        context.reply().bulk(b"selectors");
        context.reply().array(0);
    }
    Ok(())
}

fn dry_run(context: &mut Context<'_>, user: &[u8], request: Arguments<'_>) -> Result<(), CommandError> {
    let shared = context.shared;
    let Some(user) = shared.acl.users.get(user) else {
        return Err(CommandError::quoting("ERR User '", user, "' not found"));
    };
    let words: Vec<&[u8]> = request.collect();
    let Some(spec) = table::find_of_request(&words) else {
        let name = words.first().copied().unwrap_or_default();
        return Err(CommandError::quoting("ERR Command '", name, "' not found"));
    };
    if !spec.accepts(words.len()) {
        return Err(CommandError::wrong_arity(spec.name));
    }
    let mut budget = glob::Budget(shared.settings.limits.get(Limit::PatternSteps));
    match user.check(spec, &words[..], &mut budget) {
        Ok(()) => context.ok(),
        Err(denied) => context.bulk(&explain(spec, &words[..], denied)),
    }
}

/// So many random hexadecimal digits.
fn random_digits(count: usize) -> io::Result<String> {
    let mut bytes = vec![0; count.div_ceil(2)];
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut digits = acl::hex(&bytes);
    digits.truncate(count);
    Ok(digits)
}

#[cfg(test)]
#[path = "acl_test.rs"]
mod tests;
