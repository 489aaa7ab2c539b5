//! Rules as words of `ACL SETUSER`: why one is refused, and which words belong together.

use std::borrow::Cow;

/// Why a rule is refused, in Redis's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum RuleError {
    #[error("Unknown command or category name in ACL")]
    UnknownCommand,
    #[error("Syntax error")]
    Syntax,
    #[error(
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. \
         Try 'resetkeys' to start with an empty list of patterns"
    )]
    AllKeys,
    #[error(
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any \
         effect. Try 'resetchannels' to start with an empty list of channels"
    )]
    AllChannels,
    #[error("The password you are trying to remove from the user does not exist")]
    NoSuchPassword,
    #[error(
        "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
    )]
    BadHash,
    #[error("Allowing first-arg of a subcommand is not supported")]
    FirstWordOfSubCommand,
}

/// Whether a name or pattern contains blanks or NUL bytes, which would break the lines of `ACL
/// LIST`.
pub(super) fn has_blanks(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, b' ' | b'\t'..=b'\r' | 0))
}

/// Joins the words of each selector: `(~a`, `+get)` becomes `(~a +get)`.
///
/// # Errors
/// The word that opens a selector which no word closes.
pub(super) fn merge<'a>(words: &[&'a [u8]]) -> Result<Vec<Cow<'a, [u8]>>, &'a [u8]> {
    let mut rules: Vec<Cow<'a, [u8]>> = Vec::with_capacity(words.len());
    // The first word of a selector that is not closed yet, and all of its words.
    let mut open: Option<(&'a [u8], Vec<u8>)> = None;
    for &word in words {
        match &mut open {
            None if word.starts_with(b"(") && !word.ends_with(b")") => open = Some((word, word.to_vec())),
            None => rules.push(Cow::Borrowed(word)),
            Some((_, selector)) => {
                selector.push(b' ');
                selector.extend_from_slice(word);
                if word.ends_with(b")") {
                    rules.push(Cow::Owned(std::mem::take(selector)));
                    open = None;
                }
            }
        }
    }
    match open {
        None => Ok(rules),
        Some((first, _)) => Err(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(line: &str) -> Result<String, String> {
        let words: Vec<&[u8]> = line.split(',').map(str::as_bytes).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        merge(&words).map(|rules| text(&rules.join(&b","[..]))).map_err(text)
    }

    #[test]
    fn words_in_parentheses_are_one_rule() {
        for line in ["on", "on,(~a +get),off", "()", ")", "(a)b)"] {
            assert_eq!(merged(line), Ok(line.to_owned()));
        }
        assert_eq!(merged("on,(~a,+get,),off"), Ok("on,(~a +get ),off".to_owned()));
        assert_eq!(merged("(~a,(+get)"), Ok("(~a (+get)".to_owned()));
        assert_eq!(merged("("), Err("(".to_owned()));
        assert_eq!(merged("on,(~a,(b"), Err("(~a".to_owned()));
    }

    #[test]
    fn blanks_are_those_of_c() {
        for blank in ["a b", "\t", "a\n", "\u{b}", "\u{c}", "\r", "\0"] {
            assert!(has_blanks(blank.as_bytes()), "{blank:?}");
        }
        assert!(!has_blanks(b"") && !has_blanks(b"a\x08b\x0e"));
    }
}
