//! Highlights of hits, and the time that a search may take.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use std::time::Duration;

use plumbkv_documents::{Collections, Kind, Options, Schema, Search, Wait, limits};

fn open(directory: &tempfile::TempDir) -> Collections {
    Collections::open(Options::new(directory.path())).unwrap()
}

const SCHEMA: &[u8] = br#"{"primary": "id", "fields": {"title": "text", "tags": "text", "n": "i64"}}"#;

#[test]
fn highlights_mark_the_words_and_escape_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let collections = open(&directory);
    let shop = collections.create("shop", Schema::parse(SCHEMA).unwrap()).unwrap();
    shop.put(br#"{"id": "a", "title": "A <red> lamp & a chair", "tags": ["blue", "red lamp"]}"#).unwrap();
    shop.put(br#"{"id": "b", "title": "Nothing", "tags": ["red"]}"#).unwrap();
    let long = format!(r#"{{"id": "c", "title": "{} red {}"}}"#, "before ".repeat(100), "after ".repeat(100));
    let version = shop.put(long.as_bytes()).unwrap().version;
    let highlight = vec!["title".to_owned(), "tags".to_owned()];
    let after = Some(Wait::for_version(version));
    let search = Search { highlight, after, sort: Some("_id".to_owned()), ..Search::for_words("red") };
    let found = shop.search(&search).unwrap();
    let of = |index: usize| -> Vec<(&str, &str)> {
        found.hits[index].highlights.iter().map(|(name, html)| (&**name, &**html)).collect()
    };
    assert_eq!(of(0), [("title", "A &lt;<b>red</b>&gt; lamp &amp; a chair"), ("tags", "<b>red</b> lamp")]);
    assert_eq!(of(1), [("tags", "<b>red</b>")]);
    let [("title", part)] = of(2)[..] else { panic!("{:?}", of(2)) };
    assert!(part.contains("<b>red</b>") && part.len() <= limits::MAX_HIGHLIGHT_BYTES + 7, "{part}");
    let wrong = Search { highlight: vec!["n".to_owned()], ..Search::for_words("red") };
    let error = shop.search(&wrong).unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("`n` is no text field"), "{error}");
}

#[test]
fn a_search_that_takes_too_long_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let collections = open(&directory);
    let shop = collections.create("shop", Schema::parse(SCHEMA).unwrap()).unwrap();
    let version = shop.put(br#"{"id": "a", "title": "red"}"#).unwrap().version;
    let after = Some(Wait::for_version(version));
    let search = Search { after, time_limit: Duration::ZERO, ..Search::for_words("red") };
    let error = shop.search(&search).unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
    assert!(error.to_string().contains("narrow it"), "{error}");
    let search = Search { time_limit: limits::SEARCH_TIME, ..search };
    assert_eq!(shop.search(&search).unwrap().total, 1);
}
