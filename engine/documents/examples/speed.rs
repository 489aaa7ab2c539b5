//! Cost of a collection: ingest, lookups and searches of 100,000 documents of about 240 B, or as many
//! as the argument says.
//!
//! `cargo run --release -p plumbkv-documents --example speed -- 1000000`

use std::time::{Duration, Instant};

use plumbkv_documents::{Collections, Options, Result, Schema, Search, Wait};

const WORDS: usize = 20_000;
const BRANDS: usize = 200;

/// A word; low numbers are frequent.
fn word(random: &mut fastrand::Rng) -> String {
    let share = random.f64();
    format!("w{}", ((WORDS as f64).powf(share * share) - 1.0) as usize)
}

fn document(random: &mut fastrand::Rng, id: usize) -> String {
    let title: Vec<String> = (0..20).map(|_| word(random)).collect();
    format!(
        r#"{{"id":"doc{id:08}","title":"{}","brand":"b{}","price":{},"qty":{}}}"#,
        title.join(" "),
        random.usize(..BRANDS),
        random.u32(..100_000),
        random.u32(..1_000)
    )
}

fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0))
}

fn memory(name: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or("?");
    line.split_whitespace().nth(1).unwrap_or("?").to_owned() + " KiB"
}

fn main() -> Result<()> {
    let documents: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let directory = std::env::temp_dir().join(format!("plumbkv-documents-speed-{}", std::process::id()));
    let collections = Collections::open(Options::new(&directory))?;
    let schema = br#"{"primary":"id","fields":{"title":"text","brand":"keyword","price":"f64","qty":"i64"}}"#;
    let shop = collections.create("shop", Schema::parse(schema)?)?;
    let mut random = fastrand::Rng::with_seed(1);
    let begin = Instant::now();
    let mut version = 0;
    for first in (0..documents).step_by(1_000) {
        let batch: Vec<String> =
            (first..documents.min(first + 1_000)).map(|id| document(&mut random, id)).collect();
        version = shop.put_many(&batch.iter().map(|json| json.as_bytes()).collect::<Vec<_>>(), true)?.version;
    }
    let stored = begin.elapsed();
    let after = Some(Wait { version, timeout: Duration::from_secs(600) });
    shop.search(&Search { after, limit: 0, ..Search::default() })?;
    let searchable = begin.elapsed();
    println!(
        "{documents} documents: stored in {stored:.1?}, searchable after {searchable:.1?} ({:.0}/s), {} segments, \
         anonymous {} peak RSS {}",
        documents as f64 / searchable.as_secs_f64(),
        shop.status().segments,
        memory("RssAnon"),
        memory("VmHWM")
    );
    let begin = cpu();
    for _ in 0..100_000 {
        let id = format!("doc{:08}", random.usize(..documents));
        assert!(shop.read(&id, |_, json| json.len())?.is_some());
    }
    println!("lookup: {:.2?} of CPU", (cpu() - begin) / 100_000);
    let range = "price >= 40000 AND price < 45000";
    let kinds: [(&str, Search); 7] = [
        ("one term", Search::for_words("w100")),
        ("two terms", Search::for_words("w50 w300")),
        ("any of two", Search { any_word: true, ..Search::for_words("w50 w300") }),
        ("phrase", Search::for_words("\"w1 w2\"")),
        ("keyword", Search { filter: Some("brand = b7".to_owned()), ..Search::default() }),
        ("range", Search { filter: Some(range.to_owned()), ..Search::default() }),
        (
            "keyword and range, sorted",
            Search {
                filter: Some(format!("brand = b7 AND {range}")),
                sort: Some("-price".to_owned()),
                ..Search::default()
            },
        ),
    ];
    for (name, search) in kinds {
        let found = shop.search(&search)?;
        let (begin, mut count) = (cpu(), 0);
        let time = Instant::now();
        while time.elapsed() < Duration::from_millis(500) {
            shop.search(&search)?;
            count += 1;
        }
        println!("{name}: {} hits, {:.1?} of CPU", found.total, (cpu() - begin) / count);
    }
    drop((shop, collections));
    let _ = std::fs::remove_dir_all(&directory);
    Ok(())
}
