//! The outline of an index: which consecutive keys become a node with a prefix of their own.
//!
//! It follows from two numbers per key, its length and the length of what it shares with the key
//! before, so no key is held: an index of long keys needs memory for what is distinct in them only.

use super::block::{BlockCursor, Damage};
use super::block_builder::shared_len;
use std::ops::Range;

/// Bytes of a head.
const HEAD: usize = 8;

/// More keys than this with equal heads become a node, because a search would have to compare tails.
const MOST_EQUAL: usize = 16;

/// So do fewer keys where a node saves more bytes than this.
const LEAST_SAVED: usize = 256;

/// Keys that nest deeper stay together: their tails are compared, and nothing recurses without end.
const MOST_LEVELS: usize = 48;

/// A node: the blocks whose keys begin with the same prefix.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) blocks: Range<usize>,
    /// Length of the prefix, that of the nodes above included.
    pub(super) shared: usize,
    /// None of a leaf.
    pub(super) children: Vec<Outline>,
}

/// A key: its length, and that of what it shares with the key before.
#[derive(Clone, Copy)]
struct Key {
    len: usize,
    shared: usize,
}

/// The outline of an index, from its bytes.
pub(super) fn outline(bytes: &[u8]) -> Result<Outline, Damage> {
    let mut cursor = BlockCursor::new(bytes)?;
    cursor.first()?;
    let (mut keys, mut before) = (Vec::new(), Vec::new());
    while let Some(record) = cursor.record() {
        // Equal where the versions of one key fill several blocks.
        if record.key < &before[..] {
            return Err("an index is out of order");
        }
        let shared = shared_len(&before, record.key);
        keys.push(Key { len: record.key.len(), shared });
        before.truncate(shared);
        before.extend_from_slice(&record.key[shared..]);
        cursor.next()?;
    }
    Ok(node(&keys, 0..keys.len(), 0))
}

fn node(keys: &[Key], blocks: Range<usize>, level: usize) -> Outline {
    let shared = shared_by_all(keys, &blocks);
    let runs = if level < MOST_LEVELS { runs(keys, &blocks, shared) } else { Vec::new() };
    let mut children = Vec::new();
    let mut end = blocks.start;
    for run in runs {
        if end < run.start {
            children.push(node(keys, end..run.start, level + 1));
        }
        end = run.end;
        children.push(node(keys, run, level + 1));
    }
    if !children.is_empty() && end < blocks.end {
        children.push(node(keys, end..blocks.end, level + 1));
    }
    Outline { blocks, shared, children }
}

/// The length of what all keys of a range share; of one key alone, its length.
fn shared_by_all(keys: &[Key], blocks: &Range<usize>) -> usize {
    let own = keys.get(blocks.start).map_or(0, |key| key.len);
    let others = keys.get(blocks.start + 1..blocks.end).unwrap_or_default();
    others.iter().map(|key| key.shared).min().unwrap_or(own)
}

/// The stretches of long keys with equal heads behind a prefix that are worth a node.
fn runs(keys: &[Key], blocks: &Range<usize>, shared: usize) -> Vec<Range<usize>> {
    let is_long = |at: usize| keys[at].len > shared + HEAD;
    let joins = |at: usize| keys[at].shared >= shared + HEAD && is_long(at) && is_long(at - 1);
    let mut runs = Vec::new();
    let mut at = blocks.start;
    while at < blocks.end {
        let begin = at;
        at += 1;
        while at < blocks.end && joins(at) {
            at += 1;
        }
        let run = begin..at;
        let saved = (run.len() - 1) * shared_by_all(keys, &run).saturating_sub(shared + HEAD);
        if run.len() > MOST_EQUAL || (run.len() > 1 && saved > LEAST_SAVED) {
            runs.push(run);
        }
    }
    runs
}
