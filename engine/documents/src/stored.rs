//! Values of the database: a document with its version, and the journal entry of a write.

use crate::error::{Error, Result};

const VERSION_BYTES: usize = 8;

/// A document's value: its version, then its bytes as received.
pub(crate) fn compose(version: u64, json: &[u8]) -> Vec<u8> {
    [&version.to_be_bytes(), json].concat()
}

/// The version and the bytes of a document.
pub(crate) fn parse(value: &[u8]) -> Result<(u64, &[u8])> {
    let (version, json) = value.split_first_chunk::<VERSION_BYTES>().ok_or_else(damaged)?;
    Ok((u64::from_be_bytes(*version), json))
}

/// A version alone.
pub(crate) fn parse_version(value: &[u8]) -> Result<u64> {
    value.try_into().map(u64::from_be_bytes).map_err(|_| damaged())
}

fn damaged() -> Error {
    Error::storage("the store holds a value of the document store that is too short; run `plumbkv check`")
}

/// A document that a write has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change<'a> {
    pub(crate) id: &'a str,
    /// The store held the document before; if not, the index has no entry to be deleted.
    pub(crate) existed: bool,
}

/// Appends a change to a journal entry.
pub(crate) fn push_change(entry: &mut Vec<u8>, change: Change<'_>) {
    let length = change.id.len() as u16;
    entry.extend_from_slice(&((length << 1) | u16::from(change.existed)).to_be_bytes());
    entry.extend_from_slice(change.id.as_bytes());
}

/// The changes of a journal entry.
pub(crate) fn changes(mut entry: &[u8]) -> impl Iterator<Item = Result<Change<'_>>> {
    std::iter::from_fn(move || {
        if entry.is_empty() {
            return None;
        }
        let change = next_change(&mut entry);
        if change.is_none() {
            entry = &[];
        }
        Some(change.ok_or_else(damaged))
    })
}

fn next_change<'a>(entry: &mut &'a [u8]) -> Option<Change<'a>> {
    let (head, rest) = entry.split_first_chunk::<2>()?;
    let head = u16::from_be_bytes(*head);
    let (id, rest) = rest.split_at_checked(usize::from(head >> 1))?;
    *entry = rest;
    Some(Change { id: std::str::from_utf8(id).ok()?, existed: head & 1 == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_ID_BYTES;

    #[test]
    fn a_document_keeps_its_version_and_bytes() {
        assert_eq!(parse(&compose(u64::MAX, b"{}")), Ok((u64::MAX, &b"{}"[..])));
        assert!(parse(b"1234567").is_err() && parse_version(b"123456789").is_err());
    }

    #[test]
    fn a_journal_entry_keeps_its_changes() {
        let long = "x".repeat(MAX_ID_BYTES);
        let all = [
            Change { id: "a", existed: false },
            Change { id: &long, existed: true },
            Change { id: "ü", existed: true },
        ];
        let mut entry = Vec::new();
        all.iter().for_each(|change| push_change(&mut entry, *change));
        assert_eq!(changes(&entry).collect::<Result<Vec<_>>>().unwrap(), all);
        for cut in 1..4 {
            assert!(changes(&entry[..entry.len() - cut]).any(|change| change.is_err()), "{cut}");
        }
    }
}
