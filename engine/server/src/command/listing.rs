//! How are keys listed, by KEYS and SCAN, when nobody knows beforehand how many there are?
//!
//! In memory mode a few at a time: they are copied under a shard's lock, and room is made for them once it is free. A durable store holds no lock
//! meanwhile, and remembers where each call ended: so KEYS goes through a snapshot, and SCAN asks once.

use std::ops::ControlFlow;

use plumbkv::NonBlocking;
use plumbkv_resp::ReplyWriter;

use super::{BULK_HEAD, CommandError, Context, glob};
use crate::client_limits::Limit;
use crate::replies::Mark;

/// KEYS.
pub(super) fn keys(context: &mut Context<'_>, pattern: &[u8]) -> Result<(), CommandError> {
    let mut list = List::begin(context, (pattern != b"*").then_some(pattern));
    let shared = context.shared;
    if shared.database.is_durable() {
        // However much of it is in memory: it takes as long as there are keys.
        if NonBlocking::is_on() {
            return Err(CommandError::WOULD_BLOCK);
        }
        let mut failure = None;
        context.keys().for_each_key(|key| {
            failure = list.take(context, key).err();
            if failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        return failure.map_or_else(|| list.end(context, None), Err);
    }
    let mut cursor = 0;
    loop {
        cursor = list.walk(context, cursor, KEYS_AT_ONCE)?.cursor;
        if cursor == 0 {
            return list.end(context, None);
        }
    }
}

/// SCAN.
pub(super) fn scan(
    context: &mut Context<'_>,
    mut cursor: u64,
    mut count: usize,
    pattern: Option<&[u8]>,
    strings: bool,
) -> Result<(), CommandError> {
    let mut list = List::begin(context, pattern);
    list.takes_any = strings;
    let shared = context.shared;
    if shared.database.is_durable() {
        if count > KEYS_BESIDE && NonBlocking::is_on() {
            return Err(CommandError::WOULD_BLOCK);
        }
        let mut failure = None;
        let cursor = context.keys().scan(cursor, count.min(KEYS_A_CALL), &mut |key| {
            if failure.is_none() {
                failure = list.take(context, key).err();
            }
        })?;
        return failure.map_or_else(|| list.end(context, Some(cursor)), Err);
    }
    loop {
        let step = list.walk(context, cursor, count.min(KEYS_AT_ONCE))?;
        cursor = step.cursor;
        count = count.saturating_sub(step.passed);
        // A nearly empty store answers with its first call, as Redis does: there are 16 such steps at most.
        if step.passed == 0 {
            context.client.extra_work += EMPTY_STEP_WORK;
        }
        if cursor == 0 || count == 0 {
            return list.end(context, Some(cursor));
        }
    }
}

/// Requests whose time a step takes that passes 256 empty shards.
const EMPTY_STEP_WORK: usize = 16;

/// Keys that are copied under a shard's lock before room is made for them in the reply.
const KEYS_AT_ONCE: usize = 16;

/// Keys that a thread looks at while other connections wait for it.
const KEYS_BESIDE: usize = 128;

/// Keys of a durable store that one call of SCAN looks at, whatever COUNT says: other clients wait.
const KEYS_A_CALL: usize = 10_000;

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
        let cursor = context.keys().scan(cursor, count, &mut |key| {
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

    /// Writes a key, if it is wanted.
    fn take(&mut self, context: &mut Context<'_>, key: &[u8]) -> Result<(), CommandError> {
        let Self { pattern, budget, takes_any, .. } = self;
        if !*takes_any || !pattern.map_or(Ok(true), |pattern| glob::matches(pattern, key, false, budget))? {
            return Ok(());
        }
        context.output.make_room(context.shared, key.len() + BULK_HEAD)?;
        context.reply().bulk(key);
        self.count += 1;
        context.check_length(self.start)
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
