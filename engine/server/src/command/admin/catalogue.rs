//! Which commands does the server have? COMMAND and its sub-commands, answered from the table.

use plumbkv_resp::ReplyWriter;

use super::keys;
use crate::acl::category::{self, Categories};
use crate::client_limits::Limit;
use crate::command::args::{Arguments, is};
use crate::command::syntax::{self, Argument, Kind, Repeats};
use crate::command::table::{self, Id, Spec, flag};
use crate::command::{CommandError, Context, glob};

/// What COMMAND is asked.
#[derive(Debug)]
pub(crate) enum Query<'a> {
    Count,
    /// Everything, or the named ones.
    Info(Arguments<'a>),
    Docs(Arguments<'a>),
    Keys {
        request: Arguments<'a>,
        with_flags: bool,
    },
    List(Filter<'a>),
}

/// Which names COMMAND LIST answers.
#[derive(Debug)]
pub(crate) enum Filter<'a> {
    All,
    /// Of a module; there are none.
    Nothing,
    Category(&'a [u8]),
    Pattern(&'a [u8]),
}

impl<'a> Query<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        Ok(match id {
            Id::CommandCount => Self::Count,
            Id::CommandDocs => Self::Docs(words),
            Id::CommandGetkeys => Self::Keys { request: words, with_flags: false },
            Id::CommandGetkeysandflags => Self::Keys { request: words, with_flags: true },
            Id::CommandList => {
                let filter = match words.len() {
                    0 => Filter::All,
                    3 if is(words.word(), "FILTERBY") => match (words.word(), words.word()) {
                        (kind, _) if is(kind, "MODULE") => Filter::Nothing,
                        (kind, name) if is(kind, "ACLCAT") => Filter::Category(name),
                        (kind, pattern) if is(kind, "PATTERN") => Filter::Pattern(pattern),
                        _ => return Err(CommandError::SYNTAX),
                    },
                    _ => return Err(CommandError::SYNTAX),
                };
                Self::List(filter)
            }
            _ => Self::Info(words),
        })
    }

    pub(crate) fn answer(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        match self {
            Self::Count => context.reply().integer(table::commands().count() as i64),
            Self::Info(names) if names.len() == 0 => {
                let mut reply = context.reply();
                reply.array(table::commands().count());
                table::commands().for_each(|spec| describe(&mut reply, spec));
            }
            Self::Info(names) => {
                let start = context.output.mark();
                context.reply().array(names.len());
                for name in names {
                    match table::find_full(name) {
                        Some(spec) => describe(&mut context.reply(), spec),
                        None => context.reply().null(),
                    }
                    context.check_length(start)?;
                }
            }
            Self::Docs(names) if names.len() == 0 => {
                let mut reply = context.reply();
                reply.map(table::commands().count());
                table::commands().for_each(|spec| document(&mut reply, spec));
            }
            Self::Docs(names) => {
                // Names that do not exist are left out.
                let found: Vec<_> = names.filter_map(table::find_full).collect();
                let start = context.output.mark();
                context.reply().map(found.len());
                for spec in found {
                    document(&mut context.reply(), spec);
                    context.check_length(start)?;
                }
            }
            Self::Keys { request, with_flags } => keys::answer(context, request, with_flags)?,
            Self::List(filter) => {
                let mut budget = glob::Budget(context.shared.settings.limits.get(Limit::PatternSteps));
                let mut names = Vec::new();
                for spec in table::SPECS {
                    if filter.accepts(spec, &mut budget)? {
                        names.push(spec);
                    }
                }
                let mut reply = context.reply();
                reply.array(names.len());
                names.iter().for_each(|spec| reply.bulk(spec.name.as_bytes()));
            }
        }
        Ok(())
    }
}

impl Filter<'_> {
    fn accepts(&self, spec: &Spec, budget: &mut glob::Budget) -> Result<bool, CommandError> {
        Ok(match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Category(name) => category::find(name).is_some_and(|index| Categories::of(spec).has(index)),
            Self::Pattern(pattern) => glob::matches(pattern, spec.name.as_bytes(), true, budget)?,
        })
    }
}

