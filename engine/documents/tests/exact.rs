//! Searches are exact: generated documents and queries, against an evaluator that knows no index.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use std::cmp::Ordering;
use std::collections::BTreeMap;

use plumbkv_documents::{Collections, Options, Schema, Search, Wait};

const WORDS: [&str; 8] = ["lamp", "red", "shade", "Ümlaut", "x9", "naïve", "日本", "green"];
const BRANDS: [&str; 6] = ["acme", "Home Appliances", "", "ß", "zeta\"q", "a b"];

/// A value as the evaluator compares it.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Str(String),
    Int(i128),
    Float(f64),
    Bool(bool),
}

impl Value {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Str(left), Self::Str(right)) => left.as_bytes().cmp(right.as_bytes()),
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right).unwrap(),
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            _ => panic!("values of two types"),
        }
    }

    fn json(&self, is_date: bool) -> String {
        match self {
            Self::Str(text) => serde_json::to_string(text).unwrap(),
            Self::Int(nanoseconds) if is_date => format!("\"{}\"", date(*nanoseconds)),
            Self::Int(number) => number.to_string(),
            Self::Float(number) => serde_json::to_string(number).unwrap(),
            Self::Bool(is) => is.to_string(),
        }
    }

    /// As a filter has it.
    fn literal(&self, is_date: bool) -> String {
        match self {
            Self::Str(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            other => other.json(is_date).trim_matches('"').to_owned(),
        }
    }
}

fn date(nanoseconds: i128) -> String {
    jiff::Timestamp::from_nanosecond(nanoseconds).unwrap().to_string()
}

type Fields = BTreeMap<&'static str, Vec<Value>>;

struct Document {
    id: String,
    fields: Fields,
    text: Vec<String>,
    json: String,
}

const FIELDS: [&str; 7] = ["brand", "tags", "qty", "big", "price", "sold", "at"];

fn value_of(random: &mut fastrand::Rng, field: &str) -> Value {
    match field {
        "brand" => Value::Str(BRANDS[random.usize(..BRANDS.len())].to_owned()),
        "tags" => Value::Str(format!("t{}", random.u8(..20))),
        "qty" => Value::Int(match random.u8(..10) {
            0 => i128::from(i64::MIN),
            1 => i128::from(i64::MAX),
            _ => i128::from(random.i64(-20..20)),
        }),
        "big" => Value::Int(match random.u8(..10) {
            0 => i128::from(u64::MAX),
            1 => i128::from(u64::MAX - 1),
            _ => i128::from(random.u64(..20)),
        }),
        "price" => Value::Float(match random.u8(..10) {
            0 => -0.0,
            1 => 0.0,
            2 => f64::MIN_POSITIVE,
            3 => -1e300,
            _ => f64::from(random.i16(-200..200)) / 8.0,
        }),
        "sold" => Value::Bool(random.bool()),
        "at" => Value::Int(match random.u8(..10) {
            0 => i128::from(i64::MIN / 1_000) * 1_000,
            _ => i128::from(random.i64(-5..5)) * 86_400_000_000_000 + i128::from(random.u8(..3)),
        }),
        _ => panic!("{field}"),
    }
}

fn document(random: &mut fastrand::Rng, number: usize) -> Document {
    let id = if number.is_multiple_of(3) {
        format!("{number}")
    } else {
        format!("ö{:05}", random.u16(..)) + &number.to_string()
    };
    let mut members = vec![format!("\"id\":{}", serde_json::to_string(&id).unwrap())];
    let mut fields = Fields::new();
    for field in FIELDS {
        let count = match random.u8(..10) {
            0 | 1 => continue,
            2 => {
                members.push(format!("\"{field}\": null"));
                continue;
            }
            3 | 4 => random.usize(..4),
            _ => 1,
        };
        let values: Vec<Value> = (0..count).map(|_| value_of(random, field)).collect();
        let json: Vec<String> = values.iter().map(|value| value.json(field == "at")).collect();
        members.push(match &json[..] {
            [one] if random.bool() => format!("\"{field}\":{one}"),
            several => format!("\"{field}\":[{}]", several.join(", ")),
        });
        fields.insert(field, values);
    }
    let words = |random: &mut fastrand::Rng| {
        let count = random.usize(..6);
        (0..count).map(|_| WORDS[random.usize(..WORDS.len())]).collect::<Vec<_>>().join(" ")
    };
    let mut text = Vec::new();
    if random.u8(..5) > 0 {
        text = vec![words(random)];
        members.push(format!("\"title\":{}", serde_json::to_string(&text[0]).unwrap()));
    }
    random.shuffle(&mut members);
    Document { id, fields, text, json: format!("{{{}}}", members.join(",")) }
}

