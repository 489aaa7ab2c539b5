//! Does a text that means harm stay a text, wherever a gate is shown?

use super::*;
use crate::model::Gate;
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;

const SCREEN: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}";

fn hostile() -> String {
    format!(
        "<img src=x onerror=alert(1)> @everyone [x](javascript:alert(1)) ](javascript:alert(1)) {SCREEN} | `code` \
         </details><!-- --> ``` #1 https://x.example {}",
        "y".repeat(10_000)
    )
}

fn gate() -> Gate {
    let mut gate = testing::gate();
    testing::every_text(&mut gate, &hostile());
    gate
}

/// Whether a needle stands there without a backslash before it.
fn is_live(text: &str, needle: &str) -> bool {
    text.match_indices(needle).any(|(at, _)| !text[..at].ends_with('\\'))
}

#[test]
fn on_a_terminal_nothing_moves_the_cursor() {
    let text = human(&gate());
    assert!(!text.chars().any(|one| one.is_control() && one != '\n'), "a control character came through");
    assert!(text.contains("more characters"), "nothing was cut");
}

#[test]
fn in_markdown_there_is_no_markup_link_mention_or_reference() {
    let text = markdown(&gate(), Some(&hostile()));
    assert!(text.contains("onerror"), "the text itself is shown");
    assert!(text.contains("is no plain call of bench-runner"), "the command is not offered");
    for needle in ["<img", "](", "@everyone", "`code", "```", "https://", " #1", "<!-- -->"] {
        assert!(!is_live(&text, needle), "{needle} came through");
    }
    assert!(!text.chars().any(|one| one.is_control() && one != '\n'), "a control character came through");
    let closed = text.match_indices("</details>").filter(|(at, _)| !text[..*at].ends_with('\\')).count();
    assert_eq!(closed, text.matches("<details>").count(), "the text folded something away or open");
    assert!(text.lines().all(|line| line.chars().count() < 20_000), "a line is as long as the hostile text");
    assert!(text.len() <= COMMENT_LIMIT_BYTES);
}

#[test]
fn in_xml_every_text_is_text() {
    let text = junit(&gate());
    assert!(text.contains("&lt;img src=x onerror"), "the text itself is shown");
    assert_eq!(parsed(&text), parsed(&junit(&testing::gate())), "the text made an element of its own");
}

#[test]
fn json_keeps_the_text_whole() {
    let gate = gate();
    assert_eq!(serde_json::from_str::<Gate>(&json(&gate).unwrap()).unwrap(), gate);
}

/// How many elements of each name a reader finds; the parts that a gate's texts may add or leave out are not counted.
fn parsed(text: &str) -> std::collections::BTreeMap<String, usize> {
    let mut reader = Reader::from_str(text);
    let mut counts = std::collections::BTreeMap::new();
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Eof => return counts,
            Event::Start(tag) | Event::Empty(tag) if tag.name().into_inner() != "property" => {
                *counts.entry(tag.name().into_inner().to_owned()).or_default() += 1;
            }
            Event::Comment(_) | Event::CData(_) | Event::PI(_) | Event::DocType(_) => panic!("in {text}"),
            _ => {}
        }
    }
}

/// Pieces that a hostile text is made of, and any text at all.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = [
        "<",
        ">",
        "&",
        "]]>",
        "<!--",
        "-->",
        "|",
        "`",
        "```",
        "[",
        "](",
        "@",
        "#1",
        "\\",
        "\n",
        "\r\n",
        "\u{0}",
        "\u{1b}[",
        "\u{ffff}",
        "</details>",
        "<details>",
        "\n\n",
        "&#60;",
        "http://",
        "www.",
        "_",
        "*",
        "x",
    ];
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40).prop_map(|all| all.concat())
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_from_outside_survives_unescaped(text in any_text()) {
        let mut gate = testing::gate();
        testing::every_text(&mut gate, &text);

        let comment = markdown(&gate, Some(&text));
        prop_assert!(comment.len() <= COMMENT_LIMIT_BYTES);
        let mut plain = testing::gate();
        testing::every_text(&mut plain, "x");
        // What is live in the comment is what is live in one whose texts are all `x`.
        prop_assert_eq!(live(&comment), live(&markdown(&plain, Some("x"))), "{}", comment);

        let xml = junit(&gate);
        prop_assert_eq!(parsed(&xml), parsed(&junit(&testing::gate())));
        let illegal = |one: char| (one.is_control() && one != '\n') || "\u{fffe}\u{ffff}".contains(one);
        prop_assert!(!xml.chars().any(illegal), "{}", xml);
    }
}

/// The characters that Markdown acts on, without those behind a backslash and without spaces of no width.
fn live(comment: &str) -> String {
    let mut live = String::new();
    let mut escaped = false;
    let text = comment.replace("&#8203;", "");
    for one in text.chars() {
        if !escaped && matches!(one, '<' | '>' | '[' | ']' | '`' | '|' | '*' | '&' | '\n') {
            live.push(one);
        }
        escaped = one == '\\' && !escaped;
    }
    live
}
