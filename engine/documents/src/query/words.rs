//! Words of a full-text query: `lamp "red shade" -broken`.

use crate::error::{Error, Result};
use crate::limits::{MAX_CLAUSES, MAX_QUERY_BYTES};

/// A word or a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) text: String,
    /// Documents with it are left out.
    pub(crate) is_excluded: bool,
}

/// The words and phrases of a query, before the analyzer of a field has seen them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Words(pub(crate) Vec<Clause>);

impl Words {
    /// Splits a query at spaces and quotes.
    ///
    /// # Errors
    /// A quote has no end, or there are too many clauses.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(Error::invalid(format!("q has {} bytes and may have {MAX_QUERY_BYTES}", text.len())));
        }
        let mut clauses = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let is_excluded = rest.starts_with('-');
            let body = if is_excluded { &rest[1..] } else { rest };
            let (word, behind) = match body.strip_prefix('"') {
                Some(phrase) => phrase.split_once('"').ok_or_else(|| {
                    let column = text[..text.len() - body.len()].chars().count() + 1;
                    Error::invalid(format!("q, column {column}: the phrase has no closing `\"`"))
                })?,
                None => {
                    let end = body.find(|end: char| end.is_whitespace() || end == '"').unwrap_or(body.len());
                    body.split_at(end)
                }
            };
            clauses.push(Clause { text: word.to_owned(), is_excluded });
            rest = behind.trim_start();
        }
        if clauses.len() > MAX_CLAUSES {
            return Err(Error::invalid(format!(
                "q has {} words and phrases and may have {MAX_CLAUSES}",
                clauses.len()
            )));
        }
        Ok(Self(clauses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<(String, bool)> {
        Words::parse(text).unwrap().0.into_iter().map(|clause| (clause.text, clause.is_excluded)).collect()
    }

    #[test]
    fn words_phrases_and_exclusions_are_told_apart() {
        let of =
            |all: &[(&str, bool)]| all.iter().map(|(text, is)| ((*text).to_owned(), *is)).collect::<Vec<_>>();
        assert_eq!(
            parse(r#" lamp "red  shade"x -broken -"a b" "#),
            of(&[("lamp", false), ("red  shade", false), ("x", false), ("broken", true), ("a b", true)])
        );
        assert_eq!(parse("well-known -"), of(&[("well-known", false), ("", true)]));
        assert_eq!(parse("  "), []);
    }

    #[test]
    fn faults_and_limits() {
        assert!(Words::parse("ü \"x").unwrap_err().to_string().contains("column 3"));
        assert!(Words::parse(&"a ".repeat(MAX_CLAUSES)).is_ok());
        assert!(Words::parse(&"a ".repeat(MAX_CLAUSES + 1)).is_err());
        assert!(Words::parse(&"a".repeat(MAX_QUERY_BYTES + 1)).is_err());
    }
}