/// A filter, as text and as a predicate.
struct Filter {
    text: String,
    holds: Box<dyn Fn(&Document) -> bool>,
}

fn filter(random: &mut fastrand::Rng, depth: usize) -> Filter {
    if depth > 0 && random.u8(..2) == 0 {
        let (left, right) = (filter(random, depth - 1), filter(random, depth - 1));
        return match random.u8(..3) {
            0 => Filter {
                text: format!("({}) AND ({})", left.text, right.text),
                holds: Box::new(move |document| (left.holds)(document) && (right.holds)(document)),
            },
            1 => Filter {
                text: format!("({}) OR {}", left.text, right.text),
                holds: Box::new(move |document| (left.holds)(document) || (right.holds)(document)),
            },
            _ => Filter {
                text: format!("NOT ({})", left.text),
                holds: Box::new(move |document| !(left.holds)(document)),
            },
        };
    }
    let field = FIELDS[random.usize(..FIELDS.len())];
    let any = move |test: Box<dyn Fn(&Value) -> bool>| {
        move |document: &Document| document.fields.get(field).is_some_and(|values| values.iter().any(&test))
    };
    let value = value_of(random, field);
    let literal = |value: &Value| value.literal(field == "at");
    match random.u8(..9) {
        0 => Filter { text: format!("{field} EXISTS"), holds: Box::new(any(Box::new(|_| true))) },
        1 => {
            let values: Vec<Value> = (0..random.usize(1..25)).map(|_| value_of(random, field)).collect();
            let list: Vec<String> = values.iter().map(literal).collect();
            Filter {
                text: format!("{field} IN [{}]", list.join(", ")),
                holds: Box::new(any(Box::new(move |found| {
                    values.iter().any(|value| found.compare(value) == Ordering::Equal)
                }))),
            }
        }
        2 => {
            let text = format!("{field} != {}", literal(&value));
            let equals = any(Box::new(move |found: &Value| found.compare(&value) == Ordering::Equal));
            Filter { text, holds: Box::new(move |document| !equals(document)) }
        }
        3 | 4 => Filter {
            text: format!("{field}={}", literal(&value)),
            holds: Box::new(any(Box::new(move |found| found.compare(&value) == Ordering::Equal))),
        },
        kind if field == "sold" => {
            let text = format!("sold = {}", kind % 2 == 0);
            holds_sold(text, kind % 2 == 0)
        }
        5 => Filter {
            text: format!("{field} < {}", literal(&value)),
            holds: Box::new(any(Box::new(move |found| found.compare(&value) == Ordering::Less))),
        },
        6 => Filter {
            text: format!("{field} <= {}", literal(&value)),
            holds: Box::new(any(Box::new(move |found| found.compare(&value) != Ordering::Greater))),
        },
        7 => Filter {
            text: format!("{field} > {}", literal(&value)),
            holds: Box::new(any(Box::new(move |found| found.compare(&value) == Ordering::Greater))),
        },
        _ => Filter {
            text: format!("{field} >= {}", literal(&value)),
            holds: Box::new(any(Box::new(move |found| found.compare(&value) != Ordering::Less))),
        },
    }
}

fn holds_sold(text: String, wanted: bool) -> Filter {
    let holds = move |document: &Document| {
        document.fields.get("sold").is_some_and(|values| values.contains(&Value::Bool(wanted)))
    };
    Filter { text, holds: Box::new(holds) }
}