/// One element of COMMAND's reply, in the ten fields that Redis 7.0 has.
fn describe(reply: &mut ReplyWriter<'_>, spec: &'static Spec) {
    reply.array(10);
    reply.bulk(spec.name.as_bytes());
    reply.integer(spec.arity);
    let flags: Vec<&str> =
        flag::NAMES.iter().filter(|(bit, _)| spec.has(*bit)).map(|(_, name)| *name).collect();
    reply.set(flags.len());
    flags.iter().for_each(|name| reply.simple(name));
    let (first, last, step) = spec.keys;
    reply.integer(first);
    reply.integer(last);
    reply.integer(step);
    let categories: Vec<_> = Categories::of(spec).names().collect();
    reply.set(categories.len());
    categories.iter().for_each(|name| reply.simple(&format!("@{name}")));
    // Hints for cluster proxies: none.
    reply.set(0);
    keys::specifications(reply, spec);
    reply.set(spec.sub_commands().count());
    spec.sub_commands().for_each(|sub| describe(reply, sub));
}

fn document(reply: &mut ReplyWriter<'_>, spec: &'static Spec) {
    let subs = spec.sub_commands().count();
    let arguments = syntax::arguments(spec);
    let replaced = spec.replaced();
    reply.bulk(spec.name.as_bytes());
    let optional = 3 * usize::from(replaced.is_some()) + usize::from(!arguments.is_empty());
    reply.map(4 + optional + usize::from(subs > 0));
    for (field, text) in [
        ("summary", spec.summary),
        ("since", spec.since),
        ("group", spec.group_name()),
        ("complexity", spec.complexity),
    ] {
        reply.bulk(field.as_bytes());
        reply.bulk(text.as_bytes());
    }
    if let Some((version, by)) = replaced {
        reply.bulk(b"doc_flags");
        reply.set(1);
        reply.simple("deprecated");
        reply.bulk(b"deprecated_since");
        reply.bulk(version.as_bytes());
        reply.bulk(b"replaced_by");
        reply.bulk(by.as_bytes());
    }
    if !arguments.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(reply, &arguments);
    }
    if subs > 0 {
        reply.bulk(b"subcommands");
        reply.map(subs);
        spec.sub_commands().for_each(|sub| document(reply, sub));
    }
}

fn write_arguments(reply: &mut ReplyWriter<'_>, arguments: &[Argument]) {
    reply.array(arguments.len());
    for argument in arguments {
        let texts = [
            ("name", Some(argument.name)),
            ("type", Some(argument.kind.name())),
            ("token", argument.token),
            ("since", argument.since),
            ("deprecated_since", argument.deprecated_since),
        ];
        let is_key = argument.kind == Kind::Value("key");
        let flags: &[&str] = match (argument.is_optional, argument.repeats) {
            (false, Repeats::No) => &[],
            (true, Repeats::No) => &["optional"],
            (false, Repeats::Yes) => &["multiple"],
            (true, Repeats::Yes) => &["optional", "multiple"],
            (false, Repeats::WithToken) => &["multiple", "multiple_token"],
            (true, Repeats::WithToken) => &["optional", "multiple", "multiple_token"],
        };
        let inner = argument.kind.inner();
        let fields = texts.iter().filter(|(_, text)| text.is_some()).count() + usize::from(is_key);
        reply.map(fields + usize::from(!flags.is_empty()) + usize::from(!inner.is_empty()));
        for (field, text) in texts {
            let Some(text) = text else { continue };
            reply.bulk(field.as_bytes());
            if field == "name" {
                reply.bulk(text.to_ascii_lowercase().as_bytes());
            } else {
                reply.bulk(text.as_bytes());
            }
            if field == "type" && is_key {
                reply.bulk(b"key_spec_index");
                reply.integer(argument.key_specification as i64);
            }
        }
        if !flags.is_empty() {
            reply.bulk(b"flags");
            reply.set(flags.len());
            flags.iter().for_each(|flag| reply.simple(flag));
        }
        if !inner.is_empty() {
            reply.bulk(b"arguments");
            write_arguments(reply, inner);
        }
    }
}
