//! Query parameters: each known, given once, and decoded strictly.

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;
use plumbkv_documents::hint;

use crate::problem::Problem;

/// A request without parameters; others are refused.
pub(crate) struct NoParameters;

impl<S: Send + Sync> FromRequestParts<S> for NoParameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Parameters::parse(&parts.uri, &[]).map(|_| Self)
    }
}

/// The parameters of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses the query of a URI, of which only these names are known.
    pub(crate) fn parse(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        Self::of(uri.query().unwrap_or_default(), known)
    }

    fn of(query: &str, known: &[&str]) -> Result<Self, Problem> {
        let mut all: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !known.contains(&&*name) {
                return Err(Problem::invalid(format!(
                    "unknown parameter `{name}`; {}",
                    hint(&name, known.iter().copied())
                )));
            }
            if all.iter().any(|(other, _)| *other == name) {
                return Err(Problem::invalid(format!("the parameter `{name}` is there twice; give it once")));
            }
            all.push((name, value));
        }
        Ok(Self(all))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Some(number)),
            _ => Err(Problem::invalid(format!("invalid `{name}` {text:?}: expected an integer from 0 on"))),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("" | "true") => Ok(true),
            Some(text) => Err(Problem::invalid(format!("invalid `{name}` {text:?}: expected true or false"))),
        }
    }

    /// Names separated by commas.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }
}

fn decoded(text: &str) -> Result<String, Problem> {
    let spaced = text.replace('+', " ");
    let bytes = spaced.as_bytes();
    let is_cut = |(at, byte): (usize, &u8)| {
        *byte == b'%'
            && !bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if bytes.iter().enumerate().any(is_cut) {
        return Err(Problem::invalid(format!("{text:?}: write `%` as `%25`")));
    }
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded
        .map(|text| text.into_owned())
        .map_err(|_| Problem::invalid(format!("{text:?} is not UTF-8 when decoded")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["limit", "cursor", "q"];

    #[test]
    fn parameters_are_decoded_once() {
        let all = Parameters::of("q=a+b%2Bc%26%C3%BC&limit=10&&cursor", KNOWN).unwrap();
        assert_eq!((all.text("q"), all.text("cursor")), (Some("a b+c&ü"), Some("")));
        assert_eq!(all.number("limit").unwrap(), Some(10));
        assert_eq!(all.list("q"), ["a b+c&ü"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_a_way_out() {
        for (query, part) in [
            ("limt=1", "did you mean `limit`?"),
            ("colour=1", "there are: limit, cursor, q"),
            ("q=1&q=2", "twice"),
            ("q=%C3", "not UTF-8"),
            ("q=%", "%25"),
            ("q=%zz", "%25"),
        ] {
            let problem = format!("{:?}", Parameters::of(query, KNOWN).unwrap_err());
            assert!(problem.contains(part), "{query}: {problem}");
        }
        for text in ["limit=-1", "limit=+1", "limit=1.0", "limit=", "limit=99999999999999999999"] {
            assert!(Parameters::of(text, KNOWN).unwrap().number("limit").is_err(), "{text}");
        }
        assert!(Parameters::of("q=yes", KNOWN).unwrap().flag("q").is_err());
    }
}
