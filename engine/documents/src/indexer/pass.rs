//! A pass: the documents changed since the last commit, as one snapshot has them.
//!
//! The commit carries the snapshot's version; searcher and snapshot are published together. Then the
//! journal entries are deleted, unless a rebuild that began earlier still needs them.

use std::collections::HashSet;
use std::sync::Arc;

use plumbkv::{Batch, Direction, Snapshot};
use tantivy::Term;
use xxhash_rust::xxh3::xxh3_128;

use super::Open;
use crate::collection::{Collection, Published};
use crate::error::Result;
use crate::keys;
use crate::stored::{self, changes};

/// Journal entries deleted by one batch.
const DELETED_AT_ONCE: usize = 1_000;

/// The version of the last write that a snapshot holds.
pub(crate) fn version_of(snapshot: &Snapshot, collection: u32) -> Result<u64> {
    let value = snapshot.read(&keys::version(collection), stored::parse_version)?;
    value.unwrap_or(Ok(0))
}

/// Indexes what was written, and publishes it. Journal entries above `floor` stay.
pub(super) fn pass(collection: &Arc<Collection>, open: &mut Open, floor: Option<u64>) -> Result<()> {
    let snapshot = collection.database().snapshot()?;
    let version = version_of(&snapshot, collection.number())?;
    if open.version < version {
        index_changes(collection, open, &snapshot)?;
        let index = Arc::clone(&open.index);
        if let Some(writer) = &mut open.writer {
            index.commit(writer, version)?;
        }
        (open.version, open.is_unsure) = (version, false);
    }
    let (index, searcher) = (Arc::clone(&open.index), open.index.searcher()?);
    collection.publish(Published { index, searcher, snapshot: snapshot.clone(), version });
    delete_journal(collection, &snapshot, floor.map_or(version, |floor| floor.min(version)))
}

/// Indexes the documents that were written since the last commit, each once.
fn index_changes(collection: &Collection, open: &mut Open, snapshot: &Snapshot) -> Result<()> {
    let number = collection.number();
    let writer = match &mut open.writer {
        Some(writer) => writer,
        none => none.insert(open.index.writer()?),
    };
    let fields = &open.index.fields;
    let mut seen = HashSet::new();
    let (from, to) = (keys::journal_entry(number, open.version + 1), keys::behind(&keys::journal(number)));
    let mut entries = snapshot.range(&from[..]..&to[..], Direction::Forward);
    while let Some((_, entry)) = entries.next_pair()? {
        for change in changes(entry) {
            let change = change?;
            if !seen.insert(xxh3_128(change.id.as_bytes())) {
                continue;
            }
            // The first change of this pass tells whether the index has the document.
            if change.existed || open.is_unsure {
                writer.delete_term(Term::from_field_text(fields.id, change.id));
            }
            let found = snapshot.read(&keys::document(number, change.id), |value| {
                stored::parse(value).and_then(|(_, json)| fields.stored_document(change.id, json))
            })?;
            if let Some(document) = found {
                writer.add_document(document?)?;
            }
        }
    }
    Ok(())
}

fn delete_journal(collection: &Collection, snapshot: &Snapshot, version: u64) -> Result<()> {
    let mut batch = Batch::new();
    let mut entries = snapshot.prefix(&keys::journal(collection.number()), Direction::Forward);
    while let Some((key, _)) = entries.next_pair()? {
        if keys::version_of(key).is_none_or(|entry| entry > version) {
            break;
        }
        batch.delete(key);
        if batch.len() >= DELETED_AT_ONCE {
            collection.database().write(&batch)?;
            batch.clear();
        }
    }
    if !batch.is_empty() {
        collection.database().write(&batch)?;
    }
    Ok(())
}
