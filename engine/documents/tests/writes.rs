//! Writes, conditions, restarts, changed schemas and damaged indexes, through the public interface.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use plumbkv_documents::{Collection, Collections, Condition, Kind, Options, Schema, Search, Wait};

const SCHEMA: &[u8] = br#"{"primary":"id","fields":{"title":"text","brand":"keyword","qty":"i64"}}"#;

fn open(directory: &Path) -> Collections {
    Collections::open(Options::new(directory)).unwrap()
}

fn created(collections: &Collections) -> Arc<Collection> {
    collections.create("shop", Schema::parse(SCHEMA).unwrap()).unwrap()
}

/// The total of a filter once all that was written is searchable.
fn total(collection: &Collection, filter: &str) -> u64 {
    let after = Some(Wait { version: collection.status().version, timeout: Duration::from_secs(30) });
    let search = Search { filter: Some(filter.to_owned()), after, ..Search::default() };
    collection.search(&search).unwrap().total
}

fn kind<T: std::fmt::Debug>(result: Result<T, plumbkv_documents::Error>) -> Kind {
    result.unwrap_err().kind()
}

#[test]
fn documents_are_stored_replaced_and_deleted_by_id() {
    let directory = tempfile::tempdir().unwrap();
    let collections = open(directory.path());
    let shop = created(&collections);
    let json = br#" {"id" : "a/b", "qty":3, "other":[1.50]} "#;
    let put = shop.put(json).unwrap();
    assert_eq!((put.version, put.replaced, &put.ids[..]), (1, 0, &["a/b".to_owned()][..]));
    let found = shop.get("a/b").unwrap().unwrap();
    assert_eq!((found.version, &found.json[..]), (1, &json[..]), "bytes as received");
    assert_eq!(shop.put(br#"{"id":"a/b","qty":4}"#).unwrap().replaced, 1);
    assert_eq!((total(&shop, "qty = 3"), total(&shop, "qty = 4")), (0, 1));
    let deleted = shop.delete("a/b", &Condition::None).unwrap();
    assert_eq!((deleted.existed, deleted.version), (true, 3));
    assert!(!shop.delete("a/b", &Condition::None).unwrap().existed);
    assert_eq!((shop.get("a/b").unwrap(), total(&shop, "qty EXISTS")), (None, 0));
}

#[test]
fn a_write_is_made_only_if_its_condition_holds() {
    let directory = tempfile::tempdir().unwrap();
    let collections = open(directory.path());
    let shop = created(&collections);
    let json = br#"{"id":"a","qty":1}"#;
    assert_eq!(kind(shop.put_if(json, None, &Condition::Present)), Kind::Precondition);
    let version = shop.put_if(json, Some("a"), &Condition::Absent).unwrap().version;
    assert_eq!(kind(shop.put_if(json, None, &Condition::Absent)), Kind::Precondition);
    assert_eq!(kind(shop.put_if(json, Some("b"), &Condition::None)), Kind::Invalid);
    assert_eq!(kind(shop.delete("a", &Condition::Version(vec![version + 1]))), Kind::Precondition);
    let patched = shop.patch("a", br#"{"qty":2}"#, &Condition::Version(vec![7, version])).unwrap();
    assert_eq!(shop.get("a").unwrap().unwrap().json, br#"{"id":"a","qty":2}"#);
    assert_eq!(
        kind(shop.patch("a", br#"{"qty":3}"#, &Condition::Version(vec![version]))),
        Kind::Precondition
    );
    assert_eq!(kind(shop.patch("a", br#"{"id":"b"}"#, &Condition::None)), Kind::Invalid);
    assert_eq!(kind(shop.patch("a", br#"{"id":null}"#, &Condition::None)), Kind::Invalid);
    assert_eq!(kind(shop.patch("b", br#"{"qty":1}"#, &Condition::None)), Kind::NotFound);
    assert_eq!(shop.status().version, patched.version);
}

#[test]
fn what_does_not_fit_is_refused_with_its_place_and_reason() {
    let directory = tempfile::tempdir().unwrap();
    let collections = open(directory.path());
    let shop = created(&collections);
    let documents: [&[u8]; 5] = [
        br#"{"id":"a","qty":1}"#,
        br#"{"qty":1}"#,
        br#"{"id":"c","qty":"1"}"#,
        br#"{"id":"d""#,
        br#"{"id":"a","qty":2}"#,
    ];
    let put = shop.put_many(&documents, false).unwrap();
    assert_eq!((put.version, put.replaced, put.ids.len()), (1, 0, 2));
    let refusals: Vec<_> =
        put.refusals.iter().map(|one| (one.index, one.id.as_deref(), one.field.as_deref())).collect();
    assert_eq!(refusals, [(1, None, Some("id")), (2, Some("c"), Some("qty")), (3, None, None)]);
    assert!(put.refusals[1].reason.contains("\"1\" is not of type i64"), "{:?}", put.refusals[1]);
    assert_eq!(shop.get("a").unwrap().unwrap().json, documents[4], "the later of two");
    assert_eq!(total(&shop, "qty EXISTS"), 1);
    let put = shop.put_many(&documents[1..], true).unwrap();
    assert_eq!((put.version, put.ids.len(), put.refusals.len()), (0, 0, 3));
    assert_eq!(shop.status().version, 1, "nothing was written");
}

#[test]
fn collections_have_documents_of_their_own_and_take_them_along() {
    let directory = tempfile::tempdir().unwrap();
    {
        let collections = open(directory.path());
        let shop = created(&collections);
        let other = collections.create("other", Schema::parse(SCHEMA).unwrap()).unwrap();
        shop.put(br#"{"id":"a","qty":1}"#).unwrap();
        other.put(br#"{"id":"a","qty":2}"#).unwrap();
        assert_eq!((total(&shop, "qty = 1"), total(&other, "qty = 1")), (1, 0));
        assert_eq!(kind(collections.create("shop", Schema::parse(SCHEMA).unwrap())), Kind::Exists);
        assert_eq!(kind(collections.create("a b", Schema::parse(SCHEMA).unwrap())), Kind::Invalid);
        let missing = collections.get("shopp").unwrap_err();
        assert!(missing.to_string().contains("did you mean `shop`?"), "{missing}");
        collections.delete("other").unwrap();
        assert_eq!(kind(other.put(br#"{"id":"a"}"#)), Kind::NotFound);
        assert_eq!(kind(other.search(&Search::default())), Kind::NotFound);
        assert_eq!(kind(other.get("a")), Kind::NotFound);
        let anew = collections.create("other", Schema::parse(SCHEMA).unwrap()).unwrap();
        assert_eq!((anew.get("a").unwrap(), total(&anew, "qty EXISTS")), (None, 0));
    }
    let collections = open(directory.path());
    assert_eq!(collections.names(), ["other", "shop"]);
    let shop = collections.get("shop").unwrap();
    assert_eq!((shop.status().version, total(&shop, "qty = 1")), (1, 1));
    assert_eq!(shop.put(br#"{"id":"b"}"#).unwrap().version, 2);
}

#[test]
fn a_changed_schema_is_indexed_while_the_old_one_serves() {
    let directory = tempfile::tempdir().unwrap();
    let collections = open(directory.path());
    let shop = created(&collections);
    shop.put_many(&[br#"{"id":"a","qty":1,"size":5}"#, br#"{"id":"b","size":"large"}"#], true).unwrap();
    assert_eq!(total(&shop, "qty = 1"), 1);
    let changed = br#"{"primary":"id","fields":{"qty":"i64","size":"u64"}}"#;
    collections.change("shop", Schema::parse(changed).unwrap()).unwrap();
    let begin = Instant::now();
    // A value that does not fit its new type is stored and not indexed.
    let search = Search { filter: Some("size = 5".to_owned()), ..Search::default() };
    let found = loop {
        match shop.search(&search) {
            Ok(found) => break found,
            Err(error) => {
                assert!(error.kind() == Kind::Invalid && begin.elapsed() < Duration::from_secs(30), "{error}")
            }
        }
    };
    assert_eq!((found.total, total(&shop, "size EXISTS")), (1, 1));
    assert!(shop.get("b").unwrap().is_some());
    assert_eq!(kind(shop.put(br#"{"id":"c","size":-1}"#)), Kind::Invalid);
    let primary = Schema::parse(br#"{"primary":"other"}"#).unwrap();
    assert_eq!(kind(collections.change("shop", primary)), Kind::Invalid);
    drop((shop, collections));
    let collections = open(directory.path());
    assert_eq!(total(&collections.get("shop").unwrap(), "size = 5"), 1);
    assert_eq!(fs::read_dir(directory.path().join("indexes")).unwrap().count(), 1, "the old index is gone");
}

#[test]
fn a_damaged_index_is_built_anew_and_the_reason_is_told() {
    let directory = tempfile::tempdir().unwrap();
    {
        let collections = open(directory.path());
        let shop = created(&collections);
        let json: Vec<String> =
            (0..500).map(|number| format!(r#"{{"id":"{number}","qty":{number}}}"#)).collect();
        shop.put_many(&json.iter().map(|json| json.as_bytes()).collect::<Vec<_>>(), true).unwrap();
        assert_eq!(total(&shop, "qty < 100"), 100);
    }
    let folder = fs::read_dir(directory.path().join("indexes")).unwrap().next().unwrap().unwrap().path();
    let files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let fast = files.iter().find(|file| file.extension().is_some_and(|end| end == "fast")).unwrap();
    let mut bytes = fs::read(fast).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(fast, bytes).unwrap();
    let rebuilds = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&rebuilds);
    let options = Options::new(directory.path()).on_rebuild(move |name, reason| {
        assert!(name == "shop" && reason.contains("damaged"), "{name}: {reason}");
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let collections = Collections::open(options).unwrap();
    let shop = collections.get("shop").unwrap();
    assert_eq!((total(&shop, "qty < 100"), rebuilds.load(Ordering::Relaxed)), (100, 1));
}

#[test]
fn every_answer_is_of_the_state_at_its_version() {
    // Each write keeps the sum of all quantities; a search that sees half of one would see another sum.
    const DOCUMENTS: usize = 50;
    let (writers, readers, time) = if cfg!(debug_assertions) { (4, 2, 3) } else { (16, 4, 60) };
    let directory = tempfile::tempdir().unwrap();
    let collections = open(directory.path());
    let shop = created(&collections);
    let json = |id: usize, quantity: i64| format!(r#"{{"id":"{id:03}","qty":{quantity}}}"#);
    let all: Vec<String> = (0..DOCUMENTS * writers).map(|id| json(id, 100)).collect();
    shop.put_many(&all.iter().map(|json| json.as_bytes()).collect::<Vec<_>>(), true).unwrap();
    total(&shop, "qty EXISTS");
    let is_over = AtomicBool::new(false);
    let (writes, searches) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (shop, is_over, writes, searches, json) = (&shop, &is_over, &writes, &searches, &json);
        for writer in 0..writers {
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(writer as u64);
                let mut quantities = vec![100; DOCUMENTS];
                while !is_over.load(Ordering::Relaxed) {
                    let (from, to) = (random.usize(..DOCUMENTS), random.usize(..DOCUMENTS));
                    if from == to {
                        continue;
                    }
                    quantities[from] -= 1;
                    quantities[to] += 1;
                    let changed = [from, to].map(|id| json(writer * DOCUMENTS + id, quantities[id]));
                    shop.put_many(&[changed[0].as_bytes(), changed[1].as_bytes()], true).unwrap();
                    writes.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
        }
        for _ in 0..readers {
            scope.spawn(move || {
                let mut last = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let search =
                        Search { limit: 1_000, facets: vec![("qty".to_owned(), 1_000)], ..Search::default() };
                    let found = shop.search(&search).unwrap();
                    assert!(found.version >= last);
                    last = found.version;
                    let quantity = |json: &[u8]| {
                        serde_json::from_slice::<serde_json::Value>(json).unwrap()["qty"].as_i64().unwrap()
                    };
                    let sum: i64 = found.hits.iter().map(|hit| quantity(&hit.json)).sum();
                    let counted: i64 = found.facets[0]
                        .iter()
                        .map(|one| one.value.parse::<i64>().unwrap() * one.count as i64)
                        .sum();
                    let expected = (DOCUMENTS * writers * 100) as i64;
                    assert_eq!(
                        (found.total as usize, sum, counted),
                        (DOCUMENTS * writers, expected, expected)
                    );
                    assert!(found.hits.iter().all(|hit| hit.version <= found.version));
                    searches.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_secs(time));
        is_over.store(true, Ordering::Relaxed);
    });
    println!("{} writes, {} searches", writes.into_inner(), searches.into_inner());
}
