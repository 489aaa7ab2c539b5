//! How is a TOML file read so that a misspelt key cannot pass unnoticed?
//!
//! The types say `deny_unknown_fields`; this adds what a person needs to mend the file: its name, the line,
//! the key, and the nearest key that is known.

use serde::de::DeserializeOwned;
use thiserror::Error;

/// Distance (Jaro-Winkler, 0 to 1) from which a known key is offered as what was meant.
const NEAR: f64 = 0.7;

/// A TOML text that does not say what it may say.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StrictError {
    /// A key or a word that nobody reads.
    #[error("{file}, line {line}: unknown {what} `{found}`; {advice}")]
    Unknown {
        /// File the text came from.
        file: String,
        /// Line, from 1.
        line: usize,
        /// `key` or `word`.
        what: &'static str,
        /// What stands there.
        found: String,
        /// The nearest known one, or all of them.
        advice: String,
    },
    /// Anything else that TOML or the types refuse.
    #[error("{file}, line {line}: {message}")]
    Malformed {
        /// File the text came from.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
}

/// Reads `text` as a `T`; `file` is only named in errors.
///
/// # Errors
/// When the text is not TOML, lacks a key, has an unknown one, or a value of the wrong kind.
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, StrictError> {
    toml::from_str(text).map_err(|error| explain(file, text, &error))
}

/// The known name nearest to `found`, where one is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(found, name), name))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// `did you mean …?`, or the whole list where nothing is near.
#[must_use]
pub fn advice(found: &str, known: &[&str]) -> String {
    match nearest(found, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "nothing is known here".to_owned(),
        None => format!("known: {}", known.join(", ")),
    }
}

fn explain(file: &str, text: &str, error: &toml::de::Error) -> StrictError {
    let message = error.message();
    let quoted = backquoted(message);
    let what = match message {
        m if m.starts_with("unknown field") => Some("key"),
        m if m.starts_with("unknown variant") => Some("word"),
        _ => None,
    };
    let file = file.to_owned();
    match (what, quoted.split_first()) {
        (Some(what), Some((found, known))) => {
            let line = line_of(text, error.span(), what, found);
            StrictError::Unknown {
                file,
                line,
                what,
                found: (*found).to_owned(),
                advice: advice(found, known),
            }
        }
        _ => StrictError::Malformed {
            file,
            line: line_of(text, error.span(), "", ""),
            message: message.replace('\n', " "),
        },
    }
}

/// The names between backquotes: serde puts the unknown one first, then those it knows.
fn backquoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// A tagged table is buffered by serde and loses its place, so the place reported is then the table's
/// head: the key itself is looked for from there on.
fn line_of(text: &str, span: Option<std::ops::Range<usize>>, what: &str, found: &str) -> usize {
    let start = span.map_or(0, |span| span.start.min(text.len()));
    let before = text.get(..start).unwrap_or_default();
    let first = before.matches('\n').count();
    let offset = match what {
        "key" => {
            text.lines().skip(first).position(|line| line.trim_start().starts_with(found)).unwrap_or_default()
        }
        _ => 0,
    };
    first + offset + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Shape {
        clients: u32,
        #[serde(default)]
        load: Vec<Load>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(tag = "operation", rename_all = "snake_case", deny_unknown_fields)]
    enum Load {
        Fill { keys: u64 },
    }

    fn error(text: &str) -> String {
        parse::<Shape>("shape.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
        assert_eq!(
            error("clients = 1\n\nlaod = []\n"),
            "shape.toml, line 3: unknown key `laod`; did you mean `load`?"
        );
    }

    #[test]
    fn a_key_inside_a_tagged_table_is_found_too() {
        let told = error("clients = 1\n[[load]]\noperation = \"fill\"\nkeys = 1\nkyes = 2\n");
        assert_eq!(told, "shape.toml, line 5: unknown key `kyes`; did you mean `keys`?");
    }

    #[test]
    fn a_word_that_resembles_nothing_gets_the_whole_list() {
        let told = error("clients = 1\n[[load]]\noperation = \"zzz\"\nkeys = 1\n");
        assert!(told.contains("unknown word `zzz`; known: fill"), "{told}");
    }

    #[test]
    fn a_missing_key_and_a_wrong_kind_of_value_are_told() {
        assert!(error("").contains("missing field `clients`"));
        assert!(error("clients = \"many\"").contains("line 1: invalid type"));
    }
}
