//! Checking JSON documents and finding their members, without changing a byte of them.
//!
//! A document is walked once for what serde_json accepts but a store must not: a doubled member,
//! whose meaning depends on the reader, and nesting that a recursive reader cannot follow.

use std::collections::HashSet;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::limits::{MAX_DEPTH, MAX_DOCUMENT_BYTES};

/// The members of a JSON object, in their order, each with the text of its value.
pub(crate) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Checks a document and lists its members.
    ///
    /// # Errors
    /// A sentence that says what is wrong, and where.
    pub(crate) fn checked(bytes: &'a [u8]) -> Result<Self, String> {
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(format!("the document has {} bytes and may have {MAX_DOCUMENT_BYTES}", bytes.len()));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
        let mut reader = serde_json::Deserializer::from_str(text);
        let walked = reader.deserialize_any(Walk { depth: 0 }).and_then(|()| reader.end());
        walked.map_err(|error| format!("invalid JSON: {error}"))?;
        Self::read(text)
    }

    /// Lists the members of a document that was checked before.
    pub(crate) fn of_stored(bytes: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        Self::read(text)
    }

    fn read(text: &'a str) -> Result<Self, String> {
        serde_json::Deserializer::from_str(text)
            .deserialize_map(ReadMembers)
            .map(Self)
            .map_err(|_| "a document must be a JSON object".to_owned())
    }

    /// The text of a member's value.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(member, _)| member == name).map(|(_, value)| value.get())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (&**name, value.get()))
    }
}

struct ReadMembers;

impl<'de> Visitor<'de> for ReadMembers {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry::<String, &RawValue>()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// Visits a value and everything in it.
#[derive(Clone, Copy)]
struct Walk {
    depth: usize,
}

impl Walk {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let inside = self.deeper()?;
        while values.next_element_seed(inside)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inside = self.deeper()?;
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format!("the member {name:?} is there twice")));
            }
            names.insert(name);
            map.next_value_seed(inside)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(json: &str) -> String {
        match Members::checked(json.as_bytes()) {
            Ok(_) => panic!("{json} is valid"),
            Err(fault) => fault,
        }
    }

    #[test]
    fn members_are_found_as_they_are_written() {
        let json = r#" {"a" : 1.50, "b\u0041":[1, {"x":null}], "":"\u00fc"} "#;
        let members = Members::checked(json.as_bytes()).unwrap();
        let found: Vec<_> = members.iter().collect();
        assert_eq!(found, [("a", "1.50"), ("bA", r#"[1, {"x":null}]"#), ("", r#""\u00fc""#)]);
        assert_eq!(members.get("a"), Some("1.50"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (json, part) in [
            ("", "EOF"),
            ("[1]", "must be a JSON object"),
            ("1", "must be a JSON object"),
            (r#"{"a":1}x"#, "trailing characters"),
            (r#"{"a":01}"#, "invalid number"),
            (r#"{"a":1,"a":2}"#, r#""a" is there twice"#),
            (r#"{"a":[{"b":1,"\u0062":2}]}"#, r#""b" is there twice"#),
            (r#"{"a":1e999}"#, "out of range"),
            (r#"{"a":"\ud800"}"#, "hex escape"),
        ] {
            assert!(fault(json).contains(part), "{json}: {}", fault(json));
        }
        let bytes = b"{\"a\":\"\xff\"}";
        assert!(Members::checked(bytes).is_err_and(|fault| fault.contains("UTF-8 at byte 7")));
    }

    #[test]
    fn depth_and_length_are_limited_at_their_edges() {
        let nested = |depth: usize| {
            format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1)).into_bytes()
        };
        assert!(Members::checked(&nested(MAX_DEPTH)).is_ok());
        for depth in [MAX_DEPTH + 1, 10_000] {
            let json = nested(depth);
            assert!(fault(std::str::from_utf8(&json).unwrap()).contains("deeper"), "{depth}");
        }
        let long = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8)).into_bytes();
        assert!(Members::checked(&long(MAX_DOCUMENT_BYTES)).is_ok());
        assert!(Members::checked(&long(MAX_DOCUMENT_BYTES + 1)).is_err());
    }
}
