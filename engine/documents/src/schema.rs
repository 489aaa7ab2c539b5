//! Schemas: the primary field of a collection and the fields that are indexed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::limits::MAX_FIELDS;
use crate::names::check_field;

/// Type of an indexed field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FieldType {
    /// Strings, split into words for full text.
    Text,
    /// Strings, compared as a whole.
    Keyword,
    /// Integers from -2^63 to 2^63 - 1.
    I64,
    /// Integers from 0 to 2^64 - 1.
    U64,
    /// Numbers, as 64-bit floating point.
    F64,
    /// `true` and `false`.
    Bool,
    /// RFC 3339 strings with a time zone offset, from 1678 to 2261, compared to the nanosecond.
    Date,
}

impl FieldType {
    /// Its name in a schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Keyword => "keyword",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F64 => "f64",
            Self::Bool => "bool",
            Self::Date => "date",
        }
    }
}

/// Language whose word forms count as one word in text fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Language {
    /// English.
    English,
    /// French.
    French,
    /// German.
    German,
    /// Italian.
    Italian,
    /// Portuguese.
    Portuguese,
    /// Russian.
    Russian,
    /// Spanish.
    Spanish,
}

/// What a collection indexes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The field whose value is a document's id: a string or an integer.
    pub primary: String,
    /// Indexed fields, by name. Other members of a document are stored and not indexed.
    #[serde(default)]
    pub fields: BTreeMap<String, FieldType>,
    /// If present, text fields are stemmed in this language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

impl Schema {
    /// Parses and checks a schema: `{"primary": "id", "fields": {"title": "text"}}`.
    ///
    /// # Errors
    /// It is not valid JSON, has an unknown member or type, or breaks a rule of [`Self::check`].
    pub fn parse(json: &[u8]) -> Result<Self> {
        let schema: Self = serde_json::from_slice(json)
            .map_err(|error| Error::invalid(format!("invalid schema: {error}")))?;
        schema.check()?;
        Ok(schema)
    }

    /// Checks names and their number.
    ///
    /// # Errors
    /// A name is not valid, or there are too many fields.
    pub fn check(&self) -> Result<()> {
        if self.fields.len() > MAX_FIELDS {
            return Err(Error::invalid(format!(
                "the schema has {} fields and may have {MAX_FIELDS}; index only those that queries name",
                self.fields.len()
            )));
        }
        self.fields.keys().chain([&self.primary]).try_for_each(|name| check_field(name))
    }

    pub(crate) fn text_fields(&self) -> impl Iterator<Item = &str> + Clone {
        self.fields.iter().filter(|(_, kind)| **kind == FieldType::Text).map(|(name, _)| &**name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.fields.keys().map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_read_as_it_is_written() {
        let json = br#"{"primary":"id","fields":{"a":"text","b":"date"},"language":"english"}"#;
        let schema = Schema::parse(json).unwrap();
        assert_eq!(serde_json::to_vec(&schema).unwrap(), json);
        assert_eq!(schema.text_fields().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn what_is_wrong_with_a_schema_is_said() {
        let many: Vec<String> = (0..=MAX_FIELDS).map(|number| format!("\"f{number}\":\"i64\"")).collect();
        for (json, part) in [
            ("{", "EOF"),
            (r#"{"fields":{}}"#, "primary"),
            (r#"{"primary":"id","fields":{"a":"txt"}}"#, "text"),
            (r#"{"primary":"id","colour":1}"#, "colour"),
            (r#"{"primary":"_id"}"#, "_id"),
            (&format!(r#"{{"primary":"id","fields":{{{}}}}}"#, many.join(",")), "65 fields"),
        ] {
            let error = Schema::parse(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{json}: {error}");
        }
    }
}
