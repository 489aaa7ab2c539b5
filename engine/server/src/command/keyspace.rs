//! What do commands on keys do, whatever they hold? DEL, EXPIRE and its kin, RENAME, KEYS, SCAN.

use plumbkv::{ExpireCondition, Lifetime};
use plumbkv_resp::ReplyWriter;

use super::args::{self, Arguments, is};
use super::glob;
use super::table::Id;
use super::{CommandError, Context};
use crate::client_limits::Limit;
use crate::replies::Mark;

/// Commands on keys.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Delete { keys: Arguments<'a> },
    Exists { keys: Arguments<'a> },
    Type { key: &'a [u8] },
    Expire { key: &'a [u8], when: i64, unit_ms: i64, absolute: bool, condition: Condition },
    Remaining { key: &'a [u8], unit_ms: u64 },
    Deadline { key: &'a [u8], unit_ms: u64 },
    Persist { key: &'a [u8] },
    Rename { from: &'a [u8], to: &'a [u8] },
    Keys { pattern: &'a [u8] },
    Scan { cursor: u64, count: usize, pattern: Option<&'a [u8]>, strings: bool },
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
            Id::Exists => return Ok(Self::Exists { keys: words }),
            Id::Scan => return Self::parse_scan(words),
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
            Id::Rename => Self::Rename { from: key, to: words.word() },
            Id::Keys => Self::Keys { pattern: key },
            _ => return Err(CommandError::not_served()),
        })
    }

    fn parse_scan(mut words: Arguments<'a>) -> Result<Self, CommandError> {
        let cursor = std::str::from_utf8(words.word()).ok().and_then(|text| text.parse::<u64>().ok());
        let cursor = cursor.ok_or(CommandError::fixed("ERR invalid cursor"))?;
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
        let database = &context.shared.database;
        match self {
            Self::Delete { keys } => {
                let removed = match keys.len() {
                    1 => i64::from(database.delete(first(keys))?),
                    _ => database.delete_many(&keys.collect::<Vec<_>>())? as i64,
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
                let base_ms = if absolute { 0 } else { context.shared.clock_ms() as i64 };
                let moment = when.checked_mul(unit_ms).and_then(|ms| ms.checked_add(base_ms));
                let moment = moment.ok_or_else(|| CommandError::invalid_expiry(context.name))?;
                expire(context, key, moment, condition)
            }
            Self::Remaining { key, unit_ms } => {
                let now = context.shared.clock_ms();
                let lifetime = database.expiry(key)?;
                context.integer(in_units(lifetime, unit_ms, now))
            }
            Self::Deadline { key, unit_ms } => {
                let lifetime = database.expiry(key)?;
                context.integer(in_units(lifetime, unit_ms, 0))
            }
            Self::Persist { key } => {
                let changed = database.persist(key)?;
                context.flag(changed)
            }
            Self::Rename { from, to } => {
                if database.rename(from, to)? {
                    context.ok()
                } else {
                    Err(CommandError::NO_SUCH_KEY)
                }
            }
            Self::Keys { pattern } => keys(context, pattern),
            Self::Scan { cursor, count, pattern, strings } => scan(context, cursor, count, pattern, strings),
        }
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
    let database = &context.shared.database;
    let less_than_some = condition.some && condition.less;
    if less_than_some && !matches!(database.expiry(key)?, Lifetime::Until(_)) {
        return context.flag(false);
    }
    // A moment before 1970 has passed, whichever it is.
    let changed = database.expire_at(key, moment.max(0) as u64, condition.strongest())?;
    context.flag(changed)
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

fn keys(context: &mut Context<'_>, pattern: &[u8]) -> Result<(), CommandError> {
    let mut list = List::begin(context, (pattern != b"*").then_some(pattern));
    let mut cursor = 0;
    loop {
        cursor = list.walk(context, cursor, KEYS_AT_ONCE)?.cursor;
        if cursor == 0 {
            return list.end(context, None);
        }
    }
}

fn scan(
    context: &mut Context<'_>,
    mut cursor: u64,
    mut count: usize,
    pattern: Option<&[u8]>,
    strings: bool,
) -> Result<(), CommandError> {
    let mut list = List::begin(context, pattern);
    list.takes_any = strings;
    loop {
        let step = list.walk(context, cursor, count.min(KEYS_AT_ONCE))?;
        cursor = step.cursor;
        count = count.saturating_sub(step.passed);
        // A step that meets nothing has gone past many empty shards, and its client waits.
        if cursor == 0 || count == 0 || step.passed == 0 {
            return list.end(context, Some(cursor));
        }
    }
}

/// Keys that are copied under a shard's lock before room is made for them in the reply.
const KEYS_AT_ONCE: usize = 16;

/// An array of keys whose length is known only at its end.
struct List<'a> {
    start: Mark,
    count: usize,
    pattern: Option<&'a [u8]>,
    budget: glob::Budget,
    takes_any: bool,
    found: Vec<u8>,
}

/// What one part of a walk came to.
struct Step {
    cursor: u64,
    passed: usize,
}

impl<'a> List<'a> {
    fn begin(context: &Context<'_>, pattern: Option<&'a [u8]>) -> Self {
        let budget = glob::Budget(context.shared.settings.limits.get(Limit::PatternSteps));
        Self { start: context.output.mark(), count: 0, pattern, budget, takes_any: true, found: Vec::new() }
    }

    fn walk(&mut self, context: &mut Context<'_>, cursor: u64, count: usize) -> Result<Step, CommandError> {
        let Self { pattern, budget, takes_any, found, .. } = self;
        let (version, mut matched, mut passed) = (context.client.version, 0, 0);
        let mut failure = None;
        let cursor = context.shared.database.scan(cursor, count, &mut |key| {
            passed += 1;
            if !*takes_any || failure.is_some() {
                return;
            }
            match pattern.map_or(Ok(true), |pattern| glob::matches(pattern, key, false, budget)) {
                Ok(true) => {
                    ReplyWriter::new(found, version).bulk(key);
                    matched += 1;
                }
                Ok(false) => {}
                Err(too_costly) => failure = Some(too_costly.into()),
            }
        })?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        context.output.make_room(context.shared, found.len())?;
        context.output.bytes.append(found);
        context.check_length(self.start)?;
        self.count += matched;
        Ok(Step { cursor, passed })
    }

    /// Writes what stands before the keys.
    fn end(self, context: &mut Context<'_>, cursor: Option<u64>) -> Result<(), CommandError> {
        let mut head = Vec::new();
        let mut reply = ReplyWriter::new(&mut head, context.client.version);
        if let Some(cursor) = cursor {
            reply.array(2);
            reply.bulk(cursor.to_string().as_bytes());
        }
        reply.array(self.count);
        context.output.make_room(context.shared, head.len())?;
        context.output.bytes.splice(self.start.bytes..self.start.bytes, head);
        Ok(())
    }
}

#[cfg(test)]
#[path = "keyspace_test.rs"]
mod tests;
