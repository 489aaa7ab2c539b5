//! Keys of the database: collections, documents, versions and the journal.
//!
//! | key | value |
//! | --- | --- |
//! | `m` name | the collection's [`Meta`](crate::meta::Meta), as JSON |
//! | `n` | the next collection number, 4 bytes |
//! | `v` collection | the version of the last write, 8 bytes |
//! | `d` collection id | a document: its version and its bytes |
//! | `j` collection version | the ids that the write with this version changed |
//!
//! Numbers are big-endian, so that keys sort by them.

pub(crate) const NEXT_NUMBER: &[u8] = b"n";
pub(crate) const META_PREFIX: &[u8] = b"m";

pub(crate) fn meta(name: &str) -> Vec<u8> {
    [META_PREFIX, name.as_bytes()].concat()
}

fn of_collection(kind: u8, collection: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(48);
    key.push(kind);
    key.extend_from_slice(&collection.to_be_bytes());
    key
}

pub(crate) fn version(collection: u32) -> Vec<u8> {
    of_collection(b'v', collection)
}

pub(crate) fn documents(collection: u32) -> Vec<u8> {
    of_collection(b'd', collection)
}

pub(crate) fn document(collection: u32, id: &str) -> Vec<u8> {
    let mut key = documents(collection);
    key.extend_from_slice(id.as_bytes());
    key
}

/// The id in a document's key.
pub(crate) fn id_of(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.get(5..)?).ok()
}

pub(crate) fn journal(collection: u32) -> Vec<u8> {
    of_collection(b'j', collection)
}

pub(crate) fn journal_entry(collection: u32, version: u64) -> Vec<u8> {
    let mut key = journal(collection);
    key.extend_from_slice(&version.to_be_bytes());
    key
}

/// The version in a journal entry's key.
pub(crate) fn version_of(key: &[u8]) -> Option<u64> {
    key.get(5..)?.try_into().ok().map(u64::from_be_bytes)
}

/// The first key behind all that begin so.
pub(crate) fn behind(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_what_was_put_in() {
        assert_eq!(id_of(&document(7, "ä/b")), Some("ä/b"));
        assert_eq!(version_of(&journal_entry(7, u64::MAX)), Some(u64::MAX));
        assert!(document(1, "z") < document(2, "a") && journal_entry(1, 255) < journal_entry(1, 256));
    }

    #[test]
    fn the_key_behind_a_prefix_is_above_all_that_begin_with_it() {
        assert_eq!(behind(b"ab"), b"ac");
        assert_eq!(behind(&[1, 255, 255]), [2]);
        assert!(documents(255) < behind(&documents(255)) && behind(&documents(255)) <= documents(256));
    }
}
