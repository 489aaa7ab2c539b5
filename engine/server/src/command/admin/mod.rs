//! Commands about the server: ACL, COMMAND, CONFIG, INFO, LATENCY, MEMORY, SLOWLOG, FLUSHALL, DBSIZE, TIME, ROLE, SHUTDOWN.

mod absent;
mod acl;
mod catalogue;
mod config;
pub(crate) mod counting;
mod info;
mod keys;
mod latency;
mod memory;
mod storage;

use std::time::{SystemTime, UNIX_EPOCH};

use super::args::{self, Arguments, is};
use super::table::{self, Id, Spec};
use super::{CommandError, Context};
use crate::session::Origin;
use crate::{monitor, process, tracking};

/// Commands about the server.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Acl(acl::Query<'a>),
    Catalogue(catalogue::Query<'a>),
    ConfigGet {
        patterns: Arguments<'a>,
    },
    ConfigSet {
        pairs: Arguments<'a>,
    },
    ConfigResetStat,
    ConfigRewrite,
    Info {
        sections: Arguments<'a>,
    },
    DbSize,
    /// FLUSHALL, or FLUSHDB.
    Flush {
        all: bool,
    },
    Swap {
        one: u8,
        other: u8,
    },
    Time,
    Memory(memory::Query<'a>),
    /// SLOWLOG and LATENCY.
    Slow(latency::Query<'a>),
    LastSave,
    Monitor,
    Role,
    Shutdown {
        saves: bool,
    },
    NoShutdown,
    Help(Id),
}

impl<'a> Command<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        Ok(match id {
            Id::Command
            | Id::CommandCount
            | Id::CommandDocs
            | Id::CommandGetkeys
            | Id::CommandGetkeysandflags
            | Id::CommandInfo
            | Id::CommandList => Self::Catalogue(catalogue::Query::parse(id, words)?),
            Id::ConfigGet => Self::ConfigGet { patterns: words },
            Id::ConfigSet if words.len() % 2 == 1 => return Err(CommandError::wrong_arity("config|set")),
            Id::ConfigSet => Self::ConfigSet { pairs: words },
            Id::ConfigResetstat => Self::ConfigResetStat,
            Id::ConfigRewrite => Self::ConfigRewrite,
            Id::Info => Self::Info { sections: words },
            Id::Dbsize => Self::DbSize,
            Id::Flushall | Id::Flushdb => {
                // Both ways free the memory before the reply: a cap that is true cannot wait for a background thread.
                let mode = words.next();
                words.finish()?;
                if mode.is_some_and(|mode| !is(mode, "ASYNC") && !is(mode, "SYNC")) {
                    return Err(CommandError::SYNTAX);
                }
                Self::Flush { all: id == Id::Flushall }
            }
            Id::Swapdb => {
                let mut number = |invalid| {
                    let number =
                        args::short_integer(words.word()).map_err(|_| CommandError::fixed(invalid))?;
                    Ok::<i64, CommandError>(i64::from(number))
                };
                let one = number("ERR invalid first DB index")?;
                let other = number("ERR invalid second DB index")?;
                Self::Swap { one: args::database(one)?, other: args::database(other)? }
            }
            Id::Time => Self::Time,
            Id::MemoryUsage
            | Id::MemoryStats
            | Id::MemoryDoctor
            | Id::MemoryPurge
            | Id::MemoryMallocStats => Self::Memory(memory::Query::parse(id, words)?),
            Id::SlowlogGet
            | Id::SlowlogLen
            | Id::SlowlogReset
            | Id::LatencyDoctor
            | Id::LatencyHistogram
            | Id::LatencyHistory
            | Id::LatencyLatest
            | Id::LatencyReset => Self::Slow(latency::Query::parse(id, words)?),
            Id::Lastsave => Self::LastSave,
            Id::Monitor => Self::Monitor,
            Id::SlowlogHelp => Self::Help(Id::Slowlog),
            Id::LatencyHelp => Self::Help(Id::Latency),
            Id::Role => Self::Role,
            Id::Shutdown => Self::parse_shutdown(words)?,
            Id::AclHelp => Self::Help(Id::Acl),
            Id::CommandHelp => Self::Help(Id::Command),
            Id::ConfigHelp => Self::Help(Id::Config),
            Id::MemoryHelp => Self::Help(Id::Memory),
            Id::AclCat
            | Id::AclDeluser
            | Id::AclDryrun
            | Id::AclGenpass
            | Id::AclGetuser
            | Id::AclList
            | Id::AclLoad
            | Id::AclLog
            | Id::AclSave
            | Id::AclSetuser
            | Id::AclUsers
            | Id::AclWhoami => Self::Acl(acl::Query::parse(id, words)?),
            _ => return Err(CommandError::not_served()),
        })
    }

    fn parse_shutdown(words: Arguments<'a>) -> Result<Self, CommandError> {
        let (mut saves, mut saves_not, mut aborts) = (false, false, false);
        let count = words.len();
        for word in words {
            match word {
                _ if is(word, "SAVE") => saves = true,
                _ if is(word, "NOSAVE") => saves_not = true,
                _ if is(word, "ABORT") => aborts = true,
                // It waits for no replica, and stops whatever the disk says.
                _ if is(word, "NOW") || is(word, "FORCE") => {}
                _ => return Err(CommandError::SYNTAX),
            }
        }
        match (saves, saves_not, aborts) {
            (true, true, _) => Err(CommandError::SYNTAX),
            (_, _, true) if count > 1 => Err(CommandError::SYNTAX),
            (_, _, true) => Ok(Self::NoShutdown),
            _ => Ok(Self::Shutdown { saves }),
        }
    }

    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        let database = &context.shared.database;
        match self {
            Self::Acl(query) => query.answer(context),
            Self::Catalogue(query) => query.answer(context),
            Self::ConfigGet { patterns } => config::get(context, patterns),
            Self::ConfigSet { pairs } => config::set(context, pairs),
            Self::ConfigRewrite => config::rewrite(context),
            Self::ConfigResetStat => {
                context.shared.reset_counters();
                context.ok()
            }
            Self::Info { sections } => {
                let text = info::compose(context.shared, sections)?;
                context.reply().verbatim("txt", text.as_bytes());
                Ok(())
            }
            Self::DbSize => {
                let count = counting::exactly(context.keys())?;
                context.integer(count.keys as i64)
            }
            Self::Swap { one, other } => {
                let keyspaces = [one, other].map(|number| context.keys_of(number).keyspace());
                context.shared.databases.swap(database, one, other)?;
                if one != other {
                    context.shared.watches.swap(&context.shared.database, keyspaces);
                    if context.shared.tracking.is_used() {
                        tracking::invalidate_all(context.shared);
                    }
                }
                context.ok()
            }
            Self::Flush { all } => {
                let keys = context.keys();
                if all {
                    context.shared.databases.clear(database)?;
                } else {
                    keys.clear()?;
                }
                context.shared.watches.touch_all(|keyspace| all || keyspace == keys.keyspace());
                if context.shared.tracking.is_used() {
                    tracking::invalidate_all(context.shared);
                }
                context.ok()
            }
            Self::Time => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let mut reply = context.reply();
                reply.array(2);
                reply.bulk(now.as_secs().to_string().as_bytes());
                reply.bulk(now.subsec_micros().to_string().as_bytes());
                Ok(())
            }
            Self::Memory(query) => query.answer(context),
            Self::Slow(query) => query.answer(context),
            Self::Monitor if context.client.origin == Origin::Transaction => {
                Err(CommandError::fixed("ERR MONITOR isn't allowed for DENY BLOCKING client"))
            }
            Self::Monitor => {
                // One that is a monitor already gets no reply, as in Redis.
                if monitor::start(context.shared, &context.client.entry) {
                    context.ok()?;
                }
                Ok(())
            }
            Self::LastSave => {
                let facts = &context.shared.facts;
                let started = process::unix_time_s().saturating_sub(facts.started.elapsed().as_secs());
                context.integer(started as i64)
            }
            Self::Role => {
                let mut reply = context.reply();
                reply.array(3);
                reply.bulk(b"master");
                reply.integer(0);
                reply.array(0);
                Ok(())
            }
            Self::Shutdown { saves: true } if !database.is_durable() => Err(CommandError::fixed(
                "ERR keys in memory alone cannot be saved: start with --data, or use SHUTDOWN NOSAVE",
            )),
            Self::Shutdown { .. } => {
                let asked = context.shared.state.stop();
                asked.map_err(|error| {
                    CommandError::new(format!("ERR the server cannot be stopped: {error}"))
                })?;
                // There is no reply: the connection ends.
                context.client.closing = true;
                Ok(())
            }
            Self::NoShutdown => Err(CommandError::fixed("ERR No shutdown in progress.")),
            Self::Help(id) => {
                help(context, table::spec(id));
                Ok(())
            }
        }
    }
}

/// The reply of `CONTAINER HELP`, made from the table: each sub-command, then its summary indented.
pub(crate) fn help(context: &mut Context<'_>, container: &'static Spec) {
    let mut lines = vec![format!(
        "{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        container.name.to_uppercase()
    )];
    for spec in container.sub_commands() {
        let sub = spec.name.split_once('|').map_or(spec.name, |(_, sub)| sub);
        lines.push(sub.to_uppercase());
        lines.push(format!("    {}", spec.summary));
    }
    let mut reply = context.reply();
    reply.array(lines.len());
    for line in &lines {
        reply.simple(line);
    }
}

#[cfg(test)]
#[path = "admin_test.rs"]
mod tests;
