//! Names of collections and fields, and ids of documents: which are valid.

use crate::error::{Error, Result};
use crate::limits::{MAX_ID_BYTES, MAX_NAME_BYTES};

/// Checks a collection's name: letters, digits, `_` and `-`.
pub(crate) fn check_collection(name: &str) -> Result<()> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_valid) {
        return Err(Error::invalid(format!(
            "invalid collection name {name:?}: use 1 to {MAX_NAME_BYTES} letters, digits, `_` and `-`"
        )));
    }
    Ok(())
}

/// Checks a field's name: a letter, then letters, digits, `_` and `-`.
pub(crate) fn check_field(name: &str) -> Result<()> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if !begins || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_valid) {
        return Err(Error::invalid(format!(
            "invalid field name {name:?}: begin with a letter, then use letters, digits, `_` and `-`, \
             {MAX_NAME_BYTES} bytes at most"
        )));
    }
    Ok(())
}

/// Why an id is not valid, if it is not.
pub(crate) fn fault_of_id(id: &str) -> Option<String> {
    if id.is_empty() {
        return Some("the id is empty".to_owned());
    }
    if id.len() > MAX_ID_BYTES {
        return Some(format!("the id has {} bytes and may have {MAX_ID_BYTES}", id.len()));
    }
    let control = id.chars().find(|character| character.is_control())?;
    Some(format!("the id has the control character {:?}", control))
}

/// The nearest of these names, as a hint for a name that is unknown.
#[must_use]
pub fn hint<'a>(unknown: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let nearest = known
        .clone()
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min();
    if let Some((_, name)) = nearest {
        return format!("did you mean `{name}`?");
    }
    let all: Vec<&str> = known.take(20).collect();
    if all.is_empty() { "there are none".to_owned() } else { format!("there are: {}", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_at_their_edges() {
        let long = "a".repeat(MAX_NAME_BYTES);
        for name in ["a", "A-b_9", "9", &long] {
            assert!(check_collection(name).is_ok(), "{name}");
        }
        for name in ["", "..", "a/b", "a\0", "ä", &format!("{long}a")] {
            assert!(check_collection(name).is_err(), "{name:?}");
        }
        assert!(check_field("a").is_ok() && check_field(&long).is_ok());
        for name in ["", "_id", "9a", "a.b", "a b", &format!("{long}a")] {
            assert!(check_field(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn ids_are_checked_at_their_edges() {
        assert_eq!(fault_of_id(&"ü".repeat(MAX_ID_BYTES / 2)), None);
        for id in ["", "a\0", "a\nb", &"a".repeat(MAX_ID_BYTES + 1)] {
            assert!(fault_of_id(id).is_some(), "{id:?}");
        }
    }

    #[test]
    fn a_hint_names_the_nearest() {
        let names = ["price", "brand"];
        assert_eq!(hint("prise", names.into_iter()), "did you mean `price`?");
        assert_eq!(hint("zzzzzz", names.into_iter()), "there are: price, brand");
    }
}
