//! What do commands on keys do, whatever they hold? DEL, EXPIRE and its kin, RENAME, COPY, KEYS, SCAN.

use plumbkv::{ExpireCondition, Fetched, Lifetime, RenameOptions, RenameOutcome};

use super::args::{self, Arguments, is};
use super::listing::{keys, scan};
use super::table::{self, Id};
use super::{CommandError, Context, dump};

/// Commands on keys.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Delete {
        keys: Arguments<'a>,
    },
    Exists {
        keys: Arguments<'a>,
    },
    Type {
        key: &'a [u8],
    },
    Expire {
        key: &'a [u8],
        when: i64,
        unit_ms: i64,
        absolute: bool,
        condition: Condition,
    },
    Remaining {
        key: &'a [u8],
        unit_ms: u64,
    },
    Deadline {
        key: &'a [u8],
        unit_ms: u64,
    },
    Persist {
        key: &'a [u8],
    },
    Rename {
        from: &'a [u8],
        to: &'a [u8],
        keep_target: bool,
    },
    /// Without a number to the client's own database.
    Copy {
        from: &'a [u8],
        to: &'a [u8],
        number: Option<u8>,
        keep_target: bool,
    },
    Move {
        key: &'a [u8],
        number: &'a [u8],
    },
    Random,
    Encoding {
        key: &'a [u8],
    },
    References {
        key: &'a [u8],
    },
    Frequency {
        key: &'a [u8],
    },
    IdleTime {
        key: &'a [u8],
    },
    ObjectHelp,
    Dump {
        key: &'a [u8],
    },
    Restore(dump::Restore<'a>),
    Keys {
        pattern: &'a [u8],
    },
    Scan {
        cursor: u64,
        count: usize,
        pattern: Option<&'a [u8]>,
        strings: bool,
    },
}

/// The conditions of EXPIRE. The store has one at a time; of the pairs that Redis permits only XX with LT says
/// more than its parts, since GT alone already leaves a key without a lifetime alone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Condition {
    none: bool,
    some: bool,
    greater: bool,
    less: bool,
}

/// Keys looked at by one SCAN call unless COUNT says otherwise, as in Redis.
const SCAN_COUNT: usize = 10;