/// Words of a text, as the index splits it.
fn words(text: &str) -> Vec<String> {
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn has_phrase(document: &Document, phrase: &[String]) -> bool {
    document.text.iter().any(|text| words(text).windows(phrase.len()).any(|window| window == phrase))
}

/// A full-text query, as text and as a predicate.
fn full_text(random: &mut fastrand::Rng) -> (String, bool, Filter) {
    let any_word = random.bool();
    let (mut parts, mut wanted, mut excluded) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..random.usize(1..4) {
        let length = if random.u8(..4) == 0 { 2 } else { 1 };
        let phrase: Vec<&str> = (0..length).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
        let quoted = if length == 1 { phrase[0].to_uppercase() } else { format!("\"{}\"", phrase.join(" ")) };
        let phrase = words(&phrase.join(" "));
        if random.u8(..4) == 0 {
            parts.push(format!("-{quoted}"));
            excluded.push(phrase);
        } else {
            parts.push(quoted);
            wanted.push(phrase);
        }
    }
    let holds = move |document: &Document| {
        let has = |phrase: &Vec<String>| has_phrase(document, phrase);
        let found = match (wanted.is_empty(), any_word) {
            (true, _) => true,
            (_, true) => wanted.iter().any(has),
            (_, false) => wanted.iter().all(has),
        };
        found && !excluded.iter().any(has)
    };
    let text = parts.join(" ");
    (text.clone(), any_word, Filter { text, holds: Box::new(holds) })
}

fn first_value<'a>(document: &'a Document, field: &str, is_descending: bool) -> Option<&'a Value> {
    let values = document.fields.get(field)?.iter();
    if is_descending { values.max_by(|a, b| a.compare(b)) } else { values.min_by(|a, b| a.compare(b)) }
}

fn compare(left: &Document, right: &Document, sort: &[(&str, bool)]) -> Ordering {
    for (field, is_descending) in sort {
        let decided =
            match (first_value(left, field, *is_descending), first_value(right, field, *is_descending)) {
                (None, None) => Ordering::Equal,
                (None, _) => Ordering::Greater,
                (_, None) => Ordering::Less,
                (Some(left), Some(right)) if *is_descending => right.compare(left),
                (Some(left), Some(right)) => left.compare(right),
            };
        if decided != Ordering::Equal {
            return decided;
        }
    }
    left.id.as_bytes().cmp(right.id.as_bytes())
}

fn facet(hits: &[&Document], field: &str) -> Vec<(String, u64)> {
    let mut counts: Vec<(Value, u64)> = Vec::new();
    for document in hits {
        let mut of_document: Vec<&Value> = Vec::new();
        for value in document.fields.get(field).into_iter().flatten() {
            if of_document.iter().any(|seen| seen.compare(value) == Ordering::Equal) {
                continue;
            }
            of_document.push(value);
            match counts.iter_mut().find(|(seen, _)| seen.compare(value) == Ordering::Equal) {
                Some((_, count)) => *count += 1,
                None => counts.push((value.clone(), 1)),
            }
        }
    }
    counts.sort_by(|(left, many), (right, more)| more.cmp(many).then(left.compare(right)));
    counts
        .into_iter()
        .map(|(value, count)| {
            // Both zeros are one value, and the index has the positive one.
            let value = if value == Value::Float(0.0) { Value::Float(0.0) } else { value };
            (value.json(field == "at"), count)
        })
        .collect()
}

