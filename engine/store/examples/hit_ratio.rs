//! How many reads find their key? Replays one trace (`trace/mod.rs`) on stores of several sizes under several policies, beside exact LRU over the
//! same bytes.
//!
//! ```text
//! cargo run --release -p plumbkv --example hit_ratio -- [CAP_MIB …]
//! ```
//!
//! Exact LRU holds as many bytes of entries as the store does at that moment, an entry of it being as long as one of the store. The second
//! one is given the whole cap for entries, as no real cache could. Fails where `allkeys-lru` is two points or more below exact LRU, or
//! `allkeys-s3fifo` not above it.

mod trace;

use plumbkv::{Database, Options, Policy};
use trace::{Trace, key, value_len};

/// As `docs/memory-layout.md` draws it: header, key and value, rounded to 8.
fn entry_bytes(number: u32) -> u64 {
    (8 + trace::KEY_BYTES + value_len(number)).next_multiple_of(8) as u64
}

/// A list in the order of use, through two arrays; the last place is its head.
struct ExactLru {
    older: Vec<u32>,
    newer: Vec<u32>,
    bytes: u64,
}

const ABSENT: u32 = u32::MAX;

impl ExactLru {
    fn new(keys: usize) -> Self {
        let mut lru = Self { older: vec![ABSENT; keys + 1], newer: vec![ABSENT; keys + 1], bytes: 0 };
        (lru.older[keys], lru.newer[keys]) = (keys as u32, keys as u32);
        lru
    }

    fn head(&self) -> u32 {
        self.older.len() as u32 - 1
    }

    fn unlink(&mut self, number: u32) {
        let (older, newer) = (self.older[number as usize], self.newer[number as usize]);
        self.newer[older as usize] = newer;
        self.older[newer as usize] = older;
    }

    /// Whether the key was there. It is afterwards, and what was used longest ago is not, if that would be more than `most` bytes.
    fn access(&mut self, number: u32, most: u64) -> bool {
        let is_hit = self.older[number as usize] != ABSENT;
        if is_hit {
            self.unlink(number);
        } else {
            self.bytes += entry_bytes(number);
        }
        let head = self.head();
        let newest = self.older[head as usize];
        (self.older[number as usize], self.newer[number as usize]) = (newest, head);
        self.newer[newest as usize] = number;
        self.older[head as usize] = number;
        while self.bytes > most {
            let oldest = self.newer[head as usize];
            self.unlink(oldest);
            self.older[oldest as usize] = ABSENT;
            self.bytes -= entry_bytes(oldest);
        }
        is_hit
    }
}

struct Ratios {
    ours: f64,
    exact: f64,
    exact_on_cap: f64,
    entry_share: f64,
}

fn replay(cap: u64, policy: Policy) -> plumbkv::Result<Ratios> {
    let mut trace = Trace::new(cap);
    let db = Database::open(Options::memory(cap).policy(policy).seed(7))?;
    let value = [b'v'; 4096];
    let (mut same_bytes, mut on_cap) = (ExactLru::new(trace.keys()), ExactLru::new(trace.keys()));
    let (warm_up, counted) = trace.requests();
    let (mut ours, mut exact, mut exact_on_cap) = (0u64, 0u64, 0u64);
    let mut most = cap;
    for request in 0..warm_up + counted {
        let number = trace.next();
        let is_hit = db.exists(&key(number))?;
        if !is_hit {
            db.set(&key(number), &value[..value_len(number)])?;
        }
        if request % 1024 == 0 {
            let stats = db.stats();
            if stats.evicted > 0 {
                most = stats.entry_bytes;
            }
        }
        let is_exact_hit = same_bytes.access(number, most);
        let is_hit_on_cap = on_cap.access(number, cap);
        if request >= warm_up {
            ours += u64::from(is_hit);
            exact += u64::from(is_exact_hit);
            exact_on_cap += u64::from(is_hit_on_cap);
        }
    }
    let share = |hits: u64| hits as f64 / counted as f64;
    Ok(Ratios {
        ours: share(ours),
        exact: share(exact),
        exact_on_cap: share(exact_on_cap),
        entry_share: most as f64 / cap as f64,
    })
}

fn main() -> plumbkv::Result<()> {
    let caps: Option<Vec<u64>> = std::env::args().skip(1).map(|text| text.parse().ok()).collect();
    let Some(caps) = caps else {
        eprintln!("usage: hit_ratio [CAP_MIB …]");
        std::process::exit(64);
    };
    let caps = if caps.is_empty() { vec![2, 64] } else { caps };
    println!(
        "| cap, MiB | policy         | hit ratio | exact LRU, same bytes | exact LRU, whole cap | entries' share of the cap |"
    );
    println!(
        "| -------: | :------------- | --------: | --------------------: | -------------------: | ------------------------: |"
    );
    let mut is_good = true;
    for cap in caps {
        for policy in [Policy::AllkeysLru, Policy::AllkeysLfu, Policy::AllkeysS3Fifo] {
            let Ratios { ours, exact, exact_on_cap, entry_share } = replay(cap << 20, policy)?;
            println!(
                "| {cap:>8} | {:<14} | {ours:>9.4} | {exact:>21.4} | {exact_on_cap:>20.4} | {:>23.1} % |",
                policy.name(),
                entry_share * 100.0
            );
            is_good &= match policy {
                Policy::AllkeysLru => ours > exact - 0.02,
                Policy::AllkeysS3Fifo => ours > exact,
                _ => true,
            };
        }
    }
    println!("{}", if is_good { "within the bars" } else { "BEYOND the bars" });
    std::process::exit(i32::from(!is_good));
}
