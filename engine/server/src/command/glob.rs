//! Does a key match a glob-style pattern? `*`, `?`, `[a-z]`, `[^a]` and `\x`, as KEYS, SCAN and CONFIG GET promise.
//!
//! Redis's `stringmatchlen` recurses at each star, and a pattern such as `a*a*a*a*b` takes time exponential in its
//! stars. Here only the last star is ever tried again, which is enough, since an earlier star that gave its match up
//! could only repeat what a later one can also cover: the cost is bounded by pattern length × text length.
//! (Russ Cox, "Glob Matching Can Be Simple And Fast Too", <https://research.swtch.com/glob>.)

/// Whether all of `text` matches `pattern`.
pub(crate) fn matches(pattern: &[u8], text: &[u8], ignore_case: bool) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where to go on when the text stops matching: behind the last star, with one more byte given to it.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            retry = Some((at, seen));
            continue;
        }
        match (at < pattern.len(), text.get(seen)) {
            (false, None) => return true,
            (true, Some(&byte)) => {
                if let Some(width) = match_one(&pattern[at..], byte, ignore_case) {
                    at += width;
                    seen += 1;
                    continue;
                }
            }
            // The text has ended before the pattern, and a longer star would only leave less of it.
            (true, None) => return false,
            (false, Some(_)) => {}
        }
        let Some((behind_star, given)) = retry else { return false };
        retry = Some((behind_star, given + 1));
        at = behind_star;
        seen = given + 1;
    }
}

/// Matches one byte against the item at the start of `pattern`; the item's length if it matches.
fn match_one(pattern: &[u8], byte: u8, ignore_case: bool) -> Option<usize> {
    let fold = |value: u8| if ignore_case { value.to_ascii_lowercase() } else { value };
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => {
            let (matched, length) = match_class(class, fold(byte), fold);
            matched.then_some(1 + length)
        }
        [b'\\', escaped, ..] => (fold(*escaped) == fold(byte)).then_some(2),
        [literal, ..] => (fold(*literal) == fold(byte)).then_some(1),
        [] => None,
    }
}

/// Matches `byte` against the class that follows a `[`: whether it matches, and the class's length with its `]`.
/// A class that is never closed reaches to the end of the pattern, as in Redis.
fn match_class(class: &[u8], byte: u8, fold: impl Fn(u8) -> u8) -> (bool, usize) {
    let negated = class.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut matched = false;
    loop {
        match &class[at..] {
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', escaped, ..] => {
                matched |= fold(*escaped) == byte;
                at += 2;
            }
            [from, b'-', to, ..] => {
                let (low, high) = (fold(*from).min(fold(*to)), fold(*from).max(fold(*to)));
                matched |= (low..=high).contains(&byte);
                at += 3;
            }
            [literal, ..] => {
                matched |= fold(*literal) == byte;
                at += 1;
            }
        }
    }
    (matched != negated, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, expected: bool) {
        assert_eq!(matches(pattern.as_bytes(), text.as_bytes(), false), expected, "{pattern:?} on {text:?}");
    }

    #[test]
    fn patterns_match_as_redis_documents_them() {
        check("*", "", true);
        check("", "", true);
        check("", "a", false);
        check("h?llo", "hello", true);
        check("h?llo", "hllo", false);
        check("h*llo", "hllo", true);
        check("h*llo", "heeeello", true);
        check("h[ae]llo", "hallo", true);
        check("h[ae]llo", "hillo", false);
        check("h[^e]llo", "hallo", true);
        check("h[^e]llo", "hello", false);
        check("h[a-b]llo", "hbllo", true);
        check("h[b-a]llo", "hallo", true);
        check("h\\*llo", "h*llo", true);
        check("h\\*llo", "hello", false);
        check("*a*b", "xaxxb", true);
        check("*ab", "aab", true);
        check("a*b?c", "axxbyc", true);
        check("[", "[", false);
        check("[abc", "b", true);
        check("\\", "\\", true);
        check("a**b", "ab", true);
    }

    #[test]
    fn case_is_ignored_only_when_asked() {
        assert!(matches(b"MaxMem*", b"maxmemory-policy", true));
        assert!(matches(b"[A-C]x", b"bX", true));
        assert!(!matches(b"MaxMem*", b"maxmemory-policy", false));
    }

    #[test]
    fn many_stars_cost_no_more_than_pattern_times_text() {
        let pattern = b"a*".repeat(2_000);
        let text = b"a".repeat(1_999);
        // Exponential for a matcher that recurses at each star.
        assert!(!matches(&pattern, &text, false));
        let text = b"a".repeat(20_000);
        assert!(!matches(&[&pattern[..], b"b"].concat(), &text, false));
    }
}
