//! What do commands on values do? GET, SET and its kin, MGET, MSET, APPEND, the counters. Those on parts of values are in `range`.

use plumbkv::{Condition, Expiry, SetOptions};

use super::args::{self, Arguments, is};
use super::table::{self, Id};
use super::{CommandError, Context, float, lcs, range};
use crate::client_limits::Limit;

/// Commands on values.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Get { key: &'a [u8] },
    Set { key: &'a [u8], value: &'a [u8], options: Options<'a> },
    SetNx { key: &'a [u8], value: &'a [u8] },
    GetSet { key: &'a [u8], value: &'a [u8] },
    GetDel { key: &'a [u8] },
    GetEx { key: &'a [u8], lifetime: Lifetime<'a> },
    MGet { keys: Arguments<'a> },
    MSet { pairs: Arguments<'a>, only_absent: bool },
    Append { key: &'a [u8], value: &'a [u8] },
    StrLen { key: &'a [u8] },
    GetRange { key: &'a [u8], start: i64, end: i64 },
    SetRange { key: &'a [u8], offset: i64, part: &'a [u8] },
    Add { key: &'a [u8], delta: i64 },
    AddFloat { key: &'a [u8], by: &'a [u8] },
    Lcs { keys: [&'a [u8]; 2], options: lcs::Options },
}

/// The options of SET.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    condition: Option<Condition>,
    lifetime: Lifetime<'a>,
    answer_previous: bool,
}

/// What is to become of the key's lifetime. The number is read when the command runs, since Redis looks at the
/// key before it looks at the number of GETEX.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Lifetime<'a> {
    /// No option was given.
    #[default]
    Unmentioned,
    /// KEEPTTL.
    Keep,
    /// PERSIST.
    Remove,
    /// EX, PX, EXAT or PXAT with its number.
    Until { number: &'a [u8], unit_ms: i64, absolute: bool },
}

impl<'a> Command<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        if id == Id::Mget {
            return Ok(Self::MGet { keys: words });
        }
        if id == Id::Mset || id == Id::Msetnx {
            if words.len() % 2 == 1 {
                return Err(CommandError::wrong_arity(table::spec(id).name));
            }
            return Ok(Self::MSet { pairs: words, only_absent: id == Id::Msetnx });
        }
        let key = words.word();
        Ok(match id {
            Id::Get => Self::Get { key },
            Id::Set => {
                let value = words.word();
                let options =
                    if words.len() == 0 { Options::default() } else { Options::parse(words, Family::Set)? };
                Self::Set { key, value, options }
            }
            Id::Setex | Id::Psetex => {
                let (number, value) = (words.word(), words.word());
                let unit_ms = if id == Id::Setex { 1000 } else { 1 };
                let lifetime = Lifetime::Until { number, unit_ms, absolute: false };
                Self::Set { key, value, options: Options { lifetime, ..Options::default() } }
            }
            Id::Setnx => Self::SetNx { key, value: words.word() },
            Id::Getset => Self::GetSet { key, value: words.word() },
            Id::Getdel => Self::GetDel { key },
            Id::Getex => Self::GetEx { key, lifetime: Options::parse(words, Family::GetEx)?.lifetime },
            Id::Append => Self::Append { key, value: words.word() },
            Id::Strlen => Self::StrLen { key },
            Id::Getrange | Id::Substr => {
                Self::GetRange { key, start: words.integer()?, end: words.integer()? }
            }
            Id::Setrange => Self::SetRange { key, offset: words.integer()?, part: words.word() },
            Id::Lcs => Self::Lcs { keys: [key, words.word()], options: lcs::Options::parse(words)? },
            Id::Incrbyfloat => Self::AddFloat { key, by: words.word() },
            Id::Incr => Self::Add { key, delta: 1 },
            Id::Decr => Self::Add { key, delta: -1 },
            Id::Incrby => Self::Add { key, delta: words.integer()? },
            Id::Decrby => {
                let delta = words.integer()?.checked_neg();
                Self::Add { key, delta: delta.ok_or(CommandError::fixed("ERR decrement would overflow"))? }
            }
            _ => return Err(CommandError::not_served()),
        })
    }

    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        let database = context.keys();
        match self {
            Self::Get { key } => context.value_of(key),
            Self::Set { key, value, options } => set(context, key, value, options),
            Self::SetNx { key, value } => {
                let options = SetOptions { condition: Condition::IfAbsent, ..SetOptions::default() };
                let outcome = database.set_with(key, value, options)?;
                if outcome.written {
                    context.changed(key);
                }
                context.flag(outcome.written)
            }
            Self::GetSet { key, value } => {
                let options = SetOptions { want_previous: true, ..SetOptions::default() };
                let outcome = database.set_with(key, value, options)?;
                context.changed(key);
                context.value_or_null(outcome.previous)
            }
            Self::GetDel { key } => {
                let value = database.take(key)?;
                if value.is_some() {
                    context.changed(key);
                }
                context.value_or_null(value)
            }
            Self::GetEx { key, lifetime } => get_and_expire(context, key, lifetime),
            Self::MGet { keys } => context.values_of(&keys.collect::<Vec<_>>()),
            Self::MSet { mut pairs, only_absent } => {
                let mut list = Vec::with_capacity(pairs.len() / 2);
                while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
                    list.push((key, value));
                }
                let is_written = if only_absent {
                    database.set_many_if_absent(&list)?
                } else {
                    database.set_many(&list)?;
                    true
                };
                if is_written {
                    list.iter().for_each(|(key, _)| context.changed(key));
                }
                if only_absent { context.flag(is_written) } else { context.ok() }
            }
            Self::Append { key, value } => {
                let longest = context.shared.settings.limits.count(Limit::Bulk);
                if longest < plumbkv::MAX_VALUE_BYTES
                    && database.value_len(key)?.saturating_add(value.len()) > longest
                {
                    return Err(CommandError::from(plumbkv::Error::ValueTooLong { len: 0, max: longest }));
                }
                let length = database.append(key, value)?;
                context.changed(key);
                context.integer(length as i64)
            }
            Self::StrLen { key } => {
                let length = database.value_len(key)?;
                context.integer(length as i64)
            }
            Self::GetRange { key, start, end } => range::get(context, key, start, end),
            Self::SetRange { key, offset, part } => range::set(context, key, offset, part),
            Self::Lcs { keys, options } => lcs::lcs(context, keys, options),
            Self::AddFloat { key, by } => float::increment(context, key, by),
            Self::Add { key, delta } => {
                let value = database.increment(key, delta)?;
                context.changed(key);
                context.integer(value)
            }
        }
    }
}

fn set(
    context: &mut Context<'_>,
    key: &[u8],
    value: &[u8],
    options: Options<'_>,
) -> Result<(), CommandError> {
    let database = context.keys();
    let expiry = options.lifetime.resolve(context)?.unwrap_or(Expiry::Clear);
    let plain = options.condition.is_none() && !options.answer_previous && matches!(expiry, Expiry::Clear);
    if plain {
        database.set(key, value)?;
        context.changed(key);
        return context.ok();
    }
    let outcome = database.set_with(
        key,
        value,
        SetOptions {
            condition: options.condition.unwrap_or(Condition::Always),
            expiry,
            want_previous: options.answer_previous,
        },
    )?;
    if outcome.written {
        context.changed(key);
    }
    if options.answer_previous {
        context.value_or_null(outcome.previous)
    } else if outcome.written {
        context.ok()
    } else {
        context.value_or_null(None)
    }
}

fn get_and_expire(context: &mut Context<'_>, key: &[u8], lifetime: Lifetime<'_>) -> Result<(), CommandError> {
    let database = context.keys();
    let expiry = match lifetime.resolve(context) {
        Ok(None) => return context.value_of(key),
        Ok(Some(expiry)) => expiry,
        Err(error) if database.exists(key)? => return Err(error),
        Err(_) => return context.value_or_null(None),
    };
    // PERSIST changes no key that has no lifetime. That matters to watches alone.
    let is_change = expiry != Expiry::Clear
        || context.shared.watches.is_empty()
        || matches!(database.expiry(key)?, plumbkv::Lifetime::Until(_));
    let value = database.get_and_expire(key, expiry)?;
    if value.is_some() && is_change {
        context.changed(key);
    }
    context.value_or_null(value)
}

/// Which command's options are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Set,
    GetEx,
}

impl<'a> Options<'a> {
    fn parse(mut words: Arguments<'a>, family: Family) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let set = family == Family::Set;
        while let Some(word) = words.next() {
            let free = matches!(options.lifetime, Lifetime::Unmentioned);
            if set && is(word, "NX") && !matches!(options.condition, Some(Condition::IfPresent)) {
                options.condition = Some(Condition::IfAbsent);
            } else if set && is(word, "XX") && !matches!(options.condition, Some(Condition::IfAbsent)) {
                options.condition = Some(Condition::IfPresent);
            } else if set && is(word, "GET") {
                options.answer_previous = true;
            } else if set && is(word, "KEEPTTL") && (free || matches!(options.lifetime, Lifetime::Keep)) {
                options.lifetime = Lifetime::Keep;
            } else if !set && is(word, "PERSIST") && (free || matches!(options.lifetime, Lifetime::Remove)) {
                options.lifetime = Lifetime::Remove;
            } else if let Some((unit_ms, absolute)) = deadline_option(word)
                && (free || options.lifetime.is_given_as(unit_ms, absolute))
            {
                // Given twice, the last one holds.
                let number = words.next().ok_or(CommandError::SYNTAX)?;
                options.lifetime = Lifetime::Until { number, unit_ms, absolute };
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(options)
    }
}

/// Unit in milliseconds, and whether the number is a moment rather than a duration.
fn deadline_option(word: &[u8]) -> Option<(i64, bool)> {
    [("EX", 1000, false), ("PX", 1, false), ("EXAT", 1000, true), ("PXAT", 1, true)]
        .into_iter()
        .find_map(|(name, unit_ms, absolute)| is(word, name).then_some((unit_ms, absolute)))
}

impl Lifetime<'_> {
    /// Whether the same option has given it already.
    fn is_given_as(self, unit: i64, is_moment: bool) -> bool {
        matches!(self, Self::Until { unit_ms, absolute, .. } if (unit_ms, absolute) == (unit, is_moment))
    }

    /// What the store is to do; `None` when nothing was said.
    fn resolve(self, context: &Context<'_>) -> Result<Option<Expiry>, CommandError> {
        Ok(match self {
            Self::Unmentioned => None,
            Self::Keep => Some(Expiry::Keep),
            Self::Remove => Some(Expiry::Clear),
            Self::Until { number, unit_ms, absolute } => {
                let invalid = || CommandError::invalid_expiry(context.name);
                let number = args::integer(number)?;
                if number <= 0 {
                    return Err(invalid());
                }
                let base_ms = if absolute { 0 } else { context.keys().now_ms() as i64 };
                let moment = number.checked_mul(unit_ms).and_then(|ms| ms.checked_add(base_ms));
                Some(Expiry::At(moment.ok_or_else(invalid)? as u64))
            }
        })
    }
}

#[cfg(test)]
#[path = "string_test.rs"]
mod tests;