impl<'a> Command<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        match id {
            Id::Del | Id::Unlink => return Ok(Self::Delete { keys: words }),
            Id::Exists | Id::Touch => return Ok(Self::Exists { keys: words }),
            Id::Scan => return Self::parse_scan(words),
            Id::Randomkey => return Ok(Self::Random),
            Id::ObjectHelp => return Ok(Self::ObjectHelp),
            _ => {}
        }
        let key = words.word();
        Ok(match id {
            Id::Type => Self::Type { key },
            Id::Expire | Id::Pexpire | Id::Expireat | Id::Pexpireat => {
                let number = words.word();
                let condition = Condition::parse(words)?;
                let unit_ms = if matches!(id, Id::Expire | Id::Expireat) { 1000 } else { 1 };
                let absolute = matches!(id, Id::Expireat | Id::Pexpireat);
                Self::Expire { key, when: args::integer(number)?, unit_ms, absolute, condition }
            }
            Id::Ttl => Self::Remaining { key, unit_ms: 1000 },
            Id::Pttl => Self::Remaining { key, unit_ms: 1 },
            Id::Expiretime => Self::Deadline { key, unit_ms: 1000 },
            Id::Pexpiretime => Self::Deadline { key, unit_ms: 1 },
            Id::Persist => Self::Persist { key },
            Id::Rename => Self::Rename { from: key, to: words.word(), keep_target: false },
            Id::Renamenx => Self::Rename { from: key, to: words.word(), keep_target: true },
            Id::Copy => Self::parse_copy(key, words)?,
            Id::Move => Self::Move { key, number: words.word() },
            Id::Keys => Self::Keys { pattern: key },
            Id::ObjectEncoding => Self::Encoding { key },
            Id::ObjectRefcount => Self::References { key },
            Id::ObjectFreq => Self::Frequency { key },
            Id::ObjectIdletime => Self::IdleTime { key },
            Id::Dump => Self::Dump { key },
            Id::Restore => Self::Restore(dump::Restore::parse(key, words)?),
            _ => return Err(CommandError::not_served()),
        })
    }

    fn parse_copy(from: &'a [u8], mut words: Arguments<'a>) -> Result<Self, CommandError> {
        let to = words.word();
        let (mut keep_target, mut into) = (true, None);
        while let Some(option) = words.next() {
            if is(option, "REPLACE") {
                keep_target = false;
            } else if is(option, "DB")
                && let Some(number) = words.next()
            {
                into = Some(args::database(i64::from(args::short_integer(number)?))?);
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(Self::Copy { from, to, number: into, keep_target })
    }

    fn parse_scan(mut words: Arguments<'a>) -> Result<Self, CommandError> {
        let cursor = parse_cursor(words.word()).ok_or(CommandError::fixed("ERR invalid cursor"))?;
        let (mut count, mut pattern, mut strings) = (SCAN_COUNT, None, true);
        while let Some(option) = words.next() {
            let value = words.next().ok_or(CommandError::SYNTAX)?;
            if is(option, "COUNT") {
                let number = args::integer(value)?;
                count = usize::try_from(number).ok().filter(|&n| n > 0).ok_or(CommandError::SYNTAX)?;
            } else if is(option, "MATCH") {
                pattern = (value != b"*").then_some(value);
            } else if is(option, "TYPE") {
                strings = is(value, "string");
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(Self::Scan { cursor, count, pattern, strings })
    }

    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        let database = context.keys();
        match self {
            Self::Delete { keys } => {
                let removed = match keys.len() {
                    1 => {
                        let is_removed = database.delete(first(keys))?;
                        if is_removed {
                            context.changed(first(keys));
                        }
                        i64::from(is_removed)
                    }
                    _ => delete_many(context, &keys.collect::<Vec<_>>())?,
                };
                context.integer(removed)
            }
            Self::Exists { keys } => {
                let found = match keys.len() {
                    1 => i64::from(database.exists(first(keys))?),
                    _ => database.count_many(&keys.collect::<Vec<_>>())? as i64,
                };
                context.integer(found)
            }
            Self::Type { key } => {
                let exists = database.exists(key)?;
                context.reply().simple(if exists { "string" } else { "none" });
                Ok(())
            }
            Self::Expire { key, when, unit_ms, absolute, condition } => {
                let base_ms = if absolute { 0 } else { database.now_ms() as i64 };
                let moment = when.checked_mul(unit_ms).and_then(|ms| ms.checked_add(base_ms));
                let moment = moment.ok_or_else(|| CommandError::invalid_expiry(context.name))?;
                expire(context, key, moment, condition)
            }
            Self::Remaining { key, unit_ms } => {
                let now = database.now_ms();
                let lifetime = database.expiry(key)?;
                context.integer(in_units(lifetime, unit_ms, now))
            }
            Self::Deadline { key, unit_ms } => {
                let lifetime = database.expiry(key)?;
                context.integer(in_units(lifetime, unit_ms, 0))
            }
            Self::Persist { key } => {
                let changed = database.persist(key)?;
                if changed {
                    context.changed(key);
                }
                context.flag(changed)
            }
            Self::Rename { from, to, keep_target } => {
                let options = RenameOptions { keep_target, ..RenameOptions::default() };
                match database.rename_with(from, database, to, options)? {
                    RenameOutcome::Missing => Err(CommandError::NO_SUCH_KEY),
                    RenameOutcome::Exists => context.flag(false),
                    RenameOutcome::Done => {
                        // A key that gets its own name is not changed.
                        if from != to {
                            context.changed(from);
                            context.changed(to);
                        }
                        if keep_target { context.flag(true) } else { context.ok() }
                    }
                }
            }
            Self::Copy { from, to, number, keep_target } => {
                let number = number.unwrap_or(context.client.database);
                if from == to && number == context.client.database {
                    return Err(CommandError::fixed("ERR source and destination objects are the same"));
                }
                let target = context.keys_of(number);
                let options = RenameOptions { keep_source: true, keep_target };
                let outcome = database.rename_with(from, target, to, options)?;
                let is_done = outcome == RenameOutcome::Done;
                if is_done {
                    context.changed_in(target, to);
                }
                context.flag(is_done)
            }
            Self::Move { key, number } => {
                let number = i64::from(args::short_integer(number)?);
                let number = args::database(number)?;
                if number == context.client.database {
                    return Err(CommandError::fixed("ERR source and destination objects are the same"));
                }
                let target = context.keys_of(number);
                let options = RenameOptions { keep_target: true, ..RenameOptions::default() };
                let is_done = database.rename_with(key, target, key, options)? == RenameOutcome::Done;
                if is_done {
                    context.changed(key);
                    context.changed_in(target, key);
                }
                context.flag(is_done)
            }
            Self::Random => match database.random_key()? {
                Some(key) => context.bulk(&key),
                None => context.value_or_null(None),
            },
            Self::Encoding { key } => match database.fetch(key, encoding)? {
                Some(name) => context.bulk(name.as_bytes()),
                None => context.value_or_null(None),
            },
            // Values are not shared among keys.
            Self::References { key } => match database.exists(key)? {
                true => context.integer(1),
                false => context.value_or_null(None),
            },
            Self::Frequency { key } => match is_there(context, key)? {
                true if is_lfu(context) => {
                    let counter = database.frequency(key).unwrap_or(0);
                    context.integer(i64::from(counter))
                }
                true => Err(NO_FREQUENCY),
                false => context.value_or_null(None),
            },
            Self::IdleTime { key } => match is_there(context, key)? {
                true if is_lfu(context) => Err(NO_IDLE_TIME_UNDER_LFU),
                true => Err(NO_IDLE_TIME),
                false => context.value_or_null(None),
            },
            Self::ObjectHelp => {
                super::admin::help(context, table::spec(Id::Object));
                Ok(())
            }
            Self::Dump { key } => dump::dump(context, key),
            Self::Restore(restore) => restore.execute(context),
            Self::Keys { pattern } => keys(context, pattern),
            Self::Scan { cursor, count, pattern, strings } => scan(context, cursor, count, pattern, strings),
        }
    }
}

const NO_FREQUENCY: CommandError = CommandError::fixed(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
     policies at runtime LRU and LFU data will take some time to adjust.",
);
const NO_IDLE_TIME_UNDER_LFU: CommandError = CommandError::fixed(
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at \
     runtime LRU and LFU data will take some time to adjust.",
);
/// The order of accesses is kept, their time is not.
const NO_IDLE_TIME: CommandError =
    CommandError::fixed("ERR idle time not tracked: keys have no time of access");

/// Whether a key exists, without counting as an access.
fn is_there(context: &Context<'_>, key: &[u8]) -> Result<bool, CommandError> {
    Ok(context.keys().expiry(key)? != Lifetime::Missing)
}

fn is_lfu(context: &Context<'_>) -> bool {
    context.shared.database.policy().is_lfu()
}

/// What Redis would call the form in which it holds a value.
fn encoding(found: Fetched<'_>) -> &'static str {
    /// Longer values have an allocation of their own there.
    const EMBEDDED: usize = 44;
    match found {
        Fetched::Bytes(bytes) if args::parse_integer(bytes).is_some() => "int",
        Fetched::Bytes(bytes) if bytes.len() <= EMBEDDED => "embstr",
        Fetched::Value(value) if value.len() <= EMBEDDED => "embstr",
        Fetched::Bytes(_) | Fetched::Value(_) => "raw",
    }
}

fn first(mut keys: Arguments<'_>) -> &[u8] {
    keys.word()
}

fn expire(
    context: &mut Context<'_>,
    key: &[u8],
    moment: i64,
    condition: Condition,
) -> Result<(), CommandError> {
    let database = context.keys();
    let less_than_some = condition.some && condition.less;
    if less_than_some && !matches!(database.expiry(key)?, Lifetime::Until(_)) {
        return context.flag(false);
    }
    // A moment before 1970 has passed, whichever it is.
    let changed = database.expire_at(key, moment.max(0) as u64, condition.strongest())?;
    if changed {
        context.changed(key);
    }
    context.flag(changed)
}

/// DEL and UNLINK of several keys: the number of those that existed.
fn delete_many(context: &Context<'_>, keys: &[&[u8]]) -> Result<i64, CommandError> {
    let database = context.keys();
    let is_tracked = !context.shared.tracking.is_empty();
    if context.shared.watches.is_empty() && !is_tracked {
        return Ok(database.delete_many(keys)? as i64);
    }
    // A watched key that did not exist is not changed.
    let mut existed = Vec::new();
    for key in keys.iter().filter(|key| is_tracked || context.shared.watches.has(&database.stored(key))) {
        if database.exists(key)? {
            existed.push(*key);
        }
    }
    let removed = database.delete_many(keys)?;
    existed.into_iter().for_each(|key| context.changed(key));
    Ok(removed as i64)
}

/// TTL and EXPIRETIME round to the nearest second, as in Redis; -1 is no lifetime, -2 no key.
fn in_units(lifetime: Lifetime, unit_ms: u64, base_ms: u64) -> i64 {
    match lifetime {
        Lifetime::Missing => -2,
        Lifetime::Forever => -1,
        Lifetime::Until(moment) => {
            let left_ms = moment.saturating_sub(base_ms);
            ((left_ms + unit_ms / 2) / unit_ms) as i64
        }
    }
}

/// Reads a cursor as Redis does, by C's `strtoul`: a sign is allowed, and the text ends at its first NUL.
fn parse_cursor(word: &[u8]) -> Option<u64> {
    let text = word.split(|&byte| byte == 0).next().unwrap_or_default();
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        [] => return Some(0),
        digits => (false, digits),
    };
    // `parse` alone would take a second sign.
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if is_negative { number.wrapping_neg() } else { number })
}

impl Condition {
    fn parse(words: Arguments<'_>) -> Result<Self, CommandError> {
        let mut condition = Self::default();
        for word in words {
            if is(word, "NX") {
                condition.none = true;
            } else if is(word, "XX") {
                condition.some = true;
            } else if is(word, "GT") {
                condition.greater = true;
            } else if is(word, "LT") {
                condition.less = true;
            } else {
                return Err(CommandError::quoting("ERR Unsupported option ", word, ""));
            }
        }
        if condition.none && (condition.some || condition.greater || condition.less) {
            return Err(CommandError::fixed(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if condition.greater && condition.less {
            return Err(CommandError::fixed("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(condition)
    }

    fn strongest(self) -> ExpireCondition {
        match self {
            Self { none: true, .. } => ExpireCondition::IfNone,
            Self { greater: true, .. } => ExpireCondition::IfGreater,
            Self { less: true, .. } => ExpireCondition::IfLess,
            Self { some: true, .. } => ExpireCondition::IfSome,
            _ => ExpireCondition::Always,
        }
    }
}

#[cfg(test)]
#[path = "keyspace_test.rs"]
mod tests;
