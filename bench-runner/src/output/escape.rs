//! How does a text that is not ours reach a terminal or a Markdown document without doing anything there?
//!
//! Titles, labels, reasons and notes come from scenario files, from other people's servers and from records that
//! somebody sent. Nothing of them may move the cursor, colour the screen, open a link, notify a team or
//! break a table; and none may be so long that the rest cannot be found. HTML is escaped by the template engine.

use std::fmt::Write as _;

/// What is shown of a text at most, characters. The record keeps all of it.
pub const LONGEST: usize = 600;

/// The same of a name inside a sentence.
const LONGEST_NAME: usize = 120;

/// A text for a terminal: one line, without control characters, escape sequences or marks that turn the
/// direction of writing around, cut at [`LONGEST`].
#[must_use]
pub fn terminal(text: &str) -> String {
    cut(text, LONGEST)
}

/// A name inside a sentence: as [`terminal`], but it may not take the sentence over.
#[must_use]
pub fn name(text: &str) -> String {
    cut(text, LONGEST_NAME)
}

fn cut(text: &str, longest: usize) -> String {
    let mut safe = String::with_capacity(text.len().min(longest));
    for character in text.chars().take(longest) {
        match character {
            '\n' | '\r' | '\t' => safe.push(' '),
            one if one.is_control() || is_invisible(one) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(one));
            }
            one => safe.push(one),
        }
    }
    let left = text.chars().count().saturating_sub(longest);
    if left > 0 {
        let _ = write!(safe, "… ({left} more characters)");
    }
    safe
}

/// A text for a Markdown document: as [`terminal`], and nothing in it is markup, a link, a mention or a reference.
#[must_use]
pub fn markdown(text: &str) -> String {
    let plain = terminal(text);
    let mut safe = String::with_capacity(plain.len());
    let mut before = ' ';
    for (at, character) in plain.char_indices() {
        let rest = &plain[at + character.len_utf8()..];
        let next = rest.chars().next();
        match character {
            '|' | '<' | '>' | '[' | ']' | '*' | '`' | '&' | '\\' | '~' => {
                safe.push('\\');
                safe.push(character);
            }
            // Inside a word an underscore is a letter: `container_host` stays readable.
            '_' if !(before.is_alphanumeric() && next.is_some_and(char::is_alphanumeric)) => {
                safe.push_str("\\_");
            }
            '#' | '+' | '-' | '=' if safe.is_empty() => {
                safe.push('\\');
                safe.push(character);
            }
            other => safe.push(other),
        }
        if is_taken_up(&plain[..at], character, rest) {
            safe.push_str(PARTED);
        }
        before = character;
    }
    safe
}

/// A space of no width, after which a host's search for mentions and links finds nothing.
const PARTED: &str = "&#8203;";

/// Whether a host makes something of the rendered text here, where no backslash is left: a mention (`@team`), a
/// reference (`#12`, `GH-12`), which shows in the other thread, or a bare address (`https://…`, `www.…`).
fn is_taken_up(before: &str, character: char, after: &str) -> bool {
    let ends = |word: &str| {
        before.get(before.len().wrapping_sub(word.len())..).is_some_and(|end| end.eq_ignore_ascii_case(word))
    };
    let digit = after.starts_with(|next: char| next.is_ascii_digit());
    match character {
        '@' => true,
        '#' => digit,
        '-' => digit && ends("gh"),
        ':' => after.starts_with("//"),
        '.' => ends("www"),
        _ => false,
    }
}

/// Marks of writing direction, joiners and the like, by which a text can look like another.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_terminal_is_not_driven_by_a_text() {
        for (input, expected) in [
            ("plain, µs × 3", "plain, µs × 3"),
            ("red \u{1b}[31m and\u{7} bell", "red \\u{1b}[31m and\\u{7} bell"),
            ("two\nlines\r\nand\ttab", "two lines  and tab"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("abc\u{202e}fdp.exe", "abc\\u{202e}fdp.exe"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
        ] {
            assert_eq!(terminal(input), expected);
        }
    }

    #[test]
    fn nothing_in_markdown_is_markup_a_link_or_a_mention() {
        for (input, expected) in [
            ("<img src=x onerror=alert(1)>", "\\<img src=x onerror=alert(1)\\>"),
            ("[a](javascript:alert(1))", "\\[a\\](javascript:alert(1))"),
            ("](javascript:alert(1))", "\\](javascript:alert(1))"),
            ("@everyone and a@b", "@&#8203;everyone and a@&#8203;b"),
            ("a | b", "a \\| b"),
            ("container_host _not emphasis_", "container_host \\_not emphasis\\_"),
            ("# head", "\\# head"),
            ("&lt;", "\\&lt;"),
            ("see https://x.example", "see https:&#8203;//x.example"),
            ("WWW.x.example", "WWW.&#8203;x.example"),
            ("a/b#12, #x, GH-3, light-3", "a/b#&#8203;12, #x, GH-&#8203;3, light-3"),
            ("#12", "\\#&#8203;12"),
            ("`code` ~~gone~~", "\\`code\\` \\~\\~gone\\~\\~"),
        ] {
            assert_eq!(markdown(input), expected);
        }
    }

    #[test]
    fn a_long_text_is_cut_and_says_by_how_much() {
        let long = terminal(&"é".repeat(10_000));
        assert_eq!(long.chars().filter(|one| *one == 'é').count(), LONGEST);
        assert!(long.ends_with("… (9400 more characters)"), "{long}");
        assert!(!terminal(&"x".repeat(LONGEST)).contains("more characters"));
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_harmless_line(text in any::<String>()) {
            let shown = terminal(&text);
            prop_assert!(!shown.chars().any(|one| one.is_control() || is_invisible(one)));
            let mut escaped = false;
            for one in markdown(&text).chars() {
                prop_assert!(escaped || !matches!(one, '<' | '>' | '[' | ']' | '|' | '`' | '*'));
                escaped = one == '\\' && !escaped;
            }
        }
    }
}