#[test]
fn searches_agree_with_an_evaluator_without_an_index() {
    let (count, queries) = if cfg!(debug_assertions) { (600, 400) } else { (10_000, 5_000) };
    let seed = std::env::var("EXACT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("EXACT_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let collections = Collections::open(Options::new(directory.path())).unwrap();
    let schema = br#"{"primary":"id","fields":{"title":"text","brand":"keyword","tags":"keyword","qty":"i64",
        "big":"u64","price":"f64","sold":"bool","at":"date"}}"#;
    let collection = collections.create("all", Schema::parse(schema).unwrap()).unwrap();
    let mut documents: BTreeMap<String, Document> = BTreeMap::new();
    let mut version = 0;
    // In several writes with pauses, so that the index has several segments and deleted entries.
    for round in 0..8 {
        let mut batch = Vec::new();
        for number in 0..count / 6 {
            let number = if random.bool() { round * count / 8 + number } else { random.usize(..count) };
            batch.push(document(&mut random, number));
        }
        for part in batch.chunks(500) {
            let json: Vec<&[u8]> = part.iter().map(|document| document.json.as_bytes()).collect();
            let put = collection.put_many(&json, true).unwrap();
            assert_eq!(put.refusals, []);
            version = put.version;
        }
        for document in batch {
            documents.insert(document.id.clone(), document);
        }
        let gone: Vec<String> = documents.keys().filter(|_| random.u8(..20) == 0).cloned().collect();
        for id in gone {
            documents.remove(&id);
            let deleted = collection.delete(&id, &Default::default()).unwrap();
            assert!(deleted.existed);
            version = deleted.version;
        }
        let wait = Search { after: Some(Wait::for_version(version)), limit: 0, ..Search::default() };
        assert_eq!(collection.search(&wait).unwrap().total, documents.len() as u64, "round {round}");
    }
    println!("{} documents, {} segments", documents.len(), collection.status().segments);
    for query in 0..queries {
        let mut search = Search { limit: random.usize(1..40), ..Search::default() };
        let mut predicates = Vec::new();
        if random.u8(..3) > 0 {
            let filter = filter(&mut random, 3);
            search.filter = Some(filter.text.clone());
            predicates.push(filter);
        }
        if random.u8(..3) == 0 {
            let (text, any_word, filter) = full_text(&mut random);
            (search.words, search.any_word) = (text, any_word);
            predicates.push(filter);
        }
        let sort: Vec<(&str, bool)> =
            (0..random.usize(..4)).map(|_| (FIELDS[random.usize(..FIELDS.len())], random.bool())).collect();
        let names = sort.iter().map(|(field, is)| format!("{}{field}", if *is { "-" } else { "" }));
        search.sort = Some(names.chain(["_id".to_owned()]).collect::<Vec<_>>().join(","));
        let counted = FIELDS[random.usize(..FIELDS.len())];
        search.facets = vec![(counted.to_owned(), 1_000)];
        let mut expected: Vec<&Document> = documents
            .values()
            .filter(|document| predicates.iter().all(|filter| (filter.holds)(document)))
            .collect();
        expected.sort_by(|left, right| compare(left, right, &sort));

        let found = collection.search(&search).unwrap_or_else(|error| panic!("{query}: {search:?}: {error}"));
        assert_eq!(found.total, expected.len() as u64, "{query}: {search:?}");
        let counts: Vec<(String, u64)> =
            found.facets[0].iter().map(|one| (one.value.clone(), one.count)).collect();
        assert_eq!(counts, facet(&expected, counted), "{query}: {search:?}");
        // Every page by cursor.
        let (mut pages, mut found) = (0, found);
        let mut rest = &expected[..];
        loop {
            let page = &rest[..rest.len().min(search.limit)];
            let ids: Vec<&str> = found.hits.iter().map(|hit| &*hit.id).collect();
            assert_eq!(
                ids,
                page.iter().map(|document| &*document.id).collect::<Vec<_>>(),
                "{query}, page {pages}: {search:?}"
            );
            for (hit, document) in found.hits.iter().zip(page) {
                assert_eq!(hit.json, document.json.as_bytes());
            }
            rest = &rest[page.len()..];
            assert_eq!(found.next.is_none(), rest.is_empty(), "{query}, page {pages}: {search:?}");
            if found.next.is_none() || pages == 30 {
                break;
            }
            search.cursor = found.next.take();
            pages += 1;
            found = collection.search(&search).unwrap();
            assert_eq!(found.total, expected.len() as u64);
        }
        // One by offset.
        search.cursor = None;
        search.offset = random.usize(..=expected.len().min(5_000));
        let found = collection.search(&search).unwrap();
        let page = expected.iter().skip(search.offset).take(search.limit);
        let ids: Vec<&str> = found.hits.iter().map(|hit| &*hit.id).collect();
        assert_eq!(ids, page.map(|document| &*document.id).collect::<Vec<_>>(), "{query}: {search:?}");
        // By relevance the same documents, in an order of scores.
        if !search.words.is_empty() {
            let by_score =
                Search { sort: None, offset: 0, limit: 1_000, facets: Vec::new(), ..search.clone() };
            let found = collection.search(&by_score).unwrap();
            assert_eq!(found.total, expected.len() as u64, "{query}: {by_score:?}");
            let scores: Vec<f32> = found.hits.iter().filter_map(|hit| hit.score).collect();
            assert!(scores.is_sorted_by(|left, right| left >= right), "{query}: {by_score:?}");
        }
    }
    // By id, from the store.
    let (mut after, mut ids) = (None, Vec::new());
    loop {
        let page = collection.list(after.as_deref(), 97).unwrap();
        ids.extend(page.documents.into_iter().map(|document| document.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let mut expected: Vec<&String> = documents.keys().collect();
    expected.sort_by(|left, right| left.as_bytes().cmp(right.as_bytes()));
    assert!(ids.iter().eq(expected));
}
